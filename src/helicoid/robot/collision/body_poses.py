"""Poses of all bodies of a robot as one function of q."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from helicoid._typing import Expression
from helicoid.compiler import Function
from helicoid.dynamics.tree import joint_motions, world_poses
from helicoid.model.model import Model
from helicoid.robot.function import FunctionSpec

if TYPE_CHECKING:
    from helicoid.robot.robot import Robot


def body_matrices(robot: Robot) -> Function:
    """`(q) -> T`, (3 n_bodies, 4): the rows [R_0i p_0i] of every moving body, one body below the other."""
    signature = f"q -> T[{3 * robot.n_bodies},4]"
    return robot.function(FunctionSpec("body_matrices", _matrices, signature, physical=False))


def _matrices(model: Model, q: Expression) -> Expression:
    poses = world_poses(model, joint_motions(model, q))
    return ca.vertcat(*(ca.horzcat(R, p) for R, p in poses))
