"""Levers: bounds of the displacement of a robot's spheres per unit of each coordinate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.model.model import WORLD, Body, Model
from helicoid.planning.collision.spheres import SphereGroup
from helicoid.planning.space import NUMBER, ConfigurationSpace


def levers(model: Model, space: ConfigurationSpace, groups: Sequence[SphereGroup]) -> Array:
    """Largest displacement (m) of any sphere of each group per unit of each coordinate, (groups, nq)."""
    return np.array([_levers(model, space, group, WORLD) for group in groups]).reshape(len(groups), model.nq)


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
    return np.array(rows).reshape(len(pairs), model.nq)


def _up(model: Model, body: int) -> Iterator[int]:
    while body != WORLD:
        yield body
        body = model.bodies[body].parent


def _levers(model: Model, space: ConfigurationSpace, group: SphereGroup, base: int) -> Array:
    """Levers of the motion relative to the body `base`, which carries the group or is WORLD.

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
    """Largest displacement (m) of a joint's child origin."""
    joint = body.joint.type
    if joint.quaternion is not None:
        lengths = [k for k in range(body.q.start, body.q.stop) if space.kind[k] == NUMBER]
        return float(np.linalg.norm(np.maximum(np.abs(space.lower), np.abs(space.upper))[lengths]))
    S = np.array(ca.evalf(joint.subspace(ca.SX(joint.neutral()))))
    linear = np.linalg.norm(S[3:], axis=0)
    far = np.maximum(np.abs(space.lower[body.q]), np.abs(space.upper[body.q]))
    return float(np.sum(linear * (abs(body.multiplier) * far + abs(body.offset))))
