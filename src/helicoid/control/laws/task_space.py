"""Operational space control: motion or impedance of a frame, with a posture in its null space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.compiler import Shape
from helicoid.control.laws.torque import Friction, Torque, TorqueLaw, is_rotation
from helicoid.control.program.numbers import Number
from helicoid.control.tasks.frame import rotation_error
from helicoid.deprecation import renamed_arguments
from helicoid.dynamics.kinematics import frames
from helicoid.dynamics.linear import factor, inverse, solve
from helicoid.dynamics.task_space.dynamics import Rows, check_rank, jacobian_dot_times_velocity, twist_task
from helicoid.errors import InputError
from helicoid.robot.robot import Robot, as_robot


class FrameMotion(NamedTuple):
    """Kinematics of a frame: J, J̇ v, Λ and the errors e and ė, rows in world axes, angular first."""

    J: Expression
    J_dot_v: Expression
    inertia: Expression
    e: Expression
    e_dot: Expression


class FrameLaw(TorqueLaw):
    """Base of laws that control a frame, with a posture in its dynamically consistent null space."""

    def __init__(
        self,
        robot: Robot,
        name: str,
        numbers: Mapping[str, Number],
        frame: str,
        posture_frequency: ArrayLike,
        damping_factor: float,
        references: Mapping[str, Shape] | None = None,
        defaults: Mapping[str, Array] | None = None,
        **options: Any,
    ) -> None:
        robot.model.frame(frame)
        self.frame, self._posture, self._zero = frame, robot.neutral(within_limits=True), np.zeros(6)
        motion = {"T_ref": (4, 4), "twist_ref": (6,), "a_ref": (6,)}
        references = {**motion, **(references or {}), "q_posture": (robot.nq,)}
        at_rest = {"twist_ref": self._zero, "a_ref": self._zero, "q_posture": self._posture}
        common = {
            "posture_frequency": Number(posture_frequency, (robot.nv,), 0.0),
            "damping_factor": Number(damping_factor, (), 0.0),
        }
        defaults = {**at_rest, **(defaults or {})}
        super().__init__(robot, name, references, {**numbers, **common}, defaults=defaults, **options)

    set = renamed_arguments(singularity_damping="damping_factor")(TorqueLaw.set)

    def motion_reference(self, q: Array, v: Array, a: Array) -> dict[str, Array]:
        """Pose, twist J v and its rate J a + J̇ v of the frame along a joint motion, with q as the posture."""
        J = np.asarray(self.robot.jacobian(self.frame, "world_aligned")(q))
        J_dot = np.asarray(self.robot.jacobian_dot(self.frame, "world_aligned")(q, v))
        return {
            "T_ref": np.asarray(self.robot.pose(self.frame)(q)),
            "twist_ref": np.einsum("kij,kj->ki", J, v),
            "a_ref": np.einsum("kij,kj->ki", J, a) + np.einsum("kij,kj->ki", J_dot, v),
            "q_posture": q,
        }

    def _frame_motion(self, rows: list[int], x: Mapping[str, Expression]) -> FrameMotion:
        """J, J̇ v, Λ and errors of the frame for the references T_ref and twist_ref."""
        model, q, v = self.robot.model, x["q"], x["v"]
        J = frames.jacobian(model, q, self.frame, "world_aligned")[rows, :]
        J_dot_v = jacobian_dot_times_velocity(model, q, v, self.frame, "world_aligned")[rows]
        M = self.robot.mass_matrix(q, *self._known_theta(x))
        JMJ = J @ solve(factor(M, model.velocity_names), J.T)
        inertia = inverse(JMJ + x["damping_factor"] ** 2 * ca.SX.eye(len(rows)))
        R, p = frames.frame_pose(model, q, self.frame)
        T = x["T_ref"]
        e = ca.vertcat(rotation_error(R, T[:3, :3]), T[:3, 3] - p)[rows]
        return FrameMotion(J, J_dot_v, inertia, e, x["twist_ref"][rows] - J @ v)

    def _frame_torque(
        self, x: Mapping[str, Expression], motion: FrameMotion, a: Expression, F: Expression | int
    ) -> Expression:
        """τ that accelerates the frame by `a` and exerts F, with the posture in the null space.

        τ = Jᵀ (Λ a + μ + p + F) + Nᵀ (M a₀ + h) is the same as inverse dynamics of the posture's a₀, and
        Jᵀ (Λ (a - J̇ v - J a₀) + F), because Jᵀ J̄ᵀ + Nᵀ = 1 and J̄ = M⁻¹ Jᵀ Λ.
        """
        robot, ω = self.robot, x["posture_frequency"]
        a_0 = ω**2 * robot.difference(x["q"], x["q_posture"]) - 2 * ω * x["v"]
        tau = robot.inverse_dynamics(x["q"], x["v"], a_0, *self._known_theta(x), friction=False)
        tau += motion.J.T @ (motion.inertia @ (a - motion.J_dot_v - motion.J @ a_0) + F)
        return tau + self._friction_torque(x, x["v"])


class TaskSpaceControl(FrameLaw):
    """τ = Jᵀ F + Nᵀ τ₀ with F = Λ ẍ* + μ + p: operational space dynamics, decoupled (Khatib 1987).

    With `frequency`, ẍ* = a_ref + 2 ζ ω ė + ω² e: every row of the pose's error obeys ë + 2 ζ ω ė + ω² e = 0.
    With `stiffness`, the frame is a spring and a damper about its reference with its natural inertia,
    Λ (ẍ - a_ref) = K e + D ė + F_ext: it deflects by K⁻¹ F_ext. The posture acts in the dynamically
    consistent null space, τ₀ = M (ω_p² (q_posture ⊖ q) - 2 ω_p v) + h, and does not move the frame.

    Args:
        robot: with an actuator at every joint.
        frame: the name of a link.
        frequency: ω, of one row or all (rad/s). Either this or `stiffness`.
        stiffness: K, of one row or all (N·m/rad, then N/m).
        damping_ratio: ζ of both.
        damping: D, of one row or all (N·m·s/rad, N·s/m); by default 2 ζ √(K Λ) of each row.
        rows: "all", "angular", "linear", or numbers from 0 to 5, of the twist (ω, v).
        posture_frequency: ω_p (rad/s).
        damping_factor: λ of Λ = (J M⁻¹ Jᵀ + λ² 1)⁻¹, which keeps torques finite at singularities.
        friction: whether the joints' friction is compensated, at the "measured" velocity.
        decay: factor of the last valid torque at every step without a valid measurement.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> law = hc.control.TaskSpaceControl(robot, "tip", frequency=10.0, rows=(3, 5), damping_factor=0.0)
    >>> q, v, T = np.array([0.3, 0.8]), np.zeros(2), robot.pose("tip")([0.3, 0.8])
    >>> T[0, 3] += 0.01
    >>> a = robot.forward_dynamics(q, v, law.step(q, v, T))
    >>> print((robot.jacobian("tip", "world_aligned")(q) @ a)[3].round(9))  # ω² e = 100 · 0.01
    1.0
    """

    @renamed_arguments(singularity_damping="damping_factor")
    def __init__(
        self,
        robot: Robot,
        frame: str,
        frequency: ArrayLike | None = None,
        stiffness: ArrayLike | None = None,
        damping_ratio: ArrayLike = 1.0,
        damping: ArrayLike | None = None,
        rows: Rows = "all",
        posture_frequency: ArrayLike = 5.0,
        damping_factor: float = 0.01,
        friction: Friction = "none",
        decay: float = 0.95,
    ) -> None:
        as_robot(robot, "TaskSpaceControl")
        if (frequency is None) == (stiffness is None):
            raise InputError("TaskSpaceControl takes either frequency or stiffness")
        if damping is not None and stiffness is None:
            raise InputError("damping goes with stiffness; with frequency it is damping_ratio")
        robot.model.frame(frame)
        self._rows = twist_task(frame, "world_aligned", rows, damping_factor)
        check_rank(robot.model, self._rows)
        size = (self._rows.size,)
        numbers = {"damping_ratio": Number(damping_ratio, size, 0.0)}
        if frequency is not None:
            numbers["frequency"] = Number(frequency, size, 0.0, above=True)
        if stiffness is not None:
            numbers["stiffness"] = Number(stiffness, size, 0.0)
        if damping is not None:
            numbers["damping"] = Number(damping, size, 0.0)
        common = (frame, posture_frequency, damping_factor)
        super().__init__(robot, "task_space_control", numbers, *common, friction=friction, decay=decay)

    def step(
        self,
        q: ArrayLike,
        v: ArrayLike,
        T_ref: ArrayLike,
        twist_ref: ArrayLike | None = None,
        a_ref: ArrayLike | None = None,
        q_posture: ArrayLike | None = None,
    ) -> Array:
        """The torque (nv) for a measured state.

        Args:
            T_ref: reference pose, 4 × 4, world.
            twist_ref, a_ref: its twist (ω, v) and the rate of that, 6 each, world axes; 0 unless given.
            q_posture: posture in the null space of the frame; neutral within limits unless given.
        """
        zero, posture = self._zero, self._posture
        values = (
            q,
            v,
            T_ref,
            zero if twist_ref is None else twist_ref,
            zero if a_ref is None else a_ref,
            posture if q_posture is None else q_posture,
        )
        return self._call(values)[0]

    def _torque(self, x: Mapping[str, Expression], effort: Array) -> Torque:
        rows = list(self._rows.rows)
        motion = self._frame_motion(rows, x)
        a = x["a_ref"][rows]
        F = 0
        if "frequency" in x:
            ω = x["frequency"]
            a += 2 * x["damping_ratio"] * ω * motion.e_dot + ω**2 * motion.e
        else:
            D = x.get("damping")
            if D is None:
                D = 2 * x["damping_ratio"] * ca.sqrt(x["stiffness"] * ca.diag(motion.inertia))
            F = x["stiffness"] * motion.e + D * motion.e_dot
        turns = any(row < 3 for row in rows)
        sensible = is_rotation(x["T_ref"][:3, :3]) if turns else 1
        return Torque(self._frame_torque(x, motion, a, F), sensible=sensible)
