"""Line charts as SVG text, for pages that load nothing: sharp at any size, in the colors of the page.

The style sheet of the page knows the classes `grid`, `tick`, `label`, `level`, `event`, `note`, `band`,
`inset` and `cursor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array

LEFT, RIGHT, TOP, BOTTOM = 46.0, 10.0, 14.0, 30.0
_MAX_COLUMNS = 700  # of pixels, to which the points of a curve are thinned


@dataclass(frozen=True)
class Curve:
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
class Axis:
    """An axis: range, label, and whether it is logarithmic."""

    low: float
    high: float
    label: str = ""
    log: bool = False

    @staticmethod
    def around(series: Sequence[Array], label: str, margin: float = 0.0, log: bool = False) -> Axis:
        """An axis that holds all values (if logarithmic, those above zero), and a margin on both sides."""
        values = np.concatenate([np.zeros(0), *series])
        values = values[np.isfinite(values) & ((values > 0) | (not log))]
        low, high = (values.min(), values.max()) if len(values) else (1.0, 2.0)
        if log:
            high = max(high, 10 * low)
            room = (high / low) ** margin
            return Axis(float(low / room), float(high * room), label, log)
        wide = high - low if high > low else 1.0
        middle, half = (high + low) / 2, (0.5 + margin) * wide
        return Axis(float(middle - half), float(middle + half), label)

    def place(self, values: ArrayLike) -> Array:
        """Positions of values: 0 at the low end, 1 at the high one."""
        x, low, high = np.asarray(values, float), self.low, self.high
        if self.log:
            x, low, high = np.log10(np.maximum(x, 1e-3 * low)), np.log10(low), np.log10(high)
        return np.asarray((x - low) / (high - low))

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers, at most so many.

        >>> Axis(0.0, 2.7).ticks()
        [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
        >>> Axis(0.01, 20.0, log=True).ticks()
        [0.01, 0.1, 1.0, 10.0]
        """
        if self.log:
            first, last = np.ceil(np.log10(self.low) - 1e-9), np.floor(np.log10(self.high) + 1e-9)
            powers = np.arange(first, last + 1)
            return [float(10.0**power) for power in powers[:: -(-len(powers) // most) or 1]]
        span = self.high - self.low
        power = 10.0 ** np.floor(np.log10(span / most))
        step = next(s * power for s in (1, 2, 5, 10, 20) if span / (s * power) <= most)
        first = int(np.ceil(self.low / step - 1e-9))
        return [float(f"{k * step:.12g}") for k in range(first, int(np.floor(self.high / step + 1e-9)) + 1)]


@dataclass(frozen=True)
class Chart:
    """Chart of curves and bands, drawn from back to front, with levels and an event as a vertical line.

    `inset` is a smaller chart over the lower right of this one.
    """

    title: str
    x: Axis
    y: Axis
    parts: Sequence[Curve | Band]
    levels: Sequence[Level] = ()
    event: tuple[float, str] | None = None
    inset: Chart | None = None
    width: float = 560.0
    height: float = 270.0

    @property
    def legend(self) -> str:
        """The labels of parts that have one, beside their colors, as HTML."""
        labelled = [part for part in self.parts if part.label]
        return "".join(
            f'<span><i style="background:{part.color}"></i>{escape(part.label)}</span>' for part in labelled
        )

    def svg(self) -> str:
        """The drawing, clipped to the axes; a script may move its `cursor`."""
        frame = (
            f'<svg viewBox="0 0 {self.width:g} {self.height:g}" role="img" aria-label="{escape(self.title)}" '
            f'data-left="{LEFT / self.width:.4f}" data-right="{1 - RIGHT / self.width:.4f}">'
        )
        width, height = self.width - LEFT - RIGHT, self.height - TOP - BOTTOM
        clip = f'<svg x="{LEFT}" y="{TOP}" width="{width}" height="{height}" '
        view = f'viewBox="{LEFT} {TOP} {width} {height}" preserveAspectRatio="none">'
        drawn = "".join(self._drawn(part) for part in self.parts)
        cursor = f'<line class="cursor" x1="0" x2="0" y1="{TOP}" y2="{self.height - BOTTOM}"/>'
        inset = "" if self.inset is None else self.inset._as_inset()
        return (
            frame + self._axes() + self._marks() + clip + view + drawn + "</svg>" + inset + cursor + "</svg>"
        )

    def _as_inset(self) -> str:
        """The drawing alone, at 0.6 of its size, on a ground of its own."""
        W, H = self.width, self.height
        place = f'<svg class="inset" x="{0.385 * W:g}" y="{0.27 * H:g}" width="{0.6 * W:g}" '
        size = f'height="{0.6 * H:g}" viewBox="0 0 {W:g} {H:g}">'
        ground = f'<rect width="{W:g}" height="{H:g}" rx="10"/>'
        title = _text("tick", W - RIGHT - 6, TOP + 16, "end", self.title)
        drawn = "".join(self._drawn(part) for part in self.parts)
        return place + size + ground + self._axes() + drawn + title + "</svg>"

    def _x(self, values: ArrayLike) -> Array:
        return LEFT + self.x.place(values) * (self.width - LEFT - RIGHT)

    def _y(self, values: ArrayLike) -> Array:
        return self.height - BOTTOM - self.y.place(values) * (self.height - TOP - BOTTOM)

    def _axes(self) -> str:
        right, bottom = self.width - RIGHT, self.height - BOTTOM
        out = []
        for value in self.y.ticks():
            y = float(self._y(value))
            out.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{right}"/>')
            out.append(_text("tick", LEFT - 6, y + 3.5, "end", f"{value:g}"))
        for value in self.x.ticks(9):
            x = float(self._x(value))
            out.append(f'<path class="grid" d="M{x:.1f} {TOP}V{bottom}"/>')
            out.append(_text("tick", x, bottom + 13, "middle", f"{value:g}"))
        out.append(_text("label", right, bottom + 26, "end", self.x.label))
        out.append(_text("label", 2, TOP - 4, "start", self.y.label))
        return "".join(out)

    def _marks(self) -> str:
        right, bottom = self.width - RIGHT, self.height - BOTTOM
        out = []
        for level in self.levels:
            y = float(self._y(level.y))
            out.append(f'<line class="level" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
            out.append(_text("note", right - 4, y - 5, "end", level.label))
        if self.event is not None:
            x = float(self._x(self.event[0]))
            out.append(f'<line class="event" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/>')
            out.append(_text("note", x - 5, TOP + 10, "end", self.event[1]))
        return "".join(out)

    def _drawn(self, part: Curve | Band) -> str:
        if isinstance(part, Curve):
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


def thinned(x: Array, y: Array) -> tuple[Array, Array]:
    """At most two points for each column of pixels: the lowest and the highest, so that no spike is lost."""
    if len(x) <= 2 * _MAX_COLUMNS:
        return x, y
    edges = np.linspace(0, len(x), _MAX_COLUMNS + 1).astype(int)
    kept: list[int] = []
    for start, stop in pairwise(edges):
        pair = start + np.array([np.argmin(y[start:stop]), np.argmax(y[start:stop])])
        kept.extend(sorted({int(k) for k in pair}))
    return x[kept], y[kept]


def _path(x: Array, y: Array) -> str:
    points = [f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    return "M" + "L".join(points)


def _text(style: str, x: float, y: float, anchor: str, text: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{style}" {place}>{escape(text)}</text>' if text else ""
