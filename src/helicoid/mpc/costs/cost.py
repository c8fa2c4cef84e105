"""A cost: the weighted square of a residual, or a scalar; weights change at run time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.arrays import float_array
from helicoid.errors import InputError
from helicoid.mpc.system.parameter import AT_END, ON_PATH, Parameter
from helicoid.mpc.system.symbols import Symbols, column
from helicoid.mpc.system.system import State


@dataclass(frozen=True, eq=False)
class Cost:
    """½ Σ w r² of a residual r (`square`), or the expression itself times w; w is a parameter.

    On the path it is integrated: multiplied by the length of each interval. `on_path` and `at_end` say where
    it applies. `parameters` are others, such as a target, and `states` additional states of the problem.
    """

    name: str
    expression: Expression
    weight: Parameter
    square: bool
    on_path: bool
    at_end: bool
    parameters: tuple[Parameter, ...] = ()
    states: tuple[State, ...] = ()

    @property
    def value(self) -> Expression:
        """The cost at a node."""
        w = self.weight.symbol
        if self.square:
            return 0.5 * ca.dot(w * ca.SX.ones(self.expression.numel()), self.expression**2)
        return w * self.expression


def cost_of(
    symbols: Symbols,
    name: str,
    expression: Expression,
    weight: ArrayLike,
    end_weight: ArrayLike | None = None,
    square: bool = True,
    parameters: Sequence[Parameter] = (),
    states: Sequence[State] = (),
) -> Cost:
    """½ w |r|² of any residual r of the symbols, on the path and, with `end_weight`, at the end.

    With `square=False` the cost is w times the expression, a number, by its exact second derivatives, which
    should be positive semidefinite where it matters. A weight is a number or one for each element; where it
    is zero, on the path or at the end, the cost is left out and `set` cannot bring it in. `parameters` and
    `states` are those that the expression has and the problem does not know yet.
    """
    what = f"cost {name!r}"
    residual = column(expression, what)
    if not square and residual.numel() != 1:
        raise InputError(f"{what}: needs a number if not square, got {residual.shape}")
    values = _weights(symbols, what, residual.numel(), weight, end_weight)
    at_end = bool(np.any(values[-1] != 0))
    if at_end and symbols.needs_control(residual):
        raise InputError(f"{what} depends on the control, which the last node does not have")
    on_path = bool(np.any(values[0] != 0)) or not at_end
    names = ({f"{name}_weight": ON_PATH} if on_path else {}) | (
        {f"{name}_end_weight": AT_END} if at_end else {}
    )
    w = Parameter(f"{name}_weight", ca.SX.sym(f"{name}_weight", values.shape[1]), values, names)
    return Cost(name, residual, w, square, on_path, at_end, tuple(parameters), tuple(states))


def _weights(symbols: Symbols, what: str, n: int, weight: ArrayLike, end_weight: ArrayLike | None) -> Array:
    """The weights of all nodes, a row for each."""
    given = (weight, 0.0 if end_weight is None else end_weight)
    path, end = (float_array(w, f"{what}: weights are numbers") for w in given)
    size = max(path.size, end.size)
    if size not in (1, n) or any(w.shape not in ((), (1,), (size,)) for w in (path, end)):
        raise InputError(f"{what}: weight must have 1 or {n} numbers, got shapes {path.shape}, {end.shape}")
    values = np.tile(np.broadcast_to(path, (size,)), (symbols.nodes, 1))
    values[-1] = end
    if not np.all(values >= 0) or not np.isfinite(values).all():
        raise InputError(f"{what}: weights must be finite and not negative")
    return values
