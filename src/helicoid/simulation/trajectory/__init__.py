"""Motions over time: what a simulation gives, and what can be asked of it."""

from helicoid.simulation.trajectory.motion import Motion
from helicoid.simulation.trajectory.trajectory import Trajectory

__all__ = ["Motion", "Trajectory"]
