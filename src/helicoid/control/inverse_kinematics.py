"""Inverse kinematics: configurations in which frames are where they should be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array
from helicoid.compiler import get_num_threads
from helicoid.control.ik.branches import Follower, distinct
from helicoid.control.ik.closed_form.recognition import ClosedForm
from helicoid.control.ik.closed_form.selection import AllSolutions
from helicoid.control.ik.engine import Engine, SearchResult
from helicoid.control.ik.floating import BasePlacement
from helicoid.control.ik.free import CollisionFilter
from helicoid.control.ik.problem import IKProblem
from helicoid.control.ik.solution import Path, Solution
from helicoid.control.ik.targets import numbers, starts
from helicoid.control.ik.textbook import METHODS, Textbook
from helicoid.control.tasks import Task
from helicoid.deprecation import renamed_arguments
from helicoid.errors import InputError
from helicoid.robot.collision.scene import Scene
from helicoid.robot.robot import Robot

_WORTH_A_THREAD, _MOST_AT_ONCE = 256, 2048  # targets
_MAX_TEXTBOOK_ITERATIONS = 1000  # of a method of textbooks
_OURS = "levenberg_marquardt"
_FLOAT64 = np.dtype(np.float64)


class InverseKinematics:
    """q with frames at their targets, by searches of Levenberg and Marquardt in compiled C.

    minimise ½ Σ w e(q)² over the tasks, within the joint limits. Searches start from `q0`, then from
    configurations of a fixed table that are near the target already; the answer is that of the first, in
    this order, that meets every task. Where none does, it is the nearest pose that was found, with `success`
    False. The same input gives the same answer, on every machine but for rounding; a batch gives what single
    calls do.

    A `PostureTask` beside others is a secondary objective: it selects among solutions, not part of `success`.
    Loops, contacts and equations of the robot hold in every answer that counts as a success.

    With a `scene` a solution counts only if it collides neither with the scene, as it is at the time, nor
    with the robot itself. Where the first one does, searches go on from all 512 configurations of the table,
    and the first free one is the answer. Where all collide, `success` is False and `collides` True.

    Args:
        robot: any robot, on a fixed or a floating base.
        tasks: a frame, whose pose is asked for; a task; or several, which form a weighted sum.
        hold: coordinates of joints that may not move, by name: `{"joint_1": 0.0}`.
        tolerance: what is as good as zero, the norm of the error of each part of a task (m, rad).
        starts: the most configurations that a search starts from.
        scene: obstacles, `hc.Scene`; objects may move, come and go.
        margin: distance to the scene (m) that a solution keeps.
        method: "levenberg_marquardt", or a method of textbooks, for study and where there is no compiler: one
            search from q0 (by default from zero) by the steps of `helicoid.control.ik.textbook`,
            "pseudo_inverse", "damped" or "transpose", with its `step`, `damping_factor` and `rotation`.

    >>> import helicoid as hc
    >>> robot = hc.load("ur5")
    >>> ik = hc.control.InverseKinematics(robot, "tool0")
    >>> T = robot.pose("tool0")([0.1, -1.2, 1.5, 0.3, 0.8, 0.0])
    >>> solution = ik(T, q0=robot.neutral())
    >>> solution.success, bool(abs(robot.pose("tool0")(solution.q) - T).max() < 1e-5)
    (True, True)
    """

    @renamed_arguments(damping="damping_factor")
    def __init__(
        self,
        robot: Robot,
        tasks: str | Task | Sequence[Task],
        *,
        hold: Mapping[str, ArrayLike] | None = None,
        tolerance: float = 1e-6,
        starts: int = 100,
        scene: Scene | None = None,
        margin: float = 0.0,
        method: str = "levenberg_marquardt",
        **options: Any,
    ) -> None:
        self._made: dict[str, Any] = {"robot": robot, "tasks": tasks, "hold": hold, "tolerance": tolerance}
        self._made |= {"starts": starts, "scene": scene, "margin": margin, "method": method, **options}
        self._problem = IKProblem(robot, tasks, hold, tolerance)
        if not isinstance(starts, (int, np.integer)) or not 1 <= starts <= 500:
            raise InputError(f"starts is a number of configurations, 1 to 500; got {starts!r}")
        self._starts = int(starts)
        self._textbook = None if method == _OURS else _textbook(self._problem, method, options)
        if method == _OURS and options:
            raise InputError(f"{', '.join(options)}: options of the methods {', '.join(METHODS)} alone")
        self._collisions = CollisionFilter.of(robot, scene, margin)
        if self._collisions is not None and method != _OURS:
            raise InputError(f"a scene is avoided by restarts: with method={_OURS!r} alone, not {method!r}")
        # Short cut without checks: one target, and any numbers are a valid configuration.
        shapes = [task.target_shape(robot) for task in self._problem.tasks]
        self._target_shape = shapes[0] if len(shapes) == 1 else None
        self._q0_shape = (robot.nq,) if robot.nq == robot.nv and not self._problem.held else None

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._made,)

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self._problem.robot

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Tasks that are solved for."""
        return self._problem.tasks

    @cached_property
    def _engine(self) -> Engine:
        return Engine(self._problem)

    @cached_property
    def _carrier(self) -> BasePlacement:
        return BasePlacement(self._problem)

    def __call__(self, target: Any = None, q0: ArrayLike | None = None) -> Solution:
        """Search for a target, or for many with their axis first.

        Args:
            target: of the task that has none of its own, or of the only one: a pose (4, 4) or (N, 4, 4) of a
                frame, a point (3) or (N, 3). Of several tasks, a dict with their names.
            q0: where the search starts, (nq), or (N, nq) of N targets; by default near the target, anywhere.

        Raises:
            InputError: a target has the wrong shape, is not finite, or is no rotation.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r")
        >>> ik = hc.control.InverseKinematics(robot, hc.control.PositionTask("tip"))
        >>> ik([9.0, 0.0, 0.0])  # out of reach: as near as it gets
        Solution(not reached, error 7..., q=[...])
        """
        if self._textbook is not None:
            return self._walk(self._textbook, target, q0)
        if _is_plain(target, self._target_shape) and (q0 is None or _is_plain(q0, self._q0_shape)):
            quick = self._engine.one(target, q0, self._starts)
            alone = self._collisions is None
            if quick is not None and alone and (quick.success or not self.robot.model.floating):
                return quick
        targets, many = self._read(target)
        start = None if q0 is None else starts(self._problem, q0, len(targets))
        q, e, facts = found = self._found(targets, start)
        collides = np.zeros(len(q), dtype=bool)
        if self._collisions is not None:
            collides = self._avoid(targets, found)
        if many:
            return Solution(q, facts[:, 0] > 0, facts[:, 1], e, facts[:, 2], facts[:, 3], collides)
        success, error, count, iterations = facts[0].tolist()
        return Solution(q[0], success > 0, error, e[0], int(count), int(iterations), bool(collides[0]))

    def _read(self, target: Any) -> tuple[Array, bool]:
        """Targets (n, numbers), checked in C where they are an array already; and whether they are many."""
        shape = self._target_shape
        if shape is not None and type(target) is np.ndarray and target.ndim == len(shape) + 1:
            plain = _is_plain(target, (len(target), *shape)) and target.flags.c_contiguous
            flat = target.reshape(len(target), int(np.prod(shape))) if plain else None
            if flat is not None and self._engine.accepts(flat):
                return flat, True
        return numbers(self._problem, target)

    def _found(self, targets: Array, start: Array | None) -> SearchResult:
        """From all starts; once more for what was not reached, with a floating base carried to its target."""
        found = self._search(targets, start, self._starts)
        missed = np.flatnonzero(found.facts[:, 0] == 0)
        near = self._carrier.carried(targets[missed], found.q[missed]) if len(missed) else None
        if near is None or not np.all(np.isfinite(near)):
            return found
        again = self._search(targets[missed], np.ascontiguousarray(near), self._starts)
        better = again.facts[:, 1] < found.facts[missed, 1]
        again.facts[:, 2:] += found.facts[missed, 2:]
        for before, after in zip(found, again, strict=True):
            before[missed[better]] = after[better]
        return found

    def _avoid(self, targets: Array, found: SearchResult) -> NDArray[np.bool_]:
        """Replace solutions in collision by free ones, in place; which collide where there are none."""
        assert self._collisions is not None
        collides = ~self._collisions.is_free(found.q)
        for k in np.flatnonzero(collides & (found.facts[:, 0] > 0)):
            starts = self._engine.table
            near = self._carrier.carried(np.repeat(targets[k][None], len(starts), axis=0), starts)
            again, tried, iterations = self._collisions.restart(
                targets[k], starts if near is None else near, lambda t, q0: self._search(t, q0, 1)
            )
            if len(again.q):
                found.q[k], found.e[k], found.facts[k, :2] = again.q[0], again.e[0], again.facts[0, :2]
                collides[k] = False
            else:
                found.facts[k, 0] = 0
            found.facts[k, 2:] += tried, iterations
        return collides

    def _walk(self, textbook: Textbook, target: Any, q0: ArrayLike | None) -> Solution:
        """One search by a method of textbooks for each target, to the tolerance."""
        targets, many = numbers(self._problem, target)
        start = starts(self._problem, self._problem.default() if q0 is None else q0, len(targets))
        Q, counts = np.empty_like(start), np.zeros(len(start))
        for k, (one, q) in enumerate(zip(targets, start, strict=True)):
            for Q[k] in textbook.walk(one, q, _MAX_TEXTBOOK_ITERATIONS):
                counts[k] += 1
                if self._problem.score(one[None], Q[k : k + 1]).success[0]:
                    break
        good, error, e = self._problem.score(targets, Q)
        if many:
            return Solution(Q, good, error, e, np.ones(len(Q)), counts)
        return Solution(Q[0], bool(good[0]), float(error[0]), e[0], 1, int(counts[0]))

    @property
    def family(self) -> ClosedForm:
        """Closed form of the arm, which `all` uses, or why there is none.

        Its `complete` says whether `all` finds all solutions, or examples.

        >>> import helicoid as hc
        >>> hc.control.InverseKinematics(hc.load("panda"), "panda_link8").family.name
        'spherical shoulder (panda_joint1, panda_joint2, panda_joint3)'
        >>> hc.control.InverseKinematics(hc.load("planar_2r"), hc.control.PositionTask("tip")).family
        ClosedForm(none: closed forms are for the pose of one frame; examples from 512 searches)
        """
        return self._all.form

    @cached_property
    def _all(self) -> AllSolutions:
        free = None if self._collisions is None else self._collisions.is_free
        return AllSolutions(self._problem, self._from_table, free)

    def all(
        self,
        target: Any = None,
        q0: ArrayLike | None = None,
        apart: float | None = None,
        redundancy: int | Mapping[str, ArrayLike] | None = None,
    ) -> Any:
        """All solutions of a target, (k, nq), nearest to q0 (or zero) first; none where out of reach.

        Arms of six joints of which three neighbouring axes meet or are parallel have a closed form, `family`:
        all solutions within the limits are found. Arms of more joints have infinitely many; those for given
        values of the joints `family.redundancy` are found. Without a closed form searches start from every
        configuration of a table, and what they find are examples. Solutions that differ by whole turns count
        as one; where a singularity leaves a joint free, one of its values stands for all.

        Args:
            target: as of a call; targets with their axis first give a list, one array for each.
            q0: (nq), or (N, nq) of N targets.
            apart: solutions that are no more than this (rad, m) from each other in every coordinate count as
                one; by default equal ones alone, and of those from searches 0.1.
            redundancy: how many values the redundant joints are given, evenly within their limits (32 by
                default, and those of q0), or the values by the names of the joints.

        >>> import helicoid as hc
        >>> robot = hc.load("ur5")
        >>> ik = hc.control.InverseKinematics(robot, "tool0")
        >>> ik.all(robot.pose("tool0")([0.1, -1.2, 1.5, 0.3, 0.8, 0.0])).shape
        (8, 6)
        """
        return self._all.of(target, q0, apart, redundancy)

    def path(self, targets: Any, q0: ArrayLike | None = None) -> Path:
        """Follow targets in one branch of solutions, without jumps; or say where there must be one.

        Each target is reached from the configuration at the one before. Where that is far, the way between
        is followed in smaller steps. All solutions of the first target are tried, and the one is chosen that
        leads furthest, then moves least; with q0, only the one found from there. Where all end, the path goes
        on in another branch, and `jumps` names the target.

        >>> import helicoid as hc
        >>> import numpy as np
        >>> robot = hc.load("planar_2r")
        >>> ik = hc.control.InverseKinematics(robot, hc.control.PositionTask("tip"))
        >>> height = np.linspace(0.2, 0.9, 30)
        >>> ik.path(np.column_stack([0 * height + 0.5, 0 * height, height]))
        Path(30 of 30 reached, no jumps)
        """
        wanted, many = numbers(self._problem, targets)
        if not many:
            raise InputError("path: takes targets with their axis first, such as (N, 4, 4)")
        follower = Follower(self._problem, self._track)
        begin = None if q0 is None else starts(self._problem, q0, 1)
        Q: list[Array] = []
        jumps: list[int] = []
        while len(Q) < len(wanted):
            rest, k = wanted[len(Q) :], len(Q)
            ways = follower.follow(rest, self._candidates(rest[0], begin))
            if not ways:  # out of reach: as near as it gets, and a new branch from there on
                ways = [self._found(rest[:1], begin).q]
            longest = max(map(len, ways))
            best = min((way for way in ways if len(way) == longest), key=_travel)
            if k:
                jumps.append(k)
            Q += list(best)
            begin = None
        q = np.array(Q).reshape(len(wanted), self.robot.nq)
        score = self._problem.score(wanted, q)
        free = True if self._collisions is None else self._collisions.is_free(q)
        return Path(q, score.success & free, score.error, jumps)

    def _candidates(self, target: Array, begin: Array | None) -> Array:
        """Solutions of a target from which a path may start."""
        if begin is not None:
            found = self._found(target[None], begin)
            good = found.facts[:, 0] > 0
            if self._collisions is not None:
                good &= self._collisions.is_free(found.q)
            return found.q[good]
        q = self._from_table(target)
        return distinct(self._problem, q, self._problem.default(), 0.1)[:64]

    def _from_table(self, target: Array) -> Array:
        """Solutions of a target, (k, nq), from every start of the table; a floating base begins near it."""
        targets, starts = np.repeat(target[None], len(self._engine.table), axis=0), self._engine.table
        near = self._carrier.carried(targets, starts)
        q, good, _ = self._track(targets, starts if near is None else near)
        return q[good]

    def _track(self, targets: Array, q0: Array) -> tuple[Array, NDArray[np.bool_], Array]:
        q, _, facts = self._search(targets, np.ascontiguousarray(q0), 1)
        good = facts[:, 0] > 0
        if self._collisions is not None and good.any():
            good[good] = self._collisions.is_free(q[good])
        return q, good, facts[:, 1]

    def _search(self, targets: Array, q0: Array | None, most: int) -> SearchResult:
        """Results of the compiled search, a part of the targets in each thread."""
        n, engine = len(targets), self._engine
        parts = min(get_num_threads(), n // _WORTH_A_THREAD)
        # Pieces short enough for Ctrl-C to be heard in between.
        length = max(1, min(_MOST_AT_ONCE, -(-n // max(parts, 1))))
        spans = [slice(k, k + length) for k in range(0, n, length)] or [slice(0, 0)]

        def piece(at: slice) -> SearchResult:
            return engine.solve(targets[at], None if q0 is None else q0[at], most)

        if parts < 2:
            found = [piece(at) for at in spans]
        else:
            pool = ThreadPoolExecutor(parts)
            try:
                found = list(pool.map(piece, spans))
            finally:
                pool.shutdown(cancel_futures=True)
        return found[0] if len(found) == 1 else SearchResult(*map(np.concatenate, zip(*found, strict=True)))

    def __repr__(self) -> str:
        names = ", ".join(task.name for task in self.tasks)
        return f"InverseKinematics({self.robot.name!r}: {names})"


def _again(made: dict[str, Any]) -> InverseKinematics:
    """Restore a solver from its pickle; its compiled code is in the cache."""
    return InverseKinematics(**made)


def _textbook(problem: IKProblem, method: str, options: dict[str, Any]) -> Textbook:
    for name in options:
        if name not in ("step", "damping_factor", "rotation"):
            raise InputError(
                f"InverseKinematics has no option {name!r}; methods take step, damping_factor, rotation"
            )
    return Textbook(problem, method, **options)


def _is_plain(given: Any, shape: tuple[int, ...] | None) -> TypeGuard[Array]:
    """Whether it is an array of numbers of that shape, with nothing to convert."""
    return type(given) is np.ndarray and given.shape == shape and given.dtype is _FLOAT64


def _travel(way: Array) -> float:
    return float(np.abs(np.diff(way, axis=0)).sum())
