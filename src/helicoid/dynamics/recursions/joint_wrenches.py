"""Wrenches that joints transmit, and their regressors.

The wrench F_i = (n, f) that the parent exerts on body i through its joint is the spatial force of the
recursive Newton-Euler algorithm (Featherstone 2008, section 5.3), before its projection τ_i = S_iᵀ F_i. A
six-axis force/torque sensor in the joint measures it. Armature, friction and springs of the joint act along
its axis between rotor, stator and link: they belong to the joint torque and not to this wrench.
"""

from __future__ import annotations

from typing import Literal

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.forces.passive import passive_wrenches
from helicoid.dynamics.forces.tendon_inertia import tendon_inertia_wrenches
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.recursions.composites.composite import elements
from helicoid.dynamics.recursions.regressor import body_wrench
from helicoid.dynamics.recursions.rnea import Wrenches, body_forces, transmitted
from helicoid.dynamics.tree import JointMotion, joint_motions, to_parent
from helicoid.model.inertia import Inertia, total
from helicoid.model.model import WORLD, Model
from helicoid.model.parts import Placement

Carried = Literal["body", "link"]


def joint_wrenches(
    model: Model,
    physics: Physics,
    q: Expression,
    v: Expression,
    a: Expression,
    wrenches: Wrenches | None = None,
) -> Expression:
    """(n, f) of each body's joint, n_bodies × 6, about the body's origin in its axes (N·m, N).

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> F = robot.joint_wrenches([0.3, 0.8], [0.0, 0.0], [0.0, 0.0])
    >>> weight = robot.mass * 9.81  # the first joint carries the whole robot
    >>> np.allclose(np.linalg.norm(F[0, 3:]), weight)
    True
    """
    motions = joint_motions(model, q)
    acting = dict(wrenches or {})
    for found in (passive_wrenches(model, physics, q, v), tendon_inertia_wrenches(model, q, v, a)):
        for body, wrench in found.items():
            acting[body] = acting[body] + wrench if body in acting else wrench
    forces = body_forces(model, physics, motions, q, v, a, acting, inertias=physics.inertias)
    return ca.horzcat(ca.SX(6, 0), *transmitted(model, motions, forces)).T


def wrench_regressor(
    model: Model, physics: Physics, q: Expression, v: Expression, a: Expression, frame: str
) -> Expression:
    """Y with Y π the wrench (n, f) that carries the frame's body, 6 × 10 n_bodies, about the frame's origin.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("double_pendulum")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> Y = robot.wrench_regressor(robot.model.bodies[-1].name)(q, v, a)
    >>> np.allclose(Y @ robot.parameters.values, robot.joint_wrenches(q, v, a)[-1])
    True
    """
    body, placement = model.frame(frame)
    tree = elements(model, q)
    wrench = body_wrench(tree, physics, v, a)
    Y = ca.SX(6, 10 * len(model.bodies))
    for i, element in enumerate(tree):
        if element.body < 0:
            continue
        W, j = wrench(i), i
        while j != WORLD and tree[j].body != body:
            W, j = to_parent(tree[j].motion, W), tree[j].parent
        if j != WORLD:
            Y[:, 10 * element.body : 10 * element.body + 10] = W
    return to_parent(_inverse(placement), Y)


def sensor_wrench(
    model: Model, physics: Physics, q: Expression, v: Expression, a: Expression, frame: str, carried: Carried
) -> Expression:
    """(n, f), 6: the wrench that a six-axis sensor between a link and what carries it measures (N·m, N).

    `carried` says what it carries: the whole "body" of the frame with all beyond, as a sensor in the body's
    joint; or the "link" of the frame with the links fixed to it and all beyond, as a sensor between a flange
    and its tool.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("double_pendulum")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> body = robot.model.bodies[-1].name
    >>> np.allclose(robot.sensor_wrench(body)(q, v, a), robot.joint_wrenches(q, v, a)[-1])
    True
    """
    own = model.frame(frame)
    if carried == "body":
        F = joint_wrenches(model, physics, q, v, a)[own.body, :].T
        return to_parent(_inverse(own.placement), F)
    Y, links = wrench_regressor(model, physics, q, v, a, frame), _fixed_beyond(model, frame)
    parts = []
    for i, body in enumerate(model.bodies):
        parameters = physics.inertias[i][:10]
        if i == own.body:
            parameters = ca.SX(total([_placed_inertia(model, link) for link in links]).parameters)
        elif not _carried_by(model, body.joint.parent, links):
            parameters = ca.SX.zeros(10)
        parts.append(parameters)
    return Y @ ca.vertcat(*parts)


def _inverse(placement: Placement) -> JointMotion:
    """The body seen from a frame on it."""
    R, p = placement.inverse.rotation, placement.inverse.translation
    return JointMotion(ca.SX(R), ca.SX(p), ca.SX(6, 0))


def _fixed_beyond(model: Model, frame: str) -> tuple[str, ...]:
    """The frame's link and the links that fixed joints attach to it."""
    found = [frame]
    for joint in model.joints:  # depth first: a parent comes before its children
        if joint.parent in found and joint.type.nv == 0:
            found.append(joint.child)
    return tuple(found)


def _placed_inertia(model: Model, link: str) -> Inertia:
    """A link's inertia about the origin of its body."""
    inertia, at = model.link(link).inertia, model.frame(link).placement
    return Inertia.zero() if inertia is None else inertia.transformed(at.rotation, at.translation)


def _carried_by(model: Model, link: str, links: tuple[str, ...]) -> bool:
    """Whether a link is one of these, or is carried by one."""
    parents = {joint.child: joint.parent for joint in model.joints}
    while link not in links and link in parents:
        link = parents[link]
    return link in links
