"""Identification of an aircraft from logs of its flights."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np

from helicoid._typing import Array
from helicoid.aerial.fixed_wing import FixedWing
from helicoid.aerial.identification.fitting import Fit, fit
from helicoid.aerial.identification.fixed_wing.equation_error import EquationError
from helicoid.aerial.identification.fixed_wing.output_error import OutputError
from helicoid.aerial.identification.fixed_wing.parameters import AircraftLayout, layout_of
from helicoid.aerial.identification.fixed_wing.result import (
    FixedWingIdentification,
    aircraft_stretches,
    judge,
)
from helicoid.aerial.identification.flight_log import FlightLog
from helicoid.aerial.identification.result import (
    HeldOut,
    compared_with_constants,
    held_out,
    labels,
    means_of,
)
from helicoid.aerial.identification.sampling import Stretch
from helicoid.errors import HelicoidError, InputError

Method = Literal["equation_error", "output_error"]
_MAX_SIGMA_RATIO = 0.7  # of the prior's deviation: parameters with more are not identified
_ITERATIONS_HELD_OUT = 5


def identify_fixed_wing(
    vehicle: FixedWing, logs: Sequence[FlightLog], place: Array, method: Method
) -> FixedWingIdentification:
    """`identify` of an aircraft; `place` is that of the accelerometer on the root (m)."""
    if vehicle.robot.nv != 6:
        raise InputError("identify takes a FixedWing of one body: lock its joints")
    if method not in ("equation_error", "output_error"):
        raise InputError(f"method is 'equation_error' or 'output_error'; got {method!r}")
    _check(vehicle, logs)
    parts, clocks = zip(*(aircraft_stretches(log, k) for k, log in enumerate(logs)), strict=True)
    data = [one for part in parts for one in part]
    inertial = all("accelerometer" in log.channels for log in logs)
    bias = np.mean([clock.gyro_bias for clock in clocks], axis=0)
    layout = layout_of(vehicle, data, place, bias, inertial)
    whole = _fit(layout, data, method, layout.prior, 30)

    def error(others: list[Stretch], own: list[Stretch], name: str) -> HeldOut:
        point = _fit(layout, others, method, whole.point, _ITERATIONS_HELD_OUT).point
        # The wind of a flight that is left out is known from that flight alone.
        own_wind = [k for k, key in enumerate(layout.names) if key.startswith(f"wind_{own[0].flight}_")]
        point[own_wind] = whole.point[own_wind]
        return judge(layout, own, point, means_of(others), name)

    held = held_out(labels(logs), parts, error)
    sigma = np.sqrt(np.diag(whole.covariance))
    found, doubts = vehicle, []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = layout.built(whole.point)
    except HelicoidError as problem:
        doubts.append(f"no aircraft has these parameters, the described one is kept: {problem}")
    compared = compared_with_constants(held)
    weak = [name for k, name in enumerate(layout.names) if sigma[k] > _MAX_SIGMA_RATIO * layout.spread[k]]
    notes = list(compared.notes)
    if weak:
        notes.append(f"the flights hardly identify {', '.join(weak)}: estimates stay near the description")
    doubts += compared.doubts
    delays = {name: clock.delay for name, clock in zip(labels(logs), clocks, strict=True)}
    return FixedWingIdentification(
        found, layout.names, whole.point, sigma, layout.prior, delays, held, not doubts,
        "; ".join(doubts) or "ok", tuple(notes), whole.point, whole.covariance, means_of(data), layout,
        method,
    )  # fmt: skip


def _fit(layout: AircraftLayout, data: list[Stretch], method: str, start: Array, iterations: int) -> Fit:
    found = fit(EquationError(layout, data), start, iterations)
    if method == "equation_error":
        return found
    problem, n = OutputError(layout, data), len(layout.names)
    found = fit(problem, np.concatenate([found.point, problem.prior[n:]]), iterations)
    return Fit(found.point[:n], found.covariance[:n, :n], found.noise)


def _check(vehicle: FixedWing, logs: Sequence[FlightLog]) -> None:
    kinds = {tuple(sorted(log.channels)) for log in logs}
    if len(kinds) > 1:
        raise InputError(
            "flights measure the same channels to be fitted together; these have "
            f"{' and '.join(map(str, kinds))}"
        )
    controls = list(vehicle.own_controls)
    for log in logs:
        width = log.channels["command"].values.shape[1]
        if width != len(controls):
            raise InputError(
                f"{log.source}: command has {width} columns, the controls of {vehicle.robot.name!r} are "
                f"{', '.join(controls)}"
            )
        if "attitude" not in log.channels:
            raise InputError(f"{log.source}: flights of an aircraft have attitude=")
        if not {"air_data", "velocity", "position"} & set(log.channels):
            raise InputError(
                f"{log.source}: forces of an aircraft need its velocity: air_data=, velocity= or position="
            )
        if not {"accelerometer", "position"} & set(log.channels):
            raise InputError(f"{log.source}: specific force needs an accelerometer, or position and attitude")
