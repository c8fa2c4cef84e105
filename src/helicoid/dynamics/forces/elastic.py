"""Springs and dampers between points of links: gravity compensators, cables, tendons of constant stiffness.

With Δ(q) = p_b - p_a, d = |Δ| and n = Δ / d, an element with stiffness k, rest length d₀ and damping c stores
U = ½ k (d - d₀)² and its torque is

    τ = J_Δᵀ (k (Δ - d₀ n) + c n nᵀ Δ̇),   Δ̇ = J_Δ v,

which is linear in (k, k d₀, c).
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from helicoid._typing import Array, Expression
from helicoid.dynamics.kinematics.frames import frame_pose, jacobian
from helicoid.dynamics.physics import Physics
from helicoid.geometry import so3
from helicoid.model.connections.elastic import ElasticElement, body_of, is_world
from helicoid.model.model import WORLD, Model

_MIN_LENGTH = 1e-9  # m: below it the direction of an element is taken as zero


class _Extension(NamedTuple):
    """Δ, its Jacobian along the velocities (3 × nv), and the direction n."""

    delta: Expression
    jacobian: Expression
    direction: Expression


def elastic_energy(model: Model, physics: Physics, q: Expression) -> Expression:
    """½ Σ k (d - d₀)² (J)."""
    energy = ca.SX.zeros(1)
    for element, (k, rest, _) in zip(model.elastic, physics.elastic, strict=True):
        Δ = _delta(model, element, q)
        # Without a rest length the square alone is smooth where the points meet.
        energy += k * (ca.sumsqr(Δ) if rest.is_zero() else (_length(Δ) - rest) ** 2) / 2
    return energy


def elastic_torque(model: Model, physics: Physics, q: Expression) -> Expression:
    """Torque that balances the springs, ∂U/∂q, nv (N·m or N)."""
    tau = ca.SX.zeros(model.nv)
    for element, (k, rest, _) in zip(model.elastic, physics.elastic, strict=True):
        one = _extension(model, element, q)
        tau += one.jacobian.T @ (k * (one.delta - rest * one.direction))
    return tau


def damper_torque(model: Model, physics: Physics, q: Expression, v: Expression) -> Expression:
    """Torque that the dampers take, nv (N·m or N)."""
    tau = ca.SX.zeros(model.nv)
    for element, (_, _, c) in zip(model.elastic, physics.elastic, strict=True):
        if not c.is_zero():
            one = _extension(model, element, q)
            tau += c * (one.jacobian.T @ one.direction) * ca.dot(one.direction, one.jacobian @ v)
    return tau


def elastic_wrenches(model: Model, physics: Physics, q: Expression, v: Expression) -> dict[int, Expression]:
    """Per body, the wrench (n, f) of all elements on it, about the body's origin in body coordinates."""
    acting: dict[int, Expression] = {}
    for element, (k, rest, c) in zip(model.elastic, physics.elastic, strict=True):
        one = _extension(model, element, q)
        rate = ca.dot(one.direction, one.jacobian @ v)
        pull = k * (one.delta - rest * one.direction) + c * rate * one.direction  # on a, towards b
        ends = (element.link_a, element.point_a, pull), (element.link_b, element.point_b, -pull)
        for link, point, force in ends:
            body = body_of(model, link)
            if body != WORLD:
                placement = model.frame(link).placement
                at = ca.SX(placement.translation + placement.rotation @ point)
                f = frame_pose(model, q, model.bodies[body].name)[0].T @ force
                acting[body] = acting.get(body, ca.SX.zeros(6)) + ca.vertcat(ca.cross(at, f), f)
    return acting


def elastic_regressor(model: Model, physics: Physics, q: Expression, v: Expression) -> Expression:
    """Y with the torque of all elements = Y (k, k d₀, c of each), nv × 3 elements.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r").with_spring("tip", "world", stiffness=20.0, rest_length=0.3)
    >>> q, v = np.array([0.3, 0.8]), np.array([1.0, -2.0])
    >>> np.allclose(robot.elastic_regressor(q, v) @ [20.0, 20.0 * 0.3, 0.0], robot.elastic_torque(q))
    True
    """
    columns = [ca.SX(model.nv, 0)]
    for element in model.elastic:
        one = _extension(model, element, q)
        along = one.jacobian.T @ one.direction
        rate = ca.dot(one.direction, one.jacobian @ v)
        columns += [one.jacobian.T @ one.delta, -along, along * rate]
    return ca.horzcat(*columns)


def elastic_names(model: Model) -> tuple[str, ...]:
    """Columns of `elastic_regressor`."""
    kinds = ("stiffness", "preload", "damping")
    return tuple(f"{element.name}.{kind}" for element in model.elastic for kind in kinds)


def _extension(model: Model, element: ElasticElement, q: Expression) -> _Extension:
    (p_a, J_a), (p_b, J_b) = (_end(model, q, *end) for end in _ends(element))
    Δ = p_b - p_a
    return _Extension(Δ, J_b - J_a, Δ / _length(Δ))


def _end(model: Model, q: Expression, link: str, point: Array) -> tuple[Expression, Expression]:
    """A point in world axes, and the Jacobian of its velocity, 3 × nv: v + ω × r = (J_v - r̃ J_ω) v."""
    if is_world(model, link):
        return ca.SX(point), ca.SX(3, model.nv)
    R, p = frame_pose(model, q, link)
    r, J = R @ ca.SX(point), jacobian(model, q, link, "world_aligned")
    return p + r, J[3:, :] - so3.hat(r) @ J[:3, :]


def _ends(element: ElasticElement) -> tuple[tuple[str, Array], tuple[str, Array]]:
    return (element.link_a, element.point_a), (element.link_b, element.point_b)


def _length(Δ: Expression) -> Expression:
    return ca.sqrt(ca.fmax(ca.sumsqr(Δ), _MIN_LENGTH**2))


def _delta(model: Model, element: ElasticElement, q: Expression) -> Expression:
    """p_b - p_a, world axes."""
    a, b = (_end(model, q, *end)[0] for end in _ends(element))
    return b - a
