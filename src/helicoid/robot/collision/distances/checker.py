"""Distances of a robot to a scene and to itself: the pairs that are checked, and their gradient."""

from __future__ import annotations

import weakref
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.arrays import float_array, shown
from helicoid.errors import InputError
from helicoid.geometry.shapes import Plane
from helicoid.model.model import WORLD, Model
from helicoid.robot.collision.body_poses import body_matrices
from helicoid.robot.collision.distances.library import HalfSpaces, nearest
from helicoid.robot.collision.distances.motion import carried, joint_screws, spread
from helicoid.robot.collision.distances.rows import Rows
from helicoid.robot.collision.distances.self_pairs import SelfCollisionPairs, verdict
from helicoid.robot.collision.link_shapes import GeometryKind, link_shapes

if TYPE_CHECKING:
    from helicoid.robot.collision.scene import Scene
    from helicoid.robot.collision.scene.scene import SceneObject
    from helicoid.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class Proximity:
    """Distance of a link or a carried object from an obstacle or another link.

    Attributes:
        distance: signed (m); negative by the penetration depth where they overlap.
        names: a link, or an object that the robot carries, and an object or another link.
        points: the nearest points of the two, or the deepest, (2, 3), in the world (m).
        normal: unit vector from the second to the first, (3).
        gradient: of the distance by the velocity, (nv).
    """

    distance: float
    names: tuple[str, str]
    points: Array
    normal: Array
    gradient: Array

    def __repr__(self) -> str:
        return f"Proximity({self.distance:.6g} m, {self.names[0]!r} to {self.names[1]!r})"


class Pairs(NamedTuple):
    """The shapes of a robot and a scene, and the pairs of them that are checked."""

    rows: Rows  # keeps what the table refers to
    table: Array
    pairs: NDArray[np.int32]  # (n, 3): shape, shape, which of `names`
    names: list[tuple[str, str]]
    bodies: NDArray[np.intp]  # (n, 2), of each pair; -1 is the world
    grouped: dict[Any, Any]  # other groups of the pairs, computed by those who need them
    objects: dict[str, tuple[SceneObject, int]]  # of the scene, each with its row
    allowed: frozenset[frozenset[str]]

    def moved(self, scene: Scene, model: Model) -> bool:
        """Take the poses of a scene in which objects have moved and nothing else changed; False if it has."""
        now = scene.objects
        if now.keys() != self.objects.keys() or scene.allowed != self.allowed:
            return False
        for name, (before, _) in self.objects.items():
            one = now[name]
            if one.shape is not before.shape or (one.frame, one.robot) != (before.frame, before.robot):
                return False
        for name, (before, row) in self.objects.items():
            if now[name] is not before:
                self.table[row]["pose"] = _pose_on_body(now[name], model)[1][:3].ravel()
                self.objects[name] = now[name], row
        return True

    def merged(self, without: Collection[tuple[str, str]] = ()) -> NDArray[np.int32]:
        """All pairs as one group, without those of some names."""
        key = "all" if not without else "that may meet"
        if key not in self.grouped:
            kept = [k for k, (_, _, name) in enumerate(self.pairs) if self.names[name] not in without]
            self.grouped[key] = np.ascontiguousarray(self.pairs[kept] * np.array([1, 1, 0], np.int32))
        table: NDArray[np.int32] = self.grouped[key]
        return table


