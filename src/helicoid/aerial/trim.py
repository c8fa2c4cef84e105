"""Steady flight: attitude and controls for which nothing accelerates, and small motions about it.

By Newton's method with exact derivatives, many flights side by side; where it ends outside of the limits, the
nearest point inside by least squares. What is unknown and what must be zero is said in `steady.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from helicoid._typing import Array
from helicoid.aerial.frames import FLIP, GRAVITY
from helicoid.aerial.modes import name_modes
from helicoid.aerial.steady import Steady, small_motions
from helicoid.errors import InputError

if TYPE_CHECKING:
    from helicoid.aerial.vehicle import Vehicle

_ITERATIONS = 60
SOLVED = 1e-8
"""Accelerations that are none (m/s², rad/s²)."""
_SLACK = 1e-9  # of limits
_SHORTEST, _LONGEST = 1 / 200, 100.0  # steps of Newton: of a whole one, and in their largest element


class Linearisation(NamedTuple):
    """ẋ = A x + B u about a trim: x are velocities (u, v, w), rates (p, q, r), roll, pitch, then own states
    and joints.

    Axes are aeronautics', z down.
    """

    A: Array
    B: Array
    states: tuple[str, ...]
    controls: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Trim:
    """A steady flight, or the nearest to it.

    Attributes:
        speed, climb, turn_rate: what was asked for (m/s, m/s, rad/s).
        roll, pitch: φ and θ (rad), z down; `alpha`, `beta`: angles of attack and sideslip (rad).
        controls, states: by name.
        q, v: the state, heading north at the origin, z up.
        residual: largest acceleration that is left (m/s², rad/s²).
        ok: whether it is steady, within all limits and not stalled.
        reason: why not, in words; empty where it is.
    """

    vehicle: Vehicle = field(repr=False)
    speed: float
    climb: float
    turn_rate: float
    roll: float
    pitch: float
    alpha: float
    beta: float
    controls: Mapping[str, float]
    states: Mapping[str, float]
    q: Array = field(repr=False)
    v: Array = field(repr=False)
    residual: float
    ok: bool
    reason: str = ""

    @property
    def u(self) -> Array:
        """The controls as a vector, in the order of `vehicle.controls`."""
        return np.array(list(self.controls.values()))

    @property
    def z(self) -> Array:
        """The vehicle's states as a vector, those of gusts zero."""
        return np.concatenate([list(self.states.values()), np.zeros(len(self.vehicle.wind.states))])

    def linearise(self) -> Linearisation:
        """A and B of small motions about the trim, by exact derivatives."""
        vehicle = Steady.of(self.vehicle).calm
        x = np.concatenate(
            [FLIP @ self.v[3:6], FLIP @ self.v[:3], [self.roll, self.pitch], list(self.states.values())]
        )
        x = np.concatenate([x, self.q[7:], self.v[6:]])
        A, B = small_motions(vehicle).jacobian("x", "u")(x, self.u, self.q[2])
        names = ("u", "v", "w", "p", "q", "r", "roll", "pitch", *vehicle.own_states)
        names += tuple(f"q.{name}" for name in vehicle.robot.model.coordinate_names[7:])
        names += tuple(f"v.{name}" for name in vehicle.robot.model.velocity_names[6:])
        return Linearisation(A.reshape(len(x), -1), B.reshape(len(x), -1), names, vehicle.controls)

    def modes(self) -> dict[str, complex]:
        """Eigenvalues (1/s) by the names of aeronautics; of a pair, the one with a positive imaginary part.

        "short period" and "phugoid" move in the plane of symmetry, "Dutch roll", "roll" and "spiral" out of
        it.
        """
        return name_modes(self.linearise().A[:8, :8])


def find_trim(vehicle: Vehicle, speed: float, climb: float, turn_rate: float, q: ArrayLike | None) -> Trim:
    """See `Vehicle.trim`."""
    numbers = (speed, climb, turn_rate)
    if not all(isinstance(x, (int, float, np.number)) for x in numbers):
        raise InputError(f"trim takes numbers; for many flights take trims(...); got {numbers!r}")
    return _found(vehicle, np.array([numbers], dtype=np.float64), q)[0]


def find_trims(vehicle: Vehicle, speed: ArrayLike, climb: ArrayLike, turn_rate: ArrayLike) -> list[Trim]:
    """See `Vehicle.trims`."""
    return _found(vehicle, _flights(speed, climb, turn_rate), None)


