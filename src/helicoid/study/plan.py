"""Which episodes are left, and how many of them make a task of about a second."""

from __future__ import annotations

import math
from collections.abc import Iterable

from helicoid.study.task import Chunk

TASK = 1.0  # seconds that a task should take
_LEAST = 0.05  # seconds below which sharing the last episodes costs more than it gains
_GROWTH = 8.0  # times the largest task yet, at most
_PARTS = 10_000  # of a study: with more of them, tasks grow longer instead
_FIRST_BATCH = 32


class Plan:
    """Ranges of episodes to do, from which chunks are taken.

    Args:
        n: episodes in all.
        done: ranges (start, stop) that need not be done.
        batch: whether the first chunk has many at once.
        n_workers: at the end of a study, tasks become smaller, so that all have some.

    >>> plan = Plan(10, [(0, 4), (6, 8)], batch=False, n_workers=1)
    >>> plan.take(), plan.left
    (Chunk(start=4, stop=5, known=None), 3)
    """

    def __init__(self, n: int, done: Iterable[tuple[int, int]], batch: bool, n_workers: int) -> None:
        self.n, self._n_workers = n, n_workers
        self._ranges = _gaps(n, done)
        self._suspects: set[int] = set()
        self._seconds = math.nan  # of an episode
        self._largest = _FIRST_BATCH if batch else 1
        self._known: int | None = None

    @property
    def left(self) -> int:
        """Episodes that nobody has taken."""
        return sum(stop - start for start, stop in self._ranges)

    def take(self) -> Chunk | None:
        """The next chunk; None when all are taken."""
        if not self._ranges:
            return None
        size = self._size()
        start, stop = self._ranges.pop()
        end = min(stop, start + size)
        if end < stop:
            self._ranges.append((end, stop))
        return Chunk(start, end, self._known)

    def _size(self) -> int:
        if math.isnan(self._seconds):
            return self._largest
        task = max(TASK, self._seconds * self.n / _PARTS)
        each = max(self._seconds, 1e-9)
        wanted = min(task / each, _GROWTH * self._largest)
        share = self.left if self._n_workers == 1 else self.left / (2 * self._n_workers)
        return max(1, math.ceil(min(wanted, max(share, _LEAST / each))))

    def measured(self, chunk: Chunk, seconds: float, known: int | None) -> None:
        """How long a chunk took, NaN where that tells nothing, and an episode that ended well, if any did."""
        if not math.isnan(seconds):
            self._seconds = seconds / chunk.size
            self._largest = max(self._largest, chunk.size)
        self._known = known if self._known is None else self._known

    def again(self, chunk: Chunk, at: int | None, certain: bool) -> int | None:
        """Take back a chunk whose worker ended; the episode that is to blame, where that is clear.

        Args:
            at: the episode that it was at; None where nobody knows.
            certain: it is to blame; else it is tried once more, by itself.
        """
        if at is not None and not chunk.start <= at < chunk.stop:  # while it warmed up
            at = None
        if at is None and chunk.size == 1:
            at = chunk.start
        if at is None:
            middle = (chunk.start + chunk.stop) // 2
            self._put((middle, chunk.stop), (chunk.start, middle))
            return None
        blamed = certain or at in self._suspects
        self._suspects.add(at)
        self._put((at + 1, chunk.stop), (chunk.start, at))
        if blamed:
            return at
        self._put((at, at + 1))
        return None

    def _put(self, *ranges: tuple[int, int]) -> None:
        self._ranges.extend(one for one in ranges if one[0] < one[1])


def _gaps(n: int, done: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """What `done` leaves of 0 to n, the first last."""
    gaps, at = [], 0
    for start, stop in sorted(done):
        if start > at:
            gaps.append((at, min(start, n)))
        at = max(at, stop)
    if at < n:
        gaps.append((at, n))
    return [gap for gap in gaps[::-1] if gap[0] < gap[1]]
