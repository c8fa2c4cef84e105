"""Nonlinear fit of torques: friction of unknown shape, and bodies in log-Cholesky coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.friction import TERMS
from helicoid.errors import InputError
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.linear.equations.friction_columns import nonnegative_groups
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.stack import Factor
from helicoid.identification.linear.solving.log_cholesky import solid_bodies
from helicoid.identification.linear.weighting import weighted_samples
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.preparation import prepare
from helicoid.identification.refinement.friction_fit import (
    MIN_MASS,
    FrictionFit,
    FrictionPoint,
    bounded_step,
    solve,
)
from helicoid.identification.refinement.friction_models import MODELS, ShapedRegression
from helicoid.identification.report.score import Score
from helicoid.identification.result import Identification
from helicoid.progress import Progress, reporting

_INITIAL_WIDTHS = (0.05, 0.2, 0.6)  # of the fastest velocity


@dataclass(frozen=True, eq=False)
class NonlinearIdentification(Identification):
    """A result with friction of a model in `MODELS`; `shapes` (nv, ...) are its velocities (rad/s, m/s)."""

    model: str = "coulomb"
    shapes: Array = field(default_factory=lambda: np.zeros((0, 0)))


def fit_nonlinear(
    result: Identification,
    log: Log | Sequence[Log],
    friction: str = "stribeck",
    progress: Progress | bool | None = None,
) -> NonlinearIdentification:
    """Fit again with a friction model that is not linear in its parameters, to one log or several.

    `friction` is "viscous", "coulomb", "asymmetric", "stribeck" or "sigmoid" and takes the place of all
    terms that are functions of velocity; the other unknowns, the low-pass, the lag and the regularisation
    stay those of `result`. Bodies are physically consistent at every step. Returns a result like that of
    `identify`; its `held_out` is not known (NaN): score another log, and keep the model only if it gains
    there. `progress` is as in `identify`.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> from helicoid.identification.identify import identify
    >>> robot = hc.load("double_pendulum")
    >>> t = np.arange(500) / 100.0
    >>> q, v, a = (np.column_stack([f(2 * t), 1.5 * f(3 * t + 1)]) for f in (np.sin, np.cos, np.sin))
    >>> v, a = v * [2, 3], -a * [4, 9]
    >>> log = hc.Log.from_arrays(t, q, v, a, robot.inverse_dynamics(q, v, a) + 0.3 * np.tanh(v / 0.5))
    >>> groups = "inertia", "viscous", "coulomb"
    >>> linear = hc.identify(robot, log, groups=groups, cutoff=None, regularisation=1.0)
    >>> curved = hc.fit_nonlinear(linear, log, "sigmoid")
    >>> print(np.round(curved.shapes[:, 0], 2))
    [0.5 0.5]
    """
    if friction not in MODELS:
        raise InputError(f"no friction model is called {friction!r}; there are: {', '.join(MODELS)}")
    plain, model = result.regression, MODELS[friction]
    if plain.wrenches or plain.groups[:1] != ("inertia",):
        raise InputError("a nonlinear fit needs joint torques, and inertia as the first of the unknowns")
    logs = (log,) if isinstance(log, Log) else tuple(log)
    stretches = [
        samples.delayed(result.lag)
        for one in logs
        for samples in prepare(result.nominal, one, result.cutoff)[0]
    ]
    with one_blas_thread(), reporting(progress, "Fitting friction") as report:
        weights = weighted_samples(plain, stretches).weights
        problem = FrictionFit(plain, model, stretches, weights, max(result.regularisation, 1e-6))
        starts = _starts(problem, result)
        errors = [problem.squares(start, problem.linearised(start)) for start in starts]
        point, factor = solve(problem, starts[int(np.argmin(errors))], report)
    return _result(result, problem, point, factor, friction, logs)


def _starts(problem: FrictionFit, result: Identification) -> list[FrictionPoint]:
    """The linear result with friction split evenly among the new terms, for several widths."""
    plain, model = problem.plain, problem.model
    pi = plain.parameters.of(result.x, "inertia")
    eta = problem.bodies.coordinates(
        np.concatenate([body.parameters for body in solid_bodies(pi, MIN_MASS)]) if len(pi) else pi
    )
    points = []
    for part in _INITIAL_WIDTHS if model.shapes else _INITIAL_WIDTHS[:1]:
        shapes = np.zeros((plain.robot.nv, len(model.shapes)))
        for k, shape in enumerate(model.shapes):
            if shape not in model.signed:
                shapes[:, k] = np.log(np.maximum(part * problem.fastest, 1e-6))
        regression = ShapedRegression(plain, model, shapes)
        sizes = [_first(plain, result.x, group) for group in regression.groups if group != "inertia"]
        points.append(_improved(problem, FrictionPoint(eta, np.concatenate(sizes), shapes)))
    return points


def _first(plain: Regression, x: Array, group: str) -> Array:
    """Initial coefficient of a term: that of the linear result, or of the term it starts from."""
    nearest = group if group in plain.groups or group not in TERMS else TERMS[group].starts_from
    if nearest in plain.groups:
        return np.maximum(plain.parameters.of(x, nearest), 0.0 if group in nonnegative_groups() else -np.inf)
    return np.zeros(len(plain.jointed))


def _improved(problem: FrictionFit, point: FrictionPoint) -> FrictionPoint:
    """One step in the sizes alone: a start from which widths can be compared."""
    factor = problem.linearised(point)
    J, r = problem.rows(point, factor)
    n, m = len(point.eta), len(point.sizes)
    own = slice(n, n + m)
    low, high = problem.limits(point)
    step = np.zeros(J.shape[1])
    step[own] = bounded_step(J[:, own], r, 1e-9, (low[own], high[own]))
    return problem.moved(point, step)


def _result(
    result: Identification,
    problem: FrictionFit,
    point: FrictionPoint,
    factor: Factor,
    friction: str,
    logs: tuple[Log, ...],
) -> NonlinearIdentification:
    x = problem.x(point)
    regression = problem.regression(point).loaded_by(x)
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
        regression=regression,
        x=x,
        covariance=(spread @ spread.T)[: len(x), : len(x)],
        estimator=f"nonlinear, {friction} friction",
        held_out=replace(result.held_out, rmse=unknown),
        posterior=None,
        unexplained=None,
        notes=(*result.notes, f"Fitted again in log-Cholesky coordinates with {friction} friction."),
    )
    new = NonlinearIdentification(**own, model=friction, shapes=shapes)
    return replace(new, training=_together([new.score(log) for log in logs]), logs=logs)


def _together(scores: Sequence[Score]) -> Score:
    """One score of several logs, each sample counting alike."""
    n = np.array([score.n_samples for score in scores], dtype=np.float64)
    rmse, size = (
        np.sqrt(n @ np.array([getattr(score, name) for score in scores]) ** 2 / n.sum())
        for name in ("rmse", "size")
    )
    return replace(scores[0], rmse=rmse, size=size, n_samples=int(n.sum()))
