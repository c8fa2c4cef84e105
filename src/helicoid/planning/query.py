"""`hc.plan`: one query, with the planner of the robot kept for the next."""

from __future__ import annotations

import pickle
from typing import Any

from numpy.typing import ArrayLike

from helicoid.control.tasks import Task
from helicoid.planning.manifold.constraints import AxisConstraint
from helicoid.planning.path import PlannedPath
from helicoid.planning.planner import Planner
from helicoid.robot import Robot
from helicoid.robot.robot import as_robot


def plan(
    robot: Robot,
    start: ArrayLike,
    goal: Any,
    scene: Any = None,
    time_limit: float = 1.0,
    seed: int = 0,
    *,
    frame: str | None = None,
    refine: float = 0.0,
    **options: Any,
) -> PlannedPath:
    """A collision-free path from a configuration to a goal, by RRT-Connect on certified edges.

    The planner is compiled once for a robot and its `options`, which are those of `hc.planning.Planner`, and
    kept with the robot.

    Args:
        start: configuration (nq).
        goal: configuration (nq); several (n, nq), of which the one that is reached first ends the path; an
            `hc.planning.GoalRegion`; with `frame`, a pose (4, 4) of that frame, for which inverse kinematics
            gives all branches; a task of `hc.control` with its target, or several.
        scene: an `hc.Scene`; without one only the robot itself is in the way.
        time_limit: in s, after which the result says what was found.
        seed: of the random configurations; the same seed gives the same path.
        frame: whose pose the goal is.
        refine: time (s), within the limit, that is spent on shorter paths.
        options: `tolerance` of the spheres around links and `margin` from everything (m), `constraints` along
            the path with their `constraint_tolerance`, `bounds`, and others of `hc.planning.Planner`.

    Returns:
        A path with `.success`, `.message`, waypoints `.q` and `.length`.

    >>> import helicoid as hc
    >>> scene = hc.Scene()
    >>> scene.add("ball", hc.Sphere(0.2), [1.5, 0.0, 1.5])
    >>> path = hc.plan(hc.load("planar_2r"), [-1.0, 0.0], [1.0, 0.0], scene, tolerance=0.05)
    >>> path.success, path.q[-1]
    (True, array([1., 0.]))
    """
    on = as_robot(robot, "plan")
    key = ("planner", *sorted((name, _key(value)) for name, value in options.items()))
    planner = on.memo(key, lambda: Planner(on, **options))
    planner.update(scene)
    return planner.plan(start, goal, time_limit, seed, frame=frame, refine=refine)


def _key(value: Any) -> str:
    """An option as part of a key: numbers by their representation, constraints by all of their bytes."""
    many = value if isinstance(value, (list, tuple)) else [value]
    if any(isinstance(one, (Task, AxisConstraint)) for one in many):
        return pickle.dumps(value).hex()
    return repr(value)
