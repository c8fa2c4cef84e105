"""The least squares problem of a nonlinear fit, and steps that solve it.

    min Σ_k w_k ‖F[Y_k(s) x(η) - y_k]‖² + regularisation · distance²,   over η, sizes and shapes s of terms

with the low-pass F, the weights and the regularisation of the linear fit: with friction of known
shape this is its semidefinite program without the cones. Gauss-Newton with Levenberg's damping; samples are
only seen through the triangular factor of the problem linearised at (x, s).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.equations.friction_columns import nonnegative_groups
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.rows import stacked
from helicoid.identification.linear.equations.stack import Factor, Stack, triangle
from helicoid.identification.linear.solving.log_cholesky import (
    LogCholeskyCoordinates,
    least_step,
    solid_bodies,
)
from helicoid.identification.linear.solving.whitening import Whitening
from helicoid.identification.logs.preparation import Samples
from helicoid.identification.refinement.friction_models import FrictionModel, ShapedRegression
from helicoid.progress import Progress

MIN_MASS = 0.01
"""The least mass of a body, as a part of the mean mass of all."""

_MAX_ITERATIONS = 50
_MIN_DECREASE = 1e-7  # relative, of the sum of squares
_WIDTH_RANGE = (1e-3, 3.0)  # of the fastest velocity: the range of widths


class FrictionPoint(NamedTuple):
    """η (10 n), the sizes of the other terms, and shapes (nv, number of shapes)."""

    eta: Array
    sizes: Array
    shapes: Array


class FrictionFit:
    """The sum of squares at a point, and its linearisation."""

    def __init__(
        self,
        plain: Regression,
        model: FrictionModel,
        stretches: Sequence[Samples],
        weights: Array,
        regularisation: float,
    ) -> None:
        self.plain, self.model, self.stretches, self.weights = plain, model, stretches, weights
        described = plain.parameters.of(plain.parameters.nominal, "inertia")
        references = solid_bodies(described, MIN_MASS)
        self.bodies = LogCholeskyCoordinates(references)
        self._origin = np.concatenate([np.zeros(0), *(body.parameters for body in references)])
        W = [np.sqrt(regularisation) * Whitening(body).W for body in references]
        self._prior = np.zeros((len(self._origin), len(self._origin)))
        for k, own in enumerate(W):
            self._prior[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = own
        self.fastest = np.max([np.abs(samples.v).max(axis=0) for samples in stretches], axis=0)

    def regression(self, point: FrictionPoint) -> ShapedRegression:
        return ShapedRegression(self.plain, self.model, point.shapes)

    def x(self, point: FrictionPoint) -> Array:
        """The unknowns of `regression(point)`: "inertia" comes first among them."""
        return np.concatenate([self.bodies.parameters(point.eta), point.sizes])

    def linearised(self, point: FrictionPoint) -> Factor:
        """The problem in (x, change of shapes) at a point, without the prior."""
        regression = self.regression(point).linearised(self.x(point))
        return Stack.together([stacked(regression, samples) for samples in self.stretches]).combined(
            self.weights
        )

    def squares(self, point: FrictionPoint, factor: Factor) -> float:
        """The sum of squares at the point that `factor` was made at."""
        x = self.x(point)
        prior = self._prior @ (x[: len(self._origin)] - self._origin)
        return factor.squares(np.append(x, np.zeros(len(factor.z) - len(x)))) + float(prior @ prior)

    def rows(self, point: FrictionPoint, factor: Factor) -> tuple[Array, Array]:
        """J and r of the step δ = (δη, δsizes, δshapes): the sum of squares becomes ‖J δ + r‖² + rest."""
        x, n = self.x(point), len(point.eta)
        D = np.eye(len(factor.z))
        D[:n, :n] = self.bodies.jacobian(point.eta)
        right = factor.R @ np.append(x, np.zeros(len(factor.z) - len(x))) - factor.z
        prior = np.zeros((n, len(factor.z)))
        prior[:, :n] = self._prior @ D[:n, :n]
        away = self._prior @ (x[:n] - self._origin)
        return np.vstack([factor.R @ D, prior]), np.concatenate([right, away])

    def limits(self, point: FrictionPoint) -> tuple[Array, Array]:
        """The least and the largest step: friction is not negative, shapes are within the velocities."""
        regression = self.regression(point)
        groups, n = regression.parameters.groups, len(point.eta)
        least, most = (np.full(len(regression.parameters), limit) for limit in (-np.inf, np.inf))
        # Bodies are exponentials of η: a linearisation is valid up to about 1.
        least[:n], most[:n] = np.maximum(least_step(point.eta), -1.0), 1.0
        for group, own in groups.items():
            if group in nonnegative_groups():
                least[own] = -point.sizes[own.start - n : own.stop - n]
        lower, upper = self._shape_limits()
        jointed = list(regression.jointed)
        low, high = ((limit - point.shapes)[jointed].T.ravel() for limit in (lower, upper))
        return np.concatenate([least, low]), np.concatenate([most, high])

    def _shape_limits(self) -> tuple[Array, Array]:
        """The range of the shapes, (nv, number of shapes) each."""
        fastest = np.maximum(self.fastest, 1e-6)
        lower, upper = np.zeros((2, len(fastest), len(self.model.shapes)))
        for k, shape in enumerate(self.model.shapes):
            signed = shape in self.model.signed
            lower[:, k] = -fastest if signed else np.log(_WIDTH_RANGE[0] * fastest)
            upper[:, k] = fastest if signed else np.log(_WIDTH_RANGE[1] * fastest)
        return lower, upper

    def moved(self, point: FrictionPoint, step: Array) -> FrictionPoint:
        n, m = len(point.eta), len(point.sizes)
        shapes, jointed = np.array(point.shapes), list(self.regression(point).jointed)
        shapes[jointed] += step[n + m :].reshape(len(self.model.shapes), len(jointed)).T
        return FrictionPoint(point.eta + step[:n], point.sizes + step[n : n + m], shapes)


def bounded_step(J: Array, r: Array, damping: float, limits: tuple[Array, Array]) -> Array:
    """min ‖J δ + r‖² + damping · ‖δ‖² in units of J's columns, within limits."""
    from scipy.optimize import lsq_linear

    size = np.linalg.norm(J, axis=0)
    size = np.where(size > 0, size, 1.0)
    A = np.vstack([J / size, np.sqrt(damping) * np.eye(len(size))])
    b = -np.append(r, np.zeros(len(size)))
    R = triangle(np.column_stack([A, b]))
    low, high = limits[0] * size, limits[1] * size
    free = np.linalg.lstsq(R[:-1, :-1], R[:-1, -1], rcond=None)[0]
    if np.any(free < low) or np.any(free > high):
        low, high = np.minimum(low, -1e-300), np.maximum(high, 1e-300)
        free = lsq_linear(R[:-1, :-1], R[:-1, -1], (low, high), method="bvls").x
    return np.clip(free / size, *limits)  # to the last digit: a URDF cannot state friction below zero


def solve(problem: FrictionFit, point: FrictionPoint, report: Progress) -> tuple[FrictionPoint, Factor]:
    """The point at which steps no longer lower the sum of squares, and the factor there."""
    factor = problem.linearised(point)
    squares, damping = problem.squares(point, factor), 1e-4
    for k in range(_MAX_ITERATIONS):
        report("Fitting friction", k / _MAX_ITERATIONS)
        J, r = problem.rows(point, factor)
        trial = problem.moved(point, bounded_step(J, r, damping, problem.limits(point)))
        trial_factor = problem.linearised(trial)
        now = problem.squares(trial, trial_factor)
        if not now < squares:
            damping *= 10.0
            if damping > 1e8:
                break
            continue
        gain = squares - now
        point, factor, squares = trial, trial_factor, now
        damping = max(damping / 10.0, 1e-12)
        if gain < _MIN_DECREASE * squares:
            break
    return point, factor
