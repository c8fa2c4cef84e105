"""The robot as the planner's C reads it: groups of spheres, pairs that are checked, levers."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.model.model import WORLD
from helicoid.planning.collision.levers import levers, pair_levers
from helicoid.planning.collision.pairs import can_meet
from helicoid.planning.collision.spheres import SphereGroup, group_pairs
from helicoid.planning.engine import RobotTables, Work, address, filled
from helicoid.planning.space import ConfigurationSpace
from helicoid.robot import Robot

SAMPLES = 1000  # random configurations that tell which pairs always meet
ALWAYS_SHARE = 0.95  # of them
_ROUNDING = 2e-6  # of the reach: what float32 may lose


@dataclass(frozen=True, eq=False)
class Body:
    """Groups of spheres with the tables of runtime/check.h.

    Args:
        always: pairs of links or carried objects of which some spheres always meet; these are not checked.
        pairs: groups that are checked against each other, with the pairs of their spheres (n, 2).
        radii: of all spheres, with margin and rounding.
    """

    groups: tuple[SphereGroup, ...]
    struct: Any
    always: tuple[tuple[str, str], ...]
    memory: tuple[NDArray[Any], ...]
    pairs: tuple[tuple[int, int, NDArray[np.int64]], ...]
    radii: Array

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
    spheres = np.concatenate([group.spheres for group in groups])
    spheres[:, 3] += margin + _ROUNDING * (1.0 + reach)
    balls = np.array([group.ball for group in groups])
    balls[:, 3] += margin + 2 * _ROUNDING * (1.0 + reach)
    first = np.cumsum([0, *(len(group.spheres) for group in groups)])
    pairs = [
        (i, j)
        for i, j in group_pairs(robot.model, groups)
        if frozenset((groups[i].name, groups[j].name)) not in allowed
    ]
    tables: dict[str, Any] = {
        "slot": np.array([-1 if g.body == WORLD else slots.index(g.body) for g in groups], np.int32),
        "first": first.astype(np.int32),
        "meets_world": np.array([g.body != WORLD for g in groups], np.int32),
        "ball": _floats(balls),
        "sphere": _floats(spheres),
        "lever": _floats(lever * (1 + 1e-6)),
    }
    counts = {"n_groups": len(groups), "n_spheres": len(spheres)}
    bare, kept = filled(RobotTables, **counts, n_pairs=0, **tables)

    def centres(at: Array) -> Array:
        q, found = _floats(at), np.empty((len(at), len(spheres), 3), np.float32)
        work = Work(library, bare, 1)
        library.planner_centres(work.address, ctypes.byref(bare), address(q), len(q), address(found))
        return found.astype(np.float64)

    sampled = centres(_samples(robot, space))
    lever_of_pairs = pair_levers(robot.model, space, groups, pairs)
    rows: list[tuple[int, int, int, int]] = []
    meeting: list[NDArray[np.int64]] = []
    always: list[tuple[str, str]] = []
    count = 0
    for (i, j), lever_of_pair in zip(pairs, lever_of_pairs, strict=True):
        both, touching = _meeting(sampled, spheres, first, i, j)
        if not np.all(touching):
            always.append((groups[i].name, groups[j].name))
        both = both[touching]
        radii = spheres[both, 3].sum(axis=1)
        bounds = space.lower, space.upper
        both = both[can_meet(centres, robot.neutral(), both, radii, bounds, lever_of_pair)]
        if len(both):
            rows.append((i, j, count, count + len(both)))
            meeting.append(both)
            count += len(both)
    checked = [(i, j) for i, j, _, _ in rows]
    tables["pair"] = np.array(rows, np.int32).reshape(-1, 4)
    tables["pair_lever"] = _floats(pair_levers(robot.model, space, groups, checked) * (1 + 1e-6))
    tables["meeting"] = np.concatenate([np.zeros((0, 2), np.int32), *meeting]).astype(np.int32)
    struct, memory = filled(RobotTables, **counts, n_pairs=len(rows), **tables)
    both_of = tuple((i, j, both) for (i, j), both in zip(checked, meeting, strict=True))
    return Body(tuple(groups), struct, tuple(always), (*memory, *kept), both_of, spheres[:, 3])


def _floats(values: Array) -> NDArray[np.float32]:
    return np.ascontiguousarray(values, dtype=np.float32)


def _samples(robot: Robot, space: ConfigurationSpace) -> Array:
    rng = np.random.default_rng(0)
    q = space.lower + rng.uniform(size=(SAMPLES, robot.nq)) * (space.upper - space.lower)
    return space.wrapped(q)


def _meeting(
    centres: Array, spheres: Array, first: Array, i: int, j: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Pairs of spheres of two groups, and which of them are checked: those that do not always meet."""
    a, b = np.meshgrid(np.arange(first[i], first[i + 1]), np.arange(first[j], first[j + 1]), indexing="ij")
    both = np.column_stack([a.ravel(), b.ravel()])
    share = np.zeros(len(both))
    for k in range(0, len(both), 512):
        one, other = both[k : k + 512].T
        d2 = np.sum(np.square(centres[:, one] - centres[:, other]), axis=-1)
        share[k : k + 512] = np.mean(d2 < np.square(spheres[one, 3] + spheres[other, 3]), axis=0)
    return both, share < ALWAYS_SHARE
