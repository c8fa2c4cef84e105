"""Cascaded control of rotorcraft: attitude, altitude and position.

Symbols are z up: R is the rotation of the body, ω and v its twist in body axes, p its position. Euler angles
are those of aeronautics, z down (see `helicoid.aerial.frames`): roll φ = atan2(R₃₂, R₃₃), pitch θ with
sin θ = R₃₁, yaw ψ with tan ψ = -R₂₁ / R₁₁.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.aerial.control.allocation import allocated_speeds, check_speeds
from helicoid.aerial.control.law import Command, FlightLaw, References
from helicoid.aerial.frames import GRAVITY
from helicoid.aerial.multirotor import Multirotor
from helicoid.control.laws.step import Number
from helicoid.deprecation import renamed_arguments
from helicoid.errors import InputError
from helicoid.geometry import quaternion

_MIN_TILT_COSINE = 0.1
"""Lower bound of the cosine of the tilt by which thrust is divided."""
_MIN_VERTICAL_ACCELERATION = 0.2 * GRAVITY
_MAX_INTEGRAL = 2.0  # m·s, of the position error
FORMER_NAMES = {"damping": "damping_ratio", "attitude_damping": "attitude_damping_ratio"}


class RotorcraftLaw(FlightLaw):
    """Base of rotorcraft laws: total mass and inertia, and rotor speeds for a thrust and moments.

    The inertia is that of all bodies about the centre of mass, with joints at neutral.
    """

    vehicle: Multirotor

    def __init__(
        self,
        vehicle: Multirotor,
        name: str,
        references: References,
        numbers: Mapping[str, Number],
        memory: Mapping[str, Array] | None = None,
        dt: float | None = None,
    ) -> None:
        check_speeds(vehicle)
        neutral = vehicle.robot.neutral()
        inertia = np.asarray(vehicle.robot.locked_inertia(neutral, *_theta(vehicle)))
        body = {"mass": Number(vehicle.robot.mass, (), 0.0, above=True), "inertia": Number(inertia, (3, 3))}
        super().__init__(vehicle, name, references, {**numbers, **body}, memory, dt)

    def _check(self, numbers: Mapping[str, Array]) -> None:
        J = numbers["inertia"]
        if not np.allclose(J, J.T, rtol=0.0, atol=1e-6 * np.abs(J).max()) or np.linalg.eigvalsh(J)[0] <= 0:
            raise InputError(f"inertia is a symmetric, positive definite 3 × 3 matrix (kg·m²); got {J!r}")

    def _rotor_speeds(
        self, thrust: Expression, moments: Expression, memory: Mapping[str, Expression]
    ) -> Command:
        speeds, saturated = allocated_speeds(self.vehicle, ca.vertcat(thrust, moments))
        n_joints = len(self.vehicle.controls) - len(self.vehicle.own_controls)
        return Command(ca.vertcat(speeds, ca.SX.zeros(n_joints)), memory, saturated)

    def _attitude_moments(
        self, x: Mapping[str, Expression], desired: Expression, ω: Expression, ζ: Expression
    ) -> Expression:
        """M = J (ω₀² (χ_d - χ) - 2 ζ ω₀ χ̇), χ = (roll, pitch, yaw), in axes with z up."""
        R, rate = quaternion.to_matrix(x["q"][3:7]), x["v"][:3]
        roll, pitch = ca.atan2(R[2, 1], R[2, 2]), ca.asin(ca.fmin(ca.fmax(R[2, 0], -1), 1))
        yaw = ca.atan2(-R[1, 0], R[0, 0])
        error = desired - ca.vertcat(roll, pitch, yaw)
        error[2] = ca.atan2(ca.sin(error[2]), ca.cos(error[2]))
        rates = ca.vertcat(rate[0], -rate[1], -rate[2])  # z down; χ̇ = (p, q, r) for small angles
        a = ω**2 * error - 2 * ζ * ω * rates
        return x["inertia"] @ ca.vertcat(a[0], -a[1], -a[2])


def _theta(vehicle: Multirotor) -> tuple[Array, ...]:
    theta = vehicle.robot.theta
    return (theta.values,) if theta.groups else ()


def second_order(
    frequency: ArrayLike, damping_ratio: ArrayLike, prefix: str = "", axes: int = 3
) -> dict[str, Number]:
    """Natural frequency and damping ratio of second-order error dynamics, as numbers of a law."""
    shape = (axes,) if axes > 1 else ()
    return {
        f"{prefix}frequency": Number(frequency, shape, 0.0, above=True),
        f"{prefix}damping_ratio": Number(damping_ratio, shape, 0.0),
    }


def check_integral(integral: ArrayLike, dt: float | None) -> None:
    """Refuse an integral without a period."""
    if np.any(np.asarray(integral) != 0) and dt is None:
        raise InputError("an integral needs the time between steps: make the law with dt=...")


class AttitudeControl(RotorcraftLaw):
    """Attitude control about hover: φ̈ = ω₀² (φ_d - φ) - 2 ζ ω₀ φ̇, and likewise pitch and yaw.

    References: `attitude` (roll, pitch, yaw, rad) and `thrust` (N), by default the weight.

    Args:
        vehicle: a rotorcraft with speed-controlled motors.
        frequency, damping_ratio: ω₀ (rad/s) and ζ of roll, pitch and yaw.

    >>> import helicoid as hc
    >>> quad = hc.aerial.load("hummingbird")
    >>> law = hc.aerial.AttitudeControl(quad)
    >>> hover = quad.trim()
    >>> u = law.step(hover.q, hover.v, attitude=[0.1, 0.0, 0.0])
    >>> print(u.round(0), law.status)  # right wing down: the left rotor turns faster
    [453. 514. 453. 383.] ok
    """

    @renamed_arguments(damping="damping_ratio")
    def __init__(
        self,
        vehicle: Multirotor,
        frequency: ArrayLike = (15.0, 15.0, 6.0),
        damping_ratio: ArrayLike = (0.8, 0.8, 1.0),
    ) -> None:
        check_speeds(vehicle)
        weight = vehicle.robot.mass * GRAVITY
        references: References = {"attitude": ((3,), np.zeros(3)), "thrust": ((), weight)}
        super().__init__(vehicle, "attitude_control", references, second_order(frequency, damping_ratio))

    set = renamed_arguments(attitude_frequency="frequency", attitude_damping="damping_ratio")(FlightLaw.set)

    def _command(self, x: Mapping[str, Expression]) -> Command:
        moments = self._attitude_moments(x, x["attitude"], x["frequency"], x["damping_ratio"])
        return self._rotor_speeds(x["thrust"], moments, {})


class CascadedLaw(RotorcraftLaw):
    """Base of laws with an attitude loop inside; it takes the former names of the damping ratios."""

    set = renamed_arguments(**FORMER_NAMES)(FlightLaw.set)

    def _attitude_loop(self, x: Mapping[str, Expression], desired: Expression) -> Expression:
        return self._attitude_moments(x, desired, x["attitude_frequency"], x["attitude_damping_ratio"])


class AltitudeControl(CascadedLaw):
    """Altitude control by the vertical thrust T_z = m g + m (ω₀² (z_d - z) - 2 ζ ω₀ ż), z up.

    The thrust is T = T_z / (cos φ cos θ); the attitude loop is that of `AttitudeControl`. References:
    `height` (m), `attitude` (rad).

    Args:
        vehicle: a rotorcraft with speed-controlled motors.
        frequency, damping_ratio: ω₀ (rad/s) and ζ of the height.
        attitude_frequency, attitude_damping_ratio: of roll, pitch and yaw.
    """

    @renamed_arguments(**FORMER_NAMES)
    def __init__(
        self,
        vehicle: Multirotor,
        frequency: float = 3.0,
        damping_ratio: float = 1.0,
        attitude_frequency: ArrayLike = (15.0, 15.0, 6.0),
        attitude_damping_ratio: ArrayLike = (0.8, 0.8, 1.0),
    ) -> None:
        numbers = {
            **second_order(frequency, damping_ratio, axes=1),
            **second_order(attitude_frequency, attitude_damping_ratio, "attitude_"),
        }
        references: References = {"height": ((), 0.0), "attitude": ((3,), np.zeros(3))}
        super().__init__(vehicle, "altitude_control", references, numbers)

    def _command(self, x: Mapping[str, Expression]) -> Command:
        R = quaternion.to_matrix(x["q"][3:7])
        z_dot = (R @ x["v"][3:6])[2]
        ω, ζ = x["frequency"], x["damping_ratio"]
        T_z = x["mass"] * (GRAVITY + ω**2 * (x["height"] - x["q"][2]) - 2 * ζ * ω * z_dot)
        thrust = T_z / ca.fmax(R[2, 2], _MIN_TILT_COSINE)
        return self._rotor_speeds(thrust, self._attitude_loop(x, x["attitude"]), {})


class PositionControl(CascadedLaw):
    """Position control by three PID loops, with an attitude loop inside.

    The thrust vector is T = m (ω₀² e + 2 ζ ω₀ ė + k ∫e dt + a_d) + m g z. Rotated back by the desired yaw,
    T / |T| is (sin θ cos φ, -sin φ, cos θ cos φ), from which the desired roll and pitch follow. References:
    `position`, `velocity`, `acceleration` (3 each, world), `yaw` (rad).

    Args:
        vehicle: a rotorcraft with speed-controlled motors.
        frequency, damping_ratio: ω₀ (rad/s) and ζ of the position.
        attitude_frequency, attitude_damping_ratio: of roll, pitch and yaw.
        integral: gain k (1/s³), below 2 ζ ω₀³; it needs `dt`.
        max_tilt: bound of roll and pitch (rad).
        dt: time between steps (s); needed by the integral alone.
    """

    @renamed_arguments(**FORMER_NAMES)
    def __init__(
        self,
        vehicle: Multirotor,
        frequency: ArrayLike = 2.5,
        damping_ratio: ArrayLike = 1.0,
        *,
        attitude_frequency: ArrayLike = (15.0, 15.0, 6.0),
        attitude_damping_ratio: ArrayLike = (0.8, 0.8, 1.0),
        integral: ArrayLike = 0.0,
        max_tilt: float = 0.6,
        dt: float | None = None,
    ) -> None:
        check_integral(integral, dt)
        numbers = {
            **second_order(frequency, damping_ratio),
            **second_order(attitude_frequency, attitude_damping_ratio, "attitude_"),
            "integral": Number(integral, (3,), 0.0),
            "max_tilt": Number(max_tilt, (), 0.0, above=True),
        }
        zero = np.zeros(3)
        references = {"position": ((3,), zero), "velocity": ((3,), zero), "acceleration": ((3,), zero)}
        memory = {"sum": zero} if dt is not None else {}
        super().__init__(vehicle, "position_control", {**references, "yaw": ((), 0.0)}, numbers, memory, dt)

    def _command(self, x: Mapping[str, Expression]) -> Command:
        R = quaternion.to_matrix(x["q"][3:7])
        e, e_dot = x["position"] - x["q"][:3], x["velocity"] - R @ x["v"][3:6]
        ω, ζ = x["frequency"], x["damping_ratio"]
        a = ω**2 * e + 2 * ζ * ω * e_dot + x["acceleration"] + ca.vertcat(0, 0, GRAVITY)
        memory = {}
        if self.period is not None:
            a = a + x["integral"] * x["sum"]
            memory["sum"] = ca.fmin(ca.fmax(x["sum"] + self.period * e, -_MAX_INTEGRAL), _MAX_INTEGRAL)
        up = ca.fmax(a[2], _MIN_VERTICAL_ACCELERATION)
        ψ = -x["yaw"]
        ahead, left = ca.cos(ψ) * a[0] + ca.sin(ψ) * a[1], -ca.sin(ψ) * a[0] + ca.cos(ψ) * a[1]
        # A positive pitch (nose up) accelerates backwards, a positive roll (right side down) to the right.
        limit = x["max_tilt"]
        pitch = ca.fmax(ca.fmin(-ca.atan2(ahead, up), limit), -limit)
        roll = ca.fmax(ca.fmin(-ca.atan2(left * ca.cos(pitch), up), limit), -limit)
        thrust = x["mass"] * up / ca.fmax(R[2, 2], _MIN_TILT_COSINE)
        desired = ca.vertcat(roll, pitch, x["yaw"])
        return self._rotor_speeds(thrust, self._attitude_loop(x, desired), memory)
