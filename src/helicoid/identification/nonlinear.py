"""Nonlinear fit of torques: friction of unknown shape, and bodies in log-Cholesky coordinates.

    min Σ_k w_k ‖F[Y_k(s) x(η) - y_k]‖² + strength · distance²,   over η, the sizes of all terms, and shapes s

with the low-pass F, the weights and the pull to the description of the linear fit: with friction of known
shape this is its semidefinite program without the cones. Gauss-Newton with Levenberg's damping; samples are
only seen through the triangular factor of the problem linearised at (x, s).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from helicoid.errors import InputError
from helicoid.identification.coordinates import BodyCoordinates, least_step, solid_bodies
from helicoid.identification.elimination import triangle
from helicoid.identification.equations import stacked
from helicoid.identification.friction import JointFriction, robot_friction
from helicoid.identification.friction_models import MODELS, FrictionModel, ShapedMeasurement
from helicoid.identification.log import Log
from helicoid.identification.measurement import Measurement
from helicoid.identification.preparation import Samples, prepare
from helicoid.identification.prior import Whitening
from helicoid.identification.result import Identification
from helicoid.identification.selection import weighted
from helicoid.identification.stack import Factor
from helicoid.identification.threads import one_blas_thread
from helicoid.identification.validation import added
from helicoid.model.inertia import Array
from helicoid.robot import Robot

_ITERATIONS = 50
_ENOUGH = 1e-7  # relative decrease of the sum of squares at which the fit ends
_STARTS = (0.05, 0.2, 0.6)  # of the fastest velocity: widths to begin with
_WIDTHS = (1e-3, 3.0)  # of the fastest velocity: the range of widths
_FREE = ("offset", "root")  # terms of either sign
_PART = 0.01  # of the mean mass of bodies: the least that one has


class Point(NamedTuple):
    """η (10 n), the sizes of the other terms, and shapes (nv, number of shapes)."""

    eta: Array
    sizes: Array
    shapes: Array


class _Problem:
    """The sum of squares at a point, and what it becomes nearby."""

    def __init__(
        self,
        plain: Measurement,
        model: FrictionModel,
        stretches: Sequence[Samples],
        weights: Array,
        strength: float,
    ) -> None:
        self.plain, self.model, self.stretches, self.weights = plain, model, stretches, weights
        described = plain.parameters.of(plain.parameters.nominal, "inertia")
        references = solid_bodies(described, _PART)
        self.bodies = BodyCoordinates(references)
        self._origin = np.concatenate([np.zeros(0), *(body.parameters for body in references)])
        W = [np.sqrt(strength) * Whitening(body).W for body in references]
        self._pull = np.zeros((len(self._origin), len(self._origin)))
        for k, own in enumerate(W):
            self._pull[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = own
        self.fastest = np.max([np.abs(samples.v).max(axis=0) for samples in stretches], axis=0)

    def measurement(self, point: Point) -> ShapedMeasurement:
        return ShapedMeasurement(self.plain, self.model, point.shapes)

    def x(self, point: Point) -> Array:
        """The unknowns of `measurement(point)`: "inertia" comes first among them."""
        return np.concatenate([self.bodies.parameters(point.eta), point.sizes])

    def linearised(self, point: Point) -> Factor:
        """The problem in (x, change of shapes) at a point, without the pull."""
        measurement = self.measurement(point).linearised(self.x(point))
        return added([stacked(measurement, samples) for samples in self.stretches]).combined(self.weights)

    def squares(self, point: Point, factor: Factor) -> float:
        """The sum of squares at the point that `factor` was made at."""
        x = self.x(point)
        pull = self._pull @ (x[: len(self._origin)] - self._origin)
        return factor.squares(np.append(x, np.zeros(len(factor.z) - len(x)))) + float(pull @ pull)

    def rows(self, point: Point, factor: Factor) -> tuple[Array, Array]:
        """J and r of the step δ = (δη, δsizes, δshapes): the sum of squares becomes ‖J δ + r‖² + rest."""
        x, n = self.x(point), len(point.eta)
        D = np.eye(len(factor.z))
        D[:n, :n] = self.bodies.jacobian(point.eta)
        right = factor.R @ np.append(x, np.zeros(len(factor.z) - len(x))) - factor.z
        pull = np.zeros((n, len(factor.z)))
        pull[:, :n] = self._pull @ D[:n, :n]
        away = self._pull @ (x[:n] - self._origin)
        return np.vstack([factor.R @ D, pull]), np.concatenate([right, away])

    def limits(self, point: Point) -> tuple[Array, Array]:
        """The least and the largest step: friction is not negative, shapes stay where samples are."""
        measurement = self.measurement(point)
        groups, n = measurement.parameters.groups, len(point.eta)
        least, most = (np.full(len(measurement.parameters), limit) for limit in (-np.inf, np.inf))
        # Bodies are exponentials of η: what a linearisation says ends at about 1.
        least[:n], most[:n] = np.maximum(least_step(point.eta), -1.0), 1.0
        for group, own in groups.items():
            if group not in ("inertia", *_FREE):
                least[own] = -point.sizes[own.start - n : own.stop - n]
        lower, upper = self._shape_limits()
        jointed = list(measurement.jointed)
        low, high = ((limit - point.shapes)[jointed].T.ravel() for limit in (lower, upper))
        return np.concatenate([least, low]), np.concatenate([most, high])

    def _shape_limits(self) -> tuple[Array, Array]:
        """The range of the shapes, (nv, number of shapes) each."""
        fastest = np.maximum(self.fastest, 1e-6)
        lower, upper = np.zeros((2, len(fastest), len(self.model.shapes)))
        for k, shape in enumerate(self.model.shapes):
            signed = shape in self.model.signed
            lower[:, k] = -fastest if signed else np.log(_WIDTHS[0] * fastest)
            upper[:, k] = fastest if signed else np.log(_WIDTHS[1] * fastest)
        return lower, upper

    def moved(self, point: Point, step: Array) -> Point:
        n, m = len(point.eta), len(point.sizes)
        shapes, jointed = np.array(point.shapes), list(self.measurement(point).jointed)
        shapes[jointed] += step[n + m :].reshape(len(self.model.shapes), len(jointed)).T
        return Point(point.eta + step[:n], point.sizes + step[n : n + m], shapes)


def _step(J: Array, r: Array, damping: float, limits: tuple[Array, Array]) -> Array:
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
    return np.asarray(free / size)


def _solve(problem: _Problem, point: Point) -> tuple[Point, Factor]:
    factor = problem.linearised(point)
    squares, damping = problem.squares(point, factor), 1e-4
    for _ in range(_ITERATIONS):
        J, r = problem.rows(point, factor)
        trial = problem.moved(point, _step(J, r, damping, problem.limits(point)))
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
        if gain < _ENOUGH * squares:
            break
    return point, factor


@dataclass(frozen=True, eq=False)
class NonlinearIdentification(Identification):
    """A result with friction of a model in `MODELS`; `shapes` (nv, ...) are its velocities (rad/s, m/s)."""

    model: str = "coulomb"
    shapes: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @cached_property
    def robot(self) -> Robot:
        """As of every result; Stribeck friction is part of the robot."""
        plain = super().robot
        if self.model != "stribeck":
            return plain
        excess = np.zeros(plain.nv)
        excess[list(self.measurement.jointed)] = self.measurement.parameters.of(self.x, "stribeck")
        spans = {body.joint.name: body.v for body in plain.model.bodies if body.joint.mimic is None}
        joints = [
            replace(
                joint,
                static_friction=np.where(excess[own] > 0, joint.friction + excess[own], 0.0),
                stribeck_velocity=np.where(excess[own] > 0, self.shapes[own, 0], 0.0),
            )
            if (own := spans.get(joint.name)) is not None
            else joint
            for joint in plain.model.joints
        ]
        return Robot(plain.model.replaced(joints=joints))


def fit_nonlinear(result: Identification, log: Log, friction: str = "stribeck") -> NonlinearIdentification:
    """Fit again with a friction model that is not linear in its parameters, from a linear result on.

    `friction` is "viscous", "coulomb", "asymmetric", "stribeck" or "sigmoid" and takes the place of all
    viscous, Coulomb and root terms; the other unknowns, the low-pass, the lag and the pull to the description
    stay those of `result`. Bodies are physically consistent at every step. Returns a result like that of
    `identify`; its `held_out` is not known (NaN): score another log, and keep the model only if it gains
    there.

    >>> import helicoid as hc
    >>> from helicoid.identification.identify import identify
    >>> robot = hc.load("double_pendulum")
    >>> t = np.arange(500) / 100.0
    >>> q, v, a = (np.column_stack([f(2 * t), 1.5 * f(3 * t + 1)]) for f in (np.sin, np.cos, np.sin))
    >>> v, a = v * [2, 3], -a * [4, 9]
    >>> log = Log.from_arrays(t, q, v, a, robot.inverse_dynamics(q, v, a) + 0.3 * np.tanh(v / 0.5))
    >>> linear = identify(robot, log, groups=("inertia", "viscous", "coulomb"), cutoff=None, strength=1.0)
    >>> curved = fit_nonlinear(linear, log, "sigmoid")
    >>> print(np.round(curved.shapes[:, 0], 2))
    [0.5 0.5]
    """
    if friction not in MODELS:
        raise InputError(f"no friction model is called {friction!r}; there are: {', '.join(MODELS)}")
    plain, model = result.measurement, MODELS[friction]
    if plain.wrenches or plain.groups[:1] != ("inertia",):
        raise InputError("a nonlinear fit needs joint torques, and inertia as the first of the unknowns")
    stretches = [samples.delayed(result.lag) for samples in prepare(result.nominal, log, result.cutoff)[0]]
    with one_blas_thread():
        weights = weighted(plain, stretches).weights
        problem = _Problem(plain, model, stretches, weights, max(result.strength, 1e-6))
        starts = _starts(problem, result)
        errors = [problem.squares(start, problem.linearised(start)) for start in starts]
        point, factor = _solve(problem, starts[int(np.argmin(errors))])
    return _result(result, problem, point, factor, friction, log)


def _starts(problem: _Problem, result: Identification) -> list[Point]:
    """The linear result with friction split evenly among the new terms, for several widths."""
    plain, model = problem.plain, problem.model
    pi = plain.parameters.of(result.x, "inertia")
    eta = problem.bodies.coordinates(
        np.concatenate([body.parameters for body in solid_bodies(pi, _PART)]) if len(pi) else pi
    )
    points = []
    for part in _STARTS if model.shapes else _STARTS[:1]:
        shapes = np.zeros((plain.robot.nv, len(model.shapes)))
        for k, shape in enumerate(model.shapes):
            if shape not in model.signed:
                shapes[:, k] = np.log(np.maximum(part * problem.fastest, 1e-6))
        measurement = ShapedMeasurement(plain, model, shapes)
        sizes = [_first(plain, result.x, group) for group in measurement.groups if group != "inertia"]
        points.append(_improved(problem, Point(eta, np.concatenate(sizes), shapes)))
    return points


def _first(plain: Measurement, x: Array, group: str) -> Array:
    """What the linear result says of a term, or of the one that comes nearest to it."""
    nearest = group if group in plain.groups else {"sigmoid": "coulomb"}.get(group, group.split("_")[0])
    if nearest in plain.groups:
        return np.maximum(plain.parameters.of(x, nearest), -np.inf if group in _FREE else 0.0)
    return np.zeros(len(plain.jointed))


def _improved(problem: _Problem, point: Point) -> Point:
    """One step in the sizes alone: a start from which widths can be compared."""
    factor = problem.linearised(point)
    J, r = problem.rows(point, factor)
    n, m = len(point.eta), len(point.sizes)
    own = slice(n, n + m)
    low, high = problem.limits(point)
    step = np.zeros(J.shape[1])
    step[own] = _step(J[:, own], r, 1e-9, (low[own], high[own]))
    return problem.moved(point, step)


def _result(
    result: Identification, problem: _Problem, point: Point, factor: Factor, friction: str, log: Log
) -> NonlinearIdentification:
    measurement, x = problem.measurement(point), problem.x(point)
    J, _ = problem.rows(point, factor)
    D = np.eye(J.shape[1])
    D[: len(point.eta), : len(point.eta)] = problem.bodies.jacobian(point.eta)
    spread = D @ np.linalg.pinv(J, rcond=1e-12)
    shapes = np.array(point.shapes)
    for k, shape in enumerate(problem.model.shapes):
        if shape not in problem.model.signed:
            shapes[:, k] = np.exp(shapes[:, k])
    unknown = np.full(len(result.held_out.names), np.nan)
    own = {f.name: getattr(result, f.name) for f in result.__dataclass_fields__.values()}
    own.update(
        measurement=measurement,
        x=x,
        covariance=(spread @ spread.T)[: len(x), : len(x)],
        friction=_joint_friction(measurement, problem.stretches, x),
        estimator=f"nonlinear, {friction} friction",
        held_out=replace(result.held_out, rmse=unknown),
        notes=(*result.notes, f"Fitted again in log-Cholesky coordinates with {friction} friction."),
    )
    new = NonlinearIdentification(**own, model=friction, shapes=shapes)
    return replace(new, training=new.score(log), logs=(log,))


def _joint_friction(measurement: ShapedMeasurement, stretches: Sequence[Samples], x: Array) -> JointFriction:
    """What a robot can hold: exact for Stribeck friction, else the nearest viscous and Coulomb friction."""
    from scipy.optimize import nnls

    found = robot_friction(measurement, stretches, x)
    if {"viscous", "coulomb"} <= set(measurement.groups):
        return found
    v = np.vstack([samples.v for samples in stretches])
    terms = measurement.with_groups(measurement.model.terms)
    own = np.concatenate([measurement.parameters.of(x, term) for term in measurement.model.terms])
    friction = terms.predict(own, np.zeros((len(v), measurement.robot.nq)), v, np.zeros_like(v))
    damping, coulomb = np.zeros((2, measurement.robot.nv))
    for k in measurement.jointed:
        columns = np.column_stack([v[:, k], np.tanh(v[:, k] / measurement.smoothing[k])])
        damping[k], coulomb[k] = nnls(columns, friction[:, k])[0]
    return found._replace(damping=damping, coulomb=coulomb)
