"""Planning collision-free paths of one robot: RRT-Connect over compiled collision checks."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array
from helicoid.arrays import float_array, shown
from helicoid.compiler import get_num_threads
from helicoid.errors import InputError
from helicoid.model.model import WORLD
from helicoid.planning.collision.body import Body, body_of
from helicoid.planning.collision.contacts import Contact, contacts
from helicoid.planning.collision.finer import FinerPlanners
from helicoid.planning.collision.obstacles import obstacles_of
from helicoid.planning.collision.spheres import MIN_DEFAULT_TOLERANCE as DEFAULT_TOLERANCE
from helicoid.planning.collision.spheres import SphereGroup, carried_group, link_groups
from helicoid.planning.engine import Settings, Space, Work, address, compile_engine, filled
from helicoid.planning.export import export_planner
from helicoid.planning.goals import goal_configurations
from helicoid.planning.manifold.constraints import manifold_of
from helicoid.planning.manifold.search import search_on_manifold
from helicoid.planning.path import PlannedPath
from helicoid.planning.search import CallContext, Query, refined, search
from helicoid.planning.space import QUATERNION, configuration_space
from helicoid.robot import Robot
from helicoid.robot.collision.spheres.spheres import Tolerance

RANGE_SHARE = 1 / 13  # of the diagonal of the limits: longest edge and least radius of dynamic domains


class Planner:
    """Motion planner of one robot, compiled once, for any number of scenes and queries.

    A configuration is free if no sphere on a moving link meets an obstacle or a sphere of another link. The
    planner is RRT-Connect (Kuffner and LaValle 2000) with balanced trees and dynamic domains, followed by
    shortcuts and cut corners.

    Args:
        robot: any robot whose links have collision geometry.
        scene: obstacles; `update` takes others.
        tolerance: of the spheres around the collision geometry (m), see `Robot.spheres`; by default 10 mm,
            and 3 % of the largest extent of links that are larger than 0.33 m.
        margin: that is kept from obstacles and between links (m).
        certify: whether edges are free everywhere, by bounds on the motion of every sphere (bisection); else
            they are checked at `resolution` configurations a unit of length.
        resolution: checks a radian or metre, rounded up to whole vectors of 8.
        bounds: (lower, upper) of the coordinates, by default the robot's limits.
        weights: of the coordinates in lengths.
        range: the longest edge that is added to a tree; by default 1/13 of the diagonal of the limits.
        max_nodes: of each tree, which bounds the memory.
        constraints: that hold all along a path: tasks of `hc.control` with their target, of which rows of
            weight zero are free, and `hc.planning.AxisConstraint`. Closed loops of the robot always hold.
        constraint_tolerance: largest residual of a constraint along a path (m, rad).
        adaptive: whether a query whose start or goal is in collision by less than the tolerance is planned
            with finer spheres on the links that touch; they may take minutes, once. Not with constraints.

    >>> import helicoid as hc
    >>> scene = hc.Scene()
    >>> scene.add("ball", hc.Sphere(0.2), [1.5, 0.0, 0.0])
    >>> planner = hc.planning.Planner(hc.load("planar_2r"), scene, tolerance=0.05)
    >>> planner.in_collision([[0.0, 0.5], [1.0, 0.5]])
    array([ True, False])
    """

    def __init__(
        self,
        robot: Robot,
        scene: Any = None,
        *,
        tolerance: Tolerance | None = None,
        margin: float = 0.0,
        certify: bool = True,
        resolution: float = 32.0,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        weights: ArrayLike | None = None,
        range: float | None = None,
        max_nodes: int = 1_000_000,
        constraints: Any = (),
        constraint_tolerance: float = 1e-3,
        adaptive: bool = True,
    ) -> None:
        self.robot = robot
        self.margin = float(margin)
        self.certify = bool(certify)
        known = tolerance.values() if isinstance(tolerance, Mapping) else [tolerance or DEFAULT_TOLERANCE]
        self.tolerance = float(max(known))
        self.adaptive, limits = bool(adaptive), {"bounds": bounds, "weights": weights, "range": range}
        checks = {"margin": margin, "certify": certify, "resolution": resolution, "max_nodes": max_nodes}
        self._finer = FinerPlanners(tolerance, {**limits, **checks})
        self.space = configuration_space(robot, bounds, weights)
        self.manifold = manifold_of(robot, self.space, constraints, constraint_tolerance)
        self._links = link_groups(robot, tolerance)
        self._slots = sorted({group.body for group in self._links} - {WORLD}) or [0]
        self._library = compile_engine(robot.model, self._slots, self.space.is_curved)
        self._carried: tuple[Any, ...] = ()
        self.body: Body = self._body([])
        tables = {
            name: np.ascontiguousarray(getattr(self.space, name), dtype=np.float32)
            for name in ("lower", "upper", "weight", "turn")
        }
        self._space, self._space_memory = filled(
            Space,
            **tables,
            kind=np.ascontiguousarray(self.space.kind),
            resolution=resolution,
            finest=2e-6,
            certify=int(certify),
        )
        scale = self.space.diagonal * RANGE_SHARE
        longest = scale if range is None else float(range)
        self._settings = Settings(longest, 4 * scale, scale, 1e-4, max_nodes, 1 << 62)
        self.passes, self.least = 6, 0.002
        self._works: list[Work] = []
        self._lock = threading.Lock()
        self._last: Query | None = None
        self._scene: tuple[Any, int] = None, 0
        self._obstacles = obstacles_of([], self.margin)
        self._ignored: NDArray[np.uint8] | None = None
        self.update(scene)

    def update(self, scene: Any) -> None:
        """Update obstacles, carried objects and allowed contacts from a scene."""
        version = None, 0
        if scene is not None:
            version = scene, scene.version
        if version == self._scene:
            return
        everything = {} if scene is None else dict(scene.objects)
        allowed = frozenset() if scene is None else scene.allowed
        own = {name for name, one in everything.items() if one.frame is not None}
        own -= {name for name in own if everything[name].robot != self.robot.name}
        carried = [(name, everything[name]) for name in everything if name in own]
        key = *((name, one.shape, one.frame, one.pose.tobytes()) for name, one in carried), allowed
        if key != self._carried:
            groups = [
                carried_group(self.robot, name, one.frame, one.pose, one.shape, self.tolerance)
                for name, one in carried
            ]
            self.body, self._carried = self._body(groups, allowed), key
        objects = [(name, one.shape, one.pose) for name, one in everything.items() if one.frame is None]
        obstacles = obstacles_of(objects, self.margin)
        pairs = [
            (g, k)
            for g, group in enumerate(self.body.groups)
            for k, name in enumerate(obstacles.names)
            if frozenset((group.name, name)) in allowed
        ]
        ignored = np.zeros((len(self.body.groups), obstacles.padded), np.uint8)
        for g, k in pairs:
            ignored[g, k] = 1
        self._obstacles, self._ignored = obstacles, ignored if pairs else None
        self._scene = version

    @property
    def scene(self) -> Any:
        """The scene of the last update."""
        return self._scene[0]

    def _body(self, carried: list[SphereGroup], allowed: frozenset[frozenset[str]] = frozenset()) -> Body:
        groups = [*self._links, *carried]
        return body_of(self.robot, self.space, self._library, self._slots, groups, 0.0, allowed)

    @property
    def always_in_contact(self) -> tuple[tuple[str, str], ...]:
        """Pairs of links some of whose spheres meet nearly everywhere, and are therefore not checked."""
        return self.body.always

    # Checks -------------------------------------------------------------------------------------------

    def in_collision(self, q: ArrayLike) -> Any:
        """Whether configurations q (nq) or (N, nq) are in collision."""
        Q = self._configurations("q", q)
        touches = np.empty(len(Q), np.uint8)
        with CallContext(self) as given:
            self._library.planner_configurations(*given, address(Q), len(Q), address(touches))
        return bool(touches[0]) if np.ndim(q) == 1 else touches.astype(bool)

    def edges_free(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.bool_]:
        """Whether the straight edges from configurations a (N, nq) to b (N, nq) are free."""
        A, B = self._configurations("a", a), self._configurations("b", b)
        if A.shape != B.shape:
            raise InputError(f"as many ends as starts of edges; got {len(A)} and {len(B)}")
        free = np.empty(len(A), np.uint8)
        with CallContext(self) as given:
            space = ctypes.byref(self._space)
            self._library.planner_edges(*given, space, address(A), address(B), len(A), address(free))
        return free.astype(bool)

    def cubics_free(self, b: ArrayLike) -> NDArray[np.bool_]:
        """Whether cubic curves with Bézier points b (N, 4, nq) are free.

        Raises:
            InputError: some coordinates are rotations, which have no cubics.
        """
        B = np.ascontiguousarray(b, dtype=np.float32)
        if np.any(self.space.kind == QUATERNION):
            raise InputError(
                f"robot {self.robot.name!r} has rotations among its coordinates: no cubics there"
            )
        if B.ndim != 3 or B.shape[1:] != (4, self.robot.nq) or not np.all(np.isfinite(B)):
            raise InputError(f"cubics have Bézier points (N, 4, {self.robot.nq}); got shape {B.shape}")
        free = np.empty(len(B), np.uint8)
        with CallContext(self) as given:
            space = ctypes.byref(self._space)
            self._library.planner_cubics(*given, space, address(B), len(B), address(free))
        return free.astype(bool)

    def contacts(self, q: ArrayLike) -> list[Contact]:
        """Contacts at a configuration q (nq), the deepest first."""
        Q = self._configurations("q", q)[:1]
        centres = np.empty((1, self.body.n_spheres, 3), np.float32)
        with CallContext(self) as given:
            self._library.planner_centres(*given[:2], address(Q), 1, address(centres))
        radii = self.body.radii
        return contacts(
            self.body.groups, centres[0].astype(float), radii, self.body.pairs, self._obstacles, self._ignored
        )

    # Planning -----------------------------------------------------------------------------------------

    def plan(
        self,
        start: ArrayLike,
        goal: Any,
        time_limit: float = 1.0,
        seed: int = 0,
        *,
        frame: str | None = None,
        refine: float = 0.0,
    ) -> PlannedPath:
        """A path from configuration `start` (nq) to a goal; see `hc.plan`.

        The same seed gives the same path, whatever the time limit, if it is found within it.

        Args:
            goal: configuration (nq); several (n, nq), of which the one that is reached first ends the path; a
                `GoalRegion`; with `frame`, a pose (4, 4) of that frame; a task with its target, or several.
            time_limit: of the search (s).
            refine: time (s) that is spent on shorter paths, within the same limit: further searches that only
                look where a path can be shorter than the best one (Gammell et al. 2014).
        """
        if not (isinstance(time_limit, (int, float, np.number)) and time_limit > 0):
            raise InputError(f"time_limit is a time (s) above zero; got {shown(time_limit)}")
        query = self.query(start, goal, frame)
        if self.manifold is not None and refine > 0:
            raise InputError("refine: paths that keep constraints are not refined; leave it out")
        self._last = query
        begun = time.perf_counter()  # inverse kinematics does not count, which may compile
        path = self._search(query, begun + time_limit, seed)
        if self.adaptive and self.manifold is None and path.samples == 0 and not path.success:
            finer = self._finer.planner_for(self, query.starts, query.goals)
            if finer is not None:
                return finer.plan(start, query.goal, time_limit, seed, refine=refine)
        if path.success and refine > 0:
            path = refined(self, query, path, min(begun + time_limit, time.perf_counter() + refine), seed)
        return path

    def query(self, start: ArrayLike, goal: Any, frame: str | None = None) -> Query:
        """Starts and goals of a query as configurations; arguments as of `plan`."""
        starts = self._configurations("start", start)
        at = np.asarray(start, dtype=np.float64)
        goals = goal_configurations(self.robot, self.space, goal, frame, at, lambda Q: ~self.in_collision(Q))
        wanted = self._configurations("goal", goals)
        self._check_limits(goals)
        return Query(at[None] if at.ndim == 1 else at, goals, starts, wanted)

    def replan(self, start: ArrayLike, time_limit: float = 1.0, seed: int = 0) -> PlannedPath:
        """Plan again to the goal of the last query, from another start or after `update`.

        The tree of the goal is kept but for what is not free any more.

        >>> import helicoid as hc
        >>> planner = hc.planning.Planner(hc.load("planar_2r"), tolerance=0.05)
        >>> planner.plan([0.0, 0.0], [1.0, 1.0]), planner.replan([0.5, 0.0]).q[-1]
        (PlannedPath(2 waypoints, length 1.414), array([1., 1.]))
        """
        if self._last is None:
            raise InputError("replan: plan first, there is no goal yet")
        begun = time.perf_counter()
        starts = self._configurations("start", start)
        query = self._last._replace(start=np.atleast_2d(np.asarray(start, np.float64)), starts=starts)
        self._last = query
        return self._search(query, begun + time_limit, seed, keep_goals=True)

    def plan_many(
        self, starts: ArrayLike, goals: ArrayLike, time_limit: float = 1.0, seed: int = 0
    ) -> list[PlannedPath]:
        """Paths from each of `starts` (N, nq) to its goal of `goals` (N, nq), on as many threads as
        `hc.set_num_threads` says; the same as of single queries."""
        A, B = self._configurations("starts", starts), self._configurations("goals", goals)
        if A.shape != B.shape:
            raise InputError(f"plan_many takes a goal for each start; got {len(A)} starts and {len(B)} goals")
        ends = np.atleast_2d(np.asarray(starts, float)), np.atleast_2d(np.asarray(goals, float))

        def one(k: int) -> PlannedPath:
            query = Query(ends[0][k : k + 1], ends[1][k : k + 1], A[k : k + 1], B[k : k + 1])
            return self._search(query, time.perf_counter() + time_limit, seed)

        with ThreadPoolExecutor(get_num_threads()) as pool:
            return list(pool.map(one, range(len(A))))

    def _search(self, query: Query, until: float, seed: int, keep_goals: bool = False) -> PlannedPath:
        if self.manifold is not None:
            return search_on_manifold(self, self.manifold, query, until, seed)
        return search(self, query, until, seed, keep_goals=keep_goals)

    def export_c(self, folder: str | os.PathLike[str], name: str | None = None) -> list[Path]:
        """Write the planner of this robot as a library in C99, with a program that plans the last query.

        The library has the scene, to which boxes, spheres, capsules, cylinders and planes may be added at
        run time, what the robot carries and allowed contacts. It needs the vector types of gcc or clang, and
        of libraries the standard one; compiled with the same instructions it finds the paths of Python.

        Args:
            folder: is made where it does not exist. Files that no export wrote are not replaced.
            name: prefix of functions and files, by default the robot's.

        Returns:
            The files: header, source, main.c, CMakeLists.txt and the runtime.

        Raises:
            HelicoidError: nothing has been planned yet, or the last query has no path.
        """
        return export_planner(self, Path(folder), name)

    def _check_limits(self, goals: Array) -> None:
        """Refuse goals of which none is within the limits."""
        low, high, ends = self.space.lower, self.space.upper, self.space.wrapped(np.atleast_2d(goals))
        slack = 1e-6 * (1 + np.abs(low) + np.abs(high))
        beyond = np.maximum(low - slack - ends, ends - high - slack)
        if np.all(beyond.max(axis=1) > 0):
            k = int(np.argmax(beyond[0]))
            name = self.robot.model.coordinate_names[k]
            raise InputError(
                f"the goal is beyond the limits of {name}: {ends[0, k]:.4g} is not within {low[k]:.4g} and "
                f"{high[k]:.4g}"
            )

    def _configurations(self, what: str, given: ArrayLike) -> NDArray[np.float32]:
        q = np.atleast_2d(float_array(given, f"{what} is a configuration, {self.robot.nq} numbers"))
        if q.ndim != 2 or q.shape[1] != self.robot.nq or not np.all(np.isfinite(q)):
            raise InputError(
                f"{what} has {self.robot.nq} finite numbers, or rows of them; got {shown(given)}"
            )
        return np.ascontiguousarray(self.space.wrapped(q), dtype=np.float32)
