"""A fleet of robots of one kind: what they have in common, and which of them stand out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError, warn
from helicoid.identification.distributed.compression import (
    Preparation,
    compressed,
    left_out,
    merged,
    some_of,
    surveyed,
)
from helicoid.identification.distributed.sources import sources
from helicoid.identification.identify import check_wish, conclude, fitted
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.linear.choice import Estimator, Wish, choose
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.rows import thinning
from helicoid.identification.linear.selection import Weighted, excerpt, fitter, weighed
from helicoid.identification.logs.filtering import noise_bandwidth
from helicoid.identification.logs.log import DoubtfulLogWarning
from helicoid.identification.result import Identification
from helicoid.interrupts import interruptible
from helicoid.progress import Progress, reporting
from helicoid.robot import Robot
from helicoid.workers.executor import executor

CHANCE = 0.01  # that of all numbers of a fleet of equal robots any stands out
_UNTOLD = 1e-7  # singular values below this part of the largest tell nothing


class Difference(NamedTuple):
    """By how much a parameter of a unit differs from that of the others, with its standard deviation."""

    unit: str
    name: str
    value: float
    sigma: float

    @property
    def z(self) -> float:
        """In standard deviations; 0 where the logs do not tell."""
        return self.value / self.sigma if np.isfinite(self.sigma) and self.sigma > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Fleet:
    """The result of `identify_fleet`: one result for all, one for each unit, and where units differ.

    Args:
        common: of all logs.
        units: of each unit's logs, with the same unknowns, cut-off and strength.
        differences: of each unit from the usual ones: friction, offsets and the like of every joint, and what
            the last body carries, as ten inertial parameters.
        usual: the units that all are compared with.
    """

    common: Identification
    units: Mapping[str, Identification]
    differences: tuple[Difference, ...]
    usual: tuple[str, ...]

    @property
    def limit(self) -> float:
        """|z| beyond which a difference is no chance: one in a hundred fleets of equal robots has any."""
        return _limit(self.differences)

    def interval(self, difference: Difference) -> tuple[float, float]:
        """Where a difference lies, with the confidence by which units stand out."""
        reach = self.limit * difference.sigma
        return difference.value - reach, difference.value + reach

    @property
    def standing_out(self) -> dict[str, list[Difference]]:
        """The units that differ from the others, and in what, the clearest first."""
        found = [one for one in self.differences if abs(one.z) > self.limit]
        found.sort(key=lambda one: -abs(one.z))
        return {
            unit: [one for one in found if one.unit == unit] for unit in dict.fromkeys(o.unit for o in found)
        }

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a self-contained HTML page that shows which units stand out."""
        from helicoid.identification.report.fleet_page import write_fleet_page

        write_fleet_page(self, path)

    def __repr__(self) -> str:
        out = ", ".join(f"{unit} ({one[0].name})" for unit, one in self.standing_out.items()) or "none"
        return f"Fleet({len(self.units)} units of {self.common.nominal.name!r}; standing out: {out})"


@interruptible()
def identify_fleet(
    robot: Robot,
    logs: Mapping[str, Any],
    *,
    on: Any = "here",
    estimator: Estimator = "consistent",
    groups: Sequence[str] | None = None,
    cutoff: Any = "auto",
    strength: float | None = None,
    lag: float | None = None,
    dead_zone: float = 0.0,
    progress: Progress | bool | None = None,
) -> Fleet:
    """Parameters of robots of one kind: in common, of each unit, and what differs between units.

    Args:
        robot: the kind, as described.
        logs: for each unit by name its logs, files or patterns of files, as `hc.identify` with `on`.
        on: where logs are read and compressed; see `hc.identify`.
        estimator, groups, cutoff, strength, lag, dead_zone, progress: see `hc.identify`; what is not given is
            chosen once for all units.

    A log that cannot be used, and a unit that has no other, is left out with a warning.

    A difference is that of one unit from the usual ones together: the least squares fit, to the unit's own
    equations, of friction, offsets and the load of the last body, while all else is as those have it.
    Usual are at least half of the units: at first all, then without the one that stands out most, and so on.
    """
    if not isinstance(logs, Mapping) or len(logs) < 2:
        raise InputError("identify_fleet takes the logs of at least two units by name: {'unit-1': logs, ...}")
    if estimator in ("huber", "instrumental"):
        raise InputError(f"the estimator {estimator!r} looks at samples again and again: take another")
    with one_blas_thread(), reporting(progress, "Identifying a fleet") as tell:
        wish = Wish(estimator, "torque", strength, None, groups, cutoff, lag, dead_zone)
        return _Fleet(robot, logs, on, wish, tell).result()


