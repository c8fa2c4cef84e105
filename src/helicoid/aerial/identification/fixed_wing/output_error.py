"""Output error: simulated segments of a few seconds, fitted to all that is measured.

The unknowns are the parameters and the state at the beginning of each segment, so that errors of the
simulation, gusts among them, do not grow for longer than that (Klein and Morelli 2006, chapter 6; the
segments are those of multiple shooting, Bock 1987). Outputs are angular velocity, velocity through the air,
attitude, and specific force; the noise of each is estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.aerial.identification.fitting import STEP, Part
from helicoid.aerial.identification.fixed_wing.model import Motion, given, measured_wind
from helicoid.aerial.identification.fixed_wing.parameters import AircraftLayout
from helicoid.aerial.identification.sampling import Stretch
from helicoid.geometry import quaternion

_SEGMENT = 3.0  # s
_START_SIGMA = np.repeat([0.05, 0.1, 3.0], 3)  # rad, rad/s, m/s: of initial states about the measured ones
_MIN_BLOCKS = 20  # over which standard deviations are estimated
_CORRELATED = 0.2  # s: residuals of nearer samples count once beside the prior


class _Segment(NamedTuple):
    """Samples, the index of their stretch, and which of its samples they are."""

    samples: Stretch
    stretch: int
    rows: slice


@dataclass(frozen=True, eq=False)
class OutputError:
    """The least squares problem of segments; the point is the parameters, then nine numbers a segment."""

    layout: AircraftLayout
    data: Sequence[Stretch]

    @cached_property
    def segments(self) -> list[_Segment]:
        """The stretches, cut."""
        found = []
        for k, stretch in enumerate(self.data):
            count = max(1, round(len(stretch.t) * stretch.dt / _SEGMENT))
            edges = np.linspace(0, len(stretch.t), count + 1).astype(int)
            found += [_Segment(stretch.part(slice(a, b)), k, slice(a, b)) for a, b in pairwise(edges)]
        return found

    @cached_property
    def winds(self) -> list[Array]:
        """Measured wind of each stretch."""
        return [measured_wind(stretch) for stretch in self.data]

    @property
    def prior(self) -> Array:
        return np.concatenate([self.layout.prior, np.zeros(9 * len(self.segments))])

    @property
    def spread(self) -> Array:
        return np.concatenate([self.layout.spread, np.tile(_START_SIGMA, len(self.segments))])

    @property
    def share(self) -> float:
        return min(1.0, self.data[0].dt / _CORRELATED)

    @property
    def block(self) -> int:
        return max(1, min(self.longest, sum(len(s.t) for s in self.data) // _MIN_BLOCKS))

    @cached_property
    def longest(self) -> int:
        """Samples of the longest segment."""
        return max(len(one.samples.t) for one in self.segments)

    def slow_noise(self, left: Sequence[Array]) -> None:
        """None: air data measure the gusts."""

    def residuals(self, point: Array) -> list[Array]:
        """Measured less simulated, (M, 12) of each segment."""
        return [rows[0] for rows in self._left(point, np.zeros((1, 0)))]

    def linearised(self, point: Array) -> list[Part]:
        """The same with difference quotients."""
        n = len(self.layout.names)
        steps = STEP * np.concatenate([self.layout.spread, _START_SIGMA])
        found = []
        for k, rows in enumerate(self._left(point, np.vstack([np.zeros(n + 9), np.diag(steps)]))):
            J = np.moveaxis((rows[0] - rows[1:]) / steps[:, None, None], 0, 2)
            columns = np.concatenate([np.arange(n), n + 9 * k + np.arange(9)])
            found.append(Part(rows[0], J, columns))
        return found

    def _left(self, point: Array, changes: Array) -> list[Array]:
        """Residuals (P, M, 12) of each segment at the point with each of the changes (P, n + 9)."""
        layout, n = self.layout, len(self.layout.names)
        changes = changes if changes.shape[1] else np.zeros((1, n + 9))
        motion, count = Motion.of(layout), len(changes)
        thetas = point[:n] + changes[:, :n]
        now, following = (self._given(thetas, ahead) for ahead in (False, True))
        starts = [point[n + 9 * k : n + 9 * (k + 1)] + changes[:, n:] for k in range(len(self.segments))]
        state = np.concatenate(
            [self._start(one.samples, s, thetas) for one, s in zip(self.segments, starts, strict=True)]
        )
        theta = np.tile(thetas[:, layout.aerodynamic], (len(self.segments), 1))
        dt, states = self.data[0].dt, np.empty((len(now), *state.shape))
        for k in range(len(now)):
            states[k] = state
            state = motion.step(state, following[k], theta, dt)
        wide = np.repeat(theta[None], len(now), axis=0).reshape(-1, theta.shape[1])
        force = motion.acceleration(states.reshape(-1, 10), now.reshape(-1, now.shape[2]), wide)
        force = force[:, :3].reshape(len(now), -1, 3)
        found = []
        for k, one in enumerate(self.segments):
            own = slice(0, len(one.samples.t)), slice(k * count, (k + 1) * count)
            found.append(self._left_of(one.samples, thetas, states[own], force[own]).swapaxes(0, 1))
        return found

    def _given(self, thetas: Array, ahead: bool) -> Array:
        """Inputs of the equations over the longest segment, (samples, segments · P, columns)."""
        layout, found = self.layout, []
        delays = np.array([layout.of(theta, "delay") for theta in thetas])
        for k, stretch in enumerate(self.data):
            rows = np.empty((len(thetas), 0, 0))
            for delay in np.unique(delays):
                one = given(stretch, self.winds[k], delay, layout.engine_lag, ahead)
                rows = np.tile(one, (len(thetas), 1, 1)) if not rows.size else rows
                rows[delays == delay] = one
            if stretch.air is None:
                rows[:, :, 1:4] = np.array([layout.wind(theta, stretch.flight) for theta in thetas])[:, None]
            found += [_padded(rows[:, one.rows], self.longest) for one in self.segments if one.stretch == k]
        return np.concatenate(found).swapaxes(0, 1)

    def _start(self, samples: Stretch, starts: Array, thetas: Array) -> Array:
        """Initial states: measured ones, turned and moved."""
        assert samples.attitude is not None
        turned = [quaternion.multiply(samples.attitude[0], quaternion.exp(s[:3])) for s in starts]
        rates = samples.gyro[0] - self.layout.gyro_bias + starts[:, 3:6]
        velocity = _velocity(samples)[:5].mean(axis=0) + starts[:, 6:]
        return np.hstack([np.array(turned), rates, velocity])

    def _left_of(self, samples: Stretch, thetas: Array, x: Array, force: Array) -> Array:
        """Measured less simulated of states (M, P, 10) and specific forces (M, P, 3), (M, P, 12)."""
        assert samples.attitude is not None
        Q = samples.attitude[:, None]
        w, v = Q[..., :1], Q[..., 1:]
        a, b = x[..., :1], x[..., 1:4]
        scalar = w * a + np.sum(v * b, axis=-1, keepdims=True)
        turn = 2 * np.sign(scalar) * (a * v - w * b + np.cross(v, b))  # of the simulated to the measured
        rates = (samples.rates - self.layout.gyro_bias)[:, None] - x[..., 4:7]
        velocity = _velocity(samples)[:, None] - x[..., 7:]
        bias = np.array([self.layout.bias(theta) for theta in thetas])
        f = (samples.force[:, None] - force - bias) * samples.present[:3]
        return np.concatenate([rates, velocity, turn, f], axis=-1)


def _velocity(samples: Stretch) -> Array:
    """Measured velocity in the body: over the ground, or else through the air."""
    velocity = samples.air if samples.velocity is None else samples.velocity
    assert velocity is not None
    return velocity


def _padded(rows: Array, length: int) -> Array:
    return np.concatenate([rows, np.repeat(rows[:, -1:], length - rows.shape[1], axis=1)], axis=1)
