"""Prioritised inverse dynamics: every task in the null space of the more important ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.control.following import posture_reference
from helicoid.control.laws.torque import Friction, Torque, TorqueLaw
from helicoid.control.program.numbers import Number
from helicoid.control.tasks import PostureTask, Task
from helicoid.control.tasks.task import check_motion
from helicoid.deprecation import renamed_arguments
from helicoid.dynamics.linear import factor, solve
from helicoid.dynamics.tree import along_motion
from helicoid.errors import InputError
from helicoid.robot.robot import Robot, as_robot

_MIN_DAMPING_SQUARED = 1e-9
"""Least λ²: where no freedom is left to a task, as to a posture after a pose, A Aᵀ is singular."""


@dataclass(frozen=True)
class _Target(Number):
    """Target of a task, checked by the task."""

    task: Task | None = None
    robot: Robot | None = None

    def read(self, name: str, given: Any) -> Array:
        assert self.task is not None and self.robot is not None
        return self.task.numbers(self.robot, given)


class PrioritisedInverseDynamics(TorqueLaw):
    """τ = M a + h with a = Σ N_i a_i: every task in the null space of those before it.

    With N_1 = 1, every task asks for J_i a + J̇_i v = 2 ζ ω ė + ω² e, and

        a_i = (J_i N_i)⁺ (2 ζ ω ė_i + ω² e_i - J̇_i v - J_i Σ_{k<i} N_k a_k)
        N_{i+1} = N_i (1 - (J_i N_i)⁺ J_i N_i)

    where A⁺ = Aᵀ (A Aᵀ + λ² 1)⁻¹. Torque limits are kept by clipping, which knows no priorities;
    `WholeBody(robot, tasks, [], dt, "strict")` does the same by quadratic programs, with M a + h = τ as an
    equation and limits of τ before all tasks.

    Args:
        robot: with an actuator at every joint.
        tasks: the most important first. A target is changed by `set(name_of_the_task=target)`, where what is
            no letter, digit or underscore in a name is written as an underscore.
        frequency: ω, a number or one for each task (rad/s).
        damping_ratio: ζ, likewise.
        damping_factor: λ of damped least squares, which keeps accelerations finite near singularities.
        friction, decay: see `JointImpedance`.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot, q = hc.load("panda"), np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8])
    >>> hand = hc.control.PoseTask("panda_link8", robot.pose("panda_link8")(q), name="hand")
    >>> tasks = [hand, hc.control.PostureTask(q + 0.3)]
    >>> law = hc.control.PrioritisedInverseDynamics(robot, tasks, frequency=10.0, damping_factor=0.0)
    >>> a = robot.forward_dynamics(q, np.zeros(7), law.step(q, np.zeros(7)))
    >>> J = robot.jacobian("panda_link8", "world_aligned")(q)
    >>> print(np.allclose(J @ a, 0, atol=1e-4), np.abs(a).max() > 0.5)  # the hand stays, the elbow moves
    True True
    """

    @renamed_arguments(damping="damping_factor")
    def __init__(
        self,
        robot: Robot,
        tasks: Sequence[Task],
        frequency: ArrayLike = 10.0,
        damping_ratio: ArrayLike = 1.0,
        damping_factor: float = 1e-3,
        friction: Friction = "none",
        decay: float = 0.95,
    ) -> None:
        as_robot(robot, "PrioritisedInverseDynamics")
        if not tasks or not all(isinstance(task, Task) for task in tasks):
            raise InputError(f"tasks are a list of tasks such as hc.control.PoseTask('hand'); got {tasks!r}")
        self._tasks = {"".join(c if c.isalnum() else "_" for c in task.name): task for task in tasks}
        if len(self._tasks) < len(tasks):
            raise InputError("two tasks have the same name: give each its own, name='...'")
        for task in tasks:
            check_motion(task, "PrioritisedInverseDynamics")
            task.check(robot)
        n = (len(tasks),)
        targets = {
            name: _Target(task.target, (task.target_size(robot),), task=task, robot=robot)
            for name, task in self._tasks.items()
        }
        numbers = {
            "frequency": Number(frequency, n, 0.0, above=True),
            "damping_ratio": Number(damping_ratio, n, 0.0),
            "damping_factor": Number(damping_factor, (), 0.0),
        }
        if set(numbers) & set(targets):
            raise InputError(f"tasks cannot be called {', '.join(set(numbers) & set(targets))}")
        self.targets = tuple(targets)
        self.postures = tuple(k for k, task in self._tasks.items() if isinstance(task, PostureTask))
        name, numbers = "prioritised_inverse_dynamics", numbers | targets
        super().__init__(robot, name, {}, numbers, decay=decay, friction=friction)

    def step(self, q: ArrayLike, v: ArrayLike) -> Array:
        """The torque (nv) for a measured state."""
        return self._call((q, v))[0]

    set = renamed_arguments(damping="damping_factor")(TorqueLaw.set)

    def motion_reference(self, q: Array, v: Array, a: Array) -> dict[str, Array]:
        return posture_reference(self, q)

    def _torque(self, x: Mapping[str, Expression], effort: Array) -> Torque:
        robot, q, v = self.robot, x["q"], x["v"]
        a, N = ca.SX.zeros(robot.nv), ca.SX.eye(robot.nv)
        for i, (name, task) in enumerate(self._tasks.items()):
            J = task.jacobian(robot, q, x[name])
            ω, ζ = x["frequency"][i], x["damping_ratio"][i]
            wanted = ω**2 * task.error(robot, q, x[name]) - 2 * ζ * ω * (J @ v)
            missing = wanted - along_motion(robot.model, J @ v, q, v) - J @ a
            A = J @ N
            damping = (x["damping_factor"] ** 2 + _MIN_DAMPING_SQUARED) * ca.SX.eye(J.shape[0])
            factors = factor(A @ A.T + damping)
            a += N @ (A.T @ solve(factors, missing))
            if i + 1 < len(self._tasks):
                N = N @ (ca.SX.eye(robot.nv) - A.T @ solve(factors, A))
        tau = robot.inverse_dynamics(q, v, a, *self._known_theta(x), friction=False)
        return Torque(tau + self._friction_torque(x, v))
