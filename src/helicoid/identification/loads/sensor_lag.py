"""Offsets of force/torque sensors, and the lag of their readings, from the equations of a load.

    w(t + δ) = known(t) + Y(t) π + b

π is that of the load alone. Unknowns of the whole robot that are drawn towards its description, as in
`hc.identify`, cannot explain a load, and a wrong lag would make up for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.logs.filtering import derivative
from helicoid.identification.logs.preparation import moved

_ITERATIONS = 4
_MAX_LAG = 0.25  # s
_MIN_LAG = 1.5  # samples: a shorter lag is taken as none
_MIN_DECREASE = 0.05  # of the squared error, by a lag that is significant


class Readings(NamedTuple):
    """Of one stretch: columns Y (N, rows, 10), known wrenches and readings (N, rows), samples a second."""

    Y: Array
    known: Array
    measured: Array
    rate: float


class _Fit(NamedTuple):
    """Predictions and residuals of each stretch, offsets, and the units of the rows."""

    predicted: list[Array]
    residuals: list[Array]
    offsets: Array
    units: Array


def offsets_and_lag(parts: list[Readings], biased: bool) -> tuple[Array, float]:
    """Offsets b (rows) and the lag δ (s), 0 where it is not significant, by Gauss-Newton."""
    lag, original = 0.0, _fitted(parts, 0.0, biased, None)
    fit = original
    for _ in range(_ITERATIONS):
        slopes = [derivative(one, part.rate) for one, part in zip(fit.predicted, parts, strict=True)]
        own = _beyond_columns(parts, slopes, biased, fit.units)
        inner = _inner(parts)
        top = sum(
            float(np.sum((s * r)[k] / fit.units**2))
            for s, r, k in zip(own, fit.residuals, inner, strict=True)
        )
        bottom = sum(float(np.sum((s**2)[k] / fit.units**2)) for s, k in zip(own, inner, strict=True))
        lag = float(np.clip(lag - top / bottom if bottom > 0 else lag, -_MAX_LAG, _MAX_LAG))
        fit = _fitted(parts, lag, biased, fit.units)
    errors = [
        sum(
            float(np.sum(r[k] ** 2 / original.units**2))
            for r, k in zip(one.residuals, _inner(parts), strict=True)
        )
        for one in (original, fit)
    ]
    clear = abs(lag) * parts[0].rate > _MIN_LAG and errors[1] < (1 - _MIN_DECREASE) * errors[0]
    return (fit.offsets, lag) if clear else (original.offsets, 0.0)


def _inner(parts: list[Readings]) -> list[slice]:
    """Samples that a shift of the readings leaves inside of the stretch, of those long enough."""
    found = []
    for part in parts:
        edge = int(np.ceil(_MAX_LAG * part.rate))
        found.append(slice(edge, -edge) if len(part.known) > 4 * edge else slice(None))
    return found


def _fitted(parts: list[Readings], lag: float, biased: bool, units: Array | None) -> _Fit:
    """The load and the offsets by least squares; without units, those of the rows are their residuals."""
    left = [moved(part.measured, lag * part.rate) - part.known for part in parts]
    if units is None:
        sizes = np.sqrt(np.mean(np.concatenate(left) ** 2, axis=0))
        units = np.maximum(sizes, 1e-6 * sizes.max() + 1e-12)
        residuals = np.concatenate(_beyond_columns(parts, left, biased, units))
        units = np.maximum(np.sqrt(np.mean(residuals**2, axis=0)), 1e-6 * units.max())
    beyond = _beyond_columns(parts, left, biased, units)
    explained = [one - rest for one, rest in zip(left, beyond, strict=True)]
    predicted = [part.known + one for part, one in zip(parts, explained, strict=True)]
    return _Fit(predicted, beyond, _offsets(parts, left, biased, units), units)


def _columns(parts: list[Readings], biased: bool, units: Array) -> Array:
    """[Y, 1] of all samples in units of the rows, (N rows, 10 + rows)."""
    blocks = []
    for part in parts:
        n, rows = part.known.shape
        ones = np.broadcast_to(np.eye(rows), (n, rows, rows)) if biased else np.zeros((n, rows, 0))
        blocks.append(np.concatenate([part.Y, ones], axis=2) / units[:, None])
    columns = np.concatenate(blocks)
    return columns.reshape(-1, columns.shape[2])


def _solved(parts: list[Readings], values: list[Array], biased: bool, units: Array) -> tuple[Array, Array]:
    A = _columns(parts, biased, units)
    x = np.linalg.lstsq(A, (np.concatenate(values) / units).ravel(), rcond=1e-9)[0]
    return A, np.asarray(x, dtype=np.float64)


def _beyond_columns(parts: list[Readings], values: list[Array], biased: bool, units: Array) -> list[Array]:
    """Residuals of a fit of the columns to values (N, rows) of each stretch."""
    A, x = _solved(parts, values, biased, units)
    whole = np.concatenate(values)
    beyond = whole - (A @ x).reshape(whole.shape) * units
    return np.split(beyond, np.cumsum([len(one) for one in values])[:-1])


def _offsets(parts: list[Readings], values: list[Array], biased: bool, units: Array) -> Array:
    x = _solved(parts, values, biased, units)[1]
    return x[10:] if biased else np.zeros(len(units))
