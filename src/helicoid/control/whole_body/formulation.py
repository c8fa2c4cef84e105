"""From tasks, contacts and limits to the data of a step, as expressions.

    min Σ w |task|² + w_a |a|² + w_f |f|²
    M a + h = Sᵀ τ + Jᵀ f      J a = -J̇ v - κ J v      C f ≤ 0      limits of f, τ and of v + a dt

Tasks of motion are J a + J̇ v = acceleration + ω² e + 2 ζ ω (velocity - J v), with e what is missing. What the
runtime in C makes of the data is in runtime/whole_body_reduce.h and runtime/whole_body_program.h.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.compiler import distinct_identifiers
from helicoid.control.laws.torque import Friction, compensated_friction
from helicoid.control.program.levels import TaskProgram, bounded_coordinates, target_check
from helicoid.control.program.numbers import Numbers, finite, numbers_of, weights_of
from helicoid.control.tasks import ForceTask, PostureTask, TorqueTask
from helicoid.control.whole_body.contacts import Contact, PointContact, check_friction, check_normal
from helicoid.dynamics.tree import along_motion
from helicoid.errors import InputError
from helicoid.robot.robot import Robot

RETURN = 0.2
"""Part of the braking with which joints return from beyond their range."""

OF_ACCELERATIONS, OF_VARIABLE, OF_TORQUE = 0, 1, 2
"""Kinds of the rows of tasks; see runtime/whole_body_program.h."""

OUTPUTS = (*("M", "h", "J", "b", "E", "e", "weight", "lower", "upper", "cones", "damping", "turn", "errors"),)


class TaskRow(NamedTuple):
    """A row of a task: its kind, and its index among the rows of this kind."""

    kind: int
    at: int


@dataclass(frozen=True)
class AccelerationProgram(TaskProgram):
    """Quadratic program of accelerations and contact forces."""

    contacts: tuple[Contact, ...]
    friction: Friction
    reserved = (
        *("dt", "acceleration_weight", "force_weight", "velocity_limit", "acceleration_limit", "decay"),
        *("torque_limit", "braking", "position_lower", "position_upper", "approach", "ramp"),
        *("ramp_force", "contact_rate", "theta", "contacts"),
    )

    @cached_property
    def contact_names(self) -> list[str]:
        """Names of the contacts as identifiers."""
        return distinct_identifiers(
            [one.name for one in self.contacts], linked=False, taken=[*self.reserved, *self.names]
        )

    @property
    def n_forces(self) -> int:
        """Forces of all contacts."""
        return sum(one.size for one in self.contacts)

    @property
    def n_cones(self) -> int:
        """Rows of all friction cones."""
        return sum(one.cone_rows for one in self.contacts)

    @property
    def n_variables(self) -> int:
        """Accelerations, forces, multipliers of the robot's own constraints."""
        return self.robot.nv + self.n_forces + self.robot.constraints.rows

    @cached_property
    def starts(self) -> list[int]:
        """Index of the first force of each contact."""
        return np.cumsum([0, *(one.size for one in self.contacts)])[:-1].tolist()

    @cached_property
    def rows(self) -> list[list[TaskRow]]:
        """Rows of every task."""
        made, motion = [], 0
        for task in self.tasks:
            count = task.rows(self.robot)
            if isinstance(task, PostureTask):
                rows = [TaskRow(OF_VARIABLE, k) for k in task.velocities(self.robot)]
            elif isinstance(task, ForceTask):
                start = self.robot.nv + self.starts[self._contact_of(task)]
                rows = [TaskRow(OF_VARIABLE, start + k) for k in range(count)]
            elif isinstance(task, TorqueTask):
                driven = self.robot.actuated
                rows = [TaskRow(OF_TORQUE, driven.index(k)) for k in task.velocities(self.robot)]
            else:
                rows = [TaskRow(OF_ACCELERATIONS, motion + k) for k in range(count)]
                motion += count
            made.append(rows)
        return made

    @cached_property
    def all_rows(self) -> list[TaskRow]:
        """Rows of all tasks; if strict, also those of a last level that minimises forces."""
        rows = [row for task in self.rows for row in task]
        if self.strict:
            rows += [TaskRow(OF_VARIABLE, self.robot.nv + k) for k in range(self.n_forces)]
        return rows

    @property
    def level_rows(self) -> list[int]:
        """Number of rows of each level."""
        sizes = [sum(task.rows(self.robot) for task in level) for level in self.levels]
        return [*sizes, self.n_forces] if self.strict and self.contacts else sizes

    @property
    def scale(self) -> Array:
        """Typical size of each variable, by which pivots are scaled."""
        weight = max(9.81 * float(self.robot.mass), 1e-3)
        base = 10.0 if self.robot.model.floating else 1.0
        sizes = [np.full(6 if self.robot.model.floating else 0, base)]
        sizes.append(np.ones(self.robot.nv - sizes[0].size))
        for one in self.contacts:
            sizes.append(weight * np.array([0.1] * (one.size - 3) + [1.0] * 3))
        sizes.append(np.full(self.robot.constraints.rows, weight))
        return np.concatenate(sizes)

    def _contact_of(self, task: ForceTask) -> int:
        names = [one.name for one in self.contacts]
        if task.contact not in names:
            raise InputError(
                f"{task.name!r}: there is no contact {task.contact!r}; there are {', '.join(names) or 'none'}"
            )
        number = names.index(task.contact)
        if self.contacts[number].size != task.size:
            raise InputError(
                f"{task.name!r}: contact {task.contact!r} has {self.contacts[number].size} forces, the task "
                f"{task.size}; say ForceTask({task.contact!r}, size={self.contacts[number].size})"
            )
        return number

    # Numbers ------------------------------------------------------------------------------------------

    def numbers(
        self,
        dt: float,
        frequency: ArrayLike,
        damping_ratio: ArrayLike,
        **others: ArrayLike | None,
    ) -> Numbers:
        """All numbers of a step with their initial values; see `WholeBody`."""
        robot, limits = self.robot, self.robot.limits
        numbers = Numbers()
        numbers.add("dt", dt, numbers_of((), 0, 1e6, strict=True))
        count = (len(self.tasks),)
        frequencies = numbers_of(count, 0, 1e6)("frequency", frequency)
        ratios = numbers_of(count, 0, 1e6)("damping_ratio", damping_ratio)
        for task, name, ω, ζ in zip(self.tasks, self.names, frequencies, ratios, strict=True):
            rows = task.rows(robot)
            numbers.add(name, task.target, target_check(robot, task), task.name)
            numbers.add(f"{name}_weight", task.weights(robot), weights_of((rows,)))
            if task.of == "motion":
                numbers.add(f"{name}_velocity", 0.0, finite((rows,)))
                numbers.add(f"{name}_acceleration", 0.0, finite((rows,)))
                numbers.add(f"{name}_frequency", ω, numbers_of((), 0, 1e6))
                numbers.add(f"{name}_damping_ratio", ζ, numbers_of((), 0, 1e6))
            elif task.of == "momentum":
                numbers.add(f"{name}_rate", 0.0, finite((rows,)))
                numbers.add(f"{name}_gain", ω, finite((), 0))
        weight = 9.81 * float(robot.mass)
        for kind, start in (("active", 1.0), ("max_force", np.inf), ("min_force", 0.0)):
            for name in self.contact_names:
                numbers.add(f"{name}_{kind}", start, numbers_of((), 0, 1 if kind == "active" else np.inf))
        for one, name in zip(self.contacts, self.contact_names, strict=True):
            numbers.add(f"{name}_friction", one.friction, check_friction)
            normal = one.normal if isinstance(one, PointContact) else (0.0, 0.0, 1.0)
            numbers.add(f"{name}_normal", normal, check_normal)
        numbers.add("ramp", others["ramp"], finite((), 0))
        numbers.add("ramp_force", 2 * weight, numbers_of((), 0, strict=True))
        numbers.add("contact_rate", others["contact_rate"], finite((), 0), former="contact_damping")
        for name, former in (("acceleration_weight", "damping"), ("force_weight", "force_damping")):
            numbers.add(name, others[name], numbers_of((), 0, 1e100, strict=True), former=former)
        driven = list(robot.actuated)
        numbers.add("torque_limit", limits.effort[driven], numbers_of((len(driven),), 0))
        numbers.add("velocity_limit", limits.velocity, numbers_of((robot.nv,), 0))
        most = np.inf if others["acceleration"] is None else others["acceleration"]
        numbers.add("acceleration_limit", most, numbers_of((robot.nv,), 0, strict=True))
        numbers.add("braking", others["braking"], numbers_of((robot.nv,), 0, 1e100, strict=True))
        numbers.add("position_lower", limits.lower, numbers_of((robot.nq,)))
        numbers.add("position_upper", limits.upper, numbers_of((robot.nq,)))
        numbers.add("approach", others["approach"], numbers_of((), 0, 1e100, strict=True))
        numbers.add("decay", others["decay"], numbers_of((), 0, 1))
        if robot.theta.groups:
            numbers.add("theta", robot.theta.values, finite((len(robot.theta),)))
        return numbers

    # Expressions --------------------------------------------------------------------------------------

    def data(self, q: Expression, v: Expression, p: Expression, n: Mapping[str, Expression]) -> ca.Function:
        """The function (q, v, p) that gives what the C runtime takes, in the order of `OUTPUTS`."""
        robot = self.robot
        theta = (n["theta"],) if "theta" in n else ()
        joint_friction = compensated_friction(robot, self.friction, q, v, v, *theta)
        h = robot.bias(q, v, *theta, friction=False) + joint_friction
        J, b, cones, turns = self._contacts(q, v, n)
        E, e, weights, errors = self._tasks(q, v, n, turns)
        lower, upper = self._bounds(q, v, n)
        rows = robot.constraints.rows
        damping = ca.vertcat(
            n["acceleration_weight"] * ca.SX.ones(robot.nv),
            n["force_weight"] * ca.SX.ones(self.n_forces + rows),
        )
        outputs = {
            "M": _flat(robot.mass_matrix(q, *theta)),
            "h": h,
            "J": _flat(J),
            "b": b,
            "E": _flat(E),
            "e": e,
            "weight": weights,
            "lower": lower,
            "upper": upper,
            "cones": cones,
            "damping": damping,
            "turn": ca.vertcat(ca.SX(0, 1), *map(_flat, turns)),
            "errors": errors,
        }
        return ca.Function("data", [q, v, p], [ca.densify(outputs[name]) for name in OUTPUTS])

    def _contacts(
        self, q: Expression, v: Expression, n: Mapping[str, Expression]
    ) -> tuple[Expression, Expression, Expression, list[Expression]]:
        """J and b of J a = b, the rows of the cones, and the axes of the contacts."""
        robot, J, b, cones, turns = self.robot, ca.SX(0, self.robot.nv), ca.SX(0, 1), ca.SX(0, 1), []
        slower = ca.fmin(n["contact_rate"], 1 / n["dt"])
        for one, name in zip(self.contacts, self.contact_names, strict=True):
            turn = ca.reshape(n[f"{name}_normal"], 3, 3).T
            own = one.jacobian(robot, q, turn)
            J = ca.vertcat(J, own)
            b = ca.vertcat(b, -along_motion(robot.model, own @ v, q, v) - slower * (own @ v))
            cones = ca.vertcat(cones, _flat(one.cone(n[f"{name}_friction"])))
            turns.append(one.axes(robot, q, turn))
        if robot.constraints.rows:
            plain = Robot(robot.model, added=robot.constraints.added)
            A, φ = plain.constraint_jacobian(q), plain.constraint_position(q)
            α = ca.fmin(n["approach"], 1 / n["dt"])
            J = ca.vertcat(J, A)
            b = ca.vertcat(b, -plain.constraint_bias(q, v) - 2 * α * (A @ v) - α**2 * φ)
        return J, b, cones, turns

    def _tasks(
        self, q: Expression, v: Expression, n: Mapping[str, Expression], turns: Sequence[Expression]
    ) -> tuple[Expression, Expression, Expression, Expression]:
        """E of rows of motion, e and √w of all rows, and the errors of motion; E and e have √w in them."""
        robot, E, e, errors = self.robot, ca.SX(0, self.robot.nv), [], []
        roots: list[Expression] = []
        for task, name, rows in zip(self.tasks, self.names, self.rows, strict=True):
            root, target = ca.sqrt(n[f"{name}_weight"]), n[name]
            roots.append(root)
            if isinstance(task, ForceTask):
                turn = turns[self._contact_of(task)]
                parts = [turn.T @ target[k : k + 3] for k in range(0, task.size, 3)]
                e.append(root * ca.vertcat(*parts))
                continue
            if isinstance(task, TorqueTask):
                e.append(root * target[task.velocities(robot)])
                continue
            J = task.jacobian(robot, q, target)
            bias = along_motion(robot.model, J @ v, q, v)
            if task.of == "momentum":
                missing = target - J @ v
                wanted = n[f"{name}_rate"] + n[f"{name}_gain"] * missing
            else:
                missing = ca.densify(task.error(robot, q, target))
                ω, ζ = n[f"{name}_frequency"], n[f"{name}_damping_ratio"]
                slower = 2 * ζ * ω * (n[f"{name}_velocity"] - J @ v)
                wanted = n[f"{name}_acceleration"] + ω**2 * missing + slower
            errors.append(missing)
            e.append(root * (wanted - bias))
            if rows[0].kind == OF_ACCELERATIONS:
                E = ca.vertcat(E, ca.diag(root) @ J)
        if self.strict:
            e.append(ca.SX.zeros(self.n_forces))
            roots.append(ca.SX.ones(self.n_forces) / max(9.81 * float(robot.mass), 1e-3))
        return E, ca.vertcat(*e), ca.vertcat(*roots), ca.vertcat(ca.SX(0, 1), *errors)

    def _bounds(
        self, q: Expression, v: Expression, n: Mapping[str, Expression]
    ) -> tuple[Expression, Expression]:
        """Accelerations after which v + a dt is within its limit, and enough is left to brake before an end.

        With d what is left and β the braking, v⁺ dt + v⁺²/2β ≤ d. No limit asks for more than β. Beyond
        an end, motion away from the range is braked by β, and the joint returns with accelerations of γ =
        RETURN β at most, at velocities from which γ suffices to stop at the end.
        """
        robot, dt, most = self.robot, n["dt"], n["acceleration_limit"]
        rate = ca.fmin(n["approach"], 1 / dt)
        lower, upper = -n["velocity_limit"], ca.SX(n["velocity_limit"])
        for k, j in bounded_coordinates(robot)[0]:
            ends = []
            for left in (q[k] - n["position_lower"][k], n["position_upper"][k] - q[k]):
                inside = ca.fmin(ca.fmax(left, 0), 1e9)
                fastest = 2 * inside / (dt + ca.sqrt(dt**2 + 2 * inside / n["braking"][j]))
                beyond = ca.fmax(-left, 0)
                back = ca.fmin(rate * beyond, ca.sqrt(2 * RETURN * n["braking"][j] * beyond))
                ends.append(ca.if_else(left < 1e9, fastest - back, ca.inf))
            lower[j], upper[j] = ca.fmax(lower[j], -ends[0]), ca.fmin(upper[j], ends[1])
        β, γ = ca.fmin(n["braking"], most), ca.fmin(RETURN * n["braking"], most)
        least = ca.fmax(ca.fmin((ca.fmin(lower, 0) - v) / dt, β), ca.fmin((lower - v) / dt, γ))
        largest = ca.fmin(ca.fmax((ca.fmax(upper, 0) - v) / dt, -β), ca.fmax((upper - v) / dt, -γ))
        least, largest = ca.fmax(least, -most), ca.fmin(largest, most)
        return ca.fmin(least, largest), largest


def _flat(matrix: Expression) -> Expression:
    return ca.vec(ca.densify(matrix).T)
