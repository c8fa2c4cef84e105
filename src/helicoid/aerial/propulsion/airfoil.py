"""Airfoil polars by a few numbers: lift with stall, and drag with a Reynolds-number correction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError

_QPROP = {
    "CL0": "lift_at_zero",
    "CL_a": "lift_slope",
    "CLmin": "least_lift",
    "CLmax": "most_lift",
    "CD0": "least_drag",
    "CD2u": "drag_above",
    "CD2l": "drag_below",
    "CLCD0": "lift_of_least_drag",
    "REref": "reynolds",
    "REexp": "reynolds_exponent",
}


@dataclass(frozen=True)
class Airfoil:
    """Airfoil polar: c_l and c_d over the angle of attack, by the model of QPROP (Drela).

    c_l = (lift_at_zero + lift_slope α) / √(1 - Ma²) between least_lift and most_lift, beyond which it stalls,
    and

        c_d = (least_drag + k (c_l - lift_of_least_drag)²) (Re / reynolds)^reynolds_exponent

    with k = drag_above for c_l above lift_of_least_drag and drag_below else. `Airfoil.of` also reads the
    names of QPROP: CL0, CL_a, CLmin, CLmax, CD0, CD2u, CD2l, CLCD0, REref, REexp.

    >>> import numpy as np
    >>> lift, drag = Airfoil().coefficients(np.radians([0.0, 4.0]), 7e4, 0.1)
    >>> print(lift.round(3), drag.round(4))
    [0.503 0.909] [0.028  0.0364]
    """

    lift_at_zero: float = 0.5
    lift_slope: float = 5.8
    least_lift: float = -0.3
    most_lift: float = 1.2
    least_drag: float = 0.028
    drag_above: float = 0.05
    drag_below: float = 0.05
    lift_of_least_drag: float = 0.5
    reynolds: float = 70_000.0
    reynolds_exponent: float = -0.7

    def __post_init__(self) -> None:
        numbers = np.array(list(vars(self).values()), dtype=np.float64)
        if not np.isfinite(numbers).all():
            raise InputError(f"an airfoil is finite numbers; got {self!r}")
        if not (self.lift_slope > 0 and self.least_drag > 0 and self.reynolds > 0):
            raise InputError("an airfoil's lift_slope, least_drag and reynolds are positive")
        if not self.least_lift < self.most_lift:
            raise InputError(
                f"an airfoil's lift goes from least to most; got {self.least_lift}, {self.most_lift}"
            )

    @staticmethod
    def of(given: Airfoil | Mapping[str, float]) -> Airfoil:
        """An airfoil as it is, or from numbers by name, QPROP's or ours."""
        if isinstance(given, Airfoil):
            return given
        if not isinstance(given, Mapping):
            raise InputError(f"airfoil is an Airfoil, or its numbers by name; got {given!r}")
        ours = set(_QPROP.values())
        unknown = [name for name in given if name not in _QPROP and name not in ours]
        numbers = {
            _QPROP.get(name, name): float(value) for name, value in given.items() if name not in unknown
        }
        missing = [name for name in _QPROP if _QPROP[name] not in numbers]
        if unknown or missing:
            reasons = [f"does not know {', '.join(unknown)}"] if unknown else []
            reasons += [f"misses {', '.join(missing)}"] if missing else []
            raise InputError(f"airfoil: {' and '.join(reasons)}; its numbers are {', '.join(_QPROP)}")
        return Airfoil(**numbers)

    def coefficients(self, alpha: Array, reynolds: Array | float, mach: Array | float) -> tuple[Array, Array]:
        """c_l and c_d at angles of attack (rad)."""
        lift = (self.lift_at_zero + self.lift_slope * alpha) / np.sqrt(1 - np.minimum(mach, 0.95) ** 2)
        # Beyond stall QPROP multiplies lift by a cosine about this angle and adds the drag of a plate.
        fall = np.cos(alpha - self.lift_at_zero / self.lift_slope)
        stalled = (lift > self.most_lift) | (lift < self.least_lift)
        c_l = np.where(stalled, np.clip(lift, self.least_lift, self.most_lift) * fall, lift)
        k = np.where(c_l > self.lift_of_least_drag, self.drag_above, self.drag_below)
        scale = (np.maximum(reynolds, 1.0) / self.reynolds) ** self.reynolds_exponent
        c_d = (self.least_drag + k * (c_l - self.lift_of_least_drag) ** 2) * scale
        least = (self.lift_of_least_drag - self.lift_at_zero) / self.lift_slope
        return c_l, c_d + np.where(stalled, 2 * np.sin(alpha - least) ** 2, 0.0)
