"""Control: inverse kinematics, control laws, whole-body control, observers and time-optimal motion."""

from helicoid.control import tasks
from helicoid.control.differential import DifferentialIK
from helicoid.control.following import Following
from helicoid.control.inverse_kinematics import InverseKinematics
from helicoid.control.laws.adaptive import AdaptiveControl
from helicoid.control.laws.computed_torque import ComputedTorque
from helicoid.control.laws.joint_impedance import JointImpedance
from helicoid.control.laws.momentum_observer import MomentumObserver
from helicoid.control.laws.operational_space import OperationalSpaceControl
from helicoid.control.laws.prioritised import PrioritisedInverseDynamics
from helicoid.control.laws.task_space import TaskSpaceControl
from helicoid.control.online_motion import OnlineMotion
from helicoid.control.protocol import ControllerProtocol
from helicoid.control.tasks import *  # noqa: F403
from helicoid.control.timing import InfeasiblePath, JointPath, PathMotion, PosePath, time_optimal
from helicoid.control.whole_body import PointContact, SurfaceContact, WholeBody

__all__ = [  # and, below, the tasks
    "AdaptiveControl",
    "ComputedTorque",
    "ControllerProtocol",
    "DifferentialIK",
    "Following",
    "InfeasiblePath",
    "InverseKinematics",
    "JointImpedance",
    "JointPath",
    "MomentumObserver",
    "OnlineMotion",
    "OperationalSpaceControl",
    "PathMotion",
    "PointContact",
    "PosePath",
    "PrioritisedInverseDynamics",
    "SurfaceContact",
    "TaskSpaceControl",
    "WholeBody",
    "time_optimal",
]
__all__ += tasks.__all__
