"""Trim: attitude and controls of steady flight, and the linearisation about it.

Newton's method with exact derivatives, vectorised over flight conditions. Where it ends outside the limits,
bounded least squares gives the nearest point inside. `equilibrium.py` has the unknowns and the equations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from helicoid._typing import Array
from helicoid.aerial.analysis.equilibrium import Equilibrium, state_space_dynamics
from helicoid.aerial.analysis.modes import name_modes
from helicoid.aerial.checks import is_number
from helicoid.aerial.frames import FLIP, GRAVITY
from helicoid.deprecation import former_attribute
from helicoid.errors import InputError

if TYPE_CHECKING:
    from helicoid.aerial.vehicle import Vehicle

_MAX_ITERATIONS = 60
TOLERANCE = 1e-8
"""Acceleration below which a flight is steady (m/s², rad/s²)."""
_LIMIT_TOLERANCE = 1e-9
_MIN_STEP_LENGTH, _MAX_STEP = 1 / 200, 100.0  # fraction of a Newton step, and its largest element
_GLIDE_ANGLE = 0.05  # rad, initial guess of a glide
_MAX_SPEED, _MAX_TURN_RATE = 1e3, 1e2
"""m/s and rad/s, far beyond what the aerodynamic models describe."""


class Linearisation(NamedTuple):
    """Linearised dynamics ẋ = A x + B u about a trim, in the axes of aeronautics (z down).

    x has velocities (u, v, w), rates (p, q, r), roll, pitch, then states of the actuators and joints.
    """

    A: Array
    B: Array
    states: tuple[str, ...]
    controls: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Trim:
    """Trim of a vehicle: a steady flight, or the nearest to it where there is none.

    Attributes:
        speed, climb_rate, turn_rate: of the flight (m/s, m/s, rad/s).
        roll, pitch: φ and θ (rad), z down; `alpha`, `beta`: angles of attack and sideslip (rad).
        controls, states: by name.
        q, v: the state, heading north at the origin, z up.
        residual: largest remaining acceleration (m/s², rad/s²).
        success: whether the flight is steady, within all limits and not stalled.
        message: why it is not; empty with success.
    """

    vehicle: Vehicle = field(repr=False)
    speed: float
    climb_rate: float
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
    success: bool
    message: str = ""

    ok = former_attribute("ok", "success")
    reason = former_attribute("reason", "message")
    climb = former_attribute("climb", "climb_rate")

    def __repr__(self) -> str:
        controls = ", ".join(f"{name} {u:.4g}" for name, u in self.controls.items())
        found = f"pitch {self.pitch:.4g} rad, {controls}" if self.success else self.message
        return (
            f"Trim({self.speed:g} m/s, climb {self.climb_rate:g} m/s, turn {self.turn_rate:g} rad/s: {found})"
        )

    @property
    def u(self) -> Array:
        """The controls as a vector, in the order of `vehicle.controls`."""
        return np.array(list(self.controls.values()))

    @property
    def z(self) -> Array:
        """The vehicle's states as a vector, with those of gusts zero."""
        return np.concatenate([list(self.states.values()), np.zeros(len(self.vehicle.wind.states))])

    def linearise(self) -> Linearisation:
        """Linearise the dynamics about the trim, by exact derivatives."""
        vehicle = Equilibrium.of(self.vehicle).vehicle
        x = np.concatenate(
            [FLIP @ self.v[3:6], FLIP @ self.v[:3], [self.roll, self.pitch], list(self.states.values())]
        )
        x = np.concatenate([x, self.q[7:], self.v[6:]])
        A, B = state_space_dynamics(vehicle).jacobian("x", "u")(x, self.u, self.q[2])
        names = ("u", "v", "w", "p", "q", "r", "roll", "pitch", *vehicle.own_states)
        names += tuple(f"q.{name}" for name in vehicle.robot.model.coordinate_names[7:])
        names += tuple(f"v.{name}" for name in vehicle.robot.model.velocity_names[6:])
        return Linearisation(A.reshape(len(x), -1), B.reshape(len(x), -1), names, vehicle.controls)

    def modes(self) -> dict[str, complex]:
        """Eigenvalues (1/s) by mode; of a conjugate pair, the one with a positive imaginary part.

        "short period" and "phugoid" are longitudinal, "Dutch roll", "roll" and "spiral" lateral.
        """
        return name_modes(self.linearise().A[:8, :8])


