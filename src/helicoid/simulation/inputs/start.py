"""Sampling times, initial states and parameters of a simulation, checked."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import float_array
from helicoid.compiler import interpreted
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation.equations import settling_function
from helicoid.simulation.equations.actuated import ActuatedSystem
from helicoid.simulation.inputs.laws import LoopLaw

_MAX_CORRECTION = 1e-3  # m, rad, and of a quaternion's norm: a larger one is no rounding error


def sampling_times(duration: float, dt: float, width: int = 1) -> Array:
    """The times 0, dt, ... duration, for samples of `width` numbers: see `check_memory`."""
    numbers = all(isinstance(value, (int, float, np.number)) for value in (duration, dt))
    if not numbers or not (0 < dt < np.inf and 0 <= duration < np.inf):
        raise InputError(f"duration and dt are positive times (s); got {duration!r} and {dt!r}")
    n_steps = round(duration / dt)
    if abs(n_steps * dt - duration) > 1e-6 * dt * max(1, n_steps):
        raise InputError(f"duration {duration:g} s is no whole number of steps of {dt:g} s")
    check_memory(n_steps + 1, width)
    return np.asarray(dt * np.arange(n_steps + 1), dtype=np.float64)


def check_memory(n_samples: int, width: int) -> None:
    """Refuse samples that do not fit into memory.

    Raises:
        InputError: they need more than all the memory of this computer.
    """
    needed, there = 8.0 * n_samples * width, _memory()
    if needed > there:
        raise InputError(
            f"{n_samples:.3g} samples need {needed / 1e9:.3g} GB, of {there / 1e9:.3g} GB that there are: "
            "take a larger dt, with substeps to keep the steps short, a shorter duration, or fewer rollouts"
        )


@cache
def _memory() -> float:
    """Bytes of memory that this process may have; infinite where unknown."""
    limits = [math.inf]
    with suppress(AttributeError, ValueError, OSError):
        limits.append(float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES"))
    with suppress(ValueError, OSError):  # a container may have less; "max" is no number
        limits.append(float(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(limits)


class Start(NamedTuple):
    """States q and v, one rollout a row; parameters, one row for all or one a rollout, maybe empty."""

    q: Array
    v: Array
    theta: Array
    many: bool
    """Whether this is a batch; a batch of one is one, too."""


def start(
    robot: Robot, q0: ArrayLike | None, v0: ArrayLike | None, theta: ArrayLike | None, *forces: Any
) -> Start:
    """The initial states; any of the arguments may make it a batch.

    Raises:
        InputError: a shape is wrong, or a state is not one that the robot can have.
    """
    q = _rows("q0", _default_configuration(robot) if q0 is None else q0, robot.nq)
    v = _rows("v0", np.zeros(robot.nv) if v0 is None else v0, robot.nv)
    parameters = _parameters(robot, theta)
    series = [array for force in forces if (array := _array(force)) is not None and array.ndim == 3]
    batches = [x for x in (q, v, parameters) if x.ndim == 2] + series
    lengths = {len(x) for x in batches}
    if len(lengths) > 1:
        raise InputError(f"all batches must have one length; got {', '.join(map(str, sorted(lengths)))}")
    n = next(iter(lengths), 1)
    p = np.atleast_2d(parameters)
    q, v = (np.array(np.broadcast_to(x, (n, x.shape[-1]))) for x in (q, v))
    q, v = _settled(robot, q, v, p)
    return Start(q, v, p, bool(batches))


def _default_configuration(robot: Robot) -> Array:
    q = robot.neutral(within_limits=True)
    return robot.project_configuration(q) if robot.constraints else q


def _parameters(robot: Robot, theta: ArrayLike | None) -> Array:
    if not robot.theta.groups and theta is not None and np.size(theta):
        raise InputError("theta belongs to parametric robots: robot.parametric(...)")
    return _rows("theta", robot.theta.values if theta is None else theta, len(robot.theta))


def initial_states(system: ActuatedSystem, given: ArrayLike | None) -> Array:
    """Initial actuator states (n,), or (B, n) for a batch.

    Raises:
        InputError: they are not finite numbers of this size.
    """
    z = np.asarray(system.start() if given is None else given, dtype=np.float64)
    size = len(system.states)
    if z.ndim not in (1, 2) or z.shape[-1] != size or not np.isfinite(z).all():
        raise InputError(
            f"states0 are {size} finite numbers ({', '.join(system.states) or 'none'}), or (B, {size}); got "
            f"shape {z.shape}"
        )
    return z


def _array(force: Any) -> Any:
    return None if force is None or callable(force) or isinstance(force, LoopLaw) else np.asarray(force)


def _rows(name: str, value: ArrayLike, size: int) -> Array:
    array = np.array(float_array(value, f"{name} must be numbers"))
    if array.ndim not in (1, 2) or array.shape[-1] != size:
        raise InputError(f"{name} must have shape ({size},), or (B, {size}) for a batch; got {array.shape}")
    if not np.all(np.isfinite(array)):
        raise InputError(f"{name} has entries that are not finite")
    return array


def _settled(robot: Robot, q: Array, v: Array, theta: Array) -> tuple[Array, Array]:
    """The states projected on the constraints, which corrects rounding errors; others are refused."""
    if robot.nq == robot.nv and not robot.constraints:
        return q, v
    q_near, v_near = interpreted(settling_function(robot), q, v, theta if len(theta) > 1 else theta[0])
    if not np.all(np.abs(q_near - q) < _MAX_CORRECTION):
        if robot.constraints:
            raise InputError("q0 leaves constraints open: robot.find_consistent(q0, v0) gives a state nearby")
        raise InputError(
            "q0 is off the manifold of a joint, as a quaternion that is not unit: divide it by its length"
        )
    if not np.all(np.abs(v_near - v) < _MAX_CORRECTION * (1 + np.abs(v).max(initial=0.0))):
        raise InputError("v0 breaks the constraints: robot.project_velocity(q0, v0) is allowed")
    return q_near, v_near
