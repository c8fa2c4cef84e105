"""Collision model of a robot in the planner: groups of spheres, pairs that are checked, levers."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.model.model import WORLD
from helicoid.planning.collision.levers import levers, pair_levers
from helicoid.planning.collision.pairs import Meetings, can_meet
from helicoid.planning.collision.spheres import SphereGroup, ball_around, group_pairs
from helicoid.planning.engine import RobotTables, Work, address, filled
from helicoid.planning.space import ConfigurationSpace
from helicoid.robot import Robot

SAMPLES = 200  # random configurations, for pairs that always meet
ALWAYS_SHARE = 0.95  # of them
MAX_PAIRS = 30_000  # of spheres of two groups that are proven apart one by one
_ROUNDING = 2e-6  # of the reach: what float32 may lose

LinkPairs = frozenset[frozenset[str]]


@dataclass(frozen=True, eq=False)
class Body:
    """Groups of spheres with the tables of runtime/check.h.

    Args:
        always: pairs of links or carried objects of which some spheres always meet; these are not checked.
        pairs: groups that are checked against each other, with the pairs of their spheres (n, 2).
        radii: of all spheres, with margin and rounding.
        first: (groups + 1), the spheres of each group.
        tables: arrays of `struct` by their names.
    """

    groups: tuple[SphereGroup, ...]
    struct: Any
    always: tuple[tuple[str, str], ...]
    memory: tuple[NDArray[Any], ...]
    pairs: tuple[tuple[int, int, NDArray[np.int64]], ...]
    radii: Array
    first: NDArray[np.int64]
    tables: dict[str, NDArray[Any]]

    @property
    def n_spheres(self) -> int:
        """Number of spheres."""
        return int(self.struct.n_spheres)


def body_of(
    robot: Robot,
    space: ConfigurationSpace,
    library: ctypes.CDLL,
    slots: Sequence[int],
    groups: Sequence[SphereGroup],
    margin: float,
    allowed: frozenset[frozenset[str]],
) -> Body:
    """The tables of a robot with these groups; spheres are larger by the margin and by what float32 loses."""
    lever = levers(robot.model, space, groups)
    reach = float(max(np.abs(group.spheres).max() for group in groups)) + float(lever.max(initial=0.0))
    more = margin + _ROUNDING * (1.0 + reach)
    parts = [part for group in groups for part in group.clusters]
    spheres, balls = np.concatenate(parts), np.array([group.ball for group in groups])
    clusters = np.array([ball_around(part) for part in parts])
    spheres[:, 3] += more
    balls[:, 3] += 2 * more
    clusters[:, 3] += 2 * more
    first = np.cumsum([0, *(len(group.clusters) for group in groups)])
    member = np.cumsum([0, *map(len, parts)])
    tables: dict[str, Any] = {
        "slot": np.array([-1 if g.body == WORLD else slots.index(g.body) for g in groups], np.int32),
        "first": first.astype(np.int32),
        "member": member.astype(np.int32),
        "meets_world": np.array([g.body != WORLD for g in groups], np.int32),
        "ball": _floats(balls),
        "cluster": _floats(clusters),
        "sphere": _floats(spheres),
        "lever": _floats(lever * (1 + 1e-6)),
    }
    counts = {"n_groups": len(groups), "n_clusters": len(clusters), "n_spheres": len(spheres)}
    of_spheres = _Places(library, filled(RobotTables, **counts, n_pairs=0, **tables))
    single = {**tables, "sphere": tables["cluster"], "member": np.arange(len(clusters) + 1, dtype=np.int32)}
    few = {**counts, "n_spheres": len(clusters)}
    of_clusters = _Places(library, filled(RobotTables, **few, n_pairs=0, **single))
    never, touching = _constant_pairs(robot, space)
    unchecked = allowed | never | touching
    pairs = [
        (i, j)
        for i, j in group_pairs(robot.model, groups)
        if frozenset((groups[i].name, groups[j].name)) not in unchecked
    ]
    prover = _Prover(robot, space, (of_clusters, of_spheres), (clusters, spheres), (first, member))
    found = [
        prover.meeting(i, j, row)
        for (i, j), row in zip(pairs, pair_levers(robot.model, space, groups, pairs), strict=True)
    ]
    kept = [(pair, near) for pair, (near, _) in zip(pairs, found, strict=True) if near]
    some_always = [pair for pair, (_, some) in zip(pairs, found, strict=True) if some]
    always = [(groups[i].name, groups[j].name) for i, j in some_always]
    always += [
        (a.name, b.name) for a, b in combinations(groups, 2) if frozenset((a.name, b.name)) in touching
    ]
    rows: list[tuple[int, ...]] = []
    near_rows: list[tuple[int, ...]] = []
    meeting = [np.zeros((0, 2), np.int64)]
    count = 0
    for (i, j), near in kept:
        rows.append((i, j, len(near_rows), len(near_rows) + len(near)))
        for k, l, both in near:
            near_rows.append((k, l, count, count + len(both)))
            meeting.append(both)
            count += len(both)
    tables["pair"] = np.array(rows, np.int32).reshape(-1, 4)
    tables["near"] = np.array(near_rows, np.int32).reshape(-1, 4)
    checked = pair_levers(robot.model, space, groups, [pair for pair, _ in kept])
    tables["pair_lever"] = _floats(checked * (1 + 1e-6))
    tables["meeting"] = np.concatenate(meeting).astype(np.int32)
    struct, memory = filled(RobotTables, **counts, n_pairs=len(rows), **tables)
    both_of = tuple((i, j, np.concatenate([both for *_, both in near])) for (i, j), near in kept)
    spheres_of = member[first]
    return Body(tuple(groups), struct, tuple(always), memory, both_of, spheres[:, 3], spheres_of, tables)


def _constant_pairs(robot: Robot, space: ConfigurationSpace) -> tuple[LinkPairs, LinkPairs]:
    """Pairs of links whose geometry is proven apart within the limits, though their spheres may meet, and
    pairs whose geometry is proven to meet everywhere."""
    low, high = robot.limits.lower, robot.limits.upper
    if np.any(space.lower < low - 1e-9) or np.any(space.upper > high + 1e-9):
        return frozenset(), frozenset()
    pairs = robot.self_collision_pairs()
    return frozenset(map(frozenset, pairs.never)), frozenset(map(frozenset, pairs.always))


class _Places:
    """Where spheres are at many configurations, and which are near each other."""

    def __init__(self, library: ctypes.CDLL, tables: tuple[Any, tuple[NDArray[Any], ...]]) -> None:
        self._library, (self._struct, self._memory) = library, tables
        self._work = Work(library, self._struct, 1)

    def centres(self, at: Array) -> NDArray[np.float32]:
        """Centres (n, spheres, 3) at configurations (n, nq)."""
        q, found = _floats(at), np.empty((len(at), self._struct.n_spheres, 3), np.float32)
        robot = ctypes.byref(self._struct)
        self._library.planner_centres(self._work.address, robot, address(q), len(q), address(found))
        return found

    def meetings(self, i: int, j: int) -> Meetings:
        """Which pairs of two groups are near each other; see `Meetings`."""

        def found(
            at: Array, both: NDArray[np.int64], radii: Array, slack: float
        ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
            q, pairs, sums = _floats(at), np.ascontiguousarray(both), _floats(radii)
            state, near = np.zeros(len(both), np.uint8), np.zeros(len(at), np.uint8)
            given = address(q), len(q), address(pairs), len(pairs), address(sums), slack
            robot = ctypes.byref(self._struct)
            ends = address(state), address(near)
            self._library.planner_meetings(self._work.address, robot, i, j, *given, *ends)
            return state, near

        return found


class _Prover:
    """Pairs of spheres of two groups that can meet, found by their clusters first."""

    def __init__(
        self,
        robot: Robot,
        space: ConfigurationSpace,
        places: tuple[_Places, _Places],
        balls: tuple[Array, Array],
        ranges: tuple[NDArray[np.int64], NDArray[np.int64]],
    ) -> None:
        self._q, self._bounds = robot.neutral(), (space.lower, space.upper)
        self._places, self._radii = places, (balls[0][:, 3], balls[1][:, 3])
        self._first, self._member = ranges
        rng = np.random.default_rng(0)
        q = space.lower + rng.uniform(size=(SAMPLES, robot.nq)) * (space.upper - space.lower)
        self._sampled = places[1].centres(space.wrapped(q))

    def meeting(self, i: int, j: int, lever: Array) -> tuple[list[tuple[int, int, NDArray[np.int64]]], bool]:
        """Clusters with the pairs of their spheres (n, 2); whether some that always meet were left out."""
        clusters = _product(self._first, i, j)
        clusters = clusters[self._can_meet(0, i, j, clusters, lever)]
        parts = [_product(self._member, k, l) for k, l in clusters]
        if not parts:
            return [], False
        both = np.concatenate(parts)
        owner = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        changing = self._share(both) < ALWAYS_SHARE
        kept = np.flatnonzero(changing)
        if len(kept) <= MAX_PAIRS:
            kept = kept[self._can_meet(1, i, j, both[kept], lever)]
        near = [
            (int(k), int(l), both[kept[owner[kept] == n]])
            for n, (k, l) in enumerate(clusters)
            if np.any(owner[kept] == n)
        ]
        return near, not bool(changing.all())

    def _can_meet(
        self, which: int, i: int, j: int, both: NDArray[np.int64], lever: Array
    ) -> NDArray[np.bool_]:
        radii = self._radii[which][both].sum(axis=1)
        meetings = self._places[which].meetings(i, j)
        return can_meet(meetings, self._q, both, radii, self._bounds, lever)

    def _share(self, both: NDArray[np.int64]) -> Array:
        """Fraction of the sampled configurations in which each pair of spheres meets; zero where it is found
        to be below `ALWAYS_SHARE` by the first of them."""
        share = np.zeros(len(both))
        few = SAMPLES // 5  # of which a pair that meets often enough misses no more than of all
        often = np.flatnonzero(
            few * (1 - self._meeting_share(both, few)) <= SAMPLES * (1 - ALWAYS_SHARE) + 0.5
        )
        share[often] = self._meeting_share(both[often], SAMPLES)
        return share

    def _meeting_share(self, both: NDArray[np.int64], samples: int) -> Array:
        share, radii = np.zeros(len(both)), self._radii[1]
        for k in range(0, len(both), 4096):
            one, other = both[k : k + 4096].T
            d2 = np.sum(np.square(self._sampled[:samples, one] - self._sampled[:samples, other]), axis=-1)
            share[k : k + 4096] = np.mean(d2 < np.square(radii[one] + radii[other]), axis=0)
        return share


def _product(first: NDArray[np.int64], i: int, j: int) -> NDArray[np.int64]:
    n, m = first[i + 1] - first[i], first[j + 1] - first[j]
    which = np.arange(n * m)
    return np.column_stack([first[i] + which // m, first[j] + which % m])


def _floats(values: Array) -> NDArray[np.float32]:
    return np.ascontiguousarray(values, dtype=np.float32)
