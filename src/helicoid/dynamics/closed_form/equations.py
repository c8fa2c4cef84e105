"""M, C and g in closed form with their time derivatives, and the Jacobians that the closed form is made of.

Equation numbers are those of Garofalo, Ott and Albu-Schäffer (2013). Notation, in body coordinates: V_k
twist, Λ_k inertia of body k; J_k its Jacobian, V_k = J_k v; ξ = Ξ v the twist across a joint, Ξ its constant
subspace. The time derivatives of a quantity stand in a list, itself first. One map and Leibniz' rule give
every order of the Jacobians (27-29), to a body from its parent:

    d/dt (Ad⁻¹ X) = Ad⁻¹ Ẋ - ξ × Ad⁻¹ X

The sums over bodies of (6) are taken by `closed_form_composite`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.closed_form.composite import matrices
from helicoid.dynamics.physics import Physics, moments
from helicoid.dynamics.recursions.composites.composite import ElementaryJoint, motion_cross
from helicoid.dynamics.tree import JointMotion, along_motion, from_parent
from helicoid.geometry import so3
from helicoid.model.model import WORLD, Model

Derivatives = list[Expression]  # X, Ẋ, Ẍ ...


def closed_form(model: Model, physics: Physics, q: Expression, v: Expression) -> tuple[Expression, ...]:
    """M (6a), C (6b), nv × nv, and g (6c), nv; armature in M, Ṁ = C + Cᵀ.

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v = [0.3, 0.8], [1.0, -2.0]
    >>> M, C, g = robot.closed_form(q, v)
    >>> bool(abs(C @ v + g - robot.bias(q, v)).max() < 1e-12)
    True
    """
    return matrices(model, physics, q, v)


def closed_form_dot(
    model: Model, physics: Physics, q: Expression, v: Expression, a: Expression
) -> tuple[Expression, ...]:
    """M, C, g, Ṁ, Ċ, ġ (25) in one pass.

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> rates = robot.closed_form_dot([0.3, 0.8], [1.0, -2.0], [0.0, 5.0])
    >>> bool(abs(rates.M_dot - rates.C - rates.C.T).max() < 1e-12)
    True
    """
    M, C, g = matrices(model, physics, q, v)
    C_dot, g_dot = along_motion(model, C, q, v, a), along_motion(model, g, q, v)
    return M, C, g, C + C.T, C_dot, g_dot


def closed_form_ddot(
    model: Model, physics: Physics, q: Expression, v: Expression, a: Expression, a_dot: Expression
) -> tuple[Expression, ...]:
    """M̈, C̈, g̈: the next order of (25).

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> found = robot.closed_form_ddot([0.3, 0.8], [1.0, -2.0], [0.0, 5.0], [1.0, 1.0])
    >>> first = robot.closed_form_dot([0.3, 0.8], [1.0, -2.0], [0.0, 5.0])
    >>> bool(abs(found.M_ddot - first.C_dot - first.C_dot.T).max() < 1e-12)
    True
    """
    _, C, g = matrices(model, physics, q, v)
    C_dot, g_dot = along_motion(model, C, q, v, a), along_motion(model, g, q, v)
    return C_dot + C_dot.T, along_motion(model, C_dot, q, v, a, a_dot), along_motion(model, g_dot, q, v, a)


def jacobians(tree: Sequence[ElementaryJoint], nv: int, rates: Sequence[Expression]) -> list[Derivatives]:
    """J_k (27), J̇_k (28), J̈_k (29) and so on, 6 × nv each, one more than there are rates (v, a ...) given."""
    found: list[Derivatives] = []
    for element in tree:
        Ξ = subspace(element, nv)
        ξ = [Ξ @ x for x in rates]
        parent = [ca.SX(6, nv)] * (len(rates) + 1) if element.parent == WORLD else found[element.parent]
        J = outward(element.motion, ξ, parent)
        found.append([J[0] + Ξ, *J[1:]])
    return found


def subspace(element: ElementaryJoint, nv: int) -> Expression:
    """Ξ, 6 × nv, with ξ = Ξ v."""
    Ξ = ca.SX(6, nv)
    Ξ[:, element.coordinates.start : element.coordinates.stop] = element.multiplier * element.motion.S
    return Ξ


def outward(motion: JointMotion, ξ: Derivatives, X: Derivatives) -> Derivatives:
    """The derivatives of Ad⁻¹ X."""
    orders = [[from_parent(motion, x)] for x in X]  # orders[m][r]: the r-th derivative of Ad⁻¹ X⁽ᵐ⁾
    for r in range(len(X) - 1):
        for m in range(len(X) - 1 - r):
            orders[m].append(orders[m + 1][r] - leibniz(motion_cross, ξ, orders[m], r))
    return orders[0]


def inertia_times(pi: Expression, X: Expression) -> Expression:
    """Λ X for each column of X."""
    m, h, I = moments(pi)
    return ca.vertcat(I @ X[:3, :] + so3.hat(h) @ X[3:, :], m * X[3:, :] - so3.hat(h) @ X[:3, :])


def leibniz(
    product: Callable[[Expression, Expression], Expression],
    X: Sequence[Expression],
    Y: Sequence[Expression],
    order: int,
) -> Expression:
    """The derivative of that order of a bilinear product of X and Y."""
    terms = [comb(order, s) * product(X[s], Y[order - s]) for s in range(order + 1)]
    return sum(terms[1:], terms[0])
