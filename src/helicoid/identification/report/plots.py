"""Plots as SVG text: lines over time and spectra, nothing that a page would have to load."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array

_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 8, 6, 25
_COLUMNS = 700  # points that a line keeps: as many as there are columns of pixels


class Line(NamedTuple):
    """y over x, and the class that the style sheet knows it by."""

    x: Array
    y: Array
    style: str


def plot(
    lines: Sequence[Line],
    xlabel: str,
    ylabel: str,
    height: int = 170,
    width: int = 640,
    logarithmic: bool = False,
) -> str:
    """An SVG of lines with axes; `logarithmic` draws log10 of both, zeros left out."""
    if logarithmic:
        lines = [_logarithms(line) for line in lines]
    x0, x1 = _range([line.x for line in lines], 0.0)
    y0, y1 = _range([line.y for line in lines], 0.05)
    inner_width, inner_height = width - _LEFT - _RIGHT, height - _TOP - _BOTTOM

    def across(x: Array | float) -> Array:
        return np.asarray(_LEFT + (x - x0) / (x1 - x0) * inner_width)

    def up(y: Array | float) -> Array:
        return np.asarray(_TOP + (y1 - y) / (y1 - y0) * inner_height)

    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(ylabel)}">']
    for tick, label in _ticks(y0, y1, logarithmic):
        at = float(up(tick))
        parts.append(f'<path class="grid" d="M{_LEFT} {at:.1f}H{width - _RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 4}" y="{at + 3.5:.1f}" text-anchor="end">{label}</text>')
    for tick, label in _ticks(x0, x1, logarithmic):
        at = float(across(tick))
        parts.append(f'<path class="grid" d="M{at:.1f} {_TOP}V{height - _BOTTOM}"/>')
        parts.append(f'<text x="{at:.1f}" y="{height - 13}" text-anchor="middle">{label}</text>')
    parts.append(
        f'<text class="label" x="{width - _RIGHT}" y="{height - 2}" text-anchor="end">{escape(xlabel)}</text>'
    )
    middle = _TOP + inner_height / 2
    parts.append(
        f'<text class="label" transform="translate(10 {middle:.0f}) rotate(-90)" '
        f'text-anchor="middle">{escape(ylabel)}</text>'
    )
    for line in lines:
        x, y = _thinned(line.x, line.y)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across(x), up(y), strict=True))
        parts.append(f'<polyline class="{line.style}" points="{points}"/>')
    return "".join([*parts, "</svg>"])


def spectrum(signal: Array, rate: float) -> tuple[Array, Array]:
    """Frequencies (Hz) and amplitude density (unit/√Hz) of a signal, by Welch's averages."""
    from scipy.signal import welch

    frequency, power = welch(signal - signal.mean(), rate, nperseg=min(len(signal), 512))
    return frequency[1:], np.sqrt(power[1:])


def _logarithms(line: Line) -> Line:
    kept = (line.x > 0) & (line.y > 0)
    return Line(np.log10(line.x[kept]), np.log10(line.y[kept]), line.style)


def _range(values: Sequence[Array], margin: float) -> tuple[float, float]:
    held = [v for v in values if len(v)]
    low = min((float(v.min()) for v in held), default=0.0)
    high = max((float(v.max()) for v in held), default=1.0)
    if high <= low:
        low, high = low - 0.5, high + 0.5
    return low - margin * (high - low), high + margin * (high - low)


def _ticks(low: float, high: float, logarithmic: bool) -> list[tuple[float, str]]:
    """About four round numbers; powers of ten on a logarithmic axis."""
    if logarithmic:
        whole = range(int(np.ceil(low)), int(np.floor(high)) + 1)
        step = max(1, len(whole) // 4)
        return [(float(k), f"10<tspan dy='-4' font-size='8'>{k}</tspan>") for k in whole[::step]]
    raw = (high - low) / 4
    size = 10.0 ** np.floor(np.log10(raw))
    step = size * min((1, 2, 5, 10), key=lambda m: abs(m * size - raw))
    first = np.ceil(low / step)
    ticks = [k * step for k in np.arange(first, np.floor(high / step) + 1)]
    return [(float(t), f"{0.0 if abs(t) < 1e-9 * step else t:.6g}") for t in ticks]


def _thinned(x: Array, y: Array) -> tuple[Array, Array]:
    """At most two points for each column of pixels: the lowest and the highest, so that no spike is lost."""
    if len(x) <= 2 * _COLUMNS:
        return x, y
    edges = np.linspace(0, len(x), _COLUMNS + 1).astype(int)
    kept: list[int] = []
    for start, stop in pairwise(edges):
        pair = start + np.array([np.argmin(y[start:stop]), np.argmax(y[start:stop])])
        kept.extend(sorted({int(k) for k in pair}))
    return x[kept], y[kept]
