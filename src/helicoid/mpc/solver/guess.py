"""Initial guesses of a solver: the state held at rest, or a given motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.mpc.phases import Booleans, ContactSchedule
from helicoid.mpc.plan import Plan
from helicoid.mpc.structure import Structure
from helicoid.mpc.system.initial import on_manifold
from helicoid.robot import Robot


class Motion(Protocol):
    """Coordinates over time, such as a Plan, a Trajectory or a Log; v and tau are used where it has them."""

    @property
    def t(self) -> Array: ...

    @property
    def q(self) -> Array | None: ...


Guess = Plan | Motion | ArrayLike | Mapping[str, ArrayLike]


def first_guess(
    structure: Structure,
    x0: Array,
    theta: Array,
    guess: Guess | None = None,
    schedule: ContactSchedule | None = None,
) -> tuple[Array, Array]:
    """States (nodes, ...) and controls (intervals, ...) to start from; without a guess, the robot at rest.

    With a contact schedule, the feet in stance share the weight.

    Raises:
        InputError: the guess does not fit the problem.
    """
    nodes, system = structure.intervals + 1, structure.system
    if guess is None:
        return _at_rest(structure, x0, theta, schedule)
    shapes = (nodes, system.x.numel()), (nodes - 1, system.nu)
    if isinstance(guess, Plan) and (guess.x.shape, guess.u.shape) == shapes:
        return guess.x.copy(), guess.u.copy()
    return _GuessAtNodes(structure, x0, theta, schedule).of(guess)


def _at_rest(
    structure: Structure, x0: Array, theta: Array, schedule: ContactSchedule | None
) -> tuple[Array, Array]:
    """The first state at every node, at zero velocity, with the controls that hold it."""
    nodes, system, robot = structure.intervals + 1, structure.system, structure.robot
    x, u = np.tile(x0, (nodes, 1)), np.zeros((nodes - 1, system.nu))
    if robot is not None:
        x[1:, robot.nq : robot.nq + robot.nv] = 0.0
        if structure.formulation == "forward_dynamics" or robot.constraints:
            held = _holding(robot, structure.formulation, ca.DM(x0[: robot.nq]), theta)
            u[:, : len(held)] = held
        if schedule is not None:
            u[:, -3 * len(schedule.contacts) :] = _stance(robot, schedule.nodes(structure.times).holding)
    return x, u


def _holding(robot: Robot, formulation: str, q: ca.DM, theta: Array) -> Array:
    """The controls that hold a robot at rest against gravity and springs.

    q is a DM, for CasADi's virtual machine: compiling a function takes longer than one call.
    """
    springs = robot.spring_torque(q) + robot.elastic_torque(q, theta)
    g = np.asarray(robot.gravity(q, theta) + springs, np.float64).ravel()
    if formulation == "forward_dynamics":
        return np.asarray(robot.selection_matrix @ g)
    # Constraint forces balance unactuated joints: the least λ with (g + Aᵀ λ) zero there.
    idle = list(robot.unactuated)
    A = np.asarray(robot.constraint_jacobian(q), np.float64)
    forces = -np.linalg.lstsq(A[:, idle].T, g[idle], rcond=None)[0]
    return np.concatenate([np.zeros(robot.nv), forces])


def _stance(robot: Robot, holding: Booleans) -> Array:
    """Forces of the feet that share the weight: equal for those in stance in each interval."""
    share = holding[:-1] / np.maximum(1, holding[:-1].sum(axis=1, keepdims=True))
    return np.kron(share, [0.0, 0.0, 9.81 * robot.mass])


class _GuessAtNodes:
    """Conversion of a guess of any kind to states and controls at the nodes of a problem."""

    def __init__(
        self, structure: Structure, x0: Array, theta: Array, schedule: ContactSchedule | None = None
    ) -> None:
        self._structure, self._robot, self._x0, self._theta = structure, structure.robot, x0, theta
        self._schedule = schedule
        system, robot = structure.system, structure.robot
        self._sizes = {"x": structure.n_measured, "u": system.nu}
        if robot is not None:
            self._sizes = {"q": robot.nq, "v": robot.nv, "a": robot.nv, "tau": robot.nv, "u": system.nu}

    def of(self, guess: Guess) -> tuple[Array, Array]:
        given = self._named(guess)
        t = given.pop("t", None)
        duration = given.pop("duration", None)
        unknown = [key for key in given if key not in self._sizes]
        if unknown:
            raise InputError(
                f"a guess has no {', '.join(map(repr, unknown))}; it takes some of "
                f"{', '.join((*self._sizes, 't'))}" + ("" if self._fixed else ", duration")
            )
        rows = {key: self._checked(key, value) for key, value in given.items()}
        times = None if t is None else _times(t)
        span = self._span(times, duration)
        nodes = self._structure.times / self._structure.times[-1] * span
        at = {key: self._at_nodes(key, value, times, nodes) for key, value in rows.items()}
        x, u = _at_rest(self._structure, self._x0, self._theta, self._schedule)
        if not self._fixed:
            x[:, self._structure.n_measured] = span
        if self._robot is None:
            x[:, : self._structure.n_measured] = at.get("x", x[:, : self._structure.n_measured])
            return x, at.get("u", u)
        return self._robot_motion(self._robot, x, u, at, np.diff(nodes)[:, None])

    def _named(self, guess: Guess) -> dict[str, Any]:
        """The given quantities by name: attributes of an object, or the coordinates of an array."""
        if isinstance(guess, Mapping):
            return {str(key): value for key, value in guess.items() if value is not None}
        if self._robot is None and isinstance(guess, Plan):
            return {"t": guess.t, "x": guess.x[:, : self._structure.n_measured], "u": guess.u}
        if hasattr(guess, "t") and hasattr(guess, "q"):
            names = [key for key in ("t", "q", "v", "tau") if getattr(guess, key, None) is not None]
            return {key: getattr(guess, key) for key in names}
        return {"x" if self._robot is None else "q": guess}

    @property
    def _fixed(self) -> bool:
        return self._structure.duration_bounds is None

    def _checked(self, key: str, value: Any) -> Array:
        """Rows of finite numbers, (anything, size); a vector of coordinates is the end of the motion."""
        size = self._sizes[key]
        try:
            rows = np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"a guess is a Plan, a Trajectory, an array of {'x' if self._robot is None else 'q'} or a "
                f"dict of arrays; {key} is {value!r}"
            ) from None
        if rows.ndim == 1 and key in ("q", "x"):
            start = self._x0[: rows.size] if key == "q" else self._x0[: self._structure.n_measured]
            rows = np.stack([start, rows]) if rows.shape == start.shape else rows[None]
        elif rows.ndim == 1:
            rows = rows[None]
        if rows.ndim != 2 or rows.shape[1] != size or not len(rows) or not np.isfinite(rows).all():
            raise InputError(
                f"the guess's {key} must be finite numbers of shape (any number of rows, {size}); got shape "
                f"{np.shape(value)}" + ("" if np.all(np.isfinite(rows)) else ", not all finite")
            )
        return self._on_manifold(rows) if key == "q" else rows

    def _on_manifold(self, q: Array) -> Array:
        assert self._robot is not None
        if self._robot.nq == self._robot.nv:
            return q
        near = [on_manifold(self._robot, row) for row in q]
        if any(row is None for row in near):
            raise InputError("the guess's q is off the manifold of a joint: quaternions are unit")
        return np.array(near)

    def _span(self, times: Array | None, duration: Any) -> float:
        """The total time (s) of the guess: the grid's, or as the guess has it where that is free."""
        bounds = self._structure.duration_bounds
        if bounds is None:
            if duration is not None:
                raise InputError("this problem's duration is not free, so it cannot be part of a guess")
            return float(self._structure.times[-1])
        guessed = duration if duration is not None else None if times is None else times[-1]
        return float(np.mean(bounds)) if guessed is None else float(np.clip(float(guessed), *bounds))

    def _at_nodes(self, key: str, rows: Array, times: Array | None, nodes: Array) -> Array:
        """Rows interpolated at the nodes and constant beyond their times; without times, evenly spaced."""
        held = key in ("a", "tau", "u")
        at = nodes[:-1] if held else nodes
        if times is None:
            times = np.linspace(0.0, nodes[-1], len(rows) + held) if len(rows) > 1 else np.zeros(1)
        if len(times) not in (len(rows), len(rows) + held):
            raise InputError(f"the guess has {len(times)} times and {len(rows)} rows of {key}")
        slack = 1e-9 * nodes[-1]
        left = np.clip(np.searchsorted(times, at + slack, side="right") - 1, 0, len(rows) - 1)
        if held:
            return rows[left]
        right = np.minimum(left + 1, len(rows) - 1)
        length = np.where(right > left, times[right] - times[left], 1.0)
        s = np.clip((at - times[left]) / length, 0.0, 1.0)[:, None]
        if key != "q":
            return rows[left] + s * (rows[right] - rows[left])
        return self._moved(rows[left], s * self._chord(rows[left], rows[right]))

    # CasADi's virtual machine computes these, a column for each node: they are called once.

    def _chord(self, q: Array, other: Array) -> Array:
        assert self._robot is not None
        if self._robot.nq == self._robot.nv:
            return other - q
        return np.array(self._robot.difference.casadi(q.T, other.T), dtype=np.float64).T

    def _moved(self, q: Array, dv: Array) -> Array:
        assert self._robot is not None
        if self._robot.nq == self._robot.nv:
            return q + dv
        return np.array(self._robot.integrate.casadi(q.T, dv.T), dtype=np.float64).T

    def _robot_motion(
        self, robot: Robot, x: Array, u: Array, at: dict[str, Array], h: Array
    ) -> tuple[Array, Array]:
        """x and u of a robot from coordinates or velocities; the missing ones by finite differences."""
        nq, nv, n = robot.nq, robot.nv, len(h)
        q = at.get("q", x[:, :nq])
        v = at.get("v")
        if v is None:
            chords = self._chord(q[:-1], q[1:]) / h
            v = np.vstack([x[:1, nq : nq + nv], (chords[:-1] + chords[1:]) / 2, chords[-1:]])
        x[:, :nq], x[:, nq : nq + nv] = q, v
        a = at.get("a", (v[1:] - v[:-1]) / h)
        if "u" in at:
            return x, at["u"]
        if self._structure.formulation == "inverse_dynamics":
            u[:, :nv] = a  # constraint forces stay those at rest
        elif "tau" in at:
            tau = at["tau"] - self._friction(q[:-1], v[:-1])
            u[:, : len(robot.actuated)] = tau @ robot.selection_matrix.T
        elif not robot.constraints:
            theta = [np.tile(self._theta[:, None], n)] if len(self._theta) else []
            function = robot.inverse_dynamics.with_options(friction=False)
            tau = np.array(function.casadi(q[:-1].T, v[:-1].T, a.T, *theta), dtype=np.float64).T
            u[:, : len(robot.actuated)] = tau @ robot.selection_matrix.T
        return x, u

    def _friction(self, q: Array, v: Array) -> Array:
        """The torques that friction takes at the nodes (intervals, nv)."""
        friction, robot = self._structure.friction, self._robot
        assert friction is not None and robot is not None
        symbols = [ca.SX.sym("x", n) for n in (robot.nq, robot.nv, len(self._theta))]
        function = ca.Function("friction", symbols, [ca.densify(friction.torque(*symbols))])
        return np.array(function(q.T, v.T, self._theta), dtype=np.float64).T


def _times(t: Any) -> Array:
    try:
        times = np.array(t, dtype=np.float64)
    except (TypeError, ValueError):
        times = np.empty(0)
    if times.ndim != 1 or not len(times) or not np.isfinite(times).all() or np.any(np.diff(times) <= 0):
        raise InputError("the guess's times t (s) must be a vector of ascending numbers")
    return times - times[0]
