"""Random SX graphs over every operation that a program can hold, and points to evaluate them at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from hypothesis import strategies as st
from scipy import special

from helicoid._typing import Array

N_INPUTS = 4
ERFINV = 0  # its place among the outputs of `every_operation`

# Each takes values in [-1, 1] to values in [-1, 1] and is well conditioned there, so that rounding in a
# deep graph stays rounding.
_SMOOTH_1: dict[str, Callable[[Any], Any]] = {
    "neg": lambda a: -a,
    "exp": lambda a: ca.exp(a) / 3,
    "log": lambda a: ca.log(a + 2) / 1.2,
    "constpow": lambda a: (a + 2) ** 1.5 / 6,
    "sqrt": lambda a: ca.sqrt(a + 2) / 2,
    "sq": lambda a: a**2,
    "twice": lambda a: (a + a) / 2.5,
    "inv": lambda a: 1 / (a + 2),
    "sin": ca.sin,
    "cos": ca.cos,
    "tan": lambda a: ca.tan(a) / 1.6,
    "asin": lambda a: ca.asin(0.9 * a) / 1.2,
    "acos": lambda a: ca.acos(0.9 * a) / 3,
    "atan": ca.atan,
    "fabs": ca.fabs,
    "erf": ca.erf,
    "erfinv": lambda a: 3 * ca.erfinv(a / 3),  # CasADi's own is right to 1e-12 below 0.4 only
    "sinh": lambda a: ca.sinh(a) / 1.2,
    "cosh": lambda a: ca.cosh(a) / 1.6,
    "tanh": ca.tanh,
    "asinh": ca.asinh,
    "acosh": lambda a: ca.acosh(a + 2.1) / 2,
    "atanh": lambda a: ca.atanh(0.9 * a) / 1.5,
    "log1p": lambda a: ca.log1p(0.9 * a) / 2.4,
    "expm1": lambda a: ca.expm1(a) / 1.8,
}
_SMOOTH_2: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: 0.5 * (a + b),
    "sub": lambda a, b: 0.5 * (a - b),
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / (b + 2),
    "pow": lambda a, b: (a + 2) ** b / 3,
    "fmin": ca.fmin,
    "fmax": ca.fmax,
    "hypot": lambda a, b: ca.hypot(a, b) / 1.5,
    "atan2": lambda a, b: ca.atan2(a, b + 1.5),
}
# These jump: they are applied to inputs only, whose values are exact.
_JUMPING: dict[str, Callable[[Any, Any], Any]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "not": lambda a, _: ca.logic_not(a),
    "and": ca.logic_and,
    "or": ca.logic_or,
    "floor": lambda a, _: ca.floor(4 * a) / 4,
    "ceil": lambda a, _: ca.ceil(4 * a) / 4,
    "fmod": lambda a, b: ca.fmod(4 * a, b + 1.5) / 4,
    "remainder": lambda a, b: ca.remainder(4 * a, b + 1.5) / 4,
    "sign": lambda a, _: ca.sign(a),
    "copysign": ca.copysign,
    "if_else_zero": lambda a, b: ca.if_else(a, b, 0),
}
_NAMES = sorted([*_SMOOTH_1, *_SMOOTH_2, *_JUMPING])


@st.composite
def graphs(draw: st.DrawFn, min_nodes: int = 1, max_nodes: int = 40) -> ca.Function:
    """A function of `N_INPUTS` numbers in two inputs, with two outputs, one of them with constants."""
    x = ca.SX.sym("x", N_INPUTS - 1)
    y = ca.SX.sym("y")
    leaves = [*ca.vertsplit(x), y]
    nodes = [*leaves, ca.SX(0.25)]
    for name in draw(st.lists(st.sampled_from(_NAMES), min_size=min_nodes, max_size=max_nodes)):
        if name in _JUMPING:
            i, j = (draw(st.integers(0, N_INPUTS - 1)) for _ in range(2))
            nodes.append(ca.SX(_JUMPING[name](leaves[i], leaves[j])))
        else:
            i, j = (draw(st.integers(0, len(nodes) - 1)) for _ in range(2))
            apply = _SMOOTH_2.get(name)
            nodes.append(apply(nodes[i], nodes[j]) if apply else _SMOOTH_1[name](nodes[i]))
    chosen = draw(st.lists(st.integers(0, len(nodes) - 1), max_size=4))
    last = [nodes[k] for k in chosen]
    return ca.Function("graph", [x, y], [ca.vertcat(*nodes[N_INPUTS:]), ca.vertcat(*last, 0, 1.5)])


_UNARY = """
    erfinv exp log sqrt sin cos tan asin acos atan floor ceil fabs sign erf sinh cosh tanh asinh acosh atanh
    log1p expm1
