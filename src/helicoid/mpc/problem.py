"""An optimal control problem: a system, a grid, costs, constraints, and numbers that change at run time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.errors import InputError
from helicoid.mpc.constraints import ConstraintTerms
from helicoid.mpc.grid import node_times
from helicoid.mpc.initial import initial_state
from helicoid.mpc.plan import Plan, as_numbers
from helicoid.mpc.solver.engine import Engine
from helicoid.mpc.solver.memory import Memory
from helicoid.mpc.solver.nlp import NonlinearProgram
from helicoid.mpc.stage import Stages, best_lanes
from helicoid.mpc.system import Formulation, System, ode_system, robot_system
from helicoid.mpc.terms import Constraint, Cost, Parameter
from helicoid.mpc.terms import mask as chosen_elements
from helicoid.robot import Robot


class Problem(ConstraintTerms):
    """Minimise ∫ ℓ(x, u) dt + ℓ_end(x) over a grid of nodes, subject to the dynamics and to constraints.

    Args:
        robot: a robot, or a `System` of another kind (see `from_ode`).
        horizon: number of intervals; the grid has one node more.
        dt: length of an interval (s), or
        grid: times of the nodes (s), from zero on; then `horizon` is not given.
        formulation: "inverse_dynamics" (accelerations are the controls, torque follows; fastest) or
            "forward_dynamics" (torques are the controls).
        duration: (shortest, longest) total time (s) if that is free; the grid is stretched. The plan has it
            as `t[-1]`, and the symbol `problem.duration` may be used in costs.
        stabilisation: how fast errors of a constrained robot's constraints die out (1/s).

    The state is x = (q, v), the step v⁺ = v + h a, q⁺ = q ⊕ h v⁺. Costs on the path are multiplied by the
    length of their interval. Symbols for expressions of one's own: `problem.q`, `.v`, `.a`, `.tau` of a node,
    or `.x`, `.u`. Targets, weights and bounds are parameters with names: `set` changes them.

    >>> import helicoid as hc
    >>> robot = hc.load("double_pendulum")
    >>> problem = hc.mpc.Problem(robot, horizon=20, dt=0.05)
    >>> problem.add_posture_cost([3.0, 0.0], weight=1.0, end_weight=100.0)
    >>> problem.add_velocity_cost(0.1, end_weight=10.0)
    >>> problem.add_control_cost(1e-4)
    >>> plan = problem.solve([0.0, 0.0], [0.0, 0.0])
    >>> plan.success, plan.q.shape
    (True, (21, 2))
    """

    def __init__(
        self,
        robot: Robot | System,
        horizon: int | None = None,
        dt: float | None = None,
        grid: ArrayLike | None = None,
        formulation: Formulation = "inverse_dynamics",
        duration: tuple[float, float] | None = None,
        stabilisation: float = 20.0,
    ) -> None:
        self.robot = robot if isinstance(robot, Robot) else None
        self.formulation = formulation if isinstance(robot, Robot) else "ode"
        self.times = node_times(horizon, dt, grid)
        self.system = robot_system(robot, formulation, stabilisation) if isinstance(robot, Robot) else robot
        self._parameters: list[Parameter] = []
        self._costs: list[Cost] = []
        self._constraints: list[Constraint] = []
        self._initial_free = np.zeros(self.system.nx, dtype=bool)
        self._stages: Stages | None = None
        self._memory: Memory | None = None
        self._set: dict[str, Array] = {}
        self.duration_bounds = duration
        for name, expression in self.system.holds.items():
            self.add_constraint(name, expression, 0.0, 0.0, scale=_hold_scale(name, self.robot))
        if duration is not None:
            self._free_duration(duration)

    @classmethod
    def from_ode(
        cls,
        x: Expression,
        u: Expression,
        rate: Expression,
        theta: Expression | None = None,
        steps: int = 1,
        **grid: Any,
    ) -> Problem:
        """A problem of any ẋ = f(x, u, θ) in CasADi SX, integrated by Runge–Kutta of order 4.

        `steps` are taken in each interval; `grid` are the arguments horizon, dt, grid, duration of a Problem.

        >>> import casadi as ca
        >>> x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
        >>> problem = Problem.from_ode(x, u, ca.vertcat(x[1], u), horizon=10, dt=0.1)
        >>> problem.add_cost("state", x, 1.0, end_weight=10.0)
        >>> problem.add_cost("effort", u, 0.1)
        >>> problem.solve([1.0, 0.0]).success
        True
        """
        return cls(ode_system(x, u, rate, theta, steps), **grid)

    def _free_duration(self, bounds: tuple[float, float]) -> None:
        if np.shape(bounds) != (2,) or not 0 < bounds[0] < bounds[1] < np.inf:
            raise InputError(f"duration is a pair (s) with 0 < shortest < longest, got {bounds}")
        shortest, longest = bounds
        self.system = self.system.with_free_duration()
        self._initial_free = np.append(self._initial_free, True)
        self.times = self.times / self.times[-1]
        self.add_constraint("duration", self.duration, shortest, longest, on_path=False, scale=1 / longest)

    def __repr__(self) -> str:
        costs, constraints = (", ".join(t.name for t in terms) for terms in (self._costs, self._constraints))
        return f"Problem({self.intervals} intervals; costs: {costs}; constraints: {constraints})"

    # Symbols ---------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Expression:
        symbols = self.__dict__.get("system", None)
        if symbols is not None and name in symbols.symbols:
            return symbols.symbols[name]
        raise AttributeError(f"Problem has no attribute {name!r}")

    @property
    def x(self) -> Expression:
        """The symbol of a node's state."""
        return self.system.x

    @property
    def u(self) -> Expression:
        """The symbol of a node's control."""
        return self.system.u

    @property
    def intervals(self) -> int:
        """Number of intervals."""
        return len(self.times) - 1

    # Structure -------------------------------------------------------------------------------------------

    def set_initial(self, **fixed: ArrayLike) -> None:
        """Which parts of the initial state are given: `q=` and `v=` masks of nv booleans (or one for all).

        By default all are. Of an ODE the mask is `x=`. What is not given is found by the solver.
        """
        nv = self.system.nx if self.robot is None else self.robot.nv
        places = {"x": slice(0, nv)} if self.robot is None else {"q": slice(0, nv), "v": slice(nv, 2 * nv)}
        for name, mask in fixed.items():
            if name not in places:
                raise InputError(f"the initial state has no part {name!r}; there are: {', '.join(places)}")
            part = places[name]
            self._initial_free[part] = ~chosen_elements(mask, part.stop - part.start, f"initial {name}")
        self._changed()

    def _changed(self) -> None:
        self._stages = self._memory = None
        self._caches.clear()

    @property
    def stages(self) -> Stages:
        """The functions of a node, made when first asked for."""
        if self._stages is None:
            if not self._costs:
                raise InputError("the problem has no cost: add one, such as add_velocity_cost(1.0)")
            free = tuple(bool(f) for f in self._initial_free)
            self._stages = Stages(
                self.system, self._parameters, self._costs, self._constraints, free, best_lanes(self.system)
            )
        return self._stages

    @property
    def memory(self) -> Memory:
        """The numbers that `set` changes."""
        if self._memory is None:
            theta = np.zeros(self.system.theta.numel())
            if self.robot is not None and self.robot.selection.groups:
                theta = np.array(self.robot.parameters.values)
            self._memory = Memory.fresh(self.stages, self.intervals, theta)
            for name, value in self._set.items():  # from before the structure changed
                self._memory.set(name, value)
        return self._memory

    @cached_property
    def _caches(self) -> dict[Any, Any]:
        """What is made of the structure, until that changes."""
        return {}

    @property
    def engine(self) -> Engine:
        """Our solver, compiled for this problem when first asked for."""
        if "engine" not in self._caches:
            self._caches["engine"] = Engine(self.stages, np.diff(self.times))
        made: Engine = self._caches["engine"]
        return made

    def program(
        self, solver: str, max_iterations: int, tolerance: float, options: dict[str, Any]
    ) -> NonlinearProgram:
        """The nonlinear program for a solver of CasADi, made once for the same settings."""
        key = solver, max_iterations, tolerance, repr(options)
        if key not in self._caches:
            self._caches[key] = NonlinearProgram(self, solver, max_iterations, tolerance, options)
        made: NonlinearProgram = self._caches[key]
        return made

    @property
    def values(self) -> tuple[ca.Function, ca.Function]:
        """Cost, gap and rows of all nodes on the path, and of the last, on CasADi's virtual machine."""
        if "values" not in self._caches:
            path = self.stages.values().map("path", "serial", self.intervals, [4], [])
            self._caches["values"] = path, self.stages.end_values()
        made: tuple[ca.Function, ca.Function] = self._caches["values"]
        return made

    def motion(self, x: Array, u: Array, theta: Array) -> tuple[Array, Array]:
        """Accelerations and torques (intervals, nv) of a robot's trajectory."""
        if "motion" not in self._caches:
            system = self.system
            outputs = system.resolve([system.symbols["a"], system.symbols["tau"]])
            function = ca.Function("motion", [system.x, system.u, system.theta], outputs)
            self._caches["motion"] = function.map("all", "serial", self.intervals, [2], [])
        a, tau = self._caches["motion"](x[:-1].T, u.T, theta)
        return as_numbers(a), as_numbers(tau)

    @property
    def names(self) -> list[str]:
        """The names that `set` takes."""
        return self.memory.names

    def set(self, **values: ArrayLike) -> None:
        """Change targets, weights, bounds, θ or parameters of one's own, by name.

        A cost `tool` has the target `tool`, the weight `tool_weight` and at the end `tool_end_weight`; a
        constraint `torque` has `torque_lower` and `torque_upper`. Targets may have a row for each node.
        Values set here are those that the next `solve`, and a new Controller, start from.
        """
        for name, value in values.items():
            self.memory.set(name, value)
            self._set[name] = np.array(value, dtype=np.float64)

    # Solving ---------------------------------------------------------------------------------------------

    def solve(
        self,
        q0: ArrayLike,
        v0: ArrayLike | None = None,
        solver: str = "sqp",
        guess: Plan | None = None,
        max_iterations: int = 200,
        tolerance: float = 1e-6,
        options: Mapping[str, Any] | None = None,
    ) -> Plan:
        """Find a plan from a state.

        Args:
            q0, v0: the state of the first node (v0 zero when not given); of an ODE, x0.
            solver: "sqp" (ours, compiled, as the Controller uses it), or "ipopt" or "fatrop" of CasADi with
                exact second derivatives.
            guess: where to start; else the state held still.
            tolerance: of optimality and of constraints.
            options: for CasADi's solvers, theirs.

        A plan that failed says so in `status`, and names in `violations` the constraints it does not meet.
        """
        from helicoid.mpc.offline import solve

        return solve(
            self, initial_state(self, q0, v0), solver, guess, max_iterations, tolerance, dict(options or {})
        )

    def export_c(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the functions of the nodes as a C99 library (see docs/export.md), for a solver of one's own.

        `stage(x, u, x_next, p, theta, h)` gives cost, gradient and Gauss–Newton Hessian along z = (u, x), the
        gap of the dynamics and its derivative, and the rows of the constraints; those that bound single
        elements of z come first, `jacobian` is of the others. `end(x, p, theta)` is the same of the last.
        """
        from helicoid.mpc.exporting import export_c

        return export_c(self.stages, folder)

    def duration_of(self, x: Array) -> float:
        """By what a trajectory (nodes, ...) stretches the grid: its duration (s) where that is free, or 1."""
        if self.duration_bounds is None:
            return 1.0
        after = self.system.nu if "previous" in self.system.symbols else 0
        return float(x[0, self.system.x.numel() - 1 - after])


def _hold_scale(name: str, robot: Robot | None) -> float:
    """One over what counts as much: for forces of a robot its weight, for accelerations 10 m/s²."""
    if name != "unactuated" or robot is None:
        return 0.1
    weight = 9.81 * sum(body.inertia.mass for body in robot.model.bodies)
    return float(1 / max(weight, 1.0))