def find_flights(vehicle: Vehicle, speed: ArrayLike, climb: ArrayLike, turn_rate: ArrayLike) -> list[Trim]:
    """The same as Newton's method leaves them, also beyond limits, and without a reason where not `ok`."""
    return _found(vehicle, _flights(speed, climb, turn_rate), None, nearest=False)


def _flights(*columns: ArrayLike) -> Array:
    """Speeds, climbs and rates of turns, a row for each flight."""
    try:
        arrays = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in columns))
    except (TypeError, ValueError) as error:
        raise InputError(f"trims takes numbers that can be broadcast: {error}") from None
    return np.stack([x.ravel() for x in arrays], axis=1)


def _found(vehicle: Vehicle, flights: Array, q: ArrayLike | None, nearest: bool = True) -> list[Trim]:
    speed, climb = flights[:, 0], flights[:, 1]
    still = speed == 0
    if still.any():  # straight up or down
        flights = flights.copy()
        flights[:, 0] = speed = np.where(still, np.abs(climb), speed)
    if not (np.isfinite(flights).all() and (np.abs(climb) <= speed).all()):
        raise InputError("trim: numbers are finite, speed is 0 or more and climb at most as large")
    steady = Steady.of(vehicle)
    posture = (vehicle.robot.neutral() if q is None else np.asarray(q, np.float64))[2:]
    if not np.isfinite(posture).all():
        raise InputError(f"trim: q has entries that are not finite: {q!r}")
    y, r = _newton(steady, first_guess(steady, flights), flights, posture)
    made = _made(vehicle, steady, flights, y, r, posture)
    for k, trim in enumerate(made):
        if not trim.residual < SOLVED or _beyond(trim, steady) or vehicle._limit_reasons(trim):
            made[k] = _beside(steady, trim, posture) if nearest else replace(trim, ok=False)
    return made


def first_guess(steady: Steady, flights: Array) -> Array:
    """Roll of a coordinated turn, a little pitch, no sideslip, the vehicle's guess of controls."""
    vehicle, n = steady.calm, steady.n_controls
    y = np.zeros((len(flights), 3 + n + len(steady.begin)))
    speed, climb, rate = flights.T
    y[:, 0] = np.arctan(speed * rate / GRAVITY)
    if vehicle.flies_forward:
        y[:, 1] = np.where(speed > 0, 0.05 + np.arcsin(climb / np.maximum(speed, 1e-9)), 0)
    guess = vehicle._guess(float(speed.mean()))
    y[:, 3 : 3 + len(guess)], y[:, 3 + n :] = guess, steady.begin
    return y


def _newton(steady: Steady, y: Array, flights: Array, posture: Array) -> tuple[Array, Array]:
    """Newton's method on every row, steps halved where they do not help; of several steps the least."""
    r, J = steady.residual(y, flights, posture)
    found, left, at = y, r, np.arange(len(y))  # `at` are the rows that still go on
    step, size, length = _newton_step(J, r), np.abs(r).max(axis=1), np.ones((len(y), 1))
    for _ in range(_ITERATIONS):
        trial = y + length * step
        values, J = steady.residual(trial, flights, posture)
        sizes = np.abs(values).max(axis=1)
        better = sizes < size
        if better.all():
            y, r, size, step = trial, values, sizes, _newton_step(J, values)
            length[:], going = 1, size > 1e-3 * SOLVED
        else:
            y, r, size = _chosen(better, trial, y), _chosen(better, values, r), _chosen(better, sizes, size)
            step[better] = _newton_step(J[better], values[better])
            length = np.where(better[:, None], 1.0, length / 2)
            # What no step makes better is as good as rounding allows, or there is no way from here.
            going = (size > 1e-3 * SOLVED) & (better | (size > SOLVED)) & (length[:, 0] > _SHORTEST)
        if not going.all():
            found[at], left[at] = y, r
            at, flights = at[going], flights[going]
            y, r, size, step, length = (x[going] for x in (y, r, size, step, length))
        if not len(at):
            break
    found[at], left[at] = y, r
    return found, left


def _chosen(which: Any, new: Array, old: Array) -> Array:
    return np.where(which.reshape(-1, *[1] * (new.ndim - 1)), new, old)


