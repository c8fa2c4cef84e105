"""Tangent of a servo's step: sensitivities to the initial state, θ, gains and delays, compiled."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.compiler import Expressions, Function, Input, Output
from helicoid.identification.linear.equations.regression import Indices
from helicoid.identification.trajectory_matching.rollouts.step import servo_step
from helicoid.robot import Robot
from helicoid.simulation.equations.stiction import stiction_terms

SENT = ("q_sent", "v_sent", "tau_sent", "u_rate")
"""Inputs of the tangent beside those of the step: delayed commands, and ∂u/∂δ by their delay."""


class Columns(NamedTuple):
    """Directions beside the initial state: indices in θ, servo groups, and the number of delays."""

    theta: tuple[int, ...]
    servo: tuple[str, ...]
    delays: int


class TangentStep(NamedTuple):
    """`function(q, v, dq, dv, u, kp, kd, limit, creep, lead, theta, dt, q_sent, v_sent, tau_sent, u_rate)`.

    -> the next four. dq and dv are the elements of ∂q and ∂v by (q0, v0, columns) at `rows` and `columns`;
    the others are zero whatever the motion: those of joints that the direction cannot reach.
    """

    function: Function
    rows: Indices
    columns: Indices


def tangent_servo_step(robot: Robot, sampled: bool, columns: Columns) -> TangentStep:
    """The tangent of `servo_step`, made once for a robot."""
    name = "tangent_sampled_servo_step" if sampled else "tangent_servo_step"
    return robot.memo((name, columns), lambda: _tangent(robot, sampled, columns, name))


def _tangent(robot: Robot, sampled: bool, columns: Columns, name: str) -> TangentStep:
    base, n = servo_step(robot, sampled), robot.nv
    joints = _reached(robot, columns)
    rows, places = (np.array(x, dtype=np.intp) for x in np.nonzero(joints))
    pattern = ca.Sparsity.triplet(n, joints.shape[1], rows.tolist(), places.tolist())
    # CasADi counts elements by columns.
    rows, places = np.array(pattern.row()), np.array(pattern.get_col())
    states = [Input("q", (n,)), Input("v", (n,)), Input("dq", (len(rows),)), Input("dv", (len(rows),))]
    inputs = [*states, *base.inputs[2:], *(Input(one, (n,)) for one in SENT)]
    outputs = [Output(f"{item.name}_next", item.shape) for item in states]

    def expressions() -> Expressions:
        x = {item.name: ca.SX.sym(item.name, *item.shape) for item in inputs}
        q_next, v_next = base(*(x[item.name] for item in base.inputs))
        by_q, by_v, by_z = _linearised(robot, sampled, columns, x, v_next)
        dq, dv = (ca.SX(pattern, x[one]) for one in ("dq", "dv"))
        dv_next = by_q @ dq + by_v @ dv + ca.horzcat(ca.SX(n, 2 * n), by_z)
        dq_next = dq + x["dt"] / 2 * (dv + dv_next)
        elements = [ca.project(value, pattern).nonzeros() for value in (dq_next, dv_next)]
        return list(x.values()), [q_next, v_next, *(ca.vertcat(*value) for value in elements)]

    return TangentStep(Function(name, inputs, outputs, expressions), rows, places)


def moving_together(robot: Robot) -> Indices:
    """The number of the part that each joint (nv,) belongs to: joints of a part act on one another."""
    return robot.memo("parts_that_move_together", lambda: _coupled(robot)[0])


def _coupled(robot: Robot) -> tuple[Indices, Array]:
    """Parts of joints that act on one another, and whether a joint's torque depends on θ, (nv, θ)."""
    from scipy.sparse.csgraph import connected_components

    n = robot.nv
    q, v, a, theta = (
        ca.SX.sym(name, size) for name, size in zip("qvat", (n, n, n, len(robot.theta)), strict=True)
    )
    M, force, damping, bound = stiction_terms(robot)(q, v, ca.SX.zeros(n), theta)
    torque = M @ a - force + damping * v + bound
    coupling = sum(_pattern(ca.jacobian(torque, x)) for x in (q, v, a))
    _, part = connected_components(coupling, directed=False)
    return part, _pattern(ca.jacobian(torque, theta))


