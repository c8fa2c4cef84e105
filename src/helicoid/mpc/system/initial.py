"""The state that a problem starts from, checked."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import InputError

if TYPE_CHECKING:
    from helicoid.mpc.structure import Structure
    from helicoid.robot import Robot

_FAR = 0.5  # by how much a coordinate may be off: a quaternion of half the length is no rounding


def initial_state(structure: Structure, q0: ArrayLike, v0: ArrayLike | None) -> Array:
    """The first state's coordinates; a free duration starts in the middle of its bounds.

    Raises:
        InputError: it has the wrong size, is not finite, or has a quaternion that is not unit.
    """
    try:
        first = np.array(q0, dtype=np.float64)
        second = None if v0 is None else np.asarray(v0, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        said = f"{reprlib.repr(q0)} and {reprlib.repr(v0)}"
        raise InputError(f"the initial state must be numbers, got {said}") from None
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
    """q with what rounding leaves taken off; None if it is too far from what q can be to be meant so."""
    if robot.nq == robot.nv:
        return q
    near = np.asarray(robot.integrate(q, np.zeros(robot.nv)))  # a step of no length
    return near if np.abs(near - q).max() < _FAR else None
