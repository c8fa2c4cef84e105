"""Motion planning: collision-free paths for any robot, around the objects of a scene.

plan            one query; the compiled planner is kept with the robot
Planner         compiled once for a robot: scenes, queries, checks of configurations and edges
GoalRegion      configurations between limits, any of which ends a path
AxisConstraint  an axis of a frame that keeps its direction all along a path
OMPLSetup       the same space and checks for any planner of OMPL (extra "ompl")
PlannedPath     waypoints and length, or the reason why there is no path
"""

from typing import TYPE_CHECKING

from helicoid._lazy import lazy_names

if TYPE_CHECKING:
    from helicoid.planning.goals import GoalRegion as GoalRegion
    from helicoid.planning.manifold.constraints import AxisConstraint as AxisConstraint
    from helicoid.planning.ompl import OMPLSetup as OMPLSetup
    from helicoid.planning.path import PlannedPath as PlannedPath
    from helicoid.planning.planner import Planner as Planner
    from helicoid.planning.query import plan as plan
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
