"""The model average: evidence by held-out error, and what a log of slow motions says of friction curves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from synthetic_logs import arm, recording, truth

from helicoid._typing import Array
from helicoid.identification.linear.averaging import averaged
from helicoid.identification.linear.equations.regression import Regression, default_groups
from helicoid.identification.linear.selection import _speed_coverage
from helicoid.identification.linear.solving.consistent import lower_bounds
from helicoid.identification.linear.solving.estimators import augmented
from helicoid.identification.linear.weighting import Mixture, WeightedFolds, fitter, weighted_samples
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.preparation import prepare

ROBOT = arm()
TRUTH = truth(ROBOT, 1)
TERMS = ("root", "spring")
REGRESSION = Regression(ROBOT, (*default_groups(), *TERMS))
REGULARISATION = 10.0


def log_with(root: float = 0.0, spring: float = 0.0, coulomb: float = 0.0) -> Log:
    log = recording(TRUTH, 2, noise=0.3, seconds=6.0)
    tau = log.tau + root * np.sign(log.v) * np.sqrt(np.abs(log.v)) + spring * log.q
    return Log.from_arrays(log.t, log.q, log.v, log.a, tau + coulomb * np.sign(log.v))


def data_of(log: Log, mixture: Mixture) -> WeightedFolds:
    return weighted_samples(REGRESSION, prepare(ROBOT, log)[0], mixture=mixture)


def evidence(log: Log, coverage: float) -> Mixture:
    mixture = Mixture(redundancy=10.0)
    models = averaged(REGRESSION, data_of(log, mixture), TERMS, REGULARISATION, coverage)
    return mixture._replace(models=models)


def test_weights_follow_held_out_errors() -> None:
    found = evidence(log_with(root=5.0, spring=20.0), 1.0)
    assert sum(weight for _, weight in found.models) == pytest.approx(1.0)
    assert found.weight_of("root") > 0.99 and found.weight_of("spring") > 0.99


def test_speeds_that_a_log_lacks_leave_friction_curves_at_their_prior_odds() -> None:
    log = log_with(root=5.0, spring=20.0)
    odds = np.exp(-0.5)
    none = evidence(log, 0.0)
    assert none.weight_of("root") == pytest.approx(odds / (1 + odds), abs=0.02)
    assert none.weight_of("spring") > 0.99
    some = [evidence(log, coverage).weight_of("root") for coverage in (0.0, 0.05, 0.2)]
    assert some == sorted(some)


def test_coverage_is_that_of_the_joints_that_move() -> None:
    def coverage(speed: Array) -> float:
        t = np.arange(400) / 100.0
        v = speed * np.sin(3 * t)[:, None]
        log = Log.from_arrays(t, -speed / 3 * np.cos(3 * t)[:, None], v, tau=0 * v + 1.0)
        return _speed_coverage(ROBOT, prepare(ROBOT, log)[0])

    limits = ROBOT.limits.velocity
    assert coverage(limits) == 1.0
    assert coverage(0.15 * limits) == pytest.approx(0.25, rel=0.05)
    still = np.where(np.arange(ROBOT.nv) == 0, 0.0, 0.15 * limits)
    assert coverage(still) == pytest.approx(0.25, rel=0.05)


def test_the_average_is_that_of_models_with_friction_not_negative() -> None:
    """Dry friction would be negative: each model is bounded, by SciPy here, not only the average of all."""
    strong = 1e6  # bodies stay as described
    data = data_of(log_with(coulomb=-20.0), Mixture((((), 0.5), (("root",), 0.5)), 10.0))
    factor, found = data.whole.combined(data.tempered), []
    for own, _ in data.models:
        problem = augmented(own.factor(factor), own, strong)
        bounds = (lower_bounds(REGRESSION, own), np.full(len(problem.z), np.inf))
        used = np.setdiff1d(np.arange(len(problem.z)), own.fixed)
        u = np.zeros(len(problem.z))
        u[used] = lsq_linear(problem.R[:, used], problem.z, [b[used] for b in bounds], tol=1e-14).x
        found.append(own.origin + own.T @ u)
    expected = np.mean(found, axis=0)
    x = fitter("consistent", REGRESSION, data, strong, None)(data.whole)
    coulomb = REGRESSION.parameters.groups["coulomb"]
    assert np.any(x[coulomb] < 1e-2)
    np.testing.assert_allclose(x, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
