"""Joint velocities from tasks: differential kinematics."""

from helicoid.control.differential.differential import DifferentialIK
from helicoid.control.differential.limits import Limit

__all__ = ["DifferentialIK", "Limit"]