class _Fleet:
    """The steps of `identify_fleet`: read, choose, compress unit by unit, conclude."""

    def __init__(self, robot: Robot, logs: Mapping[str, Any], on: Any, wish: Wish, tell: Progress) -> None:
        self._robot, self._wish, self._tell, self._workers = robot, wish, tell, executor(on)
        known = {unit: sources(given) for unit, given in logs.items()}
        everything = [one for own in known.values() for one in own]
        few = some_of(robot, everything)
        check_wish(robot, few, wish)
        some = [part for one in few for part in excerpt(one)]
        self._choice = choose(robot, some, wish, tell)[0]
        self._how = Preparation(robot, self._choice.cutoff, wish.dead_zone, tuple(few[0].wrenches))
        survey = surveyed(self._workers, self._how, everything, tell)
        self._notes = left_out(everything, survey)
        self._used: dict[str, Any] = {}
        at = 0
        for unit, own in known.items():
            pairs = [(k, s) for k, s in zip(own, survey[at : at + len(own)], strict=True) if not s.error]
            at += len(own)
            if pairs:
                self._used[unit] = pairs
        self._leave_out([unit for unit in known if unit not in self._used])
        self._folds: dict[str, Any] = {}

    def _leave_out(self, units: Sequence[str]) -> None:
        """Tell of the units that have no log left; two must be."""
        if not units:
            return
        text = f"no log can be used of {', '.join(repr(unit) for unit in units)}"
        if len(self._used) < 2:
            raise InputError(f"{text}: fewer than two units are left to compare")
        text = f"{text}: left out of the fleet"
        self._notes.append(f"Warning: {text}")
        warn(DoubtfulLogWarning(text))

    def _compress(self, regression: Regression) -> None:
        for unit, pairs in self._used.items():
            used, seen = [k for k, _ in pairs], [s for _, s in pairs]
            lag = self._choice.lag
            form, tell = self._wish.form, self._tell
            self._folds[unit] = compressed(self._workers, self._how, regression, form, lag, used, seen, tell)

    def _data(self, regression: Regression, units: Sequence[str]) -> Weighted:
        return weighed(regression, *merged([self._folds[unit] for unit in units]))

    def _spans(self, units: Sequence[str]) -> Any:
        return [span for unit in units for _, seen in self._used[unit] for span in seen.spans]

    def result(self) -> Fleet:
        robot, choice, names = self._robot, self._choice, list(self._used)

        def of_all(regression: Regression) -> Weighted:
            self._compress(regression)
            return self._data(regression, names)

        common = conclude(robot, choice, of_all, self._spans(names), self._wish, self._notes, self._tell)
        wish = replace(self._wish, strength=common.strength)
        choice = choice._replace(regression=common.regression)
        data = {unit: self._data(common.regression, [unit]) for unit in names}
        units = {
            unit: fitted(robot, choice, self._spans([unit]), own, wish, ()) for unit, own in data.items()
        }
        usual, differences = self._compared(common, data)
        return Fleet(common, units, tuple(differences), tuple(usual))

    def _compared(
        self, common: Identification, data: Mapping[str, Weighted]
    ) -> tuple[list[str], list[Difference]]:
        """The usual units, of which none stands out from the others, and how all units differ from them."""
        usual = list(data)
        while True:
            self._tell("Comparing units", 1 - len(usual) / len(data))
            differences = [one for unit in data for one in self._differences(unit, common, data[unit], usual)]
            worst = max((one for one in differences if one.unit in usual), key=lambda one: abs(one.z))
            if abs(worst.z) <= _limit(differences) or len(usual) <= max(2, -(-len(data) // 2)):
                return usual, differences
            usual.remove(worst.unit)

    def _differences(
        self, unit: str, common: Identification, own: Weighted, usual: Sequence[str]
    ) -> list[Difference]:
        regression, spans = common.regression, self._spans([unit])
        others = self._data(regression, [one for one in usual if one != unit])
        x = fitter("ridge", regression, others, max(common.strength, 1e-6), None)(others.whole)
        columns = _differing(regression)
        part = noise_bandwidth(spans[0].rate / thinning(spans[0]), common.cutoff)
        value, variance = _moved(own, x, columns, part)
        variance = variance + _moved(others, x, columns, part)[1]
        names = regression.parameters.names
        return [
            Difference(unit, names[k], float(d), float(np.sqrt(s)))
            for k, d, s in zip(columns, value, variance, strict=True)
        ]


def _limit(differences: Sequence[Difference]) -> float:
    from scipy.special import ndtri

    told = sum(np.isfinite(one.sigma) for one in differences)
    return float(-ndtri(CHANCE / 2 / max(told, 1)))


def _differing(regression: Regression) -> list[int]:
    """The columns that units may differ in: those of joints, and of the last body."""
    groups = regression.parameters.groups
    columns = [k for name, own in groups.items() if name != "inertia" for k in range(own.start, own.stop)]
    if "inertia" in groups:
        columns += range(groups["inertia"].stop - 10, groups["inertia"].stop)
    return columns


def _moved(data: Weighted, x: Array, columns: Sequence[int], part: float) -> tuple[Array, Array]:
    """How some of x move to fit the data while the others stay, and their variances; infinite if untold."""
    factor = data.whole.combined(data.weights)
    A = factor.R[:, list(columns)]
    size = np.linalg.norm(A, axis=0)
    scale = 1.0 / np.where(size > 0, size, 1.0)
    U, S, Vt = np.linalg.svd(A * scale, full_matrices=False)
    kept = S[0] * _UNTOLD < S
    value = scale * (Vt[kept].T @ ((U[:, kept].T @ (factor.z - factor.R @ x)) / S[kept]))
    variance = scale**2 * np.sum((Vt[kept].T / S[kept]) ** 2, axis=1) / part
    open_ones = np.linalg.norm(Vt[~kept], axis=0) > 1e-6
    variance[open_ones] = np.inf
    return value, variance