def _reached(robot: Robot, columns: Columns) -> Array:
    """Whether a joint (row) depends on a direction: those that inertia couples move together."""
    part, by_theta = _coupled(robot)
    n = robot.nv
    together = (part[:, None] == part[None, :]).astype(np.float64)
    own = [np.eye(n) for _ in columns.servo]
    delay = np.ones((n, columns.delays)) if columns.delays < 2 else np.eye(n)
    directions = [np.eye(n), np.eye(n), by_theta[:, list(columns.theta)], *own, delay]
    return np.asarray(together @ np.hstack(directions) > 0)


def _pattern(expression: Expression) -> Array:
    sparsity = ca.sparsify(expression).sparsity()
    found = np.zeros(sparsity.shape)
    found[sparsity.row(), sparsity.get_col()] = 1.0
    return found


def _linearised(
    robot: Robot, sampled: bool, columns: Columns, x: dict[str, Expression], v_next: Expression
) -> tuple[Expression, Expression, Expression]:
    """∂v⁺ by q, v and the columns."""
    n, h = robot.nv, x["dt"]
    q_m, v_m, a = (ca.SX.sym(name, n) for name in ("q_m", "v_m", "a"))
    M, force, damping, bound = stiction_terms(robot)(q_m, v_m, ca.SX.zeros(n), x["theta"])
    s = ca.SX.sym("s", n)
    r = M @ a - force + damping * v_m + s * bound
    chosen = ca.jacobian(r, x["theta"])[:, list(columns.theta)]
    found = [M, ca.jacobian(r, q_m), ca.jacobian(r, v_m), chosen]
    middle = [x["q"] + h / 2 * x["v"], (x["v"] + v_next) / 2]
    lead = x["lead"] / h
    w = v_next + lead * (v_next - x["v"])
    bound = ca.substitute([bound], [ca.vertcat(q_m, v_m)], [ca.vertcat(*middle)])[0]
    held = ca.logic_and(ca.fabs(w) <= x["creep"] * bound, bound > 0)
    values = ca.vertcat(*middle, (v_next - x["v"]) / h, (1 - held) * ca.sign(w))
    M, K, C, Y = (ca.sparsify(one) for one in ca.substitute(found, [ca.vertcat(q_m, v_m, a, s)], [values]))
    at = (x["q"], x["v"]) if sampled else middle
    acts = ca.fabs(x["u"] - x["kp"] * at[0] - x["kd"] * at[1]) <= x["limit"]
    P, D = ca.diag(acts * x["kp"]), ca.diag(acts * x["kd"])
    by_q, by_v, E = K + P, M / h - C / 2 - h / 2 * K, M / h + C / 2
    by_v, E = (by_v - D, E) if sampled else (by_v - h / 2 * P - D / 2, E + D / 2)
    torques = {"kp": x["q_sent"] - at[0], "kd": x["v_sent"] - at[1], "gain": x["tau_sent"]}
    own = [ca.diag(acts * torques[name]) for name in columns.servo]
    late = acts * x["u_rate"]
    own += [late] if columns.delays == 1 else [ca.diag(late)] if columns.delays else []
    right = ca.horzcat(-by_q, by_v, -Y, *own)
    # Where friction holds, creep times the torques that it balances is w.
    part = ca.if_else(held, x["creep"], 1.0)
    E, right = ca.diag(part) @ E + ca.diag(held * (1 + lead)), ca.diag(part) @ right
    right[:, n : 2 * n] += ca.diag(held * lead)
    solved = _solved(ca.sparsify(E), ca.sparsify(right))
    return solved[:, :n], solved[:, n : 2 * n], solved[:, 2 * n :]


def _solved(E: Expression, right: Expression) -> Expression:
    """E⁻¹ right by elimination without pivots: E is close to a positive definite matrix, M / h."""
    n = E.shape[0]
    rows = [ca.horzcat(E[i, :], right[i, :]) for i in range(n)]
    for k in range(n):
        rows[k] = rows[k] / rows[k][k]
        for i in range(n):
            if i != k and rows[i].sparsity().has_nz(0, k):
                rows[i] = rows[i] - rows[i][k] * rows[k]
    return ca.vertcat(*rows)[:, n:]