def find_trim(
    vehicle: Vehicle, speed: float, climb_rate: float | None, turn_rate: float, q: ArrayLike | None
) -> Trim:
    """See `Vehicle.trim`."""
    glide = climb_rate is None and vehicle.glides
    numbers = (speed, 0.0 if climb_rate is None else climb_rate, turn_rate)
    if not all(is_number(x) for x in numbers):
        raise InputError(f"trim takes finite numbers, and trims(...) arrays of them; got {numbers!r}")
    return _trims(vehicle, np.array([numbers], dtype=np.float64), q, glide=glide)[0]


def find_trims(
    vehicle: Vehicle, speed: ArrayLike, climb_rate: ArrayLike | None, turn_rate: ArrayLike
) -> list[Trim]:
    """See `Vehicle.trims`."""
    flights = _flights(speed, 0.0 if climb_rate is None else climb_rate, turn_rate)
    return _trims(vehicle, flights, None, glide=climb_rate is None and vehicle.glides)


def find_flights(
    vehicle: Vehicle, speed: ArrayLike, climb_rate: ArrayLike, turn_rate: ArrayLike
) -> list[Trim]:
    """Results of Newton's method alone, also beyond limits, and without a message where it fails."""
    return _trims(vehicle, _flights(speed, climb_rate, turn_rate), None, nearest=False)


def _flights(*columns: ArrayLike) -> Array:
    """Flight conditions as rows: speed, climb rate, turn rate."""
    try:
        arrays = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in columns))
    except (TypeError, ValueError) as error:
        raise InputError(f"trims takes numbers that can be broadcast: {error}") from None
    return np.stack([x.ravel() for x in arrays], axis=1)


def _trims(
    vehicle: Vehicle, flights: Array, q: ArrayLike | None, nearest: bool = True, glide: bool = False
) -> list[Trim]:
    flights = _checked(vehicle, flights)
    equilibrium = Equilibrium.of(vehicle, glide)
    posture = (vehicle.robot.neutral() if q is None else np.asarray(q, np.float64))[2:]
    if posture.shape != (vehicle.robot.nq - 2,) or not np.isfinite(posture).all():
        raise InputError(f"trim: q has {vehicle.robot.nq} finite entries; got {q!r}")
    y, r = _newton(equilibrium, initial_guess(equilibrium, flights), flights, posture)
    trims = _results(vehicle, equilibrium, flights, y, r, posture)
    for k, trim in enumerate(trims):
        if not trim.residual < TOLERANCE or _beyond(trim, equilibrium) or vehicle._limit_reasons(trim):
            trims[k] = _nearest_trim(equilibrium, trim, posture) if nearest else replace(trim, success=False)
    return trims


def _checked(vehicle: Vehicle, flights: Array) -> Array:
    """Flight conditions within the range of the models; at speed 0 the flight is vertical."""
    speed, climb_rate, turn_rate = flights.T
    speed = np.where(speed == 0, np.abs(climb_rate), speed)
    if not (np.isfinite(flights).all() and np.all(np.abs(climb_rate) <= speed)):
        raise InputError("trim: speed is 0 or more (m/s), and the climb rate at most as large")
    if np.any(speed > _MAX_SPEED) or np.any(np.abs(turn_rate) > _MAX_TURN_RATE):
        raise InputError(f"trim: up to {_MAX_SPEED:g} m/s and {_MAX_TURN_RATE:g} rad/s; got {flights!r}")
    if vehicle.flies_forward and not np.all(speed > 0):
        raise InputError(f"{vehicle.robot.name!r} needs airspeed to fly: trim(speed=...) is above 0 (m/s)")
    return np.stack([speed, climb_rate, turn_rate], axis=1)


