"""Motion of a robot under a torque that is held, for a part of a control period.

Without friction it is a step of Runge and Kutta's method. With friction the equations are stiff: a light
joint with a damping of 0.5 N·m·s/rad comes to rest within a millisecond. So they are solved by four steps of
the midpoint rule, of order 2, in which viscous friction is implicit, (M + ½ s D) a = τ - ..., and dry
friction changes its sign over the velocity that it stops within a step. The midpoint is predicted by the
acceleration of the step before.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.kinematics import configuration
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.recursions.aba import forward_dynamics
from helicoid.model.model import Model
from helicoid.mpc.system.joint_friction import JointFriction
from helicoid.robot import Robot
from helicoid.robot.function import FunctionSpec

_STEPS = 4  # with friction; two for each half


def _heavier_dynamics(
    model: Model, physics: Physics, q: Expression, v: Expression, tau: Expression, more: Expression
) -> Expression:
    """Forward dynamics with more armature."""
    return forward_dynamics(model, replace(physics, armature=physics.armature + more), q, v, tau)


_HEAVIER_DYNAMICS = FunctionSpec(
    "heavier_dynamics", _heavier_dynamics, "q v tau more -> a[nv]", options=("friction",)
)

Motion = tuple[Expression, Expression, Expression]


def held_torque_motion(
    friction: JointFriction, q: Expression, v: Expression, tau: Expression, theta: Expression, t: Expression
) -> Motion:
    """Changes of v (nv) after t / 2 and t (s) under τ, and q after t."""
    if friction.exists:
        return _midpoint_steps(friction, q, v, tau, theta, t)
    return _runge_kutta_step(friction.robot, q, v, tau, theta, t)


def _runge_kutta_step(
    robot: Robot, q: Expression, v: Expression, tau: Expression, theta: Expression, t: Expression
) -> Motion:
    """Runge and Kutta's method of order four (Nyström's form for the coordinates)."""

    def after(share: float, shift: Expression, a: Expression) -> Expression:
        there = configuration.integrate(robot.model, q, share * t * v + (share * t) ** 2 / 2 * shift)
        return robot.forward_dynamics(there, v + share * t * a, tau, theta, friction=False)

    none = ca.SX.zeros(robot.nv)
    start = after(0.0, none, none)
    first = after(0.5, start, start)
    second = after(0.5, start, first)
    end, middle = after(1.0, second, second), (first + second) / 2
    gained = t / 24 * (5 * start + 8 * middle - end), t / 6 * (start + 4 * middle + end)
    return *gained, configuration.integrate(robot.model, q, t * v + t**2 / 6 * (start + first + second))


def _midpoint_steps(
    friction: JointFriction, q: Expression, v: Expression, tau: Expression, theta: Expression, t: Expression
) -> Motion:
    robot, s, begin = friction.robot, t / _STEPS, v
    model, forward = robot.model, robot.function(_HEAVIER_DYNAMICS).with_options(friction=False)
    inverse_inertia = ca.diag(robot.mass_matrix_inverse(q, theta))
    gained, a = [], None
    for _ in range(_STEPS):
        damping, sliding, bound = friction.parts(q, v, theta)
        width = ca.fmax(friction.smoothing, s * bound * inverse_inertia)
        acting, more = tau - damping * v - sliding, s / 2 * friction.slope(q, v, theta)
        if a is None:  # else that of the step before, which saves half of the evaluations
            a = forward(q, v, acting - bound * ca.tanh(v / width), more, theta)
        middle, v_middle = configuration.integrate(model, q, s / 2 * v), v + s / 2 * a
        a = forward(middle, v_middle, acting - bound * ca.tanh(v_middle / width), more, theta)
        q, v = configuration.integrate(model, q, s * v + s**2 / 2 * a), v + s * a
        gained.append(v - begin)
    return gained[_STEPS // 2 - 1], gained[-1], q
