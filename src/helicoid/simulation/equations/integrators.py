"""One time step of a motion, as an expression: explicit Euler, semi-implicit Euler, Runge-Kutta.

Every step takes the model, a function that gives the acceleration a(q, v, s) at s seconds after the start of
the step, the state and the length h of the step (s), and gives the next state. Quaternions stay unit: q moves
by ⊕.
"""

from __future__ import annotations

from collections.abc import Callable

from helicoid._typing import Expression
from helicoid.dynamics.kinematics.configuration import integrate, unit
from helicoid.dynamics.tree import rate_matrix
from helicoid.model.model import Model

Acceleration = Callable[[Expression, Expression, Expression], Expression]
State = tuple[Expression, Expression]
Step = Callable[[Model, Acceleration, Expression, Expression, Expression], State]


def euler(model: Model, acceleration: Acceleration, q: Expression, v: Expression, h: Expression) -> State:
    """Explicit Euler, order 1: q⁺ = q ⊕ h v, v⁺ = v + h a(q, v)."""
    return integrate(model, q, h * v), v + h * acceleration(q, v, 0 * h)


def semi_implicit_euler(
    model: Model, acceleration: Acceleration, q: Expression, v: Expression, h: Expression
) -> State:
    """Semi-implicit Euler, order 1: v⁺ = v + h a(q, v), q⁺ = q ⊕ h v⁺; symplectic where M is constant."""
    v_next = v + h * acceleration(q, v, 0 * h)
    return integrate(model, q, h * v_next), v_next


def rk4(model: Model, acceleration: Acceleration, q: Expression, v: Expression, h: Expression) -> State:
    """The classical Runge-Kutta method, order 4, on the coordinates: q̇ = Γ(q) v, v̇ = a(q, v).

    Γ(q) v is tangent to the unit quaternions and smooth beside them, so the stages may leave them by O(h²)
    and the order is that of a vector space; the result, off by O(h⁵), is made unit.
    """
    rates: list[State] = []
    for c in (0 * h, h / 2, h / 2, h):
        q_i, v_i = (q + c * rates[-1][0], v + c * rates[-1][1]) if rates else (q, v)
        rates.append((rate_matrix(model, q_i) @ v_i, acceleration(q_i, v_i, c)))
    (q_1, v_1), (q_2, v_2), (q_3, v_3), (q_4, v_4) = rates
    q_next = q + h / 6 * (q_1 + 2 * (q_2 + q_3) + q_4)
    return unit(model, q_next), v + h / 6 * (v_1 + 2 * (v_2 + v_3) + v_4)


STEPS: dict[str, Step] = {"euler": euler, "semi_implicit_euler": semi_implicit_euler, "rk4": rk4}
"""From the name of a method to its step."""
