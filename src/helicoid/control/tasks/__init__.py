"""Tasks: plain values with a target and weights.

Inverse kinematics, differential kinematics and whole-body control read tasks alike. With e(q) the error at q,
ė = -J v at a velocity v: the step dv with J dv = e reaches the target to first order.
"""

from helicoid.control.tasks.center_of_mass import CenterOfMassTask
from helicoid.control.tasks.force import ForceTask
from helicoid.control.tasks.frame import OrientationTask, PoseTask, PositionTask
from helicoid.control.tasks.joints import PostureTask, TorqueTask
from helicoid.control.tasks.look_at import LookAtTask
from helicoid.control.tasks.momentum import MomentumTask
from helicoid.control.tasks.relative_pose import RelativePoseTask
from helicoid.control.tasks.task import Task

__all__ = [
    "CenterOfMassTask",
    "ForceTask",
    "LookAtTask",
    "MomentumTask",
    "OrientationTask",
    "PoseTask",
    "PositionTask",
    "PostureTask",
    "RelativePoseTask",
    "Task",
    "TorqueTask",
]
