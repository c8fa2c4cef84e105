"""Cross-validation inside one log: fit all but one contiguous part, predict that part, for each part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from operator import add

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.equations.regression import Indices, Regression
from helicoid.identification.linear.equations.rows import blocks, empty, thinning
from helicoid.identification.linear.equations.stack import BLOCK, Stack, triangular
from helicoid.identification.logs.filtering import Mask, bandwidth
from helicoid.identification.logs.preparation import Samples

FOLDS = 6
SPEEDS = 3


@dataclass(frozen=True, eq=False, repr=False)
class Folds:
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
            [a + b for a, b in zip(*pair, strict=True)] for pair in zip(self._both, other._both, strict=True)
        )
        return Folds(parts, speeds, max(self.excess, other.excess))

    @property
    def _both(self) -> tuple[list[Stack], list[Stack]]:
        return self.parts, self.speeds

    @cached_property
    def whole(self) -> Stack:
        """All parts together."""
        return Stack.together(self.parts)

    def of(self, everything: Regression, some: Regression) -> Folds:
        """The same samples with some of the unknowns: no equation is made again."""
        parts, speeds = ([stack.of_some(everything, some) for stack in own] for own in self._both)
        return Folds(parts, speeds, self.excess)

    @cached_property
    def halves(self) -> Folds:
        """Two and two parts as one."""
        pairs = [Stack.together(self.parts[k : k + 2]) for k in range(0, len(self.parts), 2)]
        return Folds(pairs, self.speeds, self.excess)

    @cached_property
    def without(self) -> list[Stack]:
        """For each part, all the others together."""
        return _others(self.parts)

    @cached_property
    def without_speed(self) -> list[Stack]:
        """For each class of speed, all the others together."""
        return _others(self.speeds)


def _others(parts: list[Stack]) -> list[Stack]:
    """For each part, those before it and those after it."""
    before, after = (list(accumulate(own, add)) for own in (parts[:-1], parts[:0:-1]))
    inner = (a + b for a, b in zip(before, after[-2::-1], strict=False))
    return [after[-1], *inner, before[-1]] if len(parts) > 1 else []


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
    for cell in cells:
        cell.done()
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
        self.waiting: list[list[Array]] = [[] for _ in none.factors]

    def add(self, own: Mask, rows: Sequence[Array], y: Array, raw: Array, weights: Array) -> None:
        """More samples: those of a block that are its own, if they count at all."""
        index = np.flatnonzero(own)
        even = bool(np.all(weights[index] == 1.0))
        for k, Y in enumerate(rows):
            taken = index if even else index[weights[index, k] > 0]
            block = np.empty((len(taken), Y.shape[1] + 2), order="F")
            np.take(Y.T, taken, axis=1, out=block.T[:-2])
            block[:, -2], block[:, -1] = y[taken, k], raw[taken, k]
            if not even:
                block *= np.sqrt(weights[taken, k])[:, None]
            self.counts[k] += len(taken)
            self.waiting[k].append(block)
            if sum(len(one) for one in self.waiting[k]) >= BLOCK:
                self._factor(k)

    def _factor(self, k: int) -> None:
        """Take in what waits: many rows at a time cost less than few."""
        if self.waiting[k]:
            self.factors[k] = triangular(self.factors[k], np.concatenate(self.waiting[k]))
            self.waiting[k] = []

    def done(self) -> None:
        """There are no more samples."""
        for k in range(len(self.factors)):
            self._factor(k)

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


def held_out(fits: Sequence[Array], held: Sequence[Stack]) -> Array:
    """Root mean square error of each row over all parts, each predicted by its own x, (rows,)."""
    squares = sum(part.squares(x) for x, part in zip(fits, held, strict=True))
    counts = sum(np.array(part.counts) for part in held)
    return np.sqrt(squares / np.maximum(counts, 1))
