"""Symbols of a node, of which costs and constraints are expressions, and the robot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
from numpy.typing import ArrayLike

from helicoid._typing import Expression
from helicoid.errors import InputError
from helicoid.mpc.system.forces import Forces, from_symbols
from helicoid.mpc.system.joint_friction import JointFriction
from helicoid.mpc.system.parameter import Parameter, parameter
from helicoid.mpc.system.system import System

if TYPE_CHECKING:
    from helicoid.mpc.phases import ContactSchedule
    from helicoid.robot import Robot


@dataclass(frozen=True, eq=False)
class Symbols:
    """The symbols of a problem's node by name, `symbols["q"]`; `nodes` is how many of them the grid has.

    `taken` are the names that costs and constraints have already.
    Of a robot there are q, v, a, tau, of an ODE x and u; `duration` where that is free. `forces` has those of
    contacts, `schedule` says which feet come and go, `friction` is that of a robot's joints.
    """

    system: System
    nodes: int
    own_robot: Robot | None = None
    taken: frozenset[str] = frozenset()
    schedule: ContactSchedule | None = None
    friction: JointFriction | None = None

    @property
    def robot(self) -> Robot:
        """The robot.

        Raises:
            InputError: there is none, the system is an ODE.
        """
        if self.own_robot is None:
            raise InputError("this term needs a robot; of an ODE, use add_cost and add_constraint")
        return self.own_robot

    def __contains__(self, name: object) -> bool:
        return name in self.system.symbols

    def __getitem__(self, name: str) -> Expression:
        if name not in self.system.symbols:
            there = ", ".join(self.system.symbols)
            raise InputError(f"this problem has no symbol {name!r}; there are: {there}")
        return self.system.symbols[name]

    @property
    def forces(self) -> Forces:
        """The force of each contact on the robot (N) by name; see `Problem.forces`."""
        return from_symbols(self.system.symbols)

    def parameter(self, name: str, value: ArrayLike, size: int | None = None) -> Parameter:
        """A vector that `Problem.set` changes, such as a target; see `parameter`."""
        return parameter(name, value, self.nodes, size)

    def needs_control(self, expression: Expression) -> bool:
        """Whether an expression depends on the control, which the last node does not have."""
        system = self.system
        symbols = ca.vertcat(system.u, *(y.symbol for y in system.intermediates))
        return bool(ca.depends_on(expression, symbols))

    def needs_state(self, expression: Expression) -> bool:
        """Whether an expression depends on the state other than by an intermediate, such as the torque."""
        return bool(ca.depends_on(expression, self.system.x))

    def unknown(self, expression: Expression, more: Iterable[Expression]) -> list[str]:
        """The names of symbols in an expression that are neither the system's nor among `more`."""
        known = [*self.system.atoms, *more]
        return [str(one) for one in ca.Function("f", known, [expression], {"allow_free": True}).get_free()]


def column(expression: Expression, what: str) -> Expression:
    """An expression as a column of SX.

    Raises:
        InputError: it is of another kind, empty or a matrix.
    """
    try:
        result = ca.SX(expression)
    except NotImplementedError:
        kind = type(expression).__name__
        raise InputError(f"{what}: needs CasADi SX of the problem's symbols, got {kind}") from None
    if result.numel() == 0:
        raise InputError(f"{what}: it is empty, so there is nothing to weight or to bound; leave it out")
    if result.shape[1] != 1:
        raise InputError(f"{what}: needs a column, got shape {result.shape}")
    return result
