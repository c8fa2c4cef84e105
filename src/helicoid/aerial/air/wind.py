"""Wind: a mean with a height profile, and Dryden gusts as filtered white noise.

Gusts are along the axes of the vehicle, x forward (MIL-F-8785C, 3.7.2). With a = V/L, unit white noise ξ,
and V the airspeed, they are

    u̇ = -a u + σ √(2a) ξ                                               along
    g1' = -a g1 + √a ξ,  g2' = a (g1 - g2),  v = σ (√3 g1 + (1 - √3) g2)     across, and likewise up

whose spectra are σ² 2L/(πV) / (1 + (Lω/V)²) and σ² L/(πV) (1 + 3 (Lω/V)²) / (1 + (Lω/V)²)² for ω > 0.
Length scales L and intensities σ depend on height. States are scaled to a variance independent of a.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.aerial.checks import check_not_negative, check_positive
from helicoid.errors import InputError

_FOOT = 0.3048
_MIN_HEIGHT, _MAX_HEIGHT = 10.0, 1000.0  # ft: range of the low-altitude model
_MIN_AIRSPEED = 1.0  # m/s, of the filters, also in hover


@dataclass(frozen=True)
class Dryden:
    """Dryden gusts at low altitude (below 1000 ft), scaled by the mean wind at 20 ft (6 m).

    Args:
        wind_at_6m: mean wind at 6 m height (m/s), which sets the intensity: 7.7 is light, 15.4 moderate,
            23.1 severe.
        height: above ground (m), if about constant; None takes it from the state.

    >>> gusts = Dryden(7.7, height=50.0)
    >>> [round(float(x), 2) for x in (*gusts.lengths(50.0), *gusts.deviations(50.0))]
    [202.29, 202.29, 50.0, 1.23, 1.23, 0.77]
    """

    wind_at_6m: float
    height: float | None = None

    def __post_init__(self) -> None:
        check_not_negative("gusts: the wind at 6 m", self.wind_at_6m, "m/s")
        if self.height is not None:
            check_positive("gusts: the height above ground", self.height, "m")

    def _shape(self, height: Any) -> tuple[Any, Any]:
        h = height / _FOOT
        h = (
            ca.fmin(ca.fmax(h, _MIN_HEIGHT), _MAX_HEIGHT)
            if isinstance(h, (ca.SX, ca.MX))
            else np.clip(h, _MIN_HEIGHT, _MAX_HEIGHT)
        )
        return h, 0.177 + 0.000823 * h

    def lengths(self, height: Any) -> tuple[Any, Any, Any]:
        """Length scales L (m), longitudinal, lateral and vertical."""
        h, c = self._shape(height)
        along = _FOOT * h / c**1.2
        return along, along, _FOOT * h

    def deviations(self, height: Any) -> tuple[Any, Any, Any]:
        """Intensities σ (m/s), longitudinal, lateral and vertical."""
        _, c = self._shape(height)
        up = 0.1 * self.wind_at_6m
        return up / c**0.4, up / c**0.4, up + 0 * c

    states = ("gust_u", "gust_v1", "gust_v2", "gust_w1", "gust_w2")
    n_noise = 3

    def velocity(self, z: Expression, height: Expression) -> Expression:
        """Gusts (3), forward, left, up (m/s), from the filter states z (5)."""
        σ = self.deviations(height if self.height is None else self.height)
        across = [
            s * (math.sqrt(3) * z[k] + (1 - math.sqrt(3)) * z[k + 1]) for s, k in ((σ[1], 1), (σ[2], 3))
        ]
        return ca.vertcat(σ[0] * z[0], *across)

    def rate(self, z: Expression, noise: Expression, speed: Expression, height: Expression) -> Expression:
        """ż (5), for white noise ξ (3) of unit intensity and an airspeed (m/s)."""
        L = self.lengths(height if self.height is None else self.height)
        a = [ca.fmax(speed, _MIN_AIRSPEED) / length for length in L]
        rows = [-a[0] * z[0] + ca.sqrt(2 * a[0]) * noise[0]]
        for k, n in ((1, 1), (3, 2)):
            rows += [-a[n] * z[k] + ca.sqrt(a[n]) * noise[n], a[n] * (z[k] - z[k + 1])]
        return ca.vertcat(*rows)


@dataclass(frozen=True)
class Wind:
    """Wind over ground: a mean velocity with a power-law height profile, and gusts.

    Args:
        velocity: mean velocity of the air (3), m/s, world axes.
        reference_height: height (m) at which the mean is `velocity`; elsewhere it is multiplied by
            (h / reference_height) ** exponent.
        exponent: of the profile; 0 for a uniform wind, 1/7 over open land.
        gusts: `Dryden(...)`, or None.

    >>> import numpy as np
    >>> wind = Wind((5.0, 0.0, 0.0), reference_height=10.0, exponent=1 / 7)
    >>> print(np.round([wind.mean(10.0), wind.mean(100.0)], 2))
    [[5.   0.   0.  ]
     [6.95 0.   0.  ]]
    """

    velocity: ArrayLike = (0.0, 0.0, 0.0)
    reference_height: float = 10.0
    exponent: float = 0.0
    gusts: Dryden | None = None

    def __post_init__(self) -> None:
        try:
            velocity = np.array(self.velocity, dtype=np.float64)
        except (TypeError, ValueError):
            velocity = np.full(1, np.nan)
        if velocity.shape != (3,) or not np.isfinite(velocity).all():
            raise InputError(f"wind: its velocity is three finite numbers (m/s); got {self.velocity!r}")
        if not (0 < self.reference_height < math.inf and 0 <= self.exponent < 1):
            raise InputError(
                f"wind: reference_height is positive (m) and exponent from 0 to below 1; got "
                f"{self.reference_height!r} and {self.exponent!r}"
            )
        if self.gusts is not None and not isinstance(self.gusts, Dryden):
            raise InputError(f"wind: gusts are Dryden(...) or None; got {self.gusts!r}")
        velocity.setflags(write=False)
        object.__setattr__(self, "velocity", velocity)

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the filter states of the gusts."""
        return () if self.gusts is None else self.gusts.states

    @property
    def n_noise(self) -> int:
        """Number of white-noise inputs of the gusts."""
        return 0 if self.gusts is None else self.gusts.n_noise

    def mean(self, height: Expression) -> Expression:
        """Mean wind (3) at a height above ground (m), at least 0.1 m, in world axes."""
        base: Array = np.asarray(self.velocity)
        symbolic = isinstance(height, (ca.SX, ca.MX, ca.DM))
        if not self.exponent:
            return ca.SX(base) if symbolic else base
        if symbolic:
            return ca.SX(base) * (ca.fmax(height, 0.1) / self.reference_height) ** self.exponent
        return base * (max(float(height), 0.1) / self.reference_height) ** self.exponent

    def in_body(self, R: Expression, z: Expression, height: Expression) -> Expression:
        """Wind and gusts (3) in the axes of a body with rotation R (body to world), m/s."""
        mean = R.T @ self.mean(height)
        return mean if self.gusts is None else mean + self.gusts.velocity(z, height)
