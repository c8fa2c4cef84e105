"""Constraints of an excitation trajectory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.identification.excitation.collision import BodySphere, body_pairs, covering_spheres
from helicoid.identification.excitation.scene import Surroundings, surroundings
from helicoid.robot import Robot
from helicoid.robot.collision.scene import Scene

Box = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class ExcitationBounds:
    """Bounds on q (n, lower and upper), |v|, |a|, |τ| (infinite: free), workspace, clearance and scene."""

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array
    boxes: Mapping[str, Box]
    spheres: list[BodySphere]
    pairs: list[tuple[int, int]]
    clearance: float
    around: Surroundings | None = None

    def checked_start(self, start: ArrayLike) -> Array:
        """`start` (n) as an array, if it lies within the limits."""
        q = np.asarray(start, dtype=np.float64)
        if q.shape != self.lower.shape or not np.all((q >= self.lower) & (q <= self.upper)):
            raise InputError(
                f"start: expected {len(self.lower)} coordinates within the limits, of which `use` leaves "
                f"{self.lower.round(4).tolist()} to {self.upper.round(4).tolist()}; got {start!r}"
            )
        return q


def find_bounds(
    robot: Robot,
    use: float,
    velocity: ArrayLike | None,
    acceleration: ArrayLike | None,
    effort: ArrayLike | None,
    workspace: Mapping[str, tuple[ArrayLike, ArrayLike]] | None,
    clearance: float,
    scene: Scene | None = None,
) -> tuple[ExcitationBounds, tuple[str, ...]]:
    """Bounds from the limits given or described, and notes on constraints that were left out."""
    limits = robot.limits
    widths = np.concatenate([joint.type.widths for joint in robot.model.independent_joints])
    lower = np.where(np.isfinite(limits.lower), limits.lower, -widths)
    upper = np.where(np.isfinite(limits.upper), limits.upper, widths)
    middle, half = (lower + upper) / 2, use * (upper - lower) / 2
    boxes = {frame: _box(robot, frame, box) for frame, box in (workspace or {}).items()}
    spheres, meshes = covering_spheres(robot.model)
    pairs = body_pairs(robot.model, spheres, middle)
    speeds = use * _limit(robot, "velocity", velocity, limits.velocity)
    if not np.all(np.isfinite(speeds)):
        named = robot.joint_names[int(np.argmin(np.isfinite(speeds)))]
        raise InputError(f"joint {named!r} has no velocity limit: give one with velocity=... (rad/s, m/s)")
    free = np.full(robot.nv, np.inf)
    bounds = ExcitationBounds(
        middle - half,
        middle + half,
        speeds,
        use * _limit(robot, "acceleration", acceleration, free),
        use * _limit(robot, "effort", effort, limits.effort),
        boxes,
        spheres,
        pairs,
        clearance,
        surroundings(robot, scene),
    )
    notes = (
        [f"the shapes of {', '.join(meshes)} are meshes: self-collision was not checked"] if meshes else []
    )
    if not spheres and not meshes:
        notes.append("the description has no collision shapes: self-collision was not checked")
    return bounds, tuple(notes)


def _limit(robot: Robot, what: str, given: ArrayLike | None, stated: Array) -> Array:
    if given is None:
        # A description states 0 where it does not know the limit.
        return np.where(stated > 0, stated, np.inf)
    values = np.asarray(given, dtype=np.float64)
    if values.shape not in ((), (robot.nv,)) or not np.all(values > 0):
        raise InputError(f"{what}: expected a number above zero or {robot.nv} of them, got {given!r}")
    return np.broadcast_to(values, (robot.nv,)).copy()


def _box(robot: Robot, frame: str, box: tuple[ArrayLike, ArrayLike]) -> Box:
    robot.model.frame(frame)
    lower, upper = (np.asarray(corner, dtype=np.float64) for corner in box)
    if lower.shape != (3,) or upper.shape != (3,) or not np.all(lower < upper):
        raise InputError(f"workspace of {frame!r}: expected lower and upper corners (x, y, z), got {box!r}")
    return lower, upper
