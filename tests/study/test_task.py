"""Builds in workers: one at a time, without blocking others."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from helicoid.study.cases import Sampler
from helicoid.study.task import Chunk, EpisodeTask
from helicoid.workers.contract import no_beat

_SOON = 30.0  # seconds: the end of a test that would wait for ever


def task(episode: Any, key: str, batch: bool = False) -> EpisodeTask:
    return EpisodeTask(episode, Sampler(0, {}, {}), batch, key=key)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELICOID_CACHE", str(tmp_path / "cache"))


def test_a_study_does_not_wait_for_another_one() -> None:
    began, other_is_done = threading.Event(), threading.Event()

    def long(case: Any) -> dict[str, float]:
        began.set()
        return {"came": float(other_is_done.wait(_SOON))}

    found: list[Any] = []
    first = threading.Thread(target=lambda: found.append(task(long, "00")(Chunk(0, 1), no_beat)))
    first.start()
    assert began.wait(_SOON)
    task(lambda case: {"x": 1.0}, "01")(Chunk(0, 1), no_beat)
    other_is_done.set()
    first.join()
    assert found[0].rows.results["came"][0] == 1.0


@pytest.mark.parametrize("known", [None, 5])
@pytest.mark.parametrize("batch", [False, True])
def test_workers_of_a_study_build_one_by_one_and_then_run_together(batch: bool, known: int | None) -> None:
    lock, met = threading.Lock(), threading.Barrier(2)
    building, most = 0, 0

    class Worker:
        """An episode that builds at its first call and meets the other worker at the second."""

        calls = 0

        def __call__(self, cases: Any) -> dict[str, Any]:
            nonlocal building, most
            self.calls += 1
            if self.calls == 1:
                with lock:
                    building += 1
                    most = max(most, building)
                threading.Event().wait(0.05)
                with lock:
                    building -= 1
            elif self.calls == 2:
                met.wait(_SOON)
            return {"x": np.zeros(len(cases))} if batch else {"x": 0.0}

    def work(k: int) -> None:
        one = task(Worker(), "02", batch)
        for chunk in (Chunk(10 * k, 10 * k + 4, known), Chunk(10 * k + 4, 10 * k + 8, known)):
            done = one(chunk, no_beat)
            assert list(done.rows.episode) == list(range(chunk.start, chunk.stop))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1 and not met.broken
