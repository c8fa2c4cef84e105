"""Queue of the remaining episodes, taken in chunks of about a second each."""

from __future__ import annotations

import math
from collections.abc import Iterable

from helicoid.study.task import Chunk

CHUNK_TIME = 1.0  # s, desired for a chunk
_MIN_CHUNK_TIME = 0.05  # s, below which distributing the last episodes costs more than it gains
_MAX_GROWTH = 8.0  # of the size from one chunk to the next
_MAX_CHUNKS = 10_000  # of a study; beyond it chunks take longer
_FIRST_BATCH = 32


class EpisodeQueue:
    """Ranges of remaining episodes, from which chunks are taken.

    Args:
        n: number of all episodes.
        done: ranges (start, stop) that are finished.
        batch: whether the first chunk is a batch.
        n_workers: chunks become smaller at the end of a study, so that all workers have some.

    >>> queue = EpisodeQueue(10, [(0, 4), (6, 8)], batch=False, n_workers=1)
    >>> queue.take(), queue.left
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
        """Number of episodes that have not been taken."""
        return sum(stop - start for start, stop in self._ranges)

    def take(self) -> Chunk | None:
        """Next chunk; None when all are taken."""
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
        duration = max(CHUNK_TIME, self._seconds * self.n / _MAX_CHUNKS)
        each = max(self._seconds, 1e-9)
        size = min(duration / each, _MAX_GROWTH * self._largest)
        share = self.left if self._n_workers == 1 else self.left / (2 * self._n_workers)
        return max(1, math.ceil(min(size, max(share, _MIN_CHUNK_TIME / each))))

    def measured(self, chunk: Chunk, seconds: float, known: int | None) -> None:
        """Record the time of a chunk (NaN if it includes compilation), and an episode that succeeded."""
        if not math.isnan(seconds):
            self._seconds = seconds / chunk.size
            self._largest = max(self._largest, chunk.size)
        self._known = known if self._known is None else self._known

    def again(self, chunk: Chunk, at: int | None, certain: bool) -> int | None:
        """Requeue a chunk whose worker terminated; the index of the episode that caused it, if known.

        Args:
            at: episode that was running; None if unknown.
            certain: it is the cause; otherwise it runs once more, alone.
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
    """Complement of `done` in 0 to n, in reverse order."""
    gaps, at = [], 0
    for start, stop in sorted(done):
        if start > at:
            gaps.append((at, min(start, n)))
        at = max(at, stop)
    if at < n:
        gaps.append((at, n))
    return [gap for gap in gaps[::-1] if gap[0] < gap[1]]
