"""Tangent and adjoint of one time step: derivatives of a simulation, step by step in compiled code.

A step x⁺ = Φ(x, τ, θ) of the state x = (q, v) has, in the tangent space of q,

    tangent   δx⁺ = A δx + B δτ + P δθ              forwards, one column for each direction
    adjoint   λ = Aᵀ λ⁺ + ∂L/∂x,  Bᵀ λ⁺,  Pᵀ λ⁺     backwards, one pass for all parameters

with A, B and P never formed: algorithmic differentiation gives the products (Griewank and Walther 2008).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import casadi as ca

from helicoid._typing import Expression
from helicoid.compiler import Expressions, Function, Input, Output
from helicoid.dynamics.kinematics.configuration import difference
from helicoid.dynamics.tree import rate_matrix
from helicoid.model.model import Model
from helicoid.robot import Robot
from helicoid.simulation.equations.motion import step_function


class _Step(NamedTuple):
    """Symbols of a step's inputs by name, and the next state."""

    symbols: dict[str, Expression]
    q_next: Expression
    v_next: Expression

    def varied(self, names: Sequence[str] = ("q", "v", "tau", "theta")) -> Expression:
        """Variables of the derivatives."""
        return ca.vertcat(*(self.symbols[name] for name in names))


def tangent_step(robot: Robot, method: str, ramp: bool = False, **options: Any) -> Function:
    """`(q, v, dq, dv, tau, theta, ..., dt, dtau, dtheta) -> q_next, v_next, dq_next, dv_next`.

    dq is in the tangent space at q, dq_next in that at q_next. With `ramp`, `tau_rate` follows dt and
    `dtau_rate` is the last input, as in `step_function`.
    """
    base = step_function(robot, method, ramp=ramp, **options)
    nv, n = robot.nv, len(robot.theta)
    sizes = {"q": nv, "v": nv, "tau": nv, "theta": n, **({"tau_rate": nv} if ramp else {})}
    varied = [Input(f"d{name}", (size,)) for name, size in sizes.items()]
    inputs = [*base.inputs[:2], *varied[:2], *base.inputs[2:], *varied[2:]]
    outputs = [*base.outputs, Output("dq_next", (nv,)), Output("dv_next", (nv,))]

    def expressions() -> Expressions:
        step, directions = _symbolic(base), {item.name: ca.SX.sym(item.name, *item.shape) for item in varied}
        moved = rate_matrix(robot.model, step.symbols["q"]) @ directions["dq"]
        seed = ca.vertcat(moved, *(directions[item.name] for item in varied[1:]))
        change = ca.jtimes(ca.vertcat(step.q_next, step.v_next), step.varied(tuple(sizes)), seed)
        dq_next = _tangent_map(robot.model, step.q_next) @ change[: robot.nq]
        known = step.symbols | directions
        return [known[item.name] for item in inputs], [step.q_next, step.v_next, dq_next, change[robot.nq :]]

    return _once(robot, "tangent", base, inputs, outputs, expressions)


def adjoint_step(robot: Robot, method: str, **options: Any) -> Function:
    """`(lambda_q, lambda_v, g_tau, [g_theta,] q, v, tau, theta, ..., dt, dL_dq, dL_dv) -> the first four`.

    λ after the step becomes λ before it; g_tau is ∂L/∂τ of this step, and g_theta grows by ∂L/∂θ.
    """
    base = step_function(robot, method, **options)
    nv, n = robot.nv, len(robot.theta)
    own = [Input(name, (nv,)) for name in ("lambda_q", "lambda_v", "g_tau")]
    own += [Input("g_theta", (n,))] if n else []
    inputs = [*own, *base.inputs, Input("dL_dq", (nv,)), Input("dL_dv", (nv,))]
    outputs = [Output(item.name, item.shape) for item in own]

    def expressions() -> Expressions:
        step = _symbolic(base)
        added = {item.name: ca.SX.sym(item.name, *item.shape) for item in (*own, *inputs[-2:])}
        λ_q = _tangent_map(robot.model, step.q_next).T @ added["lambda_q"]
        seed = ca.vertcat(λ_q, added["lambda_v"])
        pulled = ca.jtimes(ca.vertcat(step.q_next, step.v_next), step.varied(), seed, True)
        q, v, tau, theta = ca.vertsplit(pulled, _offsets(robot.nq, nv, nv, n))
        before = rate_matrix(robot.model, step.symbols["q"]).T @ q + added["dL_dq"]
        results = [before, v + added["dL_dv"], tau, *([theta + added["g_theta"]] if n else [])]
        known = step.symbols | added
        return [known[item.name] for item in inputs], results

    return _once(robot, "adjoint", base, inputs, outputs, expressions)


def _symbolic(base: Function) -> _Step:
    symbols = {item.name: ca.SX.sym(item.name, *item.shape) for item in base.inputs}
    return _Step(symbols, *base(*symbols.values()))


def _tangent_map(model: Model, q: Expression) -> Expression:
    """From rates of coordinates to the tangent space at q, nv × nq: the derivative of q' ⊖ q at q' = q."""
    if model.nq == model.nv:
        return ca.SX.eye(model.nv)
    at, moved = ca.SX.sym("at", model.nq), ca.SX.sym("moved", model.nq)
    slope = ca.jacobian(difference(model, at, moved), moved)
    return ca.substitute(ca.substitute(slope, moved, at), at, q)


def _offsets(*sizes: int) -> list[int]:
    found = [0]
    for size in sizes:
        found.append(found[-1] + size)
    return found


def _once(
    robot: Robot,
    kind: str,
    base: Function,
    inputs: list[Input],
    outputs: list[Output],
    expressions: Callable[[], Expressions],
) -> Function:
    name = f"{base.name}_{kind}"
    return robot.memo((name, base), lambda: Function(name, inputs, outputs, expressions))
