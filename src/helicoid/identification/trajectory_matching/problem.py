"""Least squares over z and the initial states of windows: simulated positions against measured ones.

    min Σ ‖(q_i - q(t_i; s_w, z)) / σ‖² + ‖ξ / spread‖²   over ξ and the initial states s_w of the windows

by the Gauss-Newton method of `refinement.multiple_shooting`, with one node a window. Windows and joints that
do not count have a weight of next to nothing: their initial states follow, and ξ does not see them.
"""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.equations.stack import triangle
from helicoid.identification.logs.filtering import Mask
from helicoid.identification.refinement.elimination import GaussNewtonStep, Linearised
from helicoid.identification.refinement.multiple_shooting import ShootingPoint, ShootingResiduals
from helicoid.identification.trajectory_matching.rollouts.rollout import Rollouts, ServoFlow
from helicoid.identification.trajectory_matching.unknowns import Coordinates

_POSITION_DAMPING = 30.0  # σ of the residuals: σ of a step of an initial position
_UNCOUNTED = 1e-8  # weight of the residuals of windows that do not count
_VELOCITY_DAMPING = 0.3  # of a joint's usual speed: σ of a step of an initial velocity


class TrajectoryMatching:
    """The problem above, as `refine` takes it."""

    def __init__(self, rollouts: Rollouts, coordinates: Coordinates, counted: Mask) -> None:
        """`counted`: the windows and joints, (W, nv)."""
        self.rollouts, self.unknowns = rollouts, coordinates
        self._weight, self._share = np.where(counted, 1.0, _UNCOUNTED), np.mean(counted, axis=0)
        self._measured = rollouts.recording.measured
        speed = np.sqrt(np.mean(rollouts.recording.smooth[1] ** 2, axis=0))
        self._speed = np.maximum(speed, 1e-3 + 0.01 * speed.max())

    def start(self) -> ShootingPoint:
        """Smoothed states at the beginning of the windows, and ξ = 0."""
        q, v = self.rollouts.recording.start()
        return ShootingPoint(q[:, None], v[:, None], np.zeros(len(self.unknowns.start)))

    def flow(self, point: ShootingPoint, with_slopes: bool = True) -> ServoFlow:
        """The simulation of every window."""
        D = self.unknowns.slope(point.xi) if with_slopes else None
        return self.rollouts.flow(self.unknowns.x(point.xi), (point.q[:, 0], point.v[:, 0]), D)

    def deviations(self, point: ShootingPoint, flow: ServoFlow) -> ShootingResiduals:
        """Weighted residuals, (W, K + 1, nv); windows are not connected."""
        residuals = self._weight[:, None] * self.residuals(flow)
        return ShootingResiduals(residuals, np.zeros((len(residuals), 0, residuals.shape[-1])), self._share)

    def residuals(self, flow: ServoFlow) -> Array:
        """Measured less simulated positions, (W, K + 1, nv)."""
        return np.asarray(self._measured - flow.q.swapaxes(0, 1))

    def linearised(self, flow: ServoFlow, deviations: ShootingResiduals, sigma: Array) -> Linearised:
        """Linearised residuals in units of σ; steps without effect are damped."""
        W, samples, nv = deviations.residuals.shape
        columns, measured = flow.by.shape[-1], samples * nv
        rows = np.zeros((W, measured + 2 * nv, columns + 1))
        own = rows[:, :measured].reshape(W, samples, nv, columns + 1)
        weight = -self._weight[:, None, :, None] / sigma[:, None]
        np.multiply(np.moveaxis(flow.by, 0, 1), weight, out=own[..., :columns])
        own[..., columns] = deviations.residuals / sigma
        damped = np.concatenate([_POSITION_DAMPING * sigma, _VELOCITY_DAMPING * self._speed])
        rows[:, measured:, : 2 * nv] = np.tile(self._weight, 2)[..., None] * np.diag(1 / damped)
        factor = triangle(rows)[:, None]
        nothing = np.zeros((W, 0, 2 * nv, 2 * nv))
        return Linearised(factor, nothing, nothing, nothing[..., 0])

    def moved(self, point: ShootingPoint, step: GaussNewtonStep, part: float) -> ShootingPoint:
        """The point at a fraction of a step."""
        nv = point.q.shape[-1]
        q, v = point.q + part * step.states[:, :, :nv], point.v + part * step.states[:, :, nv:]
        return ShootingPoint(q, v, point.xi + part * step.xi)

    def floor(self) -> Array:
        """Residuals at the level of rounding, of each joint."""
        return np.asarray(1e-7 * self._speed)
