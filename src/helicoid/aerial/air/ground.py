"""Ground effect on a hovering rotor."""

from __future__ import annotations

import casadi as ca
import numpy as np

from helicoid._typing import Expression

_MIN_HEIGHT_RATIO = 0.5
"""Height over radius below which the formula does not hold; the factor is constant there."""


def ground_effect(height: Expression, radius: float) -> Expression:
    """Ratio of thrust near the ground to thrust far from it, at the same rotor speed.

    T/T∞ = 1 / (1 - (R / 4z)²) (Cheeseman and Bennett 1955), z being the rotor's height (m) and R its radius;
    below z = R/2, where it does not hold, it is 4/3. For numbers, arrays and CasADi expressions.

    >>> print(ground_effect(0.1, 0.1).round(4), ground_effect(10.0, 0.1).round(4))
    1.0667 1.0
    """
    symbolic, least = isinstance(height, (ca.SX, ca.MX, ca.DM)), _MIN_HEIGHT_RATIO * radius
    z = ca.fmax(height, least) if symbolic else np.maximum(np.asarray(height, np.float64), least)
    return 1 / (1 - (radius / (4 * z)) ** 2)
