"""Friction models that are nonlinear in some parameters: columns that depend on shapes of each joint.

They take the place of all terms that are functions of velocity alone.
A model is a choice of terms of the table in `dynamics.friction`; "sigmoid" is that of Gaz et al. (2019).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.equations.friction_columns import (
    friction_columns,
    shape_names,
    signed,
    velocity_curves,
)
from helicoid.identification.linear.equations.regression import Indices, Regression


class FrictionModel(NamedTuple):
    """Terms of friction, whose `shapes` are unknown too; `absorbs` are groups that its terms contain."""

    terms: tuple[str, ...]
    absorbs: tuple[str, ...] = ()

    @property
    def shapes(self) -> tuple[str, ...]:
        """The shapes of the terms: logarithms of velocities but for those in `signed`."""
        return shape_names(self.terms)

    @property
    def signed(self) -> tuple[str, ...]:
        """Shapes that may be negative."""
        return tuple(shape for shape in self.shapes if signed(shape, self.terms))


MODELS: Mapping[str, FrictionModel] = {
    "viscous": FrictionModel(("viscous",)),
    "coulomb": FrictionModel(("viscous", "coulomb")),
    "asymmetric": FrictionModel(
        ("viscous_forward", "viscous_backward", "coulomb_forward", "coulomb_backward"), absorbs=("offset",)
    ),
    "stribeck": FrictionModel(("viscous", "coulomb", "stribeck")),
    "sigmoid": FrictionModel(("viscous", "sigmoid")),
}


class ShapedRegression(Regression):
    """A regression of torques whose friction is a model with given shapes (nv, number of shapes).

    With `slopes_at` = x there is also a column for each shape: what its change by 1 changes at that x.
    """

    def __init__(
        self, plain: Regression, model: FrictionModel, shapes: Array, slopes_at: Array | None = None
    ) -> None:
        kept = [g for g in plain.groups if g not in velocity_curves() and g not in model.absorbs]
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

    @property
    def covered(self) -> frozenset[str]:
        """Groups that are unknown, including those that the model replaces."""
        return frozenset((*self.groups, *velocity_curves(), *self.model.absorbs)) - {*self.model.shapes}

    @property
    def shape_values(self) -> dict[str, Array]:
        """The shapes as a joint states them, (nv,) each; of a joint that has none, any."""
        own = {name: self.shapes[:, k] for k, name in enumerate(self.model.shapes)}
        return {name: s if name in self.model.signed else np.exp(s) for name, s in own.items()}

    def with_load(self, load: Array) -> ShapedRegression:
        """This regression with the joint load of other inertial parameters."""
        return ShapedRegression(self._plain.with_load(load), self.model, self.shapes, self._slopes_at)

    def _columns(self, q: Array, v: Array, a: Array) -> dict[str, Array]:
        model = self.model
        found = super()._columns(q, v, a)
        motions = self._joint_motions(q, v)
        if not model.shapes:
            columns, slopes = friction_columns(model.terms)(*motions), None
        else:
            shapes = np.broadcast_to(self.shapes, (len(v), *self.shapes.shape)).reshape(-1, len(model.shapes))
            columns, slopes = friction_columns(model.terms)(*motions, shapes)
        found |= {term: columns[:, k].reshape(v.shape) for k, term in enumerate(model.terms)}
        if slopes is not None and self._slopes_at is not None:
            sizes = np.zeros((v.shape[1], len(model.terms)))
            for k, term in enumerate(model.terms):
                sizes[list(self.jointed), k] = self.parameters.of(self._slopes_at, term)
            changes = np.einsum(
                "nvts,vt->nvs", slopes.reshape(*v.shape, len(model.terms), len(model.shapes)), sizes
            )
            found |= {shape: changes[:, :, k] for k, shape in enumerate(model.shapes)}
        return found
