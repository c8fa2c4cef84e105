"""Autopilot of a fixed-wing aircraft: L1 guidance, total energy control and attitude loops in one step.

Specific energy rates, with the flight-path angle γ: the total V̇/g + γ is controlled by thrust, and the
distribution γ - V̇/g between height and speed by pitch (Lambregts 1983).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.aerial.control.guidance import Leg, l1_acceleration, l1_reference_point, leg_table
from helicoid.aerial.control.law import Command, FlightLaw, References
from helicoid.aerial.fixed_wing import FixedWing
from helicoid.aerial.frames import FLIP, GRAVITY
from helicoid.control.laws.step import Number
from helicoid.deprecation import renamed_arguments, warn_renamed
from helicoid.errors import InputError
from helicoid.geometry import quaternion

_NO_BEARING = 1e3
"""Bearing before the first step of a leg, when there is none."""
_MIN_AIRSPEED = 5.0  # m/s, by which the attitude loops divide
_FORMER_NAMES = {"period": "l1_period", "damping": "l1_damping_ratio", "climb_rate": "flight_path_angle"}


class Autopilot(FlightLaw):
    """Autopilot that flies legs (lines and circles) at a given airspeed and at the heights of the legs.

    L1 guidance turns the cross-track error into a desired roll, total energy control (TECS) the errors of
    height and speed into throttle and a desired pitch, and attitude loops with the rates of a coordinated
    turn these into deflections. Gains follow from the derivatives of the aircraft at its trim, scaled by
    dynamic pressure.

    References: `speed`, the airspeed (m/s), by default that of the trim; `height_offset` (m), added to the
    heights of the legs.

    Args:
        vehicle: a `FixedWing` with a motor.
        legs: flown one after the other; the last one without end.
        speed: airspeed of the trim that the gains are designed for (m/s).
        dt: time between steps (s).
        wind: mean wind (m/s, world axes), from which the airspeed follows.
        l1_period, l1_damping_ratio: of the guidance (s, -): L1 = damping_ratio · period / π times the ground
            speed. The roll loop must be faster: roll_frequency · l1_period above 40.
        roll_frequency, pitch_frequency: natural frequencies of the attitude loops (rad/s).
        max_roll, max_pitch: bounds of the desired roll and pitch (rad).
        flight_path_angle: bound of |γ| in climb and descent (rad).

    >>> import helicoid as hc
    >>> aircraft = hc.aerial.load("aerosonde")
    >>> legs = [hc.aerial.Line([0, 0], [1000, 0], height=100.0)]
    >>> pilot = hc.aerial.Autopilot(aircraft, legs, speed=25.0, dt=0.02)
    >>> level = aircraft.trim(speed=25.0)
    >>> q0 = level.q + [0, 10, 95, 0, 0, 0, 0]
    >>> flight = hc.simulate(aircraft, q0, level.v, 20.0, controller=pilot.following(), dt=0.02)
    >>> print(bool(abs(flight.q[-1, 1]) < 1), bool(abs(flight.q[-1, 2] - 100) < 1))
    True True
    """

    vehicle: FixedWing

    @renamed_arguments(aircraft="vehicle", **_FORMER_NAMES)
    def __init__(
        self,
        vehicle: FixedWing,
        legs: Sequence[Leg],
        speed: float,
        dt: float,
        *,
        wind: ArrayLike = (0.0, 0.0, 0.0),
        l1_period: float = 8.0,
        l1_damping_ratio: float = 0.8,
        roll_frequency: float = 6.0,
        pitch_frequency: float = 4.0,
        max_roll: float = 0.8,
        max_pitch: float = 0.35,
        flight_path_angle: float = 0.2,
    ) -> None:
        if not isinstance(vehicle, FixedWing) or vehicle.motor is None:
            raise InputError(f"Autopilot controls a FixedWing with a motor; got {vehicle!r}")
        if dt is None:
            raise InputError("Autopilot needs the time between steps, dt (s)")
        trim = vehicle.trim(speed=speed)
        if not trim.success:
            raise InputError(f"there is no level trim at {speed:g} m/s: {trim.message}")
        self.legs, lin = tuple(legs), trim.linearise()
        rows = leg_table(legs)
        row, column = lin.states.index, lin.controls.index
        surfaces = ("aileron", "elevator", "rudder")
        rates = ("p", "q", "r")
        effectiveness = [lin.B[row(r), column(c)] for r, c in zip(rates, surfaces, strict=True)]
        rate_damping = [lin.A[row(r), row(r)] for r in rates]
        numbers = {
            "legs": Number(rows, rows.shape),
            "trim_speed": Number(speed, (), 0.0, above=True),
            "trim": Number(trim.u, trim.u.shape),
            "trim_angle": Number([trim.alpha, trim.alpha + _zero_lift(vehicle)], (2,)),
            "effectiveness": Number(effectiveness, (3,)),
            "rate_damping": Number(rate_damping, (3,)),
            "throttle_effectiveness": Number(lin.B[row("u"), column("throttle")], (), 0.0, above=True),
            "wind": Number(wind, (3,)),
            "l1_period": Number(l1_period, (), 0.0, above=True),
            "l1_damping_ratio": Number(l1_damping_ratio, (), 0.0, above=True),
            "roll_frequency": Number(roll_frequency, (), 0.0, above=True),
            "pitch_frequency": Number(pitch_frequency, (), 0.0, above=True),
            "max_roll": Number(max_roll, (), 0.0, above=True),
            "max_pitch": Number(max_pitch, (), 0.0, above=True),
            "flight_path_angle": Number(flight_path_angle, (), 0.0, above=True),
        }
        names = ("leg", "swept", "throttle_sum", "pitch_sum", "elevator_sum", "aileron_sum")
        memory: dict[str, Array] = {name: np.zeros(()) for name in names}
        memory |= {"bearing": np.full((), _NO_BEARING), "airspeed": np.full((), float(speed))}
        references: References = {"speed": ((), speed), "height_offset": ((), 0.0)}
        super().__init__(vehicle, "autopilot", references, numbers, memory, dt)

    set = renamed_arguments(
        effect="effectiveness", inherent="rate_damping", push="throttle_effectiveness", **_FORMER_NAMES
    )(FlightLaw.set)

    @property
    def leg(self) -> int:
        """Index of the active leg."""
        return int(self._kept("leg"))

    def _command(self, x: Mapping[str, Expression]) -> Command:
        F = ca.SX(FLIP)
        R = F @ quaternion.to_matrix(x["q"][3:7]) @ F
        rate, ground = F @ x["v"][:3], R @ (F @ x["v"][3:6])  # p, q, r; velocity over ground
        air = ground - F @ x["wind"]  # velocity through the air
        V = ca.sqrt(ca.sumsqr(air) + 1e-6)
        roll, pitch = ca.atan2(R[2, 1], R[2, 2]), ca.asin(ca.fmin(ca.fmax(-R[2, 0], -1), 1))
        leg, memory = self._active_leg(x)
        p, velocity = x["q"][:2], ca.vertcat(ground[0], -ground[1])  # horizontal, z up
        speed = ca.sqrt(ca.sumsqr(velocity) + 1.0)
        L = x["l1_damping_ratio"] * x["l1_period"] / ca.pi * speed
        left = l1_acceleration(l1_reference_point(leg, p, L), p, velocity, L)
        roll_d = _clip(ca.atan2(-left, GRAVITY), x["max_roll"])
        throttle, pitch_d, energies = self._total_energy(x, leg[7] + x["height_offset"], V, air, roll)
        surfaces, sums = self._attitude(x, roll, pitch, rate, roll_d, pitch_d, V)
        u = ca.vertcat(surfaces[1], surfaces[0], surfaces[2], throttle)
        return Command(u, {**memory, **energies, **sums})

    def _active_leg(self, x: Mapping[str, Expression]) -> tuple[Expression, dict[str, Expression]]:
        """Row of the active leg, and the memory of the progress along it."""
        legs, n = x["legs"], len(self.legs)
        leg = legs[0, :].T
        for k in range(1, n):
            leg = ca.if_else(x["leg"] > k - 0.5, legs[k, :].T, leg)
        p = x["q"][:2]
        along = leg[3:5] - leg[1:3]
        passed = ca.dot(p - leg[3:5], along) > 0
        bearing = ca.atan2(p[1] - leg[2], p[0] - leg[1])
        step = bearing - x["bearing"]
        step = ca.atan2(ca.sin(step), ca.cos(step)) * ca.sign(leg[5])
        # The first step of a leg has no previous bearing.
        swept = x["swept"] + ca.if_else(x["bearing"] > _NO_BEARING / 2, 0, step)
        done = ca.if_else(leg[0] < 0.5, passed, swept > leg[6])
        switch = ca.logic_and(done, x["leg"] < n - 1.5)
        memory = {
            "leg": x["leg"] + switch,
            "swept": ca.if_else(switch, 0, swept),
            "bearing": ca.if_else(switch, _NO_BEARING, bearing),
        }
        return leg, memory

    def _total_energy(
        self,
        x: Mapping[str, Expression],
        height: Expression,
        V: Expression,
        air: Expression,
        roll: Expression,
    ) -> tuple[Expression, Expression, dict[str, Expression]]:
        """Total energy control: throttle, desired pitch, and memory."""
        dt, γ = cast(float, self.period), ca.asin(ca.fmin(ca.fmax(-air[2] / V, -1), 1))
        V_dot = 2.0 * (V - x["airspeed"])  # washout filter with a time constant of half a second
        γ_d = _clip(0.4 * (height - x["q"][2]) / V, x["flight_path_angle"])
        a_d = _clip(0.4 * (x["speed"] - V), ca.SX(1.5)) / GRAVITY
        total, distribution = (γ_d - γ) + (a_d - V_dot / GRAVITY), (γ_d - γ) - (a_d - V_dot / GRAVITY)
        per_energy_rate = GRAVITY / x["throttle_effectiveness"]
        free = x["trim"][3] + per_energy_rate * (γ_d + a_d + 0.3 * total + x["throttle_sum"])
        throttle = ca.fmin(ca.fmax(free, 0), 1)
        # A turn raises the load factor, and so the angle of attack.
        load = 1 / ca.fmax(ca.cos(roll), 0.3) * (x["trim_speed"] / V) ** 2
        alpha = x["trim_angle"][0] + (load - 1) * x["trim_angle"][1]
        pitch_free = alpha + γ_d + 0.3 * distribution + x["pitch_sum"]
        pitch_d = _clip(pitch_free, x["max_pitch"])
        saturated = ca.fabs(free - throttle) > 0
        memory = {
            "airspeed": x["airspeed"] + dt * V_dot,
            "throttle_sum": _clip(
                x["throttle_sum"] + ca.if_else(saturated, 0, dt * 0.15 * total), ca.SX(0.3)
            ),
            "pitch_sum": _clip(
                x["pitch_sum"] + ca.if_else(ca.fabs(pitch_free - pitch_d) > 0, 0, dt * 0.15 * distribution),
                ca.SX(0.3),
            ),
        }
        return throttle, pitch_d, memory

    def _attitude(
        self,
        x: Mapping[str, Expression],
        roll: Expression,
        pitch: Expression,
        rate: Expression,
        roll_d: Expression,
        pitch_d: Expression,
        V: Expression,
    ) -> tuple[Expression, dict[str, Expression]]:
        """Aileron, elevator and rudder, and memory: second-order attitude loops, coordinated turn."""
        dt = cast(float, self.period)
        turn = GRAVITY * ca.tan(roll) / ca.fmax(V, _MIN_AIRSPEED)
        rates_d = ca.vertcat(
            -ca.sin(pitch) * turn, ca.sin(roll) * ca.cos(pitch) * turn, ca.cos(roll) * ca.cos(pitch) * turn
        )
        ω: Expression = ca.vertcat(x["roll_frequency"], x["pitch_frequency"])
        error = ca.vertcat(roll_d - roll, (pitch_d - pitch) * ca.cos(roll))
        sums = ca.vertcat(x["aileron_sum"], x["elevator_sum"])
        ω_dot = ca.vertcat(
            ω**2 * error + 2 * 0.8 * ω * (rates_d - rate)[:2] + sums, 2.0 * (rates_d[2] - rate[2])
        )
        pressure = (x["trim_speed"] / ca.fmax(V, _MIN_AIRSPEED)) ** 2
        trim = ca.vertcat(x["trim"][1], x["trim"][0], x["trim"][2])
        deflections = (ω_dot - x["rate_damping"] * (rate - rates_d)) / x["effectiveness"]
        bounds = ca.SX([self.vehicle.deflections[name] for name in ("aileron", "elevator", "rudder")])
        surfaces = _clip(trim + pressure * deflections, bounds)
        sums = _clip(sums + dt * 0.3 * ω**3 * error, ca.SX(20.0))
        return surfaces, {"aileron_sum": sums[0], "elevator_sum": sums[1]}


def _clip(value: Expression, limit: Expression) -> Expression:
    return ca.fmin(ca.fmax(value, -limit), limit)


def _zero_lift(aircraft: FixedWing) -> float:
    """Minus the zero-lift angle of attack (rad), with the slope of lift at α = 0."""
    lift = aircraft.lift_coefficient([0.0, 1e-4])
    return float(lift[0] * 1e-4 / (lift[1] - lift[0]))


def leg_indices(legs: Sequence[Leg], positions: Array) -> Array:
    """Index of the active leg at each position (n, 2 or more) of a flight, switched as the autopilot does."""
    rows = leg_table(legs)
    which, leg, swept, bearing = np.zeros(len(positions), int), 0, 0.0, None
    for k, p in enumerate(np.asarray(positions)[:, :2]):
        which[k], row = leg, rows[leg]
        now = float(np.arctan2(p[1] - row[2], p[0] - row[1]))
        step = 0.0 if bearing is None else now - bearing
        swept += float(np.arctan2(np.sin(step), np.cos(step)) * np.sign(row[5]))
        done = (p - row[3:5]) @ (row[3:5] - row[1:3]) > 0 if row[0] < 0.5 else swept > row[6]
        bearing = now
        if done and leg < len(rows) - 1:
            leg, swept, bearing = leg + 1, 0.0, None
    return which


def legs_flown(legs: Sequence[Leg], positions: Array) -> Array:
    """Former name of `leg_indices`."""
    warn_renamed("legs_flown", "leg_indices")
    return leg_indices(legs, positions)
