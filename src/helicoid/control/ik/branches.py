"""Distinct solutions of one target, and a path through one branch of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.control.ik.problem import IKProblem
from helicoid.control.ik.targets import between

MAX_CONFIGURATION_STEP = 0.5  # rad or m: beyond it, the way between two targets is followed in smaller steps
MAX_HALVINGS = 7

Solve = Callable[[Array, Array], tuple[Array, NDArray[np.bool_], Array]]
"""Targets and starts, one search each: q, success and error."""


def distinct(problem: IKProblem, Q: Array, about: Array, apart: float) -> Array:
    """Distinct rows of Q: more than `apart` from each other in some coordinate, nearest to `about` first.

    Turns by a whole circle make no difference: of these, the one nearest to `about` within the limits stands.
    """
    around = problem.circles
    circle = np.where(around > 0, around, np.inf)
    low, high = problem.bounds
    Q = Q.copy()
    for shift in (np.rint((about - Q) / circle), 1.0, -1.0):
        with np.errstate(invalid="ignore"):
            moved = Q + np.where(around > 0, shift * circle, 0.0)
        better = (moved >= low) & (moved <= high) & (np.abs(moved - about) < np.abs(Q - about))
        Q = np.where(better, moved, Q)
    Q = Q[np.argsort(np.abs(Q - about).sum(axis=1), kind="stable")]
    kept: list[Array] = []
    while len(Q):
        kept.append(Q[0])
        difference = Q - Q[0]
        with np.errstate(invalid="ignore"):
            whole = np.where(around > 0, circle * np.rint(difference / circle), 0.0)
        Q = Q[np.abs(difference - whole).max(axis=1, initial=0.0) > apart]
    return np.array(kept).reshape(-1, problem.robot.nq)


class Follower:
    """Follows targets from configuration to configuration."""

    def __init__(self, problem: IKProblem, solve: Solve) -> None:
        self.problem, self.solve = problem, solve

    def follow(self, targets: Array, Q: Array) -> list[Array]:
        """From solutions Q of the first target, (c, nq), as far as each leads: (reached, nq) of each."""
        ways = [[q] for q in Q]
        alive = list(range(len(Q)))
        for k in range(1, len(targets)):
            if not alive:
                break
            now = np.array([ways[c][-1] for c in alive])
            found, good, _ = self.solve(np.repeat(targets[k : k + 1], len(alive), axis=0), now)
            remaining = []
            for c, before, after, ok in zip(alive, now, found, good, strict=True):
                reached = after if ok and self._near(before, after) else None
                if reached is None:
                    reached = self._closely(targets[k - 1], targets[k], before, MAX_HALVINGS)
                if reached is not None:
                    ways[c].append(reached)
                    remaining.append(c)
            alive = remaining
        return [np.array(way) for way in ways]

    def _near(self, a: Array, b: Array) -> bool:
        return bool(np.abs(self.problem.robot.difference(a, b)).max(initial=0.0) <= MAX_CONFIGURATION_STEP)

    def _closely(self, a: Array, b: Array, q: Array, halvings: int) -> Array | None:
        """Follow the way from target a to target b by bisection; None where a step fails."""
        if halvings == 0:
            return None
        middle = between(self.problem, a, b, 0.5)
        for start, end in ((a, middle), (middle, b)):
            found, good, _ = self.solve(end[None], q[None])
            # A step of half the length may go about half as far, or a jump would pass as many small ones.
            small = np.abs(self.problem.robot.difference(q, found[0])).max(initial=0.0)
            if good[0] and small <= MAX_CONFIGURATION_STEP * 0.7 ** (MAX_HALVINGS + 1 - halvings):
                q = found[0]
                continue
            further = self._closely(start, end, q, halvings - 1)
            if further is None:
                return None
            q = further
        return q
