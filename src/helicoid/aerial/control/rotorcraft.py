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
from helicoid.aerial.control.gains import (
    attitude_frequencies,
    check_stable,
    motor_lag,
    position_frequency,
    second_order_polynomial,
)
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
NOMINAL = (15.0, 15.0, 6.0)
"""Natural frequencies of roll, pitch and yaw (rad/s) of vehicles with small lags."""
_NOMINAL_POSITION, _NOMINAL_ALTITUDE = 2.5, 3.0  # rad/s
FORMER_NAMES = {"damping": "damping_ratio", "attitude_damping": "attitude_damping_ratio"}


class RotorcraftLaw(FlightLaw):
    """Base of rotorcraft laws: mass, centre of mass and inertia, and rotor speeds for a thrust and moments.

    The inertia is that of all bodies about the centre of mass, with joints at neutral. Laws control the
    motion of the centre of mass. References are those of the root's origin, as q is: the reference of the
    centre of mass lies `center_of_mass` from it, at the desired yaw and level. So the root is at its
    reference in hover, and moves about the centre of mass where the vehicle tilts.
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
        self._lag, self._neutral_center = motor_lag(vehicle), center_of_mass(vehicle)
        body = {
            "mass": Number(vehicle.robot.mass, (), 0.0, above=True),
            "inertia": Number(inertia_about_center(vehicle), (3, 3)),
            "center_of_mass": Number(self._neutral_center, (3,)),
        }
        self._check_stability({key: number.read(key, number.value) for key, number in numbers.items()})
        super().__init__(vehicle, name, references, {**numbers, **body}, memory, dt)

    def _check(self, numbers: Mapping[str, Array]) -> None:
        J = numbers["inertia"]
        if not np.allclose(J, J.T, rtol=0.0, atol=1e-6 * np.abs(J).max()) or np.linalg.eigvalsh(J)[0] <= 0:
            raise InputError(f"inertia is a symmetric, positive definite 3 × 3 matrix (kg·m²); got {J!r}")
        self._check_stability(numbers)

    def _check_stability(self, numbers: Mapping[str, Array]) -> None:
        """Refuse gains that are unstable with the lag of the motors."""
        for what, polynomial in self._characteristics(numbers):
            check_stable(what, polynomial, self._lag)

    def _characteristics(self, numbers: Mapping[str, Array]) -> list[tuple[str, Array]]:
        """Characteristic polynomials of the loops with motor lag: names of their gains, coefficients."""
        prefix = "attitude_" if "attitude_frequency" in numbers else ""
        names = (f"{prefix}frequency", f"{prefix}damping_ratio")
        gains = zip(*(np.atleast_1d(numbers[name]) for name in names), strict=True)
        return [(" and ".join(names), self._lagged(second_order_polynomial(*pair))) for pair in gains]

    def _lagged(self, polynomial: Array) -> Array:
        """A characteristic polynomial with its highest term delayed by the motors: s^n (τ s + 1)."""
        return np.concatenate([[self._lag], polynomial])

    def _center(self, x: Mapping[str, Expression]) -> tuple[Expression, Expression]:
        """Centre of mass and its velocity, in the axes of the root (m, m/s)."""
        c, v = x["center_of_mass"], x["v"]
        velocity = v[3:6]
        if self.robot.nv > 6:  # joints move it
            R, theta = quaternion.to_matrix(x["q"][3:7]), (ca.SX(value) for value in _theta(self.vehicle))
            moved = self.robot.center_of_mass(x["q"], *theta) - x["q"][:3]
            c = c + R.T @ moved - ca.SX(self._neutral_center)
            theta = (ca.SX(value) for value in _theta(self.vehicle))
            velocity = velocity + R.T @ (self.robot.com_jacobian(x["q"], *theta)[:, 6:] @ v[6:])
        return c, velocity + ca.cross(v[:3], c)

    def _rotor_speeds(
        self,
        x: Mapping[str, Expression],
        thrust: Expression,
        moments: Expression,
        memory: Mapping[str, Expression],
    ) -> Command:
        # Allocation is about the centre of mass at neutral: a thrust through another one needs a moment.
        offset = self._center(x)[0] - ca.SX(self._neutral_center)
        moments = moments + thrust * ca.vertcat(offset[1], -offset[0], 0)
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


def center_of_mass(vehicle: Multirotor) -> Array:
    """Centre of mass in the axes of the root (m), with joints at neutral."""
    check_speeds(vehicle)
    return np.asarray(vehicle.robot.center_of_mass(vehicle.robot.neutral(), *_theta(vehicle)))


def inertia_about_center(vehicle: Multirotor) -> Array:
    """Inertia of all bodies about the centre of mass (kg·m²), with joints at neutral."""
    return np.asarray(vehicle.robot.locked_inertia(vehicle.robot.neutral(), *_theta(vehicle)))


def default_frequencies(
    vehicle: Multirotor, attitude: ArrayLike | None, nominal: tuple[float, float, float]
) -> Array:
    """Natural frequencies of the attitude (3, rad/s): those that were given, or defaults."""
    check_speeds(vehicle)
    if attitude is None:
        return attitude_frequencies(vehicle, inertia_about_center(vehicle), nominal)
    return Number(attitude, (3,), 0.0, above=True).read("attitude_frequency", attitude)


def _theta(vehicle: Multirotor) -> tuple[Array, ...]:
    theta = vehicle.robot.theta
    return (theta.values,) if theta.groups else ()


def level(angle: Expression) -> Expression:
    """Rotation by an angle about z (3 × 3)."""
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))


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
        frequency, damping_ratio: ω₀ (rad/s) and ζ of roll, pitch and yaw. By default ω₀ is (15, 15, 6) or
            lower: at most 1/(3 τ) for a motor lag τ, and √(α_max / 0.2 rad) for an available angular
            acceleration α_max, which leaves a phase margin of 41 degrees. Unstable gains are refused.

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
        frequency: ArrayLike | None = None,
        damping_ratio: ArrayLike = (0.8, 0.8, 1.0),
    ) -> None:
        chosen = default_frequencies(vehicle, frequency, NOMINAL)
        weight = vehicle.robot.mass * GRAVITY
        references: References = {"attitude": ((3,), np.zeros(3)), "thrust": ((), weight)}
        super().__init__(vehicle, "attitude_control", references, second_order(chosen, damping_ratio))

    set = renamed_arguments(attitude_frequency="frequency", attitude_damping="damping_ratio")(FlightLaw.set)

    def _command(self, x: Mapping[str, Expression]) -> Command:
        moments = self._attitude_moments(x, x["attitude"], x["frequency"], x["damping_ratio"])
        return self._rotor_speeds(x, x["thrust"], moments, {})


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
        frequency, damping_ratio: ω₀ (rad/s) and ζ of the height; by default ω₀ = 3 or lower, in proportion to
            the attitude loop.
        attitude_frequency, attitude_damping_ratio: of roll, pitch, yaw; defaults as in `AttitudeControl`.
    """

    @renamed_arguments(**FORMER_NAMES)
    def __init__(
        self,
        vehicle: Multirotor,
        frequency: float | None = None,
        damping_ratio: float = 1.0,
        attitude_frequency: ArrayLike | None = None,
        attitude_damping_ratio: ArrayLike = (0.8, 0.8, 1.0),
    ) -> None:
        attitude = default_frequencies(vehicle, attitude_frequency, NOMINAL)
        if frequency is None:
            frequency = position_frequency(attitude, _NOMINAL_ALTITUDE, NOMINAL[0])
        numbers = {
            **second_order(frequency, damping_ratio, axes=1),
            **second_order(attitude, attitude_damping_ratio, "attitude_"),
        }
        references: References = {"height": ((), 0.0), "attitude": ((3,), np.zeros(3))}
        super().__init__(vehicle, "altitude_control", references, numbers)

    def _command(self, x: Mapping[str, Expression]) -> Command:
        R = quaternion.to_matrix(x["q"][3:7])
        c, velocity = self._center(x)
        z_dot, raised = (R @ velocity)[2], (R @ c)[2] - c[2]
        ω, ζ = x["frequency"], x["damping_ratio"]
        T_z = x["mass"] * (GRAVITY + ω**2 * (x["height"] - x["q"][2] - raised) - 2 * ζ * ω * z_dot)
        thrust = T_z / ca.fmax(R[2, 2], _MIN_TILT_COSINE)
        return self._rotor_speeds(x, thrust, self._attitude_loop(x, x["attitude"]), {})


