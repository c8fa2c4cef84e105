"""The wrench that a joint carries, as a linear function of the inertial parameters."""

from __future__ import annotations

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.external import check_movable
from helicoid.dynamics.physics import Physics, moments
from helicoid.dynamics.recursions.composite import elements, motion_cross
from helicoid.dynamics.recursions.regressor import inertial_names
from helicoid.dynamics.tree import from_parent, to_parent
from helicoid.model.model import WORLD, Model
from helicoid.robot import Robot
from helicoid.robot.function import FunctionSpec, RobotFunction


def wrench_regressor(robot: Robot, link: str) -> RobotFunction:
    """`(q, v, a) -> Y`, 6 × 10 n_bodies, with Y π the wrench (n, f) that carries the link's body.

    It is what a six-axis sensor in the body's joint reads, about the body's origin in the body's axes.

    >>> import helicoid as hc
    >>> robot = hc.load("double_pendulum")
    >>> q, zero = robot.neutral(), robot.neutral()
    >>> wrench_regressor(robot, robot.link_names[-1])(q, zero, zero).shape
    (6, 20)
    """
    check_movable(robot.model, link)
    spec = FunctionSpec(
        "wrench_regressor",
        _carried,
        "q v a -> Y[6,10n]",
        "Y with Y π the wrench (n, f) (N·m, N) that carries the link's body.",
        columns=inertial_names,
        arguments=(robot.model.frame(link).body,),
    )
    return robot.function(spec)


def _carried(
    model: Model, physics: Physics, q: Expression, v: Expression, a: Expression, body: int
) -> Expression:
    """The wrenches of a body and of all that it carries, moved to its origin."""
    tree = elements(model, q)
    still = ca.SX.zeros(6), ca.vertcat(ca.SX.zeros(3), -physics.gravity)
    motions: list[tuple[Expression, Expression]] = []
    Y = ca.SX(6, 10 * len(model.bodies))
    for i, element in enumerate(tree):
        motion, S = element.motion, element.motion.S
        V_p, A_p = still if element.parent == WORLD else motions[element.parent]
        V = from_parent(motion, V_p) + S @ element.velocity(v)
        turning = motion_cross(V, S @ element.velocity(v))
        A = from_parent(motion, A_p) + S @ element.velocity(a) + turning
        motions.append((V, A))
        if element.body < 0:
            continue
        W, j = _own(V, A), i
        while j != WORLD and tree[j].body != body:
            W, j = to_parent(tree[j].motion, W), tree[j].parent
        if j != WORLD:
            Y[:, 10 * element.body : 10 * element.body + 10] = W
    return Y


def _own(V: Expression, A: Expression) -> Expression:
    """6 × 10: the wrench that the motion of one body needs, by its parameters.

    With a = u̇ + ω × u, the acceleration of its origin,
    n = h × a + I ω̇ + ω × I ω and f = m a + ω̇ × h + ω × (ω × h).
    """
    pi = ca.SX.sym("pi", 10)
    m, h, I = moments(pi)
    ω, ωd, a = V[:3], A[:3], A[3:] + ca.cross(V[:3], V[3:])
    n = ca.cross(h, a) + I @ ωd + ca.cross(ω, I @ ω)
    f = m * a + ca.cross(ωd, h) + ca.cross(ω, ca.cross(ω, h))
    return ca.jacobian(ca.vertcat(n, f), pi)
