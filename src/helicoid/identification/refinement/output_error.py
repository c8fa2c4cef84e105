"""Output-error refinement of an identified robot: the simulated motion is fitted in place of the torques."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.friction import TERMS
from helicoid.errors import InputError
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.solving.whitened_coordinates import usual_magnitudes
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.preparation import Samples, prepare
from helicoid.identification.refinement.multiple_shooting import OutputError, Refinement, Windows, refine
from helicoid.identification.refinement.shooting import Simulator
from helicoid.identification.result import Identification
from helicoid.interrupts import interruptible
from helicoid.progress import Progress, reporting

_BODY_SIGMA = 0.3  # of itself: prior σ of a body
_JOINT_SIGMA = 0.1  # of the joint's usual torque: prior σ of friction, offset and armature


@interruptible()
def fit_output_error(
    result: Identification,
    log: Log,
    horizon: float = 1.0,
    interval: float = 0.1,
    iterations: int = 30,
    progress: Progress | bool | None = None,
) -> Identification:
    """Refine a result so that simulation under the measured torques reproduces the measured motion.

    Multiple shooting: the log is cut into windows of `horizon` (s), each simulated from a state of its own,
    with nodes every `interval` (s). Unknown are the states at nodes and all that is unknown in `result`;
    bodies stay consistent, friction non-negative. Inertia, viscous friction, armature and described springs
    act on the simulated motion, the other terms along the measured one. Derivatives are those of
    `trajectory.sensitivity`. Positions and velocities count, each by its own noise.
    The fit is local: `result` is where it starts, and where it stays in directions that the motion does not
    excite. Its standard deviations hold for white noise; errors of the model make them too small.

    Time and memory grow linearly with the length of the log; pass a part of it, `log.between(0, 20)`, if it
    is long. `progress` is as in `identify`.

    Returns a result like that of `identify`, whose `held_out` is not known (NaN): score another log.

    >>> import helicoid as hc
    >>> from helicoid.identification.identify import identify
    >>> robot = hc.load("double_pendulum")
    >>> free = hc.simulate(robot, [1.0, 0.5], [0.0, 0.0], duration=2.0, dt=0.01)
    >>> log = hc.Log.from_trajectory(free)
    >>> linear = hc.identify(robot, log, groups=("inertia",), cutoff=None, regularisation=1.0)
    >>> hc.fit_output_error(linear, log).estimator
    'output error'
    """
    if not 0 < interval <= horizon:
        raise InputError(f"needs 0 < interval <= horizon (s); got interval {interval}, horizon {horizon}")
    regression, x = result.regression, result.x
    if regression.wrenches:
        raise InputError("output error simulates the robot under joint torques; this result is of wrenches")
    stretches = [samples.delayed(result.lag) for samples in prepare(result.nominal, log)[0]]
    windows = _windows(stretches, horizon, interval)
    problem = OutputError(Simulator(regression), windows, x, _scale(regression, windows, x))
    spread = np.ones(len(x))
    spread[problem.unknowns.inertial] = _BODY_SIGMA
    with one_blas_thread(), reporting(progress, "Refining by output error") as report:
        refined = refine(problem, spread, iterations, report)
    return _refined(result, refined, stretches, log, horizon)


def _windows(stretches: list[Samples], horizon: float, interval: float) -> Windows:
    found = []
    for samples in stretches:
        between = max(2, round(interval * samples.rate))
        count = max(1, round(horizon * samples.rate / between))
        if len(samples) > between * count:
            found.append(Windows.of(samples, between, count))
    if not found:
        raise InputError(f"no stretch of the log is as long as one window of {horizon} s")
    if len({part.q.shape[2] for part in found}) > 1:
        raise InputError("the stretches of the log have different sampling rates: refine on one of them")
    return reduce(Windows.joined, found)


def _scale(regression: Regression, windows: Windows, x: Array) -> Array:
    """Units of the unknowns: a part of the torque that each joint usually has, by what it multiplies."""
    nv = windows.v.shape[-1]

    def usual(values: Array) -> Array:
        return np.asarray(np.sqrt(np.mean(values.reshape(-1, nv) ** 2, axis=0)))

    torque, speed = usual(windows.tau), usual(windows.v)
    acceleration = usual(np.diff(windows.v, axis=2)) / windows.dt
    torque, speed, acceleration = (
        np.maximum(s, 1e-6 + 1e-3 * s.max()) for s in (torque, speed, acceleration)
    )
    scale = np.ones(len(x))
    for group, own in regression.parameters.groups.items():
        if group == "elastic":
            scale[own] = _JOINT_SIGMA * usual_magnitudes(regression)[own]
        elif group != "inertia":
            unit = TERMS[group].usual_size(torque, speed) if group in TERMS else torque / acceleration
            scale[own] = _JOINT_SIGMA * unit[list(regression.velocities(group))]
    return scale


def _refined(
    result: Identification, refined: Refinement, stretches: list[Samples], log: Log, horizon: float
) -> Identification:
    nv, left = result.nominal.nv, refined.deviations
    worst = int(np.argmax(left[:nv]))
    note = (
        f"Refined by output error in {refined.iterations} iterations. Simulated for {horizon:g} s at a time, "
        f"positions deviate by {np.median(left[:nv]):.2g} and velocities by {np.median(left[nv:]):.2g} (RMS, "
        f"median over the joints), most at {result.regression.row_names[worst]} with {left[worst]:.2g}."
    )
    unknown = np.full(len(result.held_out.names), np.nan)
    new = replace(
        result,
        x=refined.x,
        covariance=refined.covariance,
        estimator="output error",
        held_out=replace(result.held_out, rmse=unknown),
        posterior=None,
        unexplained=None,
        notes=(*result.notes, note),
    )
    return replace(new, training=new.score(log), logs=(log,))
