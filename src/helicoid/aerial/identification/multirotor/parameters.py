"""Parameters of a multirotor that flights identify: names, described values and prior deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.aerial.frames import GRAVITY
from helicoid.aerial.identification.sampling import Stretch, averaged
from helicoid.aerial.multirotor import Multirotor
from helicoid.aerial.propulsion.curve import Curve, LookupTable, Polynomial
from helicoid.aerial.propulsion.motor import Motor
from helicoid.aerial.propulsion.propeller import Propeller
from helicoid.aerial.vehicle import body_robot
from helicoid.errors import InputError

Commands = Literal["throttle", "speed"]
_LAG, _DELAY = 0.03, 0.01  # s, before anything is known
_TYPICAL_SPEED = 4.0  # m/s, of the air, at which drag is compared with the weight


class VehicleNumbers(NamedTuple):
    """Numbers of a vehicle at a parameter vector."""

    thrust: float
    torque: float
    inflow: float
    hub_drag: float
    drag_area: Array
    com: Array
    J: Array
    rotor_inertia: float


@dataclass(frozen=True, eq=False)
class Layout:
    """Names of the parameters with prior mean and deviation, and what is known of the vehicle."""

    names: tuple[str, ...]
    prior: Array
    spread: Array
    described: Multirotor
    mass: float
    density: float
    positions: Array
    axes: Array
    turns: Array
    b: Array
    d: Array
    inflow: Array
    J: Array
    sensor: Array
    command_mean: float
    command_scale: float
    voltage: float
    max_speed: float
    gyro_bias: Array

    def has(self, name: str) -> bool:
        """Whether it is a parameter of these flights."""
        return name in self.names

    def of(self, point: Array, name: str) -> float:
        """Value of a parameter, 0 if it is not estimated."""
        return float(point[self.names.index(name)]) if name in self.names else 0.0

    def speed_of(self, point: Array, command: Array) -> Array:
        """Steady speed (rad/s) of a command at the reference voltage."""
        if not self.has("speed_at_mean"):
            return command
        middle, slope = self.of(point, "speed_at_mean"), self.of(point, "speed_slope")
        return middle + slope * (command - self.command_mean) / self.command_scale

    @property
    def rolling(self) -> Array:
        """Moment against the airspeed along the disc, of each rotor, by speed and airspeed (N·s²)."""
        return self.turns * np.array([rotor.propeller.rolling for rotor in self.described.rotors])

    def lags(self, point: Array) -> tuple[float, float]:
        """Time constants of the motors, up and down (s): `lag` is their mean, `lag_ratio` down over up."""
        middle, half = self.of(point, "lag"), 0.5 * self.of(point, "lag_ratio")
        return float(np.exp(middle - half)), float(np.exp(middle + half))

    def loads(self, v: VehicleNumbers, x: Array, axial: Array) -> tuple[Array, Array]:
        """Described thrust and torque of the rotors, scaled, at speeds and axial airspeeds (M, rotors)."""
        pairs = [
            rotor.propeller.thrust_torque(x[:, k], axial[:, k], self.density)
            for k, rotor in enumerate(self.described.rotors)
        ]
        T, Q = (np.stack(one, axis=1) for one in zip(*pairs, strict=True))
        return v.thrust * T - (v.inflow - v.thrust * self.inflow) * x * axial, v.torque * Q

    def vehicle(self, point: Array) -> VehicleNumbers:
        """The numbers that enter the equations."""
        scale = float(np.exp(self.of(point, "thrust")))
        sizes = np.exp([0.5 * self.of(point, f"inertia_{a}") for a in "xyz"])
        J = self.J * np.outer(sizes, sizes)
        for (i, k), name in zip(((0, 1), (0, 2), (1, 2)), ("xy", "xz", "yz"), strict=True):
            J[i, k] += self.of(point, f"product_{name}")
            J[k, i] = J[i, k]
        return VehicleNumbers(
            scale,
            float(np.exp(self.of(point, "torque"))),
            self.of(point, "inflow"),
            self.of(point, "hub_drag"),
            np.array([self.of(point, f"drag_area_{a}") for a in "xyz"]),
            np.array([self.of(point, f"com_{a}") for a in "xyz"]),
            J,
            self.of(point, "rotor_inertia"),
        )

    def built(self, point: Array, mass_scale: float = 1.0) -> Multirotor:
        """The vehicle of a point; `mass_scale` multiplies all masses and forces."""
        v = self.vehicle(point)
        rotors = []
        lag_up, lag_down = self.lags(point)
        for k, rotor in enumerate(self.described.rotors):
            p = rotor.propeller
            assert p.torque_curve is not None and p.thrust_curve is not None
            slope = -2 * np.pi * (v.inflow - v.thrust * self.inflow[k]) / (self.density * (2 * p.radius) ** 3)
            propeller = replace(
                p,
                thrust_curve=_steeper(p.thrust_curve.times(mass_scale * v.thrust), mass_scale * slope),
                torque_curve=p.torque_curve.times(mass_scale * v.torque),
                hub_drag=max(mass_scale * v.hub_drag, 0.0),
                rolling=mass_scale * p.rolling,
                flapping=0.0,
                inertia=max(mass_scale * v.rotor_inertia, 0.0),
            )
            top = rotor.max_speed(self.density)
            low = rotor.motor.min_speed if isinstance(rotor.motor, Motor) else 0.0
            motor = Motor(top, low, lag_up, lag_down)
            rotors.append(replace(rotor, propeller=propeller, motor=motor))
        robot = body_robot(self.described.robot.name, mass_scale * self.mass, mass_scale * v.J, v.com)
        return Multirotor(
            robot=robot,
            rotors=rotors,
            drag_area=np.maximum(mass_scale * v.drag_area, 0.0),
            ground=self.described.ground,
            air=self.described.air,
            wind=self.described.wind,
        )


def _steeper(curve: Curve, slope: float) -> Curve:
    """A curve over the advance ratio J, and slope · J."""
    if isinstance(curve, LookupTable):
        return LookupTable(curve.J, curve.values + slope * curve.J)
    c = (*curve.coefficients, 0.0, 0.0)[:3]
    return Polynomial((c[0], c[1] + float(slope), c[2]))


def _inflow(p: Propeller, density: float) -> float:
    """k of T = b ω² - k ω v in slow axial flow."""
    h = 1e-3
    assert p.thrust_curve is not None
    ahead, behind = (
        p.thrust_torque(np.array(1.0), np.array(J * p.radius / np.pi), density)[0] for J in (h, -h)
    )
    return float(behind - ahead) * np.pi / (2 * h * p.radius)


def layout_of(
    vehicle: Multirotor,
    data: Sequence[Stretch],
    commands: Commands,
    sensor: Array,
    gyro_bias: Array,
    inertial: bool,
    attitude_tilt: float,
) -> Layout:
    """The parameters that these stretches can identify, with their priors."""
    rho = vehicle.air.density
    model = vehicle.robot.model
    inertia = vehicle.robot.model.bodies[0].inertia
    columns = np.stack([rotor.column(rho) for rotor in vehicle.rotors])
    axes = np.stack([np.asarray(rotor.axis) for rotor in vehicle.rotors])
    turns = np.array([rotor.turns for rotor in vehicle.rotors], dtype=np.float64)
    b, d = np.array([rotor.propeller.constants(rho) for rotor in vehicle.rotors]).T
    inflow = np.array([_inflow(rotor.propeller, rho) for rotor in vehicle.rotors])
    mass, com, J = inertia.mass, np.asarray(inertia.com), np.asarray(inertia.at_com)
    arm = float(np.linalg.norm([np.asarray(r.position) for r in vehicle.rotors], axis=1).mean()) or 0.1
    values = np.concatenate([averaged(s.command, s.t, s.dt) for s in data])
    c_mean, c_scale = float(values.mean()), float(values.std()) or 1.0
    hover = float(np.sqrt(GRAVITY * mass / b.sum()))
    measured_speed = all(s.speed is not None for s in data)
    rows: dict[str, tuple[float, float]] = {}
    if commands == "throttle":
        slope = hover * c_scale / max(abs(c_mean), c_scale)
        rows |= {"speed_at_mean": (hover, 0.5 * hover), "speed_slope": (slope, 3 * slope)}
        if all(s.voltage is not None for s in data):
            rows["voltage_exponent"] = (1.0, 0.5)
    rows |= {
        "lag": (np.log(_LAG), 1.0),
        "lag_ratio": (0.0, 0.5),
        "delay": (_DELAY, 0.03),
    }
    if commands == "speed" or measured_speed:
        rows["thrust"] = (0.0, 0.5)
    rows["torque"] = (0.0, 0.7)
    rows |= {f"com_{a}": (float(com[k]), 0.2 * arm) for k, a in enumerate("xyz")}
    rows |= {f"inertia_{a}": (0.0, 0.5) for a in "xyz"}
    for (i, k), name in zip(((0, 1), (0, 2), (1, 2)), ("xy", "xz", "yz"), strict=True):
        rows[f"product_{name}"] = (0.0, 0.05 * float(np.sqrt(J[i, i] * J[k, k])))
    p = vehicle.rotors[0].propeller
    rows["rotor_inertia"] = (p.inertia, 0.5 * p.inertia + 0.005 * float(J[2, 2]))
    if all(s.velocity is not None for s in data):
        weight = mass * GRAVITY
        hub = 0.05 * weight / (_TYPICAL_SPEED * hover * len(b))
        described_hub = p.hub_drag + p.flapping * float(b[0]) / p.radius  # tilt of the disc acts like it
        rows["hub_drag"] = (described_hub, described_hub + hub)
        rows["inflow"] = (float(inflow[0]), abs(float(inflow[0])) + hub)
        area = 0.05 * weight / (0.5 * rho * _TYPICAL_SPEED**2)
        described = np.asarray(vehicle.drag_area)
        rows |= {
            f"drag_area_{a}": (float(described[k]), float(described[k]) + area) for k, a in enumerate("xyz")
        }
    if inertial:
        rows |= {f"accelerometer_bias_{a}": (0.0, 0.5) for a in "xyz"}
        rows |= {f"misalignment_{a}": (0.0, 0.05) for a in "xyz"}
    if attitude_tilt and all(s.R is not None for s in data):
        rows |= {f"attitude_tilt_{a}": (0.0, attitude_tilt) for a in "xy"}
    if (model.joints and vehicle.robot.nv != 6) or columns.shape[1] != 6:
        raise InputError("identify takes a Multirotor of one body: lock its joints")
    numbers = np.array(list(rows.values()))
    top = max(rotor.max_speed(rho) for rotor in vehicle.rotors)
    volts = [s.voltage for s in data if s.voltage is not None]
    return Layout(
        tuple(rows), numbers[:, 0], numbers[:, 1], vehicle, mass, rho,
        np.stack([np.asarray(r.position) for r in vehicle.rotors]), axes, turns, b, d, inflow, J, sensor,
        c_mean, c_scale, float(np.concatenate(volts).mean()) if volts else 1.0, top, gyro_bias,
    )  # fmt: skip
