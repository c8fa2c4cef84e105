"""Pairs of links that can meet, by certificates: bounds on the displacement of links, not samples.

The signed distance of convex shapes is the largest separation over all directions, so that it changes by no
more than their points move against each other. A joint of one coordinate moves a point by at most L |Δq|,
with L its largest distance from the joint's axis (1 for a prismatic joint). In a box of coordinates with
centre c and half sizes h the distance is thus within Σ L h of that at c. Boxes are halved until all of them
are decided; a pair of links of which some are not after a number of evaluations may meet, and is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.model.model import WORLD, Model

if TYPE_CHECKING:
    from helicoid.robot.robot import Robot

_MAX_EVALUATIONS = 4000  # per pair of links
_MAX_COORDINATES = 3  # between links: of more the boxes are too many

LinkPair = tuple[str, str]


class SelfCollisionPairs(NamedTuple):
    """Pairs of links by their collision status.

    Attributes:
        checked: may meet.
        never: cannot meet within the limits of the joints, proven by bounds; `in_collision` leaves them out.
        always: overlap in every configuration within the limits, proven by bounds; never checked.
        disabled: by the SRDF; never checked.
        neighbours: on bodies that a joint connects; never checked.
    """

    checked: tuple[LinkPair, ...]
    never: tuple[LinkPair, ...]
    always: tuple[LinkPair, ...]
    disabled: tuple[LinkPair, ...]
    neighbours: tuple[LinkPair, ...]


def verdict(robot: Robot, bodies: tuple[int, int], reaches: Array, distance: Callable[[Array], Array]) -> str:
    """Decide "never", "always" or "checked" for the shapes of two bodies.

    Args:
        bodies: of the two links.
        reaches: largest distance of a shape's points from the origin of its body, (2), m.
        distance: least signed distance of the shapes at configurations (N, nq).
    """
    found = _coordinates(robot, bodies, reaches)
    if found is None:
        return "checked"
    at, L = found
    lower, upper = robot.limits.lower[at], robot.limits.upper[at]
    lower, upper = np.where(np.isfinite(lower), lower, -np.pi), np.where(np.isfinite(upper), upper, np.pi)
    centers, half = ((lower + upper) / 2)[None], ((upper - lower) / 2)[None]
    signs, used = set[str](), 0
    while len(centers):
        used += len(centers)
        if used > _MAX_EVALUATIONS:
            return "checked"
        q = np.tile(robot.neutral(), (len(centers), 1))
        q[:, at] = centers
        d, change = distance(q), half @ L
        signs |= {"never" if one > 0 else "always" for one in d}
        if len(signs) > 1:
            return "checked"
        left = np.abs(d) <= change
        centers, half = _halved(centers[left], half[left], L)
    return signs.pop()


def _halved(centers: Array, half: Array, L: Array) -> tuple[Array, Array]:
    """Boxes in two along the coordinate that moves most."""
    axis = np.argmax(half * L, axis=1)
    rows = np.arange(len(centers))
    half = half.copy()
    half[rows, axis] /= 2
    low, high = centers.copy(), centers.copy()
    low[rows, axis] -= half[rows, axis]
    high[rows, axis] += half[rows, axis]
    return np.concatenate([low, high]), np.concatenate([half, half])


def _coordinates(robot: Robot, bodies: tuple[int, int], reaches: Array) -> tuple[Array, Array] | None:
    """The coordinates between two bodies, and the bound L of each; None where there is none to be had."""
    model = robot.model
    chains = [_chain(model, body) for body in bodies]
    common = set(chains[0]) & set(chains[1])
    bound: dict[int, float] = {}
    for chain, reach in zip(chains, reaches, strict=True):
        far = float(reach)
        for body in chain:
            if body in common:
                break
            one = model.bodies[body]
            kind = one.joint.type.kind
            if kind not in ("revolute", "continuous", "prismatic"):
                return None
            k = one.q.start
            lower, upper = robot.limits.lower[k], robot.limits.upper[k]
            if kind == "prismatic" and not np.isfinite(upper - lower):
                return None
            size = 1.0 if kind == "prismatic" else far
            bound[k] = bound.get(k, 0.0) + abs(one.multiplier) * size
            most = max(abs(lower), abs(upper)) * abs(one.multiplier) + abs(one.offset)
            slide = most if kind == "prismatic" else 0.0
            far += float(np.linalg.norm(one.placement.translation)) + slide
    if not 0 < len(bound) <= _MAX_COORDINATES:
        return None
    return np.array(list(bound)), np.array(list(bound.values()))


def _chain(model: Model, body: int) -> list[int]:
    found = []
    while body != WORLD:
        found.append(body)
        body = model.bodies[body].parent
    return found
