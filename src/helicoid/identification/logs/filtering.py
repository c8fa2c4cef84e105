"""Zero-phase low-pass, outliers and derivatives of sampled signals."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array

Mask = NDArray[np.bool_]

ORDER = 4  # of the Butterworth filter that runs forwards and backwards
_OUTLIER_THRESHOLD = 8.0  # robust standard deviations from the running median
_MEDIAN_WINDOW = 7  # samples


def low_pass(x: Array, rate: float, cutoff: float | None) -> Array:
    """Zero-phase low-pass of x (N, ...) at `cutoff` (Hz); x itself where the cut-off is None.

    A Butterworth filter of order 4 forwards and backwards, its ends continued by point reflection.

    >>> t = np.arange(400) / 100.0
    >>> slow, fast = np.sin(2 * np.pi * t), np.sin(2 * np.pi * 30 * t)
    >>> bool(np.abs(low_pass(slow + fast, 100.0, 5.0) - slow)[50:-50].max() < 1e-2)
    True
    """
    if cutoff is None or cutoff >= 0.45 * rate or len(x) < 8:
        return x
    from scipy.signal import sosfilt

    reach, n = margin(len(x), rate, cutoff), len(x)
    columns = x.reshape(n, -1).T
    y = np.empty((len(columns), n + 2 * reach))
    y[:, reach : reach + n] = columns
    y[:, :reach] = 2 * columns[:, :1] - columns[:, reach:0:-1]
    y[:, reach + n :] = 2 * columns[:, -1:] - columns[:, n - 1 - reach : n - 1][:, ::-1]
    sections, settled = _sections(rate, cutoff)
    for _ in range(2):  # SciPy's sosfiltfilt finds `settled` anew in each call, which takes longer than this
        y = sosfilt(sections, y, axis=1, zi=settled[:, None] * y[:, :1])[0][:, ::-1]
    kept = y[:, reach : reach + n].T
    return kept if x.flags.f_contiguous and x.ndim == 2 else np.ascontiguousarray(kept).reshape(x.shape)


@lru_cache(maxsize=64)
def _sections(rate: float, cutoff: float) -> tuple[Array, Array]:
    """Second-order sections of the filter, and their steady state for a constant input of 1."""
    from scipy.signal import butter, sosfilt_zi

    sections = np.asarray(butter(ORDER, cutoff, fs=rate, output="sos"))
    return sections, np.asarray(sosfilt_zi(sections))


def margin(n: int, rate: float, cutoff: float | None) -> int:
    """Length of the filter's transient in samples: 1.5 periods of its cut-off, at most n - 1."""
    return 0 if cutoff is None else min(n - 1, int(np.ceil(1.5 * rate / cutoff)))


def noise_bandwidth(rate: float, cutoff: float | None) -> float:
    """The part of white noise's power that the low-pass lets through, in (0, 1]."""
    if cutoff is None or cutoff >= 0.45 * rate:
        return 1.0
    f = np.linspace(0.0, 0.5 * rate, 4096)
    # Warped as the bilinear transform does; the gain of both passes together is 1 / (1 + (f/fc)^2n).
    ratio = np.tan(np.pi * np.minimum(f, 0.4999 * rate) / rate) / np.tan(np.pi * cutoff / rate)
    return float(np.mean(1.0 / (1.0 + ratio ** (2 * ORDER)) ** 2))


def outliers(x: Array) -> Mask:
    """Mask (N, n) of the outliers of x: far from the median of their neighbours (Hampel filter)."""
    if len(x) < 4 * _MEDIAN_WINDOW:
        return np.zeros(x.shape, dtype=bool)
    half = _MEDIAN_WINDOW // 2
    padded = np.pad(x, ((half, half), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, _MEDIAN_WINDOW, axis=0)
    middle = np.median(windows, axis=-1)
    off = np.abs(x - middle)
    # Where the motion is steep the median lags; a spike is more than the signal's own changes nearby.
    spread = 1.4826 * np.median(off, axis=0) + 1e-9 * np.ptp(x, axis=0) + 1e-300
    neighbours = np.max(np.abs(np.diff(middle, axis=0)), axis=0)
    return off > _OUTLIER_THRESHOLD * spread + 2.0 * neighbours


def repaired(x: Array, bad: Mask) -> Array:
    """x with its bad values replaced by straight lines between the good ones."""
    result = np.array(x)
    index = np.arange(len(x))
    for k in np.flatnonzero(bad.any(axis=0)):
        good = ~bad[:, k]
        result[~good, k] = np.interp(index[~good], index[good], x[good, k])
    return result


def derivative(x: Array, rate: float) -> Array:
    """dx/dt of samples (N, n) at a constant rate: that of the cubic spline through them."""
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(np.arange(len(x)) / rate, x, axis=0)(np.arange(len(x)) / rate, 1))


def bandwidth(x: Array, rate: float, part: float = 0.99) -> float:
    """The frequency (Hz) below which `part` of the power of every column of x (N, n) lies.

    Columns with less than a thousandth of the power of the strongest do not count: for a joint at
    rest they are noise of its sensor.
    """
    from scipy.signal import welch

    span = min(len(x), max(256, int(16 * rate)))
    f, power = welch(x - x.mean(axis=0), fs=rate, nperseg=span, axis=0)
    total = np.cumsum(power, axis=0)
    reached = total >= part * total[-1]
    moving = total[-1] > 1e-3 * total[-1].max()
    return float(f[np.argmax(reached[:, moving], axis=0)].max()) if moving.any() else 0.0
