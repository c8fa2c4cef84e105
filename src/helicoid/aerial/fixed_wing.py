"""Fixed-wing aircraft: aerodynamic coefficients with a stall model, a propeller and its motor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.aerial.air import Air, Wind
from helicoid.aerial.analysis.trim import Trim
from helicoid.aerial.checks import check_positive, is_number
from helicoid.aerial.coefficients import read_coefficients, read_tables
from helicoid.aerial.frames import FLIP, GRAVITY
from helicoid.aerial.propulsion.curve import Polynomial
from helicoid.aerial.propulsion.motor import ElectricMotor
from helicoid.aerial.propulsion.propeller import Propeller
from helicoid.aerial.vehicle import Vehicle, body_robot, inertia_matrix
from helicoid.deprecation import former_attribute
from helicoid.errors import InputError
from helicoid.robot import Robot

SURFACES = ("elevator", "aileron", "rudder")


@dataclass(frozen=True)
class Wing:
    """Wing: area S (m²), span b (m), mean chord c (m), Oswald efficiency e, and stall.

    Beyond the angle `stall` (rad) lift blends into that of a flat plate, with the rate `blend` (1/rad).
    """

    area: float
    span: float
    chord: float
    efficiency: float = 0.9
    stall: float = 0.47
    blend: float = 50.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check_positive(f"a wing's {name}", value)

    @property
    def aspect_ratio(self) -> float:
        """b²/S."""
        return self.span**2 / self.area


class FixedWing(Vehicle):
    """Fixed-wing aircraft: forces and moments by coefficients, thrust by a propeller and an electric motor.

    With q̄ = ½ρV², the forces are L = q̄ S (C_L(α) + C_L_q c q/2V + C_L_delta_e δe) and so on (Beard and McLain
    2012, chapter 4), with

        C_L(α) = (1 - σ) (C_L_0 + C_L_alpha α) + σ 2 sign(α) sin²α cos α
        C_D(α) = C_D_p + (C_L_0 + C_L_alpha α)² / (π e b²/S)

    in the axes of aeronautics (see `helicoid.aerial.frames`). Deflections of the control surfaces are in
    radians: elevator down, left aileron down, rudder left are positive. Throttle is 0 to 1.

    Args:
        mass: kg.
        inertia: about the centre of mass, 3 × 3, axes of aeronautics (kg·m²): -J_xz off the diagonal.
        wing: `Wing(area, span, chord)`.
        coefficients: by name, all that `helicoid.aerial.coefficients` lists.
        tables: "C_L", "C_D" or "C_m" over α, (angles, values) each, in place of C_L(α), C_D(α) and C_m_0 +
            C_m_alpha α; the coefficients of `TABLES` are then not given. Interpolation is monotone cubic,
            extrapolation linear; a table of lift stalls at its maximum.
        propeller, motor: of the thrust along x, a polynomial propeller and an `ElectricMotor`; None for a
            glider.
        deflection: bound of every control surface (rad).
        name: of the robot.
        robot: in place of mass and inertia: a robot on a floating base whose root link is the fuselage.
        air, wind: the atmosphere.

    >>> import helicoid as hc
    >>> aircraft = hc.aerial.load("aerosonde")
    >>> level = aircraft.trim(speed=25.0)
    >>> print(round(level.alpha, 4), round(level.controls["throttle"], 4), level.success)
    0.0497 0.7735 True
    """

    flies_forward = True

    def __init__(
        self,
        mass: float | None = None,
        inertia: ArrayLike | None = None,
        *,
        wing: Wing,
        coefficients: Mapping[str, float],
        tables: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
        propeller: Propeller | None = None,
        motor: ElectricMotor | None = None,
        deflection: float = 0.7,
        name: str = "aircraft",
        robot: Robot | None = None,
        air: Air | None = None,
        wind: Wind | None = None,
    ) -> None:
        if robot is None:
            if mass is None or inertia is None:
                raise InputError("an aircraft needs its mass and inertia, or a robot")
            robot = body_robot(name, mass, FLIP @ inertia_matrix(name, inertia) @ FLIP)
        super().__init__(robot, air, wind)
        if not isinstance(wing, Wing):
            raise InputError(f"wing is hc.aerial.Wing(area, span, chord); got {wing!r}")
        if not (is_number(deflection) and 0 < deflection < np.pi / 2):
            raise InputError(f"deflection is between 0 and π/2 (rad); got {deflection!r}")
        self.wing, self.deflection = wing, float(deflection)
        self.tables = read_tables(tables or {})
        self.coefficients = read_coefficients(coefficients, self.tables)
        if (propeller is None) != (motor is None):
            raise InputError("a propeller and the motor that turns it come together: give both, or neither")
        if motor is not None and not isinstance(motor, ElectricMotor):
            raise InputError(f"the motor of a FixedWing is an ElectricMotor(...); got {motor!r}")
        if propeller is not None and not isinstance(getattr(propeller, "torque_curve", None), Polynomial):
            raise InputError("an aircraft's propeller has polynomials over J: Propeller.from_polynomial(...)")
        self.propeller, self.motor = propeller, motor

    @property
    def own_controls(self) -> Mapping[str, tuple[float, float]]:
        """Deflections of the control surfaces (rad) and throttle."""
        limits = dict.fromkeys(SURFACES, (-self.deflection, self.deflection))
        return limits if self.motor is None else {**limits, "throttle": (0.0, 1.0)}

    @property
    def own_states(self) -> Mapping[str, float]:
        """None: the speed of the motor is quasi-static."""
        return {}

    def _guess(self, speed: float) -> Array:
        return np.array([0.0, 0.0, 0.0, 0.5])[: len(self.own_controls)]

    def _limit_reasons(self, trim: Trim) -> list[str]:
        load = self.robot.mass * GRAVITY * math.hypot(1.0, trim.speed * trim.turn_rate / GRAVITY)
        needed = load / max(self.air.density / 2 * trim.speed**2 * self.wing.area, 1e-9)
        if needed > self.max_lift:
            return [
                f"stall: {trim.speed:g} m/s needs a lift coefficient of {needed:.3g}, and the wing has "
                f"at most {self.max_lift:.3g}"
            ]
        if abs(trim.alpha) > self.stall_angle:
            return [
                f"stall: the angle of attack is {trim.alpha:.3f} rad, and the stall at {self.stall_angle:.3g}"
            ]
        return []

    most_lift = former_attribute("most_lift", "max_lift")

    @cached_property
    def max_lift(self) -> float:
        """Maximum of C_L(α)."""
        return float(self.lift_coefficient(self._angles).max())

    @cached_property
    def stall_angle(self) -> float:
        """Stall angle (rad): the wing's `stall`, or the maximum of a table of C_L."""
        if "C_L" not in self.tables:
            return self.wing.stall
        return float(self._angles[np.argmax(self.lift_coefficient(self._angles))])

    @property
    def _angles(self) -> Array:
        table = self.tables.get("C_L")
        return np.linspace(0.0, np.pi / 2 if table is None else table.J[-1], 1000)

    def lift_coefficient(self, alpha: ArrayLike) -> Array:
        """C_L(α), without the terms of rates and elevator."""
        a = ca.SX.sym("alpha")
        lift, _ = self._lift(a, ca.sin(a), ca.cos(a))
        given = np.asarray(alpha, np.float64)
        found = ca.Function("lift", [a], [lift])(given.reshape(1, -1))
        return np.asarray(found.full().reshape(given.shape))

    @property
    def stall_speed(self) -> float:
        """Slowest level flight, at the maximum lift coefficient (m/s)."""
        return math.sqrt(2 * self.robot.mass * GRAVITY / (self.air.density * self.wing.area * self.max_lift))

    # Forces -----------------------------------------------------------------------------------------------

    def _air_forces(
        self, q: Expression, v: Expression, z: Expression, u: Expression
    ) -> tuple[Mapping[str, Expression], Expression]:
        root = self.robot.model.root
        flow = self.flow(q, v, z, root)
        F = ca.SX(FLIP)
        wrench = self._wrench(F @ flow.velocity, F @ flow.rate, u)
        center = self._center
        moment = F @ wrench[:3]
        force = F @ wrench[3:]
        if np.any(center):
            moment = moment + ca.cross(ca.SX(center), force)
        return {root: ca.vertcat(moment, force)}, ca.SX(0, 1)

    @property
    def _center(self) -> Array:
        """Reference point of the moments in the root's frame: its centre of mass."""
        link = self.robot.model.link(self.robot.model.root)
        return np.zeros(3) if link.inertia is None else np.asarray(link.inertia.com)

    def _wrench(self, velocity: Expression, rate: Expression, u: Expression) -> Expression:
        """(n, f) about the centre of mass for a velocity relative to the air and rates (p, q, r), z down."""
        c, wing, rho = self.coefficients, self.wing, self.air.density
        V = ca.sqrt(ca.sumsqr(velocity) + 1e-8)
        ahead = ca.sqrt(velocity[0] ** 2 + velocity[2] ** 2 + 1e-12)
        sine, cosine = velocity[2] / ahead, velocity[0] / ahead  # of alpha
        alpha, beta = ca.atan2(velocity[2], velocity[0]), ca.asin(velocity[1] / V)
        e, a, r = u[0], u[1], u[2]
        q_hat = wing.chord / (2 * V) * rate[1]
        p_hat, r_hat = wing.span / (2 * V) * rate[0], wing.span / (2 * V) * rate[2]
        C_L, linear = self._lift(alpha, sine, cosine)
        C_D, C_m = self._drag(alpha, linear), self._pitching(alpha)
        C_L = C_L + c["C_L_q"] * q_hat + c["C_L_delta_e"] * e
        C_D = C_D + c["C_D_q"] * q_hat + c["C_D_delta_e"] * e
        C_m = C_m + c["C_m_q"] * q_hat + c["C_m_delta_e"] * e
        C_Y, C_l, C_n = (
            c[f"C_{x}_0"] + c[f"C_{x}_beta"] * beta + c[f"C_{x}_p"] * p_hat + c[f"C_{x}_r"] * r_hat
            + c[f"C_{x}_delta_a"] * a + c[f"C_{x}_delta_r"] * r
            for x in "Yln"
        )  # fmt: skip
        pressure = rho / 2 * V**2 * wing.area
        lift, drag = pressure * C_L, pressure * C_D
        thrust, torque = self._propulsion(u[3] if self.motor is not None else None, V)
        force = ca.vertcat(
            -cosine * drag + sine * lift + thrust,
            pressure * C_Y,
            -sine * drag - cosine * lift,
        )
        moment = pressure * ca.vertcat(wing.span * C_l, wing.chord * C_m, wing.span * C_n)
        return ca.vertcat(moment - ca.vertcat(torque, 0, 0), force)

    def _lift(self, alpha: Expression, sine: Expression, cosine: Expression) -> tuple[Expression, Expression]:
        """C_L(α), and its value without a stall, on which the induced drag depends.

        Beyond the stall lift is that of a flat plate, 2 sign(α) sin²α cos α.
        """
        if "C_L" in self.tables:
            lift = self.tables["C_L"].at(alpha)
            return lift, lift
        linear = self.coefficients["C_L_0"] + self.coefficients["C_L_alpha"] * alpha
        # Of the textbook's two sigmoids, the farther one is below exp(-2 M stall) and left out.
        beyond = self.wing.blend * (ca.fabs(alpha) - self.wing.stall)
        stalled = 1 / (1 + ca.exp(-ca.fmin(ca.fmax(beyond, -60), 60)))
        return linear + stalled * (2 * sine * ca.fabs(sine) * cosine - linear), linear

    def _drag(self, alpha: Expression, lift: Expression) -> Expression:
        if "C_D" in self.tables:
            return self.tables["C_D"].at(alpha)
        return self.coefficients["C_D_p"] + lift**2 / (
            math.pi * self.wing.efficiency * self.wing.aspect_ratio
        )

    def _pitching(self, alpha: Expression) -> Expression:
        if "C_m" in self.tables:
            return self.tables["C_m"].at(alpha)
        return self.coefficients["C_m_0"] + self.coefficients["C_m_alpha"] * alpha

    def _propulsion(self, throttle: Expression | None, V: Expression) -> tuple[Expression, Expression]:
        """Thrust and torque where those of motor and propeller balance: a quadratic equation for ω."""
        if throttle is None or self.motor is None or self.propeller is None:
            return ca.SX(0), ca.SX(0)
        motor, propeller, rho = self.motor, self.propeller, self.air.density
        curve = propeller.torque_curve
        assert isinstance(curve, Polynomial)
        c0, c1, c2 = (*curve.coefficients, 0.0, 0.0)[:3]
        D, k, R = 2 * propeller.radius, motor.torque_constant, motor.resistance
        a = rho * D**5 * c0 / (2 * math.pi) ** 2
        b = rho * D**4 * c1 * V / (2 * math.pi) + k**2 / R
        c = rho * D**3 * c2 * V**2 - k * motor.voltage * throttle / R + k * motor.no_load_current
        omega = (-b + ca.sqrt(ca.fmax(b**2 - 4 * a * c, 0))) / (2 * a)
        return propeller.thrust_torque(ca.fmax(omega, 0), V, rho)
