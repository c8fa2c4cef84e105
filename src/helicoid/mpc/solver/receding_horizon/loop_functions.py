"""Functions that the loop of a controller calls besides those of the nodes (runtime/loop/loop.h)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.kinematics import configuration
from helicoid.mpc.solver.receding_horizon.held_torque import held_torque_motion
from helicoid.mpc.structure import Structure
from helicoid.mpc.system.feet import feet
from helicoid.mpc.system.holding import holding, rigid_torque_at_rest
from helicoid.mpc.system.joint_friction import JointFriction
from helicoid.robot import Robot

BRAKING_TIME = 0.1  # s: time constant of the braking torque
MIN_MEAN_SIGN = 0.5  # of a velocity over a period, for which dry friction is compared with that of the model


class LoopFunctions:
    """The applied torque, the braking torque, predictions and the unexplained torque of one structure."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure

    @property
    def by_name(self) -> dict[str, Callable[[], ca.Function]]:
        """Their constructors, by their names in `kernels.KERNELS`."""
        one, robot = self.structure, self.structure.robot
        lacks = one.system.disturbance.numel() > 0
        if robot is None:
            return {"unexplained": self._unexplained_rate} if lacks else {}
        functions = {"applied": self._applied, "braking": self._braking}
        if one.formulation == "forward_dynamics" or robot.constraints or one.schedule is not None:
            functions["holding"] = self._holding
        if self.limits_velocities:
            functions |= {"moving": self._moving, "inertias": self._inertias}
        if lacks:
            functions["unexplained"] = self._unexplained
        return functions

    @property
    def limits_velocities(self) -> bool:
        """Whether a controller changes torques that would exceed hard velocity limits between samples.

        It does where every joint has a motor and the robot has no constraints or contacts.
        """
        robot = self.structure.robot
        limits = [one for one in self.structure.constraints if one.name == "velocity_limit"]
        hard = any(one.price is None for one in limits)
        if robot is None or self.structure.schedule is not None:  # contacts switch
            return False
        return hard and not robot.unactuated and not robot.constraints

    @property
    def _robot(self) -> Robot:
        assert self.structure.robot is not None
        return self.structure.robot

    @property
    def _friction(self) -> JointFriction:
        friction = self.structure.friction
        assert friction is not None
        _, change, _ = self.structure.system.of_joints(self._robot.nv)
        return replace(friction, change=change) if change.numel() else friction

    @property
    def _disturbance(self) -> Expression:
        """d of a robot (nv); zero where none is estimated."""
        d, *_ = self.structure.system.of_joints(self._robot.nv)
        return d if d.numel() else ca.SX.zeros(self._robot.nv)

    # The torque of a period ------------------------------------------------------------------------------

    def applied_torque(self, friction: bool = True) -> tuple[Expression, Expression]:
        """The control that is applied for a period, with its friction or without, and the period's symbol."""
        system, robot, h = self.structure.system, self.structure.robot, ca.SX.sym("period")
        if robot is None:
            return system.u, h
        by_inverse, torque = self.structure.formulation == "inverse_dynamics", system.symbols["tau"]
        (tau,) = system.resolve([torque])
        has_friction = self._friction.exists
        if has_friction:  # the torque of the rigid bodies
            known = next(one for one in system.intermediates if one.symbol is torque)
            tau = -ca.substitute(known.equation, torque, ca.SX.zeros(robot.nv))
        q, v, (a,) = system.symbols["q"], system.symbols["v"], system.resolve([system.symbols["a"]])
        if by_inverse:
            more = ca.SX.zeros(system.nx - 2 * robot.nv)
            halfway = system.retract(system.x, ca.vertcat(h / 2 * v + h**2 / 8 * a, h / 2 * a, more))
            (tau,) = ca.substitute([tau], [system.x], [halfway])
        if has_friction and friction:
            later = v + ca.fmax(h, self._friction.interval) * a
            _, _, breakaway = system.of_joints(robot.nv)
            later = later + breakaway if breakaway.numel() else later
            tau = tau + self._friction.ahead(q, v + h * a, later, system.theta)
        return tau, h

    def _applied(self) -> ca.Function:
        """(x, u, θ, period) -> the torque that a controller applies for a period (s).

        Where accelerations are planned, it is the torque for them half a period later: held constant, it
        reaches the planned velocity to third order in the period, and the torque at the start only to second
        order, which may violate a velocity limit.

        Friction is that of the velocity at the end of the period, as a light joint obeys it at once, and dry
        friction has the direction of motion at the next node: from rest it is that of the planned motion, and
        none where the joint is to stop. Of a joint that stays at rest planned motions add up to the breakaway
        velocity w, so that small ones overcome friction too.
        """
        system, (tau, period) = self.structure.system, self.applied_torque()
        return ca.Function("applied", [system.x, system.u, system.constants, period], [ca.densify(tau)])

    def _braking(self) -> ca.Function:
        """(x, θ) -> the torque at rest, and one that brakes with the time constant `BRAKING_TIME`.

        τ = ID(q, 0, -v / T) + F(q, v) + d = g(q) - M(q) v / T + F + d

        where F adds no more than it takes from a braking torque -M v / T: no joint is driven against its
        friction, which may brake faster. Feet of a contact schedule carry equal shares of the weight, in
        stance or not.
        """
        system, robot = self.structure.system, self._robot
        q, v, theta, still = system.symbols["q"], system.symbols["v"], system.theta, ca.SX.zeros(robot.nv)
        tau = robot.inverse_dynamics(q, still, -v / BRAKING_TIME, theta, friction=False)
        taken, at_rest = (self._friction.torque(q, w, theta) for w in (v, still))
        if taken.nnz():
            brake = tau - rigid_torque_at_rest(robot, q, theta)
            most = ca.if_else(brake * v < 0, ca.fabs(brake), 0)
            tau = tau + at_rest + ca.fmax(-most, ca.fmin(taken - at_rest, most))
        tau = tau + self._disturbance
        for _, J in feet(robot, self.structure.schedule, q):
            tau = tau - J[2, :].T * self._share
        return ca.Function("braking", [system.x, system.constants], [ca.densify(tau)])

    # Predictions -----------------------------------------------------------------------------------------

    def _moving(self) -> ca.Function:
        """(x, τ, θ, t) -> changes of v after t / 2 and t under a constant torque, and x after t."""
        system, robot, t = self.structure.system, self._robot, ca.SX.sym("t")
        q, v, tau = system.symbols["q"], system.symbols["v"], ca.SX.sym("tau", robot.nv)
        acting = tau - self._disturbance
        *gained, place = held_torque_motion(self._friction, q, v, acting, system.theta, t)
        x = ca.vertcat(place, v + gained[1], system.x[robot.nq + robot.nv :])
        return ca.Function("moving", [system.x, tau, system.constants, t], [*gained, x])

    def _inertias(self) -> ca.Function:
        """(x, θ, period) -> mass matrix half a period later."""
        system, robot, h = self.structure.system, self._robot, ca.SX.sym("period")
        halfway = configuration.integrate(robot.model, system.symbols["q"], h / 2 * system.symbols["v"])
        M = robot.mass_matrix(halfway, system.theta)
        return ca.Function("inertias", [system.x, system.constants, h], [ca.densify(M)])

    # The disturbance -------------------------------------------------------------------------------------

    def _unexplained(self) -> ca.Function:
        """(x before, x now, τ, θ, period) -> τ - ID - F of the measured motion, k, and its change of q.

        As in `applied`, ID is that of the mean acceleration halfway. Where constraints hold the robot, part
        of that are their forces, Aᵀ λ, as the model has them under τ. The residual is M (a_model - a); the
        part of a disturbance that constraints balance is not observable.

        Dry friction of a joint at rest is any torque up to its bound: what that explains besides the present
        estimate d is no news.
        """
        system, robot, h = self.structure.system, self._robot, ca.SX.sym("period")
        nq, nv, now, tau = robot.nq, robot.nv, ca.SX.sym("now", system.x.numel()), ca.SX.sym("tau", robot.nv)
        q, v, v_now = system.symbols["q"], system.symbols["v"], now[nq : nq + nv]
        a = (v_now - v) / h
        halfway, w = configuration.integrate(robot.model, q, h / 2 * v + h**2 / 8 * a), v + h / 2 * a
        explained = robot.inverse_dynamics(halfway, w, a, system.theta, friction=False)
        if robot.constraints:
            slowing = self._friction.passive(halfway, w, system.theta)
            function = robot.constrained_forward_dynamics.with_options(friction=False)
            _, forces = function(halfway, w, tau - slowing, system.theta)
            explained = explained + robot.constraint_jacobian(halfway).T @ forces
        moved = configuration.difference(robot.model, q, now[:nq])
        rest = self._beyond_friction(tau - explained, halfway, w)
        if self._friction.change is not None:
            change = self._change_of_dry_friction(tau - explained, halfway, moved / h, v, v_now)
            rest = ca.vertcat(rest, change)
        outputs = [ca.densify(rest), ca.densify(moved)]
        return ca.Function("unexplained", [system.x, now, tau, system.constants, h], outputs)

    def _beyond_friction(self, torque: Expression, q: Expression, v: Expression) -> Expression:
        """Residual of a torque beyond friction, which near rest takes any value of an interval."""
        friction, theta = self._friction, self.structure.system.theta
        if not friction.torque(q, v, theta).nnz():
            return torque
        damping, sliding, bound = friction.parts(q, v, theta)
        torque = torque - damping * v - sliding
        σ = ca.tanh(v / friction.smoothing)
        room = 1 - ca.fabs(σ)  # 1 at rest, 0 in motion
        dry = torque - self._disturbance
        return torque - ca.fmax(bound * (σ - room), ca.fmin(dry, bound * (σ + room)))

    def _change_of_dry_friction(
        self, torque: Expression, q: Expression, mean: Expression, v: Expression, v_now: Expression
    ) -> Expression:
        """k of each joint that moved during a period, and the present one of others.

        The impulse of dry friction is that of the torque less viscous friction at the mean velocity, whatever
        the velocity was in between: a light joint takes up another one within milliseconds. Of a joint that
        reversed, the mean sign σ follows from the mean velocity, as if it changed linearly on either side of
        zero; that is at most the true one, and k not too large.
        """
        present, own = self._friction.change, replace(self._friction, change=None)
        assert present is not None
        damping, sliding, bound = own.parts(q, mean, self.structure.system.theta)
        dry = torque - self._disturbance - damping * mean - sliding
        direction = ca.sign(mean)
        before, after = direction * v, direction * v_now
        reversing = (2 * after - 4 * ca.fabs(mean)) / (after - before)
        σ = ca.if_else(before < 0, ca.fmin(1 - reversing, 1), 1)
        moves = ca.fmin(after, ca.fabs(mean)) > min(own.smoothing, 3 * own.rest_velocity)
        known = ca.logic_and(ca.logic_and(moves, bound > 0), σ > MIN_MEAN_SIGN)
        return ca.if_else(known, direction * dry / ca.if_else(known, bound * σ, 1) - 1, present)

    def _unexplained_rate(self) -> ca.Function:
        """(x before, x now, u, θ, period) -> the rate of the state less that of the undisturbed model.

        It is d plus the prediction error of the model with d, divided by the period.
        """
        system, period = self.structure.system, ca.SX.sym("period")
        now = ca.SX.sym("now", system.x.numel())
        error = system.local(system.after(period), now)[system.disturbed] / period
        rate = ca.densify(system.disturbance + error)
        return ca.Function("unexplained", [system.x, now, system.u, system.constants, period], [rate])

    # Cold starts -----------------------------------------------------------------------------------------

    @property
    def _share(self) -> float:
        """Share of the weight that each foot carries when all are in contact (N)."""
        robot, schedule = self.structure.robot, self.structure.schedule
        return 0.0 if robot is None or schedule is None else 9.81 * robot.mass / len(schedule.contacts)

    def _holding(self) -> ca.Function:
        """(x, θ) -> the controls that hold a robot at rest, see `system.holding`."""
        system, robot = self.structure.system, self._robot
        u, schedule = ca.SX.zeros(robot.nv), self.structure.schedule
        if self.structure.formulation == "forward_dynamics" or robot.constraints:
            u = holding(robot, self.structure.formulation, system.symbols["q"], system.theta)
        if self.structure.formulation == "forward_dynamics" and not robot.unactuated:
            u = u + self._disturbance
        for _ in () if schedule is None else schedule.contacts:
            u = ca.vertcat(u, 0, 0, self._share)
        return ca.Function("holding", [system.x, system.constants], [ca.densify(u)])
