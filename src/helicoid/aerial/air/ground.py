"""What the ground does to a rotor that hovers above it."""

from __future__ import annotations

import casadi as ca
import numpy as np

from helicoid._typing import Expression

_LEAST = 0.5
"""Heights over radii below which the formula is not meant; the factor stays what it is there."""


def ground_effect(height: Expression, radius: float) -> Expression:
    """Thrust near the ground over thrust far from it, at the same speed of the rotor.

    T/T∞ = 1 / (1 - (R / 4z)²) (Cheeseman and Bennett 1955), z being the rotor's height (m) and R its radius;
    below z = R/2, where it is not meant, it stays at 4/3. Numbers, arrays and CasADi expressions.

    >>> print(ground_effect(0.1, 0.1).round(4), ground_effect(10.0, 0.1).round(4))
    1.0667 1.0
    """
    symbolic, least = isinstance(height, (ca.SX, ca.MX, ca.DM)), _LEAST * radius
    z = ca.fmax(height, least) if symbolic else np.maximum(np.asarray(height, np.float64), least)
    return 1 / (1 - (radius / (4 * z)) ** 2)
