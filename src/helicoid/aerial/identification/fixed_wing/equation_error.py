"""Equation error: least squares on specific force and angular acceleration at the measured states.

Velocities through the air, angular velocities and controls are taken as measured; gusts that air data
measure are thereby known. Predictions pass the smoother of the measurements (Klein and Morelli 2006,
chapter 5). Noise of the states draws estimates towards zero, which `output_error` avoids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from helicoid._typing import Array
from helicoid.aerial.identification.fitting import STEP, Part
from helicoid.aerial.identification.fixed_wing.model import Motion, airspeeds, given, measured_wind
from helicoid.aerial.identification.fixed_wing.parameters import AircraftLayout
from helicoid.aerial.identification.sampling import Stretch

_BLOCK = 1.0  # s, over which residuals are correlated


@dataclass(frozen=True, eq=False)
class EquationError:
    """The least squares problem of stretches."""

    layout: AircraftLayout
    data: Sequence[Stretch]

    @property
    def prior(self) -> Array:
        return self.layout.prior

    @property
    def spread(self) -> Array:
        return self.layout.spread

    @property
    def share(self) -> float:
        return 1.0 / self.data[0].window

    @property
    def block(self) -> int:
        return max(1, round(_BLOCK / self.data[0].dt))

    def predicted(self, stretch: Stretch, points: Array) -> Array:
        """Specific force and angular acceleration at points (P, parameters), smoothed, (P, M, 6)."""
        layout, motion = self.layout, Motion.of(self.layout)
        count, samples = len(points), len(stretch.t)
        rates, wind = stretch.rates - layout.gyro_bias, measured_wind(stretch)
        assert stretch.attitude is not None
        rows = [
            (
                np.hstack([stretch.attitude, rates, airspeeds(layout, stretch, wind, point)]),
                given(stretch, np.zeros(3), layout.of(point, "delay"), layout.engine_lag, ahead=False),
                np.tile(point[layout.aerodynamic], (samples, 1)),
            )
            for point in points
        ]
        x, u, theta = (np.concatenate(one) for one in zip(*rows, strict=True))
        y = motion.acceleration(x, u, theta).reshape(count, samples, 6)
        bias = np.array([layout.bias(point) for point in points])[:, None]
        return np.stack([
            np.hstack([stretch.smoothed(one[:, :3] + b), stretch.smoothed_acceleration(one[:, 3:])])
            for one, b in zip(y, bias, strict=True)
        ])  # fmt: skip

    def slow_noise(self, left: Sequence[Array]) -> None:
        """None: air data measure the gusts."""

    def residuals(self, point: Array) -> list[Array]:
        """Measured less predicted, (M, 6) of each stretch; without the margins that the smoother shortens."""
        return [s.inner(s.measured - self.predicted(s, point[None])[0]) for s in self.data]

    def linearised(self, point: Array) -> list[Part]:
        """The same with difference quotients."""
        n, found = len(point), []
        steps = STEP * self.layout.spread
        points = np.concatenate([point[None], point + np.diag(steps)])
        for stretch in self.data:
            y = self.predicted(stretch, points)
            J = np.moveaxis((y[1:] - y[0]) / steps[:, None, None], 0, 2)
            slopes = J[stretch.window : -stretch.window] * stretch.present[:, None]
            found.append(Part(stretch.inner(stretch.measured - y[0]), slopes, np.arange(n)))
        return found
