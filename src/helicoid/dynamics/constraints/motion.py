"""The equations of motion of a constrained robot.

    M a + h + Aᵀ λ = τ,        A a + Ȧ v = 0        (Lynch and Park 2017, section 8.7)

λ are the forces of the robot on its constraints: a contact exerts -λ on the robot. Eliminating it,

    λ = (A M⁻¹ Aᵀ)⁻¹ (A M⁻¹ (τ - h) + Ȧ v)        a = M⁻¹ (τ - h - Aᵀ λ)
    P = 1 - Aᵀ (A M⁻¹ Aᵀ)⁻¹ A M⁻¹                 N_c = Pᵀ = 1 - M⁻¹ Aᵀ (A M⁻¹ Aᵀ)⁻¹ A

P removes from a torque the part that only loads the constraints, P Aᵀ = 0; N_c removes from a velocity the
part that violates them, A N_c = 0.

Where the rows of A are linearly dependent, G = A M⁻¹ Aᵀ is singular: a is still unique and λ is not. The
proximal iteration (G + μ 1) λᵢ₊₁ = r + μ λᵢ from zero converges to the λ of least norm. μ is far below G, so
that a fixed number of iterations reaches rounding where G is well conditioned, and the same expression
serves every configuration, singular ones included. Where r is inconsistent, as at velocities that violate the
constraints, its component in the null space of G is removed first: powers of T = μ (G + μ 1)⁻¹ keep that
component and let all others vanish.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.constraints.equations import Constraints, equations
from helicoid.dynamics.linear import Factors, factor, solve
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.recursions import rnea
from helicoid.dynamics.recursions.crba import mass_matrix
from helicoid.dynamics.recursions.rnea import Wrenches
from helicoid.dynamics.task_space import dynamics as task_space
from helicoid.dynamics.tree import along_motion
from helicoid.model.model import Model

_RELATIVE_PROXIMAL_WEIGHT = 1e-8  # μ over the mean of G's diagonal
_ITERATIONS = 4


def forward_dynamics(
    model: Model,
    physics: Physics,
    q: Expression,
    v: Expression,
    tau: Expression,
    wrenches: Wrenches | None = None,
    *,
    constraints: Constraints,
    stabilisation: float = 0.0,
) -> tuple[Expression, Expression]:
    """a (nv) and λ (k) of M a + h + Aᵀ λ = τ and A a + Ȧ v = -2 α A v - α² φ.

    α is `stabilisation` (1/s, Baumgarte 1972): errors of position and velocity decay like those of a
    critically damped oscillator of natural frequency α. Where the constraints hold, it has no effect.
    """
    system = _ConstrainedDynamics(model, physics, q, constraints)
    A_v = system.A @ v
    bias = along_motion(model, A_v, q, v) + 2 * stabilisation * A_v + stabilisation**2 * system.φ
    driving = tau - rnea.inverse_dynamics(model, physics, q, v, ca.SX.zeros(model.nv), wrenches)
    free = solve(system.M, driving)
    λ = system.multipliers(system.A @ free + bias, contradictory=True)
    return free - system.response(λ), λ


def inverse_dynamics(
    model: Model,
    physics: Physics,
    q: Expression,
    v: Expression,
    a: Expression,
    wrenches: Wrenches | None = None,
    *,
    constraints: Constraints,
    actuated: tuple[int, ...],
) -> tuple[Expression, Expression]:
    """Minimum-norm actuator torque, and λ (k), for an acceleration that satisfies the constraints.

    Of all τ with Sᵀ τ = M a + h + Aᵀ λ for some λ, that of least norm, τ = (N_cᵀ Sᵀ)⁺ N_cᵀ (M a + h).
    Where no torque gives a (an underactuated robot), τ is the least squares solution.
    """
    needed = rnea.inverse_dynamics(model, physics, q, v, a, wrenches)
    system = _ConstrainedDynamics(model, physics, q, constraints)
    P = system.projector()
    K = P[:, list(actuated)]
    tau = _least_norm(K, P @ needed)
    given = ca.SX(model.nv, 1)
    for k, row in enumerate(actuated):
        given[row] = tau[k]
    return tau, system.multipliers(system.A @ solve(system.M, given - needed))


def projector(model: Model, physics: Physics, q: Expression, *, constraints: Constraints) -> Expression:
    """P(q) = 1 - Aᵀ (A M⁻¹ Aᵀ)⁻¹ A M⁻¹, nv × nv: the part of a torque that moves the robot."""
    return _ConstrainedDynamics(model, physics, q, constraints).projector()


def null_space(model: Model, physics: Physics, q: Expression, *, constraints: Constraints) -> Expression:
    """N_c(q) = 1 - M⁻¹ Aᵀ (A M⁻¹ Aᵀ)⁻¹ A = Pᵀ, nv × nv: the part of a velocity that is allowed."""
    return _ConstrainedDynamics(model, physics, q, constraints).projector().T


def consistent_dynamics(
    model: Model,
    physics: Physics,
    q: Expression,
    v: Expression,
    *,
    constraints: Constraints,
    actuated: tuple[int, ...],
) -> tuple[Expression, Expression, Expression]:
    """N_cᵀ M (nv × nv), N_cᵀ h (nv) and N_cᵀ Sᵀ (nv × actuators) of N_cᵀ (M a + h) = N_cᵀ Sᵀ τ."""
    P = _ConstrainedDynamics(model, physics, q, constraints).projector()
    h = rnea.bias(model, physics, q, v)
    return P @ mass_matrix(model, physics, q), P @ h, P[:, list(actuated)]


def allowed_velocity(
    model: Model, physics: Physics, q: Expression, v: Expression, *, constraints: Constraints
) -> Expression:
    """N_c v, nv: the admissible velocity nearest to v in the kinetic-energy norm."""
    system = _ConstrainedDynamics(model, physics, q, constraints)
    return v - system.response(system.multipliers(system.A @ v))


def impact(
    model: Model,
    physics: Physics,
    q: Expression,
    v: Expression,
    *,
    constraints: Constraints,
    restitution: float = 0.0,
) -> tuple[Expression, Expression]:
    """v⁺ (nv) and the impulse Λ (k) of M (v⁺ - v) + Aᵀ Λ = 0 and A v⁺ = -E A v (Newton's law of impact).

    E is the restitution in normal rows of contacts and in holonomic expressions, zero in other rows.
    """
    system = _ConstrainedDynamics(model, physics, q, constraints)
    bouncing = [row for constraint in constraints for row in constraint.bouncing]
    E = ca.SX([restitution if row else 0.0 for row in bouncing])
    Λ = system.multipliers((1 + E) * (system.A @ v), contradictory=True)
    return v - system.response(Λ), Λ


def task_force(
    model: Model,
    physics: Physics,
    q: Expression,
    v: Expression,
    tau: Expression,
    task: task_space.TaskCoordinates,
    *,
    constraints: Constraints,
) -> Expression:
    """f with Jᵀ f = Aᵀ λ: the force of the robot on its constraints, at a frame (N, N·m).

    Where J has no inverse, J̄ᵀ Aᵀ λ by the dynamically consistent one.
    """
    λ = forward_dynamics(model, physics, q, v, tau, constraints=constraints)[1]
    J_bar = task_space.dynamically_consistent_inverse(model, physics, q, task)
    return J_bar.T @ (equations(model, q, constraints).jacobian.T @ λ)


def jacobian_inverse(
    model: Model,
    physics: Physics,
    q: Expression,
    task: task_space.TaskCoordinates,
    *,
    constraints: Constraints,
) -> Expression:
    """N_c (J N_c)⁺, nv × rows: the allowed velocity u = N_c (J N_c)⁺ w moves a frame by w = J u.

    Where the constraints do not allow w, u is the least squares solution.
    """
    N = _ConstrainedDynamics(model, physics, q, constraints).projector().T
    free = task.jacobian(model, q) @ N
    # Immovable directions have rows of zeros: a small diagonal makes their inverse zero.
    G = free @ free.T + 1e-12 * ca.SX.eye(task.size)
    return N @ (free.T @ _proximal(G, 1e-6).solve(ca.SX.eye(task.size)))


class _Proximal(NamedTuple):
    """The factors of G + μ 1, and μ."""

    factors: Factors
    μ: Expression

    def solve(self, r: Expression, contradictory: bool = False) -> Expression:
        """x of G x = r, of least norm where G is singular, and of least error where r is inconsistent."""
        if contradictory:
            impossible = r
            for _ in range(_ITERATIONS):
                impossible = self.μ * solve(self.factors, impossible)
            r = r - impossible
        x = solve(self.factors, r)
        for _ in range(_ITERATIONS):
            x = solve(self.factors, r + self.μ * x)
        return x


def _proximal(G: Expression, weight: float = _RELATIVE_PROXIMAL_WEIGHT) -> _Proximal:
    """Factors of a symmetric G, of which the lower triangle is read, made positive definite."""
    k = G.shape[0]
    μ = weight * ca.trace(G) / max(k, 1)
    return _Proximal(factor(G + μ * ca.SX.eye(k)), μ)


class _ConstrainedDynamics:
    """φ, A and the factors of M at a configuration, and of G = A M⁻¹ Aᵀ."""

    def __init__(self, model: Model, physics: Physics, q: Expression, constraints: Constraints) -> None:
        self.φ, self.A = equations(model, q, constraints)
        self.M = factor(mass_matrix(model, physics, q), model.velocity_names)
        self._G = _proximal(_congruence(self.M, self.A))

    def multipliers(self, r: Expression, contradictory: bool = False) -> Expression:
        """λ of A M⁻¹ Aᵀ λ = r, for one right-hand side or several as columns."""
        return self._G.solve(r, contradictory)

    def response(self, λ: Expression) -> Expression:
        """M⁻¹ Aᵀ λ."""
        return solve(self.M, self.A.T @ λ)

    def projector(self) -> Expression:
        """P = 1 - Aᵀ (A M⁻¹ Aᵀ)⁻¹ A M⁻¹."""
        n = self.A.shape[1]
        return ca.SX.eye(n) - self.A.T @ self.multipliers(solve(self.M, self.A.T).T)


def _congruence(M: Factors, A: Expression) -> Expression:
    """The lower triangle of A M⁻¹ Aᵀ = Wᵀ D⁻¹ W with W = L⁻ᵀ Aᵀ, where M = Lᵀ D L.

    W stays sparse: its rows are those of the joints that move the constraint, and half of G is enough.
    """
    W = [A[:, k].T for k in range(A.shape[1])]
    for k in reversed(range(len(W))):
        for i, l_ki in M.L[k].items():
            W[i] = W[i] - l_ki * W[k]
    G = ca.SX(A.shape[0], A.shape[0])
    for w, d in zip(W, M.D_inverse, strict=True):
        nonzero = [row for row in range(A.shape[0]) if not w[row].is_zero()]
        for place, i in enumerate(nonzero):
            scaled = d * w[i]
            for j in nonzero[: place + 1]:
                G[i, j] += scaled * w[j]
    return G


def _least_norm(K: Expression, c: Expression) -> Expression:
    """K⁺ c by iterated regularisation: from zero, x stays in the range of Kᵀ."""
    # KᵀK squares the rounding errors in null directions: a larger weight keeps them small.
    return _proximal(K.T @ K, 1e-6).solve(K.T @ c)
