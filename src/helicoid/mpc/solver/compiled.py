"""Compiled functions and solvers of a problem's structure, each created on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.compiler import BatchCode, compile_batch
from helicoid.dynamics.kinematics import configuration
from helicoid.errors import InputError
from helicoid.mpc.plan import as_numbers
from helicoid.mpc.solver.engine import SqpSolver
from helicoid.mpc.solver.kernels import Kernels
from helicoid.mpc.solver.memory import Memory
from helicoid.mpc.solver.nlp import NonlinearProgram
from helicoid.mpc.solver.nodes.stage import Stages, best_lanes
from helicoid.mpc.solver.switching import Switching
from helicoid.mpc.structure import Structure
from helicoid.mpc.system.feet import feet
from helicoid.mpc.system.holding import holding

BRAKING_TIME = 0.1  # s: time constant of the braking torque


class Compiled:
    """The functions, the numbers and the solvers of one structure.

    `numbers` are those that `Problem.set` has changed so far, by name.
    """

    def __init__(self, structure: Structure, numbers: Mapping[str, Array]) -> None:
        self.structure = structure
        self._numbers = numbers
        self._programs: dict[tuple[str, int, float, str], NonlinearProgram] = {}

    @cached_property
    def stages(self) -> Stages:
        """The functions of a node."""
        one = self.structure
        if not one.costs:
            raise InputError("the problem has no cost: add one, such as add_velocity_cost(1.0)")
        terms = one.parameters, one.costs, one.constraints
        return Stages(one.system, *terms, one.initial_free, best_lanes(one.system), one.hessian)

    @cached_property
    def memory(self) -> Memory:
        """The numbers that `Problem.set` changes."""
        robot, theta = self.structure.robot, np.zeros(self.structure.system.theta.numel())
        if robot is not None:
            theta = np.array(robot.theta.values)
        schedule, times = self.structure.schedule, self.structure.times
        switching = None
        if robot is not None and schedule is not None:
            switching = Switching(self.stages, times, schedule, 9.81 * robot.mass)
        memory = Memory.fresh(self.stages, self.structure.intervals, theta, switching)
        memory.set(self._numbers)
        return memory

    # Our solver ------------------------------------------------------------------------------------------

    @cached_property
    def kernels(self) -> Kernels:
        """The code of the nodes and of the solver, compiled for this structure."""
        return Kernels(self.stages)

    def new_engine(self, with_loop: bool = False) -> SqpSolver:
        """A solver with its own memory, and with `with_loop` the functions of a controller's loop."""
        return SqpSolver(self.kernels, np.diff(self.structure.times), self.loop_code if with_loop else {})

    @cached_property
    def engine(self) -> SqpSolver:
        """The solver of `Problem.solve`."""
        return self.new_engine()

    # CasADi's --------------------------------------------------------------------------------------------

    def program(
        self, solver: str, max_iterations: int, tolerance: float, options: dict[str, Any]
    ) -> NonlinearProgram:
        """The nonlinear program for a solver of CasADi, cached by its settings."""
        key = solver, max_iterations, tolerance, repr(options)
        if key not in self._programs:
            self._programs[key] = NonlinearProgram(
                self.structure, self.stages, self.memory, solver, max_iterations, tolerance, options
            )
        return self._programs[key]

    # Evaluation of a trajectory --------------------------------------------------------------------------

    @cached_property
    def values(self) -> tuple[ca.Function, ca.Function]:
        """Cost, gap and rows of all nodes on the path, and of the last, on CasADi's virtual machine."""
        path = self.stages.values().map("path", "serial", self.structure.intervals, [4], [])
        return path, self.stages.end_values()

    def motion(self, x: Array, u: Array, constants: Array) -> tuple[Array, Array, dict[str, Array]]:
        """Accelerations and torques (intervals, nv) of a robot's trajectory, and forces by name."""
        a, tau, *forces = (as_numbers(one) for one in self._motion(x[:-1].T, u.T, constants))
        return a, tau, dict(zip(self.structure.symbols.forces, forces, strict=True))

    @cached_property
    def _motion(self) -> ca.Function:
        system = self.structure.system
        forces = self.structure.symbols.forces.values()
        outputs = system.resolve([system.symbols["a"], system.symbols["tau"], *forces])
        function = ca.Function("motion", [system.x, system.u, system.constants], outputs)
        return function.map("all", "serial", self.structure.intervals, [2], [])

    def torque_derivatives(self, x: Array, u: Array, constants: Array, period: float) -> tuple[Array, Array]:
        """dτ/du and dτ/dx of the applied torque, along the state's tangent space."""
        J, nu = np.array(self._torque_jacobian(x, u, constants, period)), self.structure.system.nu
        return J[:, :nu], J[:, nu:]

    @cached_property
    def _torque_jacobian(self) -> ca.Function:
        system, (tau, period) = self.structure.system, self._applied_torque
        inputs = [system.x, system.u, system.constants, period]
        return ca.Function("J", inputs, [ca.densify(system.differentiate(tau))])

    @cached_property
    def _applied_torque(self) -> tuple[Expression, Expression]:
        """The applied control, and the symbol of the period in it."""
        system, robot, h = self.structure.system, self.structure.robot, ca.SX.sym("period")
        if robot is None:
            return system.u, h
        (tau,) = system.resolve([system.symbols["tau"]])
        if self.structure.formulation == "inverse_dynamics":
            v, a, more = system.symbols["v"], system.symbols["a"], ca.SX.zeros(system.nx - 2 * robot.nv)
            halfway = system.retract(system.x, ca.vertcat(h / 2 * v + h**2 / 8 * a, h / 2 * a, more))
            (tau,) = ca.substitute([tau], [system.x], [halfway])
        return tau, h

    # The loop of a controller ----------------------------------------------------------------------------

    @cached_property
    def loop_code(self) -> dict[str, BatchCode]:
        """The functions that a controller's loop calls besides those of the nodes, compiled."""
        functions = self.loop_functions
        return dict(zip(functions, compile_batch("the controller", list(functions.values())), strict=True))

    @property
    def loop_functions(self) -> dict[str, Callable[[], ca.Function]]:
        """Constructors of the functions of the loop, by their names in `kernels.KERNELS`."""
        lacks = self.structure.system.disturbance.numel() > 0
        if self.structure.robot is None:
            return {"unexplained": self._unexplained_rate} if lacks else {}
        functions = {"applied": self._applied, "braking": self._braking}
        one = self.structure
        if (
            one.formulation == "forward_dynamics"
            or self.structure.robot.constraints
            or one.schedule is not None
        ):
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

    def _moving(self) -> ca.Function:
        """(x, τ, θ, t) -> changes of v after t / 2 and t under a constant torque, and x after t.

        By Runge and Kutta's method of order four (Nyström's form for the coordinates).
        """
        system, robot, t = self.structure.system, self.structure.robot, ca.SX.sym("t")
        assert robot is not None
        q, v, tau, theta = system.symbols["q"], system.symbols["v"], ca.SX.sym("tau", robot.nv), system.theta
        acting = tau - self._disturbance

        def after(share: float, shift: Expression, a: Expression) -> Expression:
            there = configuration.integrate(robot.model, q, share * t * v + (share * t) ** 2 / 2 * shift)
            return robot.forward_dynamics(there, v + share * t * a, acting, theta)

        none = ca.SX.zeros(robot.nv)
        start = after(0.0, none, none)
        first = after(0.5, start, start)
        second = after(0.5, start, first)
        end, middle = after(1.0, second, second), (first + second) / 2
        gained = t / 24 * (5 * start + 8 * middle - end), t / 6 * (start + 4 * middle + end)
        place = configuration.integrate(robot.model, q, t * v + t**2 / 6 * (start + first + second))
        x = ca.vertcat(place, v + gained[1], system.x[robot.nq + robot.nv :])
        return ca.Function("moving", [system.x, tau, system.constants, t], [*gained, x])

    def _inertias(self) -> ca.Function:
        """(x, θ, period) -> mass matrix half a period later."""
        system, robot, h = self.structure.system, self.structure.robot, ca.SX.sym("period")
        assert robot is not None
        halfway = configuration.integrate(robot.model, system.symbols["q"], h / 2 * system.symbols["v"])
        M = robot.mass_matrix(halfway, system.theta)
        return ca.Function("inertias", [system.x, system.constants, h], [ca.densify(M)])

    def _applied(self) -> ca.Function:
        """(x, u, θ, period) -> the torque that a controller applies for a period (s).

        Where accelerations are planned, it is the torque for them half a period later: held constant, it
        reaches the planned velocity to third order in the period, and the torque at the start only to second
        order, which may violate a velocity limit.
        """
        system, (tau, period) = self.structure.system, self._applied_torque
        return ca.Function("applied", [system.x, system.u, system.constants, period], [ca.densify(tau)])

    def _braking(self) -> ca.Function:
        """(x, θ) -> gravity compensation and a torque that brakes with the time constant `BRAKING_TIME`.

        τ = ID(q, 0, -v / T) + d = g(q) - M(q) v / T + d

        Feet of a contact schedule carry equal shares of the weight, in stance or not.
        """
        system, robot = self.structure.system, self.structure.robot
        assert robot is not None
        q, v = system.symbols["q"], system.symbols["v"]
        tau = robot.inverse_dynamics(q, ca.SX.zeros(robot.nv), -v / BRAKING_TIME, system.theta)
        tau = tau + self._disturbance
        for _, J in feet(robot, self.structure.schedule, q):
            tau = tau - J[2, :].T * self._share
        return ca.Function("braking", [system.x, system.constants], [ca.densify(tau)])

    @property
    def _disturbance(self) -> Expression:
        """d of a robot (nv); zero where none is estimated."""
        robot, d = self.structure.robot, self.structure.system.disturbance
        return d if d.numel() else ca.SX.zeros(0 if robot is None else robot.nv)

    def _unexplained(self) -> ca.Function:
        """(x before, x now, τ, θ, period) -> τ - ID of the measured motion, and its change of q.

        As in `applied`, ID is that of the mean acceleration halfway. Where constraints hold the robot, part
        of that are their forces, Aᵀ λ, as the model has them under τ. The residual is M (a_model - a); the
        part of a disturbance that constraints balance is not observable.
        """
        system, robot, h = self.structure.system, self.structure.robot, ca.SX.sym("period")
        assert robot is not None
        nq, nv, now, tau = robot.nq, robot.nv, ca.SX.sym("now", system.x.numel()), ca.SX.sym("tau", robot.nv)
        q, v, v_now = system.symbols["q"], system.symbols["v"], now[nq : nq + nv]
        a = (v_now - v) / h
        halfway = configuration.integrate(robot.model, q, h / 2 * v + h**2 / 8 * a)
        explained = robot.inverse_dynamics(halfway, v + h / 2 * a, a, system.theta)
        if robot.constraints:
            _, forces = robot.constrained_forward_dynamics(halfway, v + h / 2 * a, tau, system.theta)
            explained = explained + robot.constraint_jacobian(halfway).T @ forces
        moved = configuration.difference(robot.model, q, now[:nq])
        outputs = [ca.densify(tau - explained), ca.densify(moved)]
        return ca.Function("unexplained", [system.x, now, tau, system.constants, h], outputs)

    def _unexplained_rate(self) -> ca.Function:
        """(x before, x now, u, θ, period) -> the rate of the state less that of the undisturbed model.

        It is d plus the prediction error of the model with d, divided by the period.
        """
        system, period = self.structure.system, ca.SX.sym("period")
        now = ca.SX.sym("now", system.x.numel())
        error = system.local(system.after(period), now)[system.disturbed] / period
        rate = ca.densify(system.disturbance + error)
        return ca.Function("unexplained", [system.x, now, system.u, system.constants, period], [rate])

    @property
    def _share(self) -> float:
        """Share of the weight that each foot carries when all are in contact (N)."""
        robot, schedule = self.structure.robot, self.structure.schedule
        return 0.0 if robot is None or schedule is None else 9.81 * robot.mass / len(schedule.contacts)

    def _holding(self) -> ca.Function:
        """(x, θ) -> the controls that hold a robot at rest, see `system.holding`."""
        system, robot = self.structure.system, self.structure.robot
        assert robot is not None
        u, schedule = ca.SX.zeros(robot.nv), self.structure.schedule
        if self.structure.formulation == "forward_dynamics" or robot.constraints:
            u = holding(robot, self.structure.formulation, system.symbols["q"], system.theta)
        if self.structure.formulation == "forward_dynamics" and not robot.unactuated:
            u = u + self._disturbance
        for _ in () if schedule is None else schedule.contacts:
            u = ca.vertcat(u, 0, 0, self._share)
        return ca.Function("holding", [system.x, system.constants], [ca.densify(u)])
