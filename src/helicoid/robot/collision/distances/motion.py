"""Poses of bodies and screws of joints, for the gradient of distances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.compiler import Function
from helicoid.dynamics.tree import joint_motions, world_poses
from helicoid.model.model import WORLD, Model
from helicoid.robot.function import FunctionSpec

if TYPE_CHECKING:
    from helicoid.robot.robot import Robot


def joint_screws(robot: Robot) -> Function:
    """`(q) -> S`, (6, columns): twists (ω, v) about the world's origin, one per velocity of each joint."""
    signature = f"q -> S[6,{sum(body.v.stop - body.v.start for body in robot.model.bodies)}]"
    return robot.function(FunctionSpec("joint_screws", _screws, signature, physical=False))


def _screws(model: Model, q: Expression) -> Expression:
    motions = joint_motions(model, q)
    columns = []
    for (R, p), motion in zip(world_poses(model, motions), motions, strict=True):
        ω, v = R @ motion.S[:3, :], R @ motion.S[3:, :]
        for k in range(ω.shape[1]):
            columns.append(ca.vertcat(ω[:, k], v[:, k] + ca.cross(p, ω[:, k])))
    return ca.horzcat(ca.SX(6, 0), *columns)


def spread(model: Model) -> Array:
    """Map from velocities to the columns of `joint_screws`, (columns, nv): mimic joints share a velocity."""
    rows = []
    for body in model.bodies:
        for k in range(body.v.start, body.v.stop):
            row = np.zeros(model.nv)
            row[k] = body.multiplier
            rows.append(row)
    return np.array(rows).reshape(-1, model.nv)


def carried(model: Model) -> Array:
    """Mask of the columns of `joint_screws` that move each body, (bodies + 1, columns); the world is last."""
    owner = [i for i, body in enumerate(model.bodies) for _ in range(body.v.start, body.v.stop)]
    table = np.zeros((len(model.bodies) + 1, len(owner)))
    for body in range(len(model.bodies)):
        above = body
        while above != WORLD:
            table[body, [k for k, one in enumerate(owner) if one == above]] = 1.0
            above = model.bodies[above].parent
    return table
