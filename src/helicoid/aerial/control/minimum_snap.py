"""Minimum-snap trajectories through waypoints, as fast as the rotors allow.

Polynomials of degree 7 between waypoints: the minimiser of ∫ |d⁴p/dt⁴|² dt has continuous derivatives up to
the sixth (Mellinger and Kumar 2011; Richter, Bry, Roy 2013).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from helicoid._typing import Array
from helicoid.aerial.checks import check_positive, real_numbers
from helicoid.aerial.frames import GRAVITY
from helicoid.aerial.multirotor import Multirotor
from helicoid.errors import InputError

_ORDER = 8  # coefficients of a polynomial piece
_MAX_THRUST_FRACTION = 0.81
"""Fraction of the largest thrust above the weight that a trajectory may need; moments need the rest."""
_MAX_WAYPOINT = 1e9  # m, beyond which coefficients would overflow or lose all digits


class FlatOutput(NamedTuple):
    """Position and its derivatives at one time, or at several as rows: references of `GeometricControl`."""

    position: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    snap: Array


@dataclass(frozen=True, eq=False)
class MinimumSnap:
    """Minimum-snap trajectory through waypoints.

    Attributes:
        times: at the waypoints (s), from 0.
        coefficients: (pieces, 8, 3), of powers of the time since the start of the piece.
        cost: ∫ |snap|² dt (m²/s⁷).
    """

    times: Array
    coefficients: Array
    cost: float

    @property
    def duration(self) -> float:
        """Time at the last waypoint (s)."""
        return float(self.times[-1])

    def __repr__(self) -> str:
        return f"MinimumSnap({len(self.times)} waypoints, {self.duration:.4g} s, cost {self.cost:.4g} m²/s⁷)"

    def at(self, t: ArrayLike) -> FlatOutput:
        """Position to snap at times (s); at rest at the end points before and after.

        >>> path = minimum_snap([[0, 0, 0], [1, 0, 0]], times=[0.0, 1.0])
        >>> s = 0.3
        >>> print(round(float(path.at(s).position[0] - (35 * s**4 - 84 * s**5 + 70 * s**6 - 20 * s**7)), 9))
        0.0
        """
        given = np.asarray(t, np.float64)
        inside = np.clip(given, 0.0, self.duration)
        piece = np.clip(np.searchsorted(self.times, inside, side="right") - 1, 0, len(self.coefficients) - 1)
        x = inside - self.times[piece]
        rows = []
        for k in range(5):
            powers = np.stack([_falling(j, k) * x ** max(j - k, 0) for j in range(_ORDER)], axis=-1)
            value = np.einsum("...j,...jc->...c", powers, self.coefficients[piece])
            at_rest = (given != inside)[..., None] & (k > 0)
            rows.append(np.where(at_rest, 0.0, value))
        return FlatOutput(*rows)

    def references(self, times: ArrayLike) -> dict[str, Array]:
        """References of `GeometricControl.following` at times (s), as rows."""
        return self.at(times)._asdict()

    def thrust(self, mass: float, n: int = 400) -> Array:
        """Thrust m |a + g z| (N) at n times along the trajectory."""
        a = self.at(np.linspace(0, self.duration, n)).acceleration
        return mass * np.linalg.norm(a + GRAVITY * np.eye(3)[2], axis=1)

    def stretched(self, factor: float) -> MinimumSnap:
        """The same path in `factor` times the time."""
        powers = factor ** -np.arange(_ORDER, dtype=np.float64)
        return MinimumSnap(self.times * factor, self.coefficients * powers[:, None], self.cost / factor**7)


def minimum_snap(
    waypoints: ArrayLike,
    times: ArrayLike | None = None,
    vehicle: Multirotor | None = None,
    speed: float | None = None,
) -> MinimumSnap:
    """Minimum-snap trajectory through waypoints (n, 3), from rest to rest.

    Args:
        waypoints: positions (m, world axes).
        times: at the waypoints (s), ascending from 0. By default the time is allocated to the pieces so that
            snap is minimal, and the duration is the shortest within `speed` and the thrust of `vehicle`.
        vehicle: rotorcraft whose thrust bounds the trajectory.
        speed: bound of the speed (m/s).

    >>> import helicoid as hc
    >>> quad = hc.aerial.load("hummingbird")
    >>> path = minimum_snap([[0, 0, 1], [3, 0, 1], [3, 2, 2]], vehicle=quad, speed=4.0)
    >>> bool(path.thrust(quad.robot.mass).max() < quad.max_thrust)
    True
    """
    points = real_numbers("waypoints", waypoints)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 2 or not np.isfinite(points).all():
        raise InputError(f"waypoints are (n, 3) finite numbers, two rows or more; got shape {points.shape}")
    if np.abs(points).max() > _MAX_WAYPOINT:
        raise InputError(
            f"waypoints are at most {_MAX_WAYPOINT:g} m from the origin; got {np.abs(points).max():g}"
        )
    if np.any(np.linalg.norm(np.diff(points, axis=0), axis=1) < 1e-9):
        raise InputError("consecutive waypoints are apart: remove one of two that coincide")
    if times is not None:
        when = real_numbers("times", times)
        ascending = when.shape == (len(points),) and when[0] == 0 and bool(np.all(np.diff(when) > 0))
        if not (ascending and np.isfinite(when).all()):
            raise InputError(f"times ascend from 0, one for each of {len(points)} waypoints; got {times!r}")
        return _minimum_snap_at(points, when)
    if vehicle is None and speed is None:
        raise InputError("minimum_snap needs times, or a vehicle or a speed that bounds the trajectory")
    if speed is not None:
        check_positive("speed", speed, "m/s")
    return _shortest_duration(_optimal_time_allocation(points), vehicle, speed)


def _optimal_time_allocation(points: Array) -> MinimumSnap:
    """Trajectory of duration 1 whose times at the waypoints minimise snap."""
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    first = np.log(lengths ** (2 / 3))

    def path(logs: Array) -> MinimumSnap:
        parts = np.exp(logs - logs.max())
        return _minimum_snap_at(points, np.concatenate([[0.0], np.cumsum(parts) / parts.sum()]))

    if len(lengths) == 1:
        return path(first)
    best = minimize(lambda logs: math.log(path(logs).cost), first, method="BFGS", options={"maxiter": 30})
    return path(best.x)


def _shortest_duration(path: MinimumSnap, vehicle: Multirotor | None, speed: float | None) -> MinimumSnap:
    max_thrust = math.inf
    if vehicle is not None:
        weight = vehicle.robot.mass * GRAVITY
        max_thrust = weight + _MAX_THRUST_FRACTION * (vehicle.max_thrust - weight)

    def fits(factor: float) -> bool:
        one = path.stretched(factor)
        velocity = one.at(np.linspace(0, one.duration, 400)).velocity
        slow = speed is None or bool(np.linalg.norm(velocity, axis=1).max() <= speed)
        return slow and (vehicle is None or bool(one.thrust(vehicle.robot.mass).max() <= max_thrust))

    high = 1.0
    while not fits(high):
        high *= 2
    low = high / 2
    while fits(low) and low > 1e-3:
        low, high = low / 2, low
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return path.stretched(high)


def _minimum_snap_at(points: Array, times: Array) -> MinimumSnap:
    """Solve the linear equations: positions, rest at both ends, six continuous derivatives."""
    n, lengths = len(points) - 1, np.diff(times)
    # In the normalised time s of each piece, for conditioning.
    A, b = np.zeros((_ORDER * n, _ORDER * n)), np.zeros((_ORDER * n, 3))
    row = 0

    def derivative(k: int, s: float) -> Array:
        return np.array([_falling(j, k) * s ** max(j - k, 0) if j >= k else 0.0 for j in range(_ORDER)])

    for piece in range(n):
        at = slice(_ORDER * piece, _ORDER * (piece + 1))
        for s, point in ((0.0, points[piece]), (1.0, points[piece + 1])):
            A[row, at], b[row] = derivative(0, s), point
            row += 1
    for k in (1, 2, 3):
        A[row, :_ORDER], A[row + 1, -_ORDER:] = derivative(k, 0.0), derivative(k, 1.0)
        row += 2
    for piece in range(n - 1):
        here = slice(_ORDER * piece, _ORDER * (piece + 1))
        then = slice(_ORDER * (piece + 1), _ORDER * (piece + 2))
        for k in range(1, 7):
            A[row, here] = derivative(k, 1.0)
            A[row, then] = -derivative(k, 0.0) * (lengths[piece] / lengths[piece + 1]) ** k
            row += 1
    c = np.linalg.solve(A, b).reshape(n, _ORDER, 3)
    scale = lengths[:, None] ** -np.arange(_ORDER, dtype=np.float64)
    snap = np.stack([_falling(j, 4) * c[:, j] for j in range(4, _ORDER)], axis=1)
    hilbert = 1 / (np.arange(4)[:, None] + np.arange(4) + 1)
    cost = np.einsum("pic,ij,pjc->p", snap, hilbert, snap) / lengths**7
    return MinimumSnap(times, c * scale[:, :, None], float(cost.sum()))


def _falling(j: int, k: int) -> float:
    """j (j - 1) ... (j - k + 1), zero where j < k."""
    return float(math.perm(j, k)) if j >= k else 0.0
