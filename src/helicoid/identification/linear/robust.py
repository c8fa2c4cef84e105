"""Iteratively reweighted least squares: single bad samples lose their say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from helicoid._typing import Array
from helicoid.identification.linear.equations import stacked
from helicoid.identification.linear.estimators import huber_weights
from helicoid.identification.linear.regression import Regression
from helicoid.identification.linear.stack import Stack
from helicoid.identification.logs.filtering import low_pass
from helicoid.identification.logs.preparation import Samples

_ROUNDS = 6


def huber(
    regression: Regression,
    stretches: Sequence[Samples],
    x: Array,
    fit: Callable[[Stack], Array],
    form: str = "torque",
) -> Array:
    """x of Huber's loss: quadratic up to 1.345 robust standard deviations, linear beyond; starts from x."""
    for _ in range(_ROUNDS):
        reweighted = []
        for samples in stretches:
            predicted = regression.predict(x, samples.q, samples.v, samples.a)
            left = samples.y - low_pass(predicted, samples.rate, samples.cutoff)
            reweighted.append(replace(samples, weights=huber_weights(left, samples.weights)))
        x = fit(Stack.together([stacked(regression, samples, form) for samples in reweighted]))
    return x
