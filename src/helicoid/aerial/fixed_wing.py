"""Fixed-wing aircraft: aerodynamic coefficients with a stall model, a propeller and its motor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.aerial.air import Air, Wind
from helicoid.aerial.analysis.formulas import stall_speed
from helicoid.aerial.analysis.trim import Trim
from helicoid.aerial.checks import is_number
from helicoid.aerial.coefficients import AXES, Wing, read_coefficients, read_tables
from helicoid.aerial.frames import FLIP, GRAVITY
from helicoid.aerial.propulsion.curve import Polynomial
from helicoid.aerial.propulsion.electric import propeller_thrust
from helicoid.aerial.propulsion.jet import Jet
from helicoid.aerial.propulsion.motor import ElectricMotor
from helicoid.aerial.propulsion.propeller import Propeller
from helicoid.aerial.table import Table
from helicoid.aerial.vehicle import Vehicle, body_robot, inertia_matrix
from helicoid.deprecation import former_attribute
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation.equations.actuated import dynamics

SURFACES = ("elevator", "aileron", "rudder")


def _deflections(given: float | Mapping[str, float]) -> dict[str, float]:
    bounds = given if isinstance(given, Mapping) else dict.fromkeys(SURFACES, given)
    if set(bounds) != set(SURFACES) or not all(is_number(x) and 0 < x < np.pi / 2 for x in bounds.values()):
        raise InputError(f"deflection is between 0 and π/2 (rad), for {', '.join(SURFACES)}; got {given!r}")
    return {name: float(bounds[name]) for name in SURFACES}


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
        coefficients: by name: all of `LONGITUDINAL` and `LATERAL` in `helicoid.aerial.coefficients`, and any
            of `OPTIONAL`, such as C_m_alpha_dot; C_D_alpha replaces the induced drag.
        tables: "C_L", "C_D" or "C_m" over α, (angles, values) each, in place of C_L(α), C_D(α) and C_m_0 +
            C_m_alpha α; the coefficients of `TABLES` are then not given. Interpolation is monotone cubic,
            extrapolation linear; a table of lift stalls at its maximum. A `Table` over α, β, Mach number
            and deflections, multilinear, may stand for any coefficient, such as "C_l", and any derivative,
            such as "C_l_delta_a" or "C_m_q"; "C_X" and "C_Z" are forces in body axes in place of lift and
            drag.
        propeller, motor: of the thrust along x, a polynomial propeller and an `ElectricMotor`.
        engine: in place of both a `Jet`; without any the aircraft is a glider.
        deflection: bound of every control surface (rad), or of each by name: elevator, aileron, rudder.
        moment_reference: point of the moment coefficients, from the centre of mass, z down (m).
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
        tables: Mapping[str, tuple[ArrayLike, ArrayLike] | Table] | None = None,
        propeller: Propeller | None = None,
        motor: ElectricMotor | None = None,
        engine: Jet | None = None,
        deflection: float | Mapping[str, float] = 0.7,
        moment_reference: ArrayLike = (0.0, 0.0, 0.0),
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
        reference = np.asarray(moment_reference, np.float64)
        if reference.shape != (3,) or not np.isfinite(reference).all():
            raise InputError(f"moment_reference is three finite numbers (m); got {moment_reference!r}")
        self.moment_reference = reference
        self.wing, self.deflections = wing, _deflections(deflection)
        self.tables = read_tables(tables or {})
        self.coefficients = read_coefficients(coefficients, self.tables)
        if (propeller is None) != (motor is None):
            raise InputError("a propeller and the motor that turns it come together: give both, or neither")
        if motor is not None and not isinstance(motor, ElectricMotor):
            raise InputError(f"the motor of a FixedWing is an ElectricMotor(...); got {motor!r}")
        if propeller is not None and not isinstance(getattr(propeller, "torque_curve", None), Polynomial):
            raise InputError("an aircraft's propeller has polynomials over J: Propeller.from_polynomial(...)")
        if engine is not None and (motor is not None or not isinstance(engine, Jet)):
            raise InputError(f"engine is hc.aerial.Jet(...), in place of propeller and motor; got {engine!r}")
        self.propeller, self.motor, self.engine = propeller, motor, engine

    @property
    def own_controls(self) -> Mapping[str, tuple[float, float]]:
        """Deflections of the control surfaces (rad) and throttle."""
        limits = {name: (-bound, bound) for name, bound in self.deflections.items()}
        return {**limits, "throttle": (0.0, 1.0)} if self.has_propulsion else limits

    @property
    def has_propulsion(self) -> bool:
        """Whether there is a motor or an engine; without one it is a glider."""
        return self.motor is not None or self.engine is not None

    @property
    def glides(self) -> bool:  # type: ignore[override]
        """Whether it has no propulsion: a glider."""
        return not self.has_propulsion

    @property
    def own_states(self) -> Mapping[str, float]:
        """Setting of an engine with a lag; the speed of an electric motor is quasi-static."""
        return {"engine": 0.5} if self.engine is not None and self.engine.lag else {}

    def _guess(self, speed: float) -> Array:
        return np.array([0.0, 0.0, 0.0, 0.5])[: len(self.own_controls)]

    def _limit_reasons(self, trim: Trim) -> list[str]:
        load = self.robot.mass * GRAVITY * math.hypot(1.0, trim.speed * trim.turn_rate / GRAVITY)
        needed = load / max(float(self.air.density_at(trim.q[2])) / 2 * trim.speed**2 * self.wing.area, 1e-9)
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
        if not {"C_L", "C_Z"} & set(self.tables):
            return self.wing.stall
        return float(self._angles[np.argmax(self.lift_coefficient(self._angles))])

    @property
    def _angles(self) -> Array:
        table = self.tables.get("C_L") or self.tables.get("C_Z")
        top = np.pi / 2
        if isinstance(table, Table):
            top = table.axes[table.over.index("alpha")][-1] if "alpha" in table.over else top
        elif table is not None:
            top = table.J[-1]
        return np.linspace(0.0, top, 1000)

    def lift_coefficient(self, alpha: ArrayLike) -> Array:
        """C_L(α), without the terms of rates and elevator."""
        a = ca.SX.sym("alpha")
        x = {**dict.fromkeys(AXES, ca.SX(0)), "alpha": a}
        if "C_X" in self.tables:
            lift = self._tabled("C_X", x) * ca.sin(a) - self._tabled("C_Z", x) * ca.cos(a)
        else:
            lift, _ = self._lift(x, ca.sin(a), ca.cos(a))
        given = np.asarray(alpha, np.float64)
        found = ca.Function("lift", [a], [lift])(given.reshape(1, -1))
        return np.asarray(found.full().reshape(given.shape))

    @property
    def stall_speed(self) -> float:
        """Slowest level flight, at the maximum lift coefficient (m/s)."""
        return float(stall_speed(self.robot.mass, self.wing.area, self.max_lift, self.air.density))

    # Forces -----------------------------------------------------------------------------------------------

    def _air_forces(
        self, q: Expression, v: Expression, z: Expression, u: Expression
    ) -> tuple[Mapping[str, Expression], Expression]:
        z_dot = ca.SX(0, 1)
        if self.engine is not None and self.engine.lag:
            z_dot = (u[3] - z[0]) / self.engine.lag
        return {self.robot.model.root: self._root_wrench(q, v, z, u)}, z_dot

    def _root_wrench(
        self,
        q: Expression,
        v: Expression,
        z: Expression,
        u: Expression,
        dots: tuple[int, int] | None = None,
    ) -> Expression:
        """Wrench (n, f) on the root about its origin, z up."""
        flow, F = self.flow(q, v, z, self.robot.model.root), ca.SX(FLIP)
        given = None if dots is None else ca.SX(list(dots))
        wrench = self._wrench(F @ flow.velocity, F @ flow.rate, u, z, flow.height, given)
        moment, force = F @ wrench[:3], F @ wrench[3:]
        center = self._center
        if np.any(center):
            moment = moment + ca.cross(ca.SX(center), force)
        return ca.vertcat(moment, force)

    @property
    def _center(self) -> Array:
        """Reference point of the moments in the root's frame: its centre of mass."""
        link = self.robot.model.link(self.robot.model.root)
        return np.zeros(3) if link.inertia is None else np.asarray(link.inertia.com)

    def _wrench(
        self,
        velocity: Expression,
        rate: Expression,
        u: Expression,
        z: Expression,
        height: Expression,
        dots: Expression | None = None,
    ) -> Expression:
        """(n, f) about the centre of mass for a velocity relative to the air and rates (p, q, r), z down.

        `dots` are α̇ and β̇ (rad/s), for the coefficients that depend on them; None for zero.
        """
        wing, rho = self.wing, self.air.density_at(height)
        V = ca.sqrt(ca.sumsqr(velocity) + 1e-8)
        ahead = ca.sqrt(velocity[0] ** 2 + velocity[2] ** 2 + 1e-12)
        sine, cosine = velocity[2] / ahead, velocity[0] / ahead  # of alpha
        alpha, beta = ca.atan2(velocity[2], velocity[0]), ca.asin(velocity[1] / V)
        per_chord, per_span = wing.chord / (2 * V), wing.span / (2 * V)
        x = {
            "alpha": alpha,
            "beta": beta,
            "mach": V / self.air.sound_speed_at(height),
            **{"delta_e": u[0], "delta_a": u[1], "delta_r": u[2]},
            **{"p": per_span * rate[0], "q": per_chord * rate[1], "r": per_span * rate[2]},
            **{"alpha2": alpha**2, "beta2": beta**2},
        }
        if dots is not None:
            x |= {"alpha_dot": per_chord * dots[0], "beta_dot": per_span * dots[1]}
        C_Y, C_l, C_n = (self._sum(name, x, ("0", "beta")) for name in "Yln")
        C_m = self._sum("m", x, ("0", "alpha"))
        pressure = rho / 2 * V**2 * wing.area
        thrust, torque = self._propulsion(u[3] if self.has_propulsion else None, z, x, V, height)
        if "C_X" in self.tables:
            C_X, C_Z = self._sum("X", x, ()), self._sum("Z", x, ())
            force = pressure * ca.vertcat(C_X, C_Y, C_Z)
        else:
            C_L, linear = self._lift(x, sine, cosine)
            lift = pressure * self._with_derivatives(C_L, "L", x, ("0", "alpha"))
            drag = pressure * self._with_derivatives(self._drag(x, linear), "D", x, ("p", "alpha"))
            force = ca.vertcat(-cosine * drag + sine * lift, pressure * C_Y, -sine * drag - cosine * lift)
        moment = pressure * ca.vertcat(wing.span * C_l, wing.chord * C_m, wing.span * C_n)
        if np.any(self.moment_reference):
            moment = moment + ca.cross(ca.SX(self.moment_reference), force)
        moment, force = moment - ca.vertcat(torque, 0, 0), force + ca.vertcat(thrust, 0, 0)
        if self.engine is not None and self.engine.angular_momentum:
            moment = moment - ca.cross(rate, ca.vertcat(self.engine.angular_momentum, 0, 0))
        return ca.vertcat(moment, force)

    def _sum(self, name: str, x: Mapping[str, Expression], static: tuple[str, ...]) -> Expression:
        """C of the quantities x: its table, or its static part from numbers, and all derivatives."""
        if f"C_{name}" in self.tables:
            return self._with_derivatives(self._tabled(f"C_{name}", x), name, x, static)
        numbers = {"0": ca.SX(1), **x}
        c = sum((self.coefficients[f"C_{name}_{k}"] * numbers[k] for k in static), ca.SX(0))
        return self._with_derivatives(c, name, x, static)

    def _with_derivatives(
        self, c: Expression, name: str, x: Mapping[str, Expression], static: tuple[str, ...]
    ) -> Expression:
        for key, quantity in x.items():
            derivative = f"C_{name}_{key}"
            if derivative in self.tables:
                c = c + self._tabled(derivative, x) * quantity
            elif key not in static and derivative in self.coefficients:
                value = self.coefficients[derivative]
                c = c if isinstance(value, float) and value == 0 else c + value * quantity
        return c

    def _tabled(self, name: str, x: Mapping[str, Expression]) -> Expression:
        table = self.tables[name]
        return table.at(x) if isinstance(table, Table) else table.at(x["alpha"])

    def _lift(
        self, x: Mapping[str, Expression], sine: Expression, cosine: Expression
    ) -> tuple[Expression, Expression]:
        """C_L(α), and its value without a stall, on which the induced drag depends.

        Beyond the stall lift is that of a flat plate, 2 sign(α) sin²α cos α.
        """
        if "C_L" in self.tables:
            lift = self._tabled("C_L", x)
            return lift, lift
        alpha = x["alpha"]
        linear = self.coefficients["C_L_0"] + self.coefficients["C_L_alpha"] * alpha
        # Of the textbook's two sigmoids, the farther one is below exp(-2 M stall) and left out.
        beyond = self.wing.blend * (ca.fabs(alpha) - self.wing.stall)
        stalled = 1 / (1 + ca.exp(-ca.fmin(ca.fmax(beyond, -60), 60)))
        return linear + stalled * (2 * sine * ca.fabs(sine) * cosine - linear), linear

    def _drag(self, x: Mapping[str, Expression], lift: Expression) -> Expression:
        if "C_D" in self.tables:
            return self._tabled("C_D", x)
        if "C_D_alpha" in self.coefficients:
            return self.coefficients["C_D_p"] + self.coefficients["C_D_alpha"] * x["alpha"]
        return self.coefficients["C_D_p"] + lift**2 / (
            math.pi * self.wing.efficiency * self.wing.aspect_ratio
        )

    def _propulsion(
        self,
        throttle: Expression | None,
        z: Expression,
        x: Mapping[str, Expression],
        V: Expression,
        height: Expression,
    ) -> tuple[Expression, Expression]:
        """Thrust and torque: of the jet, or where those of motor and propeller balance."""
        rho = self.air.density_at(height)
        if self.engine is not None:
            setting = z[0] if self.engine.lag else throttle
            return self.engine.at({**x, "throttle": setting, "altitude": height}, rho), ca.SX(0)
        if throttle is None or self.motor is None or self.propeller is None:
            return ca.SX(0), ca.SX(0)
        return propeller_thrust(self.propeller, self.motor, throttle, V, rho)

    # Terms of α̇ and β̇ ---------------------------------------------------------------------------------------

    @cached_property
    def _unsteady(self) -> bool:
        names = (*self.coefficients, *self.tables)
        return any(name.endswith(("alpha_dot", "beta_dot")) for name in names)

    def equations(
        self, q: Expression, v: Expression, z: Expression, u: Expression, w: Expression
    ) -> tuple[Expression, Expression]:
        """Generalised force (nv) of air, propulsion and joint torques, and ż, as expressions.

        Forces that depend on ξ = (α̇, β̇) make the equations implicit, M v̇ + h = f + G ξ with ξ = C v̇ + d. Both
        are linear: (1 - C M⁻¹ G) ξ = C M⁻¹ (f - h) + d, two equations that are solved exactly.
        """
        force, z_dot = super().equations(q, v, z, u, w)
        if not self._unsteady:
            return force, z_dot
        robot, root = self.robot, self.robot.model.root
        theta, F, flow = ca.SX(robot.theta.values), ca.SX(FLIP), self.flow(q, v, z, root)
        J, steady = self._jacobian(q, root), self._root_wrench(q, v, z, u)
        G = J.T @ ca.horzcat(*(self._root_wrench(q, v, z, u, unit) - steady for unit in ((1, 0), (0, 1))))
        a = dynamics(robot)(q, v, force, theta)
        per_rate = ca.horzcat(*(dynamics(robot)(q, v, force + G[:, k], theta) - a for k in range(2)))
        b = F @ flow.velocity  # u, v, w
        across, V2 = b[0] ** 2 + b[2] ** 2 + 1e-12, ca.sumsqr(b) + 1e-8
        side = b[1] / (V2 * ca.sqrt(across))
        rows = ca.vertcat(
            ca.horzcat(-b[2], 0, b[0]) / across,
            ca.horzcat(-b[0] * side, ca.sqrt(across) / V2, -b[2] * side),
        )
        # Derivative of the velocity relative to the air, in body axes, in a wind that is constant in space.
        turning = ca.cross(v[:3], v[3:6] - flow.velocity)
        C = rows @ F @ J[3:6, :]
        xi = ca.solve(ca.SX.eye(2) - C @ per_rate, C @ a + rows @ F @ turning)
        return force + G @ xi, z_dot
