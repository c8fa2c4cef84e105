"""An actuated system, such as a vehicle, as the dynamics of a problem: controls and states beside q and v."""

from __future__ import annotations

import casadi as ca
import numpy as np

from helicoid._typing import Expression
from helicoid.dynamics.kinematics import configuration
from helicoid.dynamics.tree import rate_matrix
from helicoid.errors import InputError
from helicoid.mpc.system.system import System
from helicoid.simulation.equations.actuated import ActuatedSystem, rk4_step


def actuated_system(vehicle: ActuatedSystem, substeps: int) -> System:
    """x = (q, v, z) and u of the actuated system, by `substeps` steps of Runge and Kutta in an interval.

    The solver takes a gap of 0.01 as closed, in rad, m and their rates. Actuator states, as rotor speeds, may
    be in the hundreds, where 0.01 is too strict: in the tangent space z is in units of its initial value,
    where that is more than 1.

    The disturbance d (nv) is an acceleration: v̇ less that of the model.
    """
    if vehicle.n_noise:
        raise InputError("a plan has no noise: take the vehicle without gusts, vehicle.with_wind(...)")
    if isinstance(substeps, bool) or not isinstance(substeps, int) or substeps < 1:
        raise InputError(f"substeps is an integer of at least 1, got {substeps!r}")
    robot, model = vehicle.robot, vehicle.robot.model
    nq, nv, nz = robot.nq, robot.nv, len(vehicle.states)
    q, v, z = ca.SX.sym("q", nq), ca.SX.sym("v", nv), ca.SX.sym("z", nz)
    u, theta, h = ca.SX.sym("u", len(vehicle.controls)), ca.SX.sym("theta", len(robot.theta)), ca.SX.sym("h")
    state, d = (q, v, z), ca.SX.sym("d", nv)
    for _ in range(substeps):
        state = rk4_step(vehicle, state, u, ca.SX(0, 1), theta, h / substeps, d)
    unit = np.maximum(np.abs(vehicle.start()), 1.0)
    flat = nq == nv and not np.any(unit > 1)
    per_unit, of_unit = ca.SX(1 / unit), ca.SX(unit)

    def retract(x: Expression, dx: Expression) -> Expression:
        ahead = x[nq:] + ca.vertcat(dx[nv : 2 * nv], of_unit * dx[2 * nv :])
        return ca.vertcat(configuration.integrate(model, x[:nq], dx[:nv]), ahead)

    def local(x0: Expression, x1: Expression) -> Expression:
        between = x1[nq:] - x0[nq:]
        turned = configuration.difference(model, x0[:nq], x1[:nq])
        return ca.vertcat(turned, between[:nv], per_unit * between[nv:])

    names = [f"{part} of {name}" for part in "qv" for name in model.velocity_names]
    return System(
        x=ca.vertcat(q, v, z),
        u=u,
        theta=theta,
        h=h,
        length=h,
        following=ca.vertcat(*state),
        tangent=None if flat else ca.diagcat(rate_matrix(model, q), ca.SX.eye(nv), ca.diag(unit)),
        retract=retract,
        local=local,
        units=(*np.ones(2 * nv), *unit),
        state_names=[*names, *vehicle.states],
        symbols={"q": q, "v": v, "states": z, "x": ca.vertcat(q, v, z), "u": u},
        disturbance=d,
        disturbed=slice(nv, 2 * nv),
    )
