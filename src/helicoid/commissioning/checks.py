"""Checks of arguments, of the robot, of recordings and of controllers."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.commissioning.controllers import CommissionedControllers
from helicoid.commissioning.plant.recording import Recording, deviation_limit
from helicoid.commissioning.status import CommissioningStatus, CommissioningStopped
from helicoid.errors import InputError
from helicoid.robot import Robot

BoolArray = NDArray[np.bool_]

_MIN_SHARE_MOVED = 0.3  # of the reference's range
_TRIED_SAMPLES = 40  # at which each controller is stepped
_LAST_SAMPLES = 50  # before a stop
_MIN_SLIP_VELOCITY = 0.3  # of the velocity limit
_AVERAGED = 0.1  # s, over which torques, and motions, are compared
_MIN_COMMANDED = 0.01  # of the effort limit, on average: less is not compared
_MIN_MOVED = 2e-3  # rad, m, in that time
_MAX_TORQUE_RATIO, _MAX_USUAL_TORQUE_RATIO, _MAX_MOVED_RATIO = 1.5, 1.1, 1.15
_MAX_WEAK_TORQUE = 0.6  # of the effort limit


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


def check_measured(robot: Robot, recording: Recording) -> list[str]:
    """Stop where torques are not those commanded, or velocities not the derivatives of the positions.

    The result has a sentence on each joint whose torques are nearly those commanded.

    Raises:
        CommissioningStopped: it names the joint.
    """
    names, tau, command = robot.model.velocity_names, recording.tau, recording.command
    m = max(round(_AVERAGED / recording.period), 1)
    problem = ""
    torque = _ratio(_sums(tau, m), _sums(command, m), m * _MIN_COMMANDED * robot.limits.effort)
    v = (recording.v[1:] + recording.v[:-1]) / 2 * recording.period
    moved = _ratio(_sums(np.diff(recording.q, axis=0), m), _sums(v, m), _MIN_MOVED)
    against = np.flatnonzero(torque < 0)  # on average: samples of random torques may be reported late
    apart = np.abs(np.log(np.clip(torque, 1e-3, 1e3)))
    wrong = np.abs(np.log(np.clip(moved, 1e-3, 1e3)))
    if len(against):
        problem = f"{names[int(against[0])]!r} reports torques against its commands"
    elif apart.max() > np.log(_MAX_TORQUE_RATIO):
        k = int(np.argmax(apart))
        problem = f"{names[k]!r} reports {torque[k]:.2g} times the torque of its commands: another unit"
    elif wrong.max() > np.log(_MAX_MOVED_RATIO):
        k, together = int(np.argmax(wrong)), float(np.median(moved))
        if np.abs(np.log(moved / together)).max() < np.log(_MAX_MOVED_RATIO):
            ms = 1e3 * recording.period
            problem = (
                f"the joints move {together:.2g} times as far as their velocities say: the time between "
                f"samples is likely {together * ms:.3g} ms, not {ms:.3g} ms"
            )
        else:
            problem = f"{names[k]!r} moves {moved[k]:.2g} times as far as its velocity says: another unit"
    if problem:
        raise CommissioningStopped(CommissioningStatus.BAD_MEASUREMENT, problem, recording)
    return [
        f"{names[k]!r} reports {torque[k]:.2f} times the torque of its commands: the model is in its unit"
        for k in np.flatnonzero(apart > np.log(_MAX_USUAL_TORQUE_RATIO))
    ]


def _sums(x: Array, m: int) -> Array:
    """Sums of m samples each, (N - m, n)."""
    total = np.cumsum(np.vstack([np.zeros(x.shape[1]), x]), axis=0)
    return np.asarray(total[m:] - total[:-m])


def _ratio(y: Array, x: Array, least: Array | float) -> Array:
    """Slope of y over x by column; 1 where x is small, or y is not known."""
    size = np.mean(x**2, axis=0)
    slope = np.mean(x * y, axis=0) / np.maximum(size, 1e-300)
    return np.asarray(np.where(np.isfinite(slope) & (np.sqrt(size) > least), slope, 1.0))


def check_moved(robot: Robot, recording: Recording) -> None:
    """Stop where a joint did not follow its reference.

    Raises:
        CommissioningStopped: it names the joint.
    """
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
