"""Collision avoidance in a scene: half-spaces that touch the nearest objects of each body."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.tree import joint_motions, world_poses
from helicoid.errors import InputError
from helicoid.mpc.constraints.constraint import Constraint, Soft, constraint_on
from helicoid.mpc.system.symbols import Symbols
from helicoid.robot import Robot
from helicoid.robot.collision.body_poses import body_matrices
from helicoid.robot.collision.distances.checker import checked_scene, checker
from helicoid.robot.collision.distances.library import HALF_SPACE
from helicoid.robot.collision.link_shapes import GeometryKind
from helicoid.robot.collision.scene import Scene

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
    free = np.tile([*np.zeros(HALF_SPACE - 1), _FREE], rows)
    numbers = symbols.parameter(f"{name}_contacts", free, HALF_SPACE * rows)
    poses = world_poses(robot.model, joint_motions(robot.model, symbols["q"]))
    gaps, labels = [], []
    for k in range(rows):
        own, (R, p) = numbers.symbol[HALF_SPACE * k : HALF_SPACE * (k + 1)], poses[bodies[k // nearest]]
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
        check = checker(self.robot, self.geometry)
        half_spaces = check.half_spaces(self.scene, self.bodies, self.nearest, _FREE)
        poses = np.ascontiguousarray(body_matrices(self.robot)(np.ascontiguousarray(x[:, : self.robot.nq])))
        if not math.isfinite(float(poses.sum())):
            poses = np.full_like(poses, 1e6)  # far from everything
        return half_spaces(poses, self.within)
