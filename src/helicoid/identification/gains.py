"""Motor currents: torque = gain × current, with gains that are known or told by a known load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.linear.equations import blocks
from helicoid.identification.linear.regression import GROUPS, Regression
from helicoid.identification.linear.stack import triangular
from helicoid.identification.logs.filtering import low_pass
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.plausibility import check
from helicoid.identification.logs.preparation import prepare
from helicoid.robot import Robot


def torques_from_currents(log: Log, gains: ArrayLike) -> Log:
    """The log whose `tau` holds currents (A), with torques in their place; gains (nv) in N·m/A."""
    if log.tau is None:
        raise InputError(f"{log.source}: has no currents in tau")
    k = np.asarray(gains, dtype=np.float64)
    if k.shape != (log.tau.shape[1],) or not np.all(np.isfinite(k)):
        raise InputError(f"gains: expected {log.tau.shape[1]} finite numbers (N·m/A), got {gains!r}")
    return replace(log, tau=log.tau * k)


def drive_gains(
    robot: Robot,
    log: Log,
    loaded: Log,
    link: str,
    mass: float,
    com: ArrayLike,
    inertia: ArrayLike,
    cutoff: float | None = None,
    groups: Sequence[str] = GROUPS,
) -> tuple[Array, Array]:
    """The gains (N·m/A) of all drives and their standard deviations, from two runs with currents in `tau`.

    `log` was recorded without, `loaded` with a body of known mass (kg), center of mass (m) and inertia about
    it (kg·m²) fixed to `link`, in its frame. Without load only the ratio of parameters to gains is seen:
    Y x - K i = 0. The known load sets the scale: Y x - K i = -(τ with load - τ without), both runs together
    one linear least squares problem in x and K. `cutoff` (Hz) low-passes both sides.
    """
    for one in (log, loaded):
        check(robot, one)
    regression = Regression(robot, groups)
    p, nv = len(regression.parameters), robot.nv
    heavy = robot.with_payload(link, mass, com, inertia)
    factor = np.zeros((p + nv + 1, p + nv + 1), order="F")
    equations = 0
    with one_blas_thread():
        for one, carrying in ((log, False), (loaded, True)):
            for samples in prepare(robot, one, cutoff)[0]:
                if carrying:
                    q, v, a = samples.q, samples.v, samples.a
                    known = heavy.inverse_dynamics(q, v, a) - robot.inverse_dynamics(q, v, a)
                    known = low_pass(np.asarray(known), samples.rate, cutoff)
                else:
                    known = np.zeros_like(samples.y)
                pairs = zip(
                    blocks(regression, samples), blocks(regression, samples.replaced(known)), strict=True
                )
                for (rows, current, _, weights), (_, right, _, _) in pairs:
                    for k, on in enumerate(regression.supports):
                        used = weights[:, k] > 0
                        block = np.zeros((int(used.sum()), p + nv + 1))
                        block[:, on], block[:, p + k] = rows[k][used], -current[used, k]
                        block[:, -1] = -right[used, k]
                        factor = triangular(factor, block)
                        equations += len(block)
    return _solved(factor, p, nv, equations)


def _solved(factor: Array, p: int, nv: int, equations: int) -> tuple[Array, Array]:
    R, z = factor[:-1, :-1], factor[:-1, -1]
    scale = 1.0 / np.maximum(np.linalg.norm(R, axis=0), 1e-300)
    U, S, Vt = np.linalg.svd(R * scale)
    kept = 1e-9 * S[0] < S
    told = 1.0 - np.sum(Vt[~kept][:, p:] ** 2, axis=0)
    if np.any(told < 1 - 1e-6):
        missing = np.flatnonzero(told < 1 - 1e-6)
        raise InputError(
            f"the gains of joints {missing.tolist()} cannot be told: the load must be felt in each of them"
        )
    x = scale * (Vt[kept].T @ ((U[:, kept].T @ z) / S[kept]))
    noise = (factor[-1, -1] ** 2 + np.sum((R @ x - z) ** 2)) / max(1, equations - int(kept.sum()))
    spread = scale[:, None] * Vt[kept].T / S[kept]
    return x[p:], np.sqrt(noise * np.sum(spread**2, axis=1))[p:]
