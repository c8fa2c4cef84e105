"""Propellers: thrust and torque from constants, coefficients, tables over the advance ratio, or geometry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.aerial.air.atmosphere import Air
from helicoid.aerial.checks import check_not_negative, check_positive, real_numbers
from helicoid.aerial.propulsion.airfoil import Airfoil
from helicoid.aerial.propulsion.blade import Blade, BladeStations
from helicoid.aerial.propulsion.curve import Curve, LookupTable, Polynomial
from helicoid.aerial.propulsion.geometry_file import read_geometry
from helicoid.aerial.propulsion.momentum import hover_power
from helicoid.aerial.propulsion.polars import Polars
from helicoid.errors import InputError

_MIN_RADIUS, _MAX_RADIUS = 1e-6, 1e3  # m


@dataclass(frozen=True, eq=False)
class Performance:
    """Performance of a propeller at given speeds and rates; arrays where arrays were given.

    Attributes:
        thrust: T (N), along the axis.
        torque: Q (N·m) of the shaft.
        CT: T / (ρ n² D⁴), n in turns per second.
        CP: P / (ρ n³ D⁵).
        J: advance ratio V / (n D).
        power: P = Q Ω (W).
        efficiency: T V / P; 0 at rest.
        figure_of_merit: ideal hover power of this thrust over P, defined at rest.
        stations: the flow along the blade, for a propeller by its geometry.
    """

    thrust: Array
    torque: Array
    CT: Array
    CP: Array
    J: Array
    power: Array
    efficiency: Array
    figure_of_merit: Array
    stations: BladeStations | None = None


@dataclass(frozen=True, eq=False)
class Propeller:
    """Propeller: T = ρ n² D⁴ C_T(J) and Q = ρ n² D⁵ C_Q(J), J = V / (n D).

    Constructed by `from_constants` (T = b ω², Q = d ω²), `from_coefficients` (C_T, C_Q, C_H, C_R of a rotor),
    `from_polynomial` and `from_table` (over J), or `from_geometry`.

    Args:
        radius: R (m).
        thrust_curve, torque_curve: C_T(J) and C_Q(J) as `Polynomial` or `LookupTable`; None with a `blade`.
        hub_drag: h of the hub force H = -h |ω| V_h, with V_h the airspeed in the disc plane (N·s²/m).
        rolling: coefficient of the rolling moment R = -rolling |ω| V_h (N·s²).
        flapping: tilt of the disc against V_h (rad) per V_h / (ω R).
        inertia: of the propeller and the rotor of its motor about the axis (kg·m²), for gyroscopic torques.
        blade: its geometry.

    >>> propeller = Propeller.from_constants(b=8.54858e-6, d=1.36777e-7, radius=0.1)
    >>> hover = propeller.performance(0.0, 5000.0)
    >>> print(hover.thrust.round(4), hover.torque.round(5), hover.figure_of_merit.round(3))
    2.3436 0.0375 0.659
    """

    radius: float
    thrust_curve: Curve | None = None
    torque_curve: Curve | None = None
    hub_drag: float = 0.0
    rolling: float = 0.0
    flapping: float = 0.0
    inertia: float = 0.0
    blade: Blade | None = None

    def __post_init__(self) -> None:
        check_positive("a propeller's radius", self.radius, "m")
        for name in ("hub_drag", "rolling", "flapping", "inertia"):
            check_not_negative(f"a propeller's {name}", getattr(self, name))
        if self.blade is None and (self.thrust_curve is None or self.torque_curve is None):
            raise InputError(
                "a propeller needs coefficients of thrust and torque, or a blade: see Propeller.from_..."
            )

    # Constructors -----------------------------------------------------------------------------------------

    @staticmethod
    def from_constants(b: float, d: float, radius: float, density: float = 1.225, **more: Any) -> Propeller:
        """T = b ω² (N·s²) and Q = d ω² (N·m·s²) in air of a density; `more` are arguments of Propeller."""
        for name, value in {"b": b, "d": d, "a propeller's radius": radius, "density": density}.items():
            check_positive(name, value)
        D = _diameter(radius)
        unit = 4 * math.pi**2 / density
        thrust, torque = Polynomial((unit * b / D**4,)), Polynomial((unit * d / D**5,))
        return Propeller(radius, thrust, torque, **more)

    @staticmethod
    def from_coefficients(
        C_T: float,
        C_Q: float,
        radius: float,
        C_H: float = 0.0,
        C_R: float = 0.0,
        advance: float = 0.1,
        density: float = 1.225,
        **more: Any,
    ) -> Propeller:
        """Rotor coefficients: T = ρ/2 A C_T (ωR)², Q = ρ/2 A C_Q (ωR)² R, H and R likewise.

        C_H and C_R are those at the advance ratio `advance` = V_h / (ω R), to which both are proportional.
        """
        for name, value in {"advance": advance, "a propeller's radius": radius, "density": density}.items():
            check_positive(name, value)
        for name, value in {"C_T": C_T, "C_Q": C_Q}.items():
            check_positive(name, value)
        for name, value in {"C_H": C_H, "C_R": C_R}.items():
            check_not_negative(name, value)
        A = math.pi * (_diameter(radius) / 2) ** 2
        unit = density / 2 * A * radius**2
        hub = unit * C_H / (advance * radius)
        rolling = unit * radius * C_R / (advance * radius)
        given = {"hub_drag": hub, "rolling": rolling, **more}
        return Propeller.from_constants(unit * C_T, unit * radius * C_Q, radius, density, **given)

    @staticmethod
    def from_polynomial(CT: ArrayLike, CQ: ArrayLike, radius: float, **more: Any) -> Propeller:
        """C_T and C_Q as polynomials of J, constant first, up to J²."""
        thrust, torque = (
            Polynomial(tuple(np.ravel(real_numbers("CT and CQ over J", c)).tolist())) for c in (CT, CQ)
        )
        return Propeller(radius, thrust, torque, **more)

    @staticmethod
    def from_table(J: ArrayLike, CT: ArrayLike, CP: ArrayLike, radius: float, **more: Any) -> Propeller:
        """C_T and C_P measured at advance ratios J; C_Q = C_P / 2π."""
        thrust, power = LookupTable.of(J, CT, "CT over J"), LookupTable.of(J, CP, "CP over J")
        return Propeller(radius, thrust, power.times(1 / (2 * math.pi)), **more)

    @staticmethod
    def from_geometry(
        r: ArrayLike,
        chord: ArrayLike,
        pitch: ArrayLike,
        blades: int,
        radius: float,
        airfoil: Airfoil | Polars | Mapping[str, float],
        **more: Any,
    ) -> Propeller:
        """Blade-element momentum theory: radii, chords (m) and pitch (rad) along a blade, and its airfoil.

        `performance` solves the flow along the blade; `tabulated` gives a lookup table for simulation.

        >>> import numpy as np
        >>> r = np.linspace(0.02, 0.1, 9)
        >>> propeller = Propeller.from_geometry(r, 0.02 + 0 * r, np.arctan(0.02 / r), 2, 0.1, Airfoil())
        >>> print(propeller.performance(0.0, 6000.0).CT.round(4))
        0.1539
        """
        foil = airfoil if isinstance(airfoil, Polars) else Airfoil.of(airfoil)
        return Propeller(radius, blade=Blade.of(r, chord, pitch, blades, radius, foil), **more)

    @staticmethod
    def from_file(
        path: str | PathLike[str],
        radius: float | None = None,
        airfoil: Airfoil | Polars | Mapping[str, float] | None = None,
        blades: int | None = None,
        **more: Any,
    ) -> Propeller:
        """Geometry from a file of the UIUC propeller database, or a PE0 file of APC.

        The former has columns r/R, c/R and beta (degrees), and needs the radius (m); blades are two by
        default. The latter, with STATION, CHORD (inches) and TWIST (degrees), has both. Sweep and thickness
        are not used.
        """
        if airfoil is None:
            raise InputError(
                "from_file: airfoil is Airfoil(...) or Polars(...); a file has the geometry alone"
            )
        found = read_geometry(path)
        if radius is None and found.radius is None:
            raise InputError(f"{path} has no radius: state radius=... (m)")
        R = float(found.radius or 0.0) if radius is None else radius
        check_positive("a propeller's radius", R, "m")
        if found.radius is not None and abs(R - found.radius) > 1e-3 * found.radius:
            raise InputError(f"{path} has the radius {found.radius:g} m, not {R:g} m: leave radius out")
        if found.blades is not None and blades not in (None, found.blades):
            raise InputError(f"{path} has {found.blades} blades, not {blades}: leave blades out")
        count = found.blades or (2 if blades is None else blades)
        return Propeller.from_geometry(R * found.r, R * found.chord, found.pitch, count, R, airfoil, **more)

    def tabulated(self, rpm: float, J: ArrayLike | None = None, air: Air | None = None) -> Propeller:
        """Propeller by lookup table, from the performance at one rate and advance ratios from 0 to 1.2."""
        ratios = np.linspace(0.0, 1.2, 25) if J is None else np.asarray(J, np.float64)
        found = self.performance(ratios * rpm / 60 * 2 * self.radius, rpm, air)
        other = Propeller.from_table(ratios, found.CT, found.CP, self.radius)
        return replace(self, thrust_curve=other.thrust_curve, torque_curve=other.torque_curve, blade=None)

    # Performance ------------------------------------------------------------------------------------------

    @property
    def area(self) -> float:
        """Area of the disc (m²)."""
        return math.pi * self.radius**2

    @property
    def max_advance_ratio(self) -> float:
        """Advance ratio |J| up to which the coefficients hold; infinite where they depend on J.

        Constants are those at rest: beyond J = 1, the pitch over the diameter of the steepest propellers of
        multirotors, none gives thrust. A table holds 20 % beyond its last J.
        """
        curves = (self.thrust_curve, self.torque_curve)
        if any(isinstance(curve, LookupTable) for curve in curves):
            tables = [curve for curve in curves if isinstance(curve, LookupTable)]
            return 1.2 * max(float(np.abs(table.J).max()) for table in tables)
        constant = all(isinstance(curve, Polynomial) and not any(curve.coefficients[1:]) for curve in curves)
        return 1.0 if constant else math.inf

    def performance(self, speed: ArrayLike, rpm: ArrayLike, air: Air | None = None) -> Performance:
        """Performance at a speed along the axis (m/s) and a rate (turns a minute); arrays are broadcast."""
        air = Air() if air is None else air
        if not isinstance(air, Air):
            raise InputError(f"performance: air is hc.aerial.Air(...) or None; got {air!r}")
        given = real_numbers("performance: speed", speed), real_numbers("performance: rpm", rpm)
        try:
            V, per_minute = np.broadcast_arrays(*given)
        except ValueError as error:
            raise InputError(f"performance: speeds and rates that can be broadcast: {error}") from None
        if not (np.isfinite(V).all() and np.isfinite(per_minute).all() and np.all(per_minute > 0)):
            raise InputError("performance: speeds are finite (m/s) and rates positive (turns a minute)")
        n, D = per_minute / 60, 2 * self.radius
        stations = None
        if self.blade is not None:
            stations = self.blade.solve(V, 2 * math.pi * n, air)
            thrust, torque = (x.sum(axis=-1) * self.blade.part for x in (stations.thrust, stations.torque))
        else:
            thrust, torque = (np.asarray(x) for x in self.thrust_torque(2 * math.pi * n, V, air.density))
        power = 2 * math.pi * n * torque
        scale = air.density * n**2 * D**4
        with np.errstate(invalid="ignore", divide="ignore"):
            efficiency = np.where(V == 0, 0.0, thrust * V / power)
            merit = hover_power(np.maximum(thrust, 0), self.area, air.density) / power
        return Performance(
            np.asarray(thrust),
            np.asarray(torque),
            np.asarray(thrust / scale),
            np.asarray(power / (scale * n * D)),
            np.asarray(V / (n * D)),
            np.asarray(power),
            efficiency,
            np.asarray(merit),
            stations,
        )

    def thrust_torque(
        self, omega: Expression, axial: Expression, density: Expression
    ) -> tuple[Expression, Expression]:
        """T (N) and Q (N·m) at ω ≥ 0 (rad/s) and a speed along the axis (m/s): arrays or expressions."""
        if self.thrust_curve is None or self.torque_curve is None:
            raise InputError(
                "this propeller is given by its geometry: use propeller.tabulated(rpm=...) for simulation"
            )
        n, D = omega / (2 * math.pi), 2 * self.radius
        scale = density * D**4
        thrust = scale * self.thrust_curve.scaled(n, axial, D)
        return thrust, scale * D * self.torque_curve.scaled(n, axial, D)

    def constants(self, density: float = 1.225) -> tuple[float, float]:
        """b and d of T = b ω² and Q = d ω² at rest."""
        thrust, torque = self.thrust_torque(np.array(1000.0), np.array(0.0), density)
        return float(thrust) / 1e6, float(torque) / 1e6


def _diameter(radius: float) -> float:
    """Diameter (m) of a radius whose powers are numbers."""
    if not _MIN_RADIUS <= radius <= _MAX_RADIUS:
        raise InputError(f"a propeller's radius is {_MIN_RADIUS:g} to {_MAX_RADIUS:g} m; got {radius!r}")
    return 2 * float(radius)
