"""The result of one step of a controller: one enumeration for all of them, each with its remedy."""

from __future__ import annotations

import warnings
from enum import Enum

_FORMER_NAMES = {
    "solved": "ok",
    "out of iterations": "iteration limit",
    "unfinished": "iteration limit",
    "out of time": "time limit",
}
"""Values of version 0.1, which compare equal for one version more."""


_NO_STATUS = {"moving": "not motion.arrived", "arrived": "motion.arrived", "invalid target": "motion.ok"}
"""Statuses of version 0.1 that said something else than how the step went."""


class Status(str, Enum):
    """Result of the last step of a controller; a string, so that `status == "ok"` works.

    `remedy` says what to do about it.

    >>> Status.INFEASIBLE == "infeasible", str(Status.OK)
    (True, 'ok')
    >>> print(Status.NO_TARGET.remedy)
    Set the target of every task with set(name=target) before the first step.
    """

    OK = "ok"
    SATURATED = "saturated"
    INFEASIBLE = "infeasible"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    NO_PROGRESS = "no progress"
    NOT_CONVEX = "not convex"
    NOT_FINITE = "not finite"
    INACCURATE = "inaccurate"
    BAD_MEASUREMENT = "bad measurement"
    BAD_REFERENCE = "bad reference"
    NO_TARGET = "no target"
    NO_CONTACT = "no contact"
    NOT_STARTED = "not started"

    @property
    def remedy(self) -> str:
        """Remedy in one sentence."""
        return _REMEDIES[self]

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, specification: str) -> str:
        return format(str(self.value), specification)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) and not isinstance(other, Status) and other in _FORMER_NAMES:
            now = _FORMER_NAMES[other]
            warnings.warn(
                f"the status {other!r} is called {now!r} now; the former name will be removed in 0.3",
                DeprecationWarning,
                stacklevel=2,
            )
            other = now
        elif isinstance(other, str) and not isinstance(other, Status) and other in _NO_STATUS:
            warnings.warn(
                f"no status is called {other!r} any more: see `{_NO_STATUS[other]}` of OnlineMotion",
                DeprecationWarning,
                stacklevel=2,
            )
        return str.__eq__(self, other) if isinstance(other, str) else NotImplemented

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    __hash__ = str.__hash__


_REMEDIES = {
    Status.OK: "Nothing: the step did what was asked, within all limits.",
    Status.SATURATED: "Ask for slower motion or lower gains, or raise the effort limit that `message` names.",
    Status.INFEASIBLE: "Relax one of the constraints that `message` names, or make it soft.",
    Status.ITERATION_LIMIT: "Allow more iterations, or give a better initial guess.",
    Status.TIME_LIMIT: "Raise the time budget, shorten the horizon, or lengthen the period.",
    Status.NO_PROGRESS: "Check weights and targets: none may be out of reach, no weight absurd.",
    Status.NOT_CONVEX: "Give every task a positive weight, or raise the regularisation.",
    Status.NOT_FINITE: "Look for absurd numbers among gains, weights and targets: the result overflowed.",
    Status.INACCURATE: "Look for absurd numbers among gains, weights and targets: rounding breaks limits.",
    Status.BAD_MEASUREMENT: "Check the sensors: q or v was not finite, or of the wrong size.",
    Status.BAD_REFERENCE: "Check the reference: it was not finite, of the wrong size, or no rotation.",
    Status.NO_TARGET: "Set the target of every task with set(name=target) before the first step.",
    Status.NO_CONTACT: "Switch on a contact: nothing holds the floating base.",
    Status.NOT_STARTED: "Call step: there was none yet.",
}
