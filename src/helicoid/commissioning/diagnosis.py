"""Likely cause of a stop, from the accelerations that the commands should have had."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from helicoid._typing import Array
from helicoid.commissioning.recording import Recording
from helicoid.robot import Robot

_MIN_SAMPLES = 12
_MAX_SAMPLES = 400  # before the stop
_LAGS = 31  # samples, of the response to a torque
_MIN_EXPLAINED = 0.7  # share of the acceleration that a cause explains
_MAX_AS_DESCRIBED = 0.5  # of that share, explained by the robot as described
_MAX_RATIO = 4.0  # of accelerations to those of the description
_CONSISTENT = 0.5  # of the change of a position, that its velocity explains
_LONG = 0.03  # s: a delay worth a sentence


def likely_cause(robot: Robot, recording: Recording) -> str:
    """Sentence on the error of wiring or units that explains the motion until a stop; empty where none does.

    Accelerations by the description are compared with the measured ones, joint by joint up to a factor, since
    rotors and friction are not known: as described, and with a sign changed or two joints exchanged, of the
    commands or of the encoders.
    """
    part = slice(-_MAX_SAMPLES, None)
    q, v, tau = recording.q[part], recording.v[part], recording.command[part]
    if len(q) < _MIN_SAMPLES or robot.nq != robot.nv:
        return ""
    names, period = robot.model.velocity_names, float(np.median(np.diff(recording.t)))
    if text := _inconsistent(names, q, v, period):
        return text
    dv = np.diff(v, axis=0) / period
    described = _explained(dv, robot.forward_dynamics(q, v, tau)[:-1])
    best, cause = described, ""
    for text, on_q, on_tau in _causes(names):
        a = robot.forward_dynamics(q @ on_q, v @ on_q, tau @ on_tau) @ on_q.T
        found = _explained(dv, a[:-1])
        if found[0] > best[0]:
            best, cause = found, text
    share, lag, ratio = best
    if share < _MIN_EXPLAINED:
        return ""
    if cause:
        if described[0] > _MAX_AS_DESCRIBED * share:
            return ""
        return (
            f"{cause}: {100 * share:.0f} % of the acceleration is explained so, "
            f"{100 * described[0]:.0f} % as described"
        )
    if lag * period > _LONG:
        return f"torques act about {1e3 * lag * period:.0f} ms late"
    k = int(np.argmax(np.abs(np.log(ratio))))
    if max(ratio[k], 1 / ratio[k]) > _MAX_RATIO:
        return (
            f"{names[k]!r} accelerates by {100 * ratio[k]:.2g} % of what its torques "
            "should cause: another unit or gear, a weak drive, or a large rotor"
        )
    return ""


def _inconsistent(names: tuple[str, ...], q: Array, v: Array, period: float) -> str:
    """Sentence on a joint whose velocity is not the derivative of its position."""
    moved = np.diff(q, axis=0)
    left = np.sum((moved - period * (v[1:] + v[:-1]) / 2) ** 2, axis=0)
    share = left / (np.sum(moved**2, axis=0) + 1e-12)
    k = int(np.argmax(share * (np.ptp(q, axis=0) > 1e-3)))
    if np.ptp(q[:, k]) <= 1e-3 or share[k] < _CONSISTENT:
        return ""
    return f"the velocity of {names[k]!r} is not the derivative of its position: another sign, joint or unit"


def _causes(names: tuple[str, ...]) -> Iterator[tuple[str, Array, Array]]:
    """Sentences, and what turns measured q, v and commands into the true ones: involutions (n, n)."""
    n = len(names)
    same = np.eye(n)
    for k, name in enumerate(names):
        flip = np.diag(np.where(np.arange(n) == k, -1.0, 1.0))
        yield f"torques of {name!r} act in the other direction", same, flip
        yield f"the encoder of {name!r} counts in the other direction", flip, same
        yield f"{name!r} turns in the other direction than described", flip, flip
    for i, j in combinations(range(n), 2):
        order = np.arange(n)
        order[[i, j]] = j, i
        swap = same[order]
        pair = f"{names[i]!r} and {names[j]!r}"
        yield f"commands of {pair} are exchanged", same, swap
        yield f"encoders of {pair} are exchanged", swap, same
        yield f"joints {pair} are exchanged", swap, swap


def _explained(dv: Array, a: Array) -> tuple[float, int, Array]:
    """Share of accelerations (N, n) that others explain up to factors, at the best lag; lag and factors."""
    best = (-1.0, 0, np.ones(dv.shape[1]))
    for lag in range(min(_LAGS, len(dv) // 2)):
        y, x = dv[lag:], a[: len(a) - lag]
        y, x = y - y.mean(axis=0), x - x.mean(axis=0)
        yy, xx, xy = (np.sum(one, axis=0) + 1e-12 for one in (y * y, x * x, x * y))
        share = float(np.mean(np.clip(xy, 0, None) ** 2 / (xx * yy)))
        if share > best[0]:
            best = share, lag, np.maximum(xy / xx, 1e-6)
    return best
