"""Cross-validation inside one log: fit all but one contiguous part, predict that part, for each part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.equations import blocks, empty, thinning
from helicoid.identification.linear.regression import Regression
from helicoid.identification.linear.stack import Stack
from helicoid.identification.logs.preparation import Samples

FOLDS = 6


class Folds(NamedTuple):
    """The stacks of contiguous parts of a log."""

    parts: list[Stack]

    @property
    def whole(self) -> Stack:
        """All parts together."""
        return Stack.together(self.parts)

    def without(self) -> list[Stack]:
        """For each part, all the others together."""
        return [Stack.together([one for one in self.parts if one is not part]) for part in self.parts]


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
    smooth = [empty(regression, form) for _ in range(count)]
    recorded = list(smooth)
    seen = before
    for samples in stretches:
        for rows, y, raw, weights in blocks(regression, samples, form):
            owner = np.searchsorted(ends, seen + np.arange(len(y)), side="right").clip(max=count - 1)
            for k in np.unique(owner):
                own = owner == k
                mine = [Y[own] for Y in rows]
                smooth[k] = smooth[k].added(mine, y[own], weights[own])
                recorded[k] = recorded[k].added(mine, raw[own], weights[own])
            seen += len(y)
    return Folds(smooth), Folds(recorded)


def held_out(training: Sequence[Stack], held: Sequence[Stack], fit: Callable[[Stack], Array]) -> Array:
    """Root mean square error of each row over all parts, each predicted by a fit to the others, (rows,)."""
    squares = sum(part.squares(fit(others)) for others, part in zip(training, held, strict=True))
    counts = sum(np.array(part.counts) for part in held)
    return np.sqrt(squares / np.maximum(counts, 1))
