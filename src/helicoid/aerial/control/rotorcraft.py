"""Loops of rotorcraft: attitude, altitude and position in cascade.

Symbols are z up: R is the body's rotation, ω and v its twist in the body, p its position. Angles with names
are aeronautics', z down (see `helicoid.aerial.frames`): roll φ = atan2(R₃₂, R₃₃), pitch θ with sin θ = R₃₁,
yaw ψ with tan ψ = -R₂₁ / R₁₁.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.aerial.control.allocation import allotted_speeds, check_speeds
from helicoid.aerial.control.law import FlightLaw, References, Wanted
from helicoid.aerial.frames import GRAVITY
from helicoid.aerial.multirotor import Multirotor
from helicoid.control.laws.step import Number
from helicoid.control.laws.torque import check_period
from helicoid.errors import InputError
from helicoid.geometry import quaternion

_UPRIGHT = 0.1
"""Least cosine of the tilt that thrust is divided by."""


class RotorcraftLaw(FlightLaw):
    """Base: mass and inertia of all bodies, joints at neutral, and speeds of rotors for a wrench."""

    vehicle: Multirotor

    def __init__(
        self,
        vehicle: Multirotor,
        name: str,
        references: References,
        numbers: Mapping[str, Number],
        memory: Mapping[str, Array] | None = None,
    ) -> None:
        check_speeds(vehicle)
        neutral = vehicle.robot.neutral()
        inertia = np.asarray(vehicle.robot.locked_inertia(neutral, *_theta(vehicle)))
        known = {"mass": Number(vehicle.robot.mass, (), 0.0, above=True), "inertia": Number(inertia, (3, 3))}
        super().__init__(vehicle, name, references, {**numbers, **known}, memory)

    def _speeds(self, thrust: Expression, moments: Expression, memory: Mapping[str, Expression]) -> Wanted:
        speeds, short = allotted_speeds(self.vehicle, ca.vertcat(thrust, moments))
        more = len(self.vehicle.controls) - len(self.vehicle.own_controls)
        return Wanted(ca.vertcat(speeds, ca.SX.zeros(more)), memory, short)

    def _attitude_moments(self, x: Mapping[str, Expression], wanted: Expression) -> Expression:
        """The document's three loops: M = J (ω₀² (χ_d - χ) - 2 ζ ω₀ χ̇), χ = (roll, pitch, yaw), made z up."""
        R, rate = quaternion.to_matrix(x["q"][3:7]), x["v"][:3]
        roll, pitch = ca.atan2(R[2, 1], R[2, 2]), ca.asin(ca.fmin(ca.fmax(R[2, 0], -1), 1))
        yaw = ca.atan2(-R[1, 0], R[0, 0])
        error = wanted - ca.vertcat(roll, pitch, yaw)
        error[2] = ca.atan2(ca.sin(error[2]), ca.cos(error[2]))
        down = ca.vertcat(rate[0], -rate[1], -rate[2])  # E_r = 1 for small angles
        ω, ζ = x["attitude_frequency"], x["attitude_damping"]
        a = ω**2 * error - 2 * ζ * ω * down
        return x["inertia"] @ ca.vertcat(a[0], -a[1], -a[2])


def _theta(vehicle: Multirotor) -> tuple[Array, ...]:
    theta = vehicle.robot.theta
    return (theta.values,) if theta.groups else ()


def _attitude_numbers(frequency: ArrayLike, damping: ArrayLike) -> dict[str, Number]:
    return {
        "attitude_frequency": Number(frequency, (3,), 0.0, above=True),
        "attitude_damping": Number(damping, (3,), 0.0),
    }


class AttitudeControl(RotorcraftLaw):
    """Roll, pitch and yaw by three loops, φ̈ = ω₀² (φ_d - φ) - 2 ζ ω₀ φ̇ and so on, for small angles.

    References: `attitude` (roll, pitch, yaw, rad), `thrust` (N), the weight unless given.

    Args:
        vehicle: whose rotors follow speeds.
        frequency, damping: ω₀ (rad/s) and ζ of roll, pitch and yaw.

    >>> import helicoid as hc
    >>> quad = hc.aerial.load("hummingbird")
    >>> law = hc.aerial.AttitudeControl(quad)
    >>> hover = quad.trim()
    >>> u = law.step(hover.q, hover.v, attitude=[0.1, 0.0, 0.0])
    >>> print(u.round(0), law.status)  # right wing down: the rotor at the left turns faster
    [453. 514. 453. 383.] ok
    """

    def __init__(
        self,
        vehicle: Multirotor,
        frequency: ArrayLike = (15.0, 15.0, 6.0),
        damping: ArrayLike = (0.8, 0.8, 1.0),
    ) -> None:
        check_speeds(vehicle)
        weight = vehicle.robot.mass * GRAVITY
        references: References = {"attitude": ((3,), np.zeros(3)), "thrust": ((), weight)}
        super().__init__(vehicle, "attitude_control", references, _attitude_numbers(frequency, damping))

    def _wanted(self, x: Mapping[str, Expression]) -> Wanted:
        return self._speeds(x["thrust"], self._attitude_moments(x, x["attitude"]), {})


