"""References of a plan: posture, velocity, heading and contact phases, from a measured state."""

from __future__ import annotations

from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.walking.gait import Gait
from helicoid.walking.regulation import Regulation
from helicoid.walking.stance import Stance

_MAX_HEADING_ERROR = 0.3  # rad, between the commanded heading and the measured one
_EVEN = 0.002  # m: deviation of the feet from a plane on even ground
_CLEARANCE_GAIN = 4.0  # of swing feet, over the mean deviation beyond it


class PlanReferences:
    """Numbers of the optimal control problem for each plan; the heading and offsets go on from plan to plan.

    Args:
        posture: nominal configuration.
        gait: sequence of stance phases.
        horizon: duration of a plan (s); `period` between two plans (s).
        step_height: of swing feet over even ground (m); at most twice as much over rough ground.
    """

    def __init__(self, posture: Array, gait: Gait, horizon: float, period: float, step_height: float) -> None:
        self._step_height = step_height
        self._posture, self._gait, self._horizon, self._period = posture, gait, horizon, period
        self._regulation = Regulation(float(posture[2]))
        self.reset()

    def reset(self) -> None:
        """Begin without offsets, with the heading as measured."""
        self._heading = np.nan
        self._regulation.reset()

    def numbers(
        self, q: Array, v: Array, times: tuple[float, float, float], velocity: Array, stance: Stance
    ) -> dict[str, Any]:
        """Numbers for `Controller.set`.

        Args:
            q, v: measured state, z from the loaded ground.
            times: of the measurement, of the first step, and of the last one (s).
            velocity: commanded, in the axes of the trunk.
            stance: with the ground.
        """
        gait, (time, begin, end) = self._gait, times
        yaw = float(np.arctan2(2 * (q[3] * q[6] + q[4] * q[5]), 1 - 2 * (q[5] ** 2 + q[6] ** 2)))
        if np.isnan(self._heading):
            self._heading = yaw
        self._heading += self._period * velocity[2] if time < end else 0.0
        error = (self._heading - yaw + np.pi) % (2 * np.pi) - np.pi
        self._heading = yaw + float(np.clip(error, -_MAX_HEADING_ERROR, _MAX_HEADING_ERROR))
        ahead = self._heading + 0.5 * self._horizon * velocity[2]
        walking = begin + gait.step * len(gait.stands) <= time < end
        self._regulation.update(velocity[:2] if walking else None, v[3:5], q[2] - stance.depth, self._period)
        c, s = np.cos(yaw), np.sin(yaw)
        travel = np.array([[c, -s], [s, c]]) @ velocity[:2]
        target = self._posture.copy()
        target[:2] = q[:2]
        target[2] += stance.depth + self._regulation.height
        target[2] += 0.5 * self._horizon * float(stance.slope @ travel)
        target[3:7] = np.cos(ahead / 2), 0.0, 0.0, np.sin(ahead / 2)
        phases, elapsed = gait.begun_phases(time, begin, end, self._horizon + gait.step)
        rough = _CLEARANCE_GAIN * max(stance.roughness - _EVEN, 0.0)
        return {
            "swing_height": self._step_height + min(rough, self._step_height),
            "posture": target,
            "velocity": [*(velocity[:2] + self._regulation.velocity), 0.0],
            "turn": float(velocity[2]),
            "phases": stance.placed(phases, elapsed, yaw, travel),
            "phase_time": elapsed,
        }
