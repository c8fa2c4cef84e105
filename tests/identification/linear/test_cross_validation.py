"""Folds hold what all samples hold, and one pass gives both right-hand sides."""

from __future__ import annotations

import numpy as np
from synthetic_logs import arm, recording, truth

from helicoid.identification.linear.cross_validation import folds
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.rows import blocks
from helicoid.identification.linear.equations.stack import Stack
from helicoid.identification.linear.lag import estimate_lag
from helicoid.identification.linear.weighting import fitter, weighted_samples
from helicoid.identification.logs.preparation import prepare

ROBOT = arm()


def test_parts_and_speeds_hold_all_samples_low_passed_and_as_recorded() -> None:
    regression = Regression(ROBOT)
    stretches, _ = prepare(ROBOT, recording(truth(ROBOT, 1), 2, noise=0.5, seconds=6.0), 8.0)
    stretches[0].weights[100:140, 1] = 0.25
    x = np.random.default_rng(0).normal(size=len(regression.parameters))
    for own, name in zip(folds(regression, stretches), ("y", "recorded"), strict=True):
        stack = Stack.empty(regression)
        for block in blocks(regression, stretches[0]):
            stack = stack.added(block.rows, getattr(block, name), block.weights)
        for together in (own.whole, Stack.together(own.speeds)):
            assert together.counts == stack.counts
            np.testing.assert_allclose(together.squares(x), stack.squares(x), rtol=1e-10)


def test_a_lag_is_distinguished_from_none() -> None:
    regression = Regression(ROBOT)
    stretches, _ = prepare(ROBOT, recording(truth(ROBOT, 1), 2, noise=0.05, seconds=8.0), 8.0)
    data = weighted_samples(regression, stretches)
    fit = fitter("ridge", regression, data, 10.0, None)
    assert estimate_lag(regression, stretches, fit, data.weights) == 0.0
    for lag in (0.03, -0.05):
        late = [samples.delayed(-lag) for samples in stretches]
        assert abs(estimate_lag(regression, late, fit, data.weights) - lag) < 2e-3
