"""Result of identifying a vehicle from flights, and its errors on flights that were left out."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.aerial.identification.flight_log import FlightLog
from helicoid.aerial.identification.sampling import Stretch
from helicoid.aerial.vehicle import Vehicle
from helicoid.errors import InputError

_MAX_FOLDS = 4

CHANNELS = ("force x", "force y", "force z", "angular x", "angular y", "angular z")
"""Specific force (m/s²) and angular acceleration (rad/s²) along the axes of the inertial sensor."""


class HeldOut(NamedTuple):
    """Errors on a flight that was not fitted, RMS of each of `CHANNELS`, and those of a constant."""

    flight: str
    errors: Array
    constant: Array

    @property
    def worse_than_a_constant(self) -> list[str]:
        """Channels that a constant predicts better."""
        return [
            name
            for name, error, constant in zip(CHANNELS, self.errors, self.constant, strict=True)
            if error > 1.02 * constant
        ]

    def total(self, first: int) -> tuple[float, float]:
        """RMS over three channels from `first`, of the model and of the constant."""
        each = slice(first, first + 3)
        return tuple(float(np.linalg.norm(x[each])) for x in (self.errors, self.constant))  # type: ignore[return-value]


class Predicted(NamedTuple):
    """Times, and measured and predicted specific force and angular acceleration (M, 6), alike."""

    t: Array
    measured: Array
    predicted: Array


class Summary(NamedTuple):
    """Whether a vehicle predicts better than a constant, the reasons if not, and notes."""

    doubts: list[str]
    notes: list[str]


@dataclass(frozen=True, eq=False)
class FlightIdentification(ABC):
    """Result of `hc.aerial.identify`: a `MultirotorIdentification` or a `FixedWingIdentification`.

    Attributes:
        vehicle: the identified vehicle.
        names, values, sigma: parameters and their standard deviations; `described`, what they were before.
        pose_delays: by which poses are later than the gyroscope (s), by flight.
        held_out: errors on flights, or halves of the only one, that were left out of a fit.
        success: whether the vehicle is physical and predicts better than a constant; else `message` says why.
        notes: what else should be known.
        point, covariance: parameters in the coordinates of the fit.
        means: of the six channels over the flights: the constant that predictions are compared with.
    """

    vehicle: Vehicle
    names: tuple[str, ...]
    values: Array
    sigma: Array
    described: Array
    pose_delays: Mapping[str, float]
    held_out: tuple[HeldOut, ...]
    success: bool
    message: str
    notes: tuple[str, ...]
    point: Array
    covariance: Array
    means: Array

    @abstractmethod
    def predict(self, flight: FlightLog) -> list[Predicted]:
        """Specific force and angular acceleration of a flight, by stretches without gaps."""

    @abstractmethod
    def score(self, flight: FlightLog) -> HeldOut:
        """Errors on a flight, beside those of the mean of the fitted ones."""

    def report(self, path: str | os.PathLike[str], flight: FlightLog | None = None) -> None:
        """Write a self-contained HTML page: verdict, held-out errors, parameters and notes.

        `flight` is a log that was not fitted: its errors are added, and plots of measured and predicted
        channels.
        """
        from helicoid.aerial.identification.report import write_report

        write_report(self, path, flight)

    def __getitem__(self, name: str) -> float:
        """A parameter by name."""
        if name not in self.names:
            raise InputError(f"no parameter is called {name!r}; there are: {', '.join(self.names)}")
        return float(self.values[self.names.index(name)])

    def __str__(self) -> str:
        lines = [f"{name:24s}{x:12.5g} ± {s:<10.2g} {d:12.5g}" for name, x, s, d in zip(
            self.names, self.values, self.sigma, self.described, strict=True)]  # fmt: skip
        for one in self.held_out:
            force, angular = one.total(0), one.total(3)
            lines.append(
                f"held out, {one.flight}: specific force {force[0]:.3g} m/s² (constant {force[1]:.3g}), "
                f"angular acceleration {angular[0]:.3g} rad/s² (constant {angular[1]:.3g})"
            )
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes), self.message])

    def __repr__(self) -> str:
        name = self.vehicle.robot.name
        return f"{type(self).__name__}({name!r}, {len(self.names)} parameters: {self.message})"


def errors_of(left: Sequence[Array], data: Sequence[Stretch], means: Array, source: str) -> HeldOut:
    """Errors of residuals on stretches, beside those of constants."""
    measured = np.concatenate([s.inner(s.measured) for s in data])
    present = data[0].present
    return HeldOut(
        source,
        np.sqrt(np.mean(np.concatenate(left) ** 2, axis=0))[:6],
        np.sqrt(np.mean((measured - means * present) ** 2, axis=0))[:6],
    )


def means_of(data: Sequence[Stretch]) -> Array:
    """Means of the measured channels."""
    return np.concatenate([s.measured for s in data]).mean(axis=0)


def labels(logs: Sequence[FlightLog]) -> list[str]:
    """Names of flights in messages."""
    return [log.source if log.source != "flight" else f"flight {k + 1}" for k, log in enumerate(logs)]


def held_out(
    names: Sequence[str],
    parts: Sequence[list[Stretch]],
    error: Callable[[list[Stretch], list[Stretch], str], HeldOut],
) -> tuple[HeldOut, ...]:
    """Errors on each flight by a fit to the others; of one flight, of each half by the other.

    `error` fits its first argument and is evaluated on the second.
    """
    groups = list(parts)
    if len(parts) == 1:
        groups, names = _halves(parts[0]), [f"{names[0]}, half {k}" for k in (1, 2)]
    found = []
    for k in range(min(len(groups), _MAX_FOLDS)):
        others = [one for j, group in enumerate(groups) if j != k for one in group]
        if others and groups[k]:
            found.append(error(others, groups[k], names[k]))
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
    return [[one.part(slice(0, middle))], [one.part(slice(middle, None))]]


def compared_with_constants(held: Sequence[HeldOut]) -> Summary:
    """Where specific force or angular acceleration is predicted worse than by a constant."""
    doubts, notes = [], []
    for one in held:
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
    return Summary(doubts, notes)
