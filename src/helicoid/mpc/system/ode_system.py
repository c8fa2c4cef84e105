"""Any ordinary differential equation as the system of a problem."""

from __future__ import annotations

import casadi as ca

from helicoid._typing import Expression
from helicoid.errors import InputError
from helicoid.mpc.system.system import System


def ode_system(
    x: Expression, u: Expression, rate: Expression, theta: Expression | None = None, steps: int = 1
) -> System:
    """Any ẋ = f(x, u, θ) + d in a vector space, by `steps` steps of Runge and Kutta's method of order 4.

    d is the disturbance, what a controller finds that f lacks, constant over a step.
    """
    theta = ca.SX(0, 1) if theta is None else theta
    for name, symbol in (("x", x), ("u", u), ("theta", theta)):
        if not isinstance(symbol, ca.SX) or not symbol.is_valid_input():
            raise InputError(f"{name} must be a vector of SX symbols, got {symbol!r}")
        if symbol.shape[1] != 1 or (symbol.numel() == 0 and name != "theta"):
            raise InputError(f"{name} must be a column of SX symbols, got shape {symbol.shape}")
    if steps < 1:
        raise InputError(f"steps must be at least 1, got {steps}")
    f = _rate_function(x, u, theta, rate)
    h, d = ca.SX.sym("h"), ca.SX.sym("d", x.numel())
    now, part = x, h / steps
    for _ in range(steps):
        k1 = f(now, u, theta) + d
        k2 = f(now + part / 2 * k1, u, theta) + d
        k3 = f(now + part / 2 * k2, u, theta) + d
        k4 = f(now + part * k3, u, theta) + d
        now = now + part / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    names = [str(x[k]) for k in range(x.numel())]
    return System(
        *(x, u, theta, h, h, now),
        state_names=names,
        symbols={"x": x, "u": u},
        disturbance=d,
        disturbed=slice(0, x.numel()),
    )


def _rate_function(x: Expression, u: Expression, theta: Expression, rate: Expression) -> ca.Function:
    try:
        column = ca.SX(rate)
    except NotImplementedError:
        raise InputError(f"the rate of x must be a CasADi SX expression, got {type(rate).__name__}") from None
    if column.shape != (x.numel(), 1):
        raise InputError(f"the rate of x must have {x.numel()} elements, got shape {column.shape}")
    f = ca.Function("f", [x, u, theta], [column], {"allow_free": True})
    unknown = f.get_free()
    if unknown:
        raise InputError(
            f"the rate of x depends on {', '.join(map(str, unknown))}, which is in none of x, u and theta: "
            "put a number in its place, or make it a parameter with theta=..."
        )
    return f
