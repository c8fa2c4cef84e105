"""Dynamics as linear functions of the inertial parameters: τ = Y(q, v, a) π, and others of the kind.

The wrench of a body is linear in its parameters: I X = Λ(X) π for any twist X, 6 × 10. A joint feels the
wrenches of all bodies that it carries, so that Y gathers S_jᵀ Λ_i over the ancestors j of each body i.
Equation numbers are those of Garofalo, Ott and Albu-Schäffer (2013).
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.friction import TERMS, JointState, direction
from helicoid.dynamics.parametric import inertial_parameters
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.recursions.composites.composite import (
    ElementaryJoint,
    add_block,
    elements,
    motion_cross,
    wrench_cross,
)
from helicoid.dynamics.tree import along_motion, from_parent, joint_motions, to_parent, world_poses
from helicoid.geometry import so3
from helicoid.model.model import WORLD, Model

Wrench = Callable[[int], Expression]  # element -> 6 × 10
_LINEAR = ("viscous", "coulomb", "offset")  # the columns of `friction_regressor`


def regressor(model: Model, physics: Physics, q: Expression, v: Expression, a: Expression) -> Expression:
    """Y with τ = Y π, nv × 10 n_bodies (armature and friction apart).

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> np.allclose(robot.regressor(q, v, a) @ robot.parameters.values, robot.inverse_dynamics(q, v, a))
    True
    >>> len(robot.regressor.columns)
    20
    """
    tree = elements(model, q)
    return _gathered(model, tree, body_wrench(tree, physics, v, a))


def body_wrench(tree: list[ElementaryJoint], physics: Physics, v: Expression, a: Expression) -> Wrench:
    """The wrench I A + V ×* I V that the motion of each body needs, by its parameters, 6 × 10."""
    V, A = _motions(tree, v, v, a, physics.gravity)
    return lambda i: _inertia_map(A[i]) + wrench_cross(V[i], _inertia_map(V[i]))


def slotine_li_regressor(
    model: Model, physics: Physics, q: Expression, v: Expression, v_r: Expression, a_r: Expression
) -> Expression:
    """Y with M a_r + C v_r + g = Y π, for the C of `coriolis_matrix` (eqs. 15 and 16), nv × 10 n_bodies.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> Y = robot.slotine_li_regressor(q, v, v_r=v, a_r=a)
    >>> np.allclose(Y, robot.regressor(q, v, a))
    True
    """
    tree = elements(model, q)
    return _gathered(model, tree, _slotine_li_wrench(tree, physics, v, v_r, a_r))


def slotine_li_products(
    model: Model,
    physics: Physics,
    q: Expression,
    v: Expression,
    v_r: Expression,
    a_r: Expression,
    pi: Expression,
    s: Expression,
) -> tuple[Expression, Expression]:
    """Y π (nv) and Yᵀ s (10 n_bodies) of `slotine_li_regressor`, in one pass each, without Y.

    A body's columns of Yᵀ s are Λᵀ of the twist that velocities s would give it: its share of the power.
    """
    tree = elements(model, q)
    wrench = _slotine_li_wrench(tree, physics, v, v_r, a_r)
    twists, _ = _motions(tree, s, s, ca.SX.zeros(model.nv), ca.SX.zeros(3))
    carried, products = [ca.SX.zeros(6) for _ in tree], ca.SX.zeros(10 * len(model.bodies))
    for i, element in enumerate(tree):
        if element.body >= 0:
            W, place = wrench(i), slice(10 * element.body, 10 * element.body + 10)
            carried[i], products[place] = W @ pi[place], W.T @ twists[i]
    tau = ca.SX.zeros(model.nv, 1)
    for i in reversed(range(len(tree))):
        element = tree[i]
        add_block(tau, element.coordinates, range(1), element.multiplier * (element.motion.S.T @ carried[i]))
        if element.parent != WORLD:
            carried[element.parent] += to_parent(element.motion, carried[i])
    return tau, products


def momentum_regressor(model: Model, physics: Physics, q: Expression, v: Expression) -> Expression:
    """Y with M v = Y π, nv × 10 n_bodies: no acceleration in it.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> np.allclose(robot.momentum_regressor(q, v) @ robot.parameters.values, robot.mass_matrix(q) @ v)
    True
    """
    tree = elements(model, q)
    still = ca.SX.zeros(model.nv)
    V, _ = _motions(tree, v, v, still, ca.SX.zeros(3))
    return _gathered(model, tree, lambda i: _inertia_map(V[i]))


def momentum_rate_regressor(model: Model, physics: Physics, q: Expression, v: Expression) -> Expression:
    """Y with τ = d/dt (M v) + Y π, that is g - Cᵀ v = Y π, nv × 10 n_bodies: no acceleration in it.

    Filtering both sides of τ = d/dt (Y_p π) + Y π turns the derivative into an algebraic operation on Y_p,
    which is the filtered-momentum form of identification.
    """
    at_rest = regressor(model, physics, q, v, ca.SX.zeros(model.nv))
    return at_rest - along_motion(model, momentum_regressor(model, physics, q, v), q, v)


def energy_regressor(model: Model, physics: Physics, q: Expression, v: Expression) -> Expression:
    """y with T + U = y π, 10 n_bodies: no acceleration in it.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> energy = robot.kinetic_energy(q, v) + robot.potential_energy(q)
    >>> np.allclose(robot.energy_regressor(q, v) @ robot.parameters.values, energy)
    True
    """
    tree = elements(model, q)
    V, _ = _motions(tree, v, v, ca.SX.zeros(model.nv), ca.SX.zeros(3))
    poses = world_poses(model, joint_motions(model, q))
    y = ca.SX.zeros(10 * len(model.bodies))
    for i, element in enumerate(tree):
        if element.body >= 0:
            R, p = poses[element.body]
            g = physics.gravity
            falling = ca.vertcat(-ca.dot(g, p), -R.T @ g, ca.SX.zeros(6))
            y[10 * element.body : 10 * element.body + 10] = _inertia_map(V[i]).T @ V[i] / 2 + falling
    return y


def power_regressor(
    model: Model, physics: Physics, q: Expression, v: Expression, a: Expression
) -> Expression:
    """y with vᵀ τ = y π, 10 n_bodies."""
    return regressor(model, physics, q, v, a).T @ v


def friction_regressor(model: Model, physics: Physics, v: Expression) -> Expression:
    """Y with friction = Y (damping, Coulomb, offset), nv × 3 nv; Coulomb smoothed as `smoothing` says."""
    nothing = ca.SX.zeros(model.nv)
    moving = JointState(nothing, v, direction(physics, v), nothing)
    columns = (TERMS[name].column(moving) for name in _LINEAR)
    return ca.horzcat(*(ca.diag(column * ca.SX.ones(model.nv)) for column in columns))


def armature_regressor(model: Model, physics: Physics, a: Expression) -> Expression:
    """Y with the torque of the armatures = Y armature, nv × nv."""
    return ca.diag(a)


def inertial_names(model: Model) -> tuple[str, ...]:
    """The parameters π: ten for each moving body."""
    return inertial_parameters(model).names


def friction_names(model: Model) -> tuple[str, ...]:
    """Damping, Coulomb friction and offset of each velocity."""
    return tuple(f"{joint}.{TERMS[name].suffix}" for name in _LINEAR for joint in model.velocity_names)


def armature_names(model: Model) -> tuple[str, ...]:
    """The armature of each velocity."""
    return tuple(f"{joint}.armature" for joint in model.velocity_names)


def _motions(
    tree: list[ElementaryJoint], v: Expression, v_r: Expression, a_r: Expression, gravity: Expression
) -> tuple[list[Expression], list[Expression]]:
    """Twists and accelerations that the velocity v_r and acceleration a_r would give, S turning with v."""
    actual: list[Expression] = []
    twists: list[Expression] = []
    accelerations: list[Expression] = []
    still = ca.SX.zeros(6), ca.SX.zeros(6), ca.vertcat(ca.SX.zeros(3), -gravity)
    for element in tree:
        motion, S, p = element.motion, element.motion.S, element.parent
        V, V_r, A_r = still if p == WORLD else (actual[p], twists[p], accelerations[p])
        actual.append(from_parent(motion, V) + S @ element.velocity(v))
        twists.append(from_parent(motion, V_r) + S @ element.velocity(v_r))
        turning = motion_cross(actual[-1], S @ element.velocity(v_r))
        accelerations.append(from_parent(motion, A_r) + S @ element.velocity(a_r) + turning)
    return twists, accelerations


def _slotine_li_wrench(
    tree: list[ElementaryJoint], physics: Physics, v: Expression, v_r: Expression, a_r: Expression
) -> Wrench:
    """Contribution of each body to M a_r + C v_r + g, 6 × 10."""
    V, _ = _motions(tree, v, v, a_r, physics.gravity)
    V_r, A_r = _motions(tree, v, v_r, a_r, physics.gravity)

    def wrench(i: int) -> Expression:
        turning = wrench_cross(V[i], _inertia_map(V_r[i])) + wrench_cross(V_r[i], _inertia_map(V[i]))
        return _inertia_map(A_r[i] - motion_cross(V[i], V_r[i]) / 2) + turning / 2

    return wrench


def _gathered(model: Model, tree: list[ElementaryJoint], wrench: Wrench) -> Expression:
    """S_jᵀ of each body's 6 × 10 wrench, for all ancestors j."""
    Y = ca.SX.zeros(model.nv, 10 * len(model.bodies))
    for i, element in enumerate(tree):
        if element.body < 0:
            continue
        W, j = wrench(i), i
        columns = range(10 * element.body, 10 * element.body + 10)
        while j != WORLD:
            motion = tree[j].motion
            add_block(Y, tree[j].coordinates, columns, tree[j].multiplier * (motion.S.T @ W))
            W, j = to_parent(motion, W), tree[j].parent
    return Y


def _inertia_map(X: Expression) -> Expression:
    """Λ(X), 6 × 10, with I X = Λ(X) π: rows (I ω + h × u, m u + ω × h)."""
    ω, u = X[:3], X[3:]
    x, y, z = ω[0], ω[1], ω[2]
    zero = ca.SX.zeros(1)
    rotational = ca.vertcat(
        ca.horzcat(x, y, z, zero, zero, zero),
        ca.horzcat(zero, x, zero, y, z, zero),
        ca.horzcat(zero, zero, x, zero, y, z),
    )
    moment = ca.horzcat(ca.SX.zeros(3), -so3.hat(u), rotational)
    force = ca.horzcat(u, so3.hat(ω), ca.SX.zeros(3, 6))
    return ca.vertcat(moment, force)
