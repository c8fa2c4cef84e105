"""Chunks: every episode is done once, whatever is done already, takes long or ends its worker."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from helicoid.study.episode_queue import EpisodeQueue
from helicoid.study.task import Chunk

RANGES = st.lists(
    st.tuples(st.integers(0, 120), st.integers(1, 30)).map(lambda r: (r[0], r[0] + r[1])), max_size=4
)


@given(st.integers(1, 100), RANGES, st.booleans(), st.integers(1, 4), st.floats(1e-6, 10.0), st.data())
def test_every_episode_is_done_once(
    n: int, done: list[tuple[int, int]], batch: bool, workers: int, seconds: float, data: st.DataObject
) -> None:
    plan = EpisodeQueue(n, done, batch, workers)
    finished = [k for k in range(n) if any(start <= k < stop for start, stop in done)]
    assert plan.left == n - len(finished)
    killers = data.draw(st.sets(st.integers(0, n - 1), max_size=3))
    while (chunk := plan.take()) is not None:
        fatal = [k for k in killers if chunk.start <= k < chunk.stop]
        if not fatal:
            finished.extend(range(chunk.start, chunk.stop))
            plan.measured(chunk, seconds * chunk.size, chunk.start)
            continue
        at = None if batch else min(fatal)
        blamed = plan.again(chunk, at, certain=data.draw(st.booleans()))
        if blamed is not None:
            assert blamed in killers
            finished.append(blamed)
    assert sorted(finished) == list(range(n))


def test_tasks_take_about_a_second() -> None:
    plan = EpisodeQueue(1_000_000, [], batch=False, n_workers=2)
    sizes = []
    for _ in range(8):
        chunk = plan.take()
        assert chunk is not None
        sizes.append(chunk.size)
        plan.measured(chunk, 1e-3 * chunk.size, None)
    assert sizes[0] == 1
    assert sizes[-1] == 1000
    assert all(b <= 8 * a for a, b in pairwise(sizes))


def test_a_long_study_has_longer_tasks_and_not_a_million_parts() -> None:
    plan = EpisodeQueue(1_000_000, [], batch=False, n_workers=100)
    plan.measured(Chunk(0, 1000), 1000.0, None)  # a second each: eleven days
    chunk = plan.take()
    assert chunk is not None
    assert chunk.size == 100


def test_the_end_is_shared_by_all_unless_it_is_short() -> None:
    for seconds, workers, size in [(1e-2, 5, 10), (1e-2, 1, 100), (1e-4, 5, 100)]:
        plan = EpisodeQueue(100, [], batch=True, n_workers=workers)
        plan.measured(Chunk(0, 64), 64 * seconds, None)
        chunk = plan.take()
        assert chunk is not None
        assert chunk.size == size


def test_one_that_ends_its_process_is_tried_again_alone() -> None:
    plan = EpisodeQueue(10, [], batch=False, n_workers=1)
    plan.measured(Chunk(0, 10), 1e-3, 0)
    assert plan.again(Chunk(0, 10), 4, certain=False) is None
    assert plan.take() == Chunk(4, 5, 0)
    assert plan.again(Chunk(4, 5), 4, certain=False) == 4
