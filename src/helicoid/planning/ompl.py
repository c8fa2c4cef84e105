"""OMPL's planners over Helicoid's configuration space and collision checks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array
from helicoid.errors import InputError, optional_import
from helicoid.planning.collision.diagnosis import describe_end
from helicoid.planning.path import PlannedPath
from helicoid.planning.planner import Planner
from helicoid.planning.space import CIRCLE, NUMBER, QUATERNION, ConfigurationSpace


class OMPLSetup:
    """State space, validity checker and motion validator of a `Planner`, for any planner of OMPL.

    OMPL (Sucan, Moll and Kavraki 2012) has the planners; the compiled kernels of the `Planner` check states,
    and edges with the same certificate. Coordinates that are numbers are one real vector (one for each
    weight), angles on circles SO(2), rotations SO(3). `pip install "helicoid[ompl]"`.

    Args:
        planner: whose robot, scene and checks they are; `planner.update(scene)` holds here too.

    Attributes:
        space: OMPL's state space.
        setup: OMPL's `SimpleSetup`, for goals, objectives and planners of other kinds.

    Raises:
        HelicoidError: the package ompl is not installed.
        InputError: the planner keeps constraints along its paths.
    """

    def __init__(self, planner: Planner) -> None:
        self._base, self._geometric, self._util = (
            optional_import(f"ompl.{part}", "OMPLSetup", "helicoid[ompl]")
            for part in ("base", "geometric", "util")
        )
        if planner.manifold is not None:
            raise InputError("OMPLSetup: this planner keeps constraints along its paths; give one without")
        self.planner = planner
        self._layout = _Layout(self._base, planner.space)
        self.space = self._layout.states
        self.setup = self._geometric.SimpleSetup(self.space)
        information = self.setup.getSpaceInformation()
        of = self._layout.configuration
        # Functions of the planner, not of this object, which the reference cycle would keep in memory.
        self.setup.setStateValidityChecker(lambda state: not planner.in_collision(of(state)))
        checks = _validator(self._base, information, lambda a, b: bool(planner.edges_free(of(a), of(b))[0]))
        information.setMotionValidator(checks)

    def state(self, q: ArrayLike) -> Any:
        """OMPL's state of a configuration q (nq)."""
        return self._layout.state(np.asarray(q, dtype=np.float64))

    def configuration(self, state: Any) -> Array:
        """Configuration (nq) of OMPL's state."""
        return self._layout.configuration(state)

    def plan(
        self,
        start: ArrayLike,
        goal: Any,
        planner: Callable[[Any], Any] | None = None,
        time_limit: float = 1.0,
        *,
        frame: str | None = None,
    ) -> PlannedPath:
        """A path by a planner of OMPL, simplified; asymptotically optimal ones use all of the time.

        The random numbers are OMPL's own (`ompl.util.RNG.setSeed`).

        Args:
            start, goal, frame: as in `Planner.plan`.
            planner: class of `ompl.geometric`, such as `BITstar`, or a function of the SpaceInformation that
                gives one with its parameters; by default OMPL's `RRTConnect`.
            time_limit: in s.
        """
        query = self.planner.query(start, goal, frame)
        for name, ends in (("start", query.starts), ("goal", query.goals)):
            if np.all(self.planner.in_collision(ends)):
                return self._failed(describe_end(self.planner, name, ends.astype(np.float64)))
        setup, begun, level = self.setup, time.perf_counter(), self._util.getLogLevel()
        self._util.setLogLevel(self._util.LOG_ERROR)
        try:
            setup.clear()
            setup.clearStartStates()
            for q in query.start:
                setup.addStartState(self.state(q))
            goals = self._base.GoalStates(setup.getSpaceInformation())
            for q in query.goal:
                goals.addState(self.state(q))
            setup.setGoal(goals)
            setup.setPlanner((planner or self._geometric.RRTConnect)(setup.getSpaceInformation()))
            status = setup.solve(float(time_limit))
            if setup.haveExactSolutionPath():
                setup.simplifySolution(float(time_limit))
        finally:
            self._util.setLogLevel(level)
        seconds = time.perf_counter() - begun
        if not setup.haveExactSolutionPath():
            return self._failed(f"OMPL: {status.asString().lower()} after {seconds:.3g} s", seconds)
        found = setup.getSolutionPath()
        states = (found.getState(k) for k in range(found.getStateCount()))
        q = self.planner.space.continuous(np.array([self.configuration(state) for state in states]))
        if not self.planner.edges_free(q[:-1], q[1:]).all():
            return self._failed("OMPL: an edge of its path is in collision", seconds)
        length = self.planner.space.length(q)
        return PlannedPath(True, "a path was found", q, length, seconds=seconds, planner=self.planner)

    def _failed(self, message: str, seconds: float = 0.0) -> PlannedPath:
        none = np.zeros((0, self.planner.robot.nq))
        return PlannedPath(False, message, none, np.inf, seconds=seconds, planner=self.planner)


