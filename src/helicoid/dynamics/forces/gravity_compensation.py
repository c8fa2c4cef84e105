"""Compensated weight of links: a force -m g at a point, of a mechanism or an ideal controller."""

from __future__ import annotations

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.kinematics.frames import frame_pose
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.tree import rate_matrix
from helicoid.model.model import WORLD, Model


def compensation_energy(model: Model, physics: Physics, q: Expression) -> Expression:
    """U = Σ m gᵀ p (J): the negative of what the compensated masses have in gravity."""
    energy = ca.SX.zeros(1)
    for body, (mass, first_moment) in _carried(model).items():
        R, p = frame_pose(model, q, model.bodies[body].name)
        energy += ca.dot(physics.gravity, mass * p + R @ first_moment)
    return energy


def compensation_torque(model: Model, physics: Physics, q: Expression) -> Expression:
    """∂U/∂q along the velocities, nv: what balances the compensation (N·m or N)."""
    if not _carried(model):
        return ca.SX.zeros(model.nv)
    return rate_matrix(model, q).T @ ca.gradient(compensation_energy(model, physics, q), q)


def compensation_wrenches(model: Model, physics: Physics, q: Expression) -> dict[int, Expression]:
    """Per body, the wrench (n, f) of its compensation, about its origin in its axes."""
    acting = {}
    for body, (mass, first_moment) in _carried(model).items():
        upwards = -(frame_pose(model, q, model.bodies[body].name)[0].T @ physics.gravity)
        acting[body] = ca.vertcat(ca.cross(first_moment, upwards), mass * upwards)
    return acting


def _carried(model: Model) -> dict[int, tuple[float, Expression]]:
    """Compensated mass (kg) and first moment (kg·m, in the body's frame) of each body that has any."""
    found: dict[int, tuple[float, Expression]] = {}
    for link in model.links:
        compensation, frame = link.gravity_compensation, model.frame(link.name)
        if compensation is None or frame.body == WORLD or compensation.mass == 0:
            continue
        point = frame.placement.translation + frame.placement.rotation @ compensation.point
        mass, first_moment = found.get(frame.body, (0.0, ca.SX.zeros(3)))
        found[frame.body] = mass + compensation.mass, first_moment + compensation.mass * ca.SX(point)
    return found
