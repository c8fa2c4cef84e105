"""The configuration space of a robot: its coordinates and their limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.robot import Robot

NUMBER, CIRCLE, QUATERNION, QUATERNION_PART = range(4)  # as in runtime/edge.h
TURNING = ("revolute", "continuous")  # kinds of joints


@dataclass(frozen=True, eq=False)
class ConfigurationSpace:
    """Coordinates (nq): kind, lower and upper limit for sampling, weight in lengths, and 2π for those of
    joints that can turn more than once, else 0."""

    kind: NDArray[np.int32]
    lower: Array
    upper: Array
    weight: Array
    turn: Array

    @property
    def is_curved(self) -> bool:
        """Whether some coordinates are angles on circles or rotations."""
        return bool(np.any(self.kind != NUMBER))

    @property
    def diagonal(self) -> float:
        """Distance between the lower and the upper limits; of joints that can turn more, of one turn."""
        wide = np.where(self.turn > 0, self.turn, self.upper - self.lower)
        return float(np.linalg.norm(self.weight * wide))

    def wrapped(self, q: Array) -> Array:
        """Angles on circles within half a turn of zero, quaternions of unit length."""
        q = np.array(q, dtype=np.float64)
        circle = self.kind == CIRCLE
        q[..., circle] -= 2 * np.pi * np.rint(q[..., circle] / (2 * np.pi))
        for k in np.flatnonzero(self.kind == QUATERNION):
            q[..., k : k + 4] /= np.linalg.norm(q[..., k : k + 4], axis=-1, keepdims=True)
        return q

    def continuous(self, q: Array) -> Array:
        """A path (n, nq) in which angles on circles and signs of quaternions do not jump."""
        q = q.copy()
        circle = self.kind == CIRCLE
        q[:, circle] = np.unwrap(q[:, circle], axis=0)
        for k in np.flatnonzero(self.kind == QUATERNION):
            flips = np.sum(q[1:, k : k + 4] * q[:-1, k : k + 4], axis=1) < 0
            q[1:, k : k + 4] *= np.cumprod(np.where(flips, -1.0, 1.0))[:, None]
        return q

    def length(self, q: Array) -> float:
        """The length of a path (n, nq)."""
        return float(np.sqrt(np.sum(np.square(self.weight * self.motion(q)), axis=1)).sum())

    def motion(self, q: Array) -> Array:
        """Absolute motion (n - 1, nq) along each edge of a path; the angle of a rotation stands in its first
        coordinate."""
        d = np.abs(np.diff(self.continuous(q), axis=0))
        for k in np.flatnonzero(self.kind == QUATERNION):
            dot = np.abs(np.sum(q[1:, k : k + 4] * q[:-1, k : k + 4], axis=1))
            d[:, k : k + 4] = 0.0
            d[:, k] = 2 * np.arccos(np.minimum(dot, 1.0))
        return d


def configuration_space(
    robot: Robot, bounds: tuple[ArrayLike, ArrayLike] | None, weights: ArrayLike | None
) -> ConfigurationSpace:
    """The space of a robot; `bounds` (lower, upper) replace its own limits.

    Raises:
        InputError: a length has no limits and none are given, or the lower ones are above the upper ones.
    """
    lower, upper = (np.array(x, dtype=np.float64) for x in (robot.limits.lower, robot.limits.upper))
    if bounds is not None:
        lower, upper = (np.broadcast_to(np.asarray(x, dtype=np.float64), (robot.nq,)).copy() for x in bounds)
    kind = np.zeros(robot.nq, dtype=np.int32)
    for body in robot.model.bodies:
        joint = body.joint
        if joint.mimic is not None:
            continue
        if joint.type.quaternion is not None:
            start = body.q.start + joint.type.quaternion.start
            kind[start], kind[start + 1 : start + 4] = QUATERNION, QUATERNION_PART
            lower[start : start + 4], upper[start : start + 4] = -1.0, 1.0
        elif joint.type.nq != joint.type.nv:
            raise InputError(f"planning knows no edges on the manifold of joint {joint.name!r}")
        elif joint.type.endless and bounds is None:
            kind[body.q], lower[body.q], upper[body.q] = CIRCLE, -np.pi, np.pi
        elif joint.type.kind == "planar" and not np.isfinite(upper[body.q][2]):
            at = body.q.start + 2
            kind[at], lower[at], upper[at] = CIRCLE, -np.pi, np.pi
    names = robot.model.coordinate_names
    for k in np.flatnonzero(~(np.isfinite(lower) & np.isfinite(upper))):
        raise InputError(
            f"coordinate {names[k]!r} of {robot.name!r} has no limits: give bounds=(lower, upper)"
        )
    for k in np.flatnonzero(lower > upper):
        raise InputError(f"the limits of {names[k]!r} are crossed: {lower[k]:g} is above {upper[k]:g}")
    weight = (
        np.ones(robot.nq) if weights is None else np.broadcast_to(np.asarray(weights, np.float64), robot.nq)
    )
    if not np.all(np.isfinite(weight) & (weight > 0)):
        raise InputError("weights of coordinates are above zero")
    return ConfigurationSpace(kind, lower, upper, np.array(weight), _turns(robot, kind, upper - lower))


def _turns(robot: Robot, kind: NDArray[np.int32], width: Array) -> Array:
    followed = {body.joint.mimic.joint for body in robot.model.bodies if body.joint.mimic is not None}
    turn = np.zeros(robot.nq)
    for body in robot.model.bodies:
        joint, k = body.joint, body.q.start
        if joint.type.kind not in TURNING or joint.mimic is not None or joint.name in followed:
            continue
        if kind[k] == NUMBER and width[k] > 2 * np.pi:
            turn[k] = 2 * np.pi
    return turn
