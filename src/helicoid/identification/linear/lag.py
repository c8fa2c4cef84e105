"""The delay between motion and measured torque: estimated with everything else, or taken as none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.rows import stacked
from helicoid.identification.linear.equations.stack import Stack
from helicoid.identification.logs.filtering import derivative, low_pass
from helicoid.identification.logs.preparation import Samples

_LEAST = 1.5  # samples: a shorter lag is not worth moving signals for
_GAIN = 0.05  # of the squared error: nor is one that explains no more than this
_ROUNDS = 3


def estimate_lag(
    regression: Regression, stretches: Sequence[Samples], fit: Callable[[Stack], Array], weights: Array
) -> float:
    """The lag (s) by which measured torques follow the motion; 0 where none is clearly seen.

    Gauss-Newton: y(t) = ŷ(t - δ) ≈ ŷ - δ dŷ/dt, where what the parameters can make of dŷ/dt is taken out of
    it first, for they move with δ. `fit` gives x of a stack, `weights` are those of the rows.
    """

    def error(stack: Stack) -> float:
        return float(weights @ stack.squares(fit(stack)))

    original = _whole(regression, stretches)
    lag, moved = 0.0, list(stretches)
    for _ in range(_ROUNDS):
        x = fit(_whole(regression, moved))
        slopes = [_slope(regression, samples, x) for samples in moved]
        along = fit(_whole(regression, slopes)) - fit(_whole(regression, [_zero(s) for s in slopes]))
        top = bottom = 0.0
        for samples, slope in zip(moved, slopes, strict=True):
            own = slope.y - _explained(regression, samples, along)
            left = samples.y - _predicted(regression, samples, x)
            w = samples.weights * weights
            top -= float(np.sum(w * own * left))
            bottom += float(np.sum(w * own * own))
        lag += top / bottom if bottom > 0 else 0.0
        lag = float(np.clip(lag, -0.25, 0.25))
        moved = [samples.delayed(lag) for samples in stretches]
    clear = abs(lag) * stretches[0].rate > _LEAST
    gain = error(_whole(regression, moved)) < (1 - _GAIN) * error(original)
    return lag if clear and gain else 0.0


def _whole(regression: Regression, stretches: Sequence[Samples]) -> Stack:
    return Stack.together([stacked(regression, samples) for samples in stretches])


def _predicted(regression: Regression, samples: Samples, x: Array) -> Array:
    predicted = regression.predict(x, samples.q, samples.v, samples.a)
    return low_pass(predicted, samples.rate, samples.cutoff)


def _explained(regression: Regression, samples: Samples, x: Array) -> Array:
    return low_pass(regression.times(x, samples.q, samples.v, samples.a), samples.rate, samples.cutoff)


def _slope(regression: Regression, samples: Samples, x: Array) -> Samples:
    return samples.replaced(derivative(_predicted(regression, samples, x), samples.rate))


def _zero(samples: Samples) -> Samples:
    return samples.replaced(np.zeros_like(samples.y))
