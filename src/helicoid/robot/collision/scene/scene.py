"""A scene: named objects with poses, attached objects, and allowed contacts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import float_array, shown
from helicoid.errors import InputError
from helicoid.geometry.shapes import Shape
from helicoid.pages.tables import table
from helicoid.robot.robot import Robot, as_robot

_HEADS = ("object", "shape", "position (m)", "in")


@dataclass(frozen=True, eq=False)
class SceneObject:
    """An object of a scene.

    Attributes:
        name: its name in the scene.
        shape: in a frame of its own.
        pose: 4 × 4, read-only: of that frame in the world, or, where it is attached, in `frame`.
        frame: the frame of the robot that carries it; None where it stands in the world.
        robot: the name of that robot.
    """

    name: str
    shape: Shape
    pose: Array
    frame: str | None = None
    robot: str | None = None


class Scene:
    """Named objects around a robot, for collision checking, planning, MPC, simulation and the viewer.

    Objects are data: no code depends on them, so that nothing is compiled when they change.

    >>> import helicoid as hc
    >>> scene = hc.Scene()
    >>> scene.add("table", hc.Box([1.0, 2.0, 0.05]), pose=[0.6, 0.0, 0.2])
    >>> scene.add("floor", hc.Plane([0, 0, 1]))
    >>> scene.move("table", [0.7, 0.0, 0.2])
    >>> list(scene.objects), scene.objects["table"].pose[0, 3].item()
    (['table', 'floor'], 0.7)
    """

    def __init__(self) -> None:
        self._objects: dict[str, SceneObject] = {}
        self._allowed: set[frozenset[str]] = set()
        self._version = 0

    @staticmethod
    def from_moveit(source: str | os.PathLike[str], allowed: bool = True) -> Scene:
        """Read a planning scene of MoveIt: YAML, such as MotionBenchMaker's, or a `.scene` file of RViz.

        Boxes, spheres, cylinders, meshes and planes; an object of several shapes becomes `name[0]`, `name[1]`
        ... With `allowed` also the allowed collision matrix. YAML needs `pip install pyyaml`.

        Raises:
            InputError: it cannot be read, or has what a scene does not: cones, octomaps, attached objects.
        """
        from helicoid.robot.collision.scene.moveit import read_moveit

        return read_moveit(source, allowed)

    @staticmethod
    def from_mjcf(source: Any) -> Scene:
        """Read the world of an MJCF: its geoms that can collide and do not move.

        `source` is a path, a text or a `mujoco.MjModel`; meshes are taken as MuJoCo does, as convex hulls,
        and planes are infinite. It needs `pip install 'helicoid[mujoco]'`.

        Raises:
            InputError: MuJoCo does not read it, or a geom is a signed distance field.
        """
        from helicoid.robot.collision.scene.mjcf import read_mjcf_world

        return read_mjcf_world(source)

    # Objects ------------------------------------------------------------------------------------------

    @property
    def objects(self) -> Mapping[str, SceneObject]:
        """The objects by name, in the order in which they were added; a read-only view."""
        return MappingProxyType(self._objects)

    @property
    def version(self) -> int:
        """A number that grows with every change of the scene."""
        return self._version

    def add(self, name: str, shape: Shape, pose: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Add an object at a pose in the world: a point (m) or a 4 × 4 matrix.

        Raises:
            InputError: the name is taken, the shape is none, or the pose is no rigid motion.
        """
        if not isinstance(name, str) or not name:
            raise InputError(f"an object has a name, a text; got {shown(name)}")
        if name in self._objects:
            raise InputError(
                f"the scene has an object {name!r} already: remove it first, or use another name"
            )
        if not isinstance(shape, Shape):
            raise InputError(
                f"object {name!r}: a shape is hc.Box, Sphere, Capsule, Cylinder, Plane, Mesh, PointCloud or "
                f"HeightField; got {shown(shape)}"
            )
        self._objects[name] = SceneObject(name, shape, pose_matrix(f"the pose of {name!r}", pose))
        self._version += 1

    def move(self, name: str, pose: ArrayLike) -> None:
        """Set the pose of an object, in the world or in the frame that carries it."""
        one = self._object(name)
        self._objects[name] = replace(one, pose=pose_matrix(f"the pose of {name!r}", pose))
        self._version += 1

    def remove(self, name: str) -> None:
        """Remove an object, with the contacts that are allowed for it."""
        self._object(name)
        del self._objects[name]
        self._allowed = {pair for pair in self._allowed if name not in pair}
        self._version += 1

    def attach(
        self,
        name: str,
        robot: Robot,
        frame: str,
        pose: ArrayLike | None = None,
        q: ArrayLike | None = None,
    ) -> None:
        """Let a robot carry an object: it then moves with a frame of the robot, such as its gripper.

        Its pose in that frame is `pose`; or, with `q`, where it is now while the robot is at q; without both,
        the pose that it has is taken to be in the frame. It may touch the body that carries it; `allow`
        names other links that may touch it, such as fingers.

        Raises:
            InputError: there is no such object or frame, or both `pose` and `q` are given.
        """
        one, on = self._object(name), as_robot(robot, "scene.attach")
        if frame not in on.link_names:
            raise InputError(
                f"robot {on.name!r} has no frame {frame!r} to carry {name!r}; there are: "
                f"{', '.join(on.link_names)}"
            )
        if pose is not None and q is not None:
            raise InputError(f"attach {name!r}: give its pose in the frame, or q of the robot, not both")
        placed = one.pose if pose is None else pose_matrix(f"the pose of {name!r}", pose)
        if q is not None:
            if one.frame is not None:
                raise InputError(f"{name!r} is attached to {one.frame!r} already: detach it first")
            placed = np.linalg.inv(on.pose(frame)(q)) @ one.pose
        self._objects[name] = SceneObject(name, one.shape, _frozen(placed), frame, on.name)
        self._version += 1

    def detach(self, name: str, robot: Robot, q: ArrayLike) -> None:
        """Put an object that the robot carries back into the world, where it is while the robot is at q."""
        one = self._object(name)
        if one.frame is None:
            raise InputError(f"{name!r} is not attached to a robot")
        placed = as_robot(robot, "scene.detach").pose(one.frame)(q) @ one.pose
        self._objects[name] = SceneObject(name, one.shape, _frozen(placed))
        self._version += 1

    # Contacts that are allowed --------------------------------------------------------------------------

    def allow(self, a: str, b: str) -> None:
        """Let two things touch, objects or links of the robot: such pairs are not checked.

        Names of links are checked where the scene is used.
        """
        for one in (a, b):
            if not isinstance(one, str) or not one:
                raise InputError(f"allow takes names of objects and links; got {shown(one)}")
        if a == b:
            raise InputError(f"allow takes two names; got {a!r} twice")
        self._allowed.add(frozenset((a, b)))
        self._version += 1

    def forbid(self, a: str, b: str) -> None:
        """Check a pair again that was allowed to touch."""
        if frozenset((a, b)) not in self._allowed:
            raise InputError(f"forbid({a!r}, {b!r}): this pair is not allowed to touch as it is")
        self._allowed.discard(frozenset((a, b)))
        self._version += 1

    @property
    def allowed(self) -> frozenset[frozenset[str]]:
        """Pairs of names that may touch."""
        return frozenset(self._allowed)

    # Whole scenes ---------------------------------------------------------------------------------------

    def copy(self) -> Scene:
        """An independent copy of the scene."""
        other = Scene()
        other._objects, other._allowed = dict(self._objects), set(self._allowed)
        return other

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[str]:
        return iter(self._objects)

    def __contains__(self, name: object) -> bool:
        return name in self._objects

    def _object(self, name: str) -> SceneObject:
        if not isinstance(name, str) or name not in self._objects:
            raise InputError(f"the scene has no object {shown(name)}; there are: {self._names}")
        return self._objects[name]

    @property
    def _names(self) -> str:
        return ", ".join(self._objects) or "none"

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                one.name,
                repr(one.shape),
                " ".join(f"{x:.3g}" for x in one.pose[:3, 3]),
                one.frame or "world",
            )
            for one in self._objects.values()
        ]

    def __repr__(self) -> str:
        rows = [_HEADS, *self._rows()]
        widths = [max(len(row[k]) for row in rows) for k in range(len(_HEADS))]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([self._title, *(lines if len(self) else [])])

    def _repr_html_(self) -> str:
        return table(self._title, _HEADS, self._rows())

    @property
    def _title(self) -> str:
        return f"Scene of {len(self)} object{'' if len(self) == 1 else 's'}"


def pose_matrix(what: str, given: Any) -> Array:
    """A pose as a read-only 4 × 4 matrix, from a point (m) or such a matrix.

    Raises:
        InputError: it is no rigid motion.
    """
    pose = float_array(given, f"{what} is a point (3) or a 4 × 4 matrix, in numbers")
    if not np.all(np.isfinite(pose)):
        raise InputError(f"{what} must be finite; got {shown(given)}")
    if pose.shape == (3,):
        point, pose = pose, np.eye(4)
        pose[:3, 3] = point
    if pose.shape != (4, 4):
        raise InputError(f"{what} is a point (3) or a 4 × 4 matrix; got shape {pose.shape}")
    R = pose[:3, :3]
    rigid = np.allclose(R @ R.T, np.eye(3), atol=1e-6) and np.linalg.det(R) > 0
    if not rigid or not np.allclose(pose[3], [0, 0, 0, 1]):
        raise InputError(f"{what} is no rigid motion: a rotation, a translation, the last row 0 0 0 1")
    return _frozen(pose)


def _frozen(pose: Array) -> Array:
    pose = np.array(pose, dtype=np.float64)
    pose.setflags(write=False)
    return pose
