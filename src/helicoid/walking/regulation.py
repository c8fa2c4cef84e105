"""Integral action on the speed and the height of the trunk."""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array

_RATE = 1.0  # 1/s
_MAX_SPEED_OFFSET = 0.5  # of the commanded speed
_MAX_HEIGHT_OFFSET = 0.15  # of the nominal height


class Regulation:
    """Offsets of the references of the plan that remove its steady-state errors.

    The plan weighs velocity and height against effort, and so stays a few per cent below what is commanded.
    The offsets integrate the measured errors, ẋ = k (r − y), and are bounded, which also bounds wind-up.
    """

    def __init__(self, height: float) -> None:
        self._height = height
        self.reset()

    def reset(self) -> None:
        """Begin without offsets."""
        self.velocity = np.zeros(2)
        """Offset of the velocities forward and left (m/s)."""
        self.height = 0.0
        """Offset of the height of the trunk (m)."""

    def update(self, commanded: Array | None, measured: Array, height: float, dt: float) -> None:
        """Integrate errors over dt: of velocities (2) where they are commanded, and of the height."""
        most = _MAX_HEIGHT_OFFSET * self._height
        self.height = float(np.clip(self.height + _RATE * dt * (self._height - height), -most, most))
        if commanded is None:
            self.velocity *= max(0.0, 1.0 - dt * _RATE)
            return
        bound = _MAX_SPEED_OFFSET * float(np.hypot(*commanded))
        self.velocity = np.clip(self.velocity + _RATE * dt * (commanded - measured), -bound, bound)
