"""Geometric tracking control on SE(3), valid at any attitude, with rates from differential flatness."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.aerial.control.gains import position_frequency, second_order_polynomial
from helicoid.aerial.control.law import Command
from helicoid.aerial.control.rotorcraft import (
    FORMER_NAMES,
    CascadedLaw,
    check_integral,
    default_frequencies,
    level,
    second_order,
)
from helicoid.aerial.frames import GRAVITY
from helicoid.aerial.multirotor import Multirotor
from helicoid.control.laws.step import Number
from helicoid.deprecation import renamed_arguments
from helicoid.geometry import quaternion, so3

_NOMINAL = (20.0, 20.0, 8.0)  # rad/s, of roll, pitch and yaw with small lags
_NOMINAL_POSITION = 4.0  # rad/s
_MIN_SPECIFIC_FORCE = 0.05 * GRAVITY
"""Specific force (m/s²) below which the thrust direction is taken as up."""


class GeometricControl(CascadedLaw):
    """Geometric tracking control on SE(3) (Lee, Leok, McClamroch 2010), z up.

    With e_p = p - p_d of the centre of mass, the specific force F = a_d - ω₀² e_p - 2 ζ ω₀ e_v - k ∫e_p dt +
    g z gives the thrust m F · R z. The desired attitude R_d has its z axis along F and the desired yaw.
    With the attitude error e_R = ½ (R_dᵀ R - Rᵀ R_d)^∨, bounded below beyond 150 degrees, and
    e_ω = ω - Rᵀ R_d ω_d,

        M = J (-ω_R² e_R - 2 ζ_R ω_R e_ω) + ω × J ω - J (ω^ Rᵀ R_d ω_d - Rᵀ R_d ω̇_d).

    ω_d and ω̇_d are the derivatives of R_d: those of F follow from jerk and snap of the reference and from
    the closed-loop dynamics of the errors.

    References: `position`, `velocity`, `acceleration`, `jerk`, `snap` (3 each), `yaw`, `yaw_rate` (rad, z
    down).

    Args:
        vehicle: a rotorcraft with speed-controlled motors.
        frequency, damping_ratio: ω₀ (rad/s) and ζ of the position;
            by default ω₀ = 4 or lower, a fifth of ω_R.
        attitude_frequency, attitude_damping_ratio: ω_R (rad/s) and ζ_R of roll, pitch, yaw. By default ω_R is
            (20, 20, 8) or lower: at most 1/(3 τ) for a motor lag τ, and √(α_max / 0.2 rad) for an available
            angular acceleration α_max. Every mode then has a damping ratio of 0.47 or more, and the
            attitude loop a phase margin of 41 degrees. Gains that are unstable with the lag are refused.
        integral: gain k (1/s³), below 2 ζ ω₀³; it needs `dt`, and its term is bounded by `integral_limit`
            (m/s²).
        max_feedback: bound of the feedback along each axis (m/s²); above g the vehicle may flip to descend.
        drag: whether the drag of the rotor hubs is compensated, with its coefficient in hover.
        wind: mean wind that the drag compensation assumes (m/s, world axes).
        dt: time between steps (s); needed by the integral alone.

    >>> import helicoid as hc
    >>> quad = hc.aerial.load("hummingbird")
    >>> law = hc.aerial.GeometricControl(quad)
    >>> flight = hc.simulate(quad, duration=3.0, controller=law.following(position=[1.0, 0.5, 2.0]), dt=0.005)
    >>> print(flight.q[-1, :3].round(2))
    [1.  0.5 2. ]
    """

    @renamed_arguments(**FORMER_NAMES)
    def __init__(
        self,
        vehicle: Multirotor,
        frequency: ArrayLike | None = None,
        damping_ratio: ArrayLike = 1.0,
        attitude_frequency: ArrayLike | None = None,
        attitude_damping_ratio: ArrayLike = (0.8, 0.8, 1.0),
        integral: ArrayLike = 0.0,
        integral_limit: float = 3.0,
        max_feedback: float = 0.8 * GRAVITY,
        drag: bool = True,
        wind: ArrayLike = (0.0, 0.0, 0.0),
        dt: float | None = None,
    ) -> None:
        check_integral(integral, dt)
        attitude = default_frequencies(vehicle, attitude_frequency, _NOMINAL)
        if frequency is None:
            frequency = position_frequency(attitude, _NOMINAL_POSITION, _NOMINAL[0])
        numbers = {
            **second_order(frequency, damping_ratio),
            **second_order(attitude, attitude_damping_ratio, "attitude_"),
            "integral": Number(integral, (3,), 0.0),
            "integral_limit": Number(integral_limit, (), 0.0),
            "max_feedback": Number(max_feedback, (), 0.0, above=True),
            "drag": Number(_hover_drag(vehicle) if drag else 0.0, (), 0.0),
            "wind": Number(wind, (3,)),
        }
        zero = np.zeros(3)
        names = ("position", "velocity", "acceleration", "jerk", "snap")
        references = {name: ((3,), zero) for name in names}
        memory = {"sum": zero} if dt is not None else {}
        angles = {"yaw": ((), 0.0), "yaw_rate": ((), 0.0)}
        super().__init__(vehicle, "geometric_control", {**references, **angles}, numbers, memory, dt)

    def _characteristics(self, numbers: Mapping[str, Array]) -> list[tuple[str, Array]]:
        found = super()._characteristics(numbers)
        names = "frequency, integral and attitude_frequency with their damping ratios"
        for k, i in ((0, 0), (0, 1), (1, 0), (1, 1)):  # position along k, attitude about i
            gains = numbers["attitude_frequency"][i], numbers["attitude_damping_ratio"][i]
            position = second_order_polynomial(numbers["frequency"][k], numbers["damping_ratio"][k])
            loop = np.append(position, numbers["integral"][k])
            found.append((names, self._lagged(np.polymul(second_order_polynomial(*gains), loop))))
        return found

    def _command(self, x: Mapping[str, Expression]) -> Command:
        R, rate, z = quaternion.to_matrix(x["q"][3:7]), x["v"][:3], ca.vertcat(0, 0, 1)
        up = R[:, 2]
        c, velocity = self._center(x)
        # Where the yaw changes, the reference of the centre of mass turns about that of the root.
        c_d, ψ_dot = level(-x["yaw"]) @ c, -x["yaw_rate"]
        turned, flat = ψ_dot * ca.cross(z, c_d), ca.vertcat(c_d[0], c_d[1], 0)
        p_d, v_d = x["position"] + c_d, x["velocity"] + turned
        a_d, jerk = x["acceleration"] - ψ_dot**2 * flat, x["jerk"] - ψ_dot**2 * turned
        snap = x["snap"] + ψ_dot**4 * flat
        p, v = x["q"][:3] + R @ c, R @ velocity
        k_p, k_v = x["frequency"] ** 2, 2 * x["damping_ratio"] * x["frequency"]
        e_p, e_v, memory = p - p_d, v - v_d, {}
        limit, feedback = x["max_feedback"], k_p * e_p + k_v * e_v
        F = a_d - ca.fmin(ca.fmax(feedback, -limit), limit) + GRAVITY * z
        # The derivative of a clipped feedback is zero.
        unclipped = ca.fabs(feedback) < limit
        k_p, k_v = unclipped * k_p, unclipped * k_v
        if self.period is not None:
            F = F - x["sum"]
            integrated = x["sum"] + self.period * x["integral"] * e_p
            memory["sum"] = ca.fmin(ca.fmax(integrated, -x["integral_limit"]), x["integral_limit"])
        # Rotor drag in the disc plane at the reference velocity: it tilts R_d and not only the thrust.
        body_z = _unit(F)
        airspeed = v_d - x["wind"]
        F = F + x["drag"] / x["mass"] * (airspeed - ca.dot(airspeed, body_z) * body_z)
        thrust = ca.dot(F, up)
        # Where the thrust is not along F, the error dynamics do not predict the derivatives of F.
        alignment = ca.fmax(0, ca.dot(_unit(F), up)) ** 4
        # Derivatives of the errors under that thrust, and so of F (Lee 2010, appendix).
        e_a = thrust * up - GRAVITY * z - a_d
        F_dot = jerk - alignment * (k_p * e_v + k_v * e_a)
        up_dot = R @ ca.cross(rate, z)
        thrust_dot = ca.dot(F_dot, up) + ca.dot(F, up_dot)
        e_j = thrust_dot * up + thrust * up_dot - jerk
        F_ddot = snap - alignment * (k_p * e_a + k_v * e_j)
        R_d, ω_d, ω_d_dot = _attitude(F, F_dot, F_ddot, -x["yaw"], -x["yaw_rate"])
        E = R.T @ R_d
        e_R, ω_ff = _attitude_error(E), E @ ω_d
        ω, ζ, J = x["attitude_frequency"], x["attitude_damping_ratio"], x["inertia"]
        ω_dot = -(ω**2) * e_R - 2 * ζ * ω * (rate - ω_ff)
        ω_dot = ω_dot - ca.cross(rate, ω_ff) + E @ ω_d_dot
        moments = J @ ω_dot + ca.cross(rate, J @ rate)
        return self._rotor_speeds(x, x["mass"] * thrust, moments, memory)


def _attitude_error(E: Expression) -> Expression:
    """½ (Eᵀ - E)^∨ of a rotation E by θ: the axis times sin θ, and times at least ½ beyond 150 degrees.

    sin θ vanishes towards θ = 180 degrees; where the axis is undetermined, the x axis is taken.
    """
    error, cosine_term = so3.vee((E.T - E) / 2), 1 + ca.trace(E)  # 2 + 2 cos θ
    offset = ca.if_else(cosine_term < 1e-4, ca.if_else(error[0] < 0, -0.01, 0.01), 0)
    error = error + ca.vertcat(offset, 0, 0)
    factor = ca.fmax(1, 0.5 / ca.sqrt(ca.sumsqr(error) + 1e-12))
    return ca.if_else(cosine_term < 1, factor, 1) * error


def _hover_drag(vehicle: Multirotor) -> float:
    """Drag of all rotor hubs per m/s of airspeed in the disc plane, in hover (N·s/m)."""
    speeds = vehicle._hover_speeds
    return float(sum(rotor.propeller.hub_drag * speeds[k] for k, rotor in enumerate(vehicle.rotors)))


def _unit(vector: Expression) -> Expression:
    return vector * _inverse_norm(vector)


def _inverse_norm(vector: Expression) -> Expression:
    """1/|vector|, as a root: products with a quotient would become a division each."""
    return ca.sqrt(1 / (ca.sumsqr(vector) + 1e-12))


def _attitude(
    F: Expression, F_dot: Expression, F_ddot: Expression, psi: Expression, psi_dot: Expression
) -> tuple[Expression, Expression, Expression]:
    """Desired attitude R_d with z along F and y perpendicular to the heading a; ω_d and ω̇_d, for constant ψ̇.

    With F = s z, ż = (ω_y, -ω_x, 0) in the axes of R_d is (Ḟ - ṡ z)/s, and likewise z̈. The third rate
    follows from y · a = 0, a = (cos ψ, sin ψ, 0): (ω × y) · a + y · ȧ = 0, and its derivative.
    """
    # A force near zero has no direction: it is taken as upwards.
    force = F + ca.fmax(0, _MIN_SPECIFIC_FORCE - ca.sqrt(ca.sumsqr(F) + 1e-12)) * ca.vertcat(0, 0, 1)
    inverse = _inverse_norm(force)
    z = force * inverse
    heading, left = ca.vertcat(ca.cos(psi), ca.sin(psi), 0), ca.vertcat(-ca.sin(psi), ca.cos(psi), 0)
    y = _unit(ca.cross(z, heading))
    R_d = ca.horzcat(ca.cross(y, z), y, z)
    first, second, a = R_d.T @ F_dot * inverse, R_d.T @ F_ddot * inverse, R_d.T @ heading
    a_dot, per_a = R_d.T @ left * psi_dot, 1 / ca.fmax(a[0], 1e-9)
    ω_x, ω_y, growth = -first[1], first[0], first[2]  # growth is ṡ/s
    ω_z = (ω_x * a[2] + a_dot[1]) * per_a
    ω_x_dot = ω_y * ω_z - second[1] - 2 * growth * ω_x
    ω_y_dot = second[0] - 2 * growth * ω_y - ω_x * ω_z
    rotated = a[2] * (ω_x_dot + ω_y * ω_z) + 2 * (ω_x * a_dot[2] - ω_z * a_dot[0])
    return R_d, ca.vertcat(ω_x, ω_y, ω_z), ca.vertcat(ω_x_dot, ω_y_dot, ω_x * ω_y + rotated * per_a)
