"""Friction whose shape is unknown too: columns of a regressor that hang on a few numbers for each joint.

With ε the smoothing of a regression and σ(v) = tanh(v / ε):

    viscous      d v
    coulomb      d v + c σ
    asymmetric   d⁺ v⁺ + d⁻ v⁻ + c⁺ σ⁺ + c⁻ σ⁻,  x⁺ = max(x, 0), x⁻ = min(x, 0); an offset is c⁺ ≠ c⁻
    stribeck     d v + c σ + s exp(-(v / v_s)²) σ,  v_s unknown
    sigmoid      d v + c [tanh((v + u) / w) - tanh(u / w)],  w and u unknown (Gaz et al. 2019)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.compiler.function import Function, Input, Output
from helicoid.identification.linear.regression import Indices, Regression

RUBBING = ("viscous", "coulomb", "root")  # the friction of a linear regression, which a model replaces


class FrictionModel(NamedTuple):
    """`columns` (v, ε, s) -> one expression for each name in `terms`; s are the `shapes`, logarithms of
    velocities but for those in `signed`. `absorbs` are groups that its terms contain.
    """

    terms: tuple[str, ...]
    columns: Callable[[Expression, Expression, Expression], list[Expression]]
    shapes: tuple[str, ...] = ()
    signed: tuple[str, ...] = ()
    absorbs: tuple[str, ...] = ()


@cache
def _columns(model: FrictionModel) -> Function:
    """`(v, epsilon, shape) -> columns (terms), slopes (terms, shapes)`; without shapes, columns alone."""
    v, epsilon, s = ca.SX.sym("v"), ca.SX.sym("epsilon"), ca.SX.sym("s", len(model.shapes))
    columns = ca.SX(ca.densify(ca.vertcat(*model.columns(v, epsilon, s))))
    n, m = len(model.terms), len(model.shapes)
    inputs: list[tuple[Input, ca.SX]] = [(Input("v", ()), v), (Input("epsilon", ()), epsilon)]
    outputs: list[tuple[Output, ca.SX]] = [(Output("columns", (n,)), columns)]
    if m:
        inputs.append((Input("shape", (m,)), s))
        outputs.append((Output("slopes", (n, m)), ca.densify(ca.jacobian(columns, s))))
    return Function.from_expressions("friction_columns", inputs, outputs)


def _direction(v: Expression, epsilon: Expression) -> Expression:
    return ca.tanh(v / epsilon)


def _asymmetric(v: Expression, epsilon: Expression, s: Expression) -> list[Expression]:
    way = _direction(v, epsilon)
    return [ca.fmax(v, 0), ca.fmin(v, 0), ca.fmax(way, 0), ca.fmin(way, 0)]


def _stribeck(v: Expression, epsilon: Expression, s: Expression) -> list[Expression]:
    way = _direction(v, epsilon)
    return [v, way, ca.exp(-((v / ca.exp(s[0])) ** 2)) * way]


def _sigmoid(v: Expression, epsilon: Expression, s: Expression) -> list[Expression]:
    width, shift = ca.exp(s[0]), s[1]
    return [v, ca.tanh((v + shift) / width) - ca.tanh(shift / width)]


MODELS: Mapping[str, FrictionModel] = {
    "viscous": FrictionModel(("viscous",), lambda v, e, s: [v]),
    "coulomb": FrictionModel(("viscous", "coulomb"), lambda v, e, s: [v, _direction(v, e)]),
    "asymmetric": FrictionModel(
        ("viscous_forward", "viscous_backward", "coulomb_forward", "coulomb_backward"),
        _asymmetric,
        absorbs=("offset",),
    ),
    "stribeck": FrictionModel(("viscous", "coulomb", "stribeck"), _stribeck, ("stribeck_velocity",)),
    "sigmoid": FrictionModel(
        ("viscous", "sigmoid"), _sigmoid, ("sigmoid_width", "sigmoid_shift"), ("sigmoid_shift",)
    ),
}


class ShapedRegression(Regression):
    """A regression of torques whose friction is a model with given shapes (nv, number of shapes).

    With `slopes_at` = x there is also a column for each shape: what its change by 1 changes at that x.
    """

    def __init__(
        self, plain: Regression, model: FrictionModel, shapes: Array, slopes_at: Array | None = None
    ) -> None:
        kept = [g for g in plain.groups if g not in RUBBING and g not in model.absorbs]
        super().__init__(plain.robot, kept, plain.smoothing, (), plain._load)
        self.model, self.shapes, self._plain = model, shapes, plain
        self._slopes_at = slopes_at
        self.groups = (*kept, *model.terms, *(model.shapes if slopes_at is not None else ()))

    def linearised(self, x: Array) -> ShapedRegression:
        """This regression with a column more for each shape: how y changes with it, at the unknowns x."""
        return ShapedRegression(self._plain, self.model, self.shapes, x)

    def with_groups(self, groups: Sequence[str]) -> Regression:
        """This regression with `groups` as the only unknowns."""
        chosen = ShapedRegression(self._plain, self.model, self.shapes, self._slopes_at)
        chosen.groups = tuple(groups)
        return chosen

    @cached_property
    def supports(self) -> tuple[Indices, ...]:
        """For each row the columns that are not always zero; those of bodies are known from the plain one."""
        bodies = self._plain.parameters.groups.get("inertia", slice(0, 0))
        own = self.parameters.groups.get("inertia", bodies)
        found = [
            [int(c) - bodies.start + own.start for c in columns if bodies.start <= c < bodies.stop]
            for columns in self._plain.supports
        ]
        if "inertia" not in self.groups:
            found = [[] for _ in found]
        for row, column, _ in self._term_columns:
            found[row].append(column)
        return tuple(np.array(sorted(columns), dtype=np.intp) for columns in found)

    def _term(self, group: str, k: int, q: Array, v: Array, a: Array, load: Array | None) -> Array:
        model = self.model
        if group not in model.terms and group not in model.shapes:
            return super()._term(group, k, q, v, a, load)
        epsilon = np.full(len(v), self.smoothing[k])
        if not model.shapes:
            return np.asarray(_columns(model)(v[:, k], epsilon)[:, model.terms.index(group)])
        made = _columns(model)(v[:, k], epsilon, np.broadcast_to(self.shapes[k], (len(v), len(model.shapes))))
        if group in model.terms:
            return np.asarray(made.columns[:, model.terms.index(group)])
        assert self._slopes_at is not None
        place = self.jointed.index(k)
        sizes = np.array([self.parameters.of(self._slopes_at, term)[place] for term in model.terms])
        return np.asarray(made.slopes[:, :, model.shapes.index(group)] @ sizes)
