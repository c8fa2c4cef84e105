"""The objects of a scene: in the viewer, where handles drag them, and as parts of a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.geometry import quaternion, se3
from helicoid.geometry.shapes import (
    Box,
    Capsule,
    Cylinder,
    HeightField,
    Mesh,
    Plane,
    PointCloud,
    Shape,
    Sphere,
)
from helicoid.model.model import WORLD
from helicoid.robot import Robot
from helicoid.robot.collision.scene import Scene, SceneObject
from helicoid.view.drawing import triangles
from helicoid.view.drawing.drawing import Part
from helicoid.view.drawing.triangles import Triangles

OBJECT_COLOR, CARRIED_COLOR = (205, 150, 70), (60, 130, 190)
_PLANE_SIZE = 4.0  # times the size of the robot
_MAX_DRAWN_POINTS = 200_000
_MAX_POINTS_OF_A_PAGE = 3_000


class SceneObjects:
    """Nodes of the objects of a scene; dragging one moves it in the scene.

    Args:
        server: viser server of the viewer.
        scene: whose objects are drawn; what a robot carries is drawn on its bodies.
        robot_scene: where bodies have their nodes.
    """

    def __init__(self, server: Any, scene: Scene, robot_scene: Any) -> None:
        self._server, self._scene, self._robot = server, scene, robot_scene
        self._nodes: dict[str, Any] = {}
        self._drawn: dict[str, SceneObject] = {}
        self.update()

    def update(self) -> None:
        """Draw the scene as it is now."""
        for name in [name for name in self._nodes if name not in self._scene]:
            self._nodes.pop(name).remove()
            self._drawn.pop(name)
        for name, one in self._scene.objects.items():
            before = self._drawn.get(name)
            if before is one:
                continue
            if before is None or before.shape is not one.shape or before.frame != one.frame:
                if name in self._nodes:
                    self._nodes.pop(name).remove()
                self._nodes[name] = self._add(one)
            self._drawn[name] = one
            self._place(self._nodes[name], one)

    def _add(self, one: SceneObject) -> Any:
        parent = "" if one.frame is None else self._robot.path_of(one.frame)
        path = f"{parent}/objects/{one.name}"
        if one.frame is not None or isinstance(one.shape, Plane):
            node = self._server.scene.add_frame(path, show_axes=False)
        else:
            reach = one.shape.bounding_ball[1]
            node = self._server.scene.add_transform_controls(path, scale=max(1.3 * reach, 0.05), opacity=0.5)
            node.on_update(lambda _: self._dragged(one.name))
        self._draw(f"{path}/shape", one.shape)
        return node

    def _draw(self, path: str, shape: Shape) -> None:
        if isinstance(shape, PointCloud):
            step = -(-len(shape.points) // _MAX_DRAWN_POINTS)
            points = shape.points[::step].astype(np.float32)
            colors = np.tile(np.array(OBJECT_COLOR, np.uint8), (len(points), 1))
            self._server.scene.add_point_cloud(path, points, colors, point_size=2 * shape.radius)
            return
        mesh = shape_triangles(shape, _PLANE_SIZE * self._robot.size)
        self._server.scene.add_mesh_simple(
            path,
            mesh.vertices.astype(np.float32),
            mesh.faces.astype(np.uint32),
            color=OBJECT_COLOR,
            opacity=0.25 if isinstance(shape, Plane) else 0.85,
            side="double",
            flat_shading=True,
        )

    def _place(self, node: Any, one: SceneObject) -> None:
        pose = one.pose if one.frame is None else self._robot.placement_of(one.frame) @ one.pose
        node.position = tuple(pose[:3, 3])
        node.wxyz = tuple(np.asarray(quaternion.from_matrix(pose[:3, :3])))

    def _dragged(self, name: str) -> None:
        node, one = self._nodes[name], self._drawn[name]
        if name in self._scene and one.frame is None:
            T = np.asarray(se3.pose(quaternion.to_matrix(np.asarray(node.wxyz)), np.asarray(node.position)))
            self._scene.move(name, T)
            self._drawn[name] = self._scene.objects[name]


def scene_parts(
    robot: Robot, scene: Scene | Mapping[float, Scene], size: float
) -> Iterator[tuple[Part, tuple[float, float]]]:
    """Parts of the objects of a scene, or of several by the time (s) from which each holds, with the times
    from and to which a part is drawn. What a robot carries moves with its body, and has its own colour all
    the time; `size` (m) is the robot's."""
    scenes = {-np.inf: scene} if isinstance(scene, Scene) else dict(sorted(scene.items()))
    since: dict[str, tuple[float, SceneObject]] = {}
    carried = {one.name for now in scenes.values() for one in now.objects.values() if one.frame is not None}
    for t, now in [*scenes.items(), (np.inf, Scene())]:
        for name, (start, one) in list(since.items()):
            if _looks_different(one, now.objects.get(name)):
                yield _part(robot, one, size, CARRIED_COLOR if name in carried else OBJECT_COLOR), (start, t)
                del since[name]
        since |= {name: (t, one) for name, one in now.objects.items() if name not in since}


