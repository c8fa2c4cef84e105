"""Monte Carlo and grid studies: episodes with varied values, run on many processes or computers."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from helicoid.errors import InputError, warn
from helicoid.interrupts import interruptible
from helicoid.progress import Progress, reporting
from helicoid.study.cases import Case, Cases, Sampler
from helicoid.study.distributions import Distribution, OwnDraw, plain_values
from helicoid.study.episode_queue import EpisodeQueue
from helicoid.study.fingerprint import fingerprint, unreadable
from helicoid.study.results.folder import Folder, StudyError, StudyWarning
from helicoid.study.results.rows import RESERVED, flat_values, many_results, one_result
from helicoid.study.results.table import Row, StudyTable
from helicoid.study.task import Chunk, Done, EpisodeTask
from helicoid.workers.contract import Executor, Failure
from helicoid.workers.executor import all_cores, executor
from helicoid.workers.here import Here

_MAX_ERRORS_IN_WARNING = 5


@dataclass(frozen=True)
class Replay:
    """Repetition of an episode: its case, its result, and the objects that it kept."""

    case: Case
    result: dict[str, float]
    kept: dict[str, Any]

    @property
    def trajectory(self) -> Any:
        """The trajectory that the episode kept."""
        if "trajectory" not in self.kept:
            raise InputError("this episode keeps no trajectory: let it call case.keep(trajectory=...)")
        return self.kept["trajectory"]


class Study:
    """Monte Carlo or grid study: episodes with varied values, run on many processes or computers.

    Args:
        episode: `episode(case) -> dict of numbers`. `case["mass"]` is a varied value, `case.rng` the random
            generator of this episode. It may be a callable object, such as `hc.study.closed_loop` returns.
        seed: of all random numbers. The same seed gives the same numbers, bit for bit, on any executor, in
            any order and with any number of workers.
        batch: `episode(cases) -> dict of arrays` takes many cases at once: `cases["mass"]` is an array. The
            result of a case must not depend on the others. By default the attribute `batch` of the episode.

    >>> import helicoid as hc
    >>> def throw(case):
    ...     v = case["speed"] + 0.1 * case.rng.normal()
    ...     return {"reach": v**2 / 9.81}
    >>> study = hc.Study(throw, seed=1)
    >>> study.vary("speed", hc.study.uniform(1.0, 2.0))
    >>> table = study.run(100, on="here")
    >>> len(table), bool(0.05 < table["reach"].min() < table["reach"].max() < 0.6)
    (100, True)
    >>> worst = table.worst("reach")[0]
    >>> study.replay(worst).result["reach"] == worst["reach"]
    True
    """

    def __init__(self, episode: Callable[[Any], Any], seed: int = 0, batch: bool | None = None) -> None:
        if not callable(episode):
            raise InputError(f"an episode is a function of a case; got {episode!r}")
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise InputError(f"seed is a whole number, 0 or more; got {seed!r}")
        self.episode, self.seed = episode, int(seed)
        self.batch = bool(getattr(episode, "batch", False) if batch is None else batch)
        self._varied: dict[str, Distribution] = {}
        self._grids: dict[str, tuple[Any, ...]] = {}

    def vary(self, name: str, distribution: Distribution | Callable[[np.random.Generator], Any]) -> None:
        """Vary a value at random: a distribution of `hc.study`, or a callable `rng -> value`."""
        self._check_name(name)
        if not isinstance(distribution, Distribution):
            if not callable(distribution):
                raise InputError(
                    f"vary({name!r}) takes a distribution such as hc.study.normal(2.0, 0.5), or a callable "
                    f"of a random generator; got {distribution!r}. One value: study.grid({name!r}, [x])"
                )
            distribution = OwnDraw(distribution)
        self._varied[name] = distribution

    def grid(self, name: str, values: Sequence[Any]) -> None:
        """Vary a value over a grid; several grids give all combinations."""
        self._check_name(name)
        self._grids[name] = plain_values(f"grid({name!r})", values)

    def _check_name(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise InputError(f"a varied value has a name; got {name!r}")
        if name in RESERVED or name in self._varied or name in self._grids:
            raise InputError(
                f"{name!r} is taken: {'this column is' if name in RESERVED else 'it varies'} already"
            )

    @property
    def _sampler(self) -> Sampler:
        return Sampler(self.seed, dict(self._varied), dict(self._grids))

    def case(self, index: int) -> Case:
        """Case of an episode by its index."""
        return self._sampler.cases([_index(index)])[0]

    @property
    def record(self) -> dict[str, Any]:
        """Description of all that determines the numbers; a folder holds rows of one such study."""
        return {
            "seed": self.seed,
            "batch": self.batch,
            "episode": getattr(self.episode, "__qualname__", type(self.episode).__qualname__),
            "code": fingerprint(self.episode),
            "settings": dict(getattr(self.episode, "described", {})),
            "varied": {name: one.described for name, one in self._varied.items()},
            "grids": {name: list(values) for name, values in self._grids.items()},
        }

    @interruptible()
    def run(
        self,
        episodes: int | None = None,
        on: Any = None,
        out: str | os.PathLike[str] | None = None,
        *,
        workers: int | None = None,
        time_limit: float | None = None,
        progress: Progress | bool | None = None,
    ) -> StudyTable:
        """Run the remaining episodes and return the table of all.

        Args:
            episodes: their number; by default one per point of the grid. A finished study may be run again
                with more.
            on: None or "processes" (a process pool), "here" (this process, for a debugger), the address of a
                dask scheduler such as "tcp://10.0.0.1:8786", or a `dask.distributed.Client`.
            out: folder for the results, written as they come. A study that was stopped, killed or crashed
                resumes when it is run again with the same folder. None stores nothing.
            workers: number of processes of the pool; by default one per core.
            time_limit: time (s) after which a call of the episode is stopped and becomes a row with an
                error; a batch is bisected until the cases that hang are found.
            progress: see `helicoid.progress`.

        Raises:
            StudyError: the folder has another study or is in use, the disk is full, or workers are lost.
                Finished episodes stay in the folder.
        """
        n = self._checked_episodes(episodes)
        if time_limit is not None and not 0 < time_limit < math.inf:
            raise InputError(f"time_limit is a positive time (s) or None; got {time_limit!r}")
        if out is not None and not os.fspath(out):
            raise InputError(f"out is a folder, or None to store nothing; got {out!r}")
        chosen = executor(on, workers)
        with tempfile.TemporaryDirectory(prefix="helicoid-study-") as temporary:
            folder = Folder(temporary if out is None else out)
            with folder.locked():
                columns = list(flat_values(self._sampler.cases([0])))
                if out is not None:  # otherwise nothing can be resumed
                    folder.begin({**_checked_record(self.record), "columns": columns}, n)
                run = _Run(self._task(chosen, time_limit), folder, n, chosen, time_limit)
                with reporting(progress, "Study") as report:
                    run.finish(report)
            return _warn_of_failures(StudyTable(folder.table(n), columns, n))

    def _checked_episodes(self, episodes: int | None) -> int:
        if episodes is None:
            if not self._grids or self._varied:
                raise InputError(
                    "give the number of episodes: it has a default only for a study of grids alone"
                )
            return self._sampler.n_grid
        if isinstance(episodes, bool) or not isinstance(episodes, (int, np.integer)) or episodes < 1:
            raise InputError(f"episodes is a whole number, at least 1; got {episodes!r}")
        return int(episodes)

    def _task(self, chosen: Executor, time_limit: float | None) -> EpisodeTask:
        # A worker of a cluster has one core; local workers share the cores.
        threads = max(1, all_cores() // chosen.n_workers) if chosen.is_local else 1
        limited, in_worker = time_limit is not None, not isinstance(chosen, Here)
        return EpisodeTask(self.episode, self._sampler, self.batch, limited, threads, in_worker)

    def replay(self, row: Row | int) -> Replay:
        """Repeat an episode in this process, with the objects that it keeps, such as its trajectory.

        Its exceptions are raised. A warning says where numbers differ from those of the row, as on another
        computer.
        """
        index = _index(row.episode if isinstance(row, Row) else row)
        kept: dict[str, Any] = {}
        # A batch of one would use other code than a larger one.
        places = [index, index] if self.batch else [index]
        cases: Cases = self._sampler.cases(places, kept)
        if self.batch:
            columns = many_results(self.episode(cases), cases.names, 2)
        else:
            columns = one_result(self.episode(cases[0]), cases.names)
        result = {name: float(column[0]) for name, column in columns.items()}
        if isinstance(row, Row):
            _compare(row, result)
        return Replay(cases[0], result, kept)


class _Run:
    """Run of the episodes that a folder does not have yet."""

    def __init__(
        self, task: EpisodeTask, folder: Folder, n: int, chosen: Executor, time_limit: float | None
    ) -> None:
        self._task, self._folder, self._n = task, folder, n
        self._executor, self._limit = chosen, time_limit
        # The first chunk includes compilation: with a time limit it is one episode, in case it hangs.
        at_once = task.batch and not task.limited
        self._queue = EpisodeQueue(n, folder.done(), at_once, chosen.n_workers)
        self._done = n - self._queue.left
        task.trusted = self._done > 0
        self._failed = 0
        self._first: tuple[float, int] | None = None  # time and number of episodes after the first chunk

    def finish(self, report: Progress) -> None:
        report(self._text(), self._done / self._n)
        results = self._executor.run(self._task, self._queue.take, self._limit)
        try:
            for chunk, result in results:
                rows = (
                    self._lost(chunk, result) if isinstance(result, Failure) else self._found(chunk, result)
                )
                if rows is not None:
                    self._folder.add(rows)
                    self._done += len(rows)
                    self._failed += rows.n_failed
                    self._first = self._first or (time.perf_counter(), self._done)
                    report(self._text(), self._done / self._n)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"{self._done:,} of {self._n:,} episodes are done; run the study again with the same out= "
                "to resume"
            ) from None
        finally:
            results.close()  # type: ignore[attr-defined]
        if self._done < self._n:
            raise StudyError(f"{self._n - self._done} episodes were not done: run the study again to resume")

    def _found(self, chunk: Chunk, done: Done) -> Any:
        rows = done.rows
        known = next((int(k) for k, e in zip(rows.episode, rows.error, strict=True) if e is None), None)
        self._queue.measured(chunk, math.nan if done.cold else done.seconds, known)
        return rows

    def _lost(self, chunk: Chunk, failure: Failure) -> Any:
        """Row of the episode that terminated its worker, if known; the others are queued again."""
        at = None if self._task.batch else failure.at
        blamed = self._queue.again(chunk, at, certain=failure.timed_out)
        return None if blamed is None else self._task.lost(blamed, failure.reason)

    def _text(self) -> str:
        parts = [f"Study: {self._done:,} of {self._n:,} episodes"]
        if self._failed:
            parts.append(f"{self._failed:,} failed")
        if self._first is not None:  # before it, workers started and compiled
            passed, new = time.perf_counter() - self._first[0], self._done - self._first[1]
            if new and passed > 1.0 and self._done < self._n:
                parts.append(f"{_duration(passed / new * (self._n - self._done))} left")
        text = ", ".join(parts)  # the address on its own line: the bar fits in 80 columns
        return f"{text}\n{self._executor.dashboard}" if self._executor.dashboard else text


def _checked_record(record: dict[str, Any]) -> dict[str, Any]:
    hidden = unreadable(record)
    if hidden:
        warn(
            StudyWarning(
                f"a change of {', '.join(hidden)} of this study will not be noticed when it is resumed: "
                "such an object cannot be pickled"
            )
        )
    return record


def _warn_of_failures(table: StudyTable) -> StudyTable:
    if table.n_failed:
        some = "; ".join(
            f"{count} × {error}" for error, count in list(table.errors.items())[:_MAX_ERRORS_IN_WARNING]
        )
        warn(StudyWarning(f"{table.n_failed:,} of {len(table):,} episodes failed: {some}"))
    return table


def _compare(row: Row, result: dict[str, float]) -> None:
    for name, value in result.items():
        known = row.get(name)
        if known is not None and known != value and not (math.isnan(known) and math.isnan(value)):
            warn(StudyWarning(f"episode {row.episode} gives {name} = {value!r} now; the table has {known!r}"))
            return


def _index(index: Any) -> int:
    if isinstance(index, bool) or not isinstance(index, (int, np.integer)) or index < 0:
        raise InputError(f"an episode is a row of the table or its index, 0 or more; got {index!r}")
    return int(index)


def _duration(seconds: float) -> str:
    """
    >>> _duration(90.0), _duration(8000.0)
    ('2 min', '2.2 h')
    """
    if seconds < 60:
        return f"{math.ceil(seconds)} s"
    return f"{math.ceil(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
