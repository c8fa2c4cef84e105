"""Cross-validation inside one log: fit all but one contiguous part, predict that part, for each part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.equations.regression import Indices, Regression
from helicoid.identification.linear.equations.rows import blocks, empty, thinning
from helicoid.identification.linear.equations.stack import Stack, triangular
from helicoid.identification.logs.filtering import Mask, bandwidth
from helicoid.identification.logs.preparation import Samples

FOLDS = 6
SPEEDS = 3


class Folds(NamedTuple):
    """The stacks of contiguous parts of a log, and of its slow, middling and fast samples.

    To predict the fast ones from the others, or the slow ones, is to predict a motion that was not made.
    `excess` is how many samples there are for each that the motion makes different from the one before.
    """

    parts: list[Stack]
    speeds: list[Stack]
    excess: float = 1.0

    def __or__(self, other: Folds) -> Folds:
        """These samples and those of another, part by part."""
        parts, speeds = (
            [a + b for a, b in zip(*pair, strict=True)]
            for pair in ((self.parts, other.parts), (self.speeds, other.speeds))
        )
        return Folds(parts, speeds, max(self.excess, other.excess))

    @property
    def whole(self) -> Stack:
        """All parts together."""
        return Stack.together(self.parts)

    def of(self, everything: Regression, some: Regression) -> Folds:
        """The same samples with some of the unknowns: no equation is made again."""
        parts, speeds = ([stack.of_some(everything, some) for stack in own] for own in self[:2])
        return Folds(parts, speeds, self.excess)

    def without(self) -> list[Stack]:
        """For each part, all the others together."""
        return _others(self.parts)

    def without_speed(self) -> list[Stack]:
        """For each class of speed, all the others together."""
        return _others(self.speeds)


def _others(parts: list[Stack]) -> list[Stack]:
    return [Stack.together([one for one in parts if one is not part]) for part in parts]


def folds(
    regression: Regression,
    stretches: Sequence[Samples],
    form: str = "torque",
    count: int = FOLDS,
    before: int = 0,
    total: int | None = None,
) -> tuple[Folds, Folds]:
    """The samples of all stretches, in order, cut into `count` parts: low-passed, and as recorded.

    Only what was measured differs between the two: how well a low-passed model predicts what was recorded is
    what its user sees. Where the stretches are some of many, `total` is how many samples all have, and
    `before` how many come before these.
    """
    lengths = [len(samples.thinned(thinning(samples))) for samples in stretches]
    ends = np.linspace(0, sum(lengths) if total is None else total, count + 1)[1:]
    speed = _speeds(stretches)
    cells = [_Cell(empty(regression, form)) for _ in range(count * SPEEDS)]
    seen = before
    for samples in stretches:
        for rows, y, raw, weights, _ in blocks(regression, samples, form):
            owner = np.searchsorted(ends, seen + np.arange(len(y)), side="right").clip(max=count - 1)
            owner = SPEEDS * owner + speed[seen - before : seen - before + len(y)]
            for k in np.unique(owner):
                cells[k].add(owner == k, rows, y, raw, weights)
            seen += len(y)
    excess = max(_excess(samples) for samples in stretches)
    parts = [_Cell.together(cells[k : k + SPEEDS]) for k in range(0, len(cells), SPEEDS)]
    speeds = [_Cell.together(cells[k::SPEEDS]) for k in range(SPEEDS)]
    own, fast = ([cell.stacks() for cell in cells] for cells in (parts, speeds))
    smooth, recorded = (Folds([one[k] for one in own], [one[k] for one in fast], excess) for k in (0, 1))
    return smooth, recorded


class _Cell:
    """The samples of a part and a speed: factors of [Y y raw], in which are those of [Y y] and [Y raw]."""

    def __init__(self, none: Stack) -> None:
        self.none, self.counts = none, np.zeros(len(none.factors), dtype=int)
        self.factors = [np.zeros((len(R) + 1, len(R) + 1), order="F") for R in none.factors]

    def add(self, own: Mask, rows: Sequence[Array], y: Array, raw: Array, weights: Array) -> None:
        """More samples: those of a block that are its own, if they count at all."""
        for k, Y in enumerate(rows):
            taken = np.flatnonzero(own & (weights[:, k] > 0))
            block = np.empty((len(taken), Y.shape[1] + 2), order="F")
            np.take(Y.T, taken, axis=1, out=block.T[:-2])
            block[:, -2], block[:, -1] = y[taken, k], raw[taken, k]
            w = weights[taken, k]
            if np.any(w != 1.0):
                block *= np.sqrt(w)[:, None]
            self.factors[k] = triangular(self.factors[k], block)
            self.counts[k] += len(taken)

    @staticmethod
    def together(cells: Sequence[_Cell]) -> _Cell:
        """A cell of the samples of several."""
        result = _Cell(cells[0].none)
        for cell in cells:
            result.counts += cell.counts
            pairs = zip(result.factors, cell.factors, strict=True)
            result.factors = [triangular(R, S) if cell.counts.any() else R for R, S in pairs]
        return result

    def stacks(self) -> tuple[Stack, Stack]:
        """Low-passed, and as recorded."""
        smooth, recorded = [], []
        for R in self.factors:
            smooth.append(np.asfortranarray(R[:-1, :-1]))
            other = np.asfortranarray(np.delete(R[:-1], -2, axis=1))
            other[-1, -1] = np.hypot(R[-2, -1], R[-1, -1])  # what Y leaves: along y, and beside it
            recorded.append(other)
        counts = tuple(int(n) for n in self.counts)
        one, two = (replace(self.none, factors=tuple(own), counts=counts) for own in (smooth, recorded))
        return one, two


def _excess(samples: Samples) -> float:
    band = bandwidth(samples.v, samples.rate)
    return max(1.0, samples.rate / thinning(samples) / (2.0 * band)) if band > 0 else 1.0


def _speeds(stretches: Sequence[Samples]) -> Indices:
    """The class of speed of every thinned sample: 0 slow, up to SPEEDS - 1, as many in each of a stretch."""
    found = []
    for samples in stretches:
        v = samples.thinned(thinning(samples)).v
        size = np.mean((v / np.maximum(np.sqrt(np.mean(v**2, axis=0)), 1e-12)) ** 2, axis=1)
        found.append(np.searchsorted(np.quantile(size, np.arange(1, SPEEDS) / SPEEDS), size))
    return np.concatenate(found).astype(np.intp)


def held_out(training: Sequence[Stack], held: Sequence[Stack], fit: Callable[[Stack], Array]) -> Array:
    """Root mean square error of each row over all parts, each predicted by a fit to the others, (rows,)."""
    squares = sum(part.squares(fit(others)) for others, part in zip(training, held, strict=True))
    counts = sum(np.array(part.counts) for part in held)
    return np.sqrt(squares / np.maximum(counts, 1))
