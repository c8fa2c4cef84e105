"""Motions whose jerk is limited: a time-optimal motion, averaged over a window of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array
from helicoid.arrays import float_array
from helicoid.control.timing import InfeasiblePath, JointPath, time_optimal
from helicoid.control.timing.motion import PathMotion
from helicoid.control.timing.rows import torques
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation import Trajectory
from helicoid.simulation.trajectory import MotionEquations

if TYPE_CHECKING:
    from helicoid.planning.planner import Planner

MAX_STEP = 0.002  # s, between samples
TOLERANCE = 0.02  # of torque limits and frame speeds, which averages keep nearly
_SLOWER, _MAX_TRIES = 0.7, 14  # times the accelerations, while the average is not free
_MAX_WINDOWS = 80  # lengths of the window that are tried


def jerk_limited(
    planner: Planner,
    curve: JointPath,
    jerk: ArrayLike,
    velocity: ArrayLike | None,
    acceleration: ArrayLike | None,
    torque: ArrayLike | None,
    options: dict[str, Any],
) -> Trajectory:
    """The time-optimal motion along a curve, averaged over the shortest window that keeps the jerk.

    The average (1/T) ∫ q(t - σ) dσ over 0 ≤ σ ≤ T has the jerk (a(t) - a(t - T)) / T; it keeps limits of
    position, velocity and acceleration, whose sets are convex, and ends at rest where the motion does. It
    leaves the curve by T²/24 of the acceleration at most: every interval of samples is certified to be free
    as a cubic, and torques and constraints are checked. Where they are left accelerations become smaller.
    """
    robot = planner.robot
    most = _limits(robot, jerk)
    if options.get("start_speed", 0.0) or options.get("end_speed", 0.0):
        raise InputError("jerk: the motion begins and ends at rest; leave out start_speed and end_speed")
    for _ in range(_MAX_TRIES):
        motion = time_optimal(curve, robot, velocity, acceleration, torque, **options)
        found = averaged(motion, most, float(options.get("dt", MAX_STEP)))
        if _keeps(planner, motion, found, options.get("frame_speed") or {}):
            return found
        peak = np.abs(motion.a).max(axis=0)
        acceleration = _SLOWER * np.maximum(peak, 0.01 * peak.max())
    raise InfeasiblePath("no motion within the jerk is free: plan with a margin, or allow a larger jerk")


def _limits(robot: Robot, jerk: ArrayLike) -> Array:
    most = float_array(jerk, "jerk is a number or one for each joint")
    if most.shape not in ((), (robot.nv,)) or not np.all(most > 0):
        raise InputError(f"jerk is above zero, a number or one for each joint ({robot.nv},); got {jerk!r}")
    return np.broadcast_to(most, (robot.nv,))


def averaged(motion: PathMotion, jerk: Array, dt: float = MAX_STEP) -> Trajectory:
    """A motion from rest to rest, averaged over the shortest window of time that keeps the jerk (nv)."""
    robot = motion.robot
    assert robot is not None
    steps = max(1, int(np.ceil(motion.duration / min(dt, MAX_STEP))))
    fine = motion.resample(np.linspace(0.0, motion.duration, steps + 1))
    h = motion.duration / steps
    n = _window(fine.a, jerk, h)
    q = np.concatenate([np.repeat(fine.q[:1], n, axis=0), fine.q, np.repeat(fine.q[-1:], n, axis=0)])
    v = np.pad(fine.v, ((n, n), (0, 0)))
    integral = np.zeros_like(q)  # of q from the beginning, exact for cubics
    integral[1:] = np.cumsum(h / 2 * (q[:-1] + q[1:]) + h**2 / 12 * (v[:-1] - v[1:]), axis=0)
    q_mean, v_mean, a_mean = ((x[n:] - x[:-n]) / (n * h) for x in (integral, q, v))
    q_mean[[0, -1]] = fine.q[[0, -1]]
    tau = torques(robot, q_mean, v_mean, a_mean, motion.friction)
    moved_by = MotionEquations(
        robot,
        {"tau": tau, "theta": robot.theta.values[None]},
        options={"friction": True} if motion.friction else {},
    )
    t = np.asarray(h * np.arange(len(q_mean)), dtype=np.float64)
    return Trajectory(t, q_mean, v_mean, tau, robot, motion=moved_by, known={"a": a_mean})


def _window(a: Array, jerk: Array, h: float) -> int:
    """Steps of the shortest window: the change of the acceleration over it, by its length, is the jerk."""
    longest = int(np.ceil(2 * float((np.abs(a).max(axis=0) / jerk).max()) / h)) + 1
    lengths: NDArray[np.int64] = np.unique(np.geomspace(1, longest, _MAX_WINDOWS).astype(int))
    for n in lengths[:-1]:
        padded = np.pad(a, ((n, n), (0, 0)))
        if np.all(np.abs(padded[n:] - padded[:-n]).max(axis=0) <= jerk * n * h):
            return int(n)
    return longest


def _keeps(planner: Planner, motion: PathMotion, found: Trajectory, speeds: dict[str, float]) -> bool:
    """Whether the average is free, and within torques, frame speeds and constraints."""
    q, v, h = found.q, found.v, float(found.t[1])
    low, high = motion.kept.torque
    slack = TOLERANCE * np.where(np.isfinite(high - low), (high - low) / 2, 0.0)
    if np.any((found.tau > high + slack) | (found.tau < low - slack)):
        return False
    for frame, most in speeds.items():
        J = np.asarray(planner.robot.jacobian(frame, "world_aligned")(q))[:, 3:]
        if np.linalg.norm((J @ v[:, :, None])[..., 0], axis=1).max() > (1 + TOLERANCE) * most:
            return False
    if planner.manifold is not None and planner.manifold.error(q).max() > planner.manifold.tolerance:
        return False
    b = np.stack([q[:-1], q[:-1] + h / 3 * v[:-1], q[1:] - h / 3 * v[1:], q[1:]], axis=1)
    return bool(planner.cubics_free(b).all())
