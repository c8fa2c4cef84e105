"""The state that a problem starts from, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import real_array
from helicoid.errors import InputError

if TYPE_CHECKING:
    from helicoid.mpc.structure import Structure
    from helicoid.robot import Robot

_MAX_MANIFOLD_ERROR = 0.5  # of a coordinate: a quaternion of half the unit length is no rounding error


def initial_state(structure: Structure, q0: ArrayLike, v0: ArrayLike | None) -> Array:
    """The first state's coordinates; a free duration starts in the middle of its bounds.

    Raises:
        InputError: it has the wrong size, is not finite, or has a quaternion that is not unit.
    """
    first = real_array("the initial state", q0)
    second = None if v0 is None else real_array("the initial velocity", v0)
    robot, system = structure.robot, structure.system
    if robot is not None:
        second = np.zeros(robot.nv) if second is None else second
        if first.shape != (robot.nq,) or second.shape != (robot.nv,):
            raise InputError(
                f"the state needs q0 ({robot.nq}) and v0 ({robot.nv}), "
                f"got shapes {first.shape} and {second.shape}"
            )
        near = on_manifold(robot, first)
        if near is None and np.isfinite(first).all():
            raise InputError(f"q0 is off the manifold of a joint (quaternions in q0 are unit): {first}")
        first = np.concatenate([first if near is None else near, second])
    elif second is not None:
        raise InputError("the problem of an ODE takes one initial state, x0")
    if first.shape != (structure.n_measured,) or not np.isfinite(first).all():
        raise InputError(f"the initial state must be {structure.n_measured} finite numbers, got {first}")
    bounds = structure.duration_bounds
    first = first if bounds is None else np.append(first, np.mean(bounds))
    return np.append(first, np.zeros(system.x.numel() - len(first)))


def on_manifold(robot: Robot, q: Array) -> Array | None:
    """The projection of q onto the joints' manifold; None if q is farther from it than rounding explains."""
    if robot.nq == robot.nv:
        return q
    near = np.asarray(robot.integrate(q, np.zeros(robot.nv)))  # a step of no length
    return near if np.abs(near - q).max() < _MAX_MANIFOLD_ERROR else None
