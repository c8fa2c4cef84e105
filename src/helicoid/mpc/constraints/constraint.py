"""A constraint: bounds on an expression, hard or at a price, which change at run time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.errors import InputError
from helicoid.mpc.system.parameter import Parameter, vector
from helicoid.mpc.system.symbols import Symbols, column
from helicoid.mpc.system.system import Intermediate, State

Soft = float | tuple[float, float] | None
"""None for a hard constraint, else the price of exceeding it by one scaled unit, or (price, price2)."""

LEAST_LINEAR_PRICE = 1e-6
"""Of price2: multipliers of the interior point lie between zero and the linear price."""

PHYSICAL = 100.0
"""The priority of what cannot be otherwise: bounds of controls, such as torque, and what holds a robot."""


class Refresh(Protocol):
    """Numbers of a parameter that are computed at the plan before each linearisation."""

    @property
    def parameter(self) -> str:
        """The name of the parameter."""

    def values(self, x: Array) -> Array:
        """Its rows (nodes, size) at states x (nodes, nx)."""


class Role(NamedTuple):
    """Role of the rows of a constraint for a contact: "force", "velocity", "position" or "cone".

    Its bounds follow the schedule of a problem with phases.
    """

    kind: str
    contact: str


@dataclass(frozen=True, eq=False)
class Constraint:
    """lower ≤ expression ≤ upper, row by row; infinite where there is none.

    `scale` makes rows comparable: a row is of order one when its bound matters. `price` and `price2` are the
    weights of the excess s of a soft constraint, price · s + ½ price2 · s² with s in units of the scaled row;
    price is None for a hard one. Of hard ones that cannot all be met, those of the highest `priority` are: it
    multiplies their price. `parameters` are those that it brings along, such as a target, and `states`
    what it needs the problem to carry from node to node. A `role` is of rows that come and go with a contact.
    `intermediates` are symbols in its expression that stand for something whose derivative is known.
    `refresh` has the numbers of one of its parameters that depend on the plan.
    """

    name: str
    expression: Expression
    lower: Array
    upper: Array
    scale: Array
    on_path: bool
    at_end: bool
    price: float | None
    price2: float
    labels: tuple[str, ...]
    parameters: tuple[Parameter, ...] = ()
    states: tuple[State, ...] = ()
    priority: float = 1.0
    role: Role | None = None
    intermediates: tuple[Intermediate, ...] = ()
    refresh: Refresh | None = None

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.scale)


def constraint_on(
    symbols: Symbols,
    name: str,
    expression: Expression,
    lower: ArrayLike = -np.inf,
    upper: ArrayLike = np.inf,
    soft: Soft = None,
    on_path: bool = True,
    at_end: bool | None = None,
    scale: ArrayLike = 1.0,
    labels: Sequence[str] | None = None,
    parameters: Sequence[Parameter] = (),
    states: Sequence[State] = (),
) -> Constraint:
    """lower ≤ expression ≤ upper for any expression of the symbols; equal bounds fix it.

    It holds at every node on the path (at the first, whose state is given, only if the control enters) and at
    the end, unless it depends on the control. `scale` multiplies the rows, to make them of order one. Bounds
    change at run time as `<name>_lower` and `<name>_upper`. `soft` is None for a hard constraint, else the
    price of exceeding it by one scaled unit, or a pair (price, price of the square). Of hard constraints
    that cannot all be met, those on controls (and torque) alone are kept before the others. `parameters` and
    `states` are those that the expression has and the problem does not know yet.
    """
    what = f"constraint {name!r}"
    rows = column(expression, what)
    controlled = symbols.needs_control(rows)
    if at_end and controlled:
        raise InputError(f"{what} depends on the control, which the last node does not have")
    ends = (not controlled) if at_end is None else at_end
    if not on_path and not ends:
        raise InputError(f"{what} would hold nowhere: neither on the path nor at the end")
    size = rows.numel()
    low, high = (vector(bound, size, what, infinite=True) for bound in (lower, upper))
    if np.any(low > high):
        raise InputError(f"{what}: lower bounds exceed upper bounds in {low} and {high}")
    price, price2 = soft if isinstance(soft, tuple) else (soft, 0.0)
    if price is not None and not (price >= 0 and price2 >= 0 and 0 < price + price2 < np.inf):
        raise InputError(f"{what}: the price of a soft constraint must be positive, got {soft}")
    if price is not None:
        price = max(price, LEAST_LINEAR_PRICE * price2)
    shown = tuple(labels) if labels is not None else tuple(f"row {k}" for k in range(size))
    factors = vector(scale, size, f"{what}: scale")
    if len(shown) != size or not np.all(factors > 0):
        raise InputError(f"{what}: needs {size} labels and positive scales")
    of_control = controlled and not symbols.needs_state(rows)
    more = tuple(parameters), tuple(states), PHYSICAL if of_control else 1.0
    return Constraint(name, rows, low, high, factors, on_path, ends, price, price2, shown, *more)
