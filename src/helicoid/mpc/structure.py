"""Structure of a problem, immutable: additions give another structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.errors import InputError
from helicoid.mpc.constraints import (
    Constraint,
    control_limit,
    duration_constraint,
    foot_constraints,
    hold_constraints,
)
from helicoid.mpc.costs import Cost
from helicoid.mpc.phases import ContactSchedule
from helicoid.mpc.system.actuated_system import actuated_system
from helicoid.mpc.system.joint_friction import JointFriction, joint_friction_of
from helicoid.mpc.system.parameter import Parameter, mask
from helicoid.mpc.system.robot_system import Formulation, robot_system
from helicoid.mpc.system.stepping import Integrator
from helicoid.mpc.system.symbols import Symbols
from helicoid.mpc.system.system import State, System
from helicoid.robot import Robot
from helicoid.simulation.equations.actuated import ActuatedSystem, is_actuated_system

Term = Cost | Constraint


@dataclass(frozen=True, eq=False)
class Structure:
    """A system on a grid of times (s), its parameters, costs and constraints.

    `initial_free` says which elements of the first state, in its tangent space, are not given. Of the state's
    coordinates the first `n_measured` are those of the system itself; behind them is what the problem adds, a
    free duration first.
    """

    robot: Robot | None
    formulation: str
    times: Array
    system: System
    n_measured: int
    initial_free: tuple[bool, ...]
    duration_bounds: tuple[float, float] | None = None
    parameters: tuple[Parameter, ...] = ()
    costs: tuple[Cost, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    hessian: str = "auto"
    schedule: ContactSchedule | None = None
    carried: Robot | None = None
    """The robot of an actuated system, which has controls and states of its own; `robot` is then None."""
    friction: JointFriction | None = None
    """Friction of a robot's joints."""

    @staticmethod
    def of(
        moved: Robot | System | ActuatedSystem,
        times: Array,
        formulation: Formulation,
        duration: tuple[float, float] | None,
        stabilisation: float,
        hessian: str = "auto",
        integrator: Integrator = "constant_acceleration",
        schedule: ContactSchedule | None = None,
        substeps: int = 1,
        friction: bool = True,
        smoothing: float | None = None,
    ) -> Structure:
        """A problem without costs, with the constraints of its system and its duration."""
        if hessian not in ("auto", "exact", "gauss_newton"):
            raise InputError(f"hessian is 'auto', 'exact' or 'gauss_newton', got {hessian!r}")
        vehicle = moved if is_actuated_system(moved) else None
        if not isinstance(moved, (Robot, System)) and vehicle is None:
            raise InputError(
                f"a problem moves a Robot, as hc.load gives it, a vehicle or a System; got {moved!r}"
            )
        robot = moved if isinstance(moved, Robot) else None
        if robot is None and (smoothing is not None or not friction):
            raise InputError("friction and smoothing are options of a robot's problem; leave them out")
        if schedule is not None and (robot is None or duration is not None):
            raise InputError("phases are of a robot, and of a duration that is not free")
        joint_friction = None
        if isinstance(moved, Robot):
            is_free = duration is not None
            joint_friction = _friction(moved, times, duration, friction, smoothing)
            system = robot_system(
                moved, formulation, stabilisation, integrator, schedule, substeps, is_free, joint_friction
            )
        elif vehicle is not None:
            system = actuated_system(vehicle, substeps)
            hessian = "gauss_newton" if hessian == "auto" else hessian
        else:
            assert isinstance(moved, System)
            system = moved
        kind = "ode" if robot is None else formulation
        made = Structure(
            robot,
            kind,
            times,
            system,
            int(system.x.numel()),
            (False,) * system.nx,
            hessian=hessian,
            schedule=schedule,
            carried=None if vehicle is None else vehicle.robot,
            friction=joint_friction,
        )
        made = made.with_terms(hold_constraints(made.symbols))
        if vehicle is not None:
            made = made.with_terms(control_limit(made.symbols, vehicle))
        if schedule is not None:
            made = made.with_terms(foot_constraints(made.symbols, schedule))
        return made if duration is None else made._with_free_duration(duration)

    def _with_free_duration(self, bounds: tuple[float, float]) -> Structure:
        if np.shape(bounds) != (2,) or not 0 < bounds[0] < bounds[1] < np.inf:
            raise InputError(f"duration is a pair (s) with 0 < shortest < longest, got {bounds}")
        made = replace(
            self,
            system=self.system.with_free_duration(),
            initial_free=(*self.initial_free, True),
            times=self.times / self.times[-1],
            duration_bounds=bounds,
        )
        return made.with_terms([duration_constraint(made.symbols, *bounds)])

    # Reading ---------------------------------------------------------------------------------------------

    @cached_property
    def symbols(self) -> Symbols:
        """The symbols of its costs and constraints."""
        terms: list[Term] = [*self.costs, *self.constraints]
        taken = frozenset(term.name for term in terms)
        whose = self.robot if self.carried is None else self.carried
        return Symbols(self.system, len(self.times), whose, taken, self.schedule, self.friction)

    @property
    def intervals(self) -> int:
        """Number of intervals."""
        return len(self.times) - 1

    def duration_of(self, x: Array) -> float:
        """Factor of a trajectory (nodes, ...) on the grid: its duration (s) where that is free, or 1."""
        if self.duration_bounds is None:
            return 1.0
        return float(x[0, self.n_measured])

    # Adding ----------------------------------------------------------------------------------------------

    def with_parameter(self, parameter: Parameter) -> Structure:
        """Add a number or vector that changes at run time."""
        taken = {one.name for one in self.parameters} | {"theta"}
        if not parameter.name.isidentifier() or parameter.name in taken:
            raise InputError(
                f"{parameter.name!r} is taken or is no identifier: name the term otherwise with name=..."
            )
        return replace(self, parameters=(*self.parameters, parameter))

    def with_terms(self, terms: Sequence[Term]) -> Structure:
        """Add costs and constraints, with their parameters and states."""
        made = self
        for term in terms:
            if not isinstance(term, (Cost, Constraint)):
                raise InputError(f"add takes costs and constraints of helicoid.mpc, got {term!r}")
            made = made._with_term(term)
        return made

    def _with_term(self, term: Term) -> Structure:
        made = self
        for parameter in term.parameters:
            made = made.with_parameter(parameter)
        for state in term.states:
            made = made._with_state(state)
        if isinstance(term, Constraint) and term.intermediates:
            known = (*made.system.intermediates, *term.intermediates)
            made = replace(made, system=replace(made.system, intermediates=known))
        made._check_symbols(term)
        bare = replace(term, states=())
        if isinstance(bare, Cost):
            return replace(made.with_parameter(bare.weight), costs=(*made.costs, bare))
        bare, name = replace(bare, intermediates=()), bare.name
        if not name.isidentifier() or any(one.name == name for one in made.constraints):
            raise InputError(f"constraint {name!r}: needs a name that is an identifier and no other one has")
        return replace(made, constraints=(*made.constraints, bare))

    def _with_state(self, state: State) -> Structure:
        free = self.initial_free + (True,) * state.symbol.numel()
        return replace(self, system=self.system.with_state(state), initial_free=free)

    def _check_symbols(self, term: Term) -> None:
        unknown = self.symbols.unknown(term.expression, (one.symbol for one in self.parameters))
        if unknown:
            kind = "cost" if isinstance(term, Cost) else "constraint"
            raise InputError(
                f"{kind} {term.name!r}: {', '.join(unknown)} are no symbols of this problem; "
                "problem.parameter makes one for a number of your own"
            )

    def with_initial(self, **fixed: ArrayLike) -> Structure:
        """The same problem with other parts of the first state given: masks `q` and `v`, of an ODE `x`."""
        nv = self.system.nx if self.robot is None else self.robot.nv
        places = {"x": slice(0, nv)} if self.robot is None else {"q": slice(0, nv), "v": slice(nv, 2 * nv)}
        free = np.array(self.initial_free)
        for name, given in fixed.items():
            if name not in places:
                raise InputError(f"the initial state has no part {name!r}; there are: {', '.join(places)}")
            part = places[name]
            free[part] = ~mask(given, part.stop - part.start, f"initial {name}")
        return replace(self, initial_free=tuple(free.tolist()))

    # Copies ----------------------------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        # CasADi does not pickle symbols, but functions of them: a copy has symbols of its own.
        terms: list[Term] = [*self.costs, *self.constraints]
        inputs = [*self.system.atoms, *(one.symbol for one in self.parameters)]
        expressions = ca.Function("terms", inputs, [term.expression for term in terms])
        bare = self._rewritten([None] * len(self.parameters), [None] * len(terms))
        return _restored, (dict(vars(bare)), expressions)

    def _rewritten(self, symbols: Sequence[Expression], expressions: Sequence[Expression]) -> Structure:
        """The same problem with other symbols for its parameters and expressions for its terms."""
        new = {old: replace(old, symbol=symbol) for old, symbol in zip(self.parameters, symbols, strict=True)}
        values = iter(expressions)

        def renewed(term: Any, **more: Any) -> Any:
            own = tuple(new[one] for one in term.parameters)
            return replace(term, expression=next(values), parameters=own, **more)

        return replace(
            self,
            parameters=tuple(new.values()),
            costs=tuple(renewed(one, weight=new[one.weight]) for one in self.costs),
            constraints=tuple(renewed(one) for one in self.constraints),
        )


def _friction(
    robot: Robot,
    times: Array,
    duration: tuple[float, float] | None,
    friction: bool,
    smoothing: float | None,
) -> JointFriction:
    """The friction of a robot's joints on a grid of times."""
    share = float(times[1] / times[-1])
    interval = float(times[1]) if duration is None else float(np.mean(duration)) * share
    return joint_friction_of(robot, interval, friction, smoothing)


def _restored(fields: dict[str, Any], expressions: ca.Function) -> Structure:
    """Inverse of `Structure.__reduce__`."""
    bare = Structure(**fields)
    symbols = [ca.SX.sym(one.name, one.initial.shape[1]) for one in bare.parameters]
    return bare._rewritten(symbols, expressions.call([*bare.system.atoms, *symbols]))
