"""Lengths of tendons and their rates: L(q), and J with L̇ = J v.

A spatial tendon depends on the poses of the bodies that it touches. With δ = (ω, v) a small motion of one of
them in its own axes, ∂L/∂δ is found with all others at rest, and J = Σ ∂L/∂δ J_body: the kinematics of the
tree are not differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.kinematics.frames import frame_pose, jacobian
from helicoid.dynamics.kinematics.wrapping import Point, wrapped_length
from helicoid.dynamics.tree import joint_coordinates
from helicoid.model.connections.tendons import Branch, Tendon, Via, Wrap
from helicoid.model.model import WORLD, Model


class TendonState(NamedTuple):
    """L, its Jacobian J (1 × nv), and ∂L/∂δ (6) for each body that a spatial tendon touches."""

    length: Expression
    jacobian: Expression
    gradients: dict[int, Expression]


def tendon_state(model: Model, q: Expression, tendon: Tendon) -> TendonState:
    """Length and Jacobian of one tendon."""
    length, J = ca.SX(tendon.offset), ca.SX(1, model.nv)
    bodies = {body.joint.name: body for body in model.bodies}
    for name, c in tendon.terms.items():
        body = bodies[name]
        length += c * joint_coordinates(body, q)
        J[0, body.v] += c * body.multiplier
    gradients: dict[int, Expression] = {}
    if tendon.branches:
        path, gradients = _along_path(model, q, tendon)
        length += path
        for number, gradient in gradients.items():
            J += gradient.T @ jacobian(model, q, model.bodies[number].name, "body")
    return TendonState(length, J, gradients)


def tendon_lengths(model: Model, q: Expression) -> Expression:
    """L of each tendon (m)."""
    return ca.vertcat(ca.SX(0, 1), *(tendon_state(model, q, one).length for one in model.tendons))


def tendon_jacobian(model: Model, q: Expression) -> Expression:
    """J, tendons × nv, with L̇ = J v."""
    return ca.vertcat(ca.SX(0, model.nv), *(tendon_state(model, q, one).jacobian for one in model.tendons))


def _along_path(model: Model, q: Expression, tendon: Tendon) -> tuple[Expression, dict[int, Expression]]:
    numbers = sorted({model.frame(link).body for link in tendon.links} - {WORLD})
    moves = {body: ca.SX.sym(f"motion_{body}", 6) for body in numbers}
    poses = {body: frame_pose(model, q, model.bodies[body].name) for body in numbers}

    def point(link: str, x: Expression) -> Expression:
        """A point of a link in world axes, after the small motions."""
        body, placement = model.frame(link)
        r = ca.SX(placement.rotation) @ x + ca.SX(placement.translation)
        if body == WORLD:
            return r
        (R, p), δ = poses[body], moves[body]
        return p + R @ (r + ca.cross(δ[:3], r) + δ[3:])

    def via(one: Via) -> Point:
        return point(one.link, ca.SX(one.point))

    total = ca.SX(0)
    for branch in tendon.branches:
        total += _branch_length(branch, point, via) / branch.divisor
    δ = ca.vertcat(ca.SX(0, 1), *moves.values())
    zero = ca.SX.zeros(*δ.shape)
    gradient = ca.substitute(ca.densify(ca.gradient(total, δ)), δ, zero) if numbers else ca.SX(0, 1)
    parts = {body: gradient[6 * k : 6 * k + 6] for k, body in enumerate(numbers)}
    return ca.substitute(total, δ, zero) if numbers else total, parts


def _branch_length(
    branch: Branch, point: Callable[[str, Expression], Point], via: Callable[[Via], Point]
) -> Expression:
    """Straight lines between points; around a shape between the two points beside it."""
    length, path = ca.SX(0), list(branch.path)
    for k in range(len(path) - 1):
        a, b = path[k], path[k + 1]
        if isinstance(a, Wrap):
            continue
        if isinstance(b, Wrap):
            beyond = path[k + 2]
            assert isinstance(beyond, Via)
            length += wrapped_length(b, via(a), via(beyond), point)
        else:
            length += ca.norm_2(via(b) - via(a))
    return length
