"""A fleet of robots of one type: common parameters, and units that differ significantly."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.deprecation import renamed_arguments
from helicoid.errors import InputError, warn
from helicoid.identification.identify import conclude, fitted
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.linear.compression import (
    Preparation,
    automatic,
    compressed,
    left_out,
    merged,
    some_of,
    surveyed,
)
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.rows import thinning
from helicoid.identification.linear.options import Estimator, Options
from helicoid.identification.linear.selection import excerpt, select
from helicoid.identification.linear.weighting import WeightedFolds, fitter, weighted_folds
from helicoid.identification.logs.filtering import noise_bandwidth
from helicoid.identification.logs.log import DoubtfulLogWarning
from helicoid.identification.logs.sources import sources
from helicoid.identification.result import Identification
from helicoid.interrupts import interruptible
from helicoid.progress import Progress, reporting
from helicoid.robot import Robot
from helicoid.workers.executor import executor

SIGNIFICANCE = 0.01  # probability that any parameter of a fleet of equal robots differs significantly
_RANK_TOLERANCE = 1e-7  # of the largest singular value


class Difference(NamedTuple):
    """Difference of a unit's parameter from that of the usual units, with its standard deviation."""

    unit: str
    name: str
    value: float
    sigma: float

    @property
    def z(self) -> float:
        """Difference in standard deviations; 0 where it is unidentifiable."""
        return self.value / self.sigma if np.isfinite(self.sigma) and self.sigma > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Fleet:
    """The result of `identify_fleet`: one result for all, one for each unit, and where units differ.

    Args:
        common: of all logs.
        units: of each unit's logs, with the same unknowns, cut-off and regularisation.
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
        """|z| beyond which a difference is significant: one in a hundred fleets of equal robots has any."""
        return _limit(self.differences)

    def interval(self, difference: Difference) -> tuple[float, float]:
        """Confidence interval of a difference, at the level by which units stand out."""
        reach = self.limit * difference.sigma
        return difference.value - reach, difference.value + reach

    @property
    def standing_out(self) -> dict[str, list[Difference]]:
        """Units that differ from the others, and their parameters, the most significant first."""
        found = [one for one in self.differences if abs(one.z) > self.limit]
        found.sort(key=lambda one: -abs(one.z))
        return {
            unit: [one for one in found if one.unit == unit] for unit in dict.fromkeys(o.unit for o in found)
        }

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a self-contained HTML page about units that differ significantly."""
        from helicoid.identification.report.fleet_page import write_fleet_page

        write_fleet_page(self, path)

    def __repr__(self) -> str:
        out = ", ".join(f"{unit} ({one[0].name})" for unit, one in self.standing_out.items()) or "none"
        return f"Fleet({len(self.units)} units of {self.common.nominal.name!r}; standing out: {out})"


@interruptible()
@renamed_arguments(strength="regularisation")
def identify_fleet(
    robot: Robot,
    logs: Mapping[str, Any],
    *,
    on: Any = None,
    estimator: Estimator = "consistent",
    groups: Sequence[str] | None = None,
    cutoff: Any = "auto",
    regularisation: float | None = None,
    lag: float | None = None,
    dead_zone: float = 0.0,
    progress: Progress | bool | None = None,
) -> Fleet:
    """Identify robots of one type: common parameters, those of each unit, and significant differences.

    Args:
        robot: the type, as described.
        logs: for each unit by name its logs, files or patterns of files, as `hc.identify` with `on`.
        on: where logs are read and compressed, by default automatic; see `hc.identify`.
        estimator, groups, cutoff, regularisation, lag, dead_zone, progress: see `hc.identify`; what is not
            given is selected once for all units.

    A log that cannot be used, and a unit that has no other, is left out with a warning.

    A difference is that of one unit from the usual ones together: the least squares fit, to the unit's own
    equations, of friction, offsets and the load of the last body, while all else is as those have it.
    Usual are at least half of the units: at first all, then without the one that stands out most, and so on.
    """
    if not isinstance(logs, Mapping) or len(logs) < 2:
        raise InputError("identify_fleet takes the logs of at least two units by name: {'unit-1': logs, ...}")
    if estimator in ("huber", "instrumental"):
        raise InputError(f"the estimator {estimator!r} iterates over the samples: take another")
    with one_blas_thread(), reporting(progress, "Identifying a fleet") as report:
        options = Options(estimator, "torque", regularisation, None, groups, cutoff, lag, dead_zone)
        return _Fleet(robot, logs, on, options, report).result()