"""
_BINARY = "atan2 fmod remainder copysign fmin fmax hypot logic_and logic_or"


def every_operation() -> ca.Function:
    """Each operation alone, undisguised, on the two inputs x and y; of two operands in both orders."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    results = [getattr(ca, name)(x) for name in _UNARY.split()]
    for a, b in ((x, y), (y, x)):
        results += [getattr(ca, name)(a, b) for name in _BINARY.split()]
        results += [a + b, a - b, a * b, a / b, a**b, a < b, a <= b, a == b, a != b, ca.if_else(a, b, 0)]
    results += [-x, x**2, x + x, 1 / x, x**1.5, x ** (-1.0 / 3), ca.logic_not(x)]
    return ca.Function("every", [x, y], [ca.vertcat(*results)])


def deep_graph(rng: np.random.Generator, n_nodes: int) -> ca.Function:
    """A graph of many nodes, each a step from recent ones, so that values live for long and for short."""
    x = ca.SX.sym("x", N_INPUTS)
    nodes = list(ca.vertsplit(x))
    one, two = list(_SMOOTH_1.values()), list(_SMOOTH_2.values())
    for _ in range(n_nodes):
        i, j = len(nodes) - 1 - np.minimum(rng.geometric(0.05, 2), len(nodes) - 1)
        if rng.random() < 0.3:
            nodes.append(one[rng.integers(len(one))](nodes[i]))
        else:
            nodes.append(two[rng.integers(len(two))](nodes[i], nodes[j]))
    return ca.Function("deep", [x], [ca.vertcat(*nodes[::7]), ca.vertcat(*nodes[-5:])])


def points(rng: np.random.Generator, n: int, sizes: list[int]) -> list[Array]:
    """Rows of inputs in [-1, 1], on a grid so coarse that some are equal, zero or one."""
    return [rng.integers(-8, 9, (n, size)) / 8 for size in sizes]


SPECIAL = (
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    -1.0,
    2.0,
    -2.0,
    3.5,
    -1e-9,
    700.0,
    1e5,
    -1e300,
)


def special_points() -> list[Array]:
    """Every pair of special values, a row each."""
    a, b = np.meshgrid(SPECIAL, SPECIAL)
    return [a.reshape(-1, 1), b.reshape(-1, 1)]


def by_virtual_machine(function: ca.Function, rows: list[Array]) -> list[Array]:
    """What CasADi gives, one row for each row of inputs."""
    results = function.map(len(rows[0])).call([values.T for values in rows])
    return [np.ascontiguousarray(np.array(result).T) for result in results]


def every_operation_at_special_points() -> Array:
    """What `every_operation` must give: CasADi's word, except for erfinv, where CasADi errs by 1e-6."""
    rows = special_points()
    wanted = by_virtual_machine(every_operation(), rows)[0]
    wanted[:, [ERFINV]] = special.erfinv(rows[0])
    return wanted


def relative_error(found: Array, wanted: Array, scale: float = 0.0) -> float:
    """The largest error relative to the value, or to `scale` where that is larger.

    Infinite where one is NaN or infinite and the other is not the same.
    """
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    with np.errstate(all="ignore"):
        errors = np.abs(found - wanted) / np.maximum(np.abs(wanted), scale)
    errors = np.where(same, 0.0, np.where(np.isnan(errors), np.inf, errors))
    return float(np.max(errors, initial=0.0))
