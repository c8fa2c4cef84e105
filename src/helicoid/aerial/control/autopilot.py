"""An aircraft's autopilot: L1 guidance, total energy control, and attitude loops, in one compiled step.

Energies are per weight: with the flight path γ and the acceleration V̇, Ė = V̇/g + γ changes by thrust, and
γ - V̇/g, which shares energy out to height and speed, by pitch (Lambregts 1983).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.aerial.control.guidance import Leg, aim, table, turn_wanted
from helicoid.aerial.control.law import FlightLaw, References, Wanted
from helicoid.aerial.fixed_wing import FixedWing
from helicoid.aerial.frames import FLIP, GRAVITY
from helicoid.control.laws.step import Number
from helicoid.control.laws.torque import check_period
from helicoid.errors import InputError
from helicoid.geometry import quaternion

_NO_BEARING = 1e3
"""Stands for the bearing before the first step of a leg."""


class Autopilot(FlightLaw):
    """Flies legs, lines and circles, at a speed and at their heights.

    Guidance turns the error across the way into a roll, total energy control (TECS) those of height and speed
    into throttle and pitch, and attitude loops these into surfaces, with rates of a coordinated turn. Gains
    follow from the aircraft's own derivatives at its trim, scaled by dynamic pressure.

    References: `speed` through the air (m/s), as that of the trim unless given; `height_offset` (m), added to
    heights of legs.

    Args:
        aircraft: with a motor.
        legs: flown one after the other; the last one for ever. None holds course along x.
        speed: of the trim that gains are made for (m/s).
        dt: time between steps (s).
        wind: mean wind as it is known (m/s, world axes), for the airspeed.
        period, damping: of guidance (s, -): L = damping · period / π times the speed over ground. The roll
            loop must be faster than guidance: roll_frequency · period above 40.
        roll_frequency, pitch_frequency: of attitude loops (rad/s).
        max_roll, max_pitch: rad.
        climb_rate: most of |γ| (rad).

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

    def __init__(
        self,
        aircraft: FixedWing,
        legs: Sequence[Leg],
        speed: float,
        dt: float,
        wind: ArrayLike = (0.0, 0.0, 0.0),
        period: float = 8.0,
        damping: float = 0.8,
        roll_frequency: float = 6.0,
        pitch_frequency: float = 4.0,
        max_roll: float = 0.8,
        max_pitch: float = 0.35,
        climb_rate: float = 0.2,
    ) -> None:
        if not isinstance(aircraft, FixedWing) or aircraft.motor is None:
            raise InputError(f"Autopilot flies a FixedWing with a motor; got {aircraft!r}")
        if dt is None or check_period(dt) is None:
            raise InputError("Autopilot needs the time between steps, dt (s)")
        trim = aircraft.trim(speed=speed)
        if not trim.ok:
            raise InputError(f"there is no level trim at {speed:g} m/s: {trim.reason}")
        self.legs, self._dt, lin = tuple(legs), float(dt), trim.linearise()
        rows = table(legs)
        row, column = lin.states.index, lin.controls.index
        surfaces = ("aileron", "elevator", "rudder")
        rates = ("p", "q", "r")
        effect = [lin.B[row(r), column(c)] for r, c in zip(rates, surfaces, strict=True)]
        inherent = [lin.A[row(r), row(r)] for r in rates]
        numbers = {
            "legs": Number(rows, rows.shape),
            "trim_speed": Number(speed, (), 0.0, above=True),
            "trim": Number(trim.u, trim.u.shape),
            "trim_angle": Number([trim.alpha, trim.alpha + _zero_lift(aircraft)], (2,)),
            "effect": Number(effect, (3,)),
            "inherent": Number(inherent, (3,)),
            "push": Number(lin.B[row("u"), column("throttle")], (), 0.0, above=True),
            "wind": Number(wind, (3,)),
            "period": Number(period, (), 0.0, above=True),
            "damping": Number(damping, (), 0.0, above=True),
            "roll_frequency": Number(roll_frequency, (), 0.0, above=True),
            "pitch_frequency": Number(pitch_frequency, (), 0.0, above=True),
            "max_roll": Number(max_roll, (), 0.0, above=True),
            "max_pitch": Number(max_pitch, (), 0.0, above=True),
            "climb_rate": Number(climb_rate, (), 0.0, above=True),
        }
        kept = ("leg", "swept", "throttle_sum", "pitch_sum", "elevator_sum", "aileron_sum")
        memory: dict[str, Array] = {name: np.zeros(()) for name in kept}
        memory |= {"bearing": np.full((), _NO_BEARING), "airspeed": np.full((), float(speed))}
        references: References = {"speed": ((), speed), "height_offset": ((), 0.0)}
        super().__init__(aircraft, "autopilot", references, numbers, memory)

    @property
    def leg(self) -> int:
        """The number of the leg that is flown."""
        return int(self._kept("leg"))

    def _wanted(self, x: Mapping[str, Expression]) -> Wanted:
        F = ca.SX(FLIP)
        R = F @ quaternion.to_matrix(x["q"][3:7]) @ F
        rate, ground = F @ x["v"][:3], R @ (F @ x["v"][3:6])
        air = ground - F @ x["wind"]
        V = ca.sqrt(ca.sumsqr(air) + 1e-6)
        roll, pitch = ca.atan2(R[2, 1], R[2, 2]), ca.asin(ca.fmin(ca.fmax(-R[2, 0], -1), 1))
        leg, memory = self._on_leg(x)
        over = ca.vertcat(ground[0], -ground[1])  # z up
        speed = ca.sqrt(ca.sumsqr(over) + 1.0)
        L = x["damping"] * x["period"] / ca.pi * speed
        left = turn_wanted(aim(leg, x["q"][:2], L), x["q"][:2], over, L)
        roll_d = _within(ca.atan2(-left, GRAVITY), x["max_roll"])
        throttle, pitch_d, energies = self._energies(x, leg[7] + x["height_offset"], V, air, roll)
        surfaces, sums = self._attitude(x, roll, pitch, rate, roll_d, pitch_d, V)
        u = ca.vertcat(surfaces[1], surfaces[0], surfaces[2], throttle)
        return Wanted(u, {**memory, **energies, **sums})

    def _on_leg(self, x: Mapping[str, Expression]) -> tuple[Expression, dict[str, Expression]]:
        """The numbers of the leg that is flown, and what is kept of the way."""
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
        # The first step of a leg has no bearing before it.
        swept = x["swept"] + ca.if_else(x["bearing"] > _NO_BEARING / 2, 0, step)
        done = ca.if_else(leg[0] < 0.5, passed, swept > leg[6])
        goes_on = ca.logic_and(done, x["leg"] < n - 1.5)
        memory = {
            "leg": x["leg"] + goes_on,
            "swept": ca.if_else(goes_on, 0, swept),
            "bearing": ca.if_else(goes_on, _NO_BEARING, bearing),
        }
        return leg, memory

    def _energies(
        self,
        x: Mapping[str, Expression],
        height: Expression,
        V: Expression,
        air: Expression,
        roll: Expression,
    ) -> tuple[Expression, Expression, dict[str, Expression]]:
        """Throttle, the pitch wanted, and memory: total energy control."""
        dt, γ = self._dt, ca.asin(ca.fmin(ca.fmax(-air[2] / V, -1), 1))
        V_dot = 2.0 * (V - x["airspeed"])  # of a filter of half a second
        γ_d = _within(0.4 * (height - x["q"][2]) / V, x["climb_rate"])
        a_d = _within(0.4 * (x["speed"] - V), ca.SX(1.5)) / GRAVITY
        total, share = (γ_d - γ) + (a_d - V_dot / GRAVITY), (γ_d - γ) - (a_d - V_dot / GRAVITY)
        per_energy = GRAVITY / x["push"]
        free = x["trim"][3] + per_energy * (γ_d + a_d + 0.3 * total + x["throttle_sum"])
        throttle = ca.fmin(ca.fmax(free, 0), 1)
        # A turn needs more lift, and so a larger angle of attack.
        load = 1 / ca.fmax(ca.cos(roll), 0.3) * (x["trim_speed"] / V) ** 2
        alpha = x["trim_angle"][0] + (load - 1) * x["trim_angle"][1]
        pitch_free = alpha + γ_d + 0.3 * share + x["pitch_sum"]
        pitch_d = _within(pitch_free, x["max_pitch"])
        held = ca.fabs(free - throttle) > 0
        memory = {
            "airspeed": x["airspeed"] + dt * V_dot,
            "throttle_sum": _within(x["throttle_sum"] + ca.if_else(held, 0, dt * 0.15 * total), ca.SX(0.3)),
            "pitch_sum": _within(
                x["pitch_sum"] + ca.if_else(ca.fabs(pitch_free - pitch_d) > 0, 0, dt * 0.15 * share),
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
        """Aileron, elevator and rudder, and memory: angles as oscillators, rates of a coordinated turn."""
        dt = self._dt
        turn = GRAVITY * ca.tan(roll) / ca.fmax(V, 5.0)
        rates_d = ca.vertcat(
            -ca.sin(pitch) * turn, ca.sin(roll) * ca.cos(pitch) * turn, ca.cos(roll) * ca.cos(pitch) * turn
        )
        ω: Expression = ca.vertcat(x["roll_frequency"], x["pitch_frequency"])
        error = ca.vertcat(roll_d - roll, (pitch_d - pitch) * ca.cos(roll))
        sums = ca.vertcat(x["aileron_sum"], x["elevator_sum"])
        wanted = ca.vertcat(
            ω**2 * error + 2 * 0.8 * ω * (rates_d - rate)[:2] + sums, 2.0 * (rates_d[2] - rate[2])
        )
        pressure = (x["trim_speed"] / ca.fmax(V, 5.0)) ** 2
        trim = ca.vertcat(x["trim"][1], x["trim"][0], x["trim"][2])
        moved = (wanted - x["inherent"] * (rate - rates_d)) / x["effect"]
        surfaces = _within(trim + pressure * moved, ca.SX(self.vehicle.deflection))
        grown = _within(sums + dt * 0.3 * ω**3 * error, ca.SX(20.0))
        return surfaces, {"aileron_sum": grown[0], "elevator_sum": grown[1]}


def _within(value: Expression, most: Expression) -> Expression:
    return ca.fmin(ca.fmax(value, -most), most)


def _zero_lift(aircraft: FixedWing) -> float:
    """C_L_0 / C_L_alpha: by how much the angle without lift lies below zero (rad)."""
    return aircraft.coefficients["C_L_0"] / aircraft.coefficients["C_L_alpha"]


def legs_flown(legs: Sequence[Leg], positions: Array) -> Array:
    """The number of the leg that each position of a flight belongs to, as the autopilot counts them."""
    rows = table(legs)
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
