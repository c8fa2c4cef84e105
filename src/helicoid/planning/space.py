"""The configuration space of a robot: its coordinates, their limits, and how far they move each sphere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.model.model import WORLD, Body, Model
from helicoid.planning.spheres import SphereGroup
from helicoid.robot import Robot

NUMBER, CIRCLE, QUATERNION, QUATERNION_PART = range(4)  # as in runtime/edge.h


@dataclass(frozen=True, eq=False)
class ConfigurationSpace:
    """Coordinates (nq): kind, lower and upper limit for sampling, and weight in lengths."""

    kind: NDArray[np.int32]
    lower: Array
    upper: Array
    weight: Array

    @property
    def is_curved(self) -> bool:
        """Whether straight lines need more than arithmetic: circles and rotations."""
        return bool(np.any(self.kind != NUMBER))

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
    robot: Robot, bounds: tuple[Array, Array] | None, weights: Array | None
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
        elif joint.type.kind == "planar" and not np.isfinite(lower[body.q][2] + upper[body.q][2]):
            at = body.q.start + 2
            kind[at], lower[at], upper[at] = CIRCLE, -np.pi, np.pi
    names = robot.model.coordinate_names
    for k in np.flatnonzero(~np.isfinite(lower + upper)):
        raise InputError(
            f"coordinate {names[k]!r} of {robot.name!r} has no limits to sample within: give bounds=(lower, upper)"
        )
    for k in np.flatnonzero(lower > upper):
        raise InputError(f"the limits of {names[k]!r} are crossed: {lower[k]:g} is above {upper[k]:g}")
    weight = np.ones(robot.nq) if weights is None else np.broadcast_to(np.asarray(weights, np.float64), robot.nq)
    if not np.all(np.isfinite(weight) & (weight > 0)):
        raise InputError("weights of coordinates are above zero")
    return ConfigurationSpace(kind, lower, upper, np.array(weight))


# Levers -------------------------------------------------------------------------------------------------


def levers(model: Model, space: ConfigurationSpace, groups: Sequence[SphereGroup]) -> Array:
    """How far a unit of each coordinate can move any sphere of each group (m), (groups, nq)."""
    return np.array([_levers(model, space, group, WORLD) for group in groups]).reshape(len(groups), -1)


def pair_levers(
    model: Model, space: ConfigurationSpace, groups: Sequence[SphereGroup], pairs: Sequence[tuple[int, int]]
) -> Array:
    """The same for the motion of two groups relative to each other, (pairs, nq): joints below both do not
    count."""
    rows = []
    for i, j in pairs:
        a, b = groups[i], groups[j]
        common = next((k for k in _up(model, a.body) if k in set(_up(model, b.body))), WORLD)
        rows.append(_levers(model, space, a, common) + _levers(model, space, b, common))
    return np.array(rows).reshape(len(pairs), -1)


def _up(model: Model, body: int) -> Iterator[int]:
    while body != WORLD:
        yield body
        body = model.bodies[body].parent


def _levers(model: Model, space: ConfigurationSpace, group: SphereGroup, base: int) -> Array:
    """Of the motion relative to the body `base`, which carries the group or is WORLD.

    A sphere is never farther from the origin of a body than the links between are long: the lever of a joint
    is the size of its axis' linear part, and that of the angular part times this distance.
    """
    found = np.zeros(model.nq)
    centers = group.spheres[:, :3]
    far = float(np.linalg.norm(centers, axis=1).max())
    for number in _up(model, group.body):
        if number == base:
            break
        body = model.bodies[number]
        joint, factor = body.joint, abs(body.multiplier)
        if joint.type.quaternion is not None:
            start = body.q.start + joint.type.quaternion.start
            found[start] += far
            others = [k for k in range(body.q.start, body.q.stop) if not start <= k < start + 4]
            found[others] += 1.0
        else:
            S = np.array(ca.evalf(joint.type.subspace(ca.SX(joint.type.neutral()))))
            arm = far
            if number == group.body and joint.type.nv == 1 and np.any(S[:3]):
                axis = S[:3, 0] / np.linalg.norm(S[:3, 0])
                arm = float(np.linalg.norm(np.cross(axis, centers), axis=1).max())
            found[body.q] += factor * (np.linalg.norm(S[3:], axis=0) + arm * np.linalg.norm(S[:3], axis=0))
        far += float(np.linalg.norm(body.placement.translation)) + _travel(body, space)
    return found


def _travel(body: Body, space: ConfigurationSpace) -> float:
    """How far the joint moves its child's origin at most (m)."""
    joint = body.joint.type
    if joint.quaternion is not None:
        lengths = [k for k in range(body.q.start, body.q.stop) if space.kind[k] == NUMBER]
        return float(np.linalg.norm(np.maximum(np.abs(space.lower), np.abs(space.upper))[lengths]))
    S = np.array(ca.evalf(joint.subspace(ca.SX(joint.neutral()))))
    linear = np.linalg.norm(S[3:], axis=0)
    far = np.maximum(np.abs(space.lower[body.q]), np.abs(space.upper[body.q]))
    return float(np.sum(linear * (abs(body.multiplier) * far + abs(body.offset))))