def initial_guess(equilibrium: Equilibrium, flights: Array) -> Array:
    """Roll of a coordinated turn, pitch of the flight path, no sideslip, controls by the vehicle."""
    vehicle, n = equilibrium.vehicle, equilibrium.n_controls
    end = 3 + n + len(equilibrium.initial_states)
    y = np.zeros((len(flights), end + equilibrium.glide))
    speed, climb_rate, turn_rate = flights.T
    y[:, 0] = np.arctan(speed * turn_rate / GRAVITY)
    if vehicle.flies_forward:
        y[:, 1] = 0.05 + np.arcsin(climb_rate / speed)
    guess = vehicle._guess(float(speed.mean()) if len(speed) else 0.0)
    y[:, 3 : 3 + len(guess)], y[:, 3 + n : end] = guess, equilibrium.initial_states
    y[:, end:] = -_GLIDE_ANGLE
    return y


def _newton(equilibrium: Equilibrium, y: Array, flights: Array, posture: Array) -> tuple[Array, Array]:
    """Newton's method on every row with step halving; steps of least norm where solutions are not unique."""
    r, J = equilibrium.residual(y, flights, posture)
    found, left, at = y, r, np.arange(len(y))  # `at`: rows that have not converged
    step, size, length = _newton_step(J, r), np.abs(r).max(axis=1), np.ones((len(y), 1))
    for _ in range(_MAX_ITERATIONS):
        trial = y + length * step
        values, J = equilibrium.residual(trial, flights, posture)
        sizes = np.abs(values).max(axis=1)
        better = sizes < size
        if better.all():
            y, r, size, step = trial, values, sizes, _newton_step(J, values)
            length[:], going = 1, size > 1e-3 * TOLERANCE
        else:
            y, r, size = _where(better, trial, y), _where(better, values, r), _where(better, sizes, size)
            step[better] = _newton_step(J[better], values[better])
            length = np.where(better[:, None], 1.0, length / 2)
            # A row that no step improves is at rounding level, or has no solution near.
            going = (
                (size > 1e-3 * TOLERANCE) & (better | (size > TOLERANCE)) & (length[:, 0] > _MIN_STEP_LENGTH)
            )
        if not going.all():
            found[at], left[at] = y, r
            at, flights = at[going], flights[going]
            y, r, size, step, length = (x[going] for x in (y, r, size, step, length))
        if not len(at):
            break
    found[at], left[at] = y, r
    return found, left


def _where(which: Any, new: Array, old: Array) -> Array:
    return np.where(which.reshape(-1, *[1] * (new.ndim - 1)), new, old)


def _newton_step(J: Array, r: Array) -> Array:
    """-J⁻¹ r of every row, of least norm where J is not square or singular, and of bounded length."""
    try:
        square = J.shape[1] == J.shape[2]
        step: Any = -np.linalg.solve(J, r[..., None])[..., 0] if square else _least_norm_step(J, r)
    except np.linalg.LinAlgError:
        step = _least_norm_step(J, r)
    if not np.abs(step).max(initial=0) < _MAX_STEP:
        step *= np.minimum(1, _MAX_STEP / np.maximum(np.abs(step).max(axis=1), 1e-300))[:, None]
    return np.asarray(step)


def _least_norm_step(J: Array, r: Array) -> Array:
    return np.asarray(-np.einsum("nij,nj->ni", np.linalg.pinv(J, rcond=1e-10), r), np.float64)


def _beyond(trim: Trim, equilibrium: Equilibrium) -> list[str]:
    """Names of the controls outside their limits."""
    rows = zip(trim.controls.items(), equilibrium.lower.tolist(), equilibrium.upper.tolist(), strict=True)
    return [
        name for (name, u), low, high in rows if not low - _LIMIT_TOLERANCE <= u <= high + _LIMIT_TOLERANCE
    ]


