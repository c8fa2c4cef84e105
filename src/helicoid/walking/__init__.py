"""Robots that walk: a gait, a plan of half a second, and whole-body control that follows it.

Gait     which feet stand when
Walker   velocities in, torques out
"""

from helicoid.walking.gait import Gait
from helicoid.walking.walker import Walker

__all__ = ["Gait", "Walker"]
