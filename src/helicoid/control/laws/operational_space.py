"""Hybrid motion and force control of a frame in contact (operational space)."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.control.laws.task_space import FrameLaw
from helicoid.control.laws.torque import Friction, Torque, is_rotation
from helicoid.control.program.numbers import Number
from helicoid.deprecation import former_order, renamed_arguments
from helicoid.errors import InputError
from helicoid.robot.robot import Robot, as_robot


class OperationalSpaceControl(FrameLaw):
    """τ = Jᵀ (Λ Ω_m ẍ* + Ω_f F* + μ + p) + Nᵀ τ₀: motion along some axes, force along the others.

    Ω_m = diag(R Σ Rᵀ, R Σ Rᵀ) selects what moves, with Σ = 1 along the axes of R that `motion` names, and
    Ω_f = 1 - Ω_m what presses (Khatib 1987). ẍ* = a_ref + 2 ζ ω ė + ω² e, and

        F* = F_ref + k ∫ (F_ref - F) dt - d ẋ

    with F the wrench that the robot exerts on its surroundings, if it is measured. τ₀ is that of
    `TaskSpaceControl`.

    Args:
        robot: with an actuator at every joint.
        frame: the name of a link.
        frequency, damping_ratio: ω (rad/s) and ζ of the motion, of one row or all.
        motion: six numbers, 1 where motion is controlled and 0 where force is, about and then along the axes
            of `axes` in `step`: (1, 1, 1, 1, 1, 0) presses along its z axis.
        force_gain: k (1/s); needs `dt` and a measured wrench.
        force_damping: d along the directions of force (N·s/m, N·m·s/rad), which damps the impact.
        force_limit: most that the integral may add, in each row (N, N·m).
        dt: time between steps (s).
        posture_frequency, damping_factor, friction, decay: see `TaskSpaceControl`.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("panda")
    >>> law = hc.control.OperationalSpaceControl(robot, "panda_link8", motion=(1, 1, 1, 1, 1, 0))
    >>> q, T = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.8]), robot.pose("panda_link8")
    >>> held = law.step(q, np.zeros(7), T(q), wrench_ref=[0, 0, 0, 0, 0, 0], q_posture=q)
    >>> pressed = law.step(q, np.zeros(7), T(q), wrench_ref=[0, 0, 0, 0, 0, -10], q_posture=q)
    >>> J = robot.jacobian("panda_link8", "world_aligned")(q)
    >>> print(np.allclose(pressed - held, J.T @ [0, 0, 0, 0, 0, -10]))
    True
    """

    @former_order(
        *("motion", "frequency", "damping_ratio", "force_gain", "force_damping", "force_limit", "dt"),
        *("posture_frequency", "damping_factor", "friction", "decay"),
    )
    @renamed_arguments(singularity_damping="damping_factor")
    def __init__(
        self,
        robot: Robot,
        frame: str,
        frequency: ArrayLike = 20.0,
        damping_ratio: ArrayLike = 1.0,
        *,
        motion: ArrayLike,
        force_gain: ArrayLike = 0.0,
        force_damping: ArrayLike = 0.0,
        force_limit: ArrayLike = 100.0,
        dt: float | None = None,
        posture_frequency: ArrayLike = 5.0,
        damping_factor: float = 0.01,
        friction: Friction = "none",
        decay: float = 0.95,
    ) -> None:
        as_robot(robot, "OperationalSpaceControl")
        self._axes = np.eye(3)
        numbers = {
            "motion": Number(motion, (6,), 0.0),
            "frequency": Number(frequency, (6,), 0.0, above=True),
            "damping_ratio": Number(damping_ratio, (6,), 0.0),
            "force_gain": Number(force_gain, (6,), 0.0),
            "force_damping": Number(force_damping, (6,), 0.0),
            "force_limit": Number(force_limit, (6,), 0.0),
        }
        super().__init__(
            robot,
            "operational_space_control",
            numbers,
            *(frame, posture_frequency, damping_factor),
            friction=friction,
            decay=decay,
            dt=dt,
            references={"wrench_ref": (6,), "axes": (3, 3)},
            defaults={"axes": self._axes},
            memory={"sum": np.zeros(6)},
            measured={"wrench": (6,)},
        )
        self._check({name: self.number(name) for name in numbers})

    def step(
        self,
        q: ArrayLike,
        v: ArrayLike,
        T_ref: ArrayLike,
        wrench_ref: ArrayLike,
        wrench: ArrayLike | None = None,
        twist_ref: ArrayLike | None = None,
        a_ref: ArrayLike | None = None,
        axes: ArrayLike | None = None,
        q_posture: ArrayLike | None = None,
    ) -> Array:
        """The torque (nv) for a measured state.

        Args:
            T_ref: reference pose, 4 × 4, world; what it says along directions of force is not used.
            wrench_ref: reference wrench (n, f) at the frame's origin (N·m, N), world axes.
            wrench: measured wrench, likewise; wrench_ref unless given.
            twist_ref, a_ref: of the motion, 6 each, world axes; 0 unless given.
            axes: R, 3 × 3, whose columns are the axes that `motion` speaks of, in the world; those of the
                world unless given.
            q_posture: posture in the null space of the frame; neutral within limits unless given.
        """
        zero, posture = self._zero, self._posture
        values = (
            q,
            v,
            wrench_ref if wrench is None else wrench,
            T_ref,
            zero if twist_ref is None else twist_ref,
            zero if a_ref is None else a_ref,
            wrench_ref,
            self._axes if axes is None else axes,
            posture if q_posture is None else q_posture,
        )
        return self._call(values)[0]

    def _measured_rows(self, rows: dict[str, Array]) -> dict[str, Array]:
        return {"wrench": rows["wrench_ref"], **rows}

    def _check(self, numbers: Mapping[str, Array]) -> None:
        if not np.all(np.isin(numbers["motion"], (0.0, 1.0))):
            raise InputError(f"motion is six numbers, 1 for motion and 0 for force; got {numbers['motion']}")
        if self.period is None and np.any(numbers["force_gain"] != 0):
            raise InputError("force_gain needs the time between steps: make the law with dt=...")

    def _torque(self, x: Mapping[str, Expression], effort: Array) -> Torque:
        motion = self._frame_motion(list(range(6)), x)
        R = ca.diagcat(x["axes"], x["axes"])
        Ω_m = R @ ca.diag(x["motion"]) @ R.T
        Ω_f = R @ ca.diag(1 - x["motion"]) @ R.T
        ω = x["frequency"]
        a = x["a_ref"] + 2 * x["damping_ratio"] * ω * motion.e_dot + ω**2 * motion.e
        twist = motion.J @ x["v"]
        F = Ω_f @ (x["wrench_ref"] + x["sum"] - x["force_damping"] * twist)
        tau = self._frame_torque(x, motion, Ω_m @ a, F)
        sensible = ca.logic_and(is_rotation(x["T_ref"][:3, :3]), is_rotation(x["axes"]))
        if self.period is None:
            return Torque(tau, sensible=sensible)
        missing = Ω_f @ (x["wrench_ref"] - x["wrench"])
        added = x["sum"] + self.period * x["force_gain"] * missing
        limit = x["force_limit"]
        return Torque(tau, {"sum": ca.fmin(ca.fmax(added, -limit), limit)}, sensible)
