"""M, C and g in closed form, and their time derivatives of any order.

Equation numbers are those of Garofalo, Ott and Albu-Schäffer (2013). Notation, in body coordinates: V_k
twist, Λ_k inertia, γ_k gravity's acceleration (upwards) of body k; J_k its Jacobian, V_k = J_k v; ξ = Ξ v
the twist across a joint, Ξ its constant subspace. The time derivatives of a quantity stand in a list, itself
first. Two maps and Leibniz' rule give every order:

    outward, to the body from its parent:  d/dt (Ad⁻¹ X) = Ad⁻¹ Ẋ - ξ × Ad⁻¹ X
    inward, to the parent from the body:   d/dt (Ad⁻ᵀ F) = Ad⁻ᵀ (Ḟ + ξ ×* F)

The first carries the Jacobians (27-29); the second, its transpose, is the product with J_kᵀ in (6) and (25).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

import casadi as ca

from helicoid.dynamics.composite import Element, add_block, elements, motion_cross
from helicoid.dynamics.crba import mass_matrix
from helicoid.dynamics.physics import Physics, moments
from helicoid.dynamics.tree import JointMotion
from helicoid.geometry import so3
from helicoid.model.joints import Expression
from helicoid.model.model import WORLD, Model

Derivatives = list[Expression]  # X, Ẋ, Ẍ ...


def closed_form(model: Model, physics: Physics, q: Expression, v: Expression) -> tuple[Expression, ...]:
    """M (6a), C (6b), g (6c), armature in M; Ṁ = C + Cᵀ."""
    C, g = _coriolis_and_gravity(model, physics, q, [v])
    return mass_matrix(model, physics, q), *C, *g


def closed_form_dot(
    model: Model, physics: Physics, q: Expression, v: Expression, a: Expression
) -> tuple[Expression, ...]:
    """M, C, g, Ṁ, Ċ, ġ (25) in one pass."""
    C, g = _coriolis_and_gravity(model, physics, q, [v, a])
    return mass_matrix(model, physics, q), C[0], g[0], C[0] + C[0].T, C[1], g[1]


def closed_form_ddot(
    model: Model, physics: Physics, q: Expression, v: Expression, a: Expression, a_dot: Expression
) -> tuple[Expression, ...]:
    """M̈, C̈, g̈: the next order of (25)."""
    C, g = _coriolis_and_gravity(model, physics, q, [v, a, a_dot])
    return C[1] + C[1].T, C[2], g[2]


def jacobians(tree: Sequence[Element], nv: int, rates: Sequence[Expression]) -> list[Derivatives]:
    """J_k (27), J̇_k (28), J̈_k (29) and so on, 6 × nv each, one more than there are rates (v, a ...) given."""
    found: list[Derivatives] = []
    for element in tree:
        Ξ = subspace(element, nv)
        ξ = [Ξ @ rate for rate in rates]
        parent = [ca.SX(6, nv)] * (len(rates) + 1) if element.parent == WORLD else found[element.parent]
        J = outward(element.motion, ξ, parent)
        found.append([J[0] + Ξ, *J[1:]])
    return found


def subspace(element: Element, nv: int) -> Expression:
    """Ξ, 6 × nv, with ξ = Ξ v."""
    Ξ = ca.SX(6, nv)
    Ξ[:, element.coordinates.start : element.coordinates.stop] = element.multiplier * element.motion.S
    return Ξ


def outward(motion: JointMotion, ξ: Derivatives, X: Derivatives) -> Derivatives:
    """The derivatives of Ad⁻¹ X."""
    orders = [[to_body(motion, x)] for x in X]  # orders[m][r]: the r-th derivative of Ad⁻¹ X⁽ᵐ⁾
    for r in range(len(X) - 1):
        for m in range(len(X) - 1 - r):
            orders[m].append(orders[m + 1][r] - leibniz(motion_cross, ξ, orders[m], r))
    return orders[0]


def inward(motion: JointMotion, ξ: Derivatives, F: Derivatives) -> Derivatives:
    """The derivatives of Ad⁻ᵀ F: of wrenches handed to the parent."""
    orders = [[f] for f in F]
    for r in range(len(F) - 1):
        for m in range(len(F) - 1 - r):
            orders[m].append(orders[m + 1][r] + leibniz(wrench_cross, ξ, orders[m], r))
    R, p = motion.R, so3.hat(motion.p)
    handed = []
    for f in orders[0]:
        force = R @ f[3:, :]
        handed.append(ca.vertcat(R @ f[:3, :] + p @ force, force))
    return handed


def to_body(motion: JointMotion, X: Expression) -> Expression:
    """Ad⁻¹ X for each column of X."""
    ω, u = X[:3, :], X[3:, :]
    return ca.vertcat(motion.R.T @ ω, motion.R.T @ (u - so3.hat(motion.p) @ ω))


def wrench_cross(V: Expression, F: Expression) -> Expression:
    """V ×* F for each column of F: (ω × n + u × f, ω × f); V ×* = -adjᵀ."""
    ω, u = so3.hat(V[:3]), so3.hat(V[3:])
    return ca.vertcat(ω @ F[:3, :] + u @ F[3:, :], ω @ F[3:, :])


def inertia_times(pi: Expression, X: Expression) -> Expression:
    """Λ X for each column of X."""
    m, h, I = moments(pi)
    return ca.vertcat(I @ X[:3, :] + so3.hat(h) @ X[3:, :], m * X[3:, :] - so3.hat(h) @ X[:3, :])


def _coriolis_and_gravity(
    model: Model, physics: Physics, q: Expression, rates: Derivatives
) -> tuple[Derivatives, Derivatives]:
    """C and g with as many derivatives as there are rates beyond v."""
    tree, nv, n = elements(model, q), model.nv, len(rates)
    weights: list[Derivatives] = []
    wrenches = []
    for element, J in zip(tree, jacobians(tree, nv, rates), strict=True):
        resting = [ca.vertcat(ca.SX.zeros(3), -physics.gravity)] + [ca.SX(6, 1)] * (n - 1)
        ξ = [element.motion.S @ element.velocity(rate) for rate in rates]
        γ = outward(element.motion, ξ, resting if element.parent == WORLD else weights[element.parent])
        weights.append(γ)
        if element.body < 0:
            wrenches.append([ca.SX(6, nv + 1)] * n)
            continue
        wrenches.append(_wrenches(physics.inertias[element.body], rates, J, γ))
    both = _projected(model, tree, rates, wrenches)
    return [x[:, :nv] for x in both], [x[:, nv] for x in both]


def _wrenches(pi: Expression, rates: Derivatives, J: Derivatives, γ: Derivatives) -> Derivatives:
    """Columns Ψ J + Λ J̇ with Ψ = Λ adj - adjᵀ Λ (3), and a last one Λ γ: what J_kᵀ multiplies in (6)."""
    n = len(rates)
    V = [leibniz(_product, J, rates, r) for r in range(n)]
    ΛJ = [inertia_times(pi, X) for X in J[:n]]
    found = []
    for r in range(n):
        accelerating = inertia_times(pi, leibniz(motion_cross, V, J, r) + J[r + 1])
        turning = leibniz(wrench_cross, V, ΛJ, r)
        found.append(ca.horzcat(accelerating + turning, inertia_times(pi, γ[r])))
    return found


def _projected(
    model: Model, tree: Sequence[Element], rates: Derivatives, wrenches: Sequence[Derivatives]
) -> Derivatives:
    """Σ J_kᵀ F_k and its derivatives, nv × (nv + 1), for wrenches F_k of each element."""
    carried = list(wrenches)
    result = [ca.SX(model.nv, model.nv + 1) for _ in rates]
    for i in reversed(range(len(tree))):
        element, S = tree[i], tree[i].motion.S
        for r, f in enumerate(carried[i]):
            add_block(result[r], element.coordinates, range(f.shape[1]), element.multiplier * (S.T @ f))
        if element.parent != WORLD:
            ξ = [S @ element.velocity(rate) for rate in rates]
            handed = inward(element.motion, ξ, carried[i])
            carried[element.parent] = [f + g for f, g in zip(carried[element.parent], handed, strict=True)]
    return result


def _product(X: Expression, Y: Expression) -> Expression:
    return X @ Y


def leibniz(
    product: Callable[[Expression, Expression], Expression],
    X: Sequence[Expression],
    Y: Sequence[Expression],
    order: int,
) -> Expression:
    """The derivative of that order of a bilinear product of X and Y."""
    terms = [comb(order, s) * product(X[s], Y[order - s]) for s in range(order + 1)]
    return sum(terms[1:], terms[0])
