"""Controls that hold a robot at rest."""

from __future__ import annotations

import casadi as ca

from helicoid._typing import Expression
from helicoid.mpc.system.joint_friction import JointFriction
from helicoid.robot import Robot


def torque_at_rest(friction: JointFriction, q: Expression, theta: Expression) -> Expression:
    """The torque that holds a robot at rest (nv): gravity, springs, and what friction takes at v = 0."""
    robot = friction.robot
    return rigid_torque_at_rest(robot, q, theta) + friction.torque(q, ca.SX.zeros(robot.nv), theta)


def rigid_torque_at_rest(robot: Robot, q: Expression, theta: Expression) -> Expression:
    """The torque (nv) of gravity and springs."""
    springs = robot.spring_torque(q) + robot.elastic_torque(q, theta)
    return robot.gravity(q, theta) + ca.sparsify(springs)


def holding(robot: Robot, formulation: str, q: Expression, theta: Expression) -> Expression:
    """The controls of a robot at rest: torques of its motors, or no acceleration and the least forces λ.

    Constraint forces balance unactuated joints, (g + Aᵀ λ) = 0 there, with the springs in g: with B = Aᵀ
    of those rows, λ = -B⁺ g, by Bᵀ (B Bᵀ + ε)⁻¹, which exists also where B is rank deficient.
    """
    g = rigid_torque_at_rest(robot, q, theta)
    if formulation == "forward_dynamics":
        return ca.SX(robot.selection_matrix) @ g
    idle = list(robot.unactuated)
    A = robot.constraint_jacobian(q)
    if not idle:
        return ca.SX.zeros(robot.nv + A.shape[0])
    B = A[:, idle].T
    square = B @ B.T
    square += (1e-9 * ca.trace(square) / len(idle) + 1e-12) * ca.SX.eye(len(idle))
    return ca.vertcat(ca.SX.zeros(robot.nv), -B.T @ ca.ldl_solve(g[idle], *ca.ldl(square, False)))
