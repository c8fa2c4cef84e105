"""A robot in a viser scene: its bodies and optional layers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.model.model import WORLD
from helicoid.robot import Robot
from helicoid.view.drawing.drawing import (
    Part,
    capsule_parts,
    collision_parts,
    extent,
    inertia_parts,
    visual_parts,
)
from helicoid.view.drawing.triangles import creased
from helicoid.view.ground import FORCE_COLOR
from helicoid.view.poses import body_poses, quaternions

LAYERS = ("links", "collision shapes", "capsules", "frames", "center of mass", "inertia ellipsoids")
_INNER_LAYERS = LAYERS[3:]  # links are transparent while one of these is shown
_LINK_OPACITY = 0.4


class RobotScene:
    """Scene nodes of one robot; with a `tint` a ghost: all links transparent in that colour."""

    def __init__(
        self, server: Any, robot: Robot, name: str, tint: tuple[float, float, float] | None = None
    ) -> None:
        self._server, self._robot, self._tint = server, Robot(robot.model), tint
        self._q = robot.neutral()
        self.parts = visual_parts(robot)
        self.size = extent(robot, self.parts)
        scene = server.scene
        self.root = scene.add_frame(f"/{name}", show_axes=False)
        names = [body.name for body in robot.model.bodies]
        self._paths = {WORLD: f"/{name}/world"} | {i: f"/{name}/{k}" for i, k in enumerate(names)}
        nodes = {body: scene.add_frame(path, show_axes=False) for body, path in self._paths.items()}
        self._bodies = [nodes[i] for i in range(robot.n_bodies)]
        self._layers: dict[str, list[Any]] = {"links": self._add("links", self.parts)}
        self.place(self._q)

    def place(self, q: Array, poses: Array | None = None) -> None:
        """Move the robot to a configuration; `poses` are its `body_poses` if already computed."""
        self._q = q
        known = body_poses(self._robot, q) if poses is None else poses
        with self._server.atomic():
            for node, pose in zip(self._bodies, known, strict=True):
                node.position, node.wxyz = pose[:3], pose[3:]
            self._place_center_of_mass()

    def path_of(self, link: str) -> str:
        """The path of the node of the body that a link is on."""
        return self._paths[self._robot.model.frame(link).body]

    def placement_of(self, link: str) -> Array:
        """The pose of a link on its body, 4 × 4."""
        placement, T = self._robot.model.frame(link).placement, np.eye(4)
        T[:3, :3], T[:3, 3] = placement.rotation, placement.translation
        return T

    def add_static(self, name: str, parts: Iterable[Part]) -> None:
        """Add parts fixed to the world, such as a slope."""
        self._layers[name] = self._add(name, parts)

    def draw_forces(self, arrows: Array) -> None:
        """Draw forces as arrows (n, 2, 3) from start to end point."""
        long = np.linalg.norm(arrows[:, 1] - arrows[:, 0], axis=1) > 1e-3 * self.size
        radius = 0.008 * self.size
        self._server.scene.add_arrows(
            f"{self.root.name}/forces",
            arrows[long].astype(np.float32),
            colors=tuple(int(255 * x) for x in FORCE_COLOR),
            shaft_radius=radius,
            head_radius=3 * radius,
            head_length=8 * radius,
        )

    def show(self, layer: str, on: bool) -> None:
        """Show or hide one of `LAYERS`; a layer is created when first shown."""
        if on and layer not in self._layers:
            self._layers[layer] = self._create(layer)
            self._place_center_of_mass()
        for node in self._layers.get(layer, ()):
            node.visible = on
        inside = [node for name in _INNER_LAYERS for node in self._layers.get(name, ())]
        faint = _LINK_OPACITY if any(node.visible for node in inside) else 1.0
        for node, part in zip(self._layers["links"], self.parts, strict=True):
            node.opacity = _opacity(faint * part.color[3])

    def _create(self, layer: str) -> list[Any]:
        if layer == "collision shapes":
            return self._add("collision", collision_parts(self._robot))
        if layer == "capsules":
            return self._add("capsules", capsule_parts(self._robot))
        if layer == "inertia ellipsoids":
            return self._add("inertia", inertia_parts(self._robot))
        if layer == "frames":
            return [self._frame(link) for link in self._robot.link_names]
        mark = self._server.scene.add_icosphere
        return [mark(f"{self.root.name}/center_of_mass", radius=0.02 * self.size, color=(200, 40, 50))]

    def _add(self, layer: str, parts: Iterable[Part]) -> list[Any]:
        nodes = []
        for number, part in enumerate(parts):
            mesh, normals = creased(part.triangles)
            vertices, color, opacity = mesh.vertices, np.array(part.color[:3]), part.color[3]
            if self._tint is not None:
                color, opacity = 0.35 * color + 0.65 * np.array(self._tint), 0.4 * opacity
                # Shrunk slightly, so that the robot hides the ghost where they coincide.
                vertices = vertices - 0.001 * self.size * normals
            nodes.append(
                self._server.scene.add_mesh_simple(
                    f"{self._paths[part.body]}/{layer}_{number}",
                    vertices.astype(np.float32),
                    mesh.faces.astype(np.uint32),
                    color=tuple(int(255 * x) for x in color),
                    opacity=_opacity(opacity),
                    side="double",
                )
            )
        return nodes

    def _frame(self, link: str) -> Any:
        body, placement = self._robot.model.frames[link]
        return self._server.scene.add_frame(
            f"{self._paths[body]}/frame_{link}",
            axes_length=0.09 * self.size,
            axes_radius=0.003 * self.size,
            wxyz=quaternions(placement.rotation),
            position=placement.translation,
        )

    def _place_center_of_mass(self) -> None:
        nodes = self._layers.get("center of mass", [])
        if nodes and nodes[0].visible:
            nodes[0].position = self._robot.center_of_mass(self._q)


def _opacity(value: float) -> float | None:
    """Opacity for viser, which needs None instead of 1 for opaque meshes."""
    return None if value > 0.99 else value
