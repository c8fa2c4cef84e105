"""Differential inverse kinematics: joint velocities from tasks."""

from helicoid.control.differential.differential import DifferentialIK
from helicoid.control.differential.limits import Limit

__all__ = ["DifferentialIK", "Limit"]