def _validator(base: Any, information: Any, is_free: Callable[[Any, Any], bool]) -> Any:
    """OMPL's motion validator of a function of two states."""

    class Validator(base.MotionValidator):
        def checkMotion(self, a: Any, b: Any) -> bool:
            return is_free(a, b)

    return Validator(information)


class _Layout:
    """Coordinates of a configuration space as a state space of OMPL: compound if it has several parts."""

    def __init__(self, base: Any, space: ConfigurationSpace) -> None:
        self._own, kind = space, space.kind
        numbers = kind == NUMBER
        self._parts = [
            np.flatnonzero(numbers & (space.weight == weight)) for weight in np.unique(space.weight[numbers])
        ]
        self._parts += [np.array([k]) for k in np.flatnonzero(kind == CIRCLE)]
        self._parts += [np.arange(k, k + 4) for k in np.flatnonzero(kind == QUATERNION)]
        self._kinds = [int(kind[part[0]]) for part in self._parts]
        spaces = [self._space(base, kind, part) for kind, part in zip(self._kinds, self._parts, strict=True)]
        self.states = spaces[0]
        if len(spaces) > 1:
            self.states = base.CompoundStateSpace()
            for part, one in zip(self._parts, spaces, strict=True):
                self.states.addSubspace(one, float(space.weight[part[0]]))

    def _space(self, base: Any, kind: int, part: NDArray[np.intp]) -> Any:
        if kind != NUMBER:
            return base.SO2StateSpace() if kind == CIRCLE else base.SO3StateSpace()
        made, bounds = base.RealVectorStateSpace(len(part)), base.RealVectorBounds(len(part))
        for j, k in enumerate(part):
            bounds.setLow(j, float(self._own.lower[k]))
            bounds.setHigh(j, float(self._own.upper[k]))
        made.setBounds(bounds)
        return made

    def _of_parts(self, state: Any) -> list[Any]:
        return [state] if len(self._parts) == 1 else [state[k] for k in range(len(self._parts))]

    def state(self, q: Array) -> Any:
        values, made = self._own.wrapped(q), self.states.allocState()
        for kind, part, one in zip(self._kinds, self._parts, self._of_parts(made), strict=True):
            if kind == NUMBER:
                for j, value in enumerate(values[part]):
                    one[j] = float(value)
            elif kind == CIRCLE:
                one.value = float(values[part[0]])
            else:
                one.w, one.x, one.y, one.z = values[part].tolist()
        return made

    def configuration(self, state: Any) -> Array:
        q: Array = np.empty(len(self._own.kind))
        for kind, part, one in zip(self._kinds, self._parts, self._of_parts(state), strict=True):
            if kind == NUMBER:
                q[part] = [one[j] for j in range(len(part))]
            else:
                q[part] = one.value if kind == CIRCLE else (one.w, one.x, one.y, one.z)
        return q
