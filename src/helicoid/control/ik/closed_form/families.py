"""Recognition of the families of arms that have a closed form, from the lines of their axes.

Six revolute joints have one if three neighbouring axes meet in a point (Pieper 1968) or are parallel. Of more
joints, as many as are beyond six are given values, and the others form such an arm for each of their values.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.control.ik.closed_form.screws import NoClosedForm, Screws

MAX_DEVIATION = 5e-3  # rad, m: axes that nearly meet or are nearly parallel give starts for Newton's method
# rad, m: other axes that are nearer count as meeting or parallel where that simplifies a subproblem
MIN_AXIS_SEPARATION = 1e-3
MAX_JOINTS = 9
_SAMPLES, _SEED = 3, 7
KINDS = ("spherical", "parallel")
_PLACES = ("shoulder", "joints 2 to 4", "joints 3 to 5", "wrist")


class Family(NamedTuple):
    """A way to solve an arm.

    Args:
        kind: "spherical" or "parallel", how the three axes lie.
        first: index of the first of the three among the six joints that are solved for.
        locked: joints that are given values, as indices of the screws.
        deviation: by how much the description misses the family (rad, m).
    """

    kind: str
    first: int
    locked: tuple[int, ...]
    deviation: float

    def name(self, screws: Screws) -> str:
        """Description of the family, with the joints of the three axes."""
        free = [k for k in range(len(screws.h)) if k not in self.locked]
        three = ", ".join(screws.joints[free[k]] for k in range(self.first, self.first + 3))
        if self.kind == "parallel":
            return f"three parallel axes ({three})"
        place = {0: "spherical shoulder", 3: "spherical wrist"}.get(self.first, "three axes that meet")
        return f"{place} ({three})"


def candidates(screws: Screws) -> list[Family]:
    """Families of an arm by the lines of its axes, smallest deviation first.

    Raises:
        NoClosedForm: it has too few or too many joints, or no three neighbouring axes meet or are parallel.
    """
    n = len(screws.h)
    if not 6 <= n <= MAX_JOINTS:
        raise NoClosedForm(f"{n} joints move the frame: closed forms are for 6 to {MAX_JOINTS}")
    sliding = np.flatnonzero(screws.slides)
    if len(sliding) > n - 6:
        names = ", ".join(repr(screws.joints[k]) for k in sliding)
        raise NoClosedForm(f"of six joints all must turn; {names} slides")
    found = [
        family
        for locked in combinations(range(n), n - 6)
        if set(sliding) <= set(locked)
        for family in _of_six(screws, locked)
    ]
    if not found:
        raise NoClosedForm("no three neighbouring axes meet in a point or are parallel")
    return sorted(found, key=lambda family: family.deviation)


def _of_six(screws: Screws, locked: tuple[int, ...]) -> Iterator[Family]:
    rng = np.random.default_rng(_SEED)
    values = rng.uniform(-2.0, 2.0, size=(_SAMPLES if locked else 1, len(screws.h)))
    lines = [screws.locked(locked, screws.reference + value) for value in values]
    for first in range(4):
        three = slice(first, first + 3)
        for kind, deviation in (("spherical", _from_a_point), ("parallel", _from_parallel)):
            worst = max(deviation(h[three], x[three]) for h, x in lines)
            if worst <= MAX_DEVIATION:
                nearly = max(_nearly(h, x) for h, x in lines)
                yield Family(kind, first, locked, max(worst, nearly))


def _from_a_point(h: Array, x: Array) -> float:
    """The greatest distance of three lines from one point; infinite where neighbours are parallel."""
    if min(np.linalg.norm(np.cross(h[0], h[1])), np.linalg.norm(np.cross(h[1], h[2]))) < 0.05:
        return np.inf
    across = np.array([np.eye(3) - np.outer(a, a) for a in h])
    centre = np.linalg.lstsq(across.sum(axis=0), np.einsum("kij,kj->i", across, x), rcond=None)[0]
    return float(max(np.linalg.norm(P @ (centre - point)) for P, point in zip(across, x, strict=True)))


def _from_parallel(h: Array, x: Array) -> float:
    """The greatest sine of the angles of three lines to the one between; infinite where two lines are one."""
    if any(np.linalg.norm(np.cross(h[1], x[k] - x[1])) < 0.01 for k in (0, 2)):
        return np.inf
    return float(max(np.linalg.norm(np.cross(h[k], h[1])) for k in (0, 2)))


def _nearly(h: Array, x: Array) -> float:
    """The greatest deviation of neighbours that count as parallel or meeting but are not quite so."""
    worst = 0.0
    for k in range(len(h) - 1):
        normal, apart = np.cross(h[k], h[k + 1]), x[k + 1] - x[k]
        sine = float(np.linalg.norm(normal))
        distance = abs(float(normal @ apart)) / sine if sine > MIN_AXIS_SEPARATION else 0.0
        worst = max([worst, *(value for value in (sine, distance) if value < MIN_AXIS_SEPARATION)])
    return worst