def _nearest_trim(equilibrium: Equilibrium, trim: Trim, posture: Array) -> Trim:
    """The nearest flight within limits to a trim that is not, with the reason as its message."""
    vehicle, beyond = trim.vehicle, _beyond(trim, equilibrium) if trim.residual < TOLERANCE else []
    bounds = zip(equilibrium.lower, equilibrium.upper, strict=True)
    limits = dict(zip(equilibrium.controls, bounds, strict=True))
    needed = [
        f"{name} would have to be {trim.controls[name]:.4g}, with limits {limits[name][0]:g} to "
        f"{limits[name][1]:g}" + (": power" if is_motor(name) else "")
        for name in beyond
    ]
    if beyond or not trim.residual < TOLERANCE:
        flights = np.array([[trim.speed, trim.climb_rate, trim.turn_rate]])
        y, r = _bounded_least_squares(equilibrium, flights[0], posture)
        trim = _results(vehicle, equilibrium, flights, y[None], r[None], posture)[0]
        if trim.residual < TOLERANCE and not _beyond(trim, equilibrium) and not vehicle._limit_reasons(trim):
            return trim  # another solution than Newton's method had found
    at_limit = [
        f"{name} is at its limit of {u:.4g}"
        for name, u in trim.controls.items()
        if min(u - limits[name][0], limits[name][1] - u) < 1e-6 * (limits[name][1] - limits[name][0])
    ]
    reasons = [*vehicle._limit_reasons(trim), *(needed or at_limit)] or ["no steady flight was found"]
    return replace(trim, success=False, message="; ".join(reasons))


def is_motor(control: str) -> bool:
    """Whether a control is that of a motor."""
    return control == "throttle" or control.startswith("rotor")


def _bounded_least_squares(equilibrium: Equilibrium, flight: Array, posture: Array) -> tuple[Array, Array]:
    """Point within limits with the least accelerations, from several starts."""
    free, angles = np.full(len(equilibrium.initial_states), np.inf), np.full(3, 1.5)
    path = np.full(int(equilibrium.glide), 1.5)
    ends = ((-angles, equilibrium.lower, -free, -path), (angles, equilibrium.upper, free, path))
    low, high = (np.concatenate(x) for x in ends)
    best: Any = None
    for pitch in (0.05, 0.2, 0.4):
        y0 = initial_guess(equilibrium, flight[None])[0]
        y0[1] = pitch * equilibrium.vehicle.flies_forward
        found = least_squares(
            lambda y: equilibrium.residual(y, flight, posture)[0],
            np.clip(y0, low + 1e-6, high - 1e-6),
            lambda y: equilibrium.residual(y, flight, posture)[1],
            (low, high),
            x_scale="jac",
            max_nfev=200,
        )
        best = found if best is None or found.cost < best.cost else best
    y, r = _newton(equilibrium, best.x[None].copy(), flight[None], posture)  # to the last digits
    return (y[0], r[0]) if np.all((y[0] >= low) & (y[0] <= high)) else (best.x, best.fun)


def _results(
    vehicle: Vehicle, equilibrium: Equilibrium, flights: Array, y: Array, r: Array, posture: Array
) -> list[Trim]:
    """Trims of the solutions y, all of them with success."""
    n, names, states = 3 + equilibrium.n_controls, equilibrium.controls, equilibrium.states
    if equilibrium.glide:
        flights = np.column_stack([flights[:, 0], flights[:, 0] * np.sin(y[:, -1]), flights[:, 2]])
    q, v, alpha, beta = equilibrium.state(y, flights, posture)
    conditions, found, angles = flights.tolist(), y.tolist(), np.stack([alpha, beta], axis=1).tolist()
    residuals = np.abs(r).max(axis=1).tolist()
    return [
        Trim(
            vehicle=vehicle,
            speed=conditions[k][0],
            climb_rate=conditions[k][1],
            turn_rate=conditions[k][2],
            roll=found[k][0],
            pitch=found[k][1],
            alpha=angles[k][0],
            beta=angles[k][1],
            controls=dict(zip(names, found[k][3:n], strict=True)),
            states=dict(zip(states, found[k][n : n + len(states)], strict=True)),
            q=q[k],
            v=v[k],
            residual=residuals[k],
            success=True,
        )
        for k in range(len(y))
    ]
