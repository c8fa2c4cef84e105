"""Control: from a description to a robot that moves as told."""

from helicoid.control.differential import DifferentialIK
from helicoid.control.inverse_kinematics import InverseKinematics
from helicoid.control.tasks import (
    CenterOfMassTask,
    LookAtTask,
    OrientationTask,
    PoseTask,
    PositionTask,
    PostureTask,
    RelativePoseTask,
    Task,
)
from helicoid.control.timing import InfeasiblePath, JointPath, PathMotion, time_optimal

__all__ = [
    "CenterOfMassTask",
    "DifferentialIK",
    "InfeasiblePath",
    "InverseKinematics",
    "JointPath",
    "LookAtTask",
    "OrientationTask",
    "PathMotion",
    "PoseTask",
    "PositionTask",
    "PostureTask",
    "RelativePoseTask",
    "Task",
    "time_optimal",
]
