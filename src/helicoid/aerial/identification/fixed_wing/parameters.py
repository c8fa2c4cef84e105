"""Parameters of an aircraft that flights identify: names, described values and prior deviations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.aerial.air import Wind
from helicoid.aerial.fixed_wing import FixedWing
from helicoid.aerial.identification.sampling import Stretch
from helicoid.aerial.propulsion.curve import LookupTable
from helicoid.aerial.propulsion.jet import Jet
from helicoid.aerial.table import Table
from helicoid.aerial.vehicle import Airflow
from helicoid.geometry import quaternion

_SIZES = {"L": 0.3, "Z": 0.3, "D": 0.03, "X": 0.03, "Y": 0.1, "m": 0.05, "l": 0.03, "n": 0.02}
"""Typical changes of coefficients in flight."""
_EXCURSIONS = {
    **{"0": 1.0, "alpha": 0.1, "beta": 0.1, "alpha2": 0.01, "beta2": 0.01, "mach": 0.1},
    **{"p": 0.05, "q": 0.01, "r": 0.03, "alpha_dot": 0.01, "beta_dot": 0.03},
    **{"delta_e": 0.1, "delta_a": 0.1, "delta_r": 0.1},
}
"""Typical changes of what they depend on: rad, Mach number, normalised rates."""
_RELATIVE_SIGMA = 0.5  # of a described derivative
_TYPICAL_SHARE = 0.3  # of a typical derivative, in addition
_DRAG_SIGMA = 0.5  # of the described drag at rest
_TABLE_SIGMA, _THRUST_SIGMA = 0.3, 0.2
_DELAY_SIGMA = 0.03  # s
_BIAS_SIGMA = 0.3  # m/s², of accelerometers
_WIND_SIGMA = 5.0  # m/s


class ParametricAircraft(FixedWing):
    """An aircraft in a given wind whose coefficients are expressions, as are factors of tables and thrust."""

    factors: Mapping[str, Expression]
    thrust_factor: Expression
    wind_in_world: Expression

    @staticmethod
    def of(
        described: FixedWing,
        coefficients: Mapping[str, Expression],
        factors: Mapping[str, Expression],
        thrust_factor: Expression,
        wind_in_world: Expression,
    ) -> ParametricAircraft:
        """The described aircraft with these expressions."""
        other = object.__new__(ParametricAircraft)
        other.__dict__.update(
            described.__dict__,
            coefficients={**described.coefficients, **coefficients},
            factors=factors,
            thrust_factor=thrust_factor,
            wind_in_world=wind_in_world,
            wind=Wind(),
        )
        return other

    def flow(
        self, q: Expression, v: Expression, z: Expression, link: str, point: ArrayLike = (0.0, 0.0, 0.0)
    ) -> Airflow:
        R = quaternion.to_matrix(q[3:7])
        return Airflow(v[3:6] - R.T @ self.wind_in_world, v[:3], q[2])

    def _tabled(self, name: str, x: Mapping[str, Expression]) -> Expression:
        return self.factors[name] * super()._tabled(name, x)

    def _propulsion(self, *given: Any) -> tuple[Expression, Expression]:
        thrust, torque = super()._propulsion(*given)
        return self.thrust_factor * thrust, torque


@dataclass(frozen=True, eq=False)
class AircraftLayout:
    """Names of the parameters with prior mean and deviation, and what is known of the aircraft.

    Parameters are coefficients ("C_m_alpha"), factors of tables ("C_m factor") and of the "thrust", the
    "delay" of commands (s), offsets of the accelerometer (m/s²), and the mean wind of each flight (m/s).
    """

    names: tuple[str, ...]
    prior: Array
    spread: Array
    described: FixedWing
    sensor: Array
    gyro_bias: Array

    def has(self, name: str) -> bool:
        """Whether it is a parameter of these flights."""
        return name in self.names

    def of(self, point: Array, name: str, default: float = 0.0) -> float:
        """Value of a parameter, a default if it is not estimated."""
        return float(point[self.names.index(name)]) if name in self.names else default

    def bias(self, point: Array) -> Array:
        """Offset of the accelerometer (m/s²)."""
        return np.array([self.of(point, f"accelerometer_bias_{a}") for a in "xyz"])

    def wind(self, point: Array, flight: int) -> Array:
        """Mean wind of a flight (m/s), level, in world axes."""
        return np.array([self.of(point, f"wind_{flight}_{a}") for a in "xy"] + [0.0])

    @property
    def engine_lag(self) -> float:
        """Time constant of the engine (s), 0 without."""
        return self.described.engine.lag if self.described.engine is not None else 0.0

    @property
    def aerodynamic(self) -> list[int]:
        """Places of the parameters that forces depend on."""
        d = self.described
        own = {*d.coefficients, *(f"{name} factor" for name in d.tables), "thrust"}
        return [k for k, name in enumerate(self.names) if name in own]

    def parametric(self, theta: Expression, wind: Expression) -> ParametricAircraft:
        """The aircraft with expressions in place of its `aerodynamic` parameters, in a wind (world axes)."""
        d = self.described
        x = {self.names[k]: theta[i] for i, k in enumerate(self.aerodynamic)}
        coefficients = {name: x[name] for name in d.coefficients}
        factors = {name: x[f"{name} factor"] for name in d.tables}
        return ParametricAircraft.of(d, coefficients, factors, x.get("thrust", ca.SX(1)), wind)

    def built(self, point: Array) -> FixedWing:
        """The aircraft of a point."""
        d = self.described
        tables: dict[str, Any] = {}
        for name, table in d.tables.items():
            scaled = table.times(self.of(point, f"{name} factor", 1.0))
            tables[name] = (scaled.J, scaled.values) if isinstance(scaled, LookupTable) else scaled
        propeller, engine, thrust = d.propeller, d.engine, self.of(point, "thrust", 1.0)
        if propeller is not None and propeller.thrust_curve is not None:
            propeller = replace(propeller, thrust_curve=propeller.thrust_curve.times(thrust))
        if engine is not None:
            engine = _stronger(engine, thrust)
        return FixedWing(
            robot=d.robot, wing=d.wing, coefficients={name: self.of(point, name) for name in d.coefficients},
            tables=tables, propeller=propeller, motor=d.motor, engine=engine, deflection=d.deflections,
            moment_reference=d.moment_reference, air=d.air, wind=d.wind,
        )  # fmt: skip


def _stronger(engine: Jet, factor: float) -> Jet:
    thrust = engine.thrust
    return replace(engine, thrust=thrust.times(factor) if isinstance(thrust, Table) else factor * thrust)


def prior_of(name: str, described: float) -> tuple[float, float]:
    """Prior mean and deviation of a coefficient."""
    if name == "C_D_p":
        return described, _DRAG_SIGMA * abs(described)
    _, coefficient, quantity = name.split("_", 2)
    typical = _SIZES[coefficient] / _EXCURSIONS[quantity]
    return described, _RELATIVE_SIGMA * abs(described) + _TYPICAL_SHARE * typical


def layout_of(
    aircraft: FixedWing, data: Sequence[Stretch], sensor: Array, gyro_bias: Array, inertial: bool
) -> AircraftLayout:
    """The parameters that these stretches can identify, with their priors."""
    rows = {name: prior_of(name, value) for name, value in aircraft.coefficients.items()}
    rows |= {f"{name} factor": (1.0, _TABLE_SIGMA) for name in aircraft.tables}
    if aircraft.has_propulsion:
        rows["thrust"] = (1.0, _THRUST_SIGMA)
    rows["delay"] = (0.0, _DELAY_SIGMA)
    if inertial:
        rows |= {f"accelerometer_bias_{a}": (0.0, _BIAS_SIGMA) for a in "xyz"}
    flown = sorted({s.flight for s in data if s.air is None})
    rows |= {f"wind_{k}_{a}": (0.0, _WIND_SIGMA) for k in flown for a in "xy"}
    numbers = np.array(list(rows.values()))
    return AircraftLayout(tuple(rows), numbers[:, 0], numbers[:, 1], aircraft, sensor, gyro_bias)