def _newton_step(J: Array, r: Array) -> Array:
    """-J⁻¹ r of every row, the least where there are several, and not too long."""
    try:
        square = J.shape[1] == J.shape[2]
        step: Any = -np.linalg.solve(J, r[..., None])[..., 0] if square else _least(J, r)
    except np.linalg.LinAlgError:
        step = _least(J, r)
    if not np.abs(step).max(initial=0) < _LONGEST:
        step *= np.minimum(1, _LONGEST / np.maximum(np.abs(step).max(axis=1), 1e-300))[:, None]
    return np.asarray(step)


def _least(J: Array, r: Array) -> Array:
    return np.asarray(-np.einsum("nij,nj->ni", np.linalg.pinv(J, rcond=1e-10), r), np.float64)


def _beyond(trim: Trim, steady: Steady) -> list[str]:
    """The controls that a trim has outside of their limits."""
    rows = zip(trim.controls.items(), steady.lower.tolist(), steady.upper.tolist(), strict=True)
    return [name for (name, u), low, high in rows if not low - _SLACK <= u <= high + _SLACK]


def _beside(steady: Steady, wanted: Trim, posture: Array) -> Trim:
    """The nearest flight to one that there is not, and the reason."""
    vehicle, beyond = wanted.vehicle, _beyond(wanted, steady) if wanted.residual < SOLVED else []
    limits = dict(zip(steady.controls, zip(steady.lower, steady.upper, strict=True), strict=True))
    reasons = [
        f"{name} would have to be {wanted.controls[name]:.4g}, of {limits[name][0]:g} to {limits[name][1]:g} "
        "that there are" + (": power" if name == "throttle" or name.startswith("rotor") else "")
        for name in beyond
    ]
    if beyond or not wanted.residual < SOLVED:
        flights = np.array([[wanted.speed, wanted.climb, wanted.turn_rate]])
        y, r = _nearest(steady, flights[0], posture)
        wanted = _made(vehicle, steady, flights, y[None], r[None], posture)[0]
        if wanted.residual < SOLVED and not _beyond(wanted, steady) and not vehicle._limit_reasons(wanted):
            return wanted  # another one than Newton's method had found
    at = [
        f"{name} is at its limit of {u:.4g}"
        for name, u in wanted.controls.items()
        if min(u - limits[name][0], limits[name][1] - u) < 1e-6 * (limits[name][1] - limits[name][0])
    ]
    said = [*vehicle._limit_reasons(wanted), *(reasons or at)] or ["no steady flight was found"]
    return replace(wanted, ok=False, reason="; ".join(said))


def _nearest(steady: Steady, flight: Array, posture: Array) -> tuple[Array, Array]:
    """The point within limits whose accelerations are least, from several starts."""
    free, turned = np.full(len(steady.begin), np.inf), np.full(3, 1.5)
    low, high = (np.concatenate(x) for x in ((-turned, steady.lower, -free), (turned, steady.upper, free)))
    best: Any = None
    for pitch in (0.05, 0.2, 0.4):
        y0 = first_guess(steady, flight[None])[0]
        y0[1] = pitch * steady.calm.flies_forward
        found = least_squares(
            lambda y: steady.residual(y, flight, posture)[0],
            np.clip(y0, low + 1e-6, high - 1e-6),
            lambda y: steady.residual(y, flight, posture)[1],
            (low, high),
            x_scale="jac",
            max_nfev=200,
        )
        best = found if best is None or found.cost < best.cost else best
    y, r = _newton(steady, best.x[None].copy(), flight[None], posture)  # the last digits, if it is one
    return (y[0], r[0]) if np.all((y[0] >= low) & (y[0] <= high)) else (best.x, best.fun)


def _made(vehicle: Vehicle, steady: Steady, flights: Array, y: Array, r: Array, posture: Array) -> list[Trim]:
    """Trims of unknowns that were found, all of them ok."""
    n, names, own = 3 + steady.n_controls, steady.controls, steady.states
    q, v, alpha, beta = steady.state(y, flights, posture)
    asked, found, seen = flights.tolist(), y.tolist(), np.stack([alpha, beta], axis=1).tolist()
    left = np.abs(r).max(axis=1).tolist()
    return [
        Trim(
            vehicle=vehicle,
            speed=asked[k][0],
            climb=asked[k][1],
            turn_rate=asked[k][2],
            roll=found[k][0],
            pitch=found[k][1],
            alpha=seen[k][0],
            beta=seen[k][1],
            controls=dict(zip(names, found[k][3:n], strict=True)),
            states=dict(zip(own, found[k][n:], strict=True)),
            q=q[k],
            v=v[k],
            residual=left[k],
            ok=True,
        )
        for k in range(len(y))
    ]
