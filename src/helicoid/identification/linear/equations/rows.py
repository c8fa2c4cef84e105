"""Samples turned into rows of a least squares problem, in one of several forms, block by block.

Every column of the regressor passes through the same zero-phase low-pass F as what was measured:
F[τ] = F[Y] x holds exactly, where smoothing τ alone does not (Coulomb friction jumps). In the "momentum" form
the bodies' part is d/dt F[Y_p] + F[Y_r], from τ = d/dt (Y_p π) + Y_r π, and needs no acceleration. In the
"energy" form the change of energy over a window equals the work of the torques.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.stack import BLOCK, Stack
from helicoid.identification.logs.filtering import derivative, low_pass, margin
from helicoid.identification.logs.preparation import Samples

FORMS = ("torque", "momentum", "power", "energy")
_OVERSAMPLING = 12.0  # samples kept for each period of the cut-off
_ENERGY_WINDOW = 0.25  # s: over which the energy form integrates the power


class Block(NamedTuple):
    """Consecutive samples: Y of each row over its support, what was measured, and weights (N, rows).

    `recorded` is what was measured before its low-pass, in the forms where that is a right-hand side too.
    `place` is where they are among the thinned samples of their stretch.
    """

    rows: list[Array]
    y: Array
    recorded: Array
    weights: Array
    place: slice = slice(0)


def stacked(regression: Regression, samples: Samples, form: str = "torque", block: int = BLOCK) -> Stack:
    """The stack of a stretch."""
    stack = empty(regression, form)
    for rows, y, _, weights, _ in blocks(regression, samples, form, block):
        stack = stack.added(rows, y, None if np.all(weights == 1.0) else weights)
    return stack


def empty(regression: Regression, form: str) -> Stack:
    """The stack of no samples: one row for power and energy, else the rows of the regression."""
    if form not in FORMS:
        raise InputError(f"no form of equations is called {form!r}; there are: {', '.join(FORMS)}")
    if form != "torque" and (regression.wrenches or "inertia" not in regression.groups):
        raise InputError(f"the form {form!r} needs joint torques, and inertia among the unknowns")
    if form in ("power", "energy"):
        p = len(regression.parameters)
        return Stack((np.arange(p),), p, (np.zeros((p + 1, p + 1), order="F"),), (0,))
    return Stack.empty(regression)


def blocks(
    regression: Regression, samples: Samples, form: str = "torque", block: int = BLOCK, every: int = 1
) -> Iterator[Block]:
    """The filtered equations of a stretch in blocks, thinned to what the low-pass leaves distinct.

    With `every` only that many-th of the blocks is made.
    """
    make = _MAKERS[form]
    samples = samples.thinned(thinning(samples))
    n, since = len(samples), round(_ENERGY_WINDOW * samples.rate) if form == "energy" else 0
    reach = max(margin(n, samples.rate, samples.cutoff), since) + 4
    size = max(block, 4 * reach)
    for start in range(0, n, every * size):
        stop = min(n, start + size)
        low, high = max(0, start - reach), min(n, stop + reach)
        own = slice(start - low, stop - low)
        made = make(regression, samples, slice(low, high))
        whole = Block([Y[own] for Y in made.rows], made.y[own], made.recorded[own], made.weights[own])
        yield whole._replace(place=slice(start, stop))


def thinning(samples: Samples) -> int:
    """Step by which a low-passed signal is decimated."""
    if samples.cutoff is None:
        return 1
    return max(1, int(samples.rate / (_OVERSAMPLING * samples.cutoff)))


def _torque(regression: Regression, s: Samples, part: slice) -> Block:
    rows = regression.rows(s.q[part], s.v[part], s.a[part])
    smooth = low_pass(np.concatenate(rows, axis=1), s.rate, s.cutoff)
    rows = np.split(smooth, np.cumsum([Y.shape[1] for Y in rows])[:-1], axis=1)
    return Block(rows, *_unexplained(regression, s, part), s.weights[part])


def _momentum(regression: Regression, s: Samples, part: slice) -> Block:
    robot, q, v = regression.robot, s.q[part], s.v[part]
    inertial = regression.parameters.groups["inertia"]
    Y = regression.regressor(q, v, np.zeros_like(v))
    Y[:, :, inertial] = robot.momentum_rate_regressor(q, v)
    momentum = np.zeros_like(Y)
    momentum[:, :, inertial] = robot.momentum_regressor(q, v)
    for group, own in regression.parameters.groups.items():
        if group == "armature":
            momentum[:, list(regression.jointed), range(own.start, own.stop)] = v[:, list(regression.jointed)]
    rows = []
    for k, on in enumerate(regression.supports):
        grown = derivative(low_pass(momentum[:, k, on], s.rate, s.cutoff), s.rate)
        rows.append(grown + low_pass(Y[:, k, on], s.rate, s.cutoff))
    return Block(rows, *_unexplained(regression, s, part), s.weights[part])


def _power(regression: Regression, s: Samples, part: slice) -> Block:
    v = s.v[part]
    Y = np.einsum("nk,nkp->np", v, regression.regressor(s.q[part], v, s.a[part]))
    y = low_pass(np.sum(v * _driving(regression, s, part), axis=1)[:, None], s.rate, s.cutoff)
    return Block([low_pass(Y, s.rate, s.cutoff)], y, y, s.weights[part].min(axis=1, keepdims=True))


def _energy(regression: Regression, s: Samples, part: slice) -> Block:
    """H(t) - H(t - T) + ∫ friction power = ∫ vᵀ τ over the T seconds before each sample."""
    robot, q, v = regression.robot, s.q[part], s.v[part]
    inertial, steps = regression.parameters.groups["inertia"], max(1, round(_ENERGY_WINDOW * s.rate))
    Y = regression.regressor(q, v, np.zeros_like(v))
    Y[:, :, inertial] = 0.0
    work = _windowed_integral(np.einsum("nk,nkp->np", v, Y), s.rate, steps)
    held = np.zeros_like(work)
    held[:, inertial] = robot.energy_regressor(q, v)
    if "armature" in regression.groups:
        held[:, regression.parameters.groups["armature"]] = v[:, list(regression.jointed)] ** 2 / 2
    grown = held - np.vstack([np.repeat(held[:1], steps, axis=0), held[:-steps]])[: len(held)]
    y = _windowed_integral(np.sum(v * _driving(regression, s, part), axis=1)[:, None], s.rate, steps)
    weights = s.weights[part].min(axis=1, keepdims=True)
    whole = np.convolve(weights[:, 0], np.ones(steps + 1))[: len(weights)] >= steps + 1
    return Block([grown + work], y, y, weights * whole[:, None])


def _unexplained(regression: Regression, s: Samples, part: slice) -> tuple[Array, Array]:
    """Measurements, low-passed and as recorded, less the known torque."""
    known = regression.known(s.q[part], s.v[part], s.a[part])
    if known is None:
        return s.y[part], s.raw[part]
    known = low_pass(known, s.rate, s.cutoff)
    return s.y[part] - known, s.raw[part] - known


def _driving(regression: Regression, s: Samples, part: slice) -> Array:
    known = regression.known(s.q[part], s.v[part], s.a[part])
    return s.raw[part] if known is None else s.raw[part] - known


def _windowed_integral(x: Array, rate: float, steps: int) -> Array:
    """∫ x dt over the last `steps` samples, by trapezoids."""
    total = np.zeros_like(x)
    total[1:] = np.cumsum((x[1:] + x[:-1]) / (2 * rate), axis=0)
    return total - np.vstack([np.repeat(total[:1], steps, axis=0), total[:-steps]])[: len(total)]


_MAKERS: dict[str, Callable[[Regression, Samples, slice], Block]] = {
    "torque": _torque,
    "momentum": _momentum,
    "power": _power,
    "energy": _energy,
}
