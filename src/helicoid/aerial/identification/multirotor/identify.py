"""Identification of a multirotor from logs of its flights."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.aerial.checks import real_numbers
from helicoid.aerial.identification.fitting import Fit, fit
from helicoid.aerial.identification.flight_log import FlightLog
from helicoid.aerial.identification.parameters import Commands, Layout, layout_of
from helicoid.aerial.identification.result import FlightIdentification, HeldOut, judge
from helicoid.aerial.identification.sampling import PoseClock, Stretch, stretches
from helicoid.aerial.multirotor import Multirotor
from helicoid.errors import DoubtfulModelWarning, HelicoidError, InputError

_MAX_FOLDS = 4
_MIN_TURN = 0.2  # rad/s, RMS of the angular velocity below which a flight tells little of moments
_MAX_SIGMA_RATIO = 0.7  # of the prior's deviation: parameters with more are not identified


def identify(
    vehicle: Multirotor,
    flights: FlightLog | Sequence[FlightLog],
    *,
    commands: Commands = "throttle",
    known: Literal["mass", "thrust"] = "mass",
    sensor: ArrayLike = (0.0, 0.0, 0.0),
) -> FlightIdentification:
    """Identify a multirotor from logs of its flights.

    Found are: rotor speed as an affine function of the command, times a power of the voltage; lags of the
    motors, up and down; the delay of commands, and that of poses against the gyroscope; drag torque,
    inertia, centre of mass, drag of rotors and body; offset and misalignment of the inertial sensor. What the
    flights do not tell stays at the description: each parameter has a normal prior about it.

    Args:
        vehicle: description, of one body: places of the rotors, their thrust constant, mass, and estimates
            of the rest.
        flights: one or more. Angular acceleration comes from gyroscopes, or from attitudes; specific force
            from accelerometers, or from positions and attitudes. Samples need not be even.
        commands: "throttle", pulse width and the like, of unknown scale; or "speed", rotor speeds (rad/s).
        known: "mass", or "thrust" where speeds are given or measured: the mass is then found.
        sensor: place of the accelerometer on the root (m).

    Flights in wind count gusts as noise. A vehicle that predicts worse than a constant has `success` False.
    The equations are those of `helicoid.aerial.identification.model`.
    """
    if not isinstance(vehicle, Multirotor):
        raise InputError(f"identify takes a Multirotor as description; got {vehicle!r}")
    if vehicle.robot.nv != 6 or any(r.link not in (None, vehicle.robot.model.root) for r in vehicle.rotors):
        raise InputError("identify takes a Multirotor of one body: lock its joints")
    logs = [flights] if isinstance(flights, FlightLog) else list(flights)
    if not logs or not all(isinstance(log, FlightLog) for log in logs):
        raise InputError(f"flights are hc.aerial.FlightLog, one or several; got {flights!r}")
    if commands not in ("throttle", "speed"):
        raise InputError(f"commands are 'throttle' or 'speed' (rad/s); got {commands!r}")
    place = real_numbers("sensor", sensor)
    if place.shape != (3,):
        raise InputError(f"sensor is a place on the root (m), three numbers; got {sensor!r}")
    _check(vehicle, logs, commands, known)
    parts: list[list[Stretch]] = []
    clocks: list[PoseClock] = []
    for k, log in enumerate(logs):
        found, clock = stretches(log, k)
        parts.append(found)
        clocks.append(clock)
    data = [one for part in parts for one in part]
    inertial = all("accelerometer" in log.channels for log in logs)
    bias = np.mean([clock.gyro_bias for clock in clocks], axis=0)
    layout = layout_of(vehicle, data, commands, place, bias, inertial)
    whole = fit(layout, data, layout.prior)
    held_out = _held_out(layout, logs, parts, whole.point)
    return _result(layout, logs, clocks, data, whole, held_out, known)


def _check(vehicle: Multirotor, logs: Sequence[FlightLog], commands: str, known: str) -> None:
    rotors = len(vehicle.rotors)
    kinds = {tuple(sorted(set(log.channels) - {"voltage"})) for log in logs}
    if len(kinds) > 1:
        raise InputError(
            "flights measure the same channels to be fitted together; these have "
            f"{' and '.join(map(str, kinds))}"
        )
    for log in logs:
        for name in ("command", "speed"):
            if name in log.channels and log.channels[name].values.shape[1] != rotors:
                width = log.channels[name].values.shape[1]
                raise InputError(f"{log.source}: {name} has {width} columns, the vehicle {rotors} rotors")
        if "accelerometer" not in log.channels and "position" not in log.channels:
            raise InputError(f"{log.source}: specific force needs an accelerometer, or position and attitude")
        if "accelerometer" not in log.channels and "attitude" not in log.channels:
            raise InputError(f"{log.source}: positions give a specific force with attitude= only")
    if known not in ("mass", "thrust"):
        raise InputError(f"known is 'mass' or 'thrust'; got {known!r}")
    if known == "thrust" and commands != "speed" and not all("speed" in log.channels for log in logs):
        raise InputError(
            "thrust is known from rotor speeds: commands='speed', or speed= in the flights; a throttle of "
            "unknown scale tells the ratio of thrust to mass only"
        )


def _means(data: Sequence[Stretch]) -> Array:
    return np.concatenate([s.measured for s in data]).mean(axis=0)


def _held_out(
    layout: Layout, logs: Sequence[FlightLog], parts: list[list[Stretch]], start: Array
) -> tuple[HeldOut, ...]:
    """Errors on each flight by a fit to the others; of one flight, of each half by the other."""
    names = [log.source if log.source != "flight" else f"flight {k + 1}" for k, log in enumerate(logs)]
    groups = parts
    if len(parts) == 1:
        groups, names = _halves(parts[0]), [f"{names[0]}, half {k}" for k in (1, 2)]
    found = []
    for k in range(min(len(groups), _MAX_FOLDS)):
        others = [one for j, group in enumerate(groups) if j != k for one in group]
        if not others or not groups[k]:
            continue
        own = fit(layout, others, start, iterations=5)
        found.append(judge(layout, groups[k], own.point, _means(others), names[k]))
    return tuple(found)


def _halves(data: list[Stretch]) -> list[list[Stretch]]:
    if len(data) > 1:
        total, at = sum(len(s.t) for s in data), 0
        halves: list[list[Stretch]] = [[], []]
        for one in data:
            halves[at >= total / 2].append(one)
            at += len(one.t)
        return halves
    (one,) = data
    middle = len(one.t) // 2
    return [[_part(one, slice(0, middle))], [_part(one, slice(middle, None))]]


def _part(stretch: Stretch, rows: slice) -> Stretch:
    cut: dict[str, Any] = {
        name: None if (x := getattr(stretch, name)) is None else x[rows]
        for name in ("t", "voltage", "speed", "gyro", "measured", "velocity", "R")
    }
    return replace(stretch, **cut)


def _result(
    layout: Layout,
    logs: Sequence[FlightLog],
    clocks: Sequence[PoseClock],
    data: Sequence[Stretch],
    whole: Fit,
    held_out: tuple[HeldOut, ...],
    known: str,
) -> FlightIdentification:
    point, sigma = whole.point, np.sqrt(np.diag(whole.covariance))
    doubts, notes = [], []
    scale = float(np.exp(-layout.of(point, "thrust"))) if known == "thrust" else 1.0
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DoubtfulModelWarning)
            found = layout.built(point, scale)
        doubts += [str(one.message) for one in caught if issubclass(one.category, DoubtfulModelWarning)]
    except HelicoidError as error:
        found = layout.described
        doubts.append(f"no vehicle has these parameters, the described one is kept: {error}")
    for one in held_out:
        worse = one.worse_than_a_constant
        total = [
            name
            for name, at in (("specific force", 0), ("angular acceleration", 3))
            if one.total(at)[0] > one.total(at)[1]
        ]
        if total or "force z" in worse:
            what = " and ".join(total) or "specific force along z"
            doubts.append(f"{one.flight}: {what} predicted worse than by a constant")
        elif worse:
            notes.append(f"{one.flight}: {', '.join(worse)} predicted worse than by a constant")
    turning = np.sqrt(np.mean(np.concatenate([np.sum(s.gyro**2, axis=1) for s in data])))
    if turning < _MIN_TURN:
        notes.append("the flights hardly turn: fly rolls, pitches and yaws to identify moments and lags")
    values, spread, described = _physical(layout, point, sigma, scale)
    unidentified = [
        name for k, name in enumerate(layout.names) if sigma[k] > _MAX_SIGMA_RATIO * layout.spread[k]
    ]
    if unidentified:
        notes.append(
            f"the flights hardly identify {', '.join(unidentified)}: estimates stay near the description"
        )
    if not all(s.velocity is not None for s in data):
        notes.append("without velocity or position and attitude, drag is not identified")
    means = _means(data)
    return FlightIdentification(
        found, layout.names, values, spread, described,
        {log.source if log.source != "flight" else f"flight {k + 1}": clock.delay
         for k, (log, clock) in enumerate(zip(logs, clocks, strict=True))},
        held_out, not doubts, "; ".join(doubts) or "ok", tuple(notes), layout, point, whole.covariance, means,
    )  # fmt: skip


def _physical(layout: Layout, point: Array, sigma: Array, scale: float) -> tuple[Array, Array, Array]:
    """Values and deviations in their units: logarithms of ratios become numbers of the vehicle."""
    b, d = float(layout.b.mean()), float(layout.d.mean())
    J = np.diag(layout.J)
    units = {"thrust": b, "torque": d, **{f"inertia_{a}": float(J[k]) for k, a in enumerate("xyz")}}
    forces = {"torque", "hub_drag", "inflow", "rotor_inertia"}
    forces |= {f"{kind}_{a}" for kind in ("inertia", "drag_area") for a in "xyz"}
    forces |= {f"product_{a}" for a in ("xy", "xz", "yz")}
    values, spread, described = np.array(point), np.array(sigma), np.array(layout.prior)
    for k, name in enumerate(layout.names):
        own = scale if name in forces else 1.0
        if name in units or name in ("lag", "lag_ratio"):
            unit = units.get(name, 1.0)
            values[k], described[k] = (unit * np.exp(x) for x in (point[k], layout.prior[k]))
            spread[k] = values[k] * sigma[k]
        values[k], spread[k] = own * values[k], own * spread[k]
    return values, spread, described
