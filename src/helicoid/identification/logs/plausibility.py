"""Plausibility of a log for a robot: shapes, units and motion, reported by column and sample."""

from __future__ import annotations

import re

import numpy as np

from helicoid.errors import InputError, warn
from helicoid.identification.logs.columns import KINDS
from helicoid.identification.logs.log import DoubtfulLogWarning, Log
from helicoid.robot import Robot, as_robot

_DEGREES = 180.0 / np.pi
_MIN_RANGE = 0.02  # rad or m: a joint that covers less is not excited
_MAX_TORQUE_RATIO = 30.0  # to the largest described torque: friction does not explain more
_MAX_SAMPLES = 200


def check(robot: Robot, log: Log, moving: bool = True) -> None:
    """Raise InputError for a log that cannot be of this robot; warn of implausible columns.

    With `moving`, a log from which nothing can be identified because nothing moves is refused too.
    """
    as_robot(robot, "identification")
    if not isinstance(log, Log):
        raise InputError(
            "a log is made by hc.Log.from_csv(path), from_npz, from_bag or from_arrays(t, q, v, tau=tau); "
            f"got {log!r}"
        )
    _check_shapes(robot, log)
    _check_order(robot, log)
    _check_positions(robot, log)
    if log.v is not None:
        _check_velocities(robot, log)
    if log.tau is not None:
        _check_torques(robot, log)
    if moving:
        _check_motion(robot, log)


def _check_shapes(robot: Robot, log: Log) -> None:
    sizes = {kind: robot.nv for kind in KINDS} | {"q": robot.nq}
    for kind, size in sizes.items():
        values = getattr(log, kind)
        if values is not None and values.shape[1] != size:
            raise InputError(
                f"{log.source}: {kind} has {values.shape[1]} columns, robot {robot.name!r} needs {size} "
                f"(joints: {', '.join(robot.joint_names)})"
            )


def _check_order(robot: Robot, log: Log) -> None:
    """Columns that are called after the robot's joints must be in their order."""
    joints = [body.joint.name for body in robot.model.bodies if body.joint.mimic is None]
    if robot.nq != len(joints):
        return
    for kind, names in log.columns.items():
        if kind not in KINDS or len(names) != len(joints):
            continue
        called = [
            [joint for joint in joints if re.search(rf"(^|[_./]){re.escape(joint)}$", n)] for n in names
        ]
        of = [max(found, key=len) if found else "" for found in called]
        if sorted(of) == sorted(joints) and of != joints:
            right = [names[of.index(joint)] for joint in joints]
            raise InputError(
                f"{log.source}: the columns of {kind} are in another order than the joints of robot "
                f"{robot.name!r}: read it with columns={{{kind!r}: {right}}}"
            )


def _check_positions(robot: Robot, log: Log) -> None:
    lower, upper = robot.limits.lower, robot.limits.upper
    for k in _single(robot)[0]:
        q, low, high = log.q[:, k], lower[k], upper[k]
        span = high - low if np.isfinite(high - low) else 4 * np.pi
        low, high = (low, high) if np.isfinite(high - low) else (-4 * np.pi, 4 * np.pi)
        outside = np.maximum(low - q, q - high)
        sample = int(np.argmax(outside))
        if outside[sample] > max(2.0 * span, 20.0) and np.max(np.abs(q)) < 1.5 * _DEGREES * max(-low, high):
            raise InputError(
                f"{log.source}: column {log.column('q', k)!r} is {q[sample]:g} at sample {sample}, beyond "
                f"[{low:.3g}, {high:.3g}] rad: is it in degrees? Multiply it by pi/180"
            )
        if outside[sample] > 0.1 * span:
            _warn(
                f"{log.source}: column {log.column('q', k)!r} is {q[sample]:.4g} at sample {sample}, outside "
                f"the joint's range [{low:.3g}, {high:.3g}]: is it the right joint, zero and unit?"
            )