class AltitudeControl(RotorcraftLaw):
    """Height by the thrust's part along z, T_z = m g + m (ω₀² (z_d - z) - 2 ζ ω₀ ż) with z up.

    The thrust is T = T_z / (cos φ cos θ); attitude is that of `AttitudeControl`. References: `height` (m),
    `attitude` (rad).
    """

    def __init__(
        self,
        vehicle: Multirotor,
        frequency: float = 3.0,
        damping: float = 1.0,
        attitude_frequency: ArrayLike = (15.0, 15.0, 6.0),
        attitude_damping: ArrayLike = (0.8, 0.8, 1.0),
    ) -> None:
        numbers = {
            "frequency": Number(frequency, (), 0.0, above=True),
            "damping": Number(damping, (), 0.0),
            **_attitude_numbers(attitude_frequency, attitude_damping),
        }
        references: References = {"height": ((), 0.0), "attitude": ((3,), np.zeros(3))}
        super().__init__(vehicle, "altitude_control", references, numbers)

    def _wanted(self, x: Mapping[str, Expression]) -> Wanted:
        R = quaternion.to_matrix(x["q"][3:7])
        climb = (R @ x["v"][3:6])[2]
        ω, ζ = x["frequency"], x["damping"]
        T_z = x["mass"] * (GRAVITY + ω**2 * (x["height"] - x["q"][2]) - 2 * ζ * ω * climb)
        thrust = T_z / ca.fmax(R[2, 2], _UPRIGHT)
        return self._speeds(thrust, self._attitude_moments(x, x["attitude"]), {})


class PositionControl(RotorcraftLaw):
    """Position by three PID loops for the force, from which roll, pitch and thrust follow; attitude by loops.

    T = m (ω₀² e + 2 ζ ω₀ ė + k ∫e dt + a_d) + m g z, and with the yaw wanted, (sin θ cos φ, -sin φ, cos θ
    cos φ) is T / |T| turned back by it. References: `position`, `velocity`, `acceleration` (3), `yaw`
    (rad).

    Args:
        dt: time between steps (s), where there is an integral.
        integral: k (1/s³) of the integral, below 2 ζ ω₀³.
        max_tilt: most of roll and pitch (rad).
    """

    def __init__(
        self,
        vehicle: Multirotor,
        frequency: ArrayLike = 2.5,
        damping: ArrayLike = 1.0,
        integral: ArrayLike = 0.0,
        dt: float | None = None,
        max_tilt: float = 0.6,
        attitude_frequency: ArrayLike = (15.0, 15.0, 6.0),
        attitude_damping: ArrayLike = (0.8, 0.8, 1.0),
    ) -> None:
        self._dt = check_period(dt)
        if np.any(np.asarray(integral) != 0) and dt is None:
            raise InputError("an integral needs the time between steps: make the law with dt=...")
        numbers = {
            "frequency": Number(frequency, (3,), 0.0, above=True),
            "damping": Number(damping, (3,), 0.0),
            "integral": Number(integral, (3,), 0.0),
            "max_tilt": Number(max_tilt, (), 0.0, above=True),
            **_attitude_numbers(attitude_frequency, attitude_damping),
        }
        zero = np.zeros(3)
        references = {"position": ((3,), zero), "velocity": ((3,), zero), "acceleration": ((3,), zero)}
        memory = {"sum": zero} if dt is not None else {}
        super().__init__(vehicle, "position_control", {**references, "yaw": ((), 0.0)}, numbers, memory)

    def _wanted(self, x: Mapping[str, Expression]) -> Wanted:
        R = quaternion.to_matrix(x["q"][3:7])
        e, e_dot = x["position"] - x["q"][:3], x["velocity"] - R @ x["v"][3:6]
        ω, ζ = x["frequency"], x["damping"]
        a = ω**2 * e + 2 * ζ * ω * e_dot + x["acceleration"] + ca.vertcat(0, 0, GRAVITY)
        memory = {}
        if self._dt is not None:
            a = a + x["integral"] * x["sum"]
            memory["sum"] = ca.fmin(ca.fmax(x["sum"] + self._dt * e, -2), 2)
        up = ca.fmax(a[2], 0.2 * GRAVITY)
        ψ = -x["yaw"]
        ahead, left = ca.cos(ψ) * a[0] + ca.sin(ψ) * a[1], -ca.sin(ψ) * a[0] + ca.cos(ψ) * a[1]
        # z down nose up is back: pitch is against the way ahead; right wing down goes right.
        most = x["max_tilt"]
        pitch = ca.fmax(ca.fmin(-ca.atan2(ahead, up), most), -most)
        roll = ca.fmax(ca.fmin(-ca.atan2(left * ca.cos(pitch), up), most), -most)
        thrust = x["mass"] * up / ca.fmax(R[2, 2], _UPRIGHT)
        wanted = ca.vertcat(roll, pitch, x["yaw"])
        return self._speeds(thrust, self._attitude_moments(x, wanted), memory)
