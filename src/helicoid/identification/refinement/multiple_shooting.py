"""Output-error refinement by multiple shooting: parameters whose simulation reproduces the measured motion.

    min Σ ‖(q_i ⊖ q(t_i), v_i - v(t_i)) / σ‖² + ‖ξ - ξ_start‖²   over ξ and the states s_j at nodes,
    with s_{j+1} = Φ(s_j, ξ): simulated from node j under the measured torques, one arrives at node j + 1

(multiple shooting, Bock 1987). Unlike the torque equations it needs no accelerations, and noise is where the
sensors have it, in q and v. The motion is cut into windows with free initial states, since the error of an
open-loop simulation grows with time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.stack import triangle
from helicoid.identification.linear.solving.consistent import nonnegative_unknowns
from helicoid.identification.linear.solving.log_cholesky import (
    LogCholeskyCoordinates,
    least_step,
    solid_bodies,
)
from helicoid.identification.logs.preparation import Samples
from helicoid.identification.refinement.elimination import GaussNewtonStep, Linearised, solve
from helicoid.identification.refinement.shooting import Inputs, ShootingFlow, Simulator
from helicoid.progress import Progress

_REWEIGHTINGS = 2  # of channels by their residuals
_MIN_DECREASE = 1e-6  # relative, of the sum of squares
_MAX_HALVINGS = 8


@dataclass(frozen=True, eq=False)
class Windows:
    """Motion cut into windows of intervals: q (W, J, K + 1, nq), v, a and tau (W, J, K + 1, nv), dt (s).

    Interval j of a window begins with the sample that interval j - 1 ends with.
    """

    q: Array
    v: Array
    a: Array
    tau: Array
    dt: float

    @staticmethod
    def of(samples: Samples, interval: int, per_window: int) -> Windows:
        """From even samples: `interval` samples between nodes, `per_window` intervals a window."""
        length = interval * per_window
        count = (len(samples) - 1) // length
        if count < 1:
            raise InputError(f"{len(samples)} samples are too few for one window of {length + 1}")
        index = (
            length * np.arange(count)[:, None, None]
            + interval * np.arange(per_window)[:, None]
            + np.arange(interval + 1)
        )
        return Windows(
            samples.q[index], samples.v[index], samples.a[index], samples.raw[index], 1.0 / samples.rate
        )

    def joined(self, other: Windows) -> Windows:
        """The windows of this motion and of another with the same sampling rate."""

        def both(name: str) -> Array:
            return np.concatenate([getattr(self, name), getattr(other, name)])

        return Windows(both("q"), both("v"), both("a"), both("tau"), self.dt)


class Unknowns:
    """ξ: log-Cholesky coordinates of the bodies, and the other unknowns in units of `scale`; ξ = 0 at x."""

    def __init__(self, regression: Regression, x: Array, scale: Array) -> None:
        parameters = regression.parameters
        self.inertial = parameters.groups.get("inertia", slice(0, 0))
        self._bodies = LogCholeskyCoordinates(solid_bodies(x[self.inertial]))
        self.start, self.scale = np.array(x), scale
        self.lower = np.full(len(x), -np.inf)
        self.lower[self.inertial] = least_step(np.zeros(self.inertial.stop - self.inertial.start))
        nonnegative = nonnegative_unknowns(regression)
        self.start[nonnegative] = np.maximum(x[nonnegative], 0.0)
        self.lower[nonnegative] = -self.start[nonnegative] / scale[nonnegative]

    def x(self, xi: Array) -> Array:
        """x of ξ: bodies that can exist, whatever ξ."""
        x = self.start + self.scale * xi
        x[self.inertial] = self._bodies.parameters(xi[self.inertial])
        return x

    def slope(self, xi: Array) -> Array:
        """∂x/∂ξ."""
        D = np.diag(self.scale)
        D[self.inertial, self.inertial] = self._bodies.jacobian(xi[self.inertial])
        return D


class ShootingPoint(NamedTuple):
    """States at the nodes, q (W, J, nq), v (W, J, nv), and ξ."""

    q: Array
    v: Array
    xi: Array


class ShootingResiduals(NamedTuple):
    """Simulated states at the samples (W J, K, 2 nv) and gaps at the next node (W, J - 1, 2 nv).

    `share` is the part of each channel's residuals that counts, where the others are 0.
    """

    residuals: Array
    gaps: Array
    share: Array | float = 1.0


class ShootingCoordinates(Protocol):
    """Parameters x of coordinates ξ, whose part `inertial` is log-Cholesky, with ξ >= `lower`."""

    inertial: slice
    lower: Array

    def x(self, xi: Array) -> Array: ...

    def slope(self, xi: Array) -> Array:
        """∂x/∂ξ."""


class ShootingProblem(Protocol):
    """Least squares over the states at nodes and ξ, as `refine` solves it; see `OutputError`."""

    @property
    def unknowns(self) -> ShootingCoordinates: ...

    def start(self) -> ShootingPoint: ...

    def flow(self, point: ShootingPoint, with_slopes: bool = True) -> Any: ...

    def deviations(self, point: ShootingPoint, flow: Any) -> ShootingResiduals: ...

    def linearised(self, flow: Any, deviations: ShootingResiduals, sigma: Array) -> Linearised: ...

    def moved(self, point: ShootingPoint, step: GaussNewtonStep, part: float) -> ShootingPoint: ...

    def floor(self) -> Array:
        """Residuals at the level of rounding, of each channel."""


class OutputError:
    """The problem above for given windows; `solve` refines x."""

    def __init__(self, simulator: Simulator, windows: Windows, x: Array, scale: Array) -> None:
        self.simulator, self.windows = simulator, windows
        self.unknowns = Unknowns(simulator.regression, x, scale)
        self._steps = simulator.substeps(x, windows.q[:, 0, 0], windows.dt)

    @cached_property
    def _inputs(self) -> Inputs:
        w = self.windows
        series = (np.moveaxis(s.reshape(-1, *s.shape[2:]), 1, 0) for s in (w.q, w.v, w.a, w.tau))
        return self.simulator.inputs(*series)

    def start(self) -> ShootingPoint:
        """The measured states, and the parameters to start from."""
        w = self.windows
        return ShootingPoint(w.q[:, :, 0], w.v[:, :, 0], np.zeros(len(self.unknowns.start)))

    def flow(self, point: ShootingPoint, with_slopes: bool = True) -> ShootingFlow:
        """The simulation of every interval."""
        start = point.q.reshape(-1, point.q.shape[-1]), point.v.reshape(-1, point.v.shape[-1])
        D = self.unknowns.slope(point.xi) if with_slopes else None
        x = self.unknowns.x(point.xi)
        return self.simulator.flow(x, D, start, self._inputs, self.windows.dt, self._steps)

    def deviations(self, point: ShootingPoint, flow: ShootingFlow) -> ShootingResiduals:
        """Measured less simulated, and the next node less where the simulation arrives."""
        w, difference, nv = self.windows, self.simulator.robot.difference, self.simulator.robot.nv
        W, J, K = w.q.shape[0], w.q.shape[1], w.q.shape[2] - 1
        simulated_q, simulated_v = (np.moveaxis(s[:K], 0, 1) for s in (flow.q, flow.v))
        off_q = difference(simulated_q.reshape(W * J * K, -1), w.q[:, :, :K].reshape(W * J * K, -1)).reshape(
            W * J, K, nv
        )
        off_v = w.v[:, :, :K].reshape(W * J, K, nv) - simulated_v
        end_q, end_v = (s[K].reshape(W, J, -1)[:, :-1] for s in (flow.q, flow.v))
        gap_q = difference(end_q.reshape(W * (J - 1), -1), point.q[:, 1:].reshape(W * (J - 1), -1))
        gap_v = point.v[:, 1:] - end_v
        gaps = np.concatenate([gap_q.reshape(W, J - 1, nv), gap_v], axis=2)
        return ShootingResiduals(np.concatenate([off_q, off_v], axis=2), gaps)

    def linearised(self, flow: ShootingFlow, deviations: ShootingResiduals, sigma: Array) -> Linearised:
        """Linearised residuals and continuity conditions, in units of σ."""
        W, J = self.windows.q.shape[:2]
        K, n = len(flow.q) - 1, 2 * self.simulator.robot.nv
        rows = np.moveaxis(flow.X[:K], 0, 1) / sigma[:, None]
        J_rows = -rows.reshape(W * J, K * n, -1)
        right = (deviations.residuals / sigma).reshape(W * J, K * n, 1)
        compressed = triangle(np.concatenate([J_rows, right], axis=2))
        ends = flow.X[K].reshape(W, J, n, -1)[:, :-1]
        return Linearised(
            compressed.reshape(W, J, *compressed.shape[1:]), ends[..., :n], ends[..., n:], deviations.gaps
        )

    def moved(self, point: ShootingPoint, step: GaussNewtonStep, part: float) -> ShootingPoint:
        """The point at a fraction of a step."""
        nv, (W, J) = self.simulator.robot.nv, point.q.shape[:2]
        states = part * step.states.reshape(W * J, -1)
        q = self.simulator.robot.integrate(point.q.reshape(W * J, -1), states[:, :nv])
        v = point.v + states[:, nv:].reshape(W, J, nv)
        return ShootingPoint(np.asarray(q).reshape(W, J, -1), v, point.xi + part * step.xi)

    def floor(self) -> Array:
        """Residuals at the level of rounding, of each channel."""
        nv = self.windows.v.shape[-1]
        speed = np.abs(self.windows.v).reshape(-1, nv).max(axis=0) + 1e-3
        return np.concatenate([1e-7 * speed, 1e-7 * speed])


class Refinement(NamedTuple):
    """x and its covariance, RMS of each channel's deviations that are left, iterations, the final point."""

    x: Array
    covariance: Array
    deviations: Array
    iterations: int
    point: ShootingPoint


