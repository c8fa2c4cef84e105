"""Motion planning."""

from helicoid.planning.path import PlannedPath
from helicoid.planning.planner import Planner

__all__ = ["PlannedPath", "Planner"]
