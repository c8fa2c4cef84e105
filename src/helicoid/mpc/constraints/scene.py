"""Collision avoidance in a scene: half-spaces that touch the nearest objects of each body."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.dynamics.tree import joint_motions, world_poses
from helicoid.errors import InputError
from helicoid.mpc.constraints.constraint import Constraint, Soft, constraint_on
from helicoid.mpc.system.symbols import Symbols
from helicoid.robot import Robot
from helicoid.robot.collision.distances.checker import Checker, Pairs, checked_scene, checker
from helicoid.robot.collision.link_shapes import GeometryKind
from helicoid.robot.collision.scene import Scene

_NUMBERS = 7  # of a row: normal, point of the link in its body, offset
_FREE = -1e3  # m, offset of a row without an object


def scene_constraint(
    symbols: Symbols,
    scene: Scene,
    margin: float = 0.02,
    soft: Soft = 1000.0,
    nearest: int = 2,
    within: float = 0.1,
    geometry: GeometryKind | None = None,
    name: str = "scene",
) -> Constraint:
    """At least `margin` (m) between every link, and what the robot carries, and the objects of a scene.

    For each body that moves and each node there are `nearest` rows n · (R(q) a + p(q)) - c ≥ margin, one for
    each of the nearest objects that are `within` a distance (m): a is the nearest point of the body, in its
    frame, n the normal of the object there and c = n · b for the nearest point b of the object. Value and
    derivative are those of the signed distance at the plan where they were computed; they are parameters,
    computed again in every step of a controller and in every round of `solve`, for the scene as it then
    is: objects may be moved, added and removed, and nothing is compiled. The distances of links to each
    other are `add_self_collision`.
    """
    robot = symbols.robot
    given = checked_scene(scene)
    if given is None:
        raise InputError(f"constraint {name!r}: a scene is hc.Scene() with objects; got None")
    if not 0 <= margin < np.inf:
        raise InputError(f"constraint {name!r}: the margin (m) must not be negative, got {margin}")
    if isinstance(nearest, bool) or not isinstance(nearest, int) or nearest < 1:
        raise InputError(f"constraint {name!r}: nearest is a number of objects, 1 or more; got {nearest!r}")
    if not margin < within < np.inf:
        raise InputError(f"constraint {name!r}: within is a distance (m) above the margin; got {within!r}")
    check = checker(robot, geometry)
    bodies = tuple(sorted({body for body in check.link_bodies if body >= 0}))
    if not bodies:
        raise InputError(f"constraint {name!r}: no link of robot {robot.name!r} that moves has geometry")
    rows = nearest * len(bodies)
    free = np.tile([*np.zeros(_NUMBERS - 1), _FREE], rows)
    numbers = symbols.parameter(f"{name}_contacts", free, _NUMBERS * rows)
    poses = world_poses(robot.model, joint_motions(robot.model, symbols["q"]))
    gaps, labels = [], []
    for k in range(rows):
        own, (R, p) = numbers.symbol[_NUMBERS * k : _NUMBERS * (k + 1)], poses[bodies[k // nearest]]
        gaps.append(ca.dot(own[:3], R @ own[3:6] + p) - own[6])
        labels.append(f"{robot.model.bodies[bodies[k // nearest]].name}, object {k % nearest + 1}")
    made = constraint_on(
        symbols,
        name,
        ca.vertcat(*gaps),
        margin,
        soft=soft,
        scale=5.0,
        labels=labels,
        parameters=[numbers],
    )
    refresh = SceneContacts(robot, given, bodies, nearest, float(within), geometry, numbers.name)
    return replace(made, refresh=refresh)


@dataclass(frozen=True, eq=False)
class SceneContacts:
    """The numbers of the rows: nearest points and normals at the nodes of a plan."""

    robot: Robot
    scene: Scene
    bodies: tuple[int, ...]
    nearest: int
    within: float
    geometry: GeometryKind | None
    parameter: str

    def values(self, x: Array) -> Array:
        """The rows of the parameter at states x (nodes, nx)."""
        q = np.ascontiguousarray(x[:, : self.robot.nq])
        check: Checker = checker(self.robot, self.geometry)
        pairs = check.pairs(self.scene, False)
        out = np.zeros((len(q), len(self.bodies), self.nearest, _NUMBERS))
        out[..., -1] = _FREE
        if not len(pairs.pairs) or not np.all(np.isfinite(q)):
            return out.reshape(len(q), -1)
        groups, of_body, n_objects = self._groups(pairs)
        found, poses = check.contacts(q, pairs, groups, len(of_body), self.within)
        # (nodes, bodies, objects, numbers), objects that are not there at infinity.
        d = np.full((len(q), len(self.bodies), n_objects), np.inf)
        d[:, of_body[:, 0], of_body[:, 1]] = found[:, :, 0]
        take = min(self.nearest, n_objects)
        first = np.argsort(d, axis=2, kind="stable")[:, :, :take]
        number = np.zeros((len(self.bodies), n_objects), dtype=np.intp)
        number[of_body[:, 0], of_body[:, 1]] = np.arange(len(of_body))
        node, body = np.arange(len(q))[:, None, None], np.arange(len(self.bodies))[None, :, None]
        rows = found[node, number[body, first]]
        there = np.isfinite(d[node, body, first])
        T = poses.reshape(len(q), -1, 3, 4)[:, list(self.bodies)][:, :, None]
        a = np.einsum("...ji,...j->...i", T[..., :3], rows[..., 2:5] - T[..., 3])
        n = rows[..., 8:11]
        offset = np.einsum("...i,...i->...", n, rows[..., 5:8])
        made = np.concatenate([n, a, offset[..., None]], axis=-1)
        out[:, :, :take] = np.where(there[..., None], made, out[:, :, :take])
        return out.reshape(len(q), -1)

    def _groups(self, pairs: Pairs) -> tuple[NDArray[np.int32], NDArray[np.intp], int]:
        """The pairs by body and object: groups, and (place of the body, number of the object) of each."""
        if self.bodies not in pairs.grouped:
            objects = {name: k for k, name in enumerate(dict.fromkeys(other for _, other in pairs.names))}
            place = {body: k for k, body in enumerate(self.bodies)}
            keys = [
                (place[int(body)], objects[pairs.names[group][1]])
                for (_, _, group), (body, _) in zip(pairs.pairs, pairs.bodies, strict=True)
                if int(body) in place
            ]
            chosen = [k for k, (body, _) in enumerate(pairs.bodies) if int(body) in place]
            order = sorted(range(len(keys)), key=lambda k: keys[k])
            groups = list(dict.fromkeys(keys[k] for k in order))
            number = {key: k for k, key in enumerate(groups)}
            table = pairs.pairs[[chosen[k] for k in order]].copy()
            table[:, 2] = [number[keys[k]] for k in order]
            pairs.grouped[self.bodies] = np.ascontiguousarray(table), np.array(groups), len(objects)
        table, places, count = pairs.grouped[self.bodies]
        return table, places, int(count)
