"""A robot as the system of a problem, by inverse or by forward dynamics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import casadi as ca
import numpy as np

from helicoid._typing import Expression
from helicoid.dynamics.kinematics import configuration
from helicoid.dynamics.tree import rate_matrix
from helicoid.errors import DoubtfulModelWarning, InputError, warn
from helicoid.mpc.system.feet import feet
from helicoid.mpc.system.forces import as_symbols, forces_by_name
from helicoid.mpc.system.joint_friction import JointFriction, joint_friction_of
from helicoid.mpc.system.stepping import Integrator, check_steps, steps
from helicoid.mpc.system.system import Intermediate, System

if TYPE_CHECKING:
    from helicoid.mpc.phases import ContactSchedule
    from helicoid.robot import Robot

Formulation = Literal["inverse_dynamics", "forward_dynamics"]


def robot_system(
    robot: Robot,
    formulation: Formulation,
    stabilisation: float,
    integrator: Integrator = "constant_acceleration",
    schedule: ContactSchedule | None = None,
    substeps: int = 1,
    is_free: bool = False,
    friction: JointFriction | None = None,
) -> System:
    """A robot: v⁺ = v + h a and q⁺ = q ⊕ (h v + ½ h² a), exact for a constant acceleration.

    With the integrator "semi_implicit" it is q⁺ = q ⊕ h v⁺ = q ⊕ (h v + h² a): of first order only. "rk4" and
    `substeps` are for torques as controls, see `steps`; `is_free` says whether the duration is.

    "inverse_dynamics": the control is a, and τ = ID(q, v, a) an intermediate. Where constraints hold the
    robot, their forces λ are controls too, τ = ID(q, v, a) + Aᵀ λ; `holds` then has the rows that must be
    zero: A a + Ȧ v of the constraints (with Baumgarte's stabilisation, 1/s), and τ where there is no motor.
    The forces f of a schedule's feet are the last controls, τ = ID(q, v, a) - Jᵀ f.

    "forward_dynamics": the control u is the torque of the motors, and a = FD(q, v, u) an intermediate.

    With `friction` F(q, v), τ = ID(q, v, a) + F; torques as controls are u = τ - F, beyond friction.

    Where motors, with the forces of constraints, can compensate it (`is_driven`), a robot has a
    disturbance d, the torque that its model does not explain: τ = ID(q, v, a) + Aᵀ λ + d, and
    a = FD(q, v, τ - d). Where their joints have dry friction, the change k of that follows d: it is
    (1 + k) bound σ. The breakaway velocity w follows, which the system itself does not depend on.
    """
    if formulation not in ("inverse_dynamics", "forward_dynamics"):
        raise InputError(f"formulation is 'inverse_dynamics' or 'forward_dynamics', got {formulation!r}")
    has_more = check_steps(robot, formulation, integrator, substeps, is_free)
    if not robot.actuated:
        text = f"no motor moves robot {robot.name!r}: a plan can only follow its motion, not change it"
        warn(DoubtfulModelWarning(text))
    nq, nv, model = robot.nq, robot.nv, robot.model
    q, v, a, tau = (ca.SX.sym(name, n) for name, n in zip("qvat", (nq, nv, nv, nv), strict=True))
    theta = ca.SX.sym("theta", len(robot.theta))
    h, d = ca.SX.sym("h"), ca.SX.sym("d", nv if schedule is None and is_driven(robot) else 0)
    flat = nq == nv
    tangent = None if flat else ca.diagcat(rate_matrix(model, q), ca.SX.eye(nv))
    make = _by_inverse_dynamics if formulation == "inverse_dynamics" else _by_forward_dynamics
    joint_friction = joint_friction_of(robot, 1.0, on=False) if friction is None else friction
    change = ca.SX.sym("k", nv if d.numel() and joint_friction.dry(q, v, theta).nnz() else 0)
    if change.numel():
        joint_friction = replace(joint_friction, change=change)
    u, unknowns, holds, more = make(robot, joint_friction, q, v, a, tau, theta, d, stabilisation, schedule)
    share = 1.0 if integrator == "semi_implicit" else 0.5
    names = model.velocity_names
    following = ca.vertcat(configuration.integrate(model, q, h * (v + share * h * a)), v + h * a)
    if has_more:
        acting = _less(ca.SX(robot.selection_matrix).T @ u if u.numel() < nv else u, d)
        following, found = steps(robot, joint_friction, integrator, substeps, q, v, a, u, acting, theta, h)
        unknowns = (*found, *unknowns[1:])
    return System(
        x=ca.vertcat(q, v),
        u=u,
        theta=theta,
        h=h,
        length=h,
        following=following,
        tangent=tangent,
        retract=lambda x, dx: ca.vertcat(configuration.integrate(model, x[:nq], dx[:nv]), x[nq:] + dx[nv:]),
        local=lambda x0, x1: ca.vertcat(configuration.difference(model, x0[:nq], x1[:nq]), x1[nq:] - x0[nq:]),
        intermediates=unknowns,
        state_names=[*(f"q of {name}" for name in names), *(f"v of {name}" for name in names)],
        uses_double_integrator=flat and formulation == "inverse_dynamics" and u.numel() == nv,
        control_share=share,
        symbols={"q": q, "v": v, "a": a, "tau": tau, **more},
        holds=holds,
        disturbance=ca.vertcat(d, change, ca.SX.sym("w", change.numel())),
    )


def is_driven(robot: Robot) -> bool:
    """Whether motors and constraint forces can compensate any disturbance torque.

    Each joint has a motor, or constraints can balance it, as the base of a quadruped on three or four feet.
    For underactuated robots, such as a pole on a cart, compensating a wrong estimate does harm.
    """
    idle = list(robot.unactuated)
    if not idle or not robot.constraints:
        return not idle
    q = ca.SX.sym("q", robot.nq)
    jacobian = ca.Function("A", [q], [robot.constraint_jacobian(q)[:, idle]])
    A = np.array(jacobian(robot.random(np.random.default_rng(0))))
    return bool(np.linalg.matrix_rank(A) == len(idle))


def _less(tau: Expression, d: Expression) -> Expression:
    """The torque less the disturbance: the part that the model explains."""
    return tau - d if d.numel() else tau


_Dynamics = tuple[Expression, tuple[Intermediate, ...], dict[str, Expression], dict[str, Expression]]


def _by_inverse_dynamics(
    robot: Robot,
    friction: JointFriction,
    q: Expression,
    v: Expression,
    a: Expression,
    tau: Expression,
    theta: Expression,
    d: Expression,
    stabilisation: float,
    schedule: ContactSchedule | None,
) -> _Dynamics:
    dq, dv, M = robot.inverse_dynamics_derivatives(q, v, a, theta, friction=False)
    torque = _less(robot.inverse_dynamics(q, v, a, theta, friction=False), -d)
    holds: dict[str, Expression] = {}
    symbols: dict[str, Expression] = {}
    u, du = a, M
    if robot.constraints:
        A, error = robot.constraint_jacobian(q), robot.constraint_position(q)
        forces = ca.SX.sym("lambda", A.shape[0])
        pressing = A.T @ forces
        along = rate_matrix(robot.model, q)
        u, du, torque = ca.vertcat(a, forces), ca.horzcat(M, A.T), torque + pressing
        dq = dq + ca.jacobian(pressing, q) @ along
        # A (a + 2 s v) and not A a + 2 s A v, which would be differentiated twice.
        held = A @ (a + 2 * stabilisation * v) + stabilisation**2 * error
        holds["constraints"] = held + robot.constraint_bias(q, v)
        symbols |= as_symbols(forces_by_name(robot, forces))
    for name, J in feet(robot, schedule, q):
        force = ca.SX.sym(f"force of {name}", 3)
        pressing = -J.T @ force
        u, du, torque = ca.vertcat(u, force), ca.horzcat(du, -J.T), torque + pressing
        dq = dq + ca.jacobian(pressing, q) @ rate_matrix(robot.model, q)
        symbols |= as_symbols({name: force})
    if robot.unactuated:
        holds["unactuated"] = tau[list(robot.unactuated)]
    known = _with_friction(friction, q, v, tau, theta, torque, ca.horzcat(du, dq, dv), friction.smooth)
    if len(known) > 1:
        symbols[SMOOTH_TORQUE] = known[0].symbol
    return u, known, holds, symbols


SMOOTH_TORQUE = "tau without dry friction"
"""Name of the symbol of the torque of motors less their joints' dry friction, where these have any."""


def _with_friction(
    friction: JointFriction,
    q: Expression,
    v: Expression,
    tau: Expression,
    theta: Expression,
    rigid: Expression,
    jacobian: Expression,
    part: Callable[[Expression, Expression, Expression], Expression],
) -> tuple[Intermediate, ...]:
    """The torque of motors, its part without dry friction first where there is both.

    Dry friction changes by its whole size as a joint reverses, which no linearisation foresees: by the one at
    rest a velocity of 0.3 rad/s would need thirty times the friction. So its derivative is taken for zero,
    its sign is that of the last iterate, and second derivatives are those of the rigid bodies.
    """
    smooth, dry = part(q, v, theta), friction.dry(q, v, theta)
    if not smooth.nnz() and not dry.nnz():
        return (Intermediate(tau, rigid, jacobian),)
    along, none = (
        rate_matrix(friction.robot.model, q),
        ca.SX(tau.numel(), jacobian.shape[1] - 2 * tau.numel()),
    )
    slope = ca.horzcat(none, ca.jacobian(smooth, q) @ along, ca.jacobian(smooth, v))
    jacobian, eye = jacobian + slope, ca.SX.eye(tau.numel())
    if not dry.nnz():
        return (Intermediate(tau, rigid + smooth, jacobian, (tau - rigid, eye)),)
    y = ca.SX.sym("s", tau.numel())
    first = Intermediate(y, rigid + smooth, jacobian, (y - rigid, eye))
    return first, Intermediate(tau, rigid + smooth + dry, jacobian, (tau - rigid, eye))


def _by_forward_dynamics(
    robot: Robot,
    friction: JointFriction,
    q: Expression,
    v: Expression,
    a: Expression,
    tau: Expression,
    theta: Expression,
    d: Expression,
    stabilisation: float,
    schedule: ContactSchedule | None,
) -> _Dynamics:
    if schedule is not None:
        raise InputError("phases need the formulation 'inverse_dynamics'")
    S = ca.SX(robot.selection_matrix)
    u = ca.SX.sym("u", S.shape[0]) if S.shape[0] < robot.nv else tau
    taken, slowing = friction.driven(q, v, theta), friction.passive(q, v, theta)
    if taken.nnz() and u is tau:
        u = ca.SX.sym("u", robot.nv)
    full = S.T @ u if S.shape[0] < robot.nv else u
    along = rate_matrix(robot.model, q)
    torques: tuple[Intermediate, ...] = ()
    symbols = {"tau": full}
    if taken.nnz():
        by_z = ca.horzcat(S.T, ca.SX(robot.nv, 2 * robot.nv))
        torques = _with_friction(friction, q, v, tau, theta, full, by_z, friction.smooth_driven)
        symbols = {"tau": tau} | ({SMOOTH_TORQUE: torques[0].symbol} if len(torques) > 1 else {})
    acting = _less(full, d) - slowing if slowing.nnz() else _less(full, d)
    if robot.constraints:
        function = robot.constrained_forward_dynamics.with_options(
            stabilisation=stabilisation, friction=False
        )
        value, forces = function(q, v, acting, theta)
        symbols |= as_symbols(forces_by_name(robot, forces))
        jacobian = ca.horzcat(ca.jacobian(value, u), ca.jacobian(value, q) @ along, ca.jacobian(value, v))
        return u, (Intermediate(a, value, jacobian), *torques), {}, symbols
    dq, dv, M_inverse = robot.forward_dynamics_derivatives(q, v, acting, theta, friction=False)
    value = robot.forward_dynamics(q, v, acting, theta, friction=False)
    if slowing.nnz():
        dq = dq - M_inverse @ ca.jacobian(slowing, q) @ along
        dv = dv - M_inverse @ ca.jacobian(slowing, v)
    by_u = M_inverse @ S.T if S.shape[0] < robot.nv else M_inverse
    equation = robot.inverse_dynamics(q, v, a, theta, friction=False) - acting
    unknown = Intermediate(a, value, ca.horzcat(by_u, dq, dv), (equation, M_inverse))
    return u, (unknown, *torques), {}, symbols
