"""One query in C: memory of a thread, the search in slices, and its result."""

from __future__ import annotations

import ctypes
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.planning.collision.diagnosis import describe_end, describe_failure
from helicoid.planning.engine import STATUS, Work, address
from helicoid.planning.path import PlannedPath

if TYPE_CHECKING:
    from helicoid.planning.planner import Planner

INTERRUPT_PERIOD = 0.1  # s: of the checks for Ctrl-C
_ENDS = {"start_touches": "start", "goals_touch": "goal"}
_FULL = "no path before the trees had max_nodes or the memory was full"


class Query(NamedTuple):
    """Starts and goals as they were given, (n, nq), and as float32 with angles and quaternions normalised."""

    start: Array
    goal: Array
    starts: NDArray[np.float32]
    goals: NDArray[np.float32]


class CallContext:
    """First arguments of every call of C: memory of one thread, robot, world, allowed contacts."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._obstacles, self._body, self._ignored = planner._obstacles, planner.body, planner._ignored

    def __enter__(self) -> tuple[Any, Any, Any, Any]:
        planner, body, padded = self._planner, self._body.struct, self._obstacles.padded
        with planner._lock:
            work = planner._works.pop() if planner._works else None
        if work is None or not work.has_room_for(body, padded):
            work = Work(planner._library, body, padded)
        self._work = work
        ignored = None if self._ignored is None else address(self._ignored)
        return work.address, ctypes.byref(body), ctypes.byref(self._obstacles.struct), ignored

    def __exit__(self, *_: object) -> None:
        with self._planner._lock:
            self._planner._works.append(self._work)


def search(
    planner: Planner, query: Query, until: float, seed: int, bound: float = np.inf, keep_goals: bool = False
) -> PlannedPath:
    """The path of a query, or why there is none `until` a time of `time.perf_counter()`."""
    begun, library = time.perf_counter(), planner._library
    space, settings = ctypes.byref(planner._space), ctypes.byref(planner._settings)
    with CallContext(planner) as given:
        ends = address(query.starts), len(query.starts), address(query.goals), len(query.goals)
        kept = int(keep_goals and _tree_is_of(library, given[0], query.goals))
        status = library.planner_begin(*given, space, settings, *ends, seed, bound, kept)
        while STATUS[status] == "running":
            left = until - time.perf_counter()
            if left <= 0:
                break
            status = library.planner_advance(*given, space, settings, min(left, INTERRUPT_PERIOD))
        outcome = STATUS[status]
        if outcome == "solved":
            library.planner_simplify(*given, space, planner.passes, planner.least)
        counts = np.zeros(4, np.int64)
        library.planner_counts(given[0], address(counts))
        q = _path(planner, given[0])
        unsolved = outcome in ("running", "full", "exhausted") and bound == np.inf
        trees = [_tree(planner, given[0], k, int(counts[k])) for k in range(2)] if unsolved else []
    seconds = time.perf_counter() - begun
    numbers: dict[str, Any] = {"samples": int(counts[2]), "nodes": int(counts[:2].sum()), "seconds": seconds}
    if outcome == "solved":
        q = _exact(planner, q, query)
        return PlannedPath(True, "a path was found", q, planner.space.length(q), **numbers, planner=planner)
    message = "no shorter path"
    if outcome in _ENDS:
        touching = query.starts if outcome == "start_touches" else query.goals
        message = describe_end(planner, _ENDS[outcome], touching.astype(np.float64))
    elif trees:
        reason = f"no path within {seconds:.3g} s" if outcome == "running" else _FULL
        message = describe_failure(planner, (trees[0], trees[1]), reason)
    return PlannedPath(False, message, np.zeros((0, planner.robot.nq)), np.inf, **numbers, planner=planner)


def refined(planner: Planner, query: Query, path: PlannedPath, until: float, seed: int) -> PlannedPath:
    """The shortest of the paths of further searches, each bounded by the best one."""
    best, k = path, 0
    while time.perf_counter() < until:
        k += 1
        other = search(planner, query, until, seed + 7919 * k, bound=best.length)
        if other.success and other.length < best.length:
            best = other
    return best


def _tree_is_of(library: ctypes.CDLL, work: int, goals: NDArray[np.float32]) -> bool:
    """Whether the goal tree in this memory grew from these goals."""
    counts = np.zeros(4, np.int64)
    library.planner_counts(work, address(counts))
    if not counts[1]:
        return False
    q, parent = np.empty((int(counts[1]), goals.shape[1]), np.float32), np.empty(int(counts[1]), np.int32)
    library.planner_tree(work, 1, address(q), address(parent))
    roots = q[parent < 0]
    return all((goals == root).all(axis=1).any() for root in roots)


def _tree(planner: Planner, work: int, which: int, n: int) -> Array:
    q, parent = np.empty((n, planner.robot.nq), np.float32), np.empty(n, np.int32)
    planner._library.planner_tree(work, which, address(q), address(parent))
    return q.astype(np.float64)


def _path(planner: Planner, work: int) -> Array:
    q = np.empty((64, planner.robot.nq), np.float32)
    n = planner._library.planner_path(work, address(q), len(q))
    if n > len(q):
        q = np.empty((n, planner.robot.nq), np.float32)
        planner._library.planner_path(work, address(q), n)
    return q[:n].astype(np.float64)


def _exact(planner: Planner, q: Array, query: Query) -> Array:
    """The path with its ends in double precision, as they were given."""
    for end, rounded, given in ((0, query.starts, query.start), (-1, query.goals, query.goal)):
        q[end] = given[int(np.argmin(np.abs(rounded - q[end]).max(axis=1)))]
    return planner.space.continuous(q)
