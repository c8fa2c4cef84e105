"""What a motion should achieve: one kind of cost a file, a function `(symbols, ...) -> Cost`."""

from helicoid.mpc.costs.control import control_cost
from helicoid.mpc.costs.control_rate import control_rate_cost
from helicoid.mpc.costs.cost import Cost, cost_of
from helicoid.mpc.costs.orientation import orientation_cost
from helicoid.mpc.costs.pose import pose_cost
from helicoid.mpc.costs.position import position_cost
from helicoid.mpc.costs.posture import posture_cost
from helicoid.mpc.costs.swing import swing_cost
from helicoid.mpc.costs.torque import torque_cost
from helicoid.mpc.costs.velocity import velocity_cost

__all__ = [
    "Cost",
    "control_cost",
    "control_rate_cost",
    "cost_of",
    "orientation_cost",
    "pose_cost",
    "position_cost",
    "posture_cost",
    "swing_cost",
    "torque_cost",
    "velocity_cost",
]