def refine(
    problem: ShootingProblem,
    spread: Array,
    iterations: int,
    report: Progress,
) -> Refinement:
    """Gauss-Newton with a line search, channels weighted by their own residuals.

    `spread` is the prior σ of each ξ about 0.
    """
    point, taken = problem.start(), 0
    sigma = _rms(problem.deviations(point, problem.flow(point, with_slopes=False)))
    for _ in range(_REWEIGHTINGS):
        search = _GaussNewton(problem, spread, np.maximum(sigma, problem.floor()))
        while taken < iterations and not search.done:
            report("Refining by output error", taken / iterations)
            point = search.improved(point)
            taken += 1
        sigma = search.rms
    slope = problem.unknowns.slope(point.xi)
    covariance = slope @ search.covariance @ slope.T
    return Refinement(problem.unknowns.x(point.xi), covariance, sigma, taken, point)


class _GaussNewton:
    """Steps of a Gauss-Newton method at given σ, each shortened until the merit is no worse.

    The merit is the sum of squares and a penalty on gaps (Nocedal and Wright 2006, eq. 18.30 and 18.36).
    """

    def __init__(self, problem: ShootingProblem, spread: Array, sigma: Array) -> None:
        self.problem, self.spread, self.sigma = problem, spread, sigma
        self.rms, self.covariance = sigma, np.zeros((len(spread),) * 2)
        self.done, self._penalty = False, 0.0

    def improved(self, point: ShootingPoint) -> ShootingPoint:
        """The next point; `done` is set when it hardly improves on the one before."""
        flow = self.problem.flow(point)
        deviations = self.problem.deviations(point, flow)
        linear = self.problem.linearised(flow, deviations, self.sigma)
        step = solve(linear, point.xi, self.spread, self.problem.unknowns.lower)
        self.rms, self.covariance = _rms(deviations), step.covariance
        squares, gap = self._measures(point, deviations)
        if gap > 0:
            self._penalty = max(self._penalty, 2 * (step.predicted - squares) / gap)
        now = squares + self._penalty * gap
        # Bodies are exponentials of their coordinates: a linearisation is valid up to about 1.
        whole = 1.0 / max(1.0, float(np.abs(step.xi[self.problem.unknowns.inertial]).max(initial=0.0)))
        for halving in range(_MAX_HALVINGS):
            trial = self.problem.moved(point, step, whole * 0.5**halving)
            off = self.problem.deviations(trial, self.problem.flow(trial, with_slopes=False))
            squares, gap = self._measures(trial, off)
            merit = squares + self._penalty * gap
            if merit <= now:
                self.rms, self.done = _rms(off), now - merit < _MIN_DECREASE * now
                return trial
        self.done = True
        return point

    def _measures(self, point: ShootingPoint, deviations: ShootingResiduals) -> tuple[float, float]:
        """The sum of squares, and the sum of all gaps, in units of σ."""
        squares = np.sum((deviations.residuals / self.sigma) ** 2) + np.sum((point.xi / self.spread) ** 2)
        return float(squares), float(np.sum(np.abs(deviations.gaps / self.sigma)))


def _rms(deviations: ShootingResiduals) -> Array:
    return np.asarray(np.sqrt(np.mean(deviations.residuals**2, axis=(0, 1)) / deviations.share))
