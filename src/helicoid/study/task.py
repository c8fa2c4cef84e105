"""What a worker does with a chunk of episodes: run them singly or as a batch, and note what went wrong."""

from __future__ import annotations

import fcntl
import math
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from helicoid.compiler import open_cache, set_num_threads
from helicoid.errors import HelicoidError, InputError
from helicoid.interrupts import LISTEN
from helicoid.study.cases import Cases, Sampler
from helicoid.study.results.rows import Rows, failed, flat_values, many_results, one_result
from helicoid.workers.contract import Beat

GRACE = 300.0  # seconds: the first call of all may have to compile

_LONGEST = 500  # characters of an error


class Chunk(NamedTuple):
    """Episodes from `start` to before `stop`; `known` is one that is known to end well, if any is."""

    start: int
    stop: int
    known: int | None = None

    @property
    def size(self) -> int:
        """How many."""
        return self.stop - self.start


class Done(NamedTuple):
    """A chunk's rows, and the seconds that it took; `cold` where that includes building things."""

    rows: Rows
    seconds: float
    cold: bool


class EpisodeMistake(HelicoidError):
    """An episode that gives what is no result: a mistake of its author, which ends the study."""


@dataclass
class Task:
    """The work of a study, as it is sent to workers.

    Args:
        episode: `case -> dict of numbers`, or with `batch` `cases -> dict of arrays`.
        sampler: gives the cases.
        batch: whether the episode takes many cases at once.
        limited: whether episodes have a time limit.
        threads: how many threads batches may use in a worker; None leaves that as it is.
        key: tells this run of a study from others on the same machine.
    """

    episode: Callable[[Any], Any]
    sampler: Sampler
    batch: bool
    limited: bool = False
    threads: int | None = None
    key: str = field(default_factory=lambda: uuid.uuid4().hex[:2])
    _warm: bool = field(default=False, repr=False)

    def __call__(self, chunk: Chunk, beat: Beat) -> Done:
        """See `helicoid.workers.contract.Work`."""
        if self._warm:
            return self._timed(chunk, beat)
        if self.threads is not None:
            set_num_threads(self.threads)
        done = self._first(chunk, beat)
        self._warm = True
        return done

    def _first(self, chunk: Chunk, beat: Beat) -> Done:
        """The first chunk of a worker, which builds or loads what episodes need; no limit counts that.

        Of a machine's workers one builds while the others wait: for as little as shows that all is built.
        """

        def patient(part: int, grace: float = 0.0) -> None:
            beat(part, grace + GRACE)

        if chunk.known is not None and (self.batch or self.limited):
            with _one_builds(self.key):
                self._rows(self.sampler.cases([chunk.known]), patient)
            return self._timed(chunk, beat)
        head = chunk if self.batch else chunk._replace(stop=chunk.start + 1)
        with _one_builds(self.key):
            rows = self._timed(head, patient).rows
        if head.stop < chunk.stop:
            rows = Rows.together([rows, self._timed(chunk._replace(start=head.stop), beat).rows])
        return Done(rows, math.nan, True)

    def _timed(self, chunk: Chunk, beat: Beat) -> Done:
        began = time.perf_counter()
        rows = self._rows(self.sampler.cases(np.arange(chunk.start, chunk.stop)), beat)
        return Done(rows, time.perf_counter() - began, False)

    def _rows(self, cases: Cases, beat: Beat) -> Rows:
        return self._batch(cases, beat) if self.batch else self._singly(cases, beat)

    def _singly(self, cases: Cases, beat: Beat) -> Rows:
        parts = []
        for k in range(len(cases)):
            case = cases[k]
            beat(case.index)
            began = time.perf_counter()
            try:
                given = self.episode(case)
            except (Exception, SystemExit) as error:
                parts.append(failed(cases.chosen([k]), told(error), time.perf_counter() - began))
                continue
            seconds = np.array([time.perf_counter() - began])
            one = cases.chosen([k])
            with _mistakes():
                results = one_result(given, cases.names)
            parts.append(Rows(one.indices, flat_values(one), results, [None], seconds))
        return Rows.together(parts)

    def _batch(self, cases: Cases, beat: Beat) -> Rows:
        """One call; where it raises, its halves, until those are found that do."""
        n = len(cases)
        # One alone would take other code than many, whose last bits may differ: it goes twice.
        given_cases = cases if n > 1 else cases.chosen([0, 0])
        beat(int(cases.indices[0]))
        began = time.perf_counter()
        try:
            given = self.episode(given_cases)
        except (Exception, SystemExit) as error:
            if n == 1:
                return failed(cases, told(error), time.perf_counter() - began)
            halves = [self._batch(cases[: n // 2], beat), self._batch(cases[n // 2 :], beat)]
            return Rows.together(halves)
        seconds = (time.perf_counter() - began) / n
        with _mistakes():
            results = many_results(given, cases.names, len(given_cases))
        results = {name: column[:n] for name, column in results.items()}
        return Rows(cases.indices, flat_values(cases), results, [None] * n, np.full(n, seconds))

    def lost(self, index: int, reason: str) -> Rows:
        """The row of an episode whose worker ended."""
        return failed(self.sampler.cases([index]), reason)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_warm": False}


def told(error: BaseException) -> str:
    """An error in a line, of characters that a table can hold."""
    try:
        said = str(error).encode(errors="backslashreplace").decode()
    except Exception as other:
        said = f"its message cannot be made: {type(other).__name__}"
    text = f"{type(error).__name__}: {said}"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


@contextmanager
def _mistakes() -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise EpisodeMistake(str(error)) from error


@contextmanager
def _one_builds(key: str) -> Iterator[None]:
    """The first worker of a machine goes alone; those of its key that come meanwhile wait, then go together.

    They wait no longer than building can take: the first one may hang.
    """
    with open(open_cache().folder / f"study-{key}.lock", "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            end = time.monotonic() + GRACE
            while time.monotonic() < end:
                with suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    break
                time.sleep(LISTEN)
        yield
