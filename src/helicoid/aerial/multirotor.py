"""Rotorcraft: rotors at any place of a robot with a floating base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.aerial.air import Air, Wind, ground_effect
from helicoid.aerial.analysis.trim import Trim
from helicoid.aerial.checks import check_positive, is_number, real_numbers
from helicoid.aerial.frames import GRAVITY
from helicoid.aerial.propulsion.motor import Battery, ElectricMotor, Motor
from helicoid.aerial.propulsion.propeller import Propeller
from helicoid.aerial.propulsion.rotor import Rotor
from helicoid.aerial.vehicle import Vehicle, body_robot
from helicoid.errors import InputError
from helicoid.robot import Robot

_LAG_BLEND = 0.02  # of the largest speed: width over which the lag changes from down to up


class Multirotor(Vehicle):
    """Rotorcraft: a rigid body, or a robot, with rotors.

    Every rotor gives thrust along its axis and a drag torque against its rotation, a hub force and a rolling
    moment in air that moves in its disc plane, and the gyroscopic torque of its spin. Rotor speeds follow
    their commands with a lag, or electric motors drive them from a battery.

    Args:
        mass: kg.
        inertia: about the centre of mass (kg·m²): three moments or 3 × 3, z up.
        rotors: any number; `rotor_1` is the first.
        robot: in place of mass and inertia: a robot on a floating base; each rotor names its link.
        drag_area: c_d A (m²) along x, y, z of the root: drag ½ρ c_d A |V| V.
        battery: supply of electric motors; None for a constant voltage.
        ground: height of the ground (m, z up) for the ground effect; None for none.
        name: of the robot.
        air, wind: the atmosphere.

    Raises:
        InputError: the thrust of all rotors at full speed is below the weight.

    >>> import helicoid as hc
    >>> quad = hc.aerial.load("hummingbird")
    >>> hover = quad.trim()
    >>> print(round(hover.controls["rotor_1"], 2), round(quad.thrust_to_weight, 2), hover.success)
    453.23 3.42 True
    """

    flies_forward = False

    def __init__(
        self,
        mass: float | None = None,
        inertia: ArrayLike | None = None,
        rotors: Sequence[Rotor] = (),
        *,
        robot: Robot | None = None,
        drag_area: ArrayLike = (0.0, 0.0, 0.0),
        battery: Battery | None = None,
        ground: float | None = None,
        name: str = "multirotor",
        air: Air | None = None,
        wind: Wind | None = None,
    ) -> None:
        if robot is None:
            if mass is None or inertia is None:
                raise InputError("a multirotor needs its mass and inertia, or a robot")
            robot = body_robot(name, mass, inertia)
        super().__init__(robot, air, wind)
        known = isinstance(rotors, (list, tuple)) and len(rotors) > 0
        if not known or not all(isinstance(rotor, Rotor) for rotor in rotors):
            raise InputError(f"a multirotor has rotors=[Rotor(...), ...]; got {rotors!r}")
        self.rotors = tuple(rotors)
        for link in self._links():
            robot.model.frame(link)
        area = real_numbers("drag_area", drag_area)
        if area.shape != (3,) or not np.all(area >= 0):
            raise InputError(f"drag_area is three areas (m²), 0 or more; got {drag_area!r}")
        if ground is not None and not is_number(ground):
            raise InputError(f"ground is a height (m), or None; got {ground!r}")
        self.drag_area, self.battery, self.ground = area, battery, ground
        if battery is not None and not all(isinstance(r.motor, ElectricMotor) for r in self.rotors):
            raise InputError("a battery feeds ElectricMotor: the motors of all rotors must be such")
        self._check_weight()

    def _check_weight(self) -> None:
        if self.thrust_to_weight <= 1:
            mass = self.robot.mass
            raise InputError(
                f"{self.robot.name!r} cannot fly: its {len(self.rotors)} rotors lift at most "
                f"{self.max_thrust:.4g} N at full speed, and it weighs {GRAVITY * mass:.4g} N ({mass:.4g} kg)"
            )

    def with_robot(self, robot: Robot) -> Multirotor:
        """The same rotors on another robot, such as one with a payload; refused if too heavy for them."""
        other = super().with_robot(robot)
        other._check_weight()
        return other

    def _links(self) -> list[str]:
        return [rotor.link for rotor in self.rotors if rotor.link is not None]

    # Thrust and moments -----------------------------------------------------------------------------------

    @property
    def wrench_matrix(self) -> Array:
        """W (6 × rotors) of (n, f) = W ω², about the root's origin, in still air, joints neutral, z up."""
        columns = []
        for rotor in self.rotors:
            column = rotor.column(self.air.density)
            if rotor.link not in (None, self.robot.model.root):
                J = self.robot.jacobian(rotor.link, "body")(self.robot.neutral())
                column = J[:, :6].T @ column
            columns.append(column)
        return np.stack(columns, axis=1)

    @property
    def allocation_matrix(self) -> Array:
        """A of (U₁, U₂, U₃, U₄) = A ω²: thrust along z, moments about the centre of mass; 4 × rotors."""
        W = self.wrench_matrix
        c = np.asarray(self.robot.center_of_mass(self.robot.neutral()))
        moments = W[:3] - np.cross(c, W[3:].T).T
        return np.vstack([W[5], moments])

    @property
    def max_speeds(self) -> Array:
        """Maximum speed of every rotor in still air (rad/s)."""
        return np.array([rotor.max_speed(self.air.density) for rotor in self.rotors])

    @property
    def max_thrust(self) -> float:
        """Thrust along z with all rotors at full speed (N)."""
        return float(self.wrench_matrix[5] @ self.max_speeds**2)

    @property
    def thrust_to_weight(self) -> float:
        """`max_thrust` over the weight."""
        return self.max_thrust / (GRAVITY * self.robot.mass)

    # Interface of `Vehicle` -------------------------------------------------------------------------------

    @property
    def own_controls(self) -> Mapping[str, tuple[float, float]]:
        """Commanded rotor speeds (rad/s); for electric motors the fraction of the voltage."""
        return {
            f"rotor_{k + 1}": (0.0, 1.0)
            if isinstance(rotor.motor, ElectricMotor)
            else (rotor.motor.min_speed, rotor.motor.max_speed)
            for k, rotor in enumerate(self.rotors)
        }

    @property
    def own_states(self) -> Mapping[str, float]:
        """Speeds of rotors with a lag (rad/s), initially those of hover; the used charge of a battery."""
        hover = self._hover_speeds
        states = {f"rotor_{k + 1}_speed": hover[k] for k, r in enumerate(self.rotors) if r.has_state}
        return states if self.battery is None else {**states, "charge_used": 0.0}

    @property
    def _hover_speeds(self) -> list[float]:
        fraction = np.sqrt(min(1 / self.thrust_to_weight, 1.0))
        return [float(fraction * top) for top in self.max_speeds]

    def _guess(self, speed: float) -> Array:
        hover = self._hover_speeds
        return np.array(
            [0.5 if isinstance(r.motor, ElectricMotor) else hover[k] for k, r in enumerate(self.rotors)]
        )

    def _limit_reasons(self, trim: Trim) -> list[str]:
        """Rotors whose axial flow is beyond the range of their coefficients."""
        reasons = []
        for k, rotor in enumerate(self.rotors):
            speed = trim.states.get(f"rotor_{k + 1}_speed", trim.controls[f"rotor_{k + 1}"])
            if rotor.link not in (None, self.robot.model.root) or isinstance(rotor.motor, ElectricMotor):
                continue
            axis = np.asarray(rotor.axis)
            velocity = trim.v[3:6] + np.cross(trim.v[:3], np.asarray(rotor.position))
            J = float(axis @ velocity) * 2 * np.pi / (max(speed, 1e-9) * 2 * rotor.propeller.radius)
            limit = rotor.propeller.max_advance_ratio
            if abs(J) > limit:
                reasons.append(
                    f"rotor_{k + 1} is at an advance ratio of {J:.3g}, beyond the {limit:.3g} up to which "
                    "its coefficients hold"
                )
        return reasons[:1]

    def _air_forces(
        self, q: Expression, v: Expression, z: Expression, u: Expression
    ) -> tuple[Mapping[str, Expression], Expression]:
        root, rho = self.robot.model.root, self.air.density_at(q[2])
        speeds, rates, z_dot = self._speeds(z, u)
        wrenches: dict[str, Expression] = {}
        for k, rotor in enumerate(self.rotors):
            link = root if rotor.link is None else rotor.link
            flow = self.flow(q, v, z, link, rotor.position)
            lift = self._ground_effect(q, link, rotor)
            wrench = rotor.wrench(speeds[k], rates[k], flow.velocity, flow.rate, lift, rho)
            wrenches[link] = wrenches.get(link, ca.SX.zeros(6)) + wrench
        if np.any(self.drag_area):
            V = self.flow(q, v, z, root).velocity
            drag = -rho / 2 * ca.sqrt(ca.sumsqr(V) + 1e-8) * ca.SX(self.drag_area) * V
            wrenches[root] = wrenches.get(root, ca.SX.zeros(6)) + ca.vertcat(ca.SX.zeros(3), drag)
        return wrenches, z_dot

    def _ground_effect(self, q: Expression, link: str, rotor: Rotor) -> Expression:
        if self.ground is None:
            return ca.SX(1)
        T = self.robot.pose(link)(q)
        height = T[2, 3] + T[2, :3] @ ca.SX(np.asarray(rotor.position)) - self.ground
        return ground_effect(height, rotor.propeller.radius)

    def _speeds(self, z: Expression, u: Expression) -> tuple[list[Expression], list[Expression], Expression]:
        """ω and ω̇ of every rotor, and ż."""
        speeds, rates, z_dot, at = [], [], [], 0
        voltage, used = self._voltage(z, u)
        for k, rotor in enumerate(self.rotors):
            if not rotor.has_state:
                speeds.append(u[k])
                rates.append(ca.SX(0))
                continue
            omega = z[at]
            at += 1
            if isinstance(rotor.motor, Motor):
                up, down = rotor.motor.lag_up, rotor.motor.lag_down
                assert down is not None
                rate = _first_order_lag(u[k] - omega, up, down, _LAG_BLEND * rotor.motor.max_speed)
            else:
                rate = self._motor_acceleration(rotor, rotor.motor, omega, u[k], voltage)
            speeds.append(ca.fmax(omega, 0))
            rates.append(rate)
            z_dot.append(rate)
        return speeds, rates, ca.vertcat(ca.SX(0, 1), *z_dot, *used)

    def _motor_acceleration(
        self, rotor: Rotor, motor: ElectricMotor, omega: Expression, duty: Expression, voltage: Expression
    ) -> Expression:
        """ω̇ by the motor's torque k (i - i₀) less the propeller's; i₀ is smoothed about ω = 0."""
        k = motor.torque_constant
        current = (duty * voltage - k * omega) / motor.resistance
        _, Q = rotor.propeller.thrust_torque(ca.fmax(omega, 0), ca.SX(0), self.air.density)
        friction = k * motor.no_load_current * ca.tanh(omega)
        return (k * current - friction - Q) / rotor.propeller.inertia

    def _voltage(self, z: Expression, u: Expression) -> tuple[Expression, list[Expression]]:
        """Voltage at the motors (V), and the rate of the used charge (1/s) if there is a battery."""
        motors = [r.motor for r in self.rotors if isinstance(r.motor, ElectricMotor)]
        if not motors:
            return ca.SX(0), []
        full = motors[0].voltage
        if self.battery is None:
            return ca.SX(full), []
        battery, n = self.battery, len(self.rotors)
        open_circuit = full * (1 - battery.sag * ca.fmin(ca.fmax(z[n], 0), 1))
        # U = U₀ - R_b Σ δ (δ U - k ω)/R, solved for U.
        back_emf = sum(u[k] * m.torque_constant * z[k] / m.resistance for k, m in enumerate(motors))
        load = sum(u[k] ** 2 / m.resistance for k, m in enumerate(motors))
        U = (open_circuit + battery.resistance * back_emf) / (1 + battery.resistance * load)
        current = sum(
            u[k] * (u[k] * U - m.torque_constant * z[k]) / m.resistance for k, m in enumerate(motors)
        )
        return U, [current / (3600 * battery.capacity)]

    # Arrangements -----------------------------------------------------------------------------------------

    @staticmethod
    def arrangement(
        kind: str,
        arm: float,
        propeller: Propeller,
        motor: Motor | ElectricMotor,
        height: float = 0.0,
        lower_share: float = 1.0,
    ) -> list[Rotor]:
        """Rotors of "quad +", "quad x", "hexa +", "hexa x", "octo +", "octo x" or "coaxial".

        x is forward, y left. The first rotor is in front ("+") or the first to the left of it ("x"), the
        others follow counter-clockwise; directions alternate, the first is clockwise. "coaxial" has the four
        arms of "quad x" with a rotor above and below each; `lower_share` is the thrust of a lower rotor as a
        fraction of its thrust alone.

        >>> import helicoid as hc
        >>> propeller = hc.aerial.Propeller.from_constants(8.5e-6, 1.4e-7, 0.1)
        >>> rotors = hc.aerial.Multirotor.arrangement("hexa x", 0.2, propeller, hc.aerial.Motor(800.0))
        >>> len(rotors), [rotor.turns for rotor in rotors]
        (6, [-1, 1, -1, 1, -1, 1])
        """
        counts = {"quad": 4, "hexa": 6, "octo": 8}
        kind = str(kind)
        word, _, shape = kind.partition(" ")
        if kind == "coaxial":
            upper = Multirotor.arrangement("quad x", arm, propeller, motor, height)
            assert propeller.thrust_curve is not None
            weaker = replace(propeller, thrust_curve=propeller.thrust_curve.times(lower_share))
            down = np.array([0.0, 0.0, 2 * max(height, 0.02)])
            lower = [Rotor(r.position - down, weaker, motor, -r.turns) for r in upper]
            return [*upper, *lower]
        if word not in counts or shape not in ("+", "x"):
            kinds = [f"{name} {sign}" for name in counts for sign in "+x"]
            raise InputError(f"an arrangement is one of {', '.join(kinds)}, coaxial; got {kind!r}")
        check_positive("arm", arm, "m")
        n = counts[word]
        angles = 2 * np.pi / n * (np.arange(n) + (0.5 if shape == "x" else 0.0))
        return [
            Rotor((arm * np.cos(a), arm * np.sin(a), height), propeller, motor, -1 if k % 2 == 0 else 1)
            for k, a in enumerate(angles)
        ]


def _first_order_lag(error: Expression, up: float, down: float, width: float) -> Expression:
    """ω̇ of a rotor with a speed error, with a smooth change of the time constant over `width`.

    A kink at zero, where steady flight is, would make the linearisation there meaningless.
    """
    if up == down:
        return error / up
    side = error / ca.sqrt(error**2 + width**2)  # -1 to 1
    return error * ((1 / up + 1 / down) / 2 + (1 / up - 1 / down) / 2 * side)
