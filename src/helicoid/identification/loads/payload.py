"""Payload identification: the ten inertial parameters of a load on a known robot."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.recursions.joint_wrenches import Carried
from helicoid.errors import InputError
from helicoid.identification.diagnosis.wrenches import diagnose_wrenches
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.linear.equations.stack import triangular
from helicoid.identification.linear.solving.consistent import consistent_body, free_body
from helicoid.identification.logs.filtering import low_pass, noise_bandwidth
from helicoid.identification.logs.log import DoubtfulLogWarning, Log
from helicoid.identification.logs.plausibility import check
from helicoid.identification.logs.preparation import prepare
from helicoid.identification.result import Identification
from helicoid.interrupts import interruptible
from helicoid.model.inertia import Inertia, transformation
from helicoid.model.model import WORLD
from helicoid.robot import Robot


@dataclass(frozen=True, eq=False)
class Payload:
    """Inertia of a load about the origin of the link that carries it, in its frame; σ of the 10 numbers."""

    link: str
    inertia: Inertia
    sigma: Array

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
) -> Payload:
    """Identify the load fixed to `link` during a log, physically consistent.

    From joint torques, or from force/torque sensors where the log has `wrenches`: a wrist sensor needs
    neither friction nor torques; `carried` says what it carries, as `robot.sensor_wrench` takes it; each of
    its six channels may have a constant offset that is estimated with the load (`bias=False`: the sensor was
    zeroed). Readings that no load explains, but would with the other sign, forces first, in world axes or
    from a turned sensor, give a `DoubtfulLogWarning` that says which.

    `robot` is what carries the load: a robot whose friction counts, or better the result of identifying it
    without load. `cutoff` (Hz) is that of the low-pass, None for none; by default the result's own, and none
    for a robot. Rows are weighted by their residuals, and σ counts only the noise that the low-pass leaves
    independent.

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
    if cutoff == "auto":
        cutoff = None if result is None else result.cutoff
    check(bare, log, moving=False)
    if log.wrenches:
        equations: _Equations = _WrenchEquations(bare, link, tuple(log.wrenches), bias, carried)
    else:
        equations = _TorqueEquations(bare, link, result)
    factors = [np.zeros((12, 12), order="F") for _ in range(equations.rows)]
    counts = np.zeros(equations.rows, dtype=int)
    part = 1.0
    with one_blas_thread():
        stretches = prepare(bare, log, cutoff)[0]
        wrong = diagnose_wrenches(bare, tuple(log.wrenches), stretches) if log.wrenches else None
        if wrong is not None:
            warnings.warn(f"{log.source}: most likely, {wrong.text}", DoubtfulLogWarning, stacklevel=3)
        for samples in stretches:
            samples = samples.delayed(0.0 if result is None else result.lag)
            part = noise_bandwidth(samples.rate, cutoff)
            motion = samples.q, samples.v, samples.a
            Y = low_pass(equations.regressor(*motion), samples.rate, cutoff)
            left = samples.y - low_pass(equations.known(*motion), samples.rate, cutoff)
            for k in range(equations.rows):
                used = samples.weights[:, k] > 0
                offset = np.full(int(used.sum()), float(equations.offsets))
                factors[k] = triangular(factors[k], np.column_stack([offset, Y[used, k], left[used, k]]))
                counts[k] += int(used.sum())
        # Without its first row and column a factor is orthogonal to a constant: the offset is eliminated.
        factor = _weighted([own[1:, 1:] for own in factors], counts)
        pi, sigma = consistent_body(factor, int(counts.sum()))
    return Payload(link, Inertia.from_parameters(pi), sigma / np.sqrt(part))


class _Equations(ABC):
    """Equations y - known = Y π of a load on a link: what is measured, and its columns."""

    offsets = False  # whether each row has an unknown constant

    def __init__(self, robot: Robot, link: str, rows: int) -> None:
        frame = robot.model.frame(link)
        self.robot, self.rows = robot, rows
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
        super().__init__(robot, link, robot.nv)
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
        super().__init__(robot, link, 6 * len(sensors))
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


def _weighted(factors: Sequence[Array], counts: Array) -> Array:
    """One factor of all joints, each divided by its residual of a fit to all."""
    scales = np.ones(len(factors))
    for _ in range(3):
        factor = np.zeros((11, 11), order="F")
        for own, scale in zip(factors, scales, strict=True):
            factor = triangular(factor, own / scale)
        pi = free_body(factor)
        left = np.array([np.linalg.norm(own[:, :-1] @ pi - own[:, -1]) for own in factors])
        size = np.array([np.linalg.norm(own[:, -1]) for own in factors])
        left = np.maximum(left, 1e-6 * size.max(initial=0.0)) / np.sqrt(np.maximum(counts, 1))
        scales = np.maximum(left, 1e-12)
    return factor
