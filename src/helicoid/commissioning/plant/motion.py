"""Motions of the plant under a control law, watched sample by sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.commissioning.plant.brake import brake
from helicoid.commissioning.plant.protocol import CheckedPlant
from helicoid.commissioning.plant.recording import Recording
from helicoid.commissioning.plant.watch import FreshnessMonitor, LimitMonitor
from helicoid.commissioning.plant.wiring import prepare
from helicoid.commissioning.status import CommissioningStatus, CommissioningStopped, MotionInterrupted
from helicoid.robot import Robot

_TOLD_EVERY = 500  # samples


def record(
    robot: Robot,
    plant: CheckedPlant,
    law: Any,
    motion: tuple[Array, Array, Array],
    dither: Array | None = None,
    tell: Callable[[float], None] = lambda done: None,
    bias: Array | None = None,
) -> Recording:
    """Move along q, v, a (N, n) under `law.step(q, v, q_ref, v_ref, a_ref)`, and record every sample.

    Torques stay within the effort limits. `bias` (nv) is added throughout: see `held_torque`.

    Raises:
        CommissioningStopped: the plant fails or a limit is reached; the robot was braked, and the
            exception has the recording until then.
        MotionInterrupted: at Ctrl-C, likewise.
    """
    Q, V, A = motion
    n, effort, limits = len(Q), robot.limits.effort, LimitMonitor(robot, Q[0])
    fresh = FreshnessMonitor(robot, plant.period)
    w = np.zeros((n, robot.nv)) if dither is None else dither
    extra = w if bias is None else w + bias
    measured: list[tuple[Array, Array, Array]] = []
    commands: list[Array] = []
    tau = np.zeros(robot.nv)

    def recording() -> Recording:
        m = len(commands)
        q, v, torque = (np.array([one[k] for one in measured[:m]]).reshape(m, robot.nv) for k in range(3))
        sent, times = np.array(commands).reshape(m, robot.nv), plant.period * np.arange(m, dtype=np.float64)
        return Recording(times, q, v, torque, sent, w[:m], Q[:m], V[:m])

    prepare(robot)
    law.step(Q[0], V[0], Q[0])  # nothing is compiled while the robot moves
    law.reset()
    try:
        plant.release()
        for k in range(n):
            sample, t = plant.measure(), k * plant.period
            fresh.check(t, sample, tau)
            limits.check(t, sample.q, sample.v, Q[k], V[k])
            tau = np.clip(law.step(sample.q, sample.v, Q[k], V[k], A[k]) + extra[k], -effort, effort)
            if not np.all(np.isfinite(tau)):
                raise CommissioningStopped(
                    CommissioningStatus.DOUBTFUL_CONTROLLER, f"torque not finite: {law.message}"
                )
            plant.apply(tau)
            measured.append((sample.q, sample.v, sample.tau))
            commands.append(tau)
            if k % _TOLD_EVERY == 0:
                tell(k / n)
    except CommissioningStopped as stopped:
        until = recording()
        braked = brake(robot, law, plant, until, not fresh.stale)
        raise CommissioningStopped(stopped.status, str(stopped), until, braked, braked.place) from stopped
    except KeyboardInterrupt as interrupt:
        until, place = recording(), "the brake was interrupted as well"
        try:
            place = brake(robot, law, plant, until).place
        finally:
            raise MotionInterrupted(until, place) from interrupt
    except BaseException:
        brake(robot, law, plant, recording())
        raise
    plant.hold()
    return recording()
