"""Compression of logs to triangular factors in parallel; the factors of all logs are merged as a tree.

Two passes over the logs: the first finds which can be used and how many samples they have, since the folds of
the cross-validation are cut from all of them in order; the second compresses. No process holds more than a
log.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from helicoid.errors import HelicoidError, InputError, warn
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.linear.cross_validation import Folds, folds
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.rows import thinning
from helicoid.identification.logs.log import DoubtfulLogWarning, Log
from helicoid.identification.logs.plausibility import check
from helicoid.identification.logs.preparation import measured, prepare
from helicoid.identification.logs.sources import LogFile
from helicoid.progress import Progress
from helicoid.robot import Robot
from helicoid.workers.contract import Beat, Executor, Failure

_TASKS_PER_WORKER = 8
_MAX_LOGS_PER_TASK = 64
_LOGS_FOR_SELECTION = 8
_MAX_LOGS_NAMED = 5  # in a message

Source = Log | LogFile
_T = TypeVar("_T")


@dataclass(frozen=True)
class Span:
    """Lengths and rates of a stretch of samples, without the samples."""

    n: int
    thinned: int
    rate: float
    cutoff: float | None

    def __len__(self) -> int:
        return self.n


class Surveyed(NamedTuple):
    """Stretches of a log with notes, or the reason why it cannot be used."""

    spans: tuple[Span, ...]
    notes: tuple[str, ...]
    error: str


@dataclass(frozen=True)
class Preparation:
    """Settings by which logs become samples."""

    robot: Robot
    cutoff: float | None
    dead_zone: float
    wrenches: tuple[str, ...]


def loaded(robot: Robot, source: Source) -> Log:
    """Load a log and check it against the robot.

    Raises:
        HelicoidError: it cannot be used.
    """
    log = source.load(robot) if isinstance(source, LogFile) else source
    check(robot, log)
    measured(log)
    return log


def some_of(robot: Robot, known: Sequence[Source]) -> list[Log]:
    """Up to 8 logs spread over all, for selection; in place of one that cannot be used, the next."""
    good: list[Log] = []
    used: set[int] = set()
    error: HelicoidError = InputError("identify needs a log")
    for wanted in np.linspace(0, len(known) - 1, min(_LOGS_FOR_SELECTION, len(known))).astype(int):
        for k in range(int(wanted), len(known)):
            if k in used:
                continue
            used.add(k)
            try:
                good.append(loaded(robot, known[k]))
                break
            except HelicoidError as found:
                error = found
    if not good:
        raise InputError(f"no log can be used; the last one: {error}") from error
    return good


def automatic(known: Sequence[Source]) -> Literal["processes", "here"]:
    """Default executor of the compression: a process pool for many files, else this process."""
    return "processes" if len(known) > _LOGS_FOR_SELECTION and isinstance(known[0], LogFile) else "here"


def left_out(known: Sequence[Source], survey: Sequence[Surveyed]) -> list[str]:
    """Warn of logs that cannot be used; the note."""
    bad = [f"{source.source}: {one.error}" for source, one in zip(known, survey, strict=True) if one.error]
    if not bad:
        return []
    named = "; ".join(bad[:_MAX_LOGS_NAMED])
    text = f"{len(bad)} of {len(known)} logs cannot be used and were left out: {named}"
    text += " ..." if len(bad) > _MAX_LOGS_NAMED else ""
    warn(DoubtfulLogWarning(text))
    return [f"Warning: {text}"]


@dataclass(frozen=True)
class _Survey:
    """The first pass, in a worker."""

    how: Preparation

    def __call__(self, item: tuple[int, list[Source]], beat: Beat) -> list[Surveyed]:
        return [self._of(source) for source in item[1]]

    def _of(self, source: Source) -> Surveyed:
        how = self.how
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                log = loaded(how.robot, source)
                if tuple(log.wrenches) != how.wrenches:
                    raise HelicoidError(f"{log.source}: measures other wrenches than the first log")
                stretches, said = prepare(how.robot, log, how.cutoff, how.dead_zone)
        except (HelicoidError, OSError, ValueError, MemoryError) as error:
            return Surveyed((), (), str(error) or type(error).__name__)
        spans = tuple(
            Span(len(one), len(one.thinned(thinning(one))), one.rate, one.cutoff) for one in stretches
        )
        notes = [f"{log.source}: {note}" for note in said]
        return Surveyed(spans, (*notes, *dict.fromkeys(str(one.message) for one in warned)), "")


@dataclass(frozen=True)
class _Compression:
    """The second pass, in a worker: item (n, sources, samples before them) to the factors of their parts."""

    how: Preparation
    regression: Regression
    form: str
    lag: float
    total: int

    def __call__(self, item: tuple[int, list[Source], list[int]], beat: Beat) -> tuple[Folds, Folds]:
        with one_blas_thread():
            tree = _tree()
            for k, one in enumerate(zip(item[1], item[2], strict=True)):
                tree.add(k, self._of(*one))
            return tree.total()

    def _of(self, source: Source, before: int) -> tuple[Folds, Folds]:
        how = self.how
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            log = source.load(how.robot) if isinstance(source, LogFile) else source
        stretches, _ = prepare(how.robot, log, how.cutoff, how.dead_zone)
        stretches = [samples.delayed(self.lag) for samples in stretches]

        def cut(form: str) -> tuple[Folds, Folds]:
            return folds(self.regression, stretches, form, before=before, total=self.total)

        parts, recorded = cut(self.form)
        return parts, cut("torque")[1] if self.form in ("power", "energy") else recorded


def surveyed(engine: Executor, how: Preparation, logs: Sequence[Source], report: Progress) -> list[Surveyed]:
    """Survey of each log."""
    found: dict[int, Surveyed] = {}
    items = [(first, list(logs[first:last])) for first, last in _cuts(len(logs), engine)]
    for (first, part), result in _done(engine, _Survey(how), items, report, "Reading logs"):
        if isinstance(result, Failure):
            result = [Surveyed((), (), result.reason)] * len(part)
        found |= dict(enumerate(result, first))
    return [found[k] for k in range(len(logs))]


def compressed(
    engine: Executor,
    how: Preparation,
    regression: Regression,
    form: str,
    lag: float,
    logs: Sequence[Source],
    survey: Sequence[Surveyed],
    report: Progress,
) -> tuple[Folds, Folds]:
    """The factors of all logs, low-passed and as recorded, in the folds of a cross-validation.

    A task is a branch of the tree of all logs, so that the numbers are the same, bit for bit, wherever and by
    how many workers they are made.

    Raises:
        HelicoidError: a log that could be read in the first pass cannot be read again.
    """
    lengths = [sum(span.thinned for span in one.spans) for one in survey]
    before = [sum(lengths[:k]) for k in range(len(lengths))]
    cuts = _cuts(len(logs), engine)
    items = [(n, list(logs[a:b]), before[a:b]) for n, (a, b) in enumerate(cuts)]
    tree = _tree()
    work = _Compression(how, regression, form, lag, sum(lengths))
    for (n, part, _), result in _done(engine, work, items, report, "Compressing logs"):
        if isinstance(result, Failure):
            names = ", ".join(one.source for one in part[:3])
            raise HelicoidError(f"{names}: {result.reason}, again and again, while they were compressed")
        tree.add(n, result)
    return tree.total()


def merged(parts: Sequence[tuple[Folds, Folds]]) -> tuple[Folds, Folds]:
    """Merge several factors into one."""
    return reduce(lambda a, b: (a[0] | b[0], a[1] | b[1]), parts)


def _tree() -> Tree[tuple[Folds, Folds]]:
    return Tree(lambda a, b: merged([a, b]))


class Tree(Generic[_T]):
    """Results that come in any order, merged in pairs of neighbours: the same sum, bit for bit, in any order.

    Runs of a power of two of them may be merged by trees of their own before: the sum is still the same.

    >>> tree = Tree(lambda a, b: f"({a}{b})")
    >>> for k in (2, 0, 4, 1, 3):
    ...     tree.add(k, "abcde"[k])
    >>> tree.total()
    '(((ab)(cd))e)'
    """

    def __init__(self, merge: Callable[[_T, _T], _T]) -> None:
        self._merge = merge
        self._nodes: dict[tuple[int, int], _T] = {}

    def add(self, k: int, value: _T) -> None:
        """The k-th result."""
        level = 0
        while (level, k ^ 1) in self._nodes:
            other = self._nodes.pop((level, k ^ 1))
            value = self._merge(other, value) if k & 1 else self._merge(value, other)
            level, k = level + 1, k >> 1
        self._nodes[level, k] = value

    def total(self) -> _T:
        """The merged result of all items, at least one."""
        left = [self._nodes[node] for node in sorted(self._nodes, key=lambda node: node[1] << node[0])]
        total = left.pop()  # the shortest run, which has no neighbour to its right
        while left:
            total = self._merge(left.pop(), total)
        return total


def _cuts(n: int, engine: Executor) -> list[tuple[int, int]]:
    """Runs of logs, a power of two each."""
    wanted = -(-n // (_TASKS_PER_WORKER * engine.n_workers))
    size = min(_MAX_LOGS_PER_TASK, 1 << max(0, wanted - 1).bit_length())
    return [(first, min(n, first + size)) for first in range(0, n, size)]


def _done(
    engine: Executor, work: Any, items: list[Any], report: Progress, what: str
) -> Iterator[tuple[Any, Any]]:
    """Items and their results as they come; one whose worker ends is tried once more."""
    left, tried, n = list(reversed(items)), set(), 0

    def take() -> Any:
        return left.pop() if left else None

    for item, result in engine.run(work, take):
        if isinstance(result, Failure) and item[0] not in tried:
            tried.add(item[0])
            left.append(item)
            continue
        n += 1
        report(what, n / len(items))
        yield item, result