class _Fleet:
    """Steps of `identify_fleet`: read, select, compress unit by unit, compare."""

    def __init__(
        self, robot: Robot, logs: Mapping[str, Any], on: Any, options: Options, report: Progress
    ) -> None:
        self._robot, self._options, self._report = robot, options, report
        known = {unit: sources(given) for unit, given in logs.items()}
        everything = [one for own in known.values() for one in own]
        self._workers = executor(automatic(everything) if on is None else on)
        few = some_of(robot, everything)
        options.check(robot, few)
        some = [part for one in few for part in excerpt(one)]
        self._selected = select(robot, some, options, report)[0]
        self._how = Preparation(robot, self._selected.cutoff, options.dead_zone, tuple(few[0].wrenches))
        survey = surveyed(self._workers, self._how, everything, report)
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
        """Warn of units without a usable log; two units must be left."""
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
            how, form, lag, report = self._how, self._options.form, self._selected.lag, self._report
            self._folds[unit] = compressed(self._workers, how, regression, form, lag, used, seen, report)

    def _data(self, regression: Regression, units: Sequence[str]) -> WeightedFolds:
        return weighted_folds(
            regression, *merged([self._folds[unit] for unit in units]), self._selected.mixture
        )

    def _spans(self, units: Sequence[str]) -> Any:
        return [span for unit in units for _, seen in self._used[unit] for span in seen.spans]

    def result(self) -> Fleet:
        robot, selected, options, names = self._robot, self._selected, self._options, list(self._used)

        def of_all(regression: Regression) -> WeightedFolds:
            self._compress(regression)
            return self._data(regression, names)

        common = conclude(robot, selected, of_all, self._spans(names), options, self._notes, self._report)
        options = replace(options, regularisation=common.regularisation)
        selected = selected._replace(regression=common.regression)
        data = {unit: self._data(common.regression, [unit]) for unit in names}
        units = {
            unit: fitted(robot, selected, self._spans([unit]), own, options, ()) for unit, own in data.items()
        }
        usual, differences = self._compared(common, data)
        return Fleet(common, units, tuple(differences), tuple(usual))

    def _compared(
        self, common: Identification, data: Mapping[str, WeightedFolds]
    ) -> tuple[list[str], list[Difference]]:
        """The usual units, none of which differs significantly, and the differences of all from them."""
        usual = list(data)
        while True:
            self._report("Comparing units", 1 - len(usual) / len(data))
            differences = [one for unit in data for one in self._differences(unit, common, data[unit], usual)]
            worst = max((one for one in differences if one.unit in usual), key=lambda one: abs(one.z))
            if abs(worst.z) <= _limit(differences) or len(usual) <= max(2, -(-len(data) // 2)):
                return usual, differences
            usual.remove(worst.unit)

    def _differences(
        self, unit: str, common: Identification, own: WeightedFolds, usual: Sequence[str]
    ) -> list[Difference]:
        regression, spans = common.regression, self._spans([unit])
        others = self._data(regression, [one for one in usual if one != unit])
        x = fitter("ridge", regression, others, max(common.regularisation, 1e-6), None)(others.whole)
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

    finite = sum(np.isfinite(one.sigma) for one in differences)
    return float(-ndtri(SIGNIFICANCE / 2 / max(finite, 1)))


def _differing(regression: Regression) -> list[int]:
    """The columns that units may differ in: those of joints, and of the last body."""
    groups = regression.parameters.groups
    columns = [k for name, own in groups.items() if name != "inertia" for k in range(own.start, own.stop)]
    if "inertia" in groups:
        columns += range(groups["inertia"].stop - 10, groups["inertia"].stop)
    return columns


def _moved(data: WeightedFolds, x: Array, columns: Sequence[int], part: float) -> tuple[Array, Array]:
    """Changes of some of x that fit the data, the others fixed; variances, infinite if unidentifiable."""
    factor = data.whole.combined(data.weights)
    A = factor.R[:, list(columns)]
    size = np.linalg.norm(A, axis=0)
    scale = 1.0 / np.where(size > 0, size, 1.0)
    U, S, Vt = np.linalg.svd(A * scale, full_matrices=False)
    kept = S[0] * _RANK_TOLERANCE < S
    value = scale * (Vt[kept].T @ ((U[:, kept].T @ (factor.z - factor.R @ x)) / S[kept]))
    variance = scale**2 * np.sum((Vt[kept].T / S[kept]) ** 2, axis=1) / part
    open_ones = np.linalg.norm(Vt[~kept], axis=0) > 1e-6
    variance[open_ones] = np.inf
    return value, variance
