"""Joint friction of a problem: a torque that motors give beyond that of the rigid bodies.

    τ = ID(q, v, a) + F(q, v),    F: all terms of `helicoid.dynamics.friction`, with σ = tanh(v / ε)

Whatever the formulation, steps in time are those of the rigid bodies: friction of a driven joint is a
function of the planned state, not a force to integrate. A light joint with strong friction would need steps
of microseconds. Where no motor acts, friction is a force of the step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.dynamics.forces.passive import damper_torque
from helicoid.dynamics.friction import dry_friction_bound, sliding_friction
from helicoid.dynamics.physics import SMOOTHING, Physics
from helicoid.dynamics.recursions.rnea import friction_load, joint_friction
from helicoid.errors import InputError

if TYPE_CHECKING:
    from helicoid.robot import Robot

REST_ACCELERATION = 0.05
"""rad/s², m/s²: a joint that is planned to gain less over an interval gets no torque to break away."""


def joint_friction_of(
    robot: Robot, interval: float, on: bool = True, smoothing: float | None = None
) -> JointFriction:
    """The friction of a robot's joints on a grid whose first interval (s) is given.

    Raises:
        InputError: `on` is no truth value, or `smoothing` no positive velocity.
    """
    if not isinstance(on, (bool, np.bool_)):
        raise InputError(f"friction is True or False, got {on!r}")
    if smoothing is None:
        return JointFriction(robot, SMOOTHING, REST_ACCELERATION * interval, interval, bool(on))
    width = _velocity(smoothing)
    return JointFriction(robot, width, width, interval, bool(on))


def _velocity(given: float) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float, np.number)) or not 0 < given < np.inf:
        raise InputError(f"smoothing is a velocity above 0 (rad/s, m/s), or None; got {given!r}")
    return float(given)


@dataclass(frozen=True)
class JointFriction:
    """Friction of a robot's joints as a problem has it; none where `on` is False.

    `smoothing` is ε of plans, `rest_velocity` that of the torque that a controller applies; `interval` is the
    length (s) of a step. Dry friction is 1 + `change` times that of the robot, as a controller estimates it;
    without a controller the change is zero.
    """

    robot: Robot
    smoothing: float
    rest_velocity: float
    interval: float
    on: bool = True
    change: Expression | None = None

    def torque(self, q: Expression, v: Expression, theta: Expression) -> Expression:
        """F(q, v), nv; structurally zero where there is none."""
        if not self.on:
            return ca.SX(self.robot.nv, 1)
        return ca.sparsify(joint_friction(self.robot.model, self._physics(theta), q, v))

    def driven(self, q: Expression, v: Expression, theta: Expression) -> Expression:
        """F of the joints that have a motor, which gives it."""
        return self._among(self.robot.actuated, self.torque(q, v, theta))

    def passive(self, q: Expression, v: Expression, theta: Expression) -> Expression:
        """F of the joints without a motor, which slows them."""
        return self._among(self.robot.unactuated, self.torque(q, v, theta))

    def dry(self, q: Expression, v: Expression, theta: Expression) -> Expression:
        """bound σ of the joints that have a motor, nv: the part of F that has the sign of the motion."""
        bound = self.parts(q, v, theta)[2]
        return self._among(self.robot.actuated, bound * ca.tanh(v / self.smoothing))

    def smooth(self, q: Expression, v: Expression, theta: Expression) -> Expression:
        """F without `dry`, nv."""
        damping, sliding, bound = self.parts(q, v, theta)
        held = self._among(self.robot.unactuated, bound * ca.tanh(v / self._smoothing()))
        return ca.sparsify(damping * v + sliding) + held

    def smooth_driven(self, q: Expression, v: Expression, theta: Expression) -> Expression:
        """`smooth` of the joints that have a motor."""
        return self._among(self.robot.actuated, self.smooth(q, v, theta))

    def parts(
        self, q: Expression, v: Expression, theta: Expression
    ) -> tuple[Expression, Expression, Expression]:
        """F = damping v + sliding + bound σ: viscous coefficients, terms that are neither, and |dry|, nv."""
        nv = self.robot.nv
        if not self.on:
            return ca.SX(nv, 1), ca.SX(nv, 1), ca.SX(nv, 1)
        physics = self._physics(theta)
        load = friction_load(self.robot.model, physics, q)
        bound = dry_friction_bound(physics, v, q, load)
        sliding = sliding_friction(physics, v, q, load) + damper_torque(self.robot.model, physics, q, v)
        if self.change is not None:
            bound = (1 + self.change) * bound
        return ca.SX(physics.damping), sliding, bound

    def ahead(self, q: Expression, v: Expression, later: Expression, theta: Expression) -> Expression:
        """F of driven joints at a velocity v, its dry part in the direction of a `later` one, nv."""
        damping, sliding, bound = self.parts(q, v, theta)
        torque = damping * v + sliding + bound * ca.tanh(later / self.rest_velocity)
        return self._among(self.robot.actuated, torque)

    def slope(self, q: Expression, v: Expression, theta: Expression) -> Expression:
        """∂(F - bound σ)/∂v where that is positive, nv: of the friction that grows with velocity."""
        w = ca.SX.sym("v", self.robot.nv)
        damping, sliding, _ = self.parts(q, w, theta)
        slope = damping + ca.fmax(ca.diag(ca.jacobian(sliding, w)), 0)
        return ca.substitute(slope, w, v)

    @property
    def exists(self) -> bool:
        """Whether any joint has friction here."""
        robot = self.robot
        q, v, theta = (ca.SX.sym("x", n) for n in (robot.nq, robot.nv, len(robot.theta)))
        return bool(self.torque(q, v, theta).nnz())

    def _among(self, joints: tuple[int, ...], torque: Expression) -> Expression:
        mask = np.zeros(self.robot.nv)
        mask[list(joints)] = 1.0
        return ca.sparsify(ca.SX(mask) * torque)

    def _physics(self, theta: Expression) -> Physics:
        physics = self.robot.theta.selection.physics(self.robot.model, theta)
        return replace(physics, smoothing=self._smoothing())

    def _smoothing(self) -> Array:
        """ε of each velocity; wider without a motor, where a step would reverse a velocity below it."""
        robot, each = self.robot, np.full(self.robot.nv, self.smoothing)
        idle = list(robot.unactuated)
        if idle:
            theta = [robot.theta.values] if len(robot.theta) else []
            M = np.asarray(robot.mass_matrix.casadi(robot.neutral(), *theta), dtype=np.float64)
            weight = np.diag(np.linalg.pinv(M))[idle]
            physics = robot.theta.selection.physics(robot.model, ca.SX(robot.theta.values))
            bound = np.array(ca.evalf(ca.SX(physics.friction)), dtype=np.float64).ravel()[idle]
            each[idle] = np.maximum(self.smoothing, self.interval * bound * weight)
        return each
