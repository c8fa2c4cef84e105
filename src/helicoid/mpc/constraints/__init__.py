"""What a motion must respect: one kind of constraint a file, a function `(symbols, ...) -> Constraint`."""

from helicoid.mpc.constraints.constraint import Constraint, constraint_on
from helicoid.mpc.constraints.contact import foot_constraints
from helicoid.mpc.constraints.distance import distance_constraint
from helicoid.mpc.constraints.final import final_constraints
from helicoid.mpc.constraints.frame_box import frame_box_constraint
from helicoid.mpc.constraints.friction import friction_cones
from helicoid.mpc.constraints.half_space import half_space_constraint
from helicoid.mpc.constraints.inherent import control_limit, duration_constraint, hold_constraints
from helicoid.mpc.constraints.limits import limit_constraints
from helicoid.mpc.constraints.self_collision import self_collision_constraint
from helicoid.robot.collision import Capsule, Sphere

__all__ = [
    "Capsule",
    "Constraint",
    "Sphere",
    "constraint_on",
    "control_limit",
    "distance_constraint",
    "duration_constraint",
    "final_constraints",
    "foot_constraints",
    "frame_box_constraint",
    "friction_cones",
    "half_space_constraint",
    "hold_constraints",
    "limit_constraints",
    "self_collision_constraint",
]
