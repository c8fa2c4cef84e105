"""Recursive Newton-Euler algorithm (Luh, Walker, Paul 1980; Featherstone 2008, section 5.3).

Notation, in body coordinates: ω, ω̇ angular velocity and acceleration, a the acceleration of the body's
origin as an accelerometer there would feel it, f, n force and moment about the origin.

The acceleration of a point r of a body is a + B r with B = ω̃̇ + ω̃ ω̃, so with mass m, first moment h and
rotational inertia I the body needs f = m a + B h and n = h × a + I ω̇ + ω × I ω. One matrix B serves all, and
the next body's origin too; linear velocities are not needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.forces.passive import acts, damper_torque, elastic_torque
from helicoid.dynamics.forces.springs import spring_torque
from helicoid.dynamics.forces.tendon_inertia import tendon_inertia_torque
from helicoid.dynamics.friction import friction_torque, needs_load
from helicoid.dynamics.physics import Physics, moments
from helicoid.dynamics.recursions.composites.regrouping import regrouped
from helicoid.dynamics.tree import (
    JointMotion,
    gather,
    joint_coordinates,
    joint_motions,
    joint_velocity,
    to_parent,
)
from helicoid.model.model import WORLD, Model

Wrenches = Mapping[int, Expression]  # body index -> external wrench (n, f) on it, body frame


def inverse_dynamics(
    model: Model,
    physics: Physics,
    q: Expression,
    v: Expression,
    a: Expression,
    wrenches: Wrenches | None = None,
) -> Expression:
    """τ = M(q) a + h(q, v) - Σ Jᵀ w_ext + springs + friction, nv (N·m or N)."""
    motions = joint_motions(model, q)
    forces = body_forces(model, physics, motions, q, v, a, wrenches)
    tau = joint_forces(model, motions, forces)
    tau += physics.armature * a + tendon_inertia_torque(model, q, v, a)
    return tau + passive_torque(model, physics, q, v)


def passive_torque(model: Model, physics: Physics, q: Expression, v: Expression) -> Expression:
    """The torque of springs and friction, nv."""
    springs = spring_torque(model, q)
    if acts(model):
        springs += elastic_torque(model, physics, q)
    return springs + joint_friction(model, physics, q, v)


def joint_friction(model: Model, physics: Physics, q: Expression, v: Expression) -> Expression:
    """The torque that friction and dampers take, nv."""
    friction = friction_torque(physics, v, q, friction_load(model, physics, q))
    return friction + damper_torque(model, physics, q, v) if acts(model) else friction


def friction_load(model: Model, physics: Physics, q: Expression) -> Expression | None:
    """The gravity torque, where some friction depends on it; else None."""
    return gravity(model, physics, q) if needs_load(physics) else None


def bias(
    model: Model, physics: Physics, q: Expression, v: Expression, wrenches: Wrenches | None = None
) -> Expression:
    """h(q, v) - Σ Jᵀ w_ext: everything in τ that does not come from the acceleration."""
    return inverse_dynamics(model, physics, q, v, ca.SX.zeros(model.nv), wrenches)


def gravity(model: Model, physics: Physics, q: Expression) -> Expression:
    """g(q): the torque that balances gravity; ∂U/∂q where no joint has a spring."""
    motions = joint_motions(model, q)
    rest = ca.SX.zeros(model.nv)
    return joint_forces(model, motions, body_forces(model, physics, motions, q, rest, rest))


def coriolis(model: Model, physics: Physics, q: Expression, v: Expression) -> Expression:
    """c(q, v) = C(q, v) v: Coriolis and centrifugal torque; neither gravity nor friction."""
    motions = joint_motions(model, q)
    still = ca.SX.zeros(model.nv)
    forces = body_forces(model, physics, motions, q, v, still, gravity=ca.SX.zeros(3))
    return joint_forces(model, motions, forces) + tendon_inertia_torque(model, q, v, still)


def body_forces(
    model: Model,
    physics: Physics,
    motions: Sequence[JointMotion],
    q: Expression,
    v: Expression,
    a: Expression,
    wrenches: Wrenches | None = None,
    gravity: Expression | None = None,
    inertias: Sequence[Expression] | None = None,
) -> list[Expression]:
    """Outward pass: the wrench (n, f) that each body's own motion needs beyond external wrenches.

    Inertias are regrouped unless given: that preserves joint torques, not the wrench of each body.
    """
    zero = ca.SX.zeros(3)
    # A base that accelerates upwards feels the same as a base at rest under gravity.
    base = (zero, zero, ca.SX.zeros(3, 3), -(physics.gravity if gravity is None else gravity))
    inertias = regrouped(model, physics) if inertias is None else inertias
    states: list[tuple[Expression, ...]] = []
    forces = []
    for i, (body, (R, p, S)) in enumerate(zip(model.bodies, motions, strict=True)):
        ω_p, ωd_p, B_p, a_p = base if body.parent == WORLD else states[body.parent]
        v_i, joint = joint_velocity(body, v), body.joint.type
        relative = S @ v_i
        rate = S @ joint_velocity(body, a) + joint.subspace_rate(joint_coordinates(body, q), v_i)
        carried = R.T @ ω_p
        ω = carried + relative[:3]
        ωd = R.T @ ωd_p + ca.cross(carried, relative[:3]) + rate[:3]
        acceleration = R.T @ (a_p + B_p @ p) + ca.cross(carried + ω, relative[3:]) + rate[3:]
        B = acceleration_tensor(ω, ωd)
        states.append((ω, ωd, B, acceleration))

        m, h, I = moments(inertias[i])
        f = m * acceleration + B @ h
        n = ca.cross(h, acceleration) + euler_moment(I, ω, ωd, B)
        own = ca.vertcat(n, f)
        forces.append(own - wrenches[i] if wrenches and i in wrenches else own)
    return forces


def joint_forces(model: Model, motions: Sequence[JointMotion], forces: Sequence[Expression]) -> Expression:
    """τ_i = Sᵀ (n, f) of the wrench that each joint transmits."""
    carried = transmitted(model, motions, forces)
    return gather(model, [motion.S.T @ f for motion, f in zip(motions, carried, strict=True)])


def transmitted(
    model: Model, motions: Sequence[JointMotion], forces: Sequence[Expression]
) -> list[Expression]:
    """Inward pass: each joint transmits the wrenches of its body and of all bodies beyond it."""
    carried = list(forces)
    for i in reversed(range(len(carried))):
        parent = model.bodies[i].parent
        if parent != WORLD:
            carried[parent] = carried[parent] + to_parent(motions[i], carried[i])
    return carried


def acceleration_tensor(ω: Expression, ωd: Expression) -> Expression:
    """B = ω̃̇ + ω̃ ω̃, so that a point r of the body accelerates by B r relative to its origin."""
    x, y, z = ω[0], ω[1], ω[2]
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    dx, dy, dz = ωd[0], ωd[1], ωd[2]
    rows = [[-(yy + zz), xy - dz, xz + dy], [xy + dz, -(xx + zz), yz - dx], [xz - dy, yz + dx, -(xx + yy)]]
    return ca.vertcat(*(ca.horzcat(*row) for row in rows))


def euler_moment(I: Expression, ω: Expression, ωd: Expression, B: Expression) -> Expression:
    """I ω̇ + ω × I ω, with the products of velocities that B has already.

    With (i, j, k) cyclic, row i is
    I_ii ω̇_i + (I_kk - I_jj) ω_j ω_k - I_ij B_ki + I_ik B_ji - I_jk (ω_k² - ω_j²).
    """
    rows = []
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        if (I[i, i] + I[j, j] - I[k, k]).is_zero():  # no extent along k: one term does for the first two
            main = I[i, i] * B[k, j]
        elif (I[i, i] + I[k, k] - I[j, j]).is_zero():
            main = -I[i, i] * B[j, k]
        else:
            main = I[i, i] * ωd[i] + (I[k, k] - I[j, j]) * (ω[j] * ω[k])
        coupling = I[i, k] * B[j, i] - I[i, j] * B[k, i] - I[j, k] * (ω[k] * ω[k] - ω[j] * ω[j])
        rows.append(main + coupling)
    return ca.vertcat(*rows)
