"""An optimal control problem: a system, a grid, costs, constraints, and numbers that change at run time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.deprecation import warn_renamed
from helicoid.dynamics.physics import SMOOTHING
from helicoid.interrupts import interruptible
from helicoid.mpc.phases import ContactSchedule, Phase
from helicoid.mpc.plan import Plan, tables
from helicoid.mpc.solution import solve
from helicoid.mpc.solver.compiled import Compiled
from helicoid.mpc.solver.guess import Guess
from helicoid.mpc.structure import Structure, Term
from helicoid.mpc.system.forces import Forces
from helicoid.mpc.system.grid import node_times
from helicoid.mpc.system.initial import initial_state
from helicoid.mpc.system.ode_system import ode_system
from helicoid.mpc.system.parameter import parameter
from helicoid.mpc.system.robot_system import Formulation
from helicoid.mpc.system.stepping import Integrator
from helicoid.mpc.system.symbols import Symbols
from helicoid.mpc.system.system import System
from helicoid.mpc.terms import Terms
from helicoid.progress import Progress
from helicoid.robot import Robot
from helicoid.simulation.equations.actuated import ActuatedSystem


class Problem(Terms):
    """Minimise ∫ ℓ(x, u) dt + ℓ_end(x) over a grid of nodes, subject to the dynamics and to constraints.

    Args:
        robot: a robot; a vehicle, such as `hc.aerial.load("hummingbird")`, whose controls are planned
            within their limits (the state is x = (q, v, states), steps are Runge–Kutta,
            `substeps` in an interval, and "auto" of `hessian` is "gauss_newton"); or a `System` of
            another kind (see `from_ode`).
        horizon: number of intervals; the grid has one node more.
        dt: length of an interval (s), or
        grid: times of the nodes (s), from zero on; then `horizon` is not given.
        formulation: "inverse_dynamics" (accelerations are the controls, torque follows; fastest) or
            "forward_dynamics" (torques are the controls).
        duration: (shortest, longest) total time (s) if that is free; the grid is stretched. The plan has it
            as `t[-1]`, and the symbol `problem.duration` may be used in costs.
        stabilisation: Baumgarte's stabilisation of a constrained robot's constraints (1/s).
        hessian: the second derivatives that the solver uses. "auto" includes those of residuals of positions
            and orientations, so that a controller settles at targets out of reach; and in `solve` and the
            first step of a controller those of dynamics, torques and constraints, as far as the Hessian is
            convex: for forward dynamics and ODEs, and for arms of up to 8 joints that have not converged
            after 15 iterations. "exact" includes the latter for all robots from the first iteration on:
            fewer iterations, each of them slower. "gauss_newton" includes none.
        integrator: of a robot, "constant_acceleration": q⁺ = q ⊕ (h v + ½ h² a), exact between nodes for the
            planned accelerations, so that what stops at a limit in the plan stops there; or "semi_implicit"
            Euler, q⁺ = q ⊕ h v⁺, which other solvers use. Both are of order 1 where torques are the controls;
            there "rk4" is of order 4, for robots without quaternions and constraints.
        phases: contact schedule, see `Phase`; switching times are rounded to nodes, and `horizon`, if not
            given, is that of all phases. Feet in stance do not move, and touch down with zero velocity
            at the height of the ground; their forces are controls, and zero in swing.
        cyclic: whether the phases repeat, as in a gait; else the last one continues.
        foot_radius: of feet that are balls around their frames (m).
        substeps: how many steps of the integrator an interval has where torques are the controls.
        friction: whether the joints' friction counts, as in `simulate`: `plan.tau` is
            `robot.inverse_dynamics(q, v, a, friction=True)`, in limits, costs and the torque of a controller.
            Springs and armature always count. Where torques are the controls, they are those beyond friction.
        smoothing: velocity (rad/s, m/s) over which dry friction changes its sign in plans, and in the torque
            that a controller applies. None is 0.01, as of `robot.inverse_dynamics`, in plans, and in the
            applied torque 0.05 rad/s² (m/s²) times the first interval.

    The state is x = (q, v), the step v⁺ = v + h a and q⁺ as the integrator says. Costs on the path are
    multiplied by the length of their interval. Symbols for user-defined expressions: `problem.q`, `.v`, `.a`,
    `.tau` of a node, or `.x`, `.u`. Targets, weights and bounds are parameters with names: see `set`.

    All constraints take `soft`: None for a hard one, else the price of exceeding it by one scaled unit, or a
    pair (price, price of the square). A problem can be pickled and copied; a copy has its own symbols.

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

    @interruptible()
    def __init__(
        self,
        robot: Robot | System | ActuatedSystem,
        horizon: int | None = None,
        dt: float | None = None,
        grid: ArrayLike | None = None,
        formulation: Formulation = "inverse_dynamics",
        duration: tuple[float, float] | None = None,
        stabilisation: float = 20.0,
        hessian: Literal["auto", "exact", "gauss_newton"] = "auto",
        integrator: Integrator = "constant_acceleration",
        phases: Sequence[Phase] | None = None,
        cyclic: bool = False,
        foot_radius: float = 0.0,
        substeps: int = 1,
        friction: bool = True,
        smoothing: float | None = None,
    ) -> None:
        schedule = None if phases is None else ContactSchedule.of(phases, cyclic, foot_radius)
        if schedule is not None and horizon is None and grid is None and dt is not None:
            horizon = schedule.intervals(dt)
        times = node_times(horizon, dt, grid)
        self._numbers: dict[str, Any] = {}
        self._become(
            Structure.of(
                *(robot, times, formulation, duration, stabilisation, hessian, integrator, schedule),
                *(substeps, friction, smoothing),
            )
        )

    def _become(self, structure: Structure) -> None:
        """Take another structure; existing controllers keep theirs."""
        self._compiled = Compiled(structure, self._numbers)

    @property
    def _structure(self) -> Structure:
        return self._compiled.structure

    def __getstate__(self) -> dict[str, Any]:
        return {"structure": self._structure, "numbers": self._numbers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._numbers = state["numbers"]
        self._become(state["structure"])

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
        >>> import helicoid as hc
        >>> x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
        >>> problem = hc.mpc.Problem.from_ode(x, u, ca.vertcat(x[1], u), horizon=10, dt=0.1)
        >>> problem.add_cost("state", x, 1.0, end_weight=10.0)
        >>> problem.add_cost("effort", u, 0.1)
        >>> problem.solve([1.0, 0.0]).success
        True
        """
        return cls(ode_system(x, u, rate, theta, steps), **grid)

    def __repr__(self) -> str:
        one = self._structure
        of = f"{one.robot.name!r}, " if one.robot is not None else ""
        terms = "; ".join(
            f"{kind}: {', '.join(term.name for term in found) or 'none'}"
            for kind, found in (("costs", one.costs), ("constraints", one.constraints))
        )
        return f"Problem({of}{self.intervals} intervals; {terms})"

    def _repr_html_(self) -> str:
        return tables.problem(self._structure)

    # Properties ------------------------------------------------------------------------------------------

    @property
    def robot(self) -> Robot | None:
        """The robot that moves; None for a system of another kind."""
        return self._structure.robot

    @property
    def system(self) -> System:
        """The step x⁺ = F(x, u, h) and its symbols."""
        return self._structure.system

    @property
    def formulation(self) -> str:
        """Formulation of a robot's dynamics; "ode" for another system."""
        return self._structure.formulation

    @property
    def times(self) -> Array:
        """Times of the nodes (s); from 0 to 1 where the duration is free."""
        return self._structure.times

    @property
    def intervals(self) -> int:
        """Number of intervals."""
        return self._structure.intervals

    @property
    def duration_bounds(self) -> tuple[float, float] | None:
        """(shortest, longest) total time (s) where that is free."""
        return self._structure.duration_bounds

    @property
    def friction(self) -> bool:
        """Whether the joints' friction counts; False for systems that are no robot."""
        own = self._structure.friction
        return own is not None and own.on

    @property
    def smoothing(self) -> float:
        """Velocity (rad/s, m/s) over which dry friction changes its sign in a plan."""
        own = self._structure.friction
        return SMOOTHING if own is None else own.smoothing

    # Symbols ---------------------------------------------------------------------------------------------

    @property
    def symbols(self) -> Symbols:
        """The first argument of the functions in `helicoid.mpc.costs` and `helicoid.mpc.constraints`."""
        return self._structure.symbols

    def _symbol(self, name: str) -> Expression:
        if name not in self.symbols:
            there = ", ".join(self.system.symbols)
            raise AttributeError(f"this problem has no symbol {name!r}; there are: {there}")
        return self.symbols[name]

    @property
    def x(self) -> Expression:
        """The symbol of a node's state."""
        return self.system.x

    @property
    def u(self) -> Expression:
        """The symbol of a node's control."""
        return self.system.u

    @property
    def q(self) -> Expression:
        """The symbol of a robot's configuration (nq)."""
        return self._symbol("q")

    @property
    def v(self) -> Expression:
        """The symbol of a robot's velocity (nv)."""
        return self._symbol("v")

    @property
    def a(self) -> Expression:
        """The symbol of a robot's acceleration (nv)."""
        return self._symbol("a")

    @property
    def tau(self) -> Expression:
        """The symbol of a robot's torque (nv)."""
        return self._symbol("tau")

    @property
    def forces(self) -> Forces:
        """The force of each contact on the robot (N) by name: expressions for costs and constraints.

        A point has a force (3) in the world's axes, a surface a wrench (n, f) (6) about its point. Contacts
        are named as in `robot.constraints`, less the `_contact` behind a link's name: that of
        `robot.with_contact("FL_foot")` is `problem.forces["FL_foot"]`. A closed loop or an equation of one's
        own has -λ of τ = ID(q, v, a) + Aᵀ λ.
        """
        return self.symbols.forces

    @property
    def duration(self) -> Expression:
        """The symbol of the total time (s) where that is free."""
        return self._symbol("duration")

    def parameter(self, name: str, value: ArrayLike) -> Expression:
        """Symbol of a named number or vector for user-defined expressions.

        `value` is the initial one, the same for all nodes; `set` takes a row for each node too.
        """
        made = parameter(name, value, self.intervals + 1)
        self._become(self._structure.with_parameter(made))
        return made.symbol

    # Structure -------------------------------------------------------------------------------------------

    @interruptible()
    def add(self, *terms: Term) -> None:
        """Add costs and constraints, all or none; `helicoid.mpc.costs` and `.constraints` make them.

        >>> import helicoid as hc
        >>> from helicoid.mpc.costs import cost_of
        >>> problem = hc.mpc.Problem(hc.load("planar_2r"), horizon=10, dt=0.05)
        >>> problem.add(cost_of(problem.symbols, "swing", problem.v[0] - 1.0, weight=1.0))
        >>> problem
        Problem('planar_2r', 10 intervals; costs: swing; constraints: none)
        """
        self._become(self._structure.with_terms(terms))

    def set_initial(self, **fixed: ArrayLike) -> None:
        """Choose the given parts of the initial state: `q=` and `v=` masks of nv booleans (or one for all).

        By default all are. Of an ODE the mask is `x=`. What is not given is found by the solver.
        """
        self._become(self._structure.with_initial(**fixed))

    def set_final(self, *args: Any, **kwargs: Any) -> None:
        """Former name of `set_end`."""
        warn_renamed("Problem.set_final", "set_end")
        self.set_end(*args, **kwargs)

    # Numbers ---------------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """The names that `set` takes."""
        return self._compiled.memory.names

    def set(self, **values: Any) -> None:
        """Change targets, weights, bounds, θ or user parameters, by name.

        A cost `tool` has the target `tool`, the weight `tool_weight` and at the end `tool_end_weight`; a
        constraint `torque` has `torque_lower` and `torque_upper`. Targets may have a row for each node.
        Values set here are those that the next `solve`, and a new Controller, start from.

        Of a problem with phases, `phases` are others for the same feet, with any durations, contacts and
        steps; `phase_time` (s) is where in them the grid begins, zero with new phases; `ground_height` (m) is
        that of the ground.

        Raises:
            InputError: a name is unknown; a value has the wrong size or is not finite (infinite bounds stand
                for none); a weight is negative; a lower bound is above its upper one. Nothing has changed.
        """
        self._compiled.memory.set(values)
        kept = {name: value if name == "phases" else np.array(value, float) for name, value in values.items()}
        if "phases" in kept:
            self._numbers.pop("phase_time", None)  # new phases start at time 0
        self._numbers.update(kept)

    # Solving ---------------------------------------------------------------------------------------------

    def solve(
        self,
        q0: ArrayLike,
        v0: ArrayLike | None = None,
        solver: str = "sqp",
        guess: Guess | None = None,
        max_iterations: int = 200,
        tolerance: float = 1e-6,
        options: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> Plan:
        """Find a plan from a state.

        Args:
            q0, v0: the state of the first node (v0 zero when not given); of an ODE, x0.
            solver: "sqp" (ours, compiled, as the Controller uses it), or "ipopt" or "fatrop" of CasADi with
                exact second derivatives.
            guess: where to start; else the state held still. A `Plan`, a `Trajectory` or a `Log`, at whose
                times the grid is filled (before and after, it stays); an array of q (rows, nq), spread evenly
                over the horizon, or one q (nq), to which a straight line leads; or a dict with some of q, v,
                a, tau and u, and t or duration where these matter. What is missing follows by differences.
                Of an ODE: a `Plan`, an array of x, or a dict with x and u.
            tolerance: of optimality and of constraints.
            options: for CasADi's solvers, theirs.
            progress: whether and where to report progress; see `helicoid.progress`.

        A plan that failed says so in `message`, and names in `violations` the constraints it does not meet.
        """
        x0 = initial_state(self._structure, q0, v0)
        return solve(
            self._compiled, x0, solver, guess, max_iterations, tolerance, dict(options or {}), progress
        )

    def compile(self) -> None:
        """Compile the solver now instead of at the first solution or controller."""
        _ = self._compiled.engine

    def export_c(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the functions of the nodes as a C99 library, for another solver (see docs/how-to/export.md).

        `stage(x, u, x_next, p, theta, h)` gives cost, gradient and Hessian along z = (u, x), the
        gap of the dynamics and its derivative, and the rows of the constraints; those that bound single
        elements of z come first, `jacobian` is of the others. `end(x, p, theta)` gives both of the last node.
        """
        from helicoid.mpc.export.functions import export_c

        return export_c(self._compiled.stages, folder)
