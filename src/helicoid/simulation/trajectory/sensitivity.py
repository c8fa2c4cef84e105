"""Derivatives of a simulated trajectory by its initial state, parameters and torques."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import float_array, shown
from helicoid.compiler import Iteration
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation.equations import step_function
from helicoid.simulation.equations.integrators import STEPS
from helicoid.simulation.equations.sensitivity import adjoint_step, tangent_step

if TYPE_CHECKING:
    from helicoid.simulation.trajectory.trajectory import Trajectory

KINDS = ("q0", "v0", "theta", "tau")

_MAX_DEVIATION = 1e-8  # of each recomputed step, relative to the velocities


@dataclass(frozen=True, eq=False)
class TrajectorySensitivity:
    """Derivatives of the states of a trajectory by some of q0, v0, theta and tau, in the tangent space of q.

    Attributes:
        q: ∂q[k]/∂p, (N + 1, nv, columns); a batch has its axis first.
        v: ∂v[k]/∂p, (N + 1, nv, columns).
        columns: name of each column, such as "q0.elbow" or "theta.link_2.m".
        groups: slice of the columns of each kind.
    """

    q: Array
    v: Array
    columns: tuple[str, ...]
    groups: dict[str, slice]

    def of(self, kind: str) -> tuple[Array, Array]:
        """∂q and ∂v by one of "q0", "v0", "theta", "tau"."""
        if not isinstance(kind, str) or kind not in self.groups:
            raise InputError(f"these are sensitivities by {', '.join(self.groups)}; got {shown(kind)}")
        return self.q[..., self.groups[kind]], self.v[..., self.groups[kind]]

    def __repr__(self) -> str:
        parts = ", ".join(f"{kind}[{part.stop - part.start}]" for kind, part in self.groups.items())
        return f"TrajectorySensitivity({self.q.shape[-3]} samples by {parts})"


@dataclass(frozen=True, eq=False)
class TrajectoryGradient:
    """Gradient of a number L that depends on the states of a trajectory.

    Attributes:
        q0: ∂L/∂q0 in the tangent space, (nv,); a batch has its axis first.
        v0: ∂L/∂v0, (nv,).
        theta: ∂L/∂θ, (n,).
        tau: ∂L/∂τ of every sample, (N, nv).
    """

    q0: Array
    v0: Array
    theta: Array
    tau: Array


class _Steps:
    """The steps of a trajectory: its states (rows, rollouts, n) and inputs, time first."""

    def __init__(self, trajectory: Trajectory) -> None:
        motion, robot = trajectory.motion, trajectory.robot
        if motion is None or robot is None:
            raise InputError(
                "sensitivities are of a motion that hc.simulate gave; this one was read or built"
            )
        kind = "that of a vehicle" if "controls" in trajectory.known else f"by method {motion.method!r}"
        if "controls" in trajectory.known or motion.method not in STEPS:
            raise InputError(
                f"sensitivities follow steps of {', '.join(STEPS)} of a robot; this motion is {kind}: "
                "contacts, stiction and variable steps have no derivatives here"
            )
        self.robot: Robot = robot
        self.method, self.options, self.substeps = motion.method, dict(motion.options), motion.substeps
        self.many = trajectory.q.ndim == 3
        self.q, self.v = (self._rows(x) for x in (trajectory.q, trajectory.v))
        self.inputs = {name: self._rows(x) for name, x in motion.inputs.items()}
        self.n = len(self.q) - 1
        if self.n < 1:
            raise InputError("sensitivities need a motion of at least one step")
        self.h = np.full((1, 1), float(trajectory.t[1] - trajectory.t[0]) / self.substeps)
        self.check()

    def _rows(self, values: Array) -> Array:
        rows = values.swapaxes(0, 1) if self.many else values[:, None]
        return np.ascontiguousarray(rows, dtype=np.float64)

    def external(self, columns: int = 1) -> list[Array]:
        """tau, theta and wrenches, each rollout repeated for its columns."""
        return [_repeated(x[: max(self.n, 1)], columns) for x in self.inputs.values()]

    def check(self) -> None:
        """Refuse states that are not each the step of the one before: a resampled motion."""
        n, rollouts = self.n, self.q.shape[1]
        found = [np.zeros((2, n * rollouts, x.shape[-1])) for x in (self.q, self.v)]
        for state, own in zip(found, (self.q, self.v), strict=True):
            state[0] = own[:-1].reshape(n * rollouts, -1)
        rows = [np.broadcast_to(x[:n], (n, rollouts, x.shape[-1])) for x in self.inputs.values()]
        held = [np.ascontiguousarray(x.reshape(1, n * rollouts, x.shape[-1])) for x in rows]
        step = step_function(self.robot, self.method, **self.options)
        Iteration(step, found, [*held, self.h], self.substeps).run(0, 1)
        size = 1.0 + np.abs(self.v).max()
        after = (self.q[1:], self.v[1:])
        error = max(
            float(np.abs(one[1].reshape(own.shape) - own).max())
            for one, own in zip(found, after, strict=True)
        )
        if not error <= _MAX_DEVIATION * size:
            raise InputError(
                f"these states are not those of steps of the simulation (they deviate by {error:.2g}): take "
                "the trajectory as hc.simulate gave it, not a resampled or sliced one"
            )


def sensitivity(trajectory: Trajectory, kinds: tuple[str, ...]) -> TrajectorySensitivity:
    """Forward sensitivities, see `Trajectory.sensitivity`."""
    if not all(isinstance(kind, str) and kind in KINDS for kind in kinds) or len(set(kinds)) < len(kinds):
        raise InputError(f"sensitivities are by some of {', '.join(KINDS)}, each once; got {shown(kinds)}")
    steps = _Steps(trajectory)
    robot, nv, n_theta = steps.robot, steps.robot.nv, len(steps.robot.theta)
    if "theta" in kinds and not n_theta:
        raise InputError("this robot has no parameters theta: simulate robot.parametric('inertia', ...)")
    sizes = {"q0": nv, "v0": nv, "theta": n_theta, "tau": nv}
    joints = robot.model.velocity_names
    names = {"q0": joints, "v0": joints, "theta": robot.theta.names, "tau": joints}
    kinds = kinds or ("q0", "v0")
    groups: dict[str, slice] = {}
    columns: list[str] = []
    for kind in kinds:
        groups[kind] = slice(len(columns), len(columns) + sizes[kind])
        columns += [f"{kind}.{name}" for name in names[kind]]
    p, rollouts, rows = len(columns), steps.q.shape[1], steps.n + 1
    unit = {kind: np.zeros((p, size)) for kind, size in sizes.items()}
    for kind, place in groups.items():
        unit[kind][place] = np.eye(sizes[kind])
    states = [np.zeros((rows, rollouts * p, size)) for size in (robot.nq, nv, nv, nv)]
    for state, first in zip(states[:2], (steps.q[0], steps.v[0]), strict=True):
        state[0] = np.repeat(first, p, axis=0)
    for state, kind in zip(states[2:], ("q0", "v0"), strict=True):
        state[0] = np.tile(unit[kind], (rollouts, 1))
    directions = [np.ascontiguousarray(np.tile(unit[kind], (rollouts, 1))[None]) for kind in ("tau", "theta")]
    step = tangent_step(robot, steps.method, **steps.options)
    Iteration(step, states, [*steps.external(p), steps.h, *directions], steps.substeps).run(0, steps.n)
    dq, dv = (_by_rollout(state, rollouts, p, steps.many) for state in states[2:])
    return TrajectorySensitivity(dq, dv, tuple(columns), groups)


def gradient(trajectory: Trajectory, dL_dq: ArrayLike | None, dL_dv: ArrayLike | None) -> TrajectoryGradient:
    """Adjoint sensitivities, see `Trajectory.gradient`."""
    if dL_dq is None and dL_dv is None:
        raise InputError("gradient needs the derivatives of a number: dL_dq, dL_dv or both")
    steps = _Steps(trajectory)
    robot, m, nv, n_theta = steps.robot, steps.substeps, steps.robot.nv, len(steps.robot.theta)
    rollouts, rows = steps.q.shape[1], steps.n * m + 1
    seeds = [_seed(steps, given, name) for given, name in ((dL_dq, "dL_dq"), (dL_dv, "dL_dv"))]
    tau, *others = steps.external()
    tau = np.ascontiguousarray(np.repeat(tau, m, axis=0)) if len(tau) > 1 else tau
    others = [np.ascontiguousarray(np.repeat(x, m, axis=0)) if len(x) > 1 else x for x in others]
    q, v = np.zeros((rows, *steps.q.shape[1:])), np.zeros((rows, *steps.v.shape[1:]))
    q[0], v[0] = steps.q[0], steps.v[0]
    forward = step_function(robot, steps.method, **steps.options)
    Iteration(forward, [q, v], [tau, *others, steps.h]).run(0, rows - 1)
    states = [np.zeros((rows, rollouts, nv)) for _ in range(3)]
    states += [np.zeros((rows, rollouts, n_theta))] if n_theta else []
    fine = [np.zeros((rows, rollouts, nv)) for _ in seeds]
    for state, seed, wide in zip(states, seeds, fine, strict=False):
        state[0] = seed[-1]
        wide[::m] = seed
    backwards = [_reversed(x) for x in (q[:-1], v[:-1], tau, *others)]
    ends = [_reversed(seed[:-1]) for seed in fine]
    Iteration(adjoint_step(robot, steps.method, **steps.options), states, [*backwards, steps.h, *ends]).run(
        0, rows - 1
    )
    by_step = states[2][1:][::-1].reshape(steps.n, m, rollouts, nv).sum(axis=1)
    theta = states[3][-1] if n_theta else np.zeros((rollouts, 0))
    q0, v0 = (state[-1] if steps.many else state[-1, 0] for state in states[:2])
    by_step = by_step.swapaxes(0, 1) if steps.many else by_step[:, 0]
    return TrajectoryGradient(q0, v0, theta if steps.many else theta[0], by_step)


def _seed(steps: _Steps, given: ArrayLike | None, name: str) -> Array:
    """∂L/∂q or ∂L/∂v of every sample, time first; a vector is that of the last sample."""
    rows, rollouts, nv = steps.n + 1, steps.q.shape[1], steps.robot.nv
    found = np.zeros((rows, rollouts, nv))
    if given is None:
        return found
    values = _numbers(given, name)
    if values.shape == (nv,):
        found[-1] = values
        return found
    shape = (rollouts, rows, nv) if steps.many else (rows, nv)
    if values.shape != shape:
        raise InputError(
            f"{name} has the shape {shape} of v, or ({nv},) of the last sample; got {values.shape}"
        )
    found[:] = values.swapaxes(0, 1) if steps.many else values[:, None]
    return found


def _numbers(given: Any, name: str) -> Array:
    values = float_array(given, f"{name} is an array of numbers")
    if not np.all(np.isfinite(values)):
        raise InputError(f"{name} must be finite")
    return values


def _repeated(values: Array, columns: int) -> Array:
    """(rows, rollouts, n) with each rollout repeated; one that all share stays one."""
    found = values if values.shape[1] == 1 else np.repeat(values, columns, axis=1)
    return np.ascontiguousarray(found)


def _reversed(values: Array) -> Array:
    return np.ascontiguousarray(values[::-1])


def _by_rollout(values: Array, rollouts: int, p: int, many: bool) -> Array:
    """(rows, rollouts · p, nv) as (rollouts, rows, nv, p)."""
    found = values.reshape(len(values), rollouts, p, -1).transpose(1, 0, 3, 2)
    return np.ascontiguousarray(found if many else found[0])
