"""Time-optimal path parameterisation under limits, in C (runtime/)."""

from helicoid.control.timing.errors import InfeasiblePath
from helicoid.control.timing.joint_path import JointPath
from helicoid.control.timing.motion import Excess, PathMotion, Profile
from helicoid.control.timing.pose_path import PosePath
from helicoid.control.timing.time_optimal import time_optimal

__all__ = ["Excess", "InfeasiblePath", "JointPath", "PathMotion", "PosePath", "Profile", "time_optimal"]
