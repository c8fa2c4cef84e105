"""Second derivatives along the tangent space, through quantities that have a derivative of their own."""

from __future__ import annotations

import casadi as ca

from helicoid._typing import Expression
from helicoid.mpc.system import System


def second_derivative(system: System, value: Expression) -> Expression:
    """The Hessian along z = (u, x) of a number L(z, y), where y(z) are the system's intermediates.

    An intermediate solves R(z, y) = 0. With μ = -R_y⁻ᵀ L_y, the number L + μᵀ R is L on the motions of the
    system and does not change with y to first order, so that no second derivative of y is needed:

        ∇²L = [1; Y]ᵀ ∇²_(z, y) (L + μᵀ R) [1; Y],    Y = dy/dz.

    For forward dynamics R = ID(q, v, a) - τ: the second derivatives are those of inverse dynamics.
    """
    nz, known = system.nu + system.nx, system.intermediates
    y = ca.vertcat(ca.SX(0, 1), *(one.symbol for one in known))
    Y = ca.vertcat(ca.SX(0, nz), *(one.jacobian for one in known))
    du, dx, dy = (ca.SX.sym(name, n) for name, n in (("du", system.nu), ("dx", system.nx), ("dy", y.numel())))
    price = ca.SX.sym("mu", y.numel())
    equations = ca.vertcat(ca.SX(0, 1), *(one.equation for one in known))
    prices = _prices(system, value)
    total = value + ca.dot(price, equations) if ca.jacobian(value, y).nnz() else value
    there = [system.u + du, system.retract(system.x, dx), y + dy]
    (moved,) = ca.substitute([total], [system.u, system.x, y], there)
    d = ca.vertcat(du, dx, dy)
    H, _ = ca.hessian(moved, d)
    (H,) = ca.substitute([H], [d], [ca.SX.zeros(d.numel())])
    (H,) = ca.substitute([H], [price], [prices])
    along = ca.vertcat(ca.SX.eye(nz), Y)
    return ca.sparsify(along.T @ ca.sparsify(H) @ along)


def _prices(system: System, value: Expression) -> Expression:
    """μ of R_yᵀ μ = -L_y. An equation may hold the unknowns of those before it: the last is solved first."""
    known = system.intermediates
    found: list[Expression] = [ca.SX(0, 1)] * len(known)
    for i in reversed(range(len(known))):
        pull = ca.jacobian(value, known[i].symbol).T
        for j in range(i + 1, len(known)):
            pull = pull + ca.jacobian(known[j].equation, known[i].symbol).T @ found[j]
        found[i] = ca.densify(-(known[i].inverse.T @ pull))
    return ca.vertcat(ca.SX(0, 1), *found)
