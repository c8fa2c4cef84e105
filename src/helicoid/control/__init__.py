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

__all__ = [
    "CenterOfMassTask",
    "DifferentialIK",
    "InverseKinematics",
    "LookAtTask",
    "OrientationTask",
    "PoseTask",
    "PositionTask",
    "PostureTask",
    "RelativePoseTask",
    "Task",
]
