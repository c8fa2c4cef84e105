"""Costs of a problem: functions `(symbols, ...) -> Cost`, by theme.

A new cost is one function in a file here, and one line in the table of `helicoid.mpc.terms`.
"""

from helicoid.mpc.costs.cost import Cost as Cost
from helicoid.mpc.costs.cost import cost_of as cost_of
from helicoid.mpc.costs.effort import control_cost as control_cost
from helicoid.mpc.costs.effort import control_rate_cost as control_rate_cost
from helicoid.mpc.costs.effort import torque_cost as torque_cost
from helicoid.mpc.costs.frames import orientation_cost as orientation_cost
from helicoid.mpc.costs.frames import pose_cost as pose_cost
from helicoid.mpc.costs.frames import position_cost as position_cost
from helicoid.mpc.costs.joints import posture_cost as posture_cost
from helicoid.mpc.costs.joints import velocity_cost as velocity_cost
from helicoid.mpc.costs.swing import swing_cost as swing_cost
