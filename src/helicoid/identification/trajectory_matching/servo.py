"""Servos that move the joints: torque from commands, positions and velocities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import float_array
from helicoid.errors import InputError
from helicoid.robot import Robot


@dataclass(frozen=True)
class Servo:
    """Joint servos τ = kp (q_command - q) + kd (v_command - v) + tau_command, limited.

    Args:
        kp: gain of each joint (N·m/rad, N/m), one number or nv; None: to be identified.
        kd: gain of each joint (N·m·s/rad, N·s/m), one number or nv; None: to be identified.
        period: of a servo that samples q and v and holds its torque (s); None: its loop runs much faster than
            the log is sampled.
        limit: largest torque (N·m, N), one number or nv; None: the robot's effort limits, `np.inf`: none.

    >>> import helicoid as hc
    >>> hc.Servo(kp=80.0, kd=2.0, period=0.002)
    Servo(kp=80.0, kd=2.0, period=0.002, limit=None)
    """

    kp: ArrayLike | None = None
    kd: ArrayLike | None = None
    period: float | None = None
    limit: ArrayLike | None = None

    def __post_init__(self) -> None:
        for name in ("kp", "kd", "limit"):
            given = getattr(self, name)
            if given is not None:
                values = float_array(given, f"servo: {name} is not a number or one a joint")
                if values.ndim > 1 or np.isnan(values).any() or np.any(values < 0):
                    raise InputError(f"servo: {name} is 0 or more, one number or one a joint; got {given!r}")
        if self.period is not None and not (np.isfinite(self.period) and self.period > 0):
            raise InputError(f"servo: period is a time above 0 (s) or None; got {self.period!r}")

    def gain(self, name: str, nv: int) -> Array | None:
        """kp or kd of every joint, or None where it is unknown."""
        given = getattr(self, name)
        return None if given is None else _of_joints(given, nv, f"servo: {name}")

    def limits(self, robot: Robot) -> Array:
        """The largest torque of every joint; infinite where there is none."""
        if self.limit is not None:
            return _of_joints(self.limit, robot.nv, "servo: limit")
        effort = robot.limits.effort
        return np.where(np.isfinite(effort) & (effort > 0), effort, np.inf)


def _of_joints(given: ArrayLike, nv: int, what: str) -> Array:
    values = np.asarray(given, dtype=np.float64)
    if values.shape not in ((), (1,), (nv,)):
        raise InputError(f"{what} needs one number or {nv}, one a joint; got {values.size}")
    return np.array(np.broadcast_to(values, (nv,)))
