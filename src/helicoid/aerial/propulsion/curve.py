"""Coefficients over the advance ratio or an angle: polynomials and lookup tables."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PchipInterpolator

from helicoid._typing import Array, Expression
from helicoid.aerial.checks import real_numbers
from helicoid.errors import InputError


@dataclass(frozen=True, eq=False)
class Polynomial:
    """Polynomial c₀ + c₁ J + c₂ J², of up to three coefficients."""

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.coefficients) <= 3 or not np.isfinite(self.coefficients).all():
            raise InputError(f"a coefficient over J has one to three finite numbers; got {self.coefficients}")

    def scaled(self, n: Expression, V: Expression, D: float) -> Expression:
        """n² c(J) with J = V / (n D), without a division and so defined at n = 0."""
        c0, c1, c2 = (*self.coefficients, 0.0, 0.0)[:3]
        result = c0 * n**2
        if c1:
            result = result + c1 / D * n * V
        return result + c2 / D**2 * V**2 if c2 else result

    def times(self, factor: float) -> Polynomial:
        """The curve times a factor."""
        return Polynomial(tuple(factor * c for c in self.coefficients))


@dataclass(frozen=True, eq=False)
class LookupTable:
    """Values at J (or α) with monotone cubic interpolation (Fritsch and Carlson 1980).

    Extrapolation is linear.
    """

    J: Array
    values: Array

    @staticmethod
    def of(J: ArrayLike, values: ArrayLike, what: str, over: str = "J") -> LookupTable:
        """A lookup table over `over`, with its numbers checked."""
        x, y = real_numbers(f"{what}: {over}", J), real_numbers(what, values)
        if x.ndim != 1 or x.shape != y.shape or len(x) < 2 or not np.isfinite([x, y]).all():
            raise InputError(
                f"{what}: {over} and values are columns of one length, two finite numbers or more"
            )
        if np.any(np.diff(x) <= 0):
            raise InputError(f"{what}: {over} must ascend")
        return LookupTable(x, y)

    def scaled(self, n: Expression, V: Expression, D: float) -> Expression:
        """n² c(J) with J = V / (n D), where n is at least 0.001 turns per second."""
        symbolic = isinstance(n, (ca.SX, ca.MX)) or isinstance(V, (ca.SX, ca.MX))
        n = ca.fmax(n, 1e-3) if symbolic else np.maximum(n, 1e-3)
        return n**2 * self.at(V / (n * D))

    def at(self, x: Expression) -> Expression:
        """The curve at x, numbers or symbols."""
        return self._symbolic(x) if isinstance(x, (ca.SX, ca.MX)) else self._numeric(np.asarray(x))

    def times(self, factor: float) -> LookupTable:
        """The curve times a factor."""
        return LookupTable(self.J, factor * self.values)

    def _pieces(self) -> tuple[Array, Array]:
        """Knots and cubics (4, pieces), of which the first and last are linear."""
        curve = PchipInterpolator(self.J, self.values)
        slope = curve.derivative()(self.J[[0, -1]])
        ends = np.zeros((4, 2))
        ends[2], ends[3] = slope, self.values[[0, -1]]
        cubics = np.column_stack([ends[:, 0], curve.c, ends[:, 1]])
        return np.concatenate([self.J[:1], self.J]), cubics

    def _numeric(self, J: Array) -> Array:
        knots, cubics = self._pieces()
        piece = np.searchsorted(self.J, J, side="right")
        x, c = J - knots[piece], cubics[:, piece]
        return np.asarray(((c[0] * x + c[1]) * x + c[2]) * x + c[3])

    def _symbolic(self, J: Expression) -> Expression:
        knots, cubics = self._pieces()
        rows = np.vstack([knots, cubics])
        chosen = [ca.SX(float(row[0])) for row in rows]
        for k, knot in enumerate(self.J):
            beyond = float(knot) <= J
            chosen = [
                one + beyond * float(step)
                for one, step in zip(chosen, rows[:, k + 1] - rows[:, k], strict=True)
            ]
        x, c = J - chosen[0], chosen[1:]
        return ((c[0] * x + c[1]) * x + c[2]) * x + c[3]


Curve = Polynomial | LookupTable
