"""Feet: balls that roll on the ground, or points, and the Jacobians of their contact points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from helicoid._typing import Expression

if TYPE_CHECKING:
    from helicoid.mpc.phases import ContactSchedule
    from helicoid.robot import Robot


def foot(robot: Robot, frame: str, radius: float, q: Expression) -> tuple[Expression, Expression]:
    """Contact point of a foot on level ground: p (3), lowest point of a ball around a frame, and J.

        p = o - r e_z,   ṗ_material = ȯ + ω × (-r e_z) = J v

    J (3 × nv) is that of the material point in contact: it is at rest while the ball rolls, and the force of
    the ground acts on it.
    """
    origin = robot.pose(frame)(q)[:3, 3]
    J = robot.jacobian(frame, "world_aligned")(q)
    down = ca.vertcat(0.0, 0.0, radius)
    return origin - down, J[3:, :] + ca.skew(down) @ J[:3, :] if radius else J[3:, :]


def feet(robot: Robot, schedule: ContactSchedule | None, q: Expression) -> list[tuple[str, Expression]]:
    """The feet of a schedule by name, each with its J."""
    if schedule is None:
        return []
    return [(name, foot(robot, name, schedule.radius, q)[1]) for name in schedule.contacts]
