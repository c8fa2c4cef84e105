"""Result of identification: parameters with their uncertainty, a robot, predictions, and their errors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from helicoid._typing import Array
from helicoid.deprecation import former_attribute, warn_renamed
from helicoid.errors import InputError
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.identified_robot import identified_robot, impossible_bodies
from helicoid.identification.logs.external import external_part
from helicoid.identification.logs.filtering import low_pass, outliers
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.motion_noise import motion_noise, prediction_cutoff
from helicoid.identification.logs.plausibility import check
from helicoid.identification.logs.preparation import measured, motion, moved
from helicoid.identification.logs.single_frequency import SineMotion
from helicoid.identification.report.residual_profile import ResidualProfile
from helicoid.identification.report.score import Score
from helicoid.identification.report.validity import KNOWN_PART, Range, Validity, motion_range, validity
from helicoid.pages.tables import table
from helicoid.robot import Robot

_BLOCK = 4096  # samples
_MAX_SPEED_RATIO = 10.0  # beyond it a joint was at rest, and its friction has the prior's uncertainty


@dataclass(frozen=True, eq=False)
class IdentifiedParameters:
    """Names, values, standard deviations (infinite: unidentifiable from the log) and described values."""

    names: tuple[str, ...]
    values: Array
    sigma: Array
    nominal: Array

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> float:
        return float(self.values[self.names.index(name)])

    def __repr__(self) -> str:
        known = int(np.count_nonzero(np.isfinite(self.sigma)))
        return f"IdentifiedParameters({len(self)} of them, {known} identifiable; print them to see all)"

    def __str__(self) -> str:
        width = max(len(name) for name in self.names)
        lines = [f"{'parameter':{width}}  {'value':>11}  {'sigma':>9}  {'described':>11}"]
        for name, value, sigma, nominal in zip(
            self.names, self.values, self.sigma, self.nominal, strict=True
        ):
            spread = f"{sigma:9.2g}" if np.isfinite(sigma) else f"{'inf':>9}"
            lines.append(f"{name:{width}}  {value:11.5g}  {spread}  {nominal:11.5g}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Identification:
    """Result of `identify`.

    Args:
        nominal: the robot as described.
        regression, x, covariance: the linear model, its unknowns, and their covariance.
        estimator: its name.
        cutoff: of the low-pass (Hz); None for none.
        lag: by which torques follow the motion (s).
        regularisation: weight of the squared distance of bodies from the description.
        training: errors of the prediction of the log that was fitted.
        held_out: errors of the prediction of each sixth of it by a fit to the others: those to expect on new
            data.
        notes: sentences on what was found, selected and left out.
        logs: what was fitted.
        posterior: covariance of x for predictions: redundant samples count once, and unidentifiable unknowns
            have the variance of the prior. None (as the next two) for refined results.
        unexplained: residual RMS of each row at held-out times or speeds, the larger of both.
        coloured: fraction of its square that is not white noise.
        diagnosis: a sentence on the likely error of the log: a flipped sign, exchanged joints, another unit,
            a wrong gear ratio, currents, a tilted base; empty where none is likely.
        diagnosis_kind: one word for it, such as "sign", "gear", "current" or "load".
        load: link, mass (kg) and centre of mass (m, in the link's axes) of a load that the description lacks,
            where `diagnosis` is one: `robot.with_payload` adds it.
        ambiguous_springs: joints that moved along a single sine, each with the stiffness of a spring that may
            have been taken for inertia.
        evidence: of each optional term, the weight of the averaged models that have it (0 to 1).
    """

    nominal: Robot
    regression: Regression
    x: Array
    covariance: Array
    estimator: str
    cutoff: float | None
    lag: float
    regularisation: float
    training: Score
    held_out: Score
    notes: tuple[str, ...]
    logs: tuple[Log, ...] = ()
    posterior: Array | None = None
    unexplained: Array | None = None
    coloured: Array | None = None
    diagnosis: str = ""
    diagnosis_kind: str = ""
    load: tuple[str, float, float, float, float] | None = None
    ambiguous_springs: tuple[tuple[SineMotion, float], ...] = ()
    evidence: Mapping[str, float] = field(default_factory=dict)

    strength = former_attribute("strength", "regularisation")
    lacking = former_attribute("lacking", "coloured")
    doubt = former_attribute("doubt", "diagnosis")
    confused = former_attribute("confused", "ambiguous_springs")

    @property
    def success(self) -> bool:
        """Whether the result is usable: bodies can exist, and no error of the log is likely."""
        return not self._failure

    @property
    def message(self) -> str:
        """One sentence on `success`."""
        return self._failure or (
            f"identified {len(self.x)} parameters; torque error {100 * self.training.overall_relative:.2g} % "
            "on the log"
        )

    @cached_property
    def _failure(self) -> str:
        if not np.isfinite(self.x).all():
            return "the fit diverged: parameters are not finite"
        impossible = impossible_bodies(self.regression, self.x)
        if impossible:
            return f"no body can have the parameters of {', '.join(impossible)}: use estimator='consistent'"
        # A load that the description lacks is in the identified bodies.
        wrong = self.diagnosis and self.diagnosis_kind != "load"
        return f"the log is likely wrong: {self.diagnosis}" if wrong else ""

    @property
    def sigma(self) -> Array:
        """Standard deviation of each unknown; infinite where it is unidentifiable."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def parameters(self) -> IdentifiedParameters:
        """The unknowns by name."""
        own = self.regression.parameters
        return IdentifiedParameters(own.names, self.x, self.sigma, own.nominal)

    @property
    def wrench_offsets(self) -> dict[str, Array]:
        """Constant offset of each force/torque sensor, (6,) by link, moment then force.

        Readings less their offset are what `robot.sensor_wrench(link)` X
        where the log has no wrenches, or "offset" is not among the groups.
        """
        return self.regression.wrench_offsets(self.x)

    @cached_property
    def robot(self) -> Robot:
        """The identified robot: its inverse dynamics with friction is what `predict` computes.

        Terms that were not among the unknowns stay as its description says.
        """
        return identified_robot(self.regression, self.x)

    def predict(self, log: Log) -> Array:
        """Predicted torques (or wrenches), (N, rows): one row for each sample of the log as given.

        Measured motions are low-passed as for the fit. The less noise a motion has, the higher is the
        cut-off; planned motions are not low-passed.
        """
        check(self.nominal, log, moving=False)
        result = np.empty((len(log), len(self.regression.row_names)))
        cutoff = self._prediction_cutoff(log)
        for part, even, (q, v, a) in motion(self.nominal, log, cutoff):
            predicted = np.vstack(
                [
                    self.regression.predict(self.x, q[k : k + _BLOCK], v[k : k + _BLOCK], a[k : k + _BLOCK])
                    for k in range(0, len(q), _BLOCK)
                ]
            )
            smooth = low_pass(predicted, even.rate, cutoff)
            result[part] = even.back(moved(smooth, -self.lag * even.rate))[: part.stop - part.start]
        return np.asarray(result - external_part(self.nominal, log))

    def _prediction_cutoff(self, log: Log) -> float | None:
        """Cut-off of the low-pass for a log: that of the fit, or higher where the motion has less noise."""
        if self._motion_noise is None:
            return self.cutoff
        return prediction_cutoff(self.cutoff, self._motion_noise, motion_noise(self.nominal, log))

    @cached_property
    def _motion_noise(self) -> Array | None:
        """Least noise of the motion of the fitted logs, (nv,); None where they are not held."""
        return np.min([motion_noise(self.nominal, log) for log in self.logs], axis=0) if self.logs else None

    def prediction_interval(self, log: Log, level: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper bounds of measured torques at a probability of `level`: two arrays (N, rows).

        They add the held-out residual, noise included, and the uncertainty of the parameters in this motion:
        the interval widens where a motion depends on what was not excited. The residual is that at the
        same speed of the joint in the log: near rest, where dry friction changes its sign, it is larger. For
        joints faster than in the log, errors of the model are taken to grow with speed.
        """
        from scipy.stats import norm

        if not 0 < level < 1:
            raise InputError(f"level is a probability between 0 and 1, got {level}")
        predicted, spread = self.predict(log), self._spread(log)
        assert self.unexplained is not None
        coloured = 1.0 if self.coloured is None else self.coloured
        left = self._residual_squares(log) * (1.0 + coloured * (self._faster(log) ** 2 - 1.0))
        reach = norm.ppf((1 + level) / 2) * np.sqrt(spread**2 + left)
        return predicted - reach, predicted + reach

    def trust(self, log: Log) -> Validity:
        """Former name of `validity`."""
        warn_renamed("Identification.trust", "validity")
        return self.validity(log)

    def validity(self, log: Log) -> Validity:
        """Whether the motion of a log lies within what was excited, joint by joint; prints as a table."""
        spread, torque = (np.sqrt(np.mean(x**2, axis=0)) for x in (self._spread(log), self.predict(log)))
        assert self.unexplained is not None
        uncertainty = spread / np.maximum(np.maximum(self.unexplained, KNOWN_PART * torque), 1e-12)
        new = motion_range(self.nominal, (log,), self.cutoff)
        return validity(self.regression.row_names, self._trained, new, uncertainty)

    @cached_property
    def _trained(self) -> Range:
        return motion_range(self.nominal, self.logs, self.cutoff)

    def _residual_squares(self, log: Log) -> Array:
        """Mean square of the held-out residual at the speeds of a log, (N, rows)."""
        assert self.unexplained is not None
        if self._profile is None:
            return np.tile(self.unexplained**2, (len(log), 1))
        held_out = self.unexplained / np.maximum(self.training.rmse, np.finfo(np.float64).tiny)
        return self._profile.at(self._velocities(log)) * held_out**2

    @cached_property
    def _profile(self) -> ResidualProfile | None:
        if not self.logs or self.regression.wrenches:
            return None
        errors = []
        for log in self.logs:
            torque = measured(log)
            errors.append(np.where(outliers(torque), np.nan, torque - self.predict(log)))
        residual = np.vstack(errors)
        usable = np.isfinite(residual).all(axis=1)
        v = np.vstack([self._velocities(log) for log in self.logs])
        return ResidualProfile.of(v[usable], residual[usable])

    def _velocities(self, log: Log) -> Array:
        """Low-passed velocities at the samples of a log, (N, nv)."""
        v = np.empty((len(log), self.nominal.nv))
        for part, even, (_, smooth, _) in motion(self.nominal, log, self.cutoff):
            v[part] = even.back(smooth)[: part.stop - part.start]
        return v

    def _faster(self, log: Log) -> Array:
        """Ratio of the speed of each row's joint to that in the fitted log, from 1 to 10.

        A wrong slope of friction over velocity is small in a slow log, and grows by this ratio.
        """
        if not self.logs or self.regression.wrenches:
            return np.ones(len(self.regression.row_names))
        fastest = motion_range(self.nominal, (log,), self.cutoff).v
        return np.clip(fastest / np.maximum(self._trained.v, 1e-12), 1.0, _MAX_SPEED_RATIO)

    def _spread(self, log: Log) -> Array:
        """σ of the prediction due to the parameters, (N, rows)."""
        if self.posterior is None or self.unexplained is None:
            raise InputError(
                f"a result by {self.estimator!r} has no uncertainty of predictions; use that of hc.identify"
            )
        check(self.nominal, log, moving=False)
        result = np.empty((len(log), len(self.regression.row_names)))
        for part, even, (q, v, a) in motion(self.nominal, log, self.cutoff):
            blocks = []
            for k in range(0, len(q), _BLOCK):
                rows = self.regression.rows(q[k : k + _BLOCK], v[k : k + _BLOCK], a[k : k + _BLOCK])
                pairs = zip(rows, self.regression.supports, strict=True)
                squares = [np.sum(Y @ self.posterior[np.ix_(on, on)] * Y, axis=1) for Y, on in pairs]
                for sine, stiffness in self.ambiguous_springs:
                    torque = stiffness * sine.spring_ambiguity(q[k : k + _BLOCK], a[k : k + _BLOCK])
                    squares[sine.v] = squares[sine.v] + torque**2
                blocks.append(np.sqrt(np.maximum(np.column_stack(squares), 0.0)))
            result[part] = even.back(np.vstack(blocks))[: part.stop - part.start]
        return np.abs(result)

    def score(self, log: Log) -> Score:
        """Errors of the predicted torques of a log, joint by joint; prints as a table."""
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
        """Write a self-contained HTML page on the quality of the result.

        `validation` is a log that was not fitted; without one, cross-validation takes its place.
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
