"""Lag between motion and measured torque, estimated jointly with the parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.rows import blocks, thinning
from helicoid.identification.linear.equations.stack import Stack
from helicoid.identification.logs.filtering import derivative
from helicoid.identification.logs.preparation import Samples

_MIN_LAG = 1.5  # samples: a shorter lag is taken as none
_MIN_DECREASE = 0.05  # of the squared error, by a lag that is significant
_ITERATIONS = 3
_MIN_STEP = 0.2  # of the least lag: after a shorter step there is none
_MIN_BLOCK = 8  # samples, for a derivative
_MAX_SAMPLES = 4000


def estimate_lag(
    regression: Regression, stretches: Sequence[Samples], fit: Callable[[Stack], Array], weights: Array
) -> float:
    """The lag (s) by which measured torques follow the motion; 0 where it is not significant.

    Gauss-Newton: y(t) = ŷ(t - δ) ≈ ŷ - δ dŷ/dt, where the projection of dŷ/dt on the regressor is removed
    first, since the parameters change with δ. `fit` gives x of a stack, `weights` are those of the rows.
    """

    held = _held(regression, stretches)

    def error(stack: Stack) -> float:
        return float(weights @ stack.squares(fit(stack)))

    lag, moved = 0.0, list(stretches)
    original = stack = _stack(regression, held, _measured(held, moved))
    for _ in range(_ITERATIONS):
        x = fit(stack)
        slopes = [derivative(_times(regression, one, x) + one.known, one.rate) for one in held]
        measured = _measured(held, moved)
        along = fit(_stack(regression, held, [y + s for y, s in zip(measured, slopes, strict=True)])) - x
        top = bottom = 0.0
        for one, slope, y in zip(held, slopes, measured, strict=True):
            own = slope - _times(regression, one, along)
            left = y - _times(regression, one, x)
            w = one.weights * weights
            top -= float(np.sum(w * own * left))
            bottom += float(np.sum(w * own * own))
        lag += top / bottom if bottom > 0 else 0.0
        lag = float(np.clip(lag, -0.25, 0.25))
        if abs(lag) * stretches[0].rate < _MIN_STEP * _MIN_LAG:
            return 0.0
        moved = [samples.delayed(lag) for samples in stretches]
        stack = _stack(regression, held, _measured(held, moved))
    clear = abs(lag) * stretches[0].rate > _MIN_LAG
    return lag if clear and error(stack) < (1 - _MIN_DECREASE) * error(original) else 0.0


class _Held(NamedTuple):
    """Equations of consecutive samples: their motion is fixed while the measurement is shifted.

    `known` (N, rows) is the torque known without unknowns; `stretch` and `place` say where y is.
    """

    rows: list[Array]
    known: Array
    weights: Array
    rate: float
    stretch: int
    place: slice
    step: int


def _held(regression: Regression, stretches: Sequence[Samples]) -> list[_Held]:
    """Blocks spread over all stretches."""
    every = max(1, round(sum(len(s) / thinning(s) for s in stretches) / _MAX_SAMPLES))
    found = []
    for k, samples in enumerate(stretches):
        step = thinning(samples)
        y = samples.y[::step]
        for one in blocks(regression, samples, every=every):
            known, rate = y[one.place] - one.y, samples.rate / step
            if len(known) >= _MIN_BLOCK:
                found.append(_Held(one.rows, known, one.weights, rate, k, one.place, step))
    return found


def _measured(held: Sequence[_Held], stretches: Sequence[Samples]) -> list[Array]:
    """Measured less known torques, (N, rows) of each block."""
    return [stretches[one.stretch].y[:: one.step][one.place] - one.known for one in held]


def _stack(regression: Regression, held: Sequence[_Held], y: Sequence[Array]) -> Stack:
    stack = Stack.empty(regression)
    for one, own in zip(held, y, strict=True):
        stack = stack.added(one.rows, own, one.weights)
    return stack


def _times(regression: Regression, one: _Held, x: Array) -> Array:
    """Y x, (N, rows)."""
    return np.column_stack([Y @ x[on] for Y, on in zip(one.rows, regression.supports, strict=True)])
