"""Jet engines: thrust in proportion to throttle and density, or by a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from helicoid._typing import Expression
from helicoid.aerial.checks import check_not_negative, check_positive, is_number
from helicoid.aerial.table import Table
from helicoid.errors import InputError

SEA_LEVEL_DENSITY = 1.225  # kg/m³


@dataclass(frozen=True, eq=False)
class Jet:
    """Engine whose thrust acts along x of the body.

    Args:
        thrust: at full throttle at sea level (N), then T = throttle · thrust · ρ/ρ₀; or a `Table` of T (N)
            over "throttle" and, as given, "mach" and "altitude" (m).
        lag: time constant of the engine (s); its state `engine` then follows the throttle.
        angular_momentum: of its rotor about x (kg·m²/s), for gyroscopic moments.
        varies: whether a thrust that is a number changes with density; False for a constant one.
    """

    thrust: float | Table
    lag: float = 0.0
    angular_momentum: float = 0.0
    varies: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.thrust, Table):
            if "throttle" not in self.thrust.over or set(self.thrust.over) - {"throttle", "mach", "altitude"}:
                raise InputError(
                    f"a table of thrust is over throttle, mach and altitude; got {self.thrust!r}"
                )
        else:
            check_positive("a jet's thrust", self.thrust, "N")
        check_not_negative("a jet's lag", self.lag, "s")
        if not is_number(self.angular_momentum):
            raise InputError(f"a jet's angular_momentum is a number (kg·m²/s); got {self.angular_momentum!r}")

    def at(self, x: Mapping[str, Any], density: Expression) -> Expression:
        """Thrust (N) at throttle, mach and altitude by name, and a density (kg/m³)."""
        if isinstance(self.thrust, Table):
            return self.thrust.at(x)
        return x["throttle"] * self.thrust * (density / SEA_LEVEL_DENSITY if self.varies else 1.0)
