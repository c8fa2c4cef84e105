"""Choice of the family that solves an arm: each candidate is tried on random configurations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.control.ik.closed_form.binding import Arm
from helicoid.control.ik.closed_form.families import Family, candidates
from helicoid.control.ik.closed_form.screws import NoClosedForm, Screws, screws
from helicoid.control.ik.engine import TABLE
from helicoid.control.ik.problem import IKProblem

_TRIALS, _SEED = 50, 11
_MIN_SHARE = 0.9  # of the trials whose own configuration a family must find
_MAX_ANGLE_ERROR = 1e-3  # rad: of the configuration that is found
_NEARLY_PARALLEL = (0.0, 1e-4, 0.01)  # rad: values of locked joints near which others may be parallel
_MAX_CANDIDATES = 24  # that are tried
_EXACT_DEVIATION = 1e-8  # rad, m: a deviation of rounding


class ClosedForm(NamedTuple):
    """Closed form of an arm, or the reason why it has none.

    Args:
        name: the family and the joints whose axes meet or are parallel; empty if there is no closed form.
        redundancy: joints beyond six, which are given values.
        deviation: by how much the description misses the family (rad, m); above zero, its solutions are
            starts of Newton's method on the description.
        message: why there is no closed form; empty if there is one.
    """

    name: str
    redundancy: tuple[str, ...] = ()
    deviation: float = 0.0
    message: str = ""

    @property
    def exact(self) -> bool:
        """Whether the description is of the family but for rounding."""
        return bool(self.name) and self.deviation <= _EXACT_DEVIATION

    @property
    def complete(self) -> bool:
        """Whether all solutions of a target are found, not examples."""
        return self.exact and not self.redundancy

    def __repr__(self) -> str:
        if not self.name:
            return f"ClosedForm(none: {self.message}; examples from {TABLE} searches)"
        given = f", given {', '.join(self.redundancy)}" if self.redundancy else ""
        nearly = "" if self.exact else f", to {self.deviation:.1g}"
        return f"ClosedForm({self.name}{given}{nearly})"


class Recognised(NamedTuple):
    """A closed form with its joints and its solver, if there is one."""

    form: ClosedForm
    screws: Screws | None
    arm: Arm | None


def recognise(problem: IKProblem) -> Recognised:
    """Recognise the closed form of a problem."""
    try:
        found = screws(problem)
        family, arm = _best(problem, found)
    except NoClosedForm as reason:
        return Recognised(ClosedForm("", message=str(reason)), None, None)
    redundancy = tuple(found.joints[k] for k in family.locked)
    return Recognised(ClosedForm(family.name(found), redundancy, family.deviation), found, arm)


def _best(problem: IKProblem, found: Screws) -> tuple[Family, Arm]:
    """The family that finds most random configurations, then has most solutions for other locked values."""
    low, high = (bound[found.coordinates] for bound in problem.bounds)
    rng = np.random.default_rng(_SEED)
    Q = problem.robot.random(_SEED, size=_TRIALS)[:, found.coordinates]
    best: tuple[float, float] = (0.0, 0.0)
    chosen = None
    for family in candidates(found)[:_MAX_CANDIDATES]:
        arm = Arm(found, family, low, high, problem.tolerance)
        locked = list(family.locked)
        trials = Q.copy()
        trials[: _TRIALS // 2, locked] = np.clip(
            rng.choice(_NEARLY_PARALLEL, (_TRIALS // 2, len(locked))), low[locked], high[locked]
        )
        T = [found.pose(q) for q in trials]
        share = float(np.mean([_finds(arm, pose, q, locked) for pose, q in zip(T, trials, strict=True)]))
        others = np.ascontiguousarray(Q[:, locked])
        count = sum(len(_solutions(arm, pose, Q[0], others)) for pose in T[:10]) if locked else 0
        score = round(share, 2), float(count)
        if score > best and share >= _MIN_SHARE:
            best, chosen = score, (family, arm)
    if chosen is None:
        raise NoClosedForm(
            "three neighbouring axes meet or are parallel, but the other joints do not determine them"
        )
    return chosen


def _solutions(arm: Arm, T: Array, q0: Array, given: Array) -> Array:
    found = arm.one(T, q0, given)
    return np.zeros((0, arm.n)) if found is None else found


def _finds(arm: Arm, T: Array, q: Array, locked: list[int]) -> bool:
    found = _solutions(arm, T, q, np.ascontiguousarray(q[None, locked]))
    return bool(len(found)) and float(np.abs(found - q).max(axis=1).min()) < _MAX_ANGLE_ERROR
