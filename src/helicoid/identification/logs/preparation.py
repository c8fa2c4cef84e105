"""From a log as recorded to samples for equations: even, low-passed, differentiated, without outliers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.identification.logs.clock import Clock, clock, stretches
from helicoid.identification.logs.external import external_part
from helicoid.identification.logs.filtering import Mask, derivative, low_pass, margin, outliers, repaired
from helicoid.identification.logs.log import Log
from helicoid.robot import Robot

_MIN_STRETCH = 20  # samples between gaps
_MAX_VELOCITY_ERROR = 25.0  # robust standard deviations between v and the derivative of q
_MAX_RELATIVE_VELOCITY_ERROR = 0.03  # of the largest velocity
_MAX_TORQUE = 1.2  # effort limits: larger torques are outliers
_MAX_OUTLIERS = 0.1  # of the samples of a joint: more mean a wrong limit
_VELOCITY_ERROR_WINDOW = 0.25  # s: noise averages out over it


@dataclass(frozen=True, eq=False, repr=False)
class Samples:
    """A stretch of a log on an even clock, low-passed at `cutoff` (Hz, None: as recorded).

    q (M, nq), v, a (M, nv); y (M, rows) measured torques or wrenches, low-passed; raw (M, rows) those before
    the low-pass; weights (M, rows) 1, or 0 for outliers and where the filter has not settled; `part` is
    their place in the log.
    """

    q: Array
    v: Array
    a: Array
    y: Array
    raw: Array
    weights: Array
    rate: float
    cutoff: float | None
    clock: Clock
    part: slice

    def __len__(self) -> int:
        return len(self.q)

    def delayed(self, lag: float) -> Samples:
        """These samples with measurements moved `lag` seconds back, to the motion that caused them.

        What the low-pass removed is taken from the nearest sample: between two samples white noise would
        average out.
        """
        y, shift = moved(self.y, lag * self.rate), round(lag * self.rate)
        nearest = np.clip(np.arange(len(y)) + shift, 0, len(y) - 1)
        return replace(self, y=y, raw=y + (self.raw - self.y)[nearest])

    def replaced(self, y: Array) -> Samples:
        """This motion with `y` (M, rows) as measurements, both low-passed and as recorded."""
        return replace(self, y=y, raw=y)

    def thinned(self, step: int) -> Samples:
        """Every `step`-th sample."""
        if step == 1:
            return self
        kept = {name: getattr(self, name)[::step] for name in ("q", "v", "a", "y", "raw", "weights")}
        return replace(self, **kept, rate=self.rate / step)


def moved(x: Array, samples: float) -> Array:
    """x(i + samples), straight lines between samples, its ends held."""
    if samples == 0:
        return x
    index = np.arange(len(x))
    return np.column_stack([np.interp(index + samples, index, column) for column in x.T])


def measured(log: Log) -> Array:
    """Measured torques of a log, or wrenches side by side, (N, rows)."""
    if log.wrenches:
        return np.concatenate(list(log.wrenches.values()), axis=1)
    if log.tau is None:
        raise InputError(
            f"{log.source}: has neither torques nor wrenches to identify from; give tau, or what was "
            "commanded: q_command or tau_command, see hc.identify_from_commands"
        )
    return np.asarray(log.tau)


class Stretch(NamedTuple):
    """A stretch of a log without gaps, before any low-pass: clock, repaired measurements, weights."""

    log: Log
    clock: Clock
    raw: Array
    weights: Array
    part: slice


def prepare(
    robot: Robot, log: Log, cutoff: float | None = None, dead_zone: float = 0.0, edge: float | None = None
) -> tuple[list[Samples], list[str]]:
    """The samples of each stretch of a log between gaps, and sentences on what was done to them.

    `cutoff` (Hz) is that of the zero-phase low-pass on motion and measurement. Velocities that the log lacks
    are derived from q, accelerations from v. Torques of a joint slower than `dead_zone` (rad/s, m/s), where
    Coulomb friction may be anything, do not count; nor do the first and last `edge` seconds of a stretch,
    by default those in which the filter settles.
    """
    found, notes = usable_stretches(robot, log)
    return [smoothed(robot, one, cutoff, dead_zone, edge) for one in found], notes


def usable_stretches(robot: Robot, log: Log) -> tuple[list[Stretch], list[str]]:
    """Stretches of a log between gaps, outliers marked, and notes: all that does not depend on a low-pass."""
    notes: list[str] = []
    found = []
    parts = stretches(log)
    if len(parts) > 1:
        at = ", ".join(f"{part.start} (t = {log.t[part.start]:.4g} s)" for part in parts[1:6])
        notes.append(f"Samples are missing before sample {at}: each stretch between gaps is used on its own.")
    for part in parts:
        if part.stop - part.start < _MIN_STRETCH:
            notes.append(f"Samples {part.start} to {part.stop} are too few on their own and were left out.")
            continue
        one, own = _screened(robot, log[part], part)
        found.append(one)
        notes.extend(note for note in own if note not in notes)
    if not found:
        raise InputError(f"{log.source}: no {_MIN_STRETCH} samples follow one another without a gap")
    return found, notes


def smoothed(
    robot: Robot, one: Stretch, cutoff: float | None, dead_zone: float = 0.0, edge: float | None = None
) -> Samples:
    """A stretch after the low-pass; see `prepare`."""
    log, even, weights = one.log, one.clock, np.array(one.weights)
    q, v, a = _moving(robot, log, even, cutoff)
    settling = margin(len(weights), even.rate, cutoff) if edge is None else round(edge * even.rate)
    trimmed = min(max(settling, 3), len(weights) // 8)
    weights[:trimmed] = weights[len(weights) - trimmed :] = 0.0
    if dead_zone > 0 and not log.wrenches:
        weights[np.abs(v) < dead_zone] = 0.0
    smooth = low_pass(one.raw, even.rate, cutoff)
    return Samples(q, v, a, smooth, one.raw, weights, even.rate, cutoff, even, one.part)


def motion(
    robot: Robot, log: Log, cutoff: float | None
) -> list[tuple[slice, Clock, tuple[Array, Array, Array]]]:
    """The stretches of a log: place, clock, and (q, v, a) on that clock of each; nothing is left out."""
    result = []
    for part in stretches(log):
        own = log[part] if part.stop - part.start > 1 else log[_widened(part, len(log))]
        even, _ = clock(own)
        result.append((part, even, _moving(robot, own, even, cutoff)))
    return result


def _widened(part: slice, n: int) -> slice:
    """A single sample with a neighbour: differences need two."""
    start = min(part.start, n - 2)
    return slice(start, start + 2)


def _screened(robot: Robot, log: Log, part: slice) -> tuple[Stretch, list[str]]:
    even, note = clock(log)
    notes = [note] if note else []
    y = measured(log) + external_part(robot, log)
    spikes = outliers(y)
    if spikes.any():
        sample, column = (int(k) for k in np.argwhere(spikes)[0])
        name = log.column("tau", column)
        notes.append(
            f"{np.count_nonzero(spikes)} spikes of the measured values were left out, the first in column "
            f"{name!r} at sample {part.start + sample}."
        )
    beyond = _beyond_effort(robot, log, y) & ~spikes
    if beyond.any():
        sample, column = (int(k) for k in np.argwhere(beyond)[0])
        notes.append(
            f"{np.count_nonzero(beyond)} torques beyond the effort limits were left out, the first in column "
            f"{log.column('tau', column)!r} at sample {part.start + sample}: {y[sample, column]:.4g}, where "
            f"{robot.limits.effort[column]:.4g} is the limit."
        )
        spikes = spikes | beyond
    y = repaired(y, spikes) if spikes.any() else y
    weights = np.ones(y.shape)
    weights[spikes] = 0.0
    odd = _disagreeing(robot, log, even)
    if odd.any():
        where = np.flatnonzero(odd)
        notes.append(
            f"Velocities and positions disagree at {len(where)} samples, from {part.start + where[0]} to "
            f"{part.start + where[-1]}: these were left out."
        )
        weights[odd] = 0.0
    return Stretch(log, even, even.onto(y), weights, part), notes


def _beyond_effort(robot: Robot, log: Log, y: Array) -> Mask:
    """Torques beyond the effort limits, (N, rows), of joints where they are few."""
    if log.wrenches:
        return np.zeros(y.shape, dtype=bool)
    effort = robot.limits.effort
    limited = np.isfinite(effort) & (effort > 0)
    beyond = np.abs(y) > np.where(limited, _MAX_TORQUE * effort, np.inf)
    return beyond & (np.mean(beyond, axis=0) < _MAX_OUTLIERS)


def _moving(robot: Robot, log: Log, even: Clock, cutoff: float | None) -> tuple[Array, Array, Array]:
    rate = even.rate
    q = _smooth_positions(robot, even.onto(_continuous(robot, np.asarray(log.q))), rate, cutoff)
    given = log.v
    v = (
        position_rates(robot, q, rate)
        if given is None
        else low_pass(even.onto(np.asarray(given)), rate, cutoff)
    )
    if log.a is None:
        return q, v, derivative(v, rate)
    return q, v, low_pass(even.onto(np.asarray(log.a)), rate, cutoff)


def _continuous(robot: Robot, q: Array) -> Array:
    """q with quaternions that do not change their sign from sample to sample."""
    q = np.array(q)
    for part in robot.model.quaternions:
        own = q[:, part]
        flips = np.cumprod(np.where(np.sum(own[1:] * own[:-1], axis=1) < 0, -1.0, 1.0))
        own[1:] *= flips[:, None]
    return q


def _smooth_positions(robot: Robot, q: Array, rate: float, cutoff: float | None) -> Array:
    q = low_pass(q, rate, cutoff)
    # A step of no length puts coordinates back on their manifold.
    return q if robot.nq == robot.nv else np.asarray(robot.integrate(q, np.zeros((len(q), robot.nv))))


def position_rates(robot: Robot, q: Array, rate: float) -> Array:
    """The velocity of positions at a constant rate: of a spline, or of central steps on a manifold."""
    if robot.nq == robot.nv:
        return derivative(q, rate)
    central = np.asarray(robot.difference(q[:-2], q[2:])) * rate / 2
    first, last = (np.asarray(robot.difference(*pair)) * rate for pair in ((q[0], q[1]), (q[-2], q[-1])))
    return np.vstack([first, central, last])


def _disagreeing(robot: Robot, log: Log, even: Clock) -> Mask:
    """Samples whose v is not the derivative of q, (N,): a start-up transient, or a sensor that hung."""
    if log.v is None:
        return np.zeros(len(log), dtype=bool)
    cutoff = 0.1 * even.rate  # the same whatever the log is low-passed at later
    q = _smooth_positions(robot, even.onto(_continuous(robot, np.asarray(log.q))), even.rate, cutoff)
    v = low_pass(even.onto(np.asarray(log.v)), even.rate, cutoff)
    window = max(3, round(_VELOCITY_ERROR_WINDOW * even.rate))
    off = np.sqrt(_running_mean((v - position_rates(robot, q, even.rate)) ** 2, window))
    bound = np.maximum(
        _MAX_VELOCITY_ERROR * 1.4826 * np.median(off, axis=0),
        _MAX_RELATIVE_VELOCITY_ERROR * np.abs(v).max(axis=0),
    )
    reach = margin(len(v) // 8, even.rate, cutoff)
    bad = np.any(off > bound, axis=1)
    bad[:reach] = bad[len(bad) - reach :] = False
    return _running_mean(bad[:, None].astype(np.float64), 2 * window + 1)[:, 0] > 1e-9


def _running_mean(x: Array, window: int) -> Array:
    """The mean over `window` samples about each of x (N, n), fewer at the ends."""
    half = window // 2
    total = np.vstack([np.zeros((1, x.shape[1])), np.cumsum(x, axis=0)])
    low = np.clip(np.arange(len(x)) - half, 0, len(x))
    high = np.clip(np.arange(len(x)) + half + 1, 0, len(x))
    return np.maximum(total[high] - total[low], 0.0) / (high - low)[:, None]
