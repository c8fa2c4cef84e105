"""Units of the published numbers in a vehicle's file, converted to SI."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from helicoid.aerial.table import Table
from helicoid.errors import InputError

_FACTORS = {
    "length": {"m": 1.0, "ft": 0.3048},
    "mass": {"kg": 1.0, "slug": 14.593902937},
    "force": {"N": 1.0, "lbf": 4.4482216152605},
    "angle": {"rad": 1.0, "deg": math.pi / 180},
}
_ANGLES = ("alpha", "beta", "delta_e", "delta_a", "delta_r")


@dataclass(frozen=True)
class Units:
    """Factors from the units of a file to SI."""

    length: float = 1.0
    mass: float = 1.0
    force: float = 1.0
    angle: float = 1.0

    @staticmethod
    def of(given: Mapping[str, str]) -> Units:
        """Units by name, such as {"length": "ft", "mass": "slug", "force": "lbf", "angle": "deg"}."""
        for name, unit in given.items():
            if unit not in _FACTORS.get(name, {}):
                raise InputError(f"units: {name} in {unit!r} is unknown; there are {_FACTORS}")
        return Units(**{name: _FACTORS[name][unit] for name, unit in given.items()})

    @property
    def inertia(self) -> float:
        """Factor of moments of inertia and of angular momentum."""
        return self.mass * self.length**2

    def coefficient(self, name: str) -> float:
        """Factor of a derivative by an angle, such as C_m_alpha per degree; 1 for others."""
        quantity = name[4:]
        if quantity in _ANGLES:
            return 1 / self.angle
        return 1 / self.angle**2 if quantity in ("alpha2", "beta2") else 1.0

    def table(self, given: Mapping[str, Any], factor: float = 1.0) -> Table:
        """A table: axes by name and "values", which are per `per` units of their angle, by default 1."""
        scales = {**dict.fromkeys(_ANGLES, self.angle), "altitude": self.length}
        axes = {
            name: [scales.get(name, 1.0) * x for x in values]
            for name, values in given.items()
            if name not in ("values", "per")
        }
        return Table(axes, given["values"]).times(factor / given.get("per", 1.0))
