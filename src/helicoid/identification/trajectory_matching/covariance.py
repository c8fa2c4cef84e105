"""Covariance of the unknowns: effective samples, scatter between windows, time steps.

With A_w and b_w the normal equations of window w after elimination of its initial state, at the optimum,

    C = A⁻¹,    A = Σ A_w + prior,    and the jackknife over windows:
    C_J = (W - 1) / W  Σ δ_w δ_wᵀ,    δ_w = -(A - A_w)⁻¹ b_w

(Efron and Stein 1981): C is that of residuals whose number is their effective one, C_J sees what differs from
window to window, errors of the model too. The larger counts. Beside it stands the error of the time steps: of
δ, by which unknowns would move with the m times longer steps of the slopes, first order leaves δ / (m - 1),
and twice that is taken, since single steps in which dry friction changes its sign are of lower order.
"""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array
from helicoid.identification.logs.autocorrelation import autocorrelation_time
from helicoid.identification.logs.filtering import Mask
from helicoid.identification.refinement.multiple_shooting import Refinement, ShootingPoint
from helicoid.identification.trajectory_matching.problem import TrajectoryMatching
from helicoid.identification.trajectory_matching.rollouts.rollout import REFINEMENT, ServoFlow

_MIN_WINDOWS = 5  # for their scatter to say something
_STEP_ERROR = 2.0  # times what first order leaves
_AT_BOUND = 1e-9  # of the unit: an unknown that its bound holds does not move


def covariance(problem: TrajectoryMatching, found: Refinement, residuals: Array, counted: Mask) -> Array:
    """Covariance of z at the optimum, with the windows and joints (W, nv) that counted."""
    flow, point = problem.flow(found.point), found.point
    sigma = np.maximum(found.deviations, problem.floor())
    prior = np.diag(problem.unknowns.spread**-2)
    effective = sigma * np.sqrt(_samples_for_one(residuals, counted))
    C = np.linalg.inv(_normal_equations(problem, flow, point, effective)[0].sum(axis=0) + prior)
    A, b = _normal_equations(problem, flow, point, sigma)
    start = point.q[:, 0], point.v[:, 0]
    coarse = ServoFlow(problem.rollouts.positions(found.x, start, 1), flow.by)
    change = _normal_equations(problem, coarse, point, sigma)[1] - b
    scatter, error = np.zeros(len(C)), np.zeros(len(C))
    free = point.xi > problem.unknowns.lower + _AT_BOUND
    own = np.ix_(free, free)
    A, b, prior = A[:, free][:, :, free], b[:, free], prior[own]
    scatter[free] = _jackknife(A, b, prior)
    error[free] = np.linalg.solve(A.sum(axis=0) + prior, change.sum(axis=0)[free])
    error *= _STEP_ERROR / (REFINEMENT - 1)
    wider = np.sqrt(np.maximum(1.0, scatter / np.diag(C)))
    D = problem.unknowns.slope(point.xi)
    return np.asarray(D @ (wider[:, None] * C * wider + np.outer(error, error)) @ D.T)


def _normal_equations(
    problem: TrajectoryMatching, flow: ServoFlow, point: ShootingPoint, sigma: Array
) -> tuple[Array, Array]:
    """A (W, p, p) and b (W, p) of every window."""
    n, p = 2 * point.q.shape[-1], len(point.xi)
    rows = problem.linearised(flow, problem.deviations(point, flow), sigma).rows[:, 0, n : n + p]
    J, r = rows[..., n:-1], rows[..., -1:]
    return J.swapaxes(1, 2) @ J, -(J.swapaxes(1, 2) @ r)[..., 0]


def _jackknife(A: Array, b: Array, prior: Array) -> Array:
    """Variance of each unknown by leaving out one window after the other."""
    W = len(A)
    if W < _MIN_WINDOWS:
        return np.zeros(len(prior))
    total, right = A.sum(axis=0) + prior, b.sum(axis=0)
    moved = np.linalg.solve(total - A, (right - b)[..., None])[..., 0]
    return np.asarray((W - 1) / W * np.sum((moved - moved.mean(axis=0)) ** 2, axis=0))


def _samples_for_one(residuals: Array, counted: Mask) -> Array:
    """N / N_eff of each joint's residuals (W, K + 1, nv), where errors of the model count once a window.

    The coloured part of the residuals is what the model lacks, and as much of it may hide in the unknowns.
    Differences of neighbouring samples have twice the variance of the white part, and little else.
    """
    found = []
    for j, windows in enumerate(counted.T):
        own = residuals[windows, :, j].T
        white = np.mean(np.diff(own, axis=0) ** 2) / 2
        variance = max(float(np.mean(own**2)), 1e-300)
        coloured = np.clip(1.0 - white / variance - 3.0 / np.sqrt(own.size), 0.0, 1.0)
        found.append(max(float(np.median(autocorrelation_time(own))), 1.0 + coloured * (len(own) - 1)))
    return np.array(found)
