"""Constraints of a problem: functions `(symbols, ...) -> Constraint` or a list of them, by theme.

A new constraint is one function in a file here, and one line in the table of `helicoid.mpc.terms`.
"""

from helicoid.mpc.constraints.collision import distance_constraint as distance_constraint
from helicoid.mpc.constraints.collision import self_collision_constraint as self_collision_constraint
from helicoid.mpc.constraints.constraint import Constraint as Constraint
from helicoid.mpc.constraints.constraint import constraint_on as constraint_on
from helicoid.mpc.constraints.contact import foot_constraints as foot_constraints
from helicoid.mpc.constraints.contact import friction_cones as friction_cones
from helicoid.mpc.constraints.end import end_constraints as end_constraints
from helicoid.mpc.constraints.frames import frame_box_constraint as frame_box_constraint
from helicoid.mpc.constraints.frames import half_space_constraint as half_space_constraint
from helicoid.mpc.constraints.inherent import control_limit as control_limit
from helicoid.mpc.constraints.inherent import duration_constraint as duration_constraint
from helicoid.mpc.constraints.inherent import hold_constraints as hold_constraints
from helicoid.mpc.constraints.limits import limit_constraints as limit_constraints
from helicoid.mpc.constraints.scene import scene_constraint as scene_constraint
