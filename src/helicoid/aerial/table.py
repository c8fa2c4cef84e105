"""Tables over several quantities, such as α, β, a deflection and Mach number, with linear interpolation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.errors import InputError

QUANTITIES = ("alpha", "beta", "mach", "delta_e", "delta_a", "delta_r", "throttle", "altitude")
"""Quantities over which tables may be: rad, Mach number, throttle from 0 to 1, and altitude (m)."""


class Table:
    """Table over one or more quantities: multilinear between its points, linear beyond them.

    Args:
        axes: ascending values of each quantity by name, in the order of the axes of `values`.
        values: one number for every combination.

    Piecewise linear functions are sums of ramps, f(x) = c₀ + c₁ (x - x₀) + Σ cₖ max(0, x - xₖ), so that the
    interpolation is one expression without branches, for NumPy and CasADi alike.

    >>> table = Table({"alpha": [0.0, 0.1, 0.3], "mach": [0.2, 0.8]}, [[0, 1], [2, 3], [4, 9]])
    >>> print(round(float(table.at({"alpha": 0.2, "mach": 0.5})), 12))
    4.5
    """

    def __init__(self, axes: Mapping[str, ArrayLike], values: ArrayLike) -> None:
        if not isinstance(axes, Mapping) or not axes:
            raise InputError(f"a table's axes are values by name of a quantity; got {axes!r}")
        unknown = [name for name in axes if name not in QUANTITIES]
        if unknown:
            raise InputError(f"a table is over {', '.join(QUANTITIES)}; got {unknown[0]!r}")
        self.over = tuple(axes)
        self.axes = tuple(_finite(f"table over {name}", x) for name, x in axes.items())
        self.values = _finite(f"table over {', '.join(axes)}", values)
        for name, x in zip(self.over, self.axes, strict=True):
            if x.ndim != 1 or len(x) < 2 or np.any(np.diff(x) <= 0):
                raise InputError(f"a table's {name} are two or more values that ascend; got {x!r}")
        shape = tuple(len(x) for x in self.axes)
        if self.values.shape != shape:
            raise InputError(f"a table's values have shape {shape}; got {self.values.shape}")

    def __repr__(self) -> str:
        shape = " × ".join(str(len(x)) for x in self.axes)
        return f"Table(over {', '.join(self.over)}: {shape})"

    def times(self, factor: float) -> Table:
        """The table times a factor."""
        return Table(dict(zip(self.over, self.axes, strict=True)), factor * self.values)

    def at(self, x: Mapping[str, Any]) -> Expression:
        """Value at quantities by name, numbers or expressions."""
        bases = [_basis(knots, x[name]) for name, knots in zip(self.over, self.axes, strict=True)]
        return _contracted(self._ramps(), bases)

    def _ramps(self) -> Array:
        """Coefficients of products of ramps."""
        c = self.values
        for k, knots in enumerate(self.axes):
            slopes = np.diff(c, axis=k) / np.diff(knots).reshape([-1 if i == k else 1 for i in range(c.ndim)])
            first = np.take(c, [0], axis=k), np.take(slopes, [0], axis=k)
            c = np.concatenate([*first, np.diff(slopes, axis=k)], axis=k)
        return c


def _contracted(c: Array, bases: list[list[Any]]) -> Any:
    """Σ c[i, j, ...] bases[0][i] bases[1][j] ..., without terms that are zero."""
    if not bases:
        return float(c)
    parts = [f * _contracted(part, bases[1:]) for f, part in zip(bases[0], c, strict=True) if np.any(part)]
    return sum(parts) if parts else 0.0 * bases[0][1]


def _basis(knots: Array, x: Any) -> list[Any]:
    larger = ca.fmax if isinstance(x, (ca.SX, ca.MX)) else np.maximum
    return [1.0, x - knots[0], *(larger(x - float(knot), 0.0) for knot in knots[1:-1])]


def _finite(what: str, given: ArrayLike) -> Array:
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.full(1, np.nan)
    if not np.isfinite(array).all():
        raise InputError(f"{what}: finite numbers; got {given!r}")
    return array
