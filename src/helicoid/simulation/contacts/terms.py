"""The time step with contacts before and after its impulses, as expressions.

With q_m = q ⊕ h/2 v, the middle of the step, the velocity that the robot would have without impulses is

    v_free = v + h (M + h D)⁻¹ (f - ∂b/∂v δ - D v),      f = τ - b(q_m, v),    δ = h/2 (M + h D)⁻¹ (f - D v)

of order 2 but for damping, which is implicit and so cannot become unstable. b(q_m, v + δ) would be of order
2, too, but its terms δ² are forces that a robot at rest on the ground does not feel, since contacts cancel δ;
the linear ones vanish at v = 0, so that statics hold exactly. Impulses Jᵀ p make it
v⁺ = v_free + (M + h D)⁻¹ Jᵀ p, and the step ends at q⁺ = q_m ⊕ (h/2 v⁺ + d) (Moreau 1988), where d is
the correction of penetration. J is that of the end of the step, where v⁺ has to obey the laws of
contact, or nearly so: q_e = q_m ⊕ h/2 v. M + h D = Lᵀ D L keeps the sparsity of the tree (Featherstone 2008,
section 6.5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from helicoid._typing import Array, Expression
from helicoid.compiler import Input, row_major
from helicoid.dynamics.kinematics.configuration import integrate
from helicoid.dynamics.kinematics.frames import frame_pose, jacobian
from helicoid.dynamics.linear import Factors, factor, solve
from helicoid.robot import Robot
from helicoid.robot.function import RobotFunction
from helicoid.simulation.equations.stiction import stiction_terms
from helicoid.simulation.inputs.laws import LawInStep, saturated


@dataclass(frozen=True, eq=False)
class ContactTerms:
    """The functions `prepare` and `finish` of runtime/contact.c, and the layout of their vectors.

    Attributes:
        prepare: the inputs (q, v, tau, theta, ..., dt), or those of a loop with a law, to one vector.
        finish: (the beginning of that vector, Yᵀ p, d, dt) to (v⁺, q⁺, poses of the links, φ).
        inputs: of `prepare`.
        L: for each velocity the columns of its row of L.
        columns: for each link the velocities that move it, and the number of the twist by which each does.
        at: where parts of the first vector begin, by the names of runtime/step.h.
        size: of the first vector.
    """

    prepare: ca.Function
    finish: ca.Function
    inputs: tuple[Input, ...]
    L: tuple[tuple[int, ...], ...]
    columns: tuple[Mapping[int, int], ...]
    at: Mapping[str, int]
    links_at: tuple[int, ...]
    size: int


def terms(
    robot: Robot,
    links: Sequence[str],
    frictional: Sequence[int],
    bouncing: bool,
    law: LawInStep | None = None,
    limit: Array | None = None,
    **options: Any,
) -> ContactTerms:
    """The functions of a robot of which some links may touch something.

    Args:
        frictional: velocities with dry friction.
        bouncing: whether the twists of links at the beginning are needed.
        law: evaluated before the step, its torque saturated at `limit`; None where τ is an input.
        options: as `robot.forward_dynamics.with_options` takes them.
    """
    motion = stiction_terms(robot, **options)
    own = list(motion.inputs)
    if not any(item.name == "theta" for item in own):
        own.insert(3, Input("theta", (0,)))
    inputs = [*own, Input("dt", ())]
    if law is not None:
        disturbance = Input("disturbance", (robot.nv,))
        inputs = [*own[:2], *law.states, disturbance, *law.inputs, *own[3:], Input("dt", ())]
    names = {item.name: ca.SX.sym(item.name, *item.shape) for item in inputs}
    q, v, h = names["q"], names["v"], names["dt"]
    tau, kept = (names["tau"], []) if law is None else law.evaluate(names)
    if law is not None:
        tau = saturated(tau, limit) + names["disturbance"]
    others = [names[item.name] for item in own[3:]]
    model = robot.model
    q_m = integrate(model, q, h / 2 * v)
    q_e = integrate(model, q_m, h / 2 * v)
    # Static friction is that of the beginning of a step.
    M, force, damping, bound = motion(q_m, v, tau, *others)
    factors = factor(M + ca.diag(h * damping), model.velocity_names)
    change = h / 2 * solve(factors, force - damping * v)
    force += _change_of_force(motion, (q_m, v, tau, *others), change)
    v_free = v + h * solve(factors, force - damping * v)
    L = tuple(tuple(row) for row in factors.L)
    parts: dict[str, list[Expression]] = {
        "MIDDLE": [q_m],
        "FREE": [v_free],
        "L": [factors.L[k][j] for k, row in enumerate(L) for j in row],
        "ROOT": [ca.sqrt(d) for d in factors.D_inverse],
        "BOUND": [bound[k] for k in frictional],
    }
    columns: list[dict[int, int]] = []
    twists = _Twists()
    for number, link in enumerate(links):
        # About the world's origin, a joint moves all links that it carries by the same twist.
        J = jacobian(model, q_e, link, "world")
        columns.append({k: twists.place(k, J[:, k]) for k in range(model.nv) if not J[:, k].is_zero()})
        began = jacobian(model, q, link, "world") @ v if bouncing else J @ v
        parts[f"LINK_{number}"] = [*_pose(robot, q_e, link), J @ v_free, J @ v, began]
    parts["TWISTS"] = twists.found
    parts["EQUATIONS"] = []
    if robot.constraints:
        A = robot.constraint_jacobian(q_e)
        parts["EQUATIONS"] = [ca.vec(A.T), robot.constraint_position(q_e) - h / 2 * A @ v]
    parts["LAW"] = kept
    at, size = {}, 0
    for name, expressions in parts.items():
        at[name] = size
        size += sum(one.numel() for one in expressions)
    everything = ca.vertcat(*(ca.vec(ca.densify(one)) for part in parts.values() for one in part))
    prepare = ca.Function("prepare", [row_major(one) for one in names.values()], [everything])
    finish = _finish(robot, links, factors, L, at["BOUND"])
    links_at = tuple(at[f"LINK_{k}"] for k in range(len(links)))
    return ContactTerms(prepare, finish, tuple(inputs), L, tuple(columns), at, links_at, size)


def _change_of_force(motion: RobotFunction, at: Sequence[Expression], change: Expression) -> Expression:
    """∂f/∂v δv: the force at a velocity that differs by δv, to first order."""
    symbols = [ca.SX.sym("x", one.shape) for one in (*at, change)]
    force = motion(*symbols[:-1])[1]
    along = ca.jtimes(force, symbols[1], symbols[-1])
    return ca.Function("change", symbols, [along])(*at, change)


class _Twists:
    """Columns of Jacobians, each once: links have theirs in common unless a joint mimics another."""

    def __init__(self) -> None:
        self.found: list[Expression] = []
        self._places: dict[int, list[int]] = {}

    def place(self, velocity: int, column: Expression) -> int:
        """The number of a column."""
        known = self._places.setdefault(velocity, [])
        for number in known:
            if ca.is_equal(self.found[number], column, 1 << 20):
                return number
        self.found.append(ca.densify(column))
        known.append(len(self.found) - 1)
        return known[-1]


def _finish(
    robot: Robot, links: Sequence[str], factors: Factors, L: Sequence[Sequence[int]], n_middle: int
) -> ca.Function:
    model, nv = robot.model, robot.nv
    middle, total, moved = ca.SX.sym("middle", n_middle), ca.SX.sym("total", nv), ca.SX.sym("moved", nv)
    h = ca.SX.sym("dt")
    q_m, rest = middle[: model.nq], middle[model.nq :]
    v_free, packed, root = rest[:nv], rest[nv : n_middle - model.nq - nv], rest[n_middle - model.nq - nv :]

    def response(y: Expression) -> Expression:
        """(M + h D)⁻¹ J' p = L⁻¹ D^(-1/2) Y' p."""
        x, at = [root[k] * y[k] for k in range(nv)], 0
        for k, row in enumerate(L):
            for j in row:
                x[k] = x[k] - packed[at] * x[j]
                at += 1
        return ca.vertcat(*x) if x else ca.SX.zeros(0)

    v_next = v_free + response(total)
    q_next = integrate(model, q_m, h / 2 * v_next + response(moved))
    poses = [one for link in links for one in _pose(robot, q_next, link)]
    φ = [robot.constraint_position(q_next)] if robot.constraints else []
    result = ca.vertcat(*(ca.vec(ca.densify(one)) for one in (v_next, q_next, *poses, *φ)))
    return ca.Function("finish", [middle, total, moved, h], [result])


def _pose(robot: Robot, q: Expression, link: str) -> list[Expression]:
    """R by rows, then p: 12 numbers."""
    R, p = frame_pose(robot.model, q, link)
    return [ca.vec(ca.densify(R).T), p]
