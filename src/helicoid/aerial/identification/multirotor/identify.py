"""Identification of a multirotor from logs of its flights."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from helicoid._typing import Array
from helicoid.aerial.identification.fitting import Fit, fit
from helicoid.aerial.identification.flight_log import FlightLog
from helicoid.aerial.identification.multirotor.model import Residuals
from helicoid.aerial.identification.multirotor.parameters import Commands, Layout, layout_of
from helicoid.aerial.identification.multirotor.result import MultirotorIdentification, judge
from helicoid.aerial.identification.result import (
    HeldOut,
    compared_with_constants,
    held_out,
    labels,
    means_of,
)
from helicoid.aerial.identification.sampling import PoseClock, Stretch, stretches
from helicoid.aerial.multirotor import Multirotor
from helicoid.errors import DoubtfulModelWarning, HelicoidError, InputError

_MIN_TURN = 0.2  # rad/s, RMS of the angular velocity below which a flight tells little of moments
_MAX_STEADY = 0.15  # m/s², mean residual that 0.015 rad of a tilt causes
_MAX_SIGMA_RATIO = 0.7  # of the prior's deviation: parameters with more are not identified


def identify_multirotor(
    vehicle: Multirotor,
    logs: Sequence[FlightLog],
    commands: Commands,
    known: str,
    place: Array,
    attitude_tilt: float = 0.0,
) -> MultirotorIdentification:
    """`identify` of a multirotor; `place` is that of the accelerometer on the root (m)."""
    if vehicle.robot.nv != 6 or any(r.link not in (None, vehicle.robot.model.root) for r in vehicle.rotors):
        raise InputError("identify takes a Multirotor of one body: lock its joints")
    if commands not in ("throttle", "speed"):
        raise InputError(f"commands are 'throttle' or 'speed' (rad/s); got {commands!r}")
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
    layout = layout_of(vehicle, data, commands, place, bias, inertial, attitude_tilt)
    whole = fit(Residuals(layout, data), layout.prior)

    def error(others: list[Stretch], own: list[Stretch], name: str) -> HeldOut:
        point = fit(Residuals(layout, others), whole.point, iterations=5, near=True).point
        return judge(layout, own, point, means_of(others), name)

    return _result(layout, logs, clocks, data, whole, held_out(labels(logs), parts, error), known)


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


def _result(
    layout: Layout,
    logs: Sequence[FlightLog],
    clocks: Sequence[PoseClock],
    data: Sequence[Stretch],
    whole: Fit,
    held: tuple[HeldOut, ...],
    known: str,
) -> MultirotorIdentification:
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
    compared = compared_with_constants(held)
    doubts += compared.doubts
    notes += compared.notes
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
    steady = np.concatenate(Residuals(layout, data).residuals(point))[:, :2].mean(axis=0)
    if np.abs(steady).max() > _MAX_STEADY and data[0].R is not None and not layout.has("attitude_tilt_x"):
        notes.append(
            f"specific force is off by {steady[0]:.2g} and {steady[1]:.2g} m/s² along x and y on average: a "
            "steady wind, or an attitude whose axes are tilted against the rotors', which attitude_tilt=0.02 "
            "estimates"
        )
    if not all(s.velocity is not None for s in data):
        notes.append("without velocity or position and attitude, drag is not identified")
    return MultirotorIdentification(
        found, layout.names, values, spread, described,
        {name: clock.delay for name, clock in zip(labels(logs), clocks, strict=True)},
        held, not doubts, "; ".join(doubts) or "ok", tuple(notes), whole.point, whole.covariance,
        means_of(data), layout,
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