class PositionControl(CascadedLaw):
    """Position control by three PID loops, with an attitude loop inside.

    The thrust vector is T = m (ω₀² e + 2 ζ ω₀ ė + k ∫e dt + a_d) + m g z. Rotated back by the desired yaw,
    T / |T| is (sin θ cos φ, -sin φ, cos θ cos φ), from which the desired roll and pitch follow. References:
    `position`, `velocity`, `acceleration` (3 each, world), `yaw` (rad).

    Args:
        vehicle: a rotorcraft with speed-controlled motors.
        frequency, damping_ratio: ω₀ (rad/s) and ζ of the position; by default ω₀ = 2.5 or lower, a sixth of
            the attitude loop's.
        attitude_frequency, attitude_damping_ratio: of roll, pitch, yaw; defaults as in `AttitudeControl`.
        integral: gain k (1/s³), below 2 ζ ω₀³; it needs `dt`.
        max_tilt: bound of roll and pitch (rad).
        dt: time between steps (s); needed by the integral alone.
    """

    @renamed_arguments(**FORMER_NAMES)
    def __init__(
        self,
        vehicle: Multirotor,
        frequency: ArrayLike | None = None,
        damping_ratio: ArrayLike = 1.0,
        *,
        attitude_frequency: ArrayLike | None = None,
        attitude_damping_ratio: ArrayLike = (0.8, 0.8, 1.0),
        integral: ArrayLike = 0.0,
        max_tilt: float = 0.6,
        dt: float | None = None,
    ) -> None:
        check_integral(integral, dt)
        attitude = default_frequencies(vehicle, attitude_frequency, NOMINAL)
        if frequency is None:
            frequency = position_frequency(attitude, _NOMINAL_POSITION, NOMINAL[0])
        numbers = {
            **second_order(frequency, damping_ratio),
            **second_order(attitude, attitude_damping_ratio, "attitude_"),
            "integral": Number(integral, (3,), 0.0),
            "max_tilt": Number(max_tilt, (), 0.0, above=True),
        }
        zero = np.zeros(3)
        references = {"position": ((3,), zero), "velocity": ((3,), zero), "acceleration": ((3,), zero)}
        memory = {"sum": zero} if dt is not None else {}
        super().__init__(vehicle, "position_control", {**references, "yaw": ((), 0.0)}, numbers, memory, dt)

    def _characteristics(self, numbers: Mapping[str, Array]) -> list[tuple[str, Array]]:
        found = super()._characteristics(numbers)
        names = "frequency, integral and attitude_frequency with their damping ratios"
        for k, i in ((0, 0), (0, 1), (1, 0), (1, 1)):  # position along k, attitude about i
            ω, ζ = numbers["attitude_frequency"][i], numbers["attitude_damping_ratio"][i]
            loop = np.append(
                second_order_polynomial(numbers["frequency"][k], numbers["damping_ratio"][k]),
                numbers["integral"][k],
            )
            attitude = [1.0, 2 * ζ * ω, 0.0, 0.0, 0.0, 0.0]
            found.append((names, self._lagged(np.polyadd(attitude, ω**2 * loop))))
        return found

    def _command(self, x: Mapping[str, Expression]) -> Command:
        R = quaternion.to_matrix(x["q"][3:7])
        c, velocity = self._center(x)
        e = x["position"] - x["q"][:3] + level(-x["yaw"]) @ c - R @ c
        e_dot = x["velocity"] - R @ velocity
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
        return self._rotor_speeds(x, thrust, self._attitude_loop(x, desired), memory)
