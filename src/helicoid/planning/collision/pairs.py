"""Pairs of spheres that can meet; the others are proven apart by bisection of the joint ranges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array

MAX_COORDINATES = 3  # between two groups, above which all their pairs are checked
MAX_BOXES = 20_000  # of joint ranges at once
MAX_BISECTIONS = 6

Meetings = Callable[[Array, NDArray[np.int64], Array, float], tuple[NDArray[np.uint8], NDArray[np.uint8]]]
"""Of configurations (n, nq), pairs (m, 2), the sums of their radii (m) and a slack: for each pair 2 if it
meets somewhere, 1 if it is within the slack; for each configuration whether some pair is within the slack."""


def can_meet(
    meetings: Meetings,
    q: Array,
    both: NDArray[np.int64],
    radii: Array,
    bounds: tuple[Array, Array],
    lever: Array,
) -> NDArray[np.bool_]:
    """Whether pairs of spheres (n, 2) can meet: those that are not proven to be always apart.

    The distance of two spheres changes by no more than Σ lever |Δq|: where it exceeds their radii by more
    than that in the middle of a box of joint ranges, they do not meet in the box. Boxes that are not
    decided are halved along every coordinate.

    Args:
        meetings: which pairs are near at many configurations.
        q: (nq), a configuration; coordinates without a lever have no effect on these distances.
        radii: (n), the sum of both radii.
        bounds: lower and upper limits (nq).
        lever: (nq), m a unit.
    """
    meet = np.zeros(len(both), dtype=bool)
    moving = np.flatnonzero(lever > 0)
    if not len(moving) or len(moving) > MAX_COORDINATES:
        return np.ones(len(both), dtype=bool)
    low, high = (limit[moving] for limit in bounds)
    counts = _counts(high - low, lever[moving])
    half = (high - low) / (2 * counts)
    grid = np.meshgrid(*((np.arange(n) + 0.5) * 2 * h + a for n, h, a in zip(counts, half, low, strict=True)))
    boxes = np.column_stack([axis.ravel() for axis in grid])
    open_pairs = np.arange(len(both))
    for _ in range(MAX_BISECTIONS):
        slack = float(lever[moving] @ half)
        at = np.repeat(q[None], len(boxes), axis=0)
        at[:, moving] = boxes
        state, near = meetings(at, both[open_pairs], radii[open_pairs], slack)
        meet[open_pairs[state == 2]] = True
        open_pairs, boxes = open_pairs[state == 1], boxes[near > 0]
        if not len(open_pairs):
            return meet
        if len(boxes) * 2 ** len(moving) > MAX_BOXES:
            break
        half = half / 2
        corners = np.array(np.meshgrid(*len(moving) * [[-1.0, 1.0]])).reshape(len(moving), -1).T
        boxes = (boxes[:, None] + corners * half).reshape(-1, len(moving))
    meet[open_pairs] = True
    return meet


def _counts(extent: Array, lever: Array) -> Array:
    """Boxes along each coordinate, whose levers times sizes are alike."""
    size = extent * lever
    scale = (MAX_BOXES / 4 / np.prod(size)) ** (1 / len(size))
    return np.maximum(np.floor(size * scale), 1).astype(int)
