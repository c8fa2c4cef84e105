"""Geometric tracking on SE(3): any attitude, upside down too, with rates from differential flatness."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Expression
from helicoid.aerial.control.law import Wanted
from helicoid.aerial.control.rotorcraft import RotorcraftLaw
from helicoid.aerial.frames import GRAVITY
from helicoid.aerial.multirotor import Multirotor
from helicoid.control.laws.step import Number
from helicoid.control.laws.torque import check_period
from helicoid.errors import InputError
from helicoid.geometry import quaternion, so3

_LEAST = 0.05 * GRAVITY  # m/s²: of a force from which a direction is read


class GeometricControl(RotorcraftLaw):
    """Tracking on SE(3) (Lee, Leok, McClamroch 2010), z up.

    With e_p = p - p_d, the force per mass F = a_d - ω₀² e_p - 2 ζ ω₀ e_v - k ∫e_p dt + g z gives the thrust
    m F · R z, and with the yaw wanted the attitude R_d whose z is along F. With e_R = ½ (R_dᵀ R - Rᵀ R_d)^∨,
    which is kept from fading out beyond 150 degrees, and e_ω = ω - Rᵀ R_d ω_d,

        M = J (-ω_R² e_R - 2 ζ_R ω_R e_ω) + ω × J ω - J (ω^ Rᵀ R_d ω_d - Rᵀ R_d ω̇_d).

    ω_d and ω̇_d are those of R_d as F and yaw move: F's rates follow from jerk and snap of the reference and
    from what the thrust does to the errors.

    References: `position`, `velocity`, `acceleration`, `jerk`, `snap` (3 each), `yaw`, `yaw_rate` (rad, z
    down).

    Args:
        vehicle: whose rotors follow speeds.
        frequency, damping: ω₀ (rad/s) and ζ of the position.
        attitude_frequency, attitude_damping: ω_R and ζ_R, of roll, pitch, yaw.
        integral: k (1/s³), below 2 ζ ω₀³; it needs `dt` and is bounded by `integral_limit` (m/s²).
        max_feedback: most that errors may ask for along each axis (m/s²); above g it flips over to come down.
        drag: whether the rotors' hub forces are compensated, as hovering rotors have them.
        wind: that compensation's idea of the wind (m/s, world axes).
        dt: time between steps (s), where there is an integral.

    >>> import helicoid as hc
    >>> quad = hc.aerial.load("hummingbird")
    >>> law = hc.aerial.GeometricControl(quad)
    >>> flight = hc.simulate(quad, duration=3.0, controller=law.following(position=[1.0, 0.5, 2.0]), dt=0.005)
    >>> print(flight.q[-1, :3].round(2))
    [1.  0.5 2. ]
    """

    def __init__(
        self,
        vehicle: Multirotor,
        frequency: ArrayLike = 4.0,
        damping: ArrayLike = 1.0,
        attitude_frequency: ArrayLike = (20.0, 20.0, 8.0),
        attitude_damping: ArrayLike = (0.8, 0.8, 1.0),
        integral: ArrayLike = 0.0,
        integral_limit: float = 3.0,
        max_feedback: float = 0.8 * GRAVITY,
        drag: bool = True,
        wind: ArrayLike = (0.0, 0.0, 0.0),
        dt: float | None = None,
    ) -> None:
        self._dt = check_period(dt)
        if np.any(np.asarray(integral) != 0) and dt is None:
            raise InputError("an integral needs the time between steps: make the law with dt=...")
        numbers = {
            "frequency": Number(frequency, (3,), 0.0, above=True),
            "damping": Number(damping, (3,), 0.0),
            "attitude_frequency": Number(attitude_frequency, (3,), 0.0, above=True),
            "attitude_damping": Number(attitude_damping, (3,), 0.0),
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
        super().__init__(vehicle, "geometric_control", {**references, **angles}, numbers, memory)

    def _wanted(self, x: Mapping[str, Expression]) -> Wanted:
        R, rate, z = quaternion.to_matrix(x["q"][3:7]), x["v"][:3], ca.vertcat(0, 0, 1)
        up = R[:, 2]
        p, v = x["q"][:3], R @ x["v"][3:6]
        k_p, k_v = x["frequency"] ** 2, 2 * x["damping"] * x["frequency"]
        e_p, e_v, memory = p - x["position"], v - x["velocity"], {}
        most, feedback = x["max_feedback"], k_p * e_p + k_v * e_v
        F = x["acceleration"] - ca.fmin(ca.fmax(feedback, -most), most) + GRAVITY * z
        # Where the feedback is cut, it does not change.
        follows = ca.fabs(feedback) < most
        k_p, k_v = follows * k_p, follows * k_v
        if self._dt is not None:
            F = F - x["sum"]
            added = x["sum"] + self._dt * x["integral"] * e_p
            memory["sum"] = ca.fmin(ca.fmax(added, -x["integral_limit"]), x["integral_limit"])
        # Drag of rotors in their plane, as the reference flies: it tilts R_d and not only the thrust.
        body_z = _unit(F)
        through = x["velocity"] - x["wind"]
        F = F + x["drag"] / x["mass"] * (through - ca.dot(through, body_z) * body_z)
        thrust = ca.dot(F, up)
        # Where thrust points elsewhere than F, errors say nothing of how F will go on.
        agree = ca.fmax(0, ca.dot(_unit(F), up)) ** 4
        # How errors go on under that thrust, and so F (Lee 2010, appendix).
        e_a = thrust * up - GRAVITY * z - x["acceleration"]
        F_dot = x["jerk"] - agree * (k_p * e_v + k_v * e_a)
        turning = R @ ca.cross(rate, z)
        thrust_dot = ca.dot(F_dot, up) + ca.dot(F, turning)
        e_j = thrust_dot * up + thrust * turning - x["jerk"]
        F_ddot = x["snap"] - agree * (k_p * e_a + k_v * e_j)
        R_d, ω_d, ω_d_dot = _attitude(F, F_dot, F_ddot, -x["yaw"], -x["yaw_rate"])
        E = R.T @ R_d
        e_R, ahead = _turned(E), E @ ω_d
        ω, ζ, J = x["attitude_frequency"], x["attitude_damping"], x["inertia"]
        wanted = -(ω**2) * e_R - 2 * ζ * ω * (rate - ahead)
        wanted = wanted - ca.cross(rate, ahead) + E @ ω_d_dot
        moments = J @ wanted + ca.cross(rate, J @ rate)
        return self._speeds(x["mass"] * thrust, moments, memory)


def _turned(E: Expression) -> Expression:
    """½ (Eᵀ - E)^∨ of a rotation by θ: the sine of θ along its axis, and of more than 150 degrees ½.

    By itself it fades out towards half a turn, where it has no direction: there the first axis stands in.
    """
    error, behind = so3.vee((E.T - E) / 2), 1 + ca.trace(E)  # behind is 2 + 2 cos θ
    first = ca.if_else(behind < 1e-4, ca.if_else(error[0] < 0, -0.01, 0.01), 0)
    error = error + ca.vertcat(first, 0, 0)
    more = ca.fmax(1, 0.5 / ca.sqrt(ca.sumsqr(error) + 1e-12))
    return ca.if_else(behind < 1, more, 1) * error


def _hover_drag(vehicle: Multirotor) -> float:
    """Force of all hubs for each m/s across them, in hover (N·s/m)."""
    speeds = vehicle._hover_speeds
    return float(sum(rotor.propeller.hub_drag * speeds[k] for k, rotor in enumerate(vehicle.rotors)))


def _unit(vector: Expression) -> Expression:
    return vector * _per_size(vector)


def _per_size(vector: Expression) -> Expression:
    """1/|vector|, as a root: products with a quotient would become a division each."""
    return ca.sqrt(1 / (ca.sumsqr(vector) + 1e-12))


def _attitude(
    F: Expression, F_dot: Expression, F_ddot: Expression, psi: Expression, psi_dot: Expression
) -> tuple[Expression, Expression, Expression]:
    """R_d whose z is along F and whose y is across `ahead`, ω_d and ω̇_d as F and ψ move at a steady rate.

    With F = s z, ż = (ω_y, -ω_x, 0) along the axes of R_d is (Ḟ - ṡ z)/s, and once more for z̈. The third
    rate keeps y · a = 0, a = (cos ψ, sin ψ, 0): (ω × y) · a + y · ȧ = 0, and its derivative.
    """
    # A force of nearly nothing has no direction: up stands in for it.
    force = F + ca.fmax(0, _LEAST - ca.sqrt(ca.sumsqr(F) + 1e-12)) * ca.vertcat(0, 0, 1)
    per_size = _per_size(force)
    z = force * per_size
    ahead, aside = ca.vertcat(ca.cos(psi), ca.sin(psi), 0), ca.vertcat(-ca.sin(psi), ca.cos(psi), 0)
    y = _unit(ca.cross(z, ahead))
    R_d = ca.horzcat(ca.cross(y, z), y, z)
    first, second, a = R_d.T @ F_dot * per_size, R_d.T @ F_ddot * per_size, R_d.T @ ahead
    a_dot, per_a = R_d.T @ aside * psi_dot, 1 / ca.fmax(a[0], 1e-9)
    ω_x, ω_y, growth = -first[1], first[0], first[2]  # growth is ṡ/s
    ω_z = (ω_x * a[2] + a_dot[1]) * per_a
    ω_x_dot = ω_y * ω_z - second[1] - 2 * growth * ω_x
    ω_y_dot = second[0] - 2 * growth * ω_y - ω_x * ω_z
    bent = a[2] * (ω_x_dot + ω_y * ω_z) + 2 * (ω_x * a_dot[2] - ω_z * a_dot[0])
    return R_d, ca.vertcat(ω_x, ω_y, ω_z), ca.vertcat(ω_x_dot, ω_y_dot, ω_x * ω_y + bent * per_a)
