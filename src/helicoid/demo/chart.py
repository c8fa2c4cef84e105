"""Line charts over time as SVG, for a page with colors of its own: sharp at any size, light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array

WIDTH, HEIGHT = 560.0, 270.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 10.0, 14.0, 30.0
_MOST_POINTS = 700


@dataclass(frozen=True)
class Line:
    """A series y over x; `color` is a CSS color, and `label` goes to the legend if there is one."""

    x: ArrayLike
    y: ArrayLike
    color: str
    label: str = ""
    width: float = 1.8
    dash: str = ""


@dataclass(frozen=True)
class Band:
    """The area between two series."""

    x: ArrayLike
    lower: ArrayLike
    upper: ArrayLike
    color: str
    label: str = ""


@dataclass(frozen=True)
class Level:
    """A horizontal line with a name, such as a limit."""

    y: float
    label: str


@dataclass(frozen=True)
class Chart:
    """What to draw: the axes' ranges, an event marked by a vertical line, and the parts from back to front.

    `inset` is a smaller chart over the lower right of this one.
    """

    title: str
    unit: str
    duration: float
    low: float
    high: float
    parts: Sequence[Line | Band]
    levels: Sequence[Level] = ()
    event: tuple[float, str] | None = None
    note: str = ""
    log: bool = False
    inset: Chart | None = None
    start: float = 0.0

    def html(self) -> str:
        """A figure with title, legend and drawing."""
        legend = "".join(
            f'<span><i style="background:{part.color}"></i>{escape(part.label)}</span>'
            for part in self.parts
            if part.label
        )
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        return (
            f'<figure class="chart"><figcaption><b>{escape(self.title)}</b>'
            f'<span class="unit">{escape(self.unit)}</span></figcaption>'
            f'<div class="keys">{legend}</div>{self._svg()}{note}</figure>'
        )

    def _svg(self) -> str:
        frame = (
            f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{escape(self.title)}" '
            f'data-left="{LEFT / WIDTH:.4f}" data-right="{1 - RIGHT / WIDTH:.4f}">'
        )
        width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        clip = f'<svg x="{LEFT}" y="{TOP}" width="{width}" height="{height}" '
        view = f'viewBox="{LEFT} {TOP} {width} {height}" preserveAspectRatio="none">'
        drawn = "".join(self._drawn(part) for part in self.parts)
        cursor = f'<line class="cursor" x1="0" x2="0" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        inset = "" if self.inset is None else self.inset._as_inset()
        return (
            frame + self._axes() + self._marks() + clip + view + drawn + "</svg>" + inset + cursor + "</svg>"
        )

    def _as_inset(self) -> str:
        """The drawing alone, at 0.6 of its size, on a ground of its own."""
        place = f'<svg class="inset" x="{0.385 * WIDTH:g}" y="{0.27 * HEIGHT:g}" width="{0.6 * WIDTH:g}" '
        size = f'height="{0.6 * HEIGHT:g}" viewBox="0 0 {WIDTH:g} {HEIGHT:g}">'
        ground = f'<rect width="{WIDTH:g}" height="{HEIGHT:g}" rx="10"/>'
        at = f'x="{WIDTH - RIGHT - 6}" y="{TOP + 16}" text-anchor="end"'
        title = f'<text class="tick" {at}>{escape(self.title)}</text>'
        drawn = "".join(self._drawn(part) for part in self.parts)
        return place + size + ground + self._axes() + drawn + title + "</svg>"

    def _x(self, t: ArrayLike) -> Array:
        part = (np.asarray(t, float) - self.start) / (self.duration - self.start)
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    def _y(self, value: ArrayLike) -> Array:
        y, low, high = np.asarray(value, float), self.low, self.high
        if self.log:
            y, low, high = np.log10(np.maximum(y, 1e-3 * low)), np.log10(low), np.log10(high)
        return HEIGHT - BOTTOM - (y - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def _axes(self) -> str:
        out = []
        for value in _log_ticks(self.low, self.high) if self.log else ticks(self.low, self.high):
            y = float(self._y(value))
            out.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            out.append(
                f'<text class="tick" x="{LEFT - 7}" y="{y + 3.5:.1f}" text-anchor="end">{value:g}</text>'
            )
        for value in ticks(self.start, self.duration, 9):
            x, last = float(self._x(value)), value + 1e-9 >= self.duration
            text, anchor = (f"{value:g} s", "end") if last else (f"{value:g}", "middle")
            x = x + 6 if last else x
            out.append(
                f'<text class="tick" x="{x:.1f}" y="{HEIGHT - 10}" text-anchor="{anchor}">{text}</text>'
            )
        return "".join(out)

    def _marks(self) -> str:
        out = []
        for level in self.levels:
            y = float(self._y(level.y))
            out.append(f'<line class="level" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            out.append(
                f'<text class="note" x="{WIDTH - RIGHT - 4}" y="{y - 5:.1f}" text-anchor="end">'
                f"{escape(level.label)}</text>"
            )
        if self.event is not None:
            x = float(self._x(self.event[0]))
            out.append(f'<line class="event" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
            out.append(
                f'<text class="note" x="{x - 5:.1f}" y="{TOP + 10}" text-anchor="end">'
                f"{escape(self.event[1])}</text>"
            )
        return "".join(out)

    def _drawn(self, part: Line | Band) -> str:
        if isinstance(part, Line):
            x, y = thinned(np.asarray(part.x, float), np.asarray(part.y, float))
            dash = f' stroke-dasharray="{part.dash}"' if part.dash else ""
            return (
                f'<path d="{_path(self._x(x), self._y(y))}" fill="none" style="stroke:{part.color}" '
                f'stroke-width="{part.width:g}" stroke-linejoin="round"{dash}/>'
            )
        x = np.asarray(part.x, float)
        y = np.concatenate([np.asarray(part.lower, float), np.asarray(part.upper, float)[::-1]])
        path = _path(self._x(np.concatenate([x, x[::-1]])), self._y(y))
        return f'<path class="band" d="{path}Z" style="fill:{part.color}"/>'


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from low to high, at most so many.

    >>> ticks(0.0, 2.7)
    [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    """
    span = high - low
    power = 10.0 ** np.floor(np.log10(span / most))
    step = next(s * power for s in (1, 2, 5, 10, 20) if span / (s * power) <= most)
    first = int(np.ceil(low / step - 1e-9))
    return [round(float(k * step), 10) for k in range(first, int(np.floor(high / step + 1e-9)) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    return [s * 10.0**p for p in powers for s in (1, 2, 5) if low <= s * 10.0**p <= high * 1.0001]


def thinned(x: Array, y: Array) -> tuple[Array, Array]:
    """Means of equal pieces, when there are more points than the eye can tell apart."""
    n = -(-len(x) // _MOST_POINTS)
    if n == 1:
        return x, y
    whole = len(x) // n * n
    return x[:whole].reshape(-1, n).mean(axis=1), y[:whole].reshape(-1, n).mean(axis=1)


def _path(x: Array, y: Array) -> str:
    points = [f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    return "M" + "L".join(points)
