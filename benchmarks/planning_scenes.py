"""Generated scenes for motion planning: shelves, tables and bins around any arm.

A scene is scaled by the reach of the arm and stands where its tool gets to: of many random configurations
those are taken whose tool is in the slot of the shelf, low over the table or in the bin. Start and goal are
free for the planner's spheres, and differ by a radian at least. The goal may be reached with other whole
turns of the joints, as far as their limits go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

import helicoid as hc
from helicoid._typing import Array
from helicoid.planning import Planner
from helicoid.planning.goals import with_turns

MIN_DISTANCE = 1.0  # rad, between start and goal
_SAMPLES = 20_000  # configurations of a scene among which start and goal are looked for
_ATTEMPTS = 40  # scenes tried for one problem
USUAL_SHARE = 0.8  # of random configurations: links that touch in more are not checked against each other
_LOOKED_AT = 200  # configurations


class Goalbox(NamedTuple):
    """A box in which tools are to be: its middle and half extents (m), and the yaw of its axes."""

    middle: Array
    half: Array
    yaw: float


class SceneProblem(NamedTuple):
    """One query."""

    kind: str
    scene: hc.Scene
    start: Array
    goals: Array


def reach_of(robot: hc.Robot, planner: Planner, tip: str, rng: np.random.Generator) -> tuple[Array, float]:
    """The shoulder's position and the 90th percentile of the tool's distance from it (m)."""
    Q = _random(planner, rng, 2000)
    at = np.asarray(robot.pose(tip)(Q))[:, :3, 3]
    shoulder = np.median(at, axis=0)
    return shoulder, float(np.percentile(np.linalg.norm(at - shoulder, axis=1), 90))


def problems(
    robot: hc.Robot, planner: Planner, tip: str, kind: str, count: int, seed: int
) -> Iterator[SceneProblem]:
    """`count` problems of a kind; fewer where no start and goal are free in the scenes that were tried."""
    rng = np.random.default_rng([seed, sorted(KINDS).index(kind)])
    shoulder, reach = reach_of(robot, planner, tip, rng)
    Q = _random(planner, rng, _SAMPLES)
    allowed = usual_contacts(planner, Q[:_LOOKED_AT])
    planner.update(_allowing(hc.Scene(), allowed))
    Q = Q[~planner.in_collision(Q)]
    tool = np.asarray(robot.pose(tip)(Q))[:, :3, 3]
    made = 0
    for _ in range(_ATTEMPTS * count):
        if made == count:
            return
        scene, boxes = KINDS[kind](shoulder, reach, rng)
        planner.update(_allowing(scene, allowed))
        ends = [_one(planner, Q[_inside(tool, box)], rng) for box in boxes]
        if any(end is None for end in ends):
            continue
        start, goal = ends[0], ends[1]
        assert start is not None and goal is not None
        if np.linalg.norm(goal - start) >= MIN_DISTANCE:
            made += 1
            goals = with_turns(robot, planner.space, goal[None], start)
            yield SceneProblem(kind, scene, start, goals[~planner.in_collision(goals)])


def usual_contacts(planner: Planner, Q: Array) -> list[tuple[str, str]]:
    """Pairs of links that touch in most of the configurations Q (n, nq), which an SRDF would disable."""
    planner.update(None)
    found = Counter(frozenset((c.link, c.other)) for q in Q for c in planner.contacts(q))
    return [(a, b) for (a, b), times in found.items() if times > USUAL_SHARE * len(Q)]


def _allowing(scene: hc.Scene, pairs: list[tuple[str, str]]) -> hc.Scene:
    for pair in pairs:
        scene.allow(*pair)
    return scene


def _random(planner: Planner, rng: np.random.Generator, n: int) -> Array:
    low, high = planner.space.lower.copy(), planner.space.upper.copy()
    wide = high - low > 6.3
    low[wide], high[wide] = -np.pi, np.pi
    return planner.space.wrapped(low + rng.uniform(size=(n, len(low))) * (high - low))


def _one(planner: Planner, Q: Array, rng: np.random.Generator) -> Array | None:
    if not len(Q):
        return None
    free = Q[~planner.in_collision(Q)]
    return free[rng.integers(len(free))] if len(free) else None


def _inside(points: Array, box: Goalbox) -> Array:
    c, s = np.cos(box.yaw), np.sin(box.yaw)
    local = (points - box.middle) @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    return np.all(np.abs(local) <= box.half, axis=1)


class _Builder:
    """Boxes of a scene in a frame at the given place, turned by a yaw."""

    def __init__(self, origin: Array, yaw: float) -> None:
        self.scene, self.origin, self.yaw = hc.Scene(), origin, yaw
        c, s = np.cos(yaw), np.sin(yaw)
        self.R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])

    def box(self, name: str, middle: tuple[float, float, float], size: tuple[float, float, float]) -> None:
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = self.R, self.origin + self.R @ np.array(middle)
        self.scene.add(name, hc.Box(size), T)

    def region(self, middle: tuple[float, float, float], half: tuple[float, float, float]) -> Goalbox:
        return Goalbox(self.origin + self.R @ np.array(middle), np.array(half), self.yaw)


Made = tuple[hc.Scene, tuple[Goalbox, Goalbox]]


def shelf(shoulder: Array, reach: float, rng: np.random.Generator) -> Made:
    """A shelf of three boards, sides and a back; from one level to another."""
    r, yaw = reach, rng.uniform(-np.pi, np.pi)
    at = _Builder(shoulder, yaw)
    x, deep, wide = rng.uniform(0.55, 0.75) * r, 0.35 * r, rng.uniform(0.7, 1.0) * r
    gap, thick, low = rng.uniform(0.4, 0.55) * r, 0.03 * r, rng.uniform(-0.6, -0.4) * r
    for k in range(3):
        at.box(f"board {k}", (x + deep / 2, 0.0, low + k * gap), (deep, wide, thick))
    for side in (-1, 1):
        at.box(f"side {side}", (x + deep / 2, side * wide / 2, low + gap), (deep, thick, 2 * gap))
    at.box("back", (x + deep, 0.0, low + gap), (thick, wide, 2 * gap))
    inside = (deep / 3, wide / 2.5, gap / 2.5)
    regions = [at.region((x + deep / 3, 0.0, low + (k + 0.5) * gap), inside) for k in rng.permutation(2)]
    return at.scene, (regions[0], regions[1])


def table(shoulder: Array, reach: float, rng: np.random.Generator) -> Made:
    """A table with six boxes and cylinders on it; low over it from one side to the other."""
    r, yaw = reach, rng.uniform(-np.pi, np.pi)
    at = _Builder(shoulder, yaw)
    height, wide = rng.uniform(-0.5, -0.25) * r, 1.6 * r
    at.box("top", (0.75 * r, 0.0, height - 0.02 * r), (0.8 * r, wide, 0.04 * r))
    for k in range(6):
        size = rng.uniform(0.08, 0.16, size=2) * r
        tall = rng.uniform(0.1, 0.4) * r
        x, y = rng.uniform(0.45, 1.05) * r, rng.uniform(-0.6, 0.6) * r
        if k % 2:
            place = at.origin + at.R @ np.array([x, y, height + tall / 2])
            at.scene.add(f"can {k}", hc.Cylinder(float(size[0]) / 2, tall), place)
        else:
            at.box(f"box {k}", (x, y, height + tall / 2), (float(size[0]), float(size[1]), tall))
    half = (0.35 * r, 0.35 * r, 0.15 * r)
    regions = [at.region((0.75 * r, side * 0.45 * r, height + 0.2 * r), half) for side in (-1, 1)]
    return at.scene, (regions[0], regions[1])


def bins(shoulder: Array, reach: float, rng: np.random.Generator) -> Made:
    """Two open bins with a wall between them; from one bin into the other."""
    r, yaw = reach, rng.uniform(-np.pi, np.pi)
    at = _Builder(shoulder, yaw)
    x, low = rng.uniform(0.6, 0.75) * r, rng.uniform(-0.6, -0.4) * r
    deep, wide, tall, thick = 0.55 * r, 0.5 * r, rng.uniform(0.2, 0.3) * r, 0.02 * r
    regions = []
    for k, y in enumerate((-0.4 * r, 0.4 * r)):
        at.box(f"floor {k}", (x, y, low), (deep, wide, thick))
        for side in (-1, 1):
            at.box(f"end {k} {side}", (x + side * deep / 2, y, low + tall / 2), (thick, wide, tall))
            at.box(f"side {k} {side}", (x, y + side * wide / 2, low + tall / 2), (deep, thick, tall))
        regions.append(at.region((x, y, low + tall / 2), (deep / 2.3, wide / 2.3, tall / 2)))
    at.box("wall", (x, 0.0, low + 0.35 * r), (deep, thick, 0.7 * r))
    return at.scene, (regions[0], regions[1])


KINDS: dict[str, Callable[[Array, float, np.random.Generator], Made]] = {
    "shelf": shelf,
    "table": table,
    "bins": bins,
}
