"""What identification gives: parameters with their uncertainty, a robot, predictions, and their errors."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.identification.linear.described import identified_robot
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.logs.filtering import low_pass
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.plausibility import check
from helicoid.identification.logs.preparation import measured, motion, moved
from helicoid.identification.logs.swings import Swing
from helicoid.identification.report.score import Score
from helicoid.identification.report.trust import Range, Trust, motion_range, trust
from helicoid.robot import Robot
from helicoid.tables import table

_BLOCK = 4096
_MOST = 10.0  # times: joints that moved so much less stood still, and their friction is as uncertain as ever


@dataclass(frozen=True, eq=False)
class IdentifiedParameters:
    """Names, values, standard deviations (infinite: the log does not tell) and what the description said."""

    names: tuple[str, ...]
    values: Array
    sigma: Array
    nominal: Array

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> float:
        return float(self.values[self.names.index(name)])

    def __repr__(self) -> str:
        told = int(np.count_nonzero(np.isfinite(self.sigma)))
        return f"IdentifiedParameters({len(self)} of them, {told} told; print them to see all)"

    def __str__(self) -> str:
        width = max(len(name) for name in self.names)
        lines = [f"{'parameter':{width}}  {'value':>11}  {'sigma':>9}  {'described':>11}"]
        for name, value, sigma, nominal in zip(
            self.names, self.values, self.sigma, self.nominal, strict=True
        ):
            spread = f"{sigma:9.2g}" if np.isfinite(sigma) else f"{'open':>9}"
            lines.append(f"{name:{width}}  {value:11.5g}  {spread}  {nominal:11.5g}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Identification:
    """The result of `identify`.

    `x` are the unknowns of `regression`, with their `covariance`. `training` scores the prediction of the log
    that was fitted; `held_out` that of each sixth of it by a fit to the other five, which is what to expect
    on new data. `cutoff` (Hz) and `lag` (s) say how signals are low-passed and shifted, `strength` how hard
    the fit was pulled to the description, `notes` in words what was found and done, `logs` what was fitted.
    `posterior` is the covariance of x for predictions: samples that are alike count as one, and what the log
    leaves open is as uncertain as before. `unexplained` is the error of each row on samples of other times
    or speeds than those fitted, the larger of both; `lacking` is the part of its square that is no white
    noise (None: not known, perhaps all). Refined results (`fit_nonlinear`) have none of these.
    `doubt` says in a sentence what the log most likely is, where it is not what it says: a flipped sign,
    exchanged joints, another unit, a wrong gear ratio, currents, a tilted base. `confused` are joints that
    moved with one frequency, each with the stiffness of a spring that may have been taken for inertia.
    """

    nominal: Robot
    regression: Regression
    x: Array
    covariance: Array
    estimator: str
    cutoff: float | None
    lag: float
    strength: float
    training: Score
    held_out: Score
    notes: tuple[str, ...]
    logs: tuple[Log, ...] = ()
    posterior: Array | None = None
    unexplained: Array | None = None
    lacking: Array | None = None
    doubt: str = ""
    confused: tuple[tuple[Swing, float], ...] = ()

    @property
    def sigma(self) -> Array:
        """Standard deviation of each unknown; infinite where the log does not tell."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def parameters(self) -> IdentifiedParameters:
        """The unknowns by name."""
        own = self.regression.parameters
        return IdentifiedParameters(own.names, self.x, self.sigma, own.nominal)

    @cached_property
    def robot(self) -> Robot:
        """The robot with all that was identified: its inverse dynamics with friction is what `predict` says.

        Terms that were not among the unknowns stay as its description says.
        """
        return identified_robot(self.regression, self.x)

    def predict(self, log: Log) -> Array:
        """What the sensors would read, (N, rows): one row for each sample of the log as given."""
        check(self.nominal, log, moving=False)
        result = np.empty((len(log), len(self.regression.row_names)))
        for part, even, (q, v, a) in motion(self.nominal, log, self.cutoff):
            predicted = np.vstack(
                [
                    self.regression.predict(self.x, q[k : k + _BLOCK], v[k : k + _BLOCK], a[k : k + _BLOCK])
                    for k in range(0, len(q), _BLOCK)
                ]
            )
            smooth = low_pass(predicted, even.rate, self.cutoff)
            result[part] = even.back(moved(smooth, -self.lag * even.rate))[: part.stop - part.start]
        return result

    def prediction_interval(self, log: Log, level: float = 0.95) -> tuple[Array, Array]:
        """Between which values sensors would read, with a probability of `level`: two arrays (N, rows).

        What the model leaves unexplained on held-out samples, noise included, and what is uncertain of the
        parameters in this very motion: the interval widens where a motion asks for what was not excited. Of
        joints that are faster than in the log, what the model lacks is taken to grow as their speed does.
        """
        from scipy.stats import norm

        if not 0 < level < 1:
            raise InputError(f"level is a probability between 0 and 1, got {level}")
        predicted, spread = self.predict(log), self._spread(log)
        assert self.unexplained is not None
        lacking = 1.0 if self.lacking is None else self.lacking
        left = self.unexplained**2 * (1.0 + lacking * (self._faster(log) ** 2 - 1.0))
        reach = norm.ppf((1 + level) / 2) * np.sqrt(spread**2 + left)
        return predicted - reach, predicted + reach

    def trust(self, log: Log) -> Trust:
        """Whether the motion of a log lies within what was excited, joint by joint; prints as a table."""
        spread = self._spread(log)
        assert self.unexplained is not None
        uncertainty = np.sqrt(np.mean(spread**2, axis=0)) / np.maximum(self.unexplained, 1e-12)
        asked = motion_range(self.nominal, (log,), self.cutoff)
        return trust(self.regression.row_names, self._trained, asked, uncertainty)

    @cached_property
    def _trained(self) -> Range:
        return motion_range(self.nominal, self.logs, self.cutoff)

    def _faster(self, log: Log) -> Array:
        """How many times as fast as in what was fitted the joint of each row is, between 1 and `_MOST`.

        A wrong slope in velocity hides in what a slow log leaves unexplained, and errs by as many times that.
        """
        if not self.logs or self.regression.wrenches:
            return np.ones(len(self.regression.row_names))
        asked = motion_range(self.nominal, (log,), self.cutoff).v
        return np.clip(asked / np.maximum(self._trained.v, 1e-12), 1.0, _MOST)

    def _spread(self, log: Log) -> Array:
        """σ of the prediction that comes from the parameters, (N, rows)."""
        if self.posterior is None or self.unexplained is None:
            raise InputError(
                f"a result by {self.estimator!r} does not know how uncertain it is; ask that of hc.identify"
            )
        check(self.nominal, log, moving=False)
        result = np.empty((len(log), len(self.regression.row_names)))
        for part, even, (q, v, a) in motion(self.nominal, log, self.cutoff):
            blocks = []
            for k in range(0, len(q), _BLOCK):
                rows = self.regression.rows(q[k : k + _BLOCK], v[k : k + _BLOCK], a[k : k + _BLOCK])
                pairs = zip(rows, self.regression.supports, strict=True)
                squares = [np.sum(Y @ self.posterior[np.ix_(on, on)] * Y, axis=1) for Y, on in pairs]
                for swing, stiffness in self.confused:
                    torque = stiffness * swing.confusion(q[k : k + _BLOCK], a[k : k + _BLOCK])
                    squares[swing.v] = squares[swing.v] + torque**2
                blocks.append(np.sqrt(np.maximum(np.column_stack(squares), 0.0)))
            result[part] = even.back(np.vstack(blocks))[: part.stop - part.start]
        return np.abs(result)

    def score(self, log: Log) -> Score:
        """How well a log's torques are predicted, joint by joint; prints as a table."""
        return Score.of(self.regression.row_names, measured(log), self.predict(log), self.effort)

    @property
    def effort(self) -> Array:
        """Effort limits of the measured rows; NaN for wrenches."""
        if self.regression.wrenches:
            return np.full(len(self.regression.row_names), np.nan)
        return self.nominal.limits.effort

    def to_urdf(self, path: str | os.PathLike[str]) -> None:
        """Write the identified robot as a URDF.

        Raises ModelError where an estimator other than "consistent" found a negative mass, friction or
        armature, which a URDF cannot state.
        """
        self.robot.to_urdf(path)

    def report(self, path: str | os.PathLike[str], validation: Log | None = None) -> None:
        """Write a self-contained HTML page: can this result be trusted, and why?

        `validation` is a log that the fit has not seen; without one, cross-validation stands in for it.
        """
        from helicoid.identification.report.page import write_report

        write_report(self, path, self.logs, validation)

    def _repr_html_(self) -> str:
        """Errors joint by joint and the notes, for notebooks."""
        fitted, held = (
            100 * np.append(s.relative, s.overall_relative) for s in (self.training, self.held_out)
        )
        rows = [
            [name, _percent(a), _percent(b)]
            for name, a, b in zip((*self.training.names, "all"), fitted, held, strict=True)
        ]
        title = f"{self.nominal.name}: {len(self.x)} parameters, {self.estimator}"
        return table(title, ["error of the torque", "on the log", "held out"], rows, self.notes)

    def __repr__(self) -> str:
        return (
            f"Identification({self.nominal.name!r}, {self.estimator}, {len(self.x)} parameters, error "
            f"{100 * self.training.overall_relative:.2f} % on the log, "
            f"{100 * self.held_out.overall_relative:.2f} % held out)"
        )


def _percent(value: float) -> str:
    return f"{value:.2f} %" if np.isfinite(value) else "–"