def _check_velocities(robot: Robot, log: Log) -> None:
    """Compare v with the derivative of q: a regression slope other than 1 means a wrong unit."""
    assert log.v is not None
    for kq, kv in zip(*_single(robot), strict=True):
        slope_q = np.gradient(log.q[:, kq], log.t)
        v = log.v[:, kv]
        both = float(slope_q @ slope_q)
        fit = float(slope_q @ v) / both if both > 0 else 1.0
        related = float(slope_q @ v) ** 2 > 0.5 * both * float(v @ v)
        sample = int(np.argmax(np.abs(v)))
        where = f"{log.source}: column {log.column('v', kv)!r} (sample {sample} reads {v[sample]:.4g})"
        if related and not 0.1 < abs(fit) < 10:
            guess = " (degrees per second?)" if abs(np.log(abs(fit) / _DEGREES)) < 0.2 else ""
            raise InputError(
                f"{where} is {fit:.3g} times the derivative of {log.column('q', kq)!r}{guess}: both need the "
                "same unit, rad and rad/s (m and m/s)"
            )
        if related and (fit < 0 or not 0.7 < fit < 1.4):
            _warn(f"{where} is {fit:.3g} times the derivative of {log.column('q', kq)!r}; expected 1")


def _check_torques(robot: Robot, log: Log) -> None:
    assert log.tau is not None
    effort = robot.limits.effort
    for k in range(robot.nv):
        tau = np.abs(log.tau[:, k])
        sample = int(np.argmax(tau))
        if np.isfinite(effort[k]) and effort[k] > 0 and np.median(tau) > 10 * effort[k]:
            raise InputError(
                f"{log.source}: column {log.column('tau', k)!r} reads {log.tau[sample, k]:g} at sample "
                f"{sample}, and mostly more than ten times the effort limit of {effort[k]:g}: is it in mN·m? "
                "Divide it by 1000"
            )
    _check_unlimited_torques(robot, log)


def _check_unlimited_torques(robot: Robot, log: Log) -> None:
    """Compare torques without effort limits with the largest inverse-dynamics torques of a similar motion."""
    assert log.tau is not None
    effort = robot.limits.effort
    unlimited = [k for k in range(robot.nv) if not (np.isfinite(effort[k]) and effort[k] > 0)]
    if not unlimited or (log.v is None and robot.nq != robot.nv):
        return
    some = slice(None, None, max(1, len(log) // _MAX_SAMPLES))
    v = np.gradient(log.q, log.t, axis=0) if log.v is None else np.asarray(log.v)
    a = np.gradient(v, log.t, axis=0)
    described = robot.regressor(log.q[some], v[some], a[some]) @ robot.parameters.values
    largest = float(np.sqrt(np.mean(described**2, axis=0)).max())
    for k in unlimited:
        sample = int(np.argmax(np.abs(log.tau[:, k])))
        if 0 < _MAX_TORQUE_RATIO * largest < np.median(np.abs(log.tau[:, k])):
            _warn(
                f"{log.source}: column {log.column('tau', k)!r} reads {log.tau[sample, k]:g} at sample "
                f"{sample}, and mostly more than {_MAX_TORQUE_RATIO:g} times the {largest:.3g} that any "
                "joint of the description needs: is it in mN·m? Then divide it by 1000"
            )


def _check_motion(robot: Robot, log: Log) -> None:
    joints = robot.model.velocity_names
    columns, velocities = _single(robot)
    still = [
        (kq, kv) for kq, kv in zip(columns, velocities, strict=True) if np.ptp(log.q[:, kq]) < _MIN_RANGE
    ]
    if columns and len(still) == len(columns):
        kq = max(columns, key=lambda k: np.ptp(log.q[:, k]))
        raise InputError(
            f"{log.source}: no joint moves more than {np.ptp(log.q[:, kq]):.2g} (column "
            f"{log.column('q', kq)!r}): there is nothing to identify from"
        )
    for kq, kv in still:
        _warn(
            f"{log.source}: column {log.column('q', kq)!r} moves by {np.ptp(log.q[:, kq]):.2g} only: "
            f"friction and inertia about joint {joints[kv]!r} are unidentifiable"
        )


def _single(robot: Robot) -> tuple[list[int], list[int]]:
    """Indices in q and in v of the joints with one coordinate."""
    bodies = [b for b in robot.model.bodies if b.joint.mimic is None and b.joint.type.nq == 1]
    return [body.q.start for body in bodies], [body.v.start for body in bodies]


def _warn(text: str) -> None:
    warn(DoubtfulLogWarning(text))
