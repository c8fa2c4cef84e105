"""Tasks: one kind per file, a plain value with a target and weights.

Inverse kinematics, differential kinematics and whole-body control read tasks alike. With e(q) what is missing
at q, J v is how fast a velocity v makes up for it: the step dv with J dv = e reaches the target to first
order.
"""

from helicoid.control.tasks.center_of_mass import CenterOfMassTask
from helicoid.control.tasks.force import ForceTask
from helicoid.control.tasks.look_at import LookAtTask
from helicoid.control.tasks.momentum import MomentumTask
from helicoid.control.tasks.orientation import OrientationTask
from helicoid.control.tasks.pose import PoseTask
from helicoid.control.tasks.position import PositionTask
from helicoid.control.tasks.posture import PostureTask
from helicoid.control.tasks.relative_pose import RelativePoseTask
from helicoid.control.tasks.task import Task
from helicoid.control.tasks.torque import TorqueTask

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
