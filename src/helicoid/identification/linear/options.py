"""Options of a fit as requested by the user, refused at once where they contradict robot or logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from helicoid.arrays import real_number, shown
from helicoid.errors import InputError
from helicoid.identification.linear.equations.rows import FORMS
from helicoid.identification.linear.solving.consistent import Bounds
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.plausibility import check
from helicoid.identification.logs.preparation import measured
from helicoid.robot import Robot

Estimator = Literal["consistent", "ridge", "ordinary", "weighted", "huber", "total", "instrumental"]
ESTIMATORS: tuple[Estimator, ...] = (
    "consistent", "ridge", "ordinary", "weighted", "huber", "total", "instrumental",
)  # fmt: skip
WITH_PRIOR = ("consistent", "ridge")  # regularised towards the description, and averaged over models


@dataclass(frozen=True)
class Options:
    """Arguments of `identify`; None (or "auto", of the cut-off) where cross-validation selects the value."""

    estimator: Estimator
    form: str
    regularisation: float | None
    bounds: Bounds | None
    groups: Sequence[str] | None
    cutoff: float | Literal["auto"] | None
    lag: float | None
    dead_zone: float

    def check(self, robot: Robot, logs: Sequence[Log]) -> None:
        """Raise InputError where an option is invalid, or a log is not of this robot."""
        if self.estimator not in ESTIMATORS:
            raise InputError(f"no estimator is called {self.estimator!r}; there are: {', '.join(ESTIMATORS)}")
        if self.form not in FORMS:
            raise InputError(f"no form of equations is called {self.form!r}; there are: {', '.join(FORMS)}")
        if self.bounds is not None and self.estimator != "consistent":
            raise InputError(f"bounds go with the estimator 'consistent', not with {self.estimator!r}")
        if self.bounds is not None:
            self.bounds.check(robot)
        if self.regularisation is not None and not 0 <= self.regularisation < np.inf:
            raise InputError(
                f"regularisation is a weight towards the description, 0 or more; got {self.regularisation}"
            )
        if not 0 <= self.dead_zone < np.inf or (self.lag is not None and not np.isfinite(self.lag)):
            raise InputError(f"dead_zone (rad/s, 0 or more) and lag (s): got {self.dead_zone} and {self.lag}")
        if self.groups is not None and not _are_names(self.groups):
            raise InputError(
                f"groups names the unknowns, each once, such as 'inertia'; got {shown(self.groups)}"
            )
        if not logs:
            raise InputError("identify needs a log")
        for log in logs:
            check(robot, log)
            measured(log)
            if tuple(log.wrenches) != tuple(logs[0].wrenches):
                raise InputError(f"{log.source}: measures other wrenches than {logs[0].source}")
        if logs[0].wrenches and self.groups is not None and "inertia" not in self.groups:
            raise InputError(
                f"wrenches depend on bodies only, not on {', '.join(self.groups)}: add 'inertia' to groups"
            )
        if self.estimator == "instrumental" and (logs[0].wrenches or self.form != "torque"):
            raise InputError("the estimator 'instrumental' needs joint torques in the form 'torque'")
        if robot.theta.groups:
            raise InputError("identify takes a robot of numbers; this one is parametric")


def _are_names(groups: Any) -> bool:
    """Whether these are names, none of them twice."""
    if not isinstance(groups, (tuple, list)) or not all(isinstance(group, str) for group in groups):
        return False
    return 0 < len(groups) == len(set(groups))


def read_cutoff(cutoff: Any) -> float | Literal["auto"] | None:
    """A cut-off of a low-pass: a frequency above zero (Hz), "auto", or None for none; refuse all else."""
    if cutoff is None or (isinstance(cutoff, str) and cutoff == "auto"):
        return cutoff  # type: ignore[return-value]
    rule = "cutoff is a frequency (Hz) above zero, 'auto', or None for no low-pass"
    return real_number(cutoff, rule, 0.0, above=True)
