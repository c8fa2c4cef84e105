"""RRT-Connect on a constraint manifold: steps are projected, edges are certified and keep the constraints."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.planning.collision.diagnosis import describe_end, describe_failure
from helicoid.planning.manifold.manifold import Manifold
from helicoid.planning.path import PlannedPath
from helicoid.planning.search import Query

if TYPE_CHECKING:
    from helicoid.planning.planner import Planner

STEP = 0.15  # length of an edge (rad, m)
_MIN_PROGRESS = 0.05  # of a step towards its target, as a share of the step
_SHORTCUTS, _MAX_FAILURES = 200, 40  # in a row
_MIN_GAIN = 1e-3  # of a shortcut (rad, m)


class _Tree:
    """Configurations on the manifold, each with its parent; -1 of a root."""

    def __init__(self, roots: Array) -> None:
        self._q, self.n = np.array(roots), len(roots)
        self.parent = [-1] * len(roots)

    @property
    def q(self) -> Array:
        return self._q[: self.n]

    def add(self, q: Array, parent: int) -> int:
        if self.n == len(self._q):
            self._q = np.concatenate([self._q, np.empty_like(self._q)])
        self._q[self.n] = q
        self.parent.append(parent)
        self.n += 1
        return self.n - 1

    def branch(self, k: int) -> list[Array]:
        """From a root to the node."""
        found = []
        while k >= 0:
            found.append(self._q[k].copy())
            k = self.parent[k]
        return found[::-1]


class _Walk:
    """Steps along the manifold that are free of collision."""

    def __init__(self, planner: Planner, manifold: Manifold) -> None:
        self.planner, self.manifold = planner, manifold

    def step(self, a: Array, target: Array, on_manifold: bool) -> Array | None:
        """The next configuration from a towards a target; None where there is none."""
        manifold = self.manifold
        d = manifold.difference(a, target)
        far = float(np.linalg.norm(d))
        if on_manifold and far <= STEP:
            b = np.asarray(a + d)
        else:
            along = manifold.tangent(a, d)
            size = float(np.linalg.norm(along))
            if size < _MIN_PROGRESS * far:
                return None
            near = manifold.project(a + along * min(1.0, STEP / size))
            if near is None:
                return None
            b = near
            moved = float(np.linalg.norm(b - a))
            gained = far - float(np.linalg.norm(manifold.difference(b, target)))
            if moved > 2 * STEP or gained < _MIN_PROGRESS * min(far, STEP):
                return None
        if not manifold.edges_hold(a[None], b[None])[0] or not self.planner.edges_free(a[None], b[None])[0]:
            return None
        return b

    def between(self, a: Array, b: Array, limit: float) -> list[Array] | None:
        """Configurations from a to b, both on the manifold, within a length; None where none lead."""
        found, length = [a], 0.0
        while np.linalg.norm(self.manifold.difference(found[-1], b)) > 1e-9:
            following = self.step(found[-1], b, True)
            if following is None:
                return None
            length += float(np.linalg.norm(following - found[-1]))
            found.append(following)
            if length > limit:
                return None
        return found


def search_on_manifold(
    planner: Planner, manifold: Manifold, query: Query, until: float, seed: int
) -> PlannedPath:
    """The path of a query on which all constraints hold, or why there is none until a time.

    RRT-Connect with projected steps (Berenson et al. 2009), then shortcuts along the manifold.

    Raises:
        InputError: the start, or every goal, violates a constraint.
    """
    begun = time.perf_counter()
    start, goals = _ends(planner, manifold, query)
    ends = (("start", start), ("goal", goals))
    for what, Q in ends:
        touches = np.atleast_1d(planner.in_collision(Q))
        if touches.all():
            return _failure(planner, describe_end(planner, what, Q), begun)
    trees = [_Tree(Q[~np.atleast_1d(planner.in_collision(Q))]) for _, Q in ends]
    walk, rng, samples = _Walk(planner, manifold), np.random.default_rng(seed), 0
    low, high = planner.space.lower, planner.space.upper
    q, first = None, 0
    while q is None and time.perf_counter() < until:
        a, b = trees[first], trees[1 - first]
        # The goals, or the start, are tried first.
        target = b.q[0] if samples < 2 else rng.uniform(low, high)
        reached = _extend(walk, a, target, samples < 2, until)
        other = _extend(walk, b, a.q[reached], True, until)
        if np.linalg.norm(manifold.difference(a.q[reached], b.q[other])) < 1e-9:
            ends_at = (reached, other) if first == 0 else (other, reached)
            way, back = (tree.branch(k) for tree, k in zip(trees, ends_at, strict=True))
            q = np.array([*way, *back[::-1][1:]])
        samples, first = samples + 1, 1 - first
    nodes = sum(tree.n for tree in trees)
    if q is None:
        reason = f"no path that keeps the constraints within {until - begun:.3g} s"
        text = describe_failure(planner, (trees[0].q, trees[1].q), reason)
        return _failure(planner, text, begun, samples, nodes)
    q = _continuous(manifold, _shortened(walk, q, rng, until))
    seconds = time.perf_counter() - begun
    length = planner.space.length(q)
    return PlannedPath(True, "a path was found", q, length, samples, nodes, seconds, planner=planner)


def _failure(planner: Planner, text: str, begun: float, samples: int = 0, nodes: int = 0) -> PlannedPath:
    none = np.zeros((0, planner.robot.nq))
    seconds = time.perf_counter() - begun
    return PlannedPath(False, text, none, np.inf, samples, nodes, seconds, planner=planner)


def _ends(planner: Planner, manifold: Manifold, query: Query) -> tuple[Array, Array]:
    """Start and goals on the manifold, (n, nq); each is moved by less than the tolerance."""
    found = []
    for what, Q in (("start", query.start), ("goal", query.goal)):
        Q = planner.space.wrapped(Q)
        held = np.flatnonzero(manifold.error(Q) <= manifold.tolerance)
        near = [manifold.project(Q[k]) for k in held]
        kept = [one for one in near if one is not None]
        if not kept:
            text = f"the {what} violates the constraints: {manifold.worst(Q[0])}"
            text += f" (tolerance {manifold.tolerance:g})"
            nearest = manifold.project(Q[0])
            if nearest is not None:
                shown = np.array2string(nearest, precision=4, separator=", ")
                text += f"; they hold at {shown}"
            raise InputError(text)
        if manifold.dimension(kept[0]) == 0:
            raise InputError(f"the constraints leave the {what} no motion: their rank is {planner.robot.nq}")
        found.append(np.array(kept))
    return found[0], found[1]


def _extend(walk: _Walk, tree: _Tree, target: Array, on_manifold: bool, until: float) -> int:
    """Grow a tree from its nearest node towards a target as far as that goes; the last node."""
    k = int(np.argmin(np.square(walk.manifold.difference(tree.q, target)).sum(axis=1)))
    while time.perf_counter() < until:
        a = tree.q[k]
        if np.linalg.norm(walk.manifold.difference(a, target)) < 1e-9:
            break
        following = walk.step(a, target, on_manifold)
        if following is None:
            break
        k = tree.add(following, k)
    return k


def _shortened(walk: _Walk, q: Array, rng: np.random.Generator, until: float) -> Array:
    """Shortcuts along the manifold between random waypoints, where they are shorter than the path."""
    failures = 0
    for _ in range(_SHORTCUTS):
        if len(q) < 3 or failures > _MAX_FAILURES or time.perf_counter() >= until:
            break
        failures += 1
        i, j = np.sort(rng.choice(len(q), 2, replace=False))
        if j - i < 2:
            continue
        now = np.linalg.norm(walk.manifold.difference(q[i:j], q[i + 1 : j + 1]), axis=1).sum()
        other = walk.between(q[i], q[j], now - _MIN_GAIN)
        if other is not None:
            q, failures = np.concatenate([q[:i], other, q[j + 1 :]]), 0
    return q


def _continuous(manifold: Manifold, q: Array) -> Array:
    """The path without jumps of whole turns."""
    steps = np.cumsum(manifold.difference(q[:-1], q[1:]), axis=0)
    return q[0] + np.concatenate([np.zeros((1, q.shape[1])), steps])
