"""Interpolation of states between samples, on the configuration manifold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array
from helicoid.arrays import float_array
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation.trajectory.table import ENERGIES

if TYPE_CHECKING:
    from helicoid.simulation.trajectory.motion import MotionEquations
    from helicoid.simulation.trajectory.trajectory import Trajectory

Rows = NDArray[np.intp]
_ROUNDING = 1e-9  # of a sampling interval: a time this close to a sample is that sample


def rounding(t: Array) -> float:
    """Tolerance (s) within which a time is that of a sample."""
    steps = np.diff(t)
    return _ROUNDING * float(np.min(steps, initial=np.inf, where=steps > 0)) if np.any(steps > 0) else 0.0


def between(t: Array, wanted: Array) -> tuple[Rows, Array]:
    """The sample at or before each wanted time, and the part of the way to the next one, 0 ≤ s < 1.

    >>> between(np.array([0.0, 1.0, 3.0]), np.array([0.5, 1.0, 2.0, 3.0]))
    (array([0, 1, 1, 2]), array([0.5, 0. , 0.5, 0. ]))
    """
    slack = rounding(t)
    outside = ~((wanted >= t[0] - slack) & (wanted <= t[-1] + slack))
    if np.any(outside):
        first = wanted[outside][0]
        raise InputError(f"the trajectory covers {t[0]:g} to {t[-1]:g} s; there is no state at {first:g} s")
    left = np.clip(np.searchsorted(t, wanted + slack, side="right") - 1, 0, len(t) - 1)
    right = np.minimum(left + 1, len(t) - 1)
    length = np.where(right > left, t[right] - t[left], 1.0)
    s = np.where(wanted - t[left] > slack, (wanted - t[left]) / length, 0.0)
    return left, np.where(right > left, s, 0.0)


def requested_times(t: Array, times: ArrayLike | None, dt: float | None) -> Array:
    """The times (s) at which a motion with samples at t is wanted: `times`, or every `dt` seconds.

    Raises:
        InputError: both or neither are given, or they are no times.
    """
    if (times is None) == (dt is None):
        raise InputError("resample takes either times or dt")
    if dt is not None:
        if not 0 < dt < np.inf:
            raise InputError(f"dt must be positive (s), got {dt!r}")
        # A whole number of steps is not lost to rounding.
        return t[0] + dt * np.arange(int((t[-1] - t[0]) / dt * (1 + 1e-12)) + 1)
    wanted = float_array(times, "times are numbers (s)").ravel()
    if wanted.size == 0:
        raise InputError("times is empty: a trajectory has at least one sample")
    return wanted


def resampled_quantities(
    of: Trajectory, motion: MotionEquations | None, left: Rows, s: Array
) -> dict[str, Array]:
    """Known quantities between the samples of a trajectory, where they do not follow from its states."""
    axis = of.q.ndim - 2
    if of.contact_names or (motion and not motion.smooth):
        # Contact forces are discontinuous, and held as torques are; energies follow from the states.
        return {key: np.take(x, left, axis) for key, x in of.known.items() if key not in ENERGIES}
    # Quantities of a robot follow again from its equations; those of actuators and observers do not.
    kept = {key: x for key, x in of.known.items() if not motion or key in ("controls", "states", "observed")}
    known = {key: linear(x, left, s, axis) for key, x in kept.items()}
    if "controls" in known:
        known["controls"] = of.known["controls"][..., left, :]
    return known


def linear(values: Array, left: Rows, s: Array, axis: int) -> Array:
    """Values between neighbours along an axis."""
    right = np.minimum(left + 1, values.shape[axis] - 1)
    parts = s.reshape(-1, *(1,) * (values.ndim - axis - 1))
    before, after = np.take(values, left, axis), np.take(values, right, axis)
    return np.asarray(before + parts * (after - before))


def resampled_states(robot: Robot, t: Array, q: Array, v: Array, left: Rows, s: Array) -> tuple[Array, Array]:
    """q by cubic Hermite interpolation in the tangent space at the left neighbour, v linear."""
    right = np.minimum(left + 1, len(t) - 1)
    lead = (*q.shape[:-2], len(left))
    n = math.prod(lead)
    h = np.broadcast_to(t[right] - t[left], lead).reshape(n, 1)
    s_all = np.broadcast_to(s, lead).reshape(n, 1)
    q_0, q_1 = (np.ascontiguousarray(q[..., rows, :].reshape(n, robot.nq)) for rows in (left, right))
    v_0, v_1 = (v[..., rows, :].reshape(n, robot.nv) for rows in (left, right))
    chord = robot.difference(q_0, q_1)
    if robot.nq != robot.nv:
        # A velocity at the right end is another tangent vector at the left: d(q_1 ⊖ q_0)/dt = D v_1.
        v_1 = np.einsum("nij,nj->ni", robot.difference.jacobian("q1")(q_0, q_1), v_1)
    cubic = (s_all**3 - 2 * s_all**2 + s_all) * h * v_0
    cubic += (3 * s_all**2 - 2 * s_all**3) * chord + (s_all**3 - s_all**2) * h * v_1
    moved = robot.integrate(q_0, cubic).reshape(*lead, robot.nq)
    return moved, linear(v, left, s, v.ndim - 2)
