"""Payload identification: the ten inertial parameters of a load on a known robot."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.arrays import real_number, shown
from helicoid.dynamics.recursions.joint_wrenches import Carried
from helicoid.errors import InputError
from helicoid.identification.diagnosis.wrenches import diagnose_wrenches
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.linear.equations.regression import default_groups
from helicoid.identification.linear.equations.stack import triangle
from helicoid.identification.linear.options import Options, read_cutoff
from helicoid.identification.linear.selection import Selected, excerpt, select
from helicoid.identification.loads.consistent_body import consistent_body
from helicoid.identification.loads.sensor_lag import Readings, offsets_and_lag
from helicoid.identification.logs.autocorrelation import autocorrelation_time
from helicoid.identification.logs.filtering import bandwidth, low_pass
from helicoid.identification.logs.log import DoubtfulLogWarning, Log
from helicoid.identification.logs.plausibility import check
from helicoid.identification.logs.preparation import Samples, prepare
from helicoid.identification.result import Identification
from helicoid.interrupts import interruptible
from helicoid.model.inertia import Inertia, transformation
from helicoid.model.model import WORLD
from helicoid.progress import reporting
from helicoid.robot import Robot

_MIN_RELATIVE_RESIDUAL = 1e-6  # of the largest torque of the load: rounding
_MIN_RESIDUAL_TO_GAIN = 1e-3  # a drive whose gain errs by 5 % is not linear to 5e-5
_REWEIGHTINGS = 4
_MAX_GAIN_DEVIATION = 4.0  # σ of its prior, of a gain from those of the other joints
_MIN_JOINTS_TO_COMPARE_GAINS = 3
_FIRST_CUTOFF = 6.0  # times the bandwidth of the motion: low-pass of the fit that finds offsets
_CURRENT_GAIN_UNCERTAINTY = 0.05  # relative σ of a drive's gain between its current and its torque


@dataclass(frozen=True, eq=False)
class Payload:
    """Inertia of a load about the origin of the link that carries it, in its frame; σ of the 10 numbers.

    σ is the largest of its `parts`: that of "noise" in effective samples, of "noise and gains" (torque per
    current of each joint), and of the "scatter" between joints (sandwich estimator).
    """

    link: str
    inertia: Inertia
    sigma: Array
    parts: Mapping[str, Array] = field(default_factory=dict)

    def __repr__(self) -> str:
        com = ", ".join(f"{x:.3g}" for x in self.inertia.com)
        return f"Payload({self.link!r}, {self.inertia.mass:.4g} ± {self.sigma[0]:.2g} kg at ({com}) m)"

    def on(self, robot: Robot) -> Robot:
        """The robot with the load."""
        return robot.with_payload(self.link, self.inertia.mass, self.inertia.com, self.inertia.at_com)


@interruptible()
def identify_payload(
    robot: Robot | Identification,
    log: Log,
    link: str,
    cutoff: float | Literal["auto"] | None = "auto",
    bias: bool = True,
    carried: Carried = "body",
    gain_uncertainty: float | None = None,
) -> Payload:
    """Identify the load fixed to `link` during a log, physically consistent.

    From joint torques, or from force/torque sensors where the log has `wrenches`: a wrist sensor needs
    neither friction nor torques; `carried` says what it carries, as `robot.sensor_wrench` takes it; each of
    its six channels may have a constant offset that is estimated with the load (`bias=False`: the sensor was
    zeroed). Readings that no load explains, but would with the other sign, forces first, in world axes or
    from a turned sensor, give a `DoubtfulLogWarning` that says which.

    `robot` is what carries the load: a robot whose friction counts, or better the result of identifying it
    without load. `cutoff` (Hz) is that of the low-pass, None for none; by default that of the result, or
    selected within the log as `hc.identify` does, as is the lag. Rows are weighted by their residuals and
    effective samples. `gain_uncertainty` is the relative σ of each joint's torque: by default 0.05, since
    most arms compute it from currents, and 0 with force/torque sensors; give 0 for joint torque sensors.
    After identification without load a wrong gain scales the load's torque only, since the identified bodies
    share it. Where gains of joints differ by more than that, a `DoubtfulLogWarning` says that a known load is
    needed.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> loaded = robot.with_payload("tip", 0.5, [0.1, 0, 0], np.diag([0.01, 0.01, 0.01]))
    >>> t = np.arange(300) / 100.0
    >>> q, v, a = (np.column_stack([f(2 * t), f(3 * t + 1)]) for f in (np.sin, np.cos, np.sin))
    >>> v, a = v * [2, 3], -a * [4, 9]
    >>> log = hc.Log.from_arrays(t, q, v, a, loaded.inverse_dynamics(q, v, a, friction=True))
    >>> round(hc.identify_payload(robot, log, "tip").inertia.mass, 3)
    0.5
    >>> w = 3.0 + loaded.sensor_wrench("tip")(q, v, a)  # a wrist sensor with an offset
    >>> wrist = hc.Log.from_arrays(t, q, v, a, wrenches={"tip": w})
    >>> round(hc.identify_payload(robot, wrist, "tip").inertia.mass, 3)
    0.5
    """
    result = robot if isinstance(robot, Identification) else None
    bare = robot.nominal if isinstance(robot, Identification) else robot
    check(bare, log, moving=False)
    if not isinstance(bias, (bool, np.bool_)):
        raise InputError(f"bias is True or False; got {shown(bias)}")
    cutoff = read_cutoff(cutoff)
    if log.wrenches:
        equations: _Equations = _WrenchEquations(bare, link, tuple(log.wrenches), bias, carried)
    else:
        equations = _TorqueEquations(bare, link, result)
    uncertainty = _gain_uncertainty(gain_uncertainty, log)
    with one_blas_thread():
        cutoff, lag = _preparation(equations, result, log, cutoff)
        stretches = prepare(bare, log, cutoff)[0]
        wrong = diagnose_wrenches(bare, tuple(log.wrenches), stretches) if log.wrenches else None
        if wrong is not None:
            warnings.warn(f"{log.source}: most likely, {wrong.text}", DoubtfulLogWarning, stacklevel=3)
        rows = _rows(equations, [samples.delayed(lag) for samples in stretches])
        fit = _fitted(rows, uncertainty, shared=result is not None)
    if not log.wrenches and (odd := _disagreeing_gains(rows, fit.gain_errors, uncertainty)):
        text = (
            f"{log.source}: gains of joints disagree, {odd}: the mass of the load depends on which of them "
            "are right. Find them with a known load, hc.drive_gains, or identify the robot without load first"
        )
        warnings.warn(text, DoubtfulLogWarning, stacklevel=3)
    return Payload(link, Inertia.from_parameters(fit.pi), np.max(list(fit.parts.values()), axis=0), fit.parts)


def _gain_uncertainty(given: float | None, log: Log) -> float:
    if given is None:
        return 0.0 if log.wrenches else _CURRENT_GAIN_UNCERTAINTY
    return real_number(given, "gain_uncertainty is a relative standard deviation, 0 or more", 0.0)


def _disagreeing_gains(rows: Sequence[_Row], errors: Array, uncertainty: float) -> str:
    """Relative errors of gain that differ from those of the other joints by more than the prior allows."""
    if uncertainty <= 0 or len(rows) < _MIN_JOINTS_TO_COMPARE_GAINS:
        return ""
    apart = errors - np.median(errors)
    return ", ".join(
        f"{row.name!r} by {100 * off:+.0f} %"
        for row, off in zip(rows, apart, strict=True)
        if abs(off) > _MAX_GAIN_DEVIATION * uncertainty
    )


def _preparation(
    equations: _Equations, result: Identification | None, log: Log, cutoff: float | Literal["auto"] | None
) -> tuple[float | None, float]:
    """Cut-off (Hz) and lag (s): of the result, or selected within the log; an explicit cut-off has no lag."""
    if result is not None:
        return (result.cutoff if cutoff == "auto" else cutoff), result.lag
    if cutoff != "auto":
        return cutoff, 0.0
    if log.wrenches:
        return _sensor_preparation(equations, log)
    found = _selected(equations.robot, log, default_groups(), None)
    return found.cutoff, found.lag


def _selected(robot: Robot, log: Log, groups: Sequence[str], lag: float | None) -> Selected:
    options = Options("ridge", "torque", 1.0, None, groups, "auto", lag, 0.0)
    with reporting(False, "Preparing") as report:
        return select(robot, excerpt(log), options, report)[0]


def _sensor_preparation(equations: _Equations, log: Log) -> tuple[float | None, float]:
    """The same of force/torque sensors, whose offsets and lag come from the equations of the load alone."""
    band = bandwidth(np.asarray(log.q if log.v is None else log.v), log.rate)
    parts, first = [], _FIRST_CUTOFF * band if band > 0 else None
    for samples in (one for part in excerpt(log) for one in prepare(equations.robot, part, first)[0]):
        motion, own = (samples.q, samples.v, samples.a), (samples.rate, samples.cutoff)
        Y, known = (low_pass(of(*motion), *own) for of in (equations.regressor, equations.known))
        parts.append(Readings(Y, known, samples.y, samples.rate))
    offsets, lag = offsets_and_lag(parts, equations.offsets)
    measured = zip(log.wrenches.items(), offsets.reshape(-1, 6), strict=True)
    known_offsets = replace(log, wrenches={link: wrench - offset for (link, wrench), offset in measured})
    return _selected(equations.robot, known_offsets, ("inertia",), lag).cutoff, lag


class _Row(NamedTuple):
    """Equations left = Y π of one measured row: (N, 10) and (N,); `measured` (N,) is what was recorded."""

    Y: Array
    left: Array
    measured: Array
    name: str


def _rows(equations: _Equations, stretches: Sequence[Samples]) -> list[_Row]:
    """The rows of all stretches; where offsets are unknown, less their means."""
    parts: list[list[_Row]] = [[] for _ in range(equations.rows)]
    for samples in stretches:
        motion = samples.q, samples.v, samples.a
        Y = low_pass(equations.regressor(*motion), samples.rate, samples.cutoff)
        left = samples.y - low_pass(equations.known(*motion), samples.rate, samples.cutoff)
        for k, own in enumerate(parts):
            used = samples.weights[:, k] > 0
            own.append(_Row(Y[used, k], left[used, k], samples.y[used, k], equations.names[k]))
    rows = [
        _Row(
            np.concatenate([one.Y for one in own]),
            np.concatenate([one.left for one in own]),
            np.concatenate([one.measured for one in own]),
            name,
        )
        for own, name in zip(parts, equations.names, strict=True)
    ]
    if equations.offsets:
        rows = [
            _Row(Y - Y.mean(axis=0), left - left.mean(), measured - measured.mean(), name)
            for Y, left, measured, name in rows
        ]
    return [row for row in rows if len(row.left)]


class _Fit(NamedTuple):
    """π of the load, its σ by parts, and the relative error of gain of each row."""

    pi: Array
    parts: dict[str, Array]
    gain_errors: Array


def _fitted(rows: Sequence[_Row], uncertainty: float, shared: bool) -> _Fit:
    """The load, by rows left = Y π + δ d whose relative error of gain δ ~ N(0, uncertainty²) is marginalised.

    d is the measured torque; `shared` errors of gain are in the bare robot too: d is that of the load.
    Errors of consecutive samples are alike, after the low-pass and where the model errs: N of them count
    as N over their autocorrelation time, which scales the rows. With uncertain gains no residual counts as
    smaller than a thousandth of their error: else bodies that the program excludes, a point mass for one, are
    approached by gains far outside of their prior.
    """
    least = max(_MIN_RELATIVE_RESIDUAL, _MIN_RESIDUAL_TO_GAIN * uncertainty)
    size = max(float(np.sqrt(np.mean(row.left**2))) for row in rows)
    scales, effective, pi = np.full(len(rows), size or 1.0), np.ones(len(rows)), np.zeros(10)
    gain_errors = np.zeros(len(rows))
    for _ in range(_REWEIGHTINGS):
        along = [row.Y @ pi if shared else row.measured for row in rows]
        factors = [_marginal(*one, uncertainty) for one in zip(rows, along, scales, strict=True)]
        pi = consistent_body(triangle(np.vstack(factors)), float(effective.sum())).pi
        for k, (row, d) in enumerate(zip(rows, along, strict=True)):
            residual = row.left - row.Y @ pi
            if uncertainty > 0:
                bound = (scales[k] / uncertainty) ** 2
                gain_errors[k] = (d @ residual) / (d @ d + bound)
                residual = residual - gain_errors[k] * d
            rms = max(float(np.sqrt(np.mean(residual**2))), least * size, 1e-12)
            time = float(autocorrelation_time(residual[:, None])[0])
            scales[k], effective[k] = rms * np.sqrt(time), len(residual) / time
    factors = [_marginal(*one, uncertainty) for one in zip(rows, along, scales, strict=True)]
    fit = consistent_body(triangle(np.vstack(factors)), float(effective.sum()), float(uncertainty > 0))
    exact = [_marginal(row, row.left, scale, 0.0) for row, scale in zip(rows, scales, strict=True)]
    without = consistent_body(triangle(np.vstack(exact)), float(effective.sum()))
    noise = np.linalg.norm(without.spread, axis=1) * np.sqrt(fit.noise / without.noise)
    scores = [fit.moved_by(own[:, :10].T @ (own[:, 10] - own[:, :10] @ fit.pi)) for own in factors]
    scatter = np.linalg.norm(scores, axis=0) * np.sqrt(len(rows) / max(1, len(rows) - 1))
    total = np.linalg.norm(fit.spread, axis=1)
    parts = {"noise": noise, "noise and gains": np.maximum(total, noise), "scatter": scatter}
    return _Fit(fit.pi, parts, gain_errors)


def _marginal(row: _Row, along: Array, scale: float, uncertainty: float) -> Array:
    """The factor (11, 11) of [Y left] of a row, its unknown error of gain eliminated with its prior."""
    block = np.column_stack([along, row.Y, row.left]) / scale
    if uncertainty <= 0:
        return _square(triangle(block[:, 1:]))
    prior = np.zeros(block.shape[1])
    prior[0] = 1.0 / uncertainty
    return _square(triangle(np.vstack([block, prior]))[1:, 1:])


def _square(factor: Array) -> Array:
    """A factor with rows of zeros where there were fewer samples than columns."""
    return np.vstack([factor, np.zeros((max(0, 11 - len(factor)), 11))])


class _Equations(ABC):
    """Equations y - known = Y π of a load on a link: what is measured, and its columns."""

    offsets = False  # whether each row has an unknown constant

    def __init__(self, robot: Robot, link: str, names: Sequence[str]) -> None:
        frame = robot.model.frame(link)
        self.robot, self.rows, self.names = robot, len(names), names
        self._own = slice(10 * frame.body, 10 * frame.body + 10)
        self._to_body = transformation(frame.placement.rotation, frame.placement.translation)

    def regressor(self, q: Array, v: Array, a: Array) -> Array:
        """Y, (N, rows, 10)."""
        return self._all(q, v, a)[:, :, self._own] @ self._to_body

    @abstractmethod
    def _all(self, q: Array, v: Array, a: Array) -> Array:
        """The columns of all bodies, (N, rows, 10 n_bodies)."""

    @abstractmethod
    def known(self, q: Array, v: Array, a: Array) -> Array:
        """The measurement without the load, (N, rows)."""


class _TorqueEquations(_Equations):
    """Joint torques of a robot, or of an identified one."""

    def __init__(self, robot: Robot, link: str, result: Identification | None) -> None:
        super().__init__(robot, link, robot.model.velocity_names)
        self._result = result

    def _all(self, q: Array, v: Array, a: Array) -> Array:
        return np.asarray(self.robot.regressor(q, v, a))

    def known(self, q: Array, v: Array, a: Array) -> Array:
        if self._result is not None:
            return self._result.regression.predict(self._result.x, q, v, a)
        return np.asarray(self.robot.inverse_dynamics(q, v, a, friction=True))


class _WrenchEquations(_Equations):
    """Readings of force/torque sensors, six rows each."""

    def __init__(
        self, robot: Robot, link: str, sensors: tuple[str, ...], bias: bool, carried: Carried
    ) -> None:
        super().__init__(robot, link, [f"{sensor} {k}" for sensor in sensors for k in range(6)])
        self._sensors, self.offsets, self._carried = sensors, bool(bias), carried
        body = robot.model.frame(link).body
        if not any(_carries(robot, robot.model.frame(sensor).body, body) for sensor in sensors):
            there = ", ".join(map(repr, sensors))
            raise InputError(f"a load on {link!r} acts on no sensor: those at {there} carry other links")

    def _all(self, q: Array, v: Array, a: Array) -> Array:
        return np.concatenate([self.robot.wrench_regressor(one)(q, v, a) for one in self._sensors], axis=1)

    def known(self, q: Array, v: Array, a: Array) -> Array:
        known = [self.robot.sensor_wrench(one, self._carried)(q, v, a) for one in self._sensors]
        return np.concatenate(known, axis=1)


def _carries(robot: Robot, sensor: int, body: int) -> bool:
    while body not in (sensor, WORLD):
        body = robot.model.bodies[body].parent
    return body == sensor
