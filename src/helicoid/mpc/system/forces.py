"""Constraint forces on a robot by name: those of contacts in the world's axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.dynamics.constraints.equations import Closure
from helicoid.errors import InputError

if TYPE_CHECKING:
    from helicoid.dynamics.constraints.equations import KinematicConstraint
    from helicoid.robot import Robot

_PREFIX = "force of "


class Forces(dict[str, Expression]):
    """Expressions of forces by the names of contacts; an unknown name raises with a list of them."""

    def __missing__(self, name: str) -> Expression:
        there = ", ".join(self) or "none: this robot has no contacts"
        raise InputError(f"there is no contact {name!r}; there are: {there}")


def as_symbols(forces: dict[str, Expression]) -> dict[str, Expression]:
    """Forces as symbols of a system."""
    return {_PREFIX + name: force for name, force in forces.items()}


def from_symbols(symbols: dict[str, Expression]) -> Forces:
    """The forces among a system's symbols."""
    return Forces({key.removeprefix(_PREFIX): f for key, f in symbols.items() if key.startswith(_PREFIX)})


def forces_by_name(robot: Robot, multipliers: Expression) -> dict[str, Expression]:
    """Constraint forces on a robot, from λ of τ = ID(q, v, a) + Aᵀ λ.

    Of a contact that is the force of the world on the robot in the world's axes (3), of a "surface" its
    wrench (n, f) (6) about the contact point; of a closed loop and of user constraints -λ.
    """
    forces, row = {}, 0
    for one in robot.constraints:
        own = -multipliers[row : row + one.rows]
        row += one.rows
        R = axes(one)
        if R is not None:
            if one.kind == "surface":
                own = ca.vertcat(ca.SX(R) @ own[3:], ca.SX(R) @ own[:3])
            else:
                own = ca.SX(R[:, -one.rows :]) @ own
        forces[contact_name(one)] = own
    return forces


def contact_name(constraint: KinematicConstraint) -> str:
    """The name of a constraint, less the `_contact` that `with_contact` puts behind the link's name."""
    return constraint.name.replace("_contact", "") if axes(constraint) is not None else constraint.name


def axes(constraint: KinematicConstraint) -> Array | None:
    """R (3, 3) of a contact with the world, its normal the last column; None if it is something else."""
    if isinstance(constraint, Closure) and constraint.link_a is None:
        return np.asarray(constraint.placement_a.rotation, dtype=np.float64)
    return None
