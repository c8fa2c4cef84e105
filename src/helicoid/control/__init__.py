"""Control: from a description to a robot that moves as told."""

from helicoid.control.differential import DifferentialIK
from helicoid.control.inverse_kinematics import InverseKinematics
from helicoid.control.laws.adaptive import AdaptiveControl
from helicoid.control.laws.computed_torque import ComputedTorque
from helicoid.control.laws.joint_impedance import JointImpedance
from helicoid.control.laws.momentum_observer import MomentumObserver
from helicoid.control.laws.operational_space import OperationalSpaceControl
from helicoid.control.laws.prioritised import PrioritisedInverseDynamics
from helicoid.control.laws.task_space import TaskSpaceControl
from helicoid.control.online_motion import OnlineMotion
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
from helicoid.control.timing import InfeasiblePath, JointPath, PathMotion, PosePath, time_optimal

__all__ = [
    "AdaptiveControl",
    "CenterOfMassTask",
    "ComputedTorque",
    "DifferentialIK",
    "InfeasiblePath",
    "InverseKinematics",
    "JointImpedance",
    "JointPath",
    "LookAtTask",
    "MomentumObserver",
    "OnlineMotion",
    "OperationalSpaceControl",
    "OrientationTask",
    "PathMotion",
    "PosePath",
    "PoseTask",
    "PositionTask",
    "PostureTask",
    "PrioritisedInverseDynamics",
    "RelativePoseTask",
    "Task",
    "TaskSpaceControl",
    "time_optimal",
]
