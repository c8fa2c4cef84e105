"""Joint velocities from tasks: differential kinematics."""

from helicoid.control.differential.differential import DifferentialIK, Limit

__all__ = ["DifferentialIK", "Limit"]
