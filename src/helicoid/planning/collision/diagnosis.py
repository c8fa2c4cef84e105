"""Diagnosis of a failed query: contacts of start and goal, nearest free configuration, nearest approach."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from helicoid._typing import Array

if TYPE_CHECKING:
    from helicoid.planning.planner import Planner

_SAMPLES_PER_SCALE = 512  # random configurations
_SCALES = 0.01 * 1.5 ** np.arange(16)  # of the ranges of the coordinates, up to four times them
_MAX_NODES = 20_000  # of each tree in the search for the nearest approach


def nearest_free(planner: Planner, q: Array) -> Array | None:
    """A configuration near q (nq) that is free and within the limits; None where none was found."""
    space, rng = planner.space, np.random.default_rng(0)
    for scale in _SCALES:
        step = (
            rng.normal(size=(_SAMPLES_PER_SCALE, len(q)))
            * scale
            * np.minimum(space.upper - space.lower, 2 * np.pi)
        )
        near = space.wrapped(np.clip(q + step, space.lower, space.upper))
        free = near[~planner.in_collision(near)]
        if not len(free):
            continue
        best = free[np.argmin([space.length(np.stack([q, one])) for one in free])]
        if space.is_curved:
            return np.asarray(best)
        inside, outside = 0.0, 1.0
        for _ in range(20):
            middle = (inside + outside) / 2
            if planner.in_collision(q + middle * (best - q)):
                inside = middle
            else:
                outside = middle
        return np.asarray(q + outside * (best - q))
    return None


def describe_end(planner: Planner, what: str, Q: Array) -> str:
    """Message for starts or goals Q (n, nq) in collision, with the nearest free configuration."""
    names = planner.robot.model.coordinate_names
    q, which = Q[0], f"the {what}" if len(Q) == 1 else f"each of the {len(Q)} {what}s"
    touching = ", ".join(map(str, planner.contacts(q)[:3])) or "contact"
    free = nearest_free(planner, q)
    text = f"{which} is in collision: {touching}"
    if free is not None:
        moved = np.abs(free - q)
        joint = names[int(np.argmax(moved))]
        text += (
            f"; the nearest free configuration found is {np.array2string(free, precision=4, separator=', ')}"
        )
        text += f", {joint} by {moved.max():.3g}"
    return text


def describe_failure(planner: Planner, trees: tuple[Array, Array], reason: str) -> str:
    """Message with the nearest approach of both trees, and the contacts between them."""
    start, goal = (tree[:: -(-len(tree) // _MAX_NODES)] for tree in trees)
    distance, at = cKDTree(goal * planner.space.weight).query(start * planner.space.weight)
    k = int(np.argmin(distance))
    a, b = start[k], goal[at[k]]
    between = a + np.linspace(0, 1, 100)[:, None] * (b - a)
    blocking: dict[str, None] = {}
    for q in between[planner.in_collision(between)][::5]:
        blocking.update({f"{contact.link} at {contact.other}": None for contact in planner.contacts(q)})
    text = f"{reason}: the trees of start and goal came within {distance[k]:.3g} of each other"
    return text + (f"; between them: {', '.join(list(blocking)[:5])}" if blocking else "")
