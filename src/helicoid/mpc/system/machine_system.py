"""A machine, such as what flies, as the system of a problem: its own controls and states beside q and v."""

from __future__ import annotations

import casadi as ca

from helicoid.dynamics import configuration
from helicoid.dynamics.tree import rate_matrix
from helicoid.errors import InputError
from helicoid.mpc.system.system import System
from helicoid.simulation.machines import Machine
from helicoid.simulation.machines.machine import rk4_step


def machine_system(machine: Machine, substeps: int) -> System:
    """x = (q, v, z) and u as the machine has them, by `substeps` steps of Runge and Kutta in an interval."""
    if machine.n_noise:
        raise InputError("a plan knows no noise: take the vehicle without gusts, vehicle.with_wind(...)")
    if isinstance(substeps, bool) or not isinstance(substeps, int) or substeps < 1:
        raise InputError(f"substeps is an integer of at least 1, got {substeps!r}")
    robot, model = machine.robot, machine.robot.model
    nq, nv, nz = robot.nq, robot.nv, len(machine.states)
    q, v, z = ca.SX.sym("q", nq), ca.SX.sym("v", nv), ca.SX.sym("z", nz)
    u, theta, h = ca.SX.sym("u", len(machine.controls)), ca.SX.sym("theta", len(robot.theta)), ca.SX.sym("h")
    state = q, v, z
    for _ in range(substeps):
        state = rk4_step(machine, state, u, ca.SX(0, 1), theta, h / substeps)
    flat = nq == nv
    names = [f"{part} of {name}" for part in "qv" for name in model.velocity_names]
    return System(
        x=ca.vertcat(q, v, z),
        u=u,
        theta=theta,
        h=h,
        length=h,
        following=ca.vertcat(*state),
        tangent=None if flat else ca.diagcat(rate_matrix(model, q), ca.SX.eye(nv + nz)),
        retract=lambda x, dx: ca.vertcat(configuration.integrate(model, x[:nq], dx[:nv]), x[nq:] + dx[nv:]),
        local=lambda x0, x1: ca.vertcat(configuration.difference(model, x0[:nq], x1[:nq]), x1[nq:] - x0[nq:]),
        state_names=[*names, *machine.states],
        symbols={"q": q, "v": v, "states": z, "x": ca.vertcat(q, v, z), "u": u},
    )
