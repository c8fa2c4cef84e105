"""Braking: come to rest where the robot is, also where wiring is wrong or the loop late."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.commissioning.margins import integral_gain
from helicoid.commissioning.plant.protocol import CheckedPlant
from helicoid.commissioning.plant.recording import HELD_TIME, Recording, held_torque
from helicoid.commissioning.plant.wiring import WiringError, likely_error
from helicoid.commissioning.status import CommissioningStopped
from helicoid.robot import Robot

_DURATIONS = 0.5, 2.0  # s: of holding after a stop, at least, and at most until it is at rest
_REST_VELOCITY = 0.02  # of the velocity limit
_GROWTH, _MIN_GROWTH = 1.2, 0.15  # of the largest speed over its limit: beyond it the brake accelerates
_MAX_FREQUENCY_BY_LAG = 0.15  # ω times the delay: a phase margin of about 55°
_DURATION_BY_LAG = 10  # more time for a slower law
_ATTEMPTS = 3


@dataclass(frozen=True, eq=False)
class Braked:
    """How a brake ended: the torque that holds the robot beside the law's model, rest, and wiring assumed."""

    held: Array
    at_rest: bool
    error: WiringError | None
    measured: bool

    @property
    def may_move(self) -> bool:
        """Whether the arm may move again: it is at rest, and its wiring is not in doubt."""
        return self.at_rest and (self.error is None or not self.error.corrects)

    @property
    def place(self) -> str:
        """Sentence on where the arm is."""
        if self.at_rest:
            return "the arm was left where it came to rest"
        if not self.measured:
            return "whether the arm came to rest was not measured"
        return "the brake did not bring the arm to rest"


def brake(robot: Robot, law: Any, plant: CheckedPlant, until: Recording, measured: bool = True) -> Braked:
    """Come to rest within the limits, as far as the plant still answers, and hold.

    The law holds the position where the robot is, with the load that it held before. A brake that makes the
    robot faster is given up. Then the error of wiring that explains the motion until then is corrected for in
    measurements and commands, and where torques act late, the law is slower. At last only gravity is
    compensated.

    Args:
        robot: as described, by which errors of wiring are found.
        law: by which the robot moved.
        plant: the plant.
        until: the recording until the stop.
        measured: whether samples can be believed; else gravity is compensated at the last position.
    """
    error: WiringError | None = None
    loop = _Brake(law, plant, held_torque(law.robot, until), until)
    try:
        with suppress(CommissioningStopped):
            for _ in range(_ATTEMPTS if measured else 0):
                loop.slow_down(error)
                if loop.run(error):
                    break
                found = likely_error(robot, _joined(until, loop.recording()), doubted=True)
                if found is None or not found.corrects or (error is not None and found.text == error.text):
                    break
                error = found
        if not loop.at_rest:
            with suppress(CommissioningStopped):
                loop.coast(error)
    finally:  # at a second interrupt too
        with suppress(CommissioningStopped):
            plant.hold()
    return Braked(loop.held_at_end(), loop.at_rest, error, loop.measured)


class _Brake:
    """One brake: its samples so far, in the plant's own signs and order."""

    def __init__(self, law: Any, plant: CheckedPlant, held: Array, until: Recording) -> None:
        self.law, self.plant, self.held, self.at_rest = law, plant, held, False
        self._last, self.measured = until.q[-1:], False
        self._samples: list[tuple[Array, Array, Array]] = []

    def slow_down(self, error: WiringError | None) -> None:
        """Lower the law's frequency where torques act late."""
        if error is not None and error.lag:
            frequency = min(float(self.law.number("frequency").max()), _MAX_FREQUENCY_BY_LAG / error.lag)
            self.law.set(frequency=frequency, integral=integral_gain(frequency))

    def run(self, error: WiringError | None) -> bool:
        """Hold the place; False as soon as the robot gets faster, or where it keeps moving.

        Raises:
            CommissioningStopped: the plant fails.
        """
        law, limits, same = self.law, self.law.robot.limits, np.eye(self.law.robot.nv)
        on_q, on_tau = (same, same) if error is None else (error.on_q, error.on_tau)
        least, most = (round(one / self.plant.period) for one in _DURATIONS)
        late = 0 if error is None else round(error.lag / self.plant.period)
        most += _DURATION_BY_LAG * late
        lately = max(round(HELD_TIME / self.plant.period), 1)
        law.reset()
        here, allowed, first, speed = np.zeros(0), np.inf, 0.0, 0.0
        for k in range(most):
            self.measured = False
            sample = self.plant.measure()
            self.measured = True
            q, v = on_q @ sample.q, on_q @ sample.v
            speed = float(np.max(np.abs(v) / limits.velocity))
            if not k:
                here = np.clip(q, limits.lower, limits.upper)
                first = speed
                more = _MIN_GROWTH if error is None else 2 * _MIN_GROWTH  # corrected masses are further off
                allowed = max(_GROWTH * speed, speed + more)
            if k > late and speed > allowed:
                return False
            tau = on_tau @ (law.step(q, v, here) + self.held)
            tau = np.clip(tau, -limits.effort, limits.effort)
            self.plant.apply(tau)
            self._samples.append((sample.q, sample.v, tau))
            if k + 1 >= least:
                slow = np.abs([one[1] for one in self._samples[-lately:]]) < _REST_VELOCITY * limits.velocity
                self.at_rest = bool(np.all(slow))
                if self.at_rest:
                    return True
        return speed < first / 2

    def coast(self, error: WiringError | None) -> None:
        """Command gravity alone at the last position, without feedback.

        Raises:
            CommissioningStopped: the plant fails.
        """
        robot, zero = self.law.robot, np.zeros(self.law.robot.nv)
        for at in [one[0] for one in self._samples[-1:]] or self._last:
            q = at if error is None else error.on_q @ at
            tau = robot.inverse_dynamics(q, zero, zero)
            tau = tau if error is None else error.on_tau @ tau
            self.plant.apply(np.clip(tau, -robot.limits.effort, robot.limits.effort))

    def recording(self) -> Recording:
        """The samples as a recording."""
        q, v, tau = (np.array(x).reshape(-1, self.law.robot.nv) for x in zip(*self._samples, strict=True))
        zero, t = np.zeros_like(q), self.plant.period * np.arange(len(q), dtype=np.float64)
        return Recording(t, q, v, tau, tau, zero, zero, zero)

    def held_at_end(self) -> Array:
        """Torque beside the law's model at the end."""
        return held_torque(self.law.robot, self.recording()) if self._samples else self.held


def _joined(first: Recording, then: Recording) -> Recording:
    parts = {
        one.name: np.concatenate([getattr(first, one.name), getattr(then, one.name)])
        for one in fields(Recording)
    }
    period = min(first.period, then.period)
    return Recording(**parts | {"t": period * np.arange(len(first) + len(then), dtype=np.float64)})
