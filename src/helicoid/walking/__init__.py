"""Locomotion of legged robots: a gait, model predictive control, and whole-body control that tracks it.

Gait     stance phases of the feet
Walker   controller from commanded velocities to torques
"""

from helicoid.walking.gait import Gait
from helicoid.walking.walker import Walker

__all__ = ["Gait", "Walker"]
