"""Frames of bodies' inertia, geoms and sites, seen from their bodies.

MuJoCo takes a frame for that of its body, or of its body's inertia, where it is nearly the same.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from helicoid._typing import Array
from helicoid.geometry import quaternion
from helicoid.model.parts import Placement

_NONE, _BODY, _INERTIA, _BODY_ROTATION, _INERTIA_ROTATION = range(5)  # mjtSameFrame


def inertial_placement(model: Any, body: int) -> Placement:
    """Centre of mass and principal axes of a body."""
    p, R = model.body_ipos[body], rotation(model.body_iquat[body])
    return _in_same_frame(Placement(R, p), int(model.body_sameframe[body]), Placement())


def placement_of(model: Any, kind: Literal["geom", "site"], number: int) -> Placement:
    """A geom or site in its body."""
    stated = Placement(
        rotation(getattr(model, f"{kind}_quat")[number]), getattr(model, f"{kind}_pos")[number]
    )
    body = int(getattr(model, f"{kind}_bodyid")[number])
    same = int(getattr(model, f"{kind}_sameframe")[number])
    return _in_same_frame(stated, same, inertial_placement(model, body))


def _in_same_frame(stated: Placement, same: int, inertial: Placement) -> Placement:
    if same == _BODY:
        return Placement()
    if same == _INERTIA:
        return inertial
    if same in (_BODY_ROTATION, _INERTIA_ROTATION):
        R = np.eye(3) if same == _BODY_ROTATION else inertial.rotation
        return Placement(R, stated.translation)
    return stated


def rotation(q: Array) -> Array:
    """R of a quaternion of any length."""
    return np.asarray(quaternion.to_matrix(unit(q)), np.float64)


def unit(q: Array) -> Array:
    """A quaternion of length 1."""
    return np.asarray(q, np.float64) / np.linalg.norm(q)
