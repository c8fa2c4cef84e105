"""Wrenches that act on links from outside."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.kinematics.frames import frame_pose
from helicoid.dynamics.tree import JointMotion, to_parent
from helicoid.errors import ModelError
from helicoid.model.model import WORLD, Model


def check_movable(model: Model, link: str) -> None:
    """Refuse a link that no wrench can move."""
    if model.frame(link).body == WORLD:
        raise ModelError(f"link {link!r} does not move: a wrench on it would change nothing")


def body_wrenches(
    model: Model, q: Expression, wrenches: Mapping[str, Expression], expressed_in: str
) -> dict[int, Expression]:
    """Per body, the sum of the wrenches (n, f) on its links, about the body's origin in body coordinates.

    A wrench acts at its link's origin, with components along the link's own axes ("body") or along the
    world's ("world"); or its moment is about the world's origin, along the world's axes ("world_origin").
    """
    acting: dict[int, Expression] = {}
    for link, wrench in wrenches.items():
        body, placement = model.frame(link)
        check_movable(model, link)
        R, p = ca.SX(placement.rotation), ca.SX(placement.translation)
        if expressed_in != "body":
            R_f, p_f = frame_pose(model, q, link)
            if expressed_in == "world_origin":
                wrench = ca.vertcat(wrench[:3] - ca.cross(p_f, wrench[3:]), wrench[3:])
            wrench = ca.diagcat(R_f.T, R_f.T) @ wrench
        moved = to_parent(JointMotion(R, p, ca.SX.zeros(6, 0)), wrench)
        acting[body] = acting.get(body, ca.SX.zeros(6)) + moved
    return acting
