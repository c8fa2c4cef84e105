"""Cross-validation inside one log: fit all but one contiguous fold, predict that fold, for each fold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
SPEED_CLASSES = 3

Fit = Callable[[Stack], Array]


@dataclass(frozen=True, eq=False, repr=False)
class Folds:
    """Stacks of contiguous parts of a log, and of its slow, medium and fast samples.

    To predict the fast ones from the others, or the slow ones, is to extrapolate to another motion.
    `redundancy` is N / N_eff, the number of samples for each that is effectively independent of the others.
    """

    parts: list[Stack]
    speeds: list[Stack]
    redundancy: float = 1.0

    def __or__(self, other: Folds) -> Folds:
        """These samples and those of another, part by part."""
        pairs = ((self.parts, other.parts), (self.speeds, other.speeds))
        parts, speeds = ([a + b for a, b in zip(*pair, strict=True)] for pair in pairs)
        return Folds(parts, speeds, max(self.redundancy, other.redundancy))

    @cached_property
    def whole(self) -> Stack:
        """All parts together."""
        return Stack.together(self.parts)

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
    """Samples of all stretches, in order, cut into `count` folds: of low-passed and of recorded torques.

    The regressor is low-passed in both: users compare the low-passed model with torques as recorded. Where
    the stretches are some of many, `total` is the number of all samples, `before` that before these.
    """
    lengths = [len(samples.thinned(thinning(samples))) for samples in stretches]
    ends = np.linspace(0, sum(lengths) if total is None else total, count + 1)[1:]
    speed = _speeds(stretches)
    cells = [_Cell(empty(regression, form)) for _ in range(count * SPEED_CLASSES)]
    seen = before
    for samples in stretches:
        for rows, y, raw, weights, _ in blocks(regression, samples, form):
            owner = np.searchsorted(ends, seen + np.arange(len(y)), side="right").clip(max=count - 1)
            owner = SPEED_CLASSES * owner + speed[seen - before : seen - before + len(y)]
            for k in np.unique(owner):
                cells[k].add(owner == k, rows, y, raw, weights)
            seen += len(y)
    for cell in cells:
        cell.done()
    redundancy = max(_redundancy(samples) for samples in stretches)
    parts = [_Cell.together(cells[k : k + SPEED_CLASSES]) for k in range(0, len(cells), SPEED_CLASSES)]
    speeds = [_Cell.together(cells[k::SPEED_CLASSES]) for k in range(SPEED_CLASSES)]
    own, fast = ([cell.stacks() for cell in cells] for cells in (parts, speeds))
    smooth, recorded = (Folds([one[k] for one in own], [one[k] for one in fast], redundancy) for k in (0, 1))
    return smooth, recorded


class _Cell:
    """Samples of one fold and speed class: factors of [Y y raw], which contain those of [Y y] and [Y raw]."""

    def __init__(self, none: Stack) -> None:
        self.none, self.counts = none, np.zeros(len(none.factors), dtype=int)
        self.factors = [np.zeros((len(R) + 1, len(R) + 1), order="F") for R in none.factors]
        self.waiting: list[list[Array]] = [[] for _ in none.factors]

    def add(self, own: Mask, rows: Sequence[Array], y: Array, raw: Array, weights: Array) -> None:
        """Add the samples `own` of a block, but for those of weight 0."""
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
        """Factor the waiting rows: many at a time cost less than few."""
        if self.waiting[k]:
            self.factors[k] = triangular(self.factors[k], np.concatenate(self.waiting[k]))
            self.waiting[k] = []

    def done(self) -> None:
        """Factor the last rows."""
        for k in range(len(self.factors)):
            self._factor(k)

    @staticmethod
    def together(cells: Sequence[_Cell]) -> _Cell:
        """The cell of the samples of several."""
        result = _Cell(cells[0].none)
        for cell in cells:
            result.counts += cell.counts
            pairs = zip(result.factors, cell.factors, strict=True)
            result.factors = [triangular(R, S) if cell.counts.any() else R for R, S in pairs]
        return result

    def stacks(self) -> tuple[Stack, Stack]:
        """Stacks of low-passed and of recorded torques."""
        smooth, recorded = [], []
        for R in self.factors:
            smooth.append(np.asfortranarray(R[:-1, :-1]))
            other = np.asfortranarray(np.delete(R[:-1], -2, axis=1))
            other[-1, -1] = np.hypot(R[-2, -1], R[-1, -1])  # residual of Y: along y, and orthogonal to it
            recorded.append(other)
        counts = tuple(int(n) for n in self.counts)
        one, two = (replace(self.none, factors=tuple(own), counts=counts) for own in (smooth, recorded))
        return one, two


def _redundancy(samples: Samples) -> float:
    band = bandwidth(samples.v, samples.rate)
    return max(1.0, samples.rate / thinning(samples) / (2.0 * band)) if band > 0 else 1.0


def _speeds(stretches: Sequence[Samples]) -> Indices:
    """Speed class of every thinned sample, 0 the slowest: quantiles of each stretch."""
    found = []
    for samples in stretches:
        v = samples.thinned(thinning(samples)).v
        size = np.mean((v / np.maximum(np.sqrt(np.mean(v**2, axis=0)), 1e-12)) ** 2, axis=1)
        found.append(np.searchsorted(np.quantile(size, np.arange(1, SPEED_CLASSES) / SPEED_CLASSES), size))
    return np.concatenate(found).astype(np.intp)


def held_out(fits: Sequence[Array], held: Sequence[Stack]) -> Array:
    """Root mean square error of each row over all folds, each predicted by its own x, (rows,)."""
    squares = sum(part.squares(x) for x, part in zip(fits, held, strict=True))
    counts = sum(np.array(part.counts) for part in held)
    return np.sqrt(squares / np.maximum(counts, 1))


def relative_error(rmse: Array, whole: Stack) -> float:
    """One number for the errors of all rows, relative to their sizes.

    The geometric mean of the error overall, which large joints dominate, and of the (geometric) mean of each
    row's own, in which all count alike.
    """
    counts = np.maximum(np.array(whole.counts, dtype=np.float64), 1.0)
    size = np.sqrt(whole.squares(np.zeros(whole.n_unknowns)) / counts)
    used = (np.array(whole.counts) > 0) & (size > 0)
    if not used.any():
        return 0.0
    overall = np.sqrt(np.sum(rmse[used] ** 2) / np.sum(size[used] ** 2))
    each = np.exp(np.mean(np.log(np.maximum(rmse[used], 1e-12 * size[used]) / size[used])))
    return float(np.sqrt(overall * each))
