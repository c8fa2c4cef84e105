"""The way back to the start of a motion that broke off."""

from __future__ import annotations

from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.commissioning.plant.motion import record
from helicoid.commissioning.plant.protocol import CheckedPlant
from helicoid.commissioning.plant.recording import Recording, deviation_limit
from helicoid.commissioning.status import CommissioningStopped
from helicoid.identification.excitation.excitation import Excitation
from helicoid.robot import Robot

MAX_SPEED = 3.0  # rad/s, m/s: of descriptions that state absurd velocity limits
BROUGHT_BACK = "the arm was brought back to its start"
NOT_BROUGHT_BACK = "the arm could not be brought back to its start: {}"

_SPEED = 0.1  # of the velocity limits
_ACCELERATION = 0.5  # 1/s, of the velocity limits
_SETTLING = 1.0  # s at rest, at the end
_SHARE_OF_DEVIATION = 1 / 3  # of the largest tolerated tracking error, that may be left at the start


def bring_back(
    robot: Robot, plant: CheckedPlant, motion: Excitation, law: Any, stopped: CommissioningStopped
) -> str:
    """Move back to the start of a motion after a stop; a sentence on where the arm is then.

    It does not move where an error of wiring is likely, or where the brake did not bring it to rest.
    """
    braked = stopped.braked
    if braked is None or not braked.may_move or not len(stopped.recording):
        return stopped.place
    along = min(len(stopped.recording) * plant.period, motion.series.duration)
    try:
        rows, _ = way_back(robot, motion, along, plant.measure().q, plant.period)
        recording = record(robot, plant, law, rows, bias=braked.held)
    except CommissioningStopped as again:
        return NOT_BROUGHT_BACK.format(again)
    off = off_start(robot, motion, recording)
    return NOT_BROUGHT_BACK.format(off) if off else BROUGHT_BACK


def off_start(robot: Robot, motion: Excitation, recording: Recording) -> str:
    """Sentence on the joint that did not come back to the start of a motion; empty where all did."""
    error = np.abs(recording.q[-1] - motion.q[0])
    k = int(np.argmax(error / deviation_limit(robot)))
    if error[k] <= _SHARE_OF_DEVIATION * deviation_limit(robot)[k]:
        return ""
    return f"{robot.model.velocity_names[k]!r} is {error[k]:.3g} off where it came to rest"


def way_back(
    robot: Robot, motion: Excitation, along: float, here: Array, period: float
) -> tuple[tuple[Array, Array, Array], Array]:
    """q, v, a (N, n) from rest at `here` to rest at the start of a motion, and times (N,) along the motion.

    From `along` seconds after its beginning the motion is run backwards, while the distance of `here` from
    it fades out: where the arm has been, the way is clear.
    """
    q_there = motion.at(along)[0][0]

    def at(x: Array, T: float) -> tuple[Array, Array, Array, Array]:
        """Along x = t / T, with 1 - h of the way left, h = 10 x³ - 15 x⁴ + 6 x⁵."""
        left = (1 - x**3 * (10 - 15 * x + 6 * x**2))[:, None]
        rate = (-30 * x**2 * (1 - x) ** 2 / T)[:, None]
        change = (-60 * x * (1 - x) * (1 - 2 * x) / T**2)[:, None]
        p, dp, ddp = motion.at(along * left[:, 0])
        offset = here - q_there
        q = p + left * offset
        v = (along * dp + offset) * rate
        a = along**2 * ddp * rate**2 + (along * dp + offset) * change
        return q, v, a, along * left[:, 0]

    limit = np.minimum(robot.limits.velocity, MAX_SPEED)
    _, v, a, _ = at(np.linspace(0.0, 1.0, 1001), 1.0)
    fastest = float((np.abs(v) / limit).max()) / _SPEED
    T = max(fastest, float(np.sqrt((np.abs(a) / limit).max() / _ACCELERATION)), 0.5)
    n = round((T + _SETTLING) / period)
    q, v, a, left = at(np.minimum(period * np.arange(n) / T, 1.0), T)
    return (q, v, a), left
