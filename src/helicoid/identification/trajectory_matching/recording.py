"""Windows of measured positions with the commands that act on them, delayed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.identification.linear.equations.regression import Indices
from helicoid.identification.logs.clock import clock, stretches
from helicoid.identification.logs.columns import COMMANDS
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.preparation import motion
from helicoid.robot import Robot

SMOOTHING_CUTOFF = 0.06  # of the sampling rate: low-pass of initial velocities and of equation errors
_RATE_TOLERANCE = 1e-3  # relative: stretches of one log have the same sampling rate


class Commands(NamedTuple):
    """Commands (W, K, nv) that act from each part of a window to the next, and d/dδ by their delay δ."""

    values: dict[str, Array]
    by_delay: dict[str, Array]


@dataclass(frozen=True, eq=False)
class Recording:
    """A log on an even clock: q, smooth q, v, a, commands (N, nv), and windows of K steps from `base` (W,).

    `first` (N,) is the first sample of each sample's stretch, before which commands are taken as constant.
    `t` are the times in the log, dt the sampling time (s).
    """

    t: Array
    q: Array
    smooth: tuple[Array, Array, Array]
    commands: dict[str, Array]
    first: Array
    dt: float
    length: int
    base: Array

    @staticmethod
    def of(robot: Robot, log: Log, horizon: float, before: float, apart: float | None = None) -> Recording:
        """Windows of `horizon` (s), `apart` (s, by default as long), `before` (s) or more into a stretch."""
        names = [name for name in COMMANDS if getattr(log, name) is not None]
        parts = []
        for part in stretches(log):
            if part.stop - part.start > 20:
                even, _ = clock(log[part])
                parts.append((part, even))
        if not parts:
            raise InputError(f"{log.source}: no 20 samples follow one another without a gap")
        rates = np.array([even.rate for _, even in parts])
        rate = float(np.median(rates))
        if np.abs(rates / rate - 1).max() > _RATE_TOLERANCE:
            raise InputError(f"{log.source}: its stretches have different sampling rates: pass one of them")
        K, start = max(2, round(horizon * rate)), int(np.ceil(before * rate))
        step = K if apart is None else max(1, round(apart * rate))
        rows: list[list[Array]] = [[] for _ in range(6 + len(names))]
        base: list[int] = []
        count = 0
        for part, even in parts:
            cut = log[part]
            q = even.onto(np.asarray(cut.q))
            ((_, _, smooth),) = motion(robot, Log(even.t, q), SMOOTHING_CUTOFF * rate)
            own = [even.t, q, *smooth, np.full(len(even.t), count)]
            own += [_held(getattr(cut, name), even.stamps, even.t) for name in names]
            for into, values in zip(rows, own, strict=True):
                into.append(values)
            base += range(count + start, count + len(even.t) - K, step)
            count += len(even.t)
        if not base:
            raise InputError(
                f"{log.source}: no stretch without a gap is as long as one window of {horizon:g} s after "
                f"{before:g} s for delays"
            )
        t, q, sq, sv, sa, first, *commands = (np.concatenate(one) for one in rows)
        named = dict(zip(names, commands, strict=True))
        return Recording(
            t, q, (sq, sv, sa), named, first.astype(np.intp), 1 / rate, K, np.array(base, dtype=np.intp)
        )

    def chosen(self, windows: Indices | slice) -> Recording:
        """Some of the windows."""
        return replace(self, base=self.base[windows])

    @property
    def index(self) -> Array:
        """The samples of each window, (W, K + 1)."""
        return self.base[:, None] + np.arange(self.length + 1)

    @property
    def measured(self) -> Array:
        """Positions at the samples of each window, (W, K + 1, nv)."""
        return self.q[self.index]

    def start(self) -> tuple[Array, Array]:
        """Smoothed q and v at the beginning of each window, (W, nv)."""
        return self.smooth[0][self.base], self.smooth[1][self.base]

    def delayed(self, delay: Array, parts: int = 1) -> Commands:
        """The commands of each window at a delay of each joint (nv) in s, for every one of `parts` a sample.

        A command is held from its sample to the next; delayed by m + f samples, its mean over a sampling time
        is (1 - f) u[k - m] + f u[k - m - 1].
        """
        first = self.first[self.base][:, None, None, None]
        samples = self.index[:, :-1, None, None]
        late = delay / self.dt - np.arange(parts)[:, None] / parts
        m = np.floor(late + 1e-9).astype(np.intp)
        f = np.clip(parts * (late - m), 0.0, 1.0)
        now, before = np.maximum(samples - m, first), np.maximum(samples - m - 1, first)
        joints, changing = np.arange(len(delay)), parts * (f < 1.0) / self.dt
        values, slopes = {}, {}
        for name, u in self.commands.items():
            here, old = u[now, joints], u[before, joints]
            values[name] = _in_order((1 - f) * here + f * old)
            slopes[name] = _in_order(changing * (old - here))
        return Commands(values, slopes)


def _in_order(u: Array) -> Array:
    """(W, K, parts, nv) as (W, K parts, nv)."""
    return np.asarray(u.reshape(len(u), -1, u.shape[-1]))


def _held(values: Array, stamps: Array, t: Array) -> Array:
    """The command that acts at each even time: the last one sent."""
    if np.array_equal(stamps, t):
        return np.asarray(values)
    return np.asarray(values)[np.clip(np.searchsorted(stamps, t, side="right") - 1, 0, len(stamps) - 1)]
