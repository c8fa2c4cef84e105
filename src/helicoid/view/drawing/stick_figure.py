"""Stick figure of a robot from its kinematics: capsules between joints, a symbol per joint type."""

from __future__ import annotations

from collections.abc import Iterator

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.model.model import WORLD, Body
from helicoid.robot import Robot
from helicoid.view.drawing import triangles
from helicoid.view.drawing.meshes import Color
from helicoid.view.drawing.triangles import Triangles

LINK_COLOR: Color = (0.80, 0.82, 0.85, 1.0)
JOINT_COLOR: Color = (0.16, 0.42, 0.72, 1.0)

Stick = tuple[int, Triangles, Color]


def sticks(robot: Robot) -> list[Stick]:
    """Stick figure as (body, triangles, color): rods from each joint to its child joints and fixed links.

    A revolute joint is a short cylinder along its axis, a prismatic joint a bar, any other a sphere.
    """
    ends_by_body = {body: _ends(robot, body) for body in (WORLD, *range(robot.n_bodies))}
    lengths = [float(np.linalg.norm(end)) for ends in ends_by_body.values() for end in ends]
    radius = 0.1 * float(np.mean([x for x in lengths if x > 1e-9] or [1.0]))
    found = []
    for body, ends in ends_by_body.items():
        for end in ends:
            if np.linalg.norm(end) > radius:
                found.append((body, triangles.rod(np.zeros(3), end, 0.6 * radius), LINK_COLOR))
    for i, body_data in enumerate(robot.model.bodies):
        found.extend((i, shape, JOINT_COLOR) for shape in _joint(body_data, radius))
    return found


def _ends(robot: Robot, body: int) -> list[Array]:
    """Origins, in the frame of a body, of its child joints and fixed links.

    A leaf body without them extends to twice its centre of mass.
    """
    model = robot.model
    children = [other.placement.translation for other in model.bodies if other.parent == body]
    fixed = [frame.placement.translation for frame in model.frames.values() if frame.body == body]
    ends = children + fixed
    if body != WORLD and not any(np.linalg.norm(end) > 1e-6 for end in ends):
        ends = [2 * model.bodies[body].inertia.com]
    return ends


def _joint(body: Body, radius: float) -> Iterator[Triangles]:
    kind = body.joint.type
    S = np.array(ca.evalf(ca.densify(kind.subspace(ca.SX(kind.neutral())))))
    if S.shape[1] > 1:
        yield triangles.sphere(1.3 * radius)
    elif np.any(S[:3]):
        axis = S[:3, 0] / np.linalg.norm(S[:3, 0])
        yield triangles.rod(-1.5 * radius * axis, 1.5 * radius * axis, radius, "cylinder")
    else:
        yield triangles.rod(-3 * radius * S[3:, 0], 3 * radius * S[3:, 0], 0.9 * radius, "cylinder")
