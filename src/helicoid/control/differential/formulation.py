"""From tasks and limits to the data of a quadratic program, as expressions.

    weighted    min Σ w |J v - w*|² + λ² |v - v0|²
    strict      levels of |√w (J v - w*)|², the most important first

with w* = velocity + gain e, subject to what limits and constraints allow of v. λ² = λ₀² + κ |w e|, with λ₀
the damping factor and κ that of the error, is the Levenberg-Marquardt term: its second part replaces the
curvature that J neglects, and vanishes at the target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Expression
from helicoid.control.program.levels import TaskProgram, bounded_coordinates, target_check
from helicoid.control.program.numbers import Numbers, finite, numbers_of, weights_of
from helicoid.dynamics.tree import rate_matrix
from helicoid.errors import InputError
from helicoid.robot.collision import Capsules
from helicoid.robot.collision.pairs import Pair, distances
from helicoid.robot.robot import Robot

OUTPUTS = ("first", "second", "A", "lower", "upper", "errors", "damping", "wanted")


@dataclass(frozen=True)
class VelocityProgram(TaskProgram):
    """Quadratic program of joint velocities; `accelerates` where accelerations are limited."""

    accelerates: bool
    capsules: Capsules | None = None
    pairs: tuple[Pair, ...] = ()
    reserved = (
        *("dt", "damping_factor", "error_damping_factor", "null_velocity", "velocity_limit"),
        *("acceleration_limit", "position_lower", "position_upper", "approach", "self_distance"),
    )

    @property
    def level_rows(self) -> list[int]:
        """Number of rows of each level; one level if weighted."""
        rows = [sum(task.rows(self.robot) for task in level) for level in self.levels]
        return rows if self.strict else [sum(rows)]

    @property
    def constraint_rows(self) -> int:
        """Number of rows of the robot's own constraints."""
        return self.robot.constraints.rows

    @cached_property
    def n_rows(self) -> int:
        """Number of general rows: constraints, limits of dependent coordinates, pairs of capsules."""
        return self.constraint_rows + len(self.bounded()[1]) + len(self.pairs)

    def bounded(self) -> tuple[list[tuple[int, int]], list[int]]:
        """See `bounded_coordinates`."""
        return bounded_coordinates(self.robot)

    def numbers(
        self,
        dt: float,
        gain: float | Sequence[float],
        acceleration: ArrayLike | None,
        damping_factor: float,
        error_damping_factor: float,
        approach: float,
        self_distance: float | None = None,
    ) -> Numbers:
        """All numbers of a step with their initial values; see `DifferentialIK`."""
        robot, limits = self.robot, self.robot.limits
        numbers = Numbers()
        numbers.add("dt", dt, numbers_of((), 0, 1e6, strict=True))
        gains = numbers_of((len(self.tasks),), 0, 1e300)("gain", gain)
        for task, name, one in zip(self.tasks, self.names, gains, strict=True):
            rows = task.rows(robot)
            numbers.add(name, task.target, target_check(robot, task), task.name)
            numbers.add(f"{name}_velocity", 0.0, finite((rows,)))
            numbers.add(f"{name}_weight", task.weights(robot), weights_of((rows,)))
            numbers.add(f"{name}_gain", one, finite((), 0))
        positive = numbers_of((), 0, 1e100, strict=True)
        numbers.add("damping_factor", damping_factor, positive, former="damping")
        numbers.add("error_damping_factor", error_damping_factor, finite((), 0), former="error_damping")
        numbers.add("null_velocity", 0.0, finite((robot.nv,)))
        numbers.add("velocity_limit", limits.velocity, numbers_of((robot.nv,), 0))
        most = np.inf if acceleration is None else acceleration
        numbers.add("acceleration_limit", most, numbers_of((robot.nv,), 0, strict=True))
        numbers.add("position_lower", limits.lower, numbers_of((robot.nq,)))
        numbers.add("position_upper", limits.upper, numbers_of((robot.nq,)))
        numbers.add("approach", approach, positive)
        numbers.add("self_distance", self_distance or 0.0, finite((), 0))
        return numbers

    def data(self, q: Expression, p: Expression, numbers: Mapping[str, Expression]) -> ca.Function:
        """The function (q, p) that gives what the C runtime takes, in the order of `OUTPUTS`."""
        E, e, weights, errors, missing = [], [], [], [], []
        names = iter(self.names)
        for level in self.levels:
            missing.append(ca.SX(0, 1))
            for task in level:
                name = next(names)
                target, w = numbers[name], numbers[f"{name}_weight"]
                error = ca.densify(task.error(self.robot, q, target))
                gain = ca.fmin(numbers[f"{name}_gain"], 1 / numbers["dt"])
                E.append(task.jacobian(self.robot, q, target))
                e.append(numbers[f"{name}_velocity"] + gain * error)
                weights.append(w)
                errors.append(error)
                missing[-1] = ca.vertcat(missing[-1], w * error)
        if not self.strict:
            missing = [ca.vertcat(*missing)]
        stacked, wanted, w = ca.vertcat(*E), ca.vertcat(*e), ca.vertcat(*weights)
        λ0, κ = numbers["damping_factor"], numbers["error_damping_factor"]
        damping = [λ0**2 + κ * ca.norm_2(part) for part in missing]
        squares = ca.vertsplit(w * wanted**2, np.cumsum([0, *self.level_rows]).tolist())
        A, row_lower, row_upper = self._rows(q, numbers)
        lower, upper = self._bounds(q, numbers)
        if self.strict:
            first, second = ca.diag(ca.sqrt(w)) @ stacked, ca.sqrt(w) * wanted
        else:
            H = stacked.T @ (ca.diag(w) @ stacked)
            first = ca.tril2symm(ca.tril(H)) + damping[0] * ca.SX.eye(self.robot.nv)
            second = -(stacked.T @ (w * wanted)) - damping[0] * numbers["null_velocity"]
        outputs = [
            ca.vec(ca.densify(first).T),
            ca.densify(second),
            ca.vec(ca.densify(A).T),
            ca.densify(ca.vertcat(lower, row_lower)),
            ca.densify(ca.vertcat(upper, row_upper)),
            ca.densify(ca.vertcat(*errors)),
            ca.densify(ca.vertcat(*damping)),
            ca.densify(ca.vertcat(*map(ca.sum1, squares))),
        ]
        return ca.Function("data", [q, p], outputs)

    def _rows(
        self, q: Expression, numbers: Mapping[str, Expression]
    ) -> tuple[Expression, Expression, Expression]:
        """General rows, in the order of `n_rows`."""
        robot, nv = self.robot, self.robot.nv
        A, low, high = ca.SX(0, nv), ca.SX(0, 1), ca.SX(0, 1)
        if self.constraint_rows:
            plain = Robot(robot.model, added=robot.constraints.added)
            rate = -ca.fmin(numbers["approach"], 1 / numbers["dt"]) * plain.constraint_position(q)
            A, low, high = plain.constraint_jacobian(q), rate, rate
        for k in self.bounded()[1]:
            lower, upper = self._approach(q[k], k, numbers, ca.inf)
            A = ca.vertcat(A, rate_matrix(robot.model, q)[k, :])
            low, high = ca.vertcat(low, lower), ca.vertcat(high, upper)
        if self.capsules is not None:
            d, by_v = distances(robot.model, q, self.capsules, self.pairs)
            rate = ca.fmin(numbers["approach"], 1 / numbers["dt"])
            A, low = ca.vertcat(A, by_v), ca.vertcat(low, -rate * (d - numbers["self_distance"]))
            high = ca.vertcat(high, ca.inf * ca.SX.ones(len(self.pairs)))
        return A, low, high

    def _bounds(self, q: Expression, numbers: Mapping[str, Expression]) -> tuple[Expression, Expression]:
        """Bounds of each velocity: its limit, reduced near the position limits of its joint."""
        most = numbers["velocity_limit"]
        lower, upper = -most, ca.SX(most)
        for k, j in self.bounded()[0]:
            low, high = self._approach(q[k], k, numbers, numbers["acceleration_limit"][j])
            lower[j] = ca.fmin(ca.fmax(low, -most[j]), most[j])
            upper[j] = ca.fmax(ca.fmin(high, most[j]), -most[j])
        return lower, upper

    def _approach(
        self, position: Expression, k: int, numbers: Mapping[str, Expression], most: Expression
    ) -> tuple[Expression, Expression]:
        """Velocities from which a joint stops at its position limits, or returns to them.

        With a limited acceleration a, v h + v²/2a ≤ d: what is left after this step is enough to brake in,
        and the bound never falls faster than a. Without, v ≤ approach d. Beyond an end, back by approach d.
        """
        dt, rate = numbers["dt"], ca.fmin(numbers["approach"], 1 / numbers["dt"])
        bounds = []
        for distance in (position - numbers["position_lower"][k], numbers["position_upper"][k] - position):
            left = ca.fmin(ca.fmax(distance, 0), 1e9)
            inside = 2 * left / (dt + ca.sqrt(dt**2 + 2 * left / most)) if self.accelerates else rate * left
            bounds.append(inside + rate * ca.fmin(distance, 0))
        return -bounds[0], bounds[1]


def capsules_apart(
    robot: Robot, margin: float | None, capsules: Capsules | None, solver: str
) -> tuple[Capsules | None, tuple[Pair, ...]]:
    """Capsules for self-collision avoidance, and their pairs."""
    if margin is None:
        return None, ()
    if solver != "qp":
        raise InputError("self_distance needs solver='qp': a projection knows no distances")
    shapes = robot.capsules() if capsules is None else capsules
    if not isinstance(shapes, Capsules) or shapes.robot.link_names != robot.link_names:
        raise InputError("capsules are those of this robot, robot.capsules()")
    finite((), 0)("self_distance", margin)
    return shapes, tuple(shapes.could_meet(float(margin)))
