"""The state that a problem starts from, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import InputError

if TYPE_CHECKING:
    from helicoid.mpc.problem import Problem
    from helicoid.robot import Robot


def initial_state(problem: Problem, q0: ArrayLike, v0: ArrayLike | None) -> Array:
    """The first state's coordinates; a free duration starts in the middle of its bounds.

    Raises:
        InputError: it has the wrong size, is not finite, or has a quaternion that is not unit.
    """
    try:
        first = np.array(q0, dtype=np.float64)
        second = None if v0 is None else np.asarray(v0, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"the initial state must be numbers, got {q0!r} and {v0!r}") from None
    robot, system = problem.robot, problem.system
    if robot is not None:
        second = np.zeros(robot.nv) if second is None else second
        if first.shape != (robot.nq,) or second.shape != (robot.nv,):
            raise InputError(
                f"the state needs q0 ({robot.nq}) and v0 ({robot.nv}), "
                f"got shapes {first.shape} and {second.shape}"
            )
        if not normalise(first, problem.quaternions):
            raise InputError(f"the quaternions in q0 must be unit, got {first}")
        first = np.concatenate([first, second])
    elif second is not None:
        raise InputError("the problem of an ODE takes one initial state, x0")
    if problem.duration_bounds is not None:
        first = np.append(first, np.mean(problem.duration_bounds))
    if "previous" in system.symbols:
        first = np.concatenate([first, np.zeros(system.nu)])
    if first.shape != (system.x.numel(),) or not np.isfinite(first).all():
        raise InputError(f"the initial state must be {system.x.numel()} finite numbers, got {first}")
    return first


def quaternion_places(robot: Robot) -> list[slice]:
    """Where q has quaternions."""
    places, end = [], 0
    for joint in robot.model.independent_joints:
        end += joint.type.nq
        if joint.type.nq != joint.type.nv:
            places.append(slice(end - 4, end))  # at the end of a floating joint's coordinates
    return places


def normalise(q: Array, quaternions: list[slice]) -> bool:
    """Make quaternions unit in place; False if one of them is too far from it to be meant so."""
    for part in quaternions:
        length = float(np.linalg.norm(q[part]))
        if not 0.5 < length < 2:
            return False
        q[part] /= length
    return True