class Checker:
    """Collision checker of a robot: its geometry, and tables of the scenes that were checked."""

    def __init__(self, robot: Robot, geometry: GeometryKind | None) -> None:
        self.robot, model = robot, robot.model
        self._rows, self._owners, self._bodies = Rows(), list[str](), list[int]()
        for link, shapes in link_shapes(model, geometry).items():
            body, placement = model.frame(link)
            for shape in shapes:
                placed = placement @ shape.placement
                self._rows.add_geometry(shape, body, np.column_stack([placed.rotation, placed.translation]))
                self._owners.append(link)
                self._bodies.append(body)
        self._spread, self._carried = spread(model), carried(model)
        self._known: weakref.WeakKeyDictionary[Scene, dict[bool, tuple[int, Pairs]]] = (
            weakref.WeakKeyDictionary()
        )
        self._alone: Pairs | None = None

    # Pairs ------------------------------------------------------------------------------------------------

    def pairs(self, scene: Scene | None, self_collision: bool) -> Pairs:
        """The pairs with a scene as it is now; computed again where it has changed."""
        if scene is None:
            if self._alone is None:
                self._alone = self._found(None, True)
            return self._alone
        known = self._known.setdefault(scene, {})
        version, found = known.get(self_collision, (-1, None))
        if found is None or version != scene.version:
            if found is None or not found.moved(scene, self.robot.model):
                found = self._found(scene, self_collision)
            known[self_collision] = scene.version, found
        return found

    def _found(self, scene: Scene | None, self_collision: bool) -> Pairs:
        rows, owners, bodies = self._rows.extended(), list(self._owners), list(self._bodies)
        n_links = len(owners)
        model, robot = self.robot.model, self.robot
        objects = [] if scene is None else list(scene.objects.values())
        placed: dict[str, tuple[SceneObject, int]] = {}
        for one in objects:
            if one.frame is None:
                continue
            if one.robot != robot.name or one.frame not in model.frames:
                raise InputError(
                    f"object {one.name!r} is attached to {one.frame!r} of robot {one.robot!r}, which is not "
                    f"{robot.name!r}: detach it, or ask that robot"
                )
            body, pose = _pose_on_body(one, model)
            placed[one.name] = one, len(rows)
            rows.add(one.shape, body, pose, convex=not isinstance(one.shape, Plane))
            if isinstance(one.shape, Plane):
                raise InputError(f"object {one.name!r} is a plane, which a robot cannot carry")
            owners.append(one.name)
            bodies.append(body)
        n_moving = len(owners)
        for one in objects:
            if one.frame is None:
                placed[one.name] = one, len(rows)
                rows.add(one.shape, WORLD, one.pose)
                owners.append(one.name)
                bodies.append(WORLD)
        allowed = self._allowed(scene)
        known = self.self_pairs if self_collision else None
        considered = set() if known is None else {*known.checked, *known.never}
        found: list[tuple[int, int]] = []
        for i in range(n_moving):
            for j in range(i + 1, len(owners)):
                if bodies[i] == bodies[j] or frozenset((owners[i], owners[j])) in allowed:
                    continue
                if j < n_links and not (self_collision and (owners[i], owners[j]) in considered):
                    continue
                found.append((i, j))
        names = list(dict.fromkeys((owners[i], owners[j]) for i, j in found))
        number = {name: k for k, name in enumerate(names)}
        listed = sorted((number[owners[i], owners[j]], i, j) for i, j in found)
        table = np.array([(i, j, k) for k, i, j in listed], dtype=np.int32).reshape(-1, 3)
        carriers = np.array([(bodies[i], bodies[j]) for _, i, j in listed], dtype=np.intp).reshape(-1, 2)
        return Pairs(rows, rows.table, table, names, carriers, {}, placed, allowed)

    @cached_property
    def self_pairs(self) -> SelfCollisionPairs:
        """Pairs of links by their collision status."""
        model = self.robot.model
        table = self._rows.table
        found: dict[str, list[tuple[str, str]]] = {name: [] for name in SelfCollisionPairs._fields}
        shapes: dict[str, list[int]] = {}
        for k, link in enumerate(self._owners):
            shapes.setdefault(link, []).append(k)
        for (one, own), (other, others) in combinations(shapes.items(), 2):
            a, b = self._bodies[own[0]], self._bodies[others[0]]
            if a == b:
                continue
            if frozenset((one, other)) in model.semantics.disabled:
                found["disabled"].append((one, other))
                continue
            if any(x != WORLD and model.bodies[x].parent == y for x, y in ((a, b), (b, a))):
                found["neighbours"].append((one, other))
                continue
            pairs = np.array([(i, j, 0) for i in own for j in others], dtype=np.int32)
            reaches = np.array([max(_reach(table[k]) for k in some) for some in (own, others)])

            def distance(q: Array, pairs: NDArray[np.int32] = pairs) -> Array:
                poses = np.asarray(body_matrices(self.robot)(q)).reshape(len(q), -1, 12)
                return nearest(table, pairs, 1, np.ascontiguousarray(poses), np.inf, False)[:, 0, 0]

            found[verdict(self.robot, (a, b), reaches, distance)].append((one, other))
        return SelfCollisionPairs(*(tuple(found[name]) for name in SelfCollisionPairs._fields))

    def _allowed(self, scene: Scene | None) -> frozenset[frozenset[str]]:
        if scene is None:
            return frozenset()
        links = set(self.robot.link_names)
        for pair in scene.allowed:
            for name in pair:
                if name not in scene and name not in links:
                    raise InputError(
                        f"the scene allows {' and '.join(sorted(map(repr, pair)))} to touch, but {name!r} is "
                        f"neither an object nor a link of robot {self.robot.name!r}"
                    )
        return scene.allowed

    # Distances --------------------------------------------------------------------------------------------

    def distance(
        self, q: Any, scene: Scene | None, self_collision: bool, gradient: bool
    ) -> Array | float | tuple[Any, Array]:
        """See `Robot.distance`."""
        single, batch = self._configurations(q)
        pairs = self.pairs(scene, self_collision)
        found = self._nearest(batch, pairs, pairs.merged(), 1, np.inf, False)[:, 0]
        d = found[:, 0]
        if not gradient:
            return float(d[0]) if single else d
        slope = self._gradient(batch, pairs, found)
        return (float(d[0]), slope[0]) if single else (d, slope)

    def in_collision(self, q: Any, scene: Scene | None, self_collision: bool, margin: float) -> Any:
        """See `Robot.in_collision`."""
        single, batch = self._configurations(q)
        pairs = self.pairs(scene, self_collision)
        never = self.self_pairs.never if self_collision and margin <= 0 else ()
        found = self._nearest(batch, pairs, pairs.merged(never), 1, margin, True)[:, 0, 0] < margin
        return bool(found[0]) if single else found

    def closest(self, q: Any, scene: Scene | None, self_collision: bool, within: float) -> list[Proximity]:
        """See `Robot.closest`."""
        single, batch = self._configurations(q)
        if not single:
            raise InputError("closest takes one configuration (nq); distance takes many")
        pairs = self.pairs(scene, self_collision)
        found = self._nearest(batch, pairs, pairs.pairs, len(pairs.names), within, False)[0]
        near = found[found[:, 1] >= 0]
        slopes = self._gradient(np.repeat(batch, len(near), axis=0), pairs, near)
        listed = [
            Proximity(
                float(row[0]),
                pairs.names[pairs.pairs[int(row[1]), 2]],
                row[2:8].reshape(2, 3).copy(),
                row[8:11].copy(),
                slope,
            )
            for row, slope in zip(near, slopes, strict=True)
        ]
        return sorted(listed, key=lambda one: one.distance)

    def _nearest(
        self, q: Array, pairs: Pairs, grouped: NDArray[np.int32], groups: int, enough: float, stop: bool
    ) -> Array:
        poses = np.asarray(body_matrices(self.robot)(q)).reshape(len(q), -1, 12)
        return nearest(pairs.table, grouped, groups, np.ascontiguousarray(poses), enough, stop)

    @property
    def link_bodies(self) -> tuple[int, ...]:
        """The bodies of the robot's shapes; -1 is the world."""
        return tuple(self._bodies)

    def half_spaces(self, scene: Scene, bodies: tuple[int, ...], nearest: int, none: float) -> HalfSpaces:
        """Half-spaces at the objects of a scene as it is now, for bodies that move."""
        found = self.pairs(scene, False)
        key = bodies, nearest
        if key not in found.grouped:
            place = {body: k for k, body in enumerate(bodies)}
            objects = {name: k for k, name in enumerate(dict.fromkeys(other for _, other in found.names))}
            rows = []
            for (a, b, name), carriers in zip(found.pairs.tolist(), found.bodies.tolist(), strict=True):
                # Links are first in a pair: beside a link that is fixed, what is carried is what moves.
                one, other = (a, b) if carriers[0] in place else (b, a)
                body = carriers[0] if carriers[0] in place else carriers[1]
                if body in place:
                    rows.append((place[body], objects[found.names[name][1]], one, other))
            table = np.array(sorted(rows), dtype=np.int32).reshape(-1, 4)[:, [2, 3, 0, 1]]
            found.grouped[key] = HalfSpaces(
                found.table, table, len(bodies), self.robot.n_bodies, nearest, none
            )
        made: HalfSpaces = found.grouped[key]
        return made

    def _gradient(self, q: Array, pairs: Pairs, rows: Array) -> Array:
        """ḋ = n · (ẋ - ẏ) of the nearest points x and y, per velocity: a wrench n at them times the screws.

        The motion of the points on their shapes does not enter, since the distance is least there.
        """
        if not len(rows):
            return np.zeros((0, self.robot.nv))
        S = np.asarray(joint_screws(self.robot)(q)).reshape(len(q), 6, -1)
        n, x = rows[:, 8:11], rows[:, 2:5]
        wrench = np.concatenate([np.cross(x, n), n], axis=1)
        known = rows[:, 1] >= 0
        bodies = pairs.bodies[np.where(known, rows[:, 1], 0).astype(int)] if len(pairs.bodies) else None
        if bodies is None:
            return np.zeros((len(rows), self.robot.nv))
        sign = self._carried[bodies[:, 0]] - self._carried[bodies[:, 1]]
        slope = (np.einsum("ni,nij->nj", wrench, S) * sign) @ self._spread
        return np.where(known[:, None], slope, 0.0)

    def _configurations(self, q: Any) -> tuple[bool, Array]:
        nq = self.robot.nq
        given = float_array(q, f"configurations are ({nq}) or (N, {nq}) numbers")
        if given.ndim not in (1, 2) or given.shape[-1] != nq:
            raise InputError(f"configurations are ({nq}) or (N, {nq}); got shape {given.shape}")
        if not np.all(np.isfinite(given)):
            row = 0 if given.ndim == 1 else int(np.argmin(np.isfinite(given).all(axis=1)))
            raise InputError(
                f"configurations are finite; row {row} is {given if given.ndim == 1 else given[row]}"
            )
        return given.ndim == 1, np.atleast_2d(given)


