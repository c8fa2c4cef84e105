"""Many episodes of one kind: what varies between them, and running them wherever there are processes."""

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
from helicoid.study.distributions import Distribution, OwnDraw, code_digest, plain_values
from helicoid.study.plan import Plan
from helicoid.study.results.folder import Folder, StudyError, StudyWarning
from helicoid.study.results.rows import RESERVED, flat_values, many_results, one_result
from helicoid.study.results.table import Row, Table
from helicoid.study.task import Chunk, Done, Task
from helicoid.workers.contract import Engine, Failure
from helicoid.workers.engine import all_cores, engine

_TOLD = 5  # errors in a warning


@dataclass(frozen=True)
class Replay:
    """An episode that was run again: its case, what it gave, and what it kept."""

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
    """Episodes with values that vary, run in many processes or on many machines.

    Args:
        episode: `episode(case) -> dict of numbers`. `case["mass"]` is what varies, `case.rng` are random
            numbers of this episode alone. It may be an object, such as `hc.study.closed_loop` makes.
        seed: of all that is random. The same seed gives the same numbers, bit for bit, wherever the study
            runs, in whatever order and by however many workers.
        batch: `episode(cases) -> dict of arrays` takes many cases at once: `cases["mass"]` is an array. What
            it gives for a case must not depend on the others. An object may say so itself by `batch = True`.

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
        """Let something be random: a distribution of `hc.study`, or a callable `rng -> value`."""
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
        """Let something take each of some values; several grids give all combinations, episode by episode."""
        self._check_name(name)
        self._grids[name] = plain_values(f"grid({name!r})", values)

    def _check_name(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise InputError(f"what varies has a name; got {name!r}")
        if name in RESERVED or name in self._varied or name in self._grids:
            raise InputError(
                f"{name!r} is taken: {'this column is' if name in RESERVED else 'it varies'} already"
            )

    @property
    def _sampler(self) -> Sampler:
        return Sampler(self.seed, dict(self._varied), dict(self._grids))

    def case(self, index: int) -> Case:
        """The case of an episode."""
        return self._sampler.cases([_index(index)])[0]

    @property
    def record(self) -> dict[str, Any]:
        """What decides on the numbers, as far as it can be told; a folder holds rows of one such study."""
        return {
            "seed": self.seed,
            "batch": self.batch,
            "episode": getattr(self.episode, "__qualname__", type(self.episode).__qualname__),
            "code": code_digest(self.episode),
            "settings": dict(getattr(self.episode, "described", {})),
            "varied": {name: one.described for name, one in self._varied.items()},
            "grids": {name: list(values) for name, values in self._grids.items()},
        }

    @interruptible()
    def run(
        self,
        episodes: int | None = None,
        on: Any = "processes",
        out: str | os.PathLike[str] | None = None,
        *,
        workers: int | None = None,
        time_limit: float | None = None,
        progress: Progress | bool | None = None,
    ) -> Table:
        """Run the episodes that are not done yet; the table of all.

        Args:
            episodes: how many; by default one for each point of the grid. A study that is done may be run
                again with more.
            on: "processes", "here" (this process, for a debugger), the address of a dask scheduler such as
                "tcp://10.0.0.1:8786", or a `dask.distributed.Client`.
            out: folder for the results, which are written as they come. A study that was stopped, killed or
                crashed goes on where it was when it is run again with the same folder. None keeps nothing.
            workers: processes of the pool; by default one for each core.
            time_limit: seconds after which a call of the episode is stopped and becomes a row with an error;
                a batch that takes longer is cut into halves until those are found that hang.
            progress: see `helicoid.progress`.

        Raises:
            StudyError: the folder has another study or is being written to, the disk is full, or workers are
                lost. What is finished stays in the folder.
        """
        n = self._checked_episodes(episodes)
        if time_limit is not None and not 0 < time_limit < math.inf:
            raise InputError(f"time_limit is a positive time (s) or None; got {time_limit!r}")
        chosen = engine(on, workers)
        with tempfile.TemporaryDirectory(prefix="helicoid-study-") as spare:
            folder = Folder(spare if out is None else out)
            with folder.locked():
                columns = list(flat_values(self._sampler.cases([0])))
                folder.begin({**self.record, "columns": columns}, n)
                run = _Run(self._task(chosen, time_limit), folder, n, chosen, time_limit)
                with reporting(progress, "Study") as tell:
                    run.to_the_end(tell)
            return _told_of_failures(Table(folder.table(n), columns, n))

    def _checked_episodes(self, episodes: int | None) -> int:
        if episodes is None:
            if not self._grids or self._varied:
                raise InputError(
                    "say how many episodes to run: only a study of grids alone knows it by itself"
                )
            return self._sampler.n_grid
        if isinstance(episodes, bool) or not isinstance(episodes, (int, np.integer)) or episodes < 1:
            raise InputError(f"episodes is a whole number, at least 1; got {episodes!r}")
        return int(episodes)

    def _task(self, chosen: Engine, time_limit: float | None) -> Task:
        # A worker of a cluster is a core; here the workers share the cores among them.
        threads = max(1, all_cores() // chosen.n_workers) if chosen.is_local else 1
        return Task(self.episode, self._sampler, self.batch, time_limit is not None, threads)

    def replay(self, row: Row | int) -> Replay:
        """Run an episode again, here, with what it keeps, such as its trajectory; what it raises is raised.

        A row whose numbers do not come out again, as on another machine, is told by a warning.
        """
        index = _index(row.episode if isinstance(row, Row) else row)
        kept: dict[str, Any] = {}
        places = (
            [index, index] if self.batch else [index]
        )  # a batch of one would take other code than one of many
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
    """A study on its way from what a folder has to all its episodes."""

    def __init__(self, task: Task, folder: Folder, n: int, chosen: Engine, time_limit: float | None) -> None:
        self._task, self._folder, self._n = task, folder, n
        self._engine, self._limit = chosen, time_limit
        # The first chunk may take long, for it builds things: with a limit it is one episode, should it hang.
        at_once = task.batch and not task.limited
        self._plan = Plan(n, folder.done(), at_once, chosen.n_workers)
        self._done = n - self._plan.left
        self._failed = 0
        self._first: tuple[float, int] | None = None  # when the first chunk was there, and what was done then

    def to_the_end(self, tell: Progress) -> None:
        tell(self._text(), self._done / self._n)
        outcomes = self._engine.run(self._task, self._plan.take, self._limit)
        try:
            for chunk, result in outcomes:
                rows = (
                    self._lost(chunk, result) if isinstance(result, Failure) else self._found(chunk, result)
                )
                if rows is not None:
                    self._folder.add(rows)
                    self._done += len(rows)
                    self._failed += rows.n_failed
                    self._first = self._first or (time.perf_counter(), self._done)
                    tell(self._text(), self._done / self._n)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"{self._done:,} of {self._n:,} episodes are done; run the study again with the same out= "
                "to go on"
            ) from None
        finally:
            outcomes.close()  # type: ignore[attr-defined]
        if self._done < self._n:
            raise StudyError(f"{self._n - self._done} episodes were not done: run the study again to go on")

    def _found(self, chunk: Chunk, done: Done) -> Any:
        rows = done.rows
        known = next((int(k) for k, e in zip(rows.episode, rows.error, strict=True) if e is None), None)
        self._plan.measured(chunk, math.nan if done.cold else done.seconds, known)
        return rows

    def _lost(self, chunk: Chunk, failure: Failure) -> Any:
        """The row of the episode that is to blame for a worker's end, if any is; the rest is tried again."""
        at = None if self._task.batch else failure.at
        blamed = self._plan.again(chunk, at, certain=failure.timed_out)
        return None if blamed is None else self._task.lost(blamed, failure.reason)

    def _text(self) -> str:
        parts = [f"Study: {self._done:,} of {self._n:,} episodes"]
        if self._failed:
            parts.append(f"{self._failed:,} failed")
        if self._first is not None:  # before that, workers started and built things
            passed, new = time.perf_counter() - self._first[0], self._done - self._first[1]
            if new and passed > 1.0 and self._done < self._n:
                parts.append(f"{_duration(passed / new * (self._n - self._done))} left")
        text = ", ".join(parts)  # an address on its own line leaves room for the bar in 80 columns
        return f"{text}\n{self._engine.dashboard}" if self._engine.dashboard else text


def _told_of_failures(table: Table) -> Table:
    if table.n_failed:
        some = "; ".join(f"{count} × {error}" for error, count in list(table.errors.items())[:_TOLD])
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
        raise InputError(f"an episode is a row of the table or its number, 0 or more; got {index!r}")
    return int(index)


def _duration(seconds: float) -> str:
    """
    >>> _duration(90.0), _duration(8000.0)
    ('2 min', '2.2 h')
    """
    if seconds < 60:
        return f"{math.ceil(seconds)} s"
    return f"{math.ceil(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
