"""Control laws that command joint torques within the effort limits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.compiler import Shape
from helicoid.control.laws.step import CompiledLaw, Expressions, check_period
from helicoid.control.program.numbers import Number
from helicoid.dynamics.physics import nominal
from helicoid.dynamics.recursions.rnea import joint_friction
from helicoid.errors import InputError
from helicoid.robot.robot import Robot
from helicoid.status import Status

__all__ = [
    "Friction",
    "Torque",
    "TorqueLaw",
    "check_period",
    "compensated_friction",
    "is_rotation",
    "static_torque",
]

Friction = Literal["none", "reference", "measured"]
"""Whether the joints' friction is compensated, at the reference or the measured velocity."""


class Torque(NamedTuple):
    """Torque of a law before saturation, its memory after the step, and whether its references are valid."""

    tau: Expression
    memory: Mapping[str, Expression] = {}
    sensible: Expression | int = 1


class TorqueLaw(CompiledLaw):
    """Base of laws that give τ (nv), within the effort limits of the robot.

    Where a measurement or a reference is not finite, the last valid torque decays by the factor `decay` at
    every step. A torque beyond its limit is saturated: `status` is "saturated", `ok` is
    False, and `message` names the joint.
    """

    def __init__(
        self,
        robot: Robot,
        name: str,
        references: Mapping[str, Shape],
        numbers: Mapping[str, Number],
        memory: Mapping[str, Array] | None = None,
        measured: Mapping[str, Shape] | None = None,
        decay: float = 0.95,
        friction: Friction = "none",
        **options: Any,
    ) -> None:
        _check_actuated(robot, type(self).__name__)
        self._friction = friction
        super().__init__(
            robot,
            name,
            {"q": (robot.nq,), "v": (robot.nv,), **(measured or {})},
            references,
            {"tau": (robot.nv,)},
            {**numbers, "decay": Number(decay, lower=0.0, upper=1.0, below=True), **_theta(robot)},
            {**(memory or {}), "last": np.zeros(robot.nv)},
            **options,
        )

    @abstractmethod
    def _torque(self, x: Mapping[str, Expression], effort: Array) -> Torque:
        """Torque of the law before saturation, on symbols."""

    def _law(self, x: Mapping[str, Expression]) -> Expressions:
        effort = self.robot.limits.effort
        unbounded = self._torque(x, effort)
        bounded, limit = [], ca.SX(0)
        for row in range(self.robot.nv):
            tau = unbounded.tau[row]
            if np.isfinite(effort[row]):
                beyond = ca.fabs(tau) > effort[row]
                limit = ca.if_else(ca.logic_and(beyond, limit == 0), row + 1, limit)
                tau = ca.fmin(ca.fmax(tau, -effort[row]), effort[row])
            bounded.append(tau)
        results, otherwise = {"tau": ca.vertcat(*bounded)}, {"tau": ca.fmin(x["decay"], 1) * x["last"]}
        return Expressions(results, unbounded.memory, otherwise, limit, unbounded.sensible)

    def _known_theta(self, x: Mapping[str, Expression]) -> tuple[Expression, ...]:
        """Last argument of functions of the robot: θ where it is parametric."""
        return (x["theta"],) if "theta" in x else ()

    def _friction_torque(self, x: Mapping[str, Expression], v_ref: Expression) -> Expression:
        """Torque that compensates the joints' friction (nv)."""
        return compensated_friction(self.robot, self._friction, x["q"], x["v"], v_ref, *self._known_theta(x))

    @property
    def message(self) -> str:
        """Reason why the last step failed, in words; empty where `ok`."""
        if self.status is not Status.SATURATED:
            return super().message
        row = int(self._code[1]) - 1
        name = self.robot.model.velocity_names[row]
        return f"{name} is held at its limit of {self.robot.limits.effort[row]:g}"


class JointTrackingLaw(TorqueLaw):
    """Base of laws that track a joint motion q_ref, v_ref, a_ref."""

    def __init__(self, robot: Robot, name: str, numbers: Mapping[str, Number], **options: Any) -> None:
        self._zero = np.zeros(robot.nv)
        references = {"q_ref": (robot.nq,), "v_ref": (robot.nv,), "a_ref": (robot.nv,)}
        defaults = {"v_ref": self._zero, "a_ref": self._zero}
        super().__init__(robot, name, references, numbers, defaults=defaults, **options)

    def step(
        self,
        q: ArrayLike,
        v: ArrayLike,
        q_ref: ArrayLike,
        v_ref: ArrayLike | None = None,
        a_ref: ArrayLike | None = None,
    ) -> Array:
        """The torque (nv) for a measured state; v_ref and a_ref are 0 unless given."""
        zero = self._zero
        values = (q, v, q_ref, zero if v_ref is None else v_ref, zero if a_ref is None else a_ref)
        return self._call(values)[0]


def compensated_friction(
    robot: Robot, kind: Friction, q: Expression, v: Expression, v_ref: Expression, *theta: Expression
) -> Expression:
    """The torque of the joints' friction at the velocity that `kind` says (nv); θ of a parametric robot."""
    if kind == "none":
        return ca.SX.zeros(robot.nv)
    if kind not in ("reference", "measured"):
        raise InputError(f"friction is one of none, reference, measured; got {kind!r}")
    physics = robot.theta.selection.physics(robot.model, *theta) if theta else nominal(robot.model)
    return joint_friction(robot.model, physics, q, v if kind == "measured" else v_ref)


def static_torque(robot: Robot, q: Expression, *theta: Expression) -> Expression:
    """The torque that holds the robot at rest (nv): gravity, joint springs and elastic elements."""
    return robot.bias(q, ca.SX.zeros(robot.nv), *theta, friction=False)


def is_rotation(R: Expression) -> Expression:
    """Whether Rᵀ R = 1 and det R > 0, to what single precision leaves of a rotation."""
    a, b, c = R[:, 0], R[:, 1], R[:, 2]
    return ca.logic_and(ca.sumsqr(R.T @ R - ca.SX.eye(3)) <= 1e-8, ca.dot(ca.cross(a, b), c) > 0)


def _theta(robot: Robot) -> dict[str, Number]:
    theta = robot.theta
    return {"theta": Number(theta.values, (len(theta),))} if theta.groups else {}


def _check_actuated(robot: Robot, who: str) -> None:
    if robot.model.floating or robot.unactuated:
        names = [robot.model.velocity_names[k] for k in robot.unactuated][:3]
        raise InputError(
            f"{who} needs an actuator for every velocity of {robot.name!r}; none drives "
            f"{', '.join(names)}{' ...' if len(robot.unactuated) > 3 else ''}"
        )
    if robot.constraints.rows:
        raise InputError(
            f"{who} knows no constraints, and {robot.name!r} has {robot.constraints.rows} rows of them"
        )