def _pose_on_body(one: SceneObject, model: Model) -> tuple[int, Array]:
    """The body that carries an object (-1: the world), and the pose of the object on it (4 × 4)."""
    if one.frame is None:
        return WORLD, one.pose
    body, placement = model.frame(one.frame)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = placement.rotation, placement.translation
    return body, pose @ one.pose


def _reach(row: Any) -> float:
    """Largest distance of a shape's points from the origin of its body (m)."""
    pose = row["pose"].reshape(3, 4)
    return float(np.linalg.norm(pose[:, :3] @ row["center"] + pose[:, 3]) + row["ball"])


def checker(robot: Robot, geometry: GeometryKind | None) -> Checker:
    """The checker of a robot; made once."""
    return robot.memo(("collision checker", geometry), lambda: Checker(robot, geometry))


def checked_scene(scene: Any) -> Scene | None:
    """A scene, or None.

    Raises:
        InputError: it is something else.
    """
    from helicoid.robot.collision.scene import Scene

    if scene is not None and not isinstance(scene, Scene):
        raise InputError(f"a scene is hc.Scene() with objects; got {shown(scene)}")
    return scene


def checked_length(what: str, value: Any, most: float = np.inf) -> float:
    """A number of metres that may be negative or infinite, not NaN."""
    array = float_array(value, f"the {what} is a distance (m)")
    if array.shape != () or np.isnan(array) or array > most:
        raise InputError(f"the {what} is a distance (m); got {shown(value)}")
    return float(array)
