"""Motions over time: what a simulation gives, and what can be asked of it."""

from helicoid.simulation.trajectory.motion import MotionEquations
from helicoid.simulation.trajectory.trajectory import Trajectory

__all__ = ["MotionEquations", "Trajectory"]
