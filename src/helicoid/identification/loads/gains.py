"""Motor currents: torque = gain × current, with gains that are known or identified with a known load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.rows import thinning
from helicoid.identification.linear.equations.stack import triangular
from helicoid.identification.logs.filtering import low_pass, noise_bandwidth
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.plausibility import check
from helicoid.identification.logs.preparation import prepare
from helicoid.model.inertia import Inertia, transformation
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
    com: ArrayLike | None = None,
    inertia: ArrayLike | None = None,
    cutoff: float | None = None,
    groups: Sequence[str] | None = None,
) -> tuple[Array, Array]:
    """The gains (N·m/A) of all drives and their standard deviations, from two runs with currents in `tau`.

    `log` was recorded without, `loaded` with a body of known mass (kg) fixed to `link`; its centre of mass
    (m) and inertia about it (kg·m²), in the link's frame, are found too where they are not given. Without
    load only the ratio of parameters to gains is identifiable; the load sets the scale. Currents are noisy
    and the motion is not, so that currents are regressed on it, joint by joint:

        i = Y ξ + κ (load),    gain = 1 / κ

    with unknowns ξ of each joint's own. Noise in the currents then makes σ larger and biases nothing.
    `cutoff` (Hz) low-passes both sides.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> heavy = robot.with_payload("tip", 2.0, [0.1, 0, 0], np.zeros((3, 3)))
    >>> t = np.arange(500) / 100.0
    >>> q, v, a = (np.column_stack([f(2 * t), f(3 * t + 1)]) for f in (np.sin, np.cos, np.sin))
    >>> motion = q, v * [2, 3], -a * [4, 9]
    >>> runs = [hc.Log.from_arrays(t, *motion, r.inverse_dynamics(*motion) / [10, 5]) for r in (robot, heavy)]
    >>> print(hc.drive_gains(robot, *runs, "tip", mass=2.0)[0].round(3))
    [10.  5.]
    """
    for one in (log, loaded):
        check(robot, one)
    if not 0 < mass < np.inf:
        raise InputError(f"mass is that of the load (kg), above 0; got {mass}")
    if inertia is not None and com is None:
        raise InputError("the inertia of a load is about its centre of mass: give com too")
    regression = Regression(robot, groups)
    with one_blas_thread():
        joints = _explained(robot, regression, ((log, False), (loaded, True)), link, cutoff)
        return _solved(joints, robot.model.velocity_names, mass, com, inertia)


class _Joint(NamedTuple):
    """Residuals of a joint's currents and of the load's torques after projection on Y.

    `load` (k, 11) are the columns of the load's ten parameters and of the torque that is known; `z` (k,) the
    currents; `sigma` that of the currents, in these units.
    """

    load: Array
    z: Array
    sigma: float


def _explained(
    robot: Robot, regression: Regression, runs: Sequence[tuple[Log, bool]], link: str, cutoff: float | None
) -> list[_Joint]:
    frame = robot.model.frame(link)
    to_body = transformation(frame.placement.rotation, frame.placement.translation)
    own = slice(10 * frame.body, 10 * frame.body + 10)
    sizes = [len(on) for on in regression.supports]
    factors = [np.zeros((n + 12, n + 12), order="F") for n in sizes]
    counts, part = np.zeros(robot.nv, dtype=int), 1.0
    for log, carrying in runs:
        for samples in prepare(robot, log, cutoff)[0]:
            s = samples.thinned(thinning(samples))
            part = noise_bandwidth(s.rate, cutoff)
            load = np.zeros((len(s), robot.nv, 11))
            if carrying:
                load[:, :, :10] = np.asarray(robot.regressor(s.q, s.v, s.a))[:, :, own] @ to_body
            known = regression.known(s.q, s.v, s.a)
            load[:, :, 10] = 0.0 if known is None else known
            load = low_pass(load, s.rate, cutoff)
            for k, Y in enumerate(regression.rows(s.q, s.v, s.a)):
                used = s.weights[:, k] > 0
                block = np.column_stack([low_pass(Y, s.rate, cutoff), load[:, k], s.y[:, k]])[used]
                factors[k] = triangular(factors[k], block)
                counts[k] += len(block)
    return [_left(R, n, int(count), part) for R, n, count in zip(factors, sizes, counts, strict=True)]


def _left(factor: Array, n: int, count: int, part: float) -> _Joint:
    """The factor's last columns without what its first n can explain."""
    A = factor[:, :n] / np.maximum(np.linalg.norm(factor[:, :n], axis=0), 1e-300)
    U, S, _ = np.linalg.svd(A, full_matrices=False)
    U = U[:, 1e-9 * S[0] < S] if len(S) else U
    last = factor[:, n:]
    last = last - U @ (U.T @ last)
    free = np.linalg.lstsq(last[:, :-1], last[:, -1], rcond=1e-9)[0]
    left = float(np.sum((last[:, :-1] @ free - last[:, -1]) ** 2))
    sigma = np.sqrt(left / max(1, count - U.shape[1] - 11) / part)
    return _Joint(last[:, :-1], last[:, -1], max(sigma, 1e-9 * float(np.linalg.norm(factor[:, -1])), 1e-12))


def _solved(
    joints: Sequence[_Joint],
    names: Sequence[str],
    mass: float,
    com: ArrayLike | None,
    inertia: ArrayLike | None,
) -> tuple[Array, Array]:
    """Gains and their σ, over what is unknown of the load as well."""
    from scipy.optimize import least_squares

    c = np.zeros(3) if com is None else np.asarray(com, dtype=np.float64)
    I = np.zeros((3, 3)) if inertia is None else np.asarray(inertia, dtype=np.float64)
    stated = Inertia.from_com(mass, c, I).parameters
    free = np.r_[1:10] if com is None else (np.r_[4:10] if inertia is None else np.r_[0:0])

    def parameters(x: Array) -> Array:
        pi = np.append(stated, 1.0)
        pi[free] = mass * x[len(joints) :]
        return pi

    def residuals(x: Array) -> Array:
        pi = parameters(x)
        return np.concatenate([(x[k] * (j.load @ pi) - j.z) / j.sigma for k, j in enumerate(joints)])

    def start(unknown: Array) -> Array:
        pi = parameters(np.concatenate([np.ones(len(joints)), unknown]))
        along = [j.load @ pi for j in joints]
        kappa = [float(u @ j.z) / max(float(u @ u), 1e-300) for u, j in zip(along, joints, strict=True)]
        return np.concatenate([kappa, unknown])

    rng = np.random.default_rng(0)
    guesses = [stated[free] / mass]
    guesses += [guesses[0] + rng.normal(0.0, 0.1, len(free)) for _ in range(4 if len(free) else 0)]
    fits = [least_squares(residuals, start(guess), method="trf", x_scale="jac") for guess in guesses]
    best = min(fits, key=lambda fit: fit.cost)
    kappa = best.x[: len(joints)]
    sigma = np.sqrt(np.diag(np.linalg.pinv(best.jac.T @ best.jac, rcond=1e-14)))[: len(joints)]
    felt = np.array([np.linalg.norm(j.load @ parameters(best.x)) for j in joints])
    missing = np.flatnonzero((felt < 1e-9) | (sigma > 0.5 * np.abs(kappa)))
    if len(missing):
        unfelt = ", ".join(names[int(k)] for k in missing)
        raise InputError(
            f"the gains of {unfelt} are unidentifiable: the load must act on each of these joints"
        )
    return 1.0 / kappa, sigma / kappa**2