def _looks_different(one: SceneObject, other: SceneObject | None) -> bool:
    return (
        other is None
        or (other.shape, other.frame, other.robot) != (one.shape, one.frame, one.robot)
        or not np.array_equal(other.pose, one.pose)
    )


def _part(robot: Robot, one: SceneObject, size: float, rgb: tuple[int, int, int]) -> Part:
    if isinstance(one.shape, PointCloud):
        points = one.shape.points[:: -(-len(one.shape.points) // _MAX_POINTS_OF_A_PAGE)]
        ball = triangles.box(3 * [2 * one.shape.radius])
        mesh = triangles.joined([Triangles(ball.vertices + at, ball.faces) for at in points])
    else:
        mesh = shape_triangles(one.shape, _PLANE_SIZE * size)
    body, placement = (WORLD, None) if one.frame is None else robot.model.frame(one.frame)
    R, p = one.pose[:3, :3], one.pose[:3, 3]
    mesh = Triangles(mesh.vertices @ R.T + p, mesh.faces)
    r, g, b = (x / 255 for x in rgb)
    color = (r, g, b, 0.25 if isinstance(one.shape, Plane) else 1.0)
    return Part(body, mesh if placement is None else mesh.moved(placement), color)


def shape_triangles(shape: Shape, size: float) -> Triangles:
    """Triangles of a shape; a plane is a square of edges `size` (m)."""
    if isinstance(shape, Box):
        return triangles.box(shape.size)
    if isinstance(shape, Sphere):
        return triangles.sphere(shape.radius)
    if isinstance(shape, Capsule):
        return triangles.capsule(shape.radius, shape.length)
    if isinstance(shape, Cylinder):
        return triangles.cylinder(shape.radius, shape.length)
    if isinstance(shape, HeightField):
        return Triangles(*shape.triangles)
    if isinstance(shape, Plane):
        return _square(shape, size)
    assert isinstance(shape, Mesh)
    if not shape.convex:
        return Triangles(shape.vertices, np.asarray(shape.faces, np.int64))
    from scipy.spatial import ConvexHull, QhullError

    try:
        faces = ConvexHull(shape.hull).simplices
    except (QhullError, ValueError):  # flat
        faces = np.array([[0, k, k + 1] for k in range(1, len(shape.hull) - 1)]).reshape(-1, 3)
    return Triangles(shape.hull, np.asarray(faces, np.int64))


def _square(plane: Plane, size: float) -> Triangles:
    n: Array = np.array(plane.normal)
    x = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    x *= size / 2 / np.linalg.norm(x)
    y, middle = np.cross(n, x), plane.offset * n
    corners = np.array([middle - x - y, middle + x - y, middle + x + y, middle - x + y])
    return Triangles(corners, np.array([[0, 1, 2], [0, 2, 3]]))
