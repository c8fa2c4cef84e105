"""Steps of a robot under a torque that is constant over the interval: several accelerations in each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import casadi as ca

from helicoid._typing import Expression
from helicoid.errors import InputError
from helicoid.mpc.system.joint_friction import JointFriction
from helicoid.mpc.system.system import Intermediate

if TYPE_CHECKING:
    from helicoid.robot import Robot

Integrator = Literal["constant_acceleration", "semi_implicit", "rk4"]
INTEGRATORS = ("constant_acceleration", "semi_implicit", "rk4")


def check_steps(robot: Robot, formulation: str, integrator: str, substeps: int, is_free: bool) -> bool:
    """Whether steps take more than one acceleration.

    Raises:
        InputError: the integrator is unknown, or does not apply to this robot or formulation.
    """
    if integrator not in INTEGRATORS:
        raise InputError(f"integrator is one of {', '.join(map(repr, INTEGRATORS))}, got {integrator!r}")
    if isinstance(substeps, bool) or not isinstance(substeps, int) or substeps < 1:
        raise InputError(f"substeps is an integer of at least 1, got {substeps!r}")
    if integrator != "rk4" and substeps == 1:
        return False
    what = "integrator='rk4'" if integrator == "rk4" else f"substeps={substeps}"
    if formulation != "forward_dynamics":
        raise InputError(
            f"{what} needs formulation='forward_dynamics': where accelerations are the controls and constant "
            "between nodes, there is nothing to integrate"
        )
    if robot.nq != robot.nv or robot.constraints:
        raise InputError(
            f"{what} is for robots without quaternions and constraints; take a finer grid, or from_ode"
        )
    if is_free:
        raise InputError(f"{what} needs a duration that is not free")
    return True


class _Accelerations:
    """a = FD(q, v, τ) at the stages of an integrator: symbols, whose derivatives follow by the chain rule."""

    def __init__(
        self, robot: Robot, friction: JointFriction, z: Expression, tau: Expression, theta: Expression
    ) -> None:
        self._robot, self._friction, self._z, self._tau, self._theta = robot, friction, z, tau, theta
        self.found: list[Intermediate] = []

    def _resolved(self, expression: Expression) -> Expression:
        symbols, values = [one.symbol for one in self.found], [one.expression for one in self.found]
        return ca.substitute([expression], symbols, values)[0] if symbols else expression

    def _along(self, expression: Expression) -> Expression:
        total = ca.jacobian(expression, self._z)
        for one in self.found:
            by_one = ca.jacobian(expression, one.symbol)
            if by_one.nnz():
                total = total + by_one @ one.jacobian
        return total

    def at(self, q: Expression, v: Expression, symbol: Expression | None = None) -> Expression:
        """The symbol of the acceleration at a state; `symbol` says which, else it is a new one."""
        robot, tau, theta = self._robot, self._tau, self._theta
        slowing = self._friction.passive(q, v, theta)
        tau = tau - slowing if slowing.nnz() else tau
        a = ca.SX.sym(f"a{len(self.found)}", robot.nv) if symbol is None else symbol
        dq, dv, M_inverse = robot.forward_dynamics_derivatives(q, v, tau, theta, friction=False)
        jacobian = dq @ self._along(q) + dv @ self._along(v) + M_inverse @ self._along(tau)
        value = self._resolved(robot.forward_dynamics(q, v, tau, theta, friction=False))
        equation = robot.inverse_dynamics(q, v, a, theta, friction=False) - tau
        self.found.append(Intermediate(a, value, jacobian, (equation, M_inverse)))
        return a


def steps(
    robot: Robot,
    friction: JointFriction,
    integrator: Integrator,
    substeps: int,
    q: Expression,
    v: Expression,
    a: Expression,
    u: Expression,
    tau: Expression,
    theta: Expression,
    h: Expression,
) -> tuple[Expression, tuple[Intermediate, ...]]:
    """The next state, and the accelerations on the way; the first of them is `a`.

    In each of the `substeps`, Runge and Kutta's classic method takes four accelerations and is of order 4.
    With one, a constant acceleration, q⁺ = q + h v + ½ h² a, and semi-implicit Euler, q⁺ = q + h v⁺, are of
    order 1. Friction slows joints without a motor; `tau` is that of motors, beyond their joints' friction.
    """
    accelerations = _Accelerations(robot, friction, ca.vertcat(u, q, v), tau, theta)
    part = h / substeps
    for k in range(substeps):
        a1 = accelerations.at(q, v, a if k == 0 else None)
        if integrator == "rk4":
            q2, v2 = q + part / 2 * v, v + part / 2 * a1
            a2 = accelerations.at(q2, v2)
            q3, v3 = q + part / 2 * v2, v + part / 2 * a2
            a3 = accelerations.at(q3, v3)
            q4, v4 = q + part * v3, v + part * a3
            a4 = accelerations.at(q4, v4)
            q = q + part / 6 * (v + 2 * v2 + 2 * v3 + v4)
            v = v + part / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        else:
            share = 1.0 if integrator == "semi_implicit" else 0.5
            q, v = q + part * (v + share * part * a1), v + part * a1
    return ca.vertcat(q, v), tuple(accelerations.found)
