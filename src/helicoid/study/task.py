"""Execution of a chunk of episodes in a worker, one by one or as a batch, with errors recorded."""

from __future__ import annotations

import fcntl
import math
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import open_cache, set_num_threads
from helicoid.errors import HelicoidError
from helicoid.interrupts import SIGNAL_CHECK_INTERVAL
from helicoid.study.cases import Cases, Sampler
from helicoid.study.results.rows import (
    EpisodeRows,
    InvalidResultError,
    failed,
    flat_values,
    many_results,
    one_result,
)
from helicoid.workers.contract import Beat, exit_if_forked

COMPILE_TIME = 300.0  # s, added to the time limit of the first call
_Columns = dict[str, Array]
_MAX_ERROR_LENGTH = 500  # characters


class Chunk(NamedTuple):
    """Episodes from `start` to before `stop`; `known` is one that succeeds, if any is known."""

    start: int
    stop: int
    known: int | None = None

    @property
    def size(self) -> int:
        """Number of episodes."""
        return self.stop - self.start


class Done(NamedTuple):
    """Rows of a chunk and its time (s); `cold` where that includes compilation."""

    rows: EpisodeRows
    seconds: float
    cold: bool


class EpisodeMistake(HelicoidError):
    """Invalid return value of an episode before any was valid, a programming error that ends the study."""


class _FailedEpisodeError(Exception):
    """Error of an episode, in words."""


@dataclass
class EpisodeTask:
    """Work of a study, as it is sent to workers.

    Args:
        episode: `case -> dict of numbers`, or with `batch` `cases -> dict of arrays`.
        sampler: of the cases.
        batch: whether the episode takes many cases at once.
        limited: whether episodes have a time limit.
        threads: of a batch in a worker; None for the default.
        in_worker: whether it runs in another process than the user's, where no interrupt is Ctrl-C.
        trusted: whether an episode of the study has returned a valid result.
        key: of this run of a study, unique on this computer.
    """

    episode: Callable[[Any], Any]
    sampler: Sampler
    batch: bool
    limited: bool = False
    threads: int | None = None
    in_worker: bool = False
    trusted: bool = False
    key: str = field(default_factory=lambda: uuid.uuid4().hex[:2])
    _warm: bool = field(default=False, repr=False)

    def __call__(self, chunk: Chunk, beat: Beat) -> Done:
        """See `helicoid.workers.contract.Work`."""
        self.trusted |= chunk.known is not None
        if self._warm:
            return self._timed(chunk, beat)
        if self.threads is not None:
            set_num_threads(self.threads)
        done = self._first(chunk, beat)
        self._warm = True
        return done

    def _first(self, chunk: Chunk, beat: Beat) -> Done:
        """First chunk of a worker, which compiles or loads functions without a time limit.

        One worker of a computer compiles, with as few episodes as needed, while the others wait.
        """

        def patient(part: int, grace: float = 0.0) -> None:
            beat(part, grace + COMPILE_TIME)

        if chunk.known is not None and (self.batch or self.limited):
            with _one_compiles(self.key):
                self._rows(self.sampler.cases([chunk.known]), patient)
            return self._timed(chunk, beat)
        head = chunk if self.batch else chunk._replace(stop=chunk.start + 1)
        with _one_compiles(self.key):
            rows = self._timed(head, patient).rows
        if head.stop < chunk.stop:
            rows = EpisodeRows.together([rows, self._timed(chunk._replace(start=head.stop), beat).rows])
        return Done(rows, math.nan, True)

    def _timed(self, chunk: Chunk, beat: Beat) -> Done:
        began = time.perf_counter()
        rows = self._rows(self.sampler.cases(np.arange(chunk.start, chunk.stop)), beat)
        return Done(rows, time.perf_counter() - began, False)

    def _rows(self, cases: Cases, beat: Beat) -> EpisodeRows:
        return self._batch(cases, beat) if self.batch else self._singly(cases, beat)

    def _singly(self, cases: Cases, beat: Beat) -> EpisodeRows:
        parts = []
        for k in range(len(cases)):
            case, one = cases[k], cases.chosen([k])
            beat(case.index)
            began = time.perf_counter()
            try:
                results, seconds = self._results(case, lambda given: one_result(given, cases.names))
            except _FailedEpisodeError as error:
                parts.append(failed(one, str(error), time.perf_counter() - began))
            else:
                parts.append(EpisodeRows(one.indices, flat_values(one), results, [None], np.array([seconds])))
        return EpisodeRows.together(parts)

    def _batch(self, cases: Cases, beat: Beat) -> EpisodeRows:
        """One call of the episode; if it raises, its halves, until the failing cases are found."""
        n = len(cases)
        # A single case would use other code, with other rounding: it is run twice.
        given_cases = cases if n > 1 else cases.chosen([0, 0])
        beat(int(cases.indices[0]))
        began = time.perf_counter()
        try:
            results, seconds = self._results(
                given_cases, lambda given: many_results(given, cases.names, len(given_cases))
            )
        except _FailedEpisodeError as error:
            if n == 1:
                return failed(cases, str(error), time.perf_counter() - began)
            halves = [self._batch(cases[: n // 2], beat), self._batch(cases[n // 2 :], beat)]
            return EpisodeRows.together(halves)
        results = {name: column[:n] for name, column in results.items()}
        return EpisodeRows(cases.indices, flat_values(cases), results, [None] * n, np.full(n, seconds / n))

    def _results(self, cases: Any, columns: Callable[[Any], _Columns]) -> tuple[_Columns, float]:
        """Columns of one call of the episode, and its time (s).

        Raises:
            _FailedEpisodeError: it raised, or returned something invalid.
            EpisodeMistake: it returned something invalid, and none was valid before.
        """
        pid, began = os.getpid(), time.perf_counter()
        try:
            given = self.episode(cases)
            seconds = time.perf_counter() - began
            exit_if_forked(pid)
            found = columns(given)
        except BaseException as error:
            exit_if_forked(pid)
            if isinstance(error, KeyboardInterrupt) and not self.in_worker:
                raise
            if isinstance(error, InvalidResultError) and not self.trusted:
                raise EpisodeMistake(str(error)) from error
            raise _FailedEpisodeError(error_text(error)) from None
        self.trusted = True
        return found, seconds

    def lost(self, index: int, reason: str) -> EpisodeRows:
        """Row of an episode whose worker terminated."""
        return failed(self.sampler.cases([index]), reason)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_warm": False}


def error_text(error: BaseException) -> str:
    """An error in one line, of characters that a table can store."""
    try:
        text = str(error).encode(errors="backslashreplace").decode()
    except Exception as other:
        text = f"its message raises {type(other).__name__}"
    text = f"{type(error).__name__}: {text}"
    return text if len(text) <= _MAX_ERROR_LENGTH else text[: _MAX_ERROR_LENGTH - 1] + "…"


@contextmanager
def _one_compiles(key: str) -> Iterator[None]:
    """Let the first worker of a computer run alone; others with the same key wait for it.

    They wait no longer than compilation may take: the first one may hang.
    """
    with open(open_cache().folder / f"study-{key}.lock", "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            end = time.monotonic() + COMPILE_TIME
            while time.monotonic() < end:
                with suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    break
                time.sleep(SIGNAL_CHECK_INTERVAL)
        try:
            yield
        finally:  # a process that the episode forked has the file open as well
            fcntl.flock(file, fcntl.LOCK_UN)
