"""Errors of wiring and units that explain the motion until a stop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.optimize import nnls

from helicoid._typing import Array
from helicoid.commissioning.plant.recording import Recording
from helicoid.robot import Robot

_DURATION = 0.4  # s before the stop
_WINDOW = 0.01  # s, over which torques and accelerations are averaged
_MIN_SAMPLES = 12
_MAX_ROWS = 80
_REST_VELOCITY = 0.01  # of the velocity limit: below it dry friction takes any value
_LAGS = 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 60.0, 100.0, 150.0  # ms, by which torques may act late
_LONG = 0.03  # s: a delay worth a sentence
_MIN_EXPLAINED = 0.7  # share of a torque's variation that a cause explains, at the joint that decides
_MAX_AS_DESCRIBED = 0.4  # of it, explained as described, at that joint
MIN_SHARE_OF_TORQUE = 0.4  # share of the described torque: masses are no less
_MIN_GAIN = 2.0  # logarithm of the ratio of what is left unexplained, over all joints
_MIN_GAIN_WHERE_DOUBTED = 0.7  # of it, where a brake failed
_PENALTY_OF_PAIRS = 1.0  # of gain: there are more pairs of joints than joints
_UNEXPLAINED_FLOOR = 0.02
_MAX_RATIO = 4.0  # of accelerations to those of the description
_CONSISTENT = 0.5  # of the change of a position, that its velocity explains
_MIN_MOVED = 1e-3  # rad, m


@dataclass(frozen=True, eq=False)
class WiringError:
    """A likely error: a sentence, and what turns measured q, v and commands into the described.

    `on_q` and `on_tau` (n, n) are their own inverses; `lag` (s) is by how much torques act late.
    """

    text: str
    on_q: Array
    on_tau: Array
    lag: float = 0.0

    @property
    def corrects(self) -> bool:
        """Whether a law has to be changed for it."""
        same = np.eye(len(self.on_q))
        return bool(self.lag or np.any(self.on_q != same) or np.any(self.on_tau != same))

    @property
    def is_of_two(self) -> bool:
        """Whether two joints are exchanged."""
        return any(np.any(x != np.diag(np.diag(x))) for x in (self.on_q, self.on_tau))


def prepare(robot: Robot) -> None:
    """Compile what `likely_error` calls, so that it answers at once while a robot moves."""
    q = np.tile(robot.neutral(), (_MAX_ROWS, 1))
    zero = np.zeros((_MAX_ROWS, robot.nv))
    robot.inverse_dynamics(q, zero, zero)
    robot.mass_matrix(q[0])


def likely_error(robot: Robot, recording: Recording, doubted: bool = False) -> WiringError | None:
    """Error of wiring or units that explains the end of a recording while the description does not.

    Commands are compared with inverse dynamics of the measured motion, joint by joint: at least a share of
    the described torque, a rotor, viscous and Coulomb friction, all not negative, and an unknown constant
    load. This is fitted as described, with torques that act late, and with a sign changed or two joints
    exchanged, of the commands or of the encoders. Where a brake failed, the description is `doubted`.
    """
    m = max(round(_DURATION / recording.period), _MIN_SAMPLES)
    q, v, tau = recording.q[-m:], recording.v[-m:], recording.command[-m:]
    if len(q) < _MIN_SAMPLES or robot.nq != robot.nv:
        return None
    names, period, same = robot.model.velocity_names, recording.period, np.eye(robot.nv)
    if text := _inconsistent(names, q, v, period):
        return WiringError(text, same, same)
    late = [(1e-3 * lag, _Fit.of(robot, q, v, tau, period, 1e-3 * lag)) for lag in (0.0, *_LAGS)]
    at_once = late[0][1]
    lag, described = max(late, key=lambda one: at_once.gain(one[1]).sum())
    best, error, gain = 0.0, None, _MIN_GAIN_WHERE_DOUBTED if doubted else _MIN_GAIN
    for one in _exchanges(names):
        fit = _Fit.of(robot, q @ one.on_q, v @ one.on_q, tau @ one.on_tau, period, lag)
        gained = described.gain(fit)
        total = float(gained.sum()) - (_PENALTY_OF_PAIRS if one.is_of_two else 0.0)
        if described.is_refuted_by(fit, gain) and total > best:
            best, error, k = total, one, int(np.argmax(gained))
            shares = 100 * fit.share[k], 100 * described.share[k]
    if lag >= _LONG and at_once.is_refuted_by(described, gain) and at_once.gain(described).sum() > best:
        return WiringError(f"torques act about {1e3 * lag:.0f} ms late", same, same, lag)
    if error is not None:
        text = "{}: {:.0f} % of the torque is explained so, {:.0f} % as described".format(error.text, *shares)
        return WiringError(text, error.on_q, error.on_tau)
    return _another_unit(names, _Fit.of(robot, q, v, tau, period, lag, 0.0))


@dataclass(frozen=True, eq=False)
class _Fit:
    """Share of each torque's variation that is explained, and accelerations over those described."""

    share: Array
    ratio: Array

    def gain(self, other: _Fit) -> Array:
        """Logarithm of what this leaves unexplained over what the other does, by joint."""
        left, less = (1 - one.share + _UNEXPLAINED_FLOOR for one in (self, other))
        return np.asarray(np.log(left / less))

    def is_refuted_by(self, other: _Fit, least: float) -> bool:
        """Whether the other explains what this does not: a joint, or all of them by the `least` gain."""
        gain = self.gain(other)
        k = int(np.argmax(gain))
        alone = other.share[k] >= _MIN_EXPLAINED and self.share[k] <= _MAX_AS_DESCRIBED
        together = gain.sum() >= least and other.share.min() >= _MAX_AS_DESCRIBED
        return bool(alone or together)

    @staticmethod
    def of(
        robot: Robot,
        q: Array,
        v: Array,
        tau: Array,
        period: float,
        lag: float = 0.0,
        least: float = MIN_SHARE_OF_TORQUE,
    ) -> _Fit:
        """Fit averages over windows, with the `least` share of the torque described; rest is explained."""
        w, late = max(round(_WINDOW / period), 1), round(lag / period)
        share, ratio = np.ones(robot.nv), np.ones(robot.nv)
        n = len(q) - late - w
        if n < _MIN_SAMPLES // 2:
            return _Fit(0 * share, ratio)
        rows = np.arange(0, n, max(n // _MAX_ROWS, 1))
        sums = np.vstack([np.zeros(robot.nv), np.cumsum(tau, axis=0)])
        torque, first = (sums[rows + w] - sums[rows]) / w, rows + late
        a = (v[first + w] - v[first]) / (w * period)
        q, v = (q[first] + q[first + w]) / 2, (v[first] + v[first + w]) / 2
        modelled = np.asarray(robot.inverse_dynamics(q, v, a))
        inertia = np.diag(np.asarray(robot.mass_matrix(q[-1])))
        slow = _REST_VELOCITY * robot.limits.velocity
        for k in range(robot.nv):
            on = np.abs(v[:, k]) > slow[k]
            if np.count_nonzero(on) < _MIN_SAMPLES // 2:
                continue
            terms = np.column_stack([modelled[on, k], a[on, k], v[on, k], np.sign(v[on, k])])
            X, y = terms - terms.mean(axis=0), torque[on, k] - torque[on, k].mean()
            size = np.linalg.norm(X, axis=0) + 1e-12
            x, left = nnls(X / size, y - least * X[:, 0])
            share[k] = max(1 - left**2 / (y @ y + 1e-12), 0.0)
            found = (least + x[0] / size[0]) * inertia[k] + x[1] / size[1]
            ratio[k] = inertia[k] / found if found > 0 else 1.0
        return _Fit(share, ratio)


def _another_unit(names: tuple[str, ...], described: _Fit) -> WiringError | None:
    trusted = np.where(described.share >= _MIN_EXPLAINED, np.abs(np.log(described.ratio)), 0.0)
    k, same = int(np.argmax(trusted)), np.eye(len(names))
    if trusted[k] <= np.log(_MAX_RATIO):
        return None
    text = (
        f"{names[k]!r} accelerates by {100 * described.ratio[k]:.2g} % of what its torques "
        "should cause: another unit or gear, a weak drive, or a large rotor"
    )
    return WiringError(text, same, same)


def _inconsistent(names: tuple[str, ...], q: Array, v: Array, period: float) -> str:
    """Sentence on a joint whose velocity is not the derivative of its position."""
    w = max(round(_WINDOW / period), 1)
    path = period * np.cumsum((v[1:] + v[:-1]) / 2, axis=0)
    moved, integral = q[1 + w :] - q[1:-w], path[w:] - path[:-w]
    share = np.sum((moved - integral) ** 2, axis=0) / (np.sum(moved**2, axis=0) + 1e-12)
    k = int(np.argmax(share * (np.ptp(q, axis=0) > _MIN_MOVED)))
    if np.ptp(q[:, k]) <= _MIN_MOVED or share[k] < _CONSISTENT:
        return ""
    return f"the velocity of {names[k]!r} is not the derivative of its position: another sign, joint or unit"


def _exchanges(names: tuple[str, ...]) -> Iterator[WiringError]:
    """Signs changed and joints exchanged."""
    n = len(names)
    same = np.eye(n)
    for k, name in enumerate(names):
        flip = np.diag(np.where(np.arange(n) == k, -1.0, 1.0))
        yield WiringError(f"torques of {name!r} act in the other direction", same, flip)
        yield WiringError(f"the encoder of {name!r} counts in the other direction", flip, same)
        yield WiringError(f"{name!r} turns in the other direction than described", flip, flip)
    for i, j in combinations(range(n), 2):
        order = np.arange(n)
        order[[i, j]] = j, i
        swap = same[order]
        pair = f"{names[i]!r} and {names[j]!r}"
        yield WiringError(f"commands of {pair} are exchanged", same, swap)
        yield WiringError(f"encoders of {pair} are exchanged", swap, same)
        yield WiringError(f"joints {pair} are exchanged", swap, swap)
