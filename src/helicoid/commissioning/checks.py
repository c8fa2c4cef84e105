"""Checks of arguments, of the robot, of recordings and of controllers; likely causes of a stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.commissioning.controllers import CommissionedControllers
from helicoid.commissioning.recording import Recording, deviation_limit
from helicoid.commissioning.status import CommissioningStatus, CommissioningStopped
from helicoid.errors import InputError
from helicoid.robot import Robot

BoolArray = NDArray[np.bool_]

_MIN_SHARE_MOVED = 0.3  # of the reference's range
_TRIED_SAMPLES = 40  # at which each controller is stepped
_LAST_SAMPLES = 50  # before a stop
_MIN_SLIP_VELOCITY = 0.3  # of the velocity limit
_MAX_WEAK_TORQUE = 0.6  # of the effort limit

_MIN_SAMPLES = 12
_MAX_SAMPLES = 400  # before the stop
_LAGS = 31  # samples, of the response to a torque
_MIN_EXPLAINED = 0.7  # share of the acceleration that a cause explains
_MAX_AS_DESCRIBED = 0.5  # of that share, explained by the robot as described
_MAX_RATIO = 4.0  # of accelerations to those of the description
_CONSISTENT = 0.5  # of the change of a position, that its velocity explains
_LONG = 0.03  # s: a delay worth a sentence


def check_arguments(speed: float, max_frequency: float, mpc_period: float, duration: float) -> None:
    """Refuse settings that make no sense."""
    for name, value, least, most in (
        ("speed", speed, 0.0, 0.8),
        ("max_frequency", max_frequency, 0.0, 1000.0),
        ("mpc_period", mpc_period, 0.0, 0.1),
        ("duration", duration, 0.0, 120.0),
    ):
        if not isinstance(value, Real) or isinstance(value, bool) or not least < float(value) <= most:
            raise InputError(f"{name} is above {least:g} and at most {most:g}; got {value!r}")


def check_robot(robot: Robot) -> None:
    """Stop where joints have no limits, or no motors.

    Raises:
        CommissioningStopped: it names the joint.
    """
    names, limits, problem = robot.model.velocity_names, robot.limits, ""
    for joint in robot.model.independent_joints:
        if joint.type.nq != joint.type.nv or joint.parent == "":
            problem = f"joint {joint.name!r} is {joint.type.kind}: commissioning is of arms on a fixed base"
    if not problem and (not robot.nv or len(robot.actuated or names) < robot.nv):
        problem = "every joint needs a motor, and there must be one"
    for what, values in (("velocity", limits.velocity), ("effort", limits.effort)):
        bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
        if len(bad) and not problem:
            problem = f"joint {names[int(bad[0])]!r} has no {what} limit"
    if problem:
        raise CommissioningStopped(CommissioningStatus.UNSUITABLE_ROBOT, problem)


def stuck_joints(recording: Recording) -> BoolArray:
    """Joints (nv) that moved by less than a third of what was commanded."""
    moved, wanted = (np.ptp(x, axis=0) for x in (recording.q, recording.q_ref))
    return np.asarray((moved < _MIN_SHARE_MOVED * wanted) & (wanted > 0))


def check_moved(robot: Robot, recording: Recording) -> None:
    """Stop where a joint did not follow its reference, or reports torques against its commands.

    Raises:
        CommissioningStopped: it names the joint.
    """
    against = np.flatnonzero(np.sum(recording.tau * recording.command, axis=0) < 0)  # NaN: not measured
    if len(against):
        raise CommissioningStopped(
            CommissioningStatus.BAD_MEASUREMENT,
            f"{robot.model.velocity_names[int(against[0])]!r} reports torques against its commands",
            recording,
        )
    stuck = np.flatnonzero(stuck_joints(recording))
    if len(stuck):
        k = int(stuck[0])
        moved, wanted = (float(np.ptp(x[:, k])) for x in (recording.q, recording.q_ref))
        raise CommissioningStopped(
            CommissioningStatus.NO_MOTION,
            f"{robot.model.velocity_names[k]!r} moved {moved:.3g} where {wanted:.3g} was commanded, with "
            f"up to {np.abs(recording.command[:, k]).max():.3g} of {robot.limits.effort[k]:.3g} of torque",
            recording,
        )


def lagging_joints(robot: Robot, recording: Recording | None) -> BoolArray:
    """Joints (nv) that stuck, slipped or fell behind their reference, without oscillation or much torque.

    Their torque was too low: friction, rotors or loads are larger than assumed.
    """
    if recording is None or len(recording) < _LAST_SAMPLES:
        return np.zeros(robot.nv, dtype=bool)
    part = slice(-_LAST_SAMPLES, None)
    error = recording.error()[part]
    one_sided = np.all(error > 0, axis=0) | np.all(error < 0, axis=0)
    weak = np.abs(recording.command[part]).max(axis=0) < _MAX_WEAK_TORQUE * robot.limits.effort
    excess = (recording.v - recording.v_ref)[part]
    slips = np.abs(excess).max(axis=0) > _MIN_SLIP_VELOCITY * robot.limits.velocity
    slipping = slips & (np.abs(excess.mean(axis=0)) > 0.3 * np.abs(excess).max(axis=0))
    behind = (one_sided & (np.abs(error).max(axis=0) > deviation_limit(robot) / 3)) | slipping
    return np.asarray((behind | stuck_joints(recording)) & weak)


def check_controllers(controllers: CommissionedControllers, recording: Recording) -> None:
    """Step every controller along the recorded states: each must be ok there.

    Raises:
        CommissioningStopped: one is not.
    """
    chosen = np.linspace(0, len(recording) - 1, _TRIED_SAMPLES).astype(int)
    robot = controllers.computed_torque.robot
    torque, soft = controllers.computed_torque, controllers.joint_impedance
    tool, mpc = controllers.task_space, controllers.mpc

    def at_target(q: Array, v: Array) -> Array:
        mpc.reset()
        mpc.set(posture=q)
        return mpc.step(q, v)

    tried: list[tuple[str, Any, Callable[[Array, Array], Array]]] = [
        ("computed torque", torque, lambda q, v: torque.step(q, v, q)),
        ("joint impedance", soft, lambda q, v: soft.step(q, v, q)),
        ("MPC", mpc, at_target),
    ]
    if tool is not None:
        pose = robot.pose(controllers.frame)
        tried.append(("task-space law", tool, lambda q, v: tool.step(q, v, pose(q), q_posture=q)))
    for name, owner, step in tried:
        for k in chosen:
            tau = step(recording.q[k], recording.v[k])
            if not np.all(np.isfinite(tau)) or (not owner.ok and owner.status != "saturated"):
                raise CommissioningStopped(
                    CommissioningStatus.DOUBTFUL_CONTROLLER,
                    f"{name} at a recorded state: {owner.status}, {owner.message}",
                )
        owner.reset()


def likely_cause(robot: Robot, recording: Recording) -> str:
    """Sentence on the error of wiring or units that explains the motion until a stop; empty where none does.

    Accelerations by the description are compared with the measured ones, joint by joint up to a factor, since
    rotors and friction are not known: as described, and with a sign changed or two joints exchanged, of the
    commands or of the encoders.
    """
    part = slice(-_MAX_SAMPLES, None)
    q, v, tau = recording.q[part], recording.v[part], recording.command[part]
    if len(q) < _MIN_SAMPLES or robot.nq != robot.nv:
        return ""
    names, period = robot.model.velocity_names, float(np.median(np.diff(recording.t)))
    if text := _inconsistent(names, q, v, period):
        return text
    dv = np.diff(v, axis=0) / period
    described = _explained(dv, robot.forward_dynamics(q, v, tau)[:-1])
    best, cause = described, ""
    for text, on_q, on_tau in _causes(names):
        a = robot.forward_dynamics(q @ on_q, v @ on_q, tau @ on_tau) @ on_q.T
        found = _explained(dv, a[:-1])
        if found[0] > best[0]:
            best, cause = found, text
    share, lag, ratio = best
    if share < _MIN_EXPLAINED:
        return ""
    if cause:
        if described[0] > _MAX_AS_DESCRIBED * share:
            return ""
        return (
            f"{cause}: {100 * share:.0f} % of the acceleration is explained so, "
            f"{100 * described[0]:.0f} % as described"
        )
    if lag * period > _LONG:
        return f"torques act about {1e3 * lag * period:.0f} ms late"
    k = int(np.argmax(np.abs(np.log(ratio))))
    if max(ratio[k], 1 / ratio[k]) > _MAX_RATIO:
        return (
            f"{names[k]!r} accelerates by {100 * ratio[k]:.2g} % of what its torques "
            "should cause: another unit or gear, a weak drive, or a large rotor"
        )
    return ""


def _inconsistent(names: tuple[str, ...], q: Array, v: Array, period: float) -> str:
    """Sentence on a joint whose velocity is not the derivative of its position."""
    moved = np.diff(q, axis=0)
    left = np.sum((moved - period * (v[1:] + v[:-1]) / 2) ** 2, axis=0)
    share = left / (np.sum(moved**2, axis=0) + 1e-12)
    k = int(np.argmax(share * (np.ptp(q, axis=0) > 1e-3)))
    if np.ptp(q[:, k]) <= 1e-3 or share[k] < _CONSISTENT:
        return ""
    return f"the velocity of {names[k]!r} is not the derivative of its position: another sign, joint or unit"


def _causes(names: tuple[str, ...]) -> Iterator[tuple[str, Array, Array]]:
    """Sentences, and what turns measured q, v and commands into the true ones: involutions (n, n)."""
    n = len(names)
    same = np.eye(n)
    for k, name in enumerate(names):
        flip = np.diag(np.where(np.arange(n) == k, -1.0, 1.0))
        yield f"torques of {name!r} act in the other direction", same, flip
        yield f"the encoder of {name!r} counts in the other direction", flip, same
        yield f"{name!r} turns in the other direction than described", flip, flip
    for i, j in combinations(range(n), 2):
        order = np.arange(n)
        order[[i, j]] = j, i
        swap = same[order]
        pair = f"{names[i]!r} and {names[j]!r}"
        yield f"commands of {pair} are exchanged", same, swap
        yield f"encoders of {pair} are exchanged", swap, same
        yield f"joints {pair} are exchanged", swap, swap


def _explained(dv: Array, a: Array) -> tuple[float, int, Array]:
    """Share of accelerations (N, n) that others explain up to factors, at the best lag; lag and factors."""
    best = (-1.0, 0, np.ones(dv.shape[1]))
    for lag in range(min(_LAGS, len(dv) // 2)):
        y, x = dv[lag:], a[: len(a) - lag]
        y, x = y - y.mean(axis=0), x - x.mean(axis=0)
        yy, xx, xy = (np.sum(one, axis=0) + 1e-12 for one in (y * y, x * x, x * y))
        share = float(np.mean(np.clip(xy, 0, None) ** 2 / (xx * yy)))
        if share > best[0]:
            best = share, lag, np.maximum(xy / xx, 1e-6)
    return best
