"""Inverse kinematics as a least-squares problem: rows of tasks and constraints, free coordinates.

    minimise ½ Σ w_i e_i(q)²   over   lower ≤ q ≤ upper

Rows stand on three levels: constraints of the robot, which hold whatever the tasks want; tasks; and postures,
which choose among the solutions of the tasks and never count as missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array, Expression
from helicoid.control.tasks import PoseTask, PostureTask, Task
from helicoid.control.tasks.task import check_motion
from helicoid.dynamics.constraints.equations import UserConstraint, equations
from helicoid.dynamics.kinematics import configuration
from helicoid.errors import InputError
from helicoid.robot.robot import Robot, as_robot

CONSTRAINT, GOAL, SECONDARY = 0, 1, 2


class Score(NamedTuple):
    """Scores of n configurations: success, remaining error, and rows that are not met."""

    success: NDArray[np.bool_]
    error: Array
    residual: Array


class IKProblem:
    """Rows, weights and limits of tasks for a robot.

    Args:
        tasks: a frame, for its pose; a task; or several.
        hold: coordinates of joints that may not move, by name.
        tolerance: of success (m, rad), on the norm of the error of each part of a task.
    """

    def __init__(
        self,
        robot: Robot,
        tasks: str | Task | Sequence[Task],
        hold: Mapping[str, ArrayLike] | None = None,
        tolerance: float = 1e-6,
    ) -> None:
        self.robot = as_robot(robot, "InverseKinematics")
        self.tasks = _tasks(tasks)
        for task in self.tasks:
            check_motion(task, "InverseKinematics")
            task.check(self.robot)
        if not isinstance(tolerance, (int, float, np.number)) or not 1e-12 <= float(tolerance) < 1:
            raise InputError(f"tolerance (m, rad) is a number from 1e-12 to 1; got {tolerance!r}")
        self.tolerance = float(tolerance)
        self.held = self._held(hold or {})
        self.sizes = [task.target_size(self.robot) for task in self.tasks]
        if not self.moving:
            names = ", ".join(repr(task.name) for task in self.tasks)
            raise InputError(f"inverse kinematics: no joint that is free moves anything of {names}")

    def _held(self, hold: Mapping[str, ArrayLike]) -> dict[int, float]:
        """Coordinates that may not move, by their place in q."""
        held: dict[int, float] = {}
        for name, value in hold.items():
            place, _ = self.robot.index(name)
            numbers = np.atleast_1d(np.asarray(value, dtype=np.float64))
            low, high = self.robot.limits.lower[place], self.robot.limits.upper[place]
            if numbers.shape != low.shape or not np.all(np.isfinite(numbers)):
                raise InputError(f"hold: joint {name!r} has {low.size} coordinates; got {value!r}")
            if np.any(numbers < low) or np.any(numbers > high):
                raise InputError(f"hold: {value!r} is beyond the limits of joint {name!r}, {low} to {high}")
            held |= dict(zip(range(self.robot.nq)[place], map(float, numbers), strict=True))
        return held

    # The rows -----------------------------------------------------------------------------------------

    @cached_property
    def q(self) -> Expression:
        """The symbol of the configuration."""
        return ca.SX.sym("q", self.robot.nq)

    @cached_property
    def target(self) -> Expression:
        """The symbol of the targets of all tasks, one after the other."""
        return ca.SX.sym("target", sum(self.sizes))

    @cached_property
    def _rows(self) -> tuple[Expression, Expression, Array, list[int]]:
        """e, J (all velocities), weights, and levels."""
        robot, errors, jacobians, weights, levels = self.robot, [], [], [], []
        targets = ca.vertsplit(self.target, np.cumsum([0, *self.sizes]).tolist())
        for task, target in zip(self.tasks, targets, strict=True):
            w = task.weights(robot)
            errors.append(task.error(robot, self.q, target))
            alike = all(np.ptp(part) == 0 for part in self._by_part(task, w))
            plain = alike and not isinstance(task, PostureTask)
            jacobian = task.jacobian if plain else task.exact_jacobian
            jacobians.append(jacobian(robot, self.q, target))
            weights.append(w)
            levels += [SECONDARY if isinstance(task, PostureTask) and len(self.tasks) > 1 else GOAL] * len(w)
        φ, A = equations(robot.model, self.q, robot.constraints)
        stated = [k for k in range(φ.numel()) if not φ[k].is_zero()]
        most = max((float(w.max(initial=0.0)) for w in weights), default=1.0) or 1.0
        errors.append(-φ[stated])
        jacobians.append(A[stated, :])
        weights.append(np.full(len(stated), most))
        levels += [CONSTRAINT] * len(stated)
        if not any(np.any(w > 0) for w in weights):
            raise InputError("inverse kinematics: every weight is zero, so that nothing is asked for")
        # Zeros that are written out are none that a joint could change.
        J = ca.sparsify(ca.vertcat(*jacobians))
        return ca.vertcat(*errors), J, np.concatenate(weights), levels

    @property
    def rows(self) -> tuple[Expression, Expression]:
        """e and J, of all velocities."""
        return self._rows[0], self._rows[1]

    def _by_part(self, task: Task, values: Array) -> list[Array]:
        return np.split(values, np.cumsum([n for _, n in task.parts(self.robot)])[:-1])

    @property
    def weights(self) -> Array:
        """A weight for each row."""
        return self._rows[2]

    @property
    def levels(self) -> list[int]:
        """The level of each row."""
        return self._rows[3]

    @cached_property
    def groups(self) -> list[int]:
        """Index of the norm that each row is part of: one per part of a task, one for the constraints."""
        found: list[int] = []
        for task in self.tasks:
            for _, n in task.parts(self.robot):
                found += [1 + max(found, default=-1)] * n
        return found + [1 + max(found, default=-1)] * (len(self.levels) - len(found))

    @cached_property
    def moving(self) -> list[int]:
        """Free velocities on which some row depends."""
        held = {k for name in self.robot.joint_names if self._is_held(name) for k in self._velocities(name)}
        columns = set(self._rows[1].sparsity().get_triplet()[1])
        return [k for k in range(self.robot.nv) if k in columns and k not in held]

    def _is_held(self, joint: str) -> bool:
        return range(self.robot.nq)[self.robot.index(joint)[0]][0] in self.held

    def _velocities(self, joint: str) -> range:
        return range(self.robot.nv)[self.robot.index(joint)[1]]

    @cached_property
    def moving_coordinates(self) -> list[bool]:
        """For each coordinate, whether a solution may change it."""
        changes = [False] * self.robot.nq
        for name in self.robot.joint_names:
            if set(self._velocities(name)) & set(self.moving):
                for k in range(self.robot.nq)[self.robot.index(name)[0]]:
                    changes[k] = True
        return changes

    # Functions of the compiled loop --------------------------------------------------------------------

    def evaluate(self) -> ca.Function:
        """(q, target, w) -> e, H = JᵀWJ row by row up to its diagonal, g = JᵀWe."""
        e, J, _, _ = self._rows
        J = J[:, self.moving]
        w = ca.SX.sym("w", e.numel())
        weighted = J * ca.repmat(w, 1, J.shape[1])
        H = weighted.T @ J
        lower = [H[i, j] for i in range(H.shape[0]) for j in range(i + 1)]
        results = ca.cse([ca.densify(e), ca.densify(ca.vertcat(*lower)), ca.densify(weighted.T @ e)])
        return ca.Function("evaluate", [self.q, self.target, w], results)

    def moved(self, step: Expression) -> Expression:
        """q ⊕ dv of the free velocities."""
        dv = ca.SX.zeros(self.robot.nv)
        for k, at in enumerate(self.moving):
            dv[at] = step[k]
        moved = ca.vertsplit(configuration.integrate(self.robot.model, self.q, dv))
        before, changes = ca.vertsplit(self.q), self.moving_coordinates
        return ca.densify(ca.vertcat(*(moved[k] if changes[k] else before[k] for k in range(self.robot.nq))))

    def retract(self) -> ca.Function:
        """(q, dv) -> q ⊕ dv, of the free velocities."""
        step = ca.SX.sym("step", len(self.moving))
        return ca.Function("retract", [self.q, step], [self.moved(step)])

    @cached_property
    def _error(self) -> ca.Function:
        return ca.Function("error", [self.q, self.target], [ca.densify(self._rows[0])])

    def score(self, targets: Array, Q: Array) -> Score:
        """Scores of configurations (n, nq) for targets (n, numbers), as the loop in C computes them."""
        E = np.array(self._error(Q.T, targets.T)).T if len(Q) else np.zeros((0, len(self.levels)))
        counted = np.array(self.levels) != SECONDARY
        norms = np.zeros((1 + max(self.groups, default=0), len(Q)))
        matters = counted & (self.weights > 0)
        np.add.at(norms, np.array(self.groups)[matters], (E[:, matters] ** 2).T)
        # A little more than the tolerance: the code in C rounds elsewhere.
        good = np.all(norms <= 1.01 * self.tolerance**2, axis=0)
        return Score(good, np.sqrt((self.weights * E**2)[:, counted].sum(axis=1)), E)

    # Starts of the search -----------------------------------------------------------------------------

    @cached_property
    def _measured(self) -> tuple[Expression, list[int], Array]:
        """Features that rank the starts by their distance from a target: expressions, indices, weights."""
        found, places, weights, at = [], [], [], 0
        for task, size in zip(self.tasks, self.sizes, strict=True):
            measure = task.measure(self.robot, self.q)
            if measure is not None:
                for k, w in enumerate(_closeness(task, self._by_part(task, task.weights(self.robot)))):
                    if w > 0 and not measure[k].is_constant():
                        found.append(measure[k])
                        places.append(at + k)
                        weights.append(w)
            at += size
        return ca.vertcat(*found), places, np.array(weights)

    def features(self) -> tuple[ca.Function, list[int], Array]:
        """q -> features; their indices in the target, and their weights in the distance."""
        measured, places, weights = self._measured
        return ca.Function("features", [self.q], [ca.densify(measured)]), places, weights

    def default(self) -> Array:
        """Values of coordinates that no task moves: zero, or the nearest limit, or the held value."""
        q = np.clip(self.robot.neutral(), *self.bounds)
        q[list(self.held)] = list(self.held.values())
        return q

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper limits of the coordinates."""
        low, high = np.array(self.robot.limits.lower), np.array(self.robot.limits.upper)
        for joint in self.robot.model.independent_joints:
            place = self.robot.index(joint.name)[0]
            if joint.type.endless:
                low[place], high[place] = -np.inf, np.inf
            if joint.type.quaternion is not None:
                at = range(self.robot.nq)[place][joint.type.quaternion]
                low[list(at)], high[list(at)] = -np.inf, np.inf
        return low, high

    @cached_property
    def circles(self) -> Array:
        """Increment after which each coordinate gives the same posture, regardless of limits; zero if none.

        It is zero for joints that others mimic, since those turn by another angle or do not turn, and for all
        joints if the user has constraint equations, which may count turns.
        """
        model = self.robot.model
        followed = {joint.mimic.joint for joint in model.moving_joints if joint.mimic is not None}
        found = np.zeros(self.robot.nq)
        if any(isinstance(one, UserConstraint) for one in self.robot.constraints):
            return found
        for joint in model.independent_joints:
            if joint.type.nq == joint.type.nv and joint.name not in followed:
                closes = np.where(joint.type.reaches_all(), 2 * joint.type.widths, 0.0)
                found[self.robot.index(joint.name)[0]] = closes
        return found

    @cached_property
    def periods(self) -> Array:
        """`circles` of coordinates without limits, zero for those with limits."""
        low, high = self.bounds
        return np.where(np.isinf(low) & np.isinf(high), self.circles, 0.0)


def _closeness(task: Task, weights: list[Array]) -> Array:
    """Weights of the differences of a target's numbers, in the units of the task's error."""
    if task.target_kind == "numbers":
        return weights[0]
    turn = np.full((3, 3), 0.5 * float(weights[0].mean()))  # |R - R*|² = 8 sin²(θ/2)
    if task.target_kind == "rotation":
        return turn.ravel()
    along = np.full(3, float(weights[1].mean()))
    return np.vstack([np.column_stack([turn, along]), np.zeros(4)]).ravel()


def _tasks(given: str | Task | Sequence[Task]) -> tuple[Task, ...]:
    if isinstance(given, str):
        return (PoseTask(given),)
    tasks = tuple(given) if isinstance(given, Iterable) else (given,)
    if not tasks or not all(isinstance(task, Task) for task in tasks):
        raise InputError(f"inverse kinematics takes a frame, a task or several tasks; got {given!r}")
    names = [task.name for task in tasks]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two tasks are called {name!r}: give one of them another name=")
    return tasks
