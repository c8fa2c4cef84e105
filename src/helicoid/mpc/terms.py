"""The table of costs and constraints: the methods of a problem that add them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Concatenate, ParamSpec

from helicoid.interrupts import interruptible
from helicoid.mpc.constraints import collision, constraint, contact, end, frames, limits, scene
from helicoid.mpc.constraints.constraint import Constraint
from helicoid.mpc.costs import cost, effort, joints, swing
from helicoid.mpc.costs import frames as frame_costs
from helicoid.mpc.structure import Term
from helicoid.mpc.system.symbols import Symbols

P = ParamSpec("P")


def _adds(
    make: Callable[Concatenate[Symbols, P], Term | list[Constraint]],
) -> Callable[Concatenate[Terms, P], None]:
    """The method of a problem that adds the terms of `make`, with its arguments and its docstring."""

    def method(self: Terms, /, *args: P.args, **kwargs: P.kwargs) -> None:
        with interruptible():
            made = make(self.symbols, *args, **kwargs)
            self.add(*(made if isinstance(made, list) else [made]))

    signature = inspect.signature(make)
    first, *rest = signature.parameters.values()
    own = first.replace(name="self", annotation=inspect.Parameter.empty)
    method.__signature__ = signature.replace(parameters=[own, *rest], return_annotation="None")  # type: ignore[attr-defined]
    method.__doc__ = make.__doc__
    return method


class Terms:
    """Base of a problem: one method for each kind of cost and constraint, one line each."""

    @property
    def symbols(self) -> Symbols:
        """The symbols that terms are expressions of."""
        raise NotImplementedError

    def add(self, *terms: Term) -> None:
        """Add costs and constraints, all or none."""
        raise NotImplementedError

    add_cost = _adds(cost.cost_of)
    add_position_cost = _adds(frame_costs.position_cost)
    add_orientation_cost = _adds(frame_costs.orientation_cost)
    add_pose_cost = _adds(frame_costs.pose_cost)
    add_posture_cost = _adds(joints.posture_cost)
    add_velocity_cost = _adds(joints.velocity_cost)
    add_torque_cost = _adds(effort.torque_cost)
    add_control_cost = _adds(effort.control_cost)
    add_control_rate_cost = _adds(effort.control_rate_cost)
    add_swing_cost = _adds(swing.swing_cost)

    add_constraint = _adds(constraint.constraint_on)
    add_limits = _adds(limits.limit_constraints)
    add_frame_box = _adds(frames.frame_box_constraint)
    add_half_space = _adds(frames.half_space_constraint)
    add_distance = _adds(collision.distance_constraint)
    add_self_collision = _adds(collision.self_collision_constraint)
    add_scene = _adds(scene.scene_constraint)
    add_friction_cone = _adds(contact.friction_cones)
    set_end = _adds(end.end_constraints)


for _name, _method in vars(Terms).items():
    if _name.startswith(("add_", "set_")):
        _method.__name__, _method.__qualname__ = _name, f"Problem.{_name}"
