"""Compiled functions and solvers of a problem's structure, each created on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.compiler import BatchCode, compile_batch
from helicoid.errors import InputError
from helicoid.mpc.plan import as_numbers
from helicoid.mpc.solver.engine import SqpSolver
from helicoid.mpc.solver.kernels import Kernels
from helicoid.mpc.solver.memory import Memory
from helicoid.mpc.solver.nlp import NonlinearProgram
from helicoid.mpc.solver.nodes.stage import Stages, best_lanes
from helicoid.mpc.solver.receding_horizon.loop_functions import LoopFunctions
from helicoid.mpc.solver.switching import Switching
from helicoid.mpc.structure import Structure


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

    def planned(self, x: Array, u: Array, constants: Array) -> tuple[Array, dict[str, Array]]:
        """Accelerations and forces of `motion`; without torques, which take most of its time."""
        forces, nv = self.structure.symbols.forces, self.structure.system.symbols["a"].numel()
        found = np.ascontiguousarray(as_numbers(self._planned(x[:-1].T, u.T, constants)))
        ends = np.cumsum([nv, *(one.numel() for one in forces.values())])
        a, *parts = np.split(found, ends[:-1], axis=1)
        return a, dict(zip(forces, parts, strict=True))

    @cached_property
    def _planned(self) -> ca.Function:
        system = self.structure.system
        outputs = system.resolve([system.symbols["a"], *self.structure.symbols.forces.values()])
        function = ca.Function("planned", [system.x, system.u, system.constants], [ca.vertcat(*outputs)])
        return function.map("all", "serial", self.structure.intervals, [2], [])

    def torque_derivatives(self, x: Array, u: Array, constants: Array, period: float) -> tuple[Array, Array]:
        """dτ/du and dτ/dx of the applied torque, along the state's tangent space.

        Friction is feedforward: its slope near rest, that of a smoothed sign, would be positive feedback of
        velocities.
        """
        J, nu = np.array(self._torque_jacobian(x, u, constants, period)), self.structure.system.nu
        return J[:, :nu], J[:, nu:]

    @cached_property
    def _torque_jacobian(self) -> ca.Function:
        system, (tau, period) = self.structure.system, self._loop.applied_torque(friction=False)
        inputs = [system.x, system.u, system.constants, period]
        return ca.Function("J", inputs, [ca.densify(system.differentiate(tau))])

    # The loop of a controller ----------------------------------------------------------------------------

    @cached_property
    def _loop(self) -> LoopFunctions:
        return LoopFunctions(self.structure)

    @property
    def loop_functions(self) -> dict[str, Callable[[], ca.Function]]:
        """Constructors of the functions of the loop, by their names in `kernels.KERNELS`."""
        return self._loop.by_name

    @cached_property
    def loop_code(self) -> dict[str, BatchCode]:
        """The functions that a controller's loop calls besides those of the nodes, compiled."""
        functions = self.loop_functions
        return dict(zip(functions, compile_batch("the controller", list(functions.values())), strict=True))
