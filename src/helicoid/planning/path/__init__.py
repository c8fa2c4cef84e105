"""Paths, and their motions over time."""

from helicoid.planning.path.path import PlannedPath as PlannedPath
