"""Constraints on the position of frames."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid.errors import InputError
from helicoid.mpc.constraints.constraint import Constraint, Soft, constraint_on
from helicoid.mpc.system.parameter import vector
from helicoid.mpc.system.symbols import Symbols


def frame_box_constraint(
    symbols: Symbols,
    frame: str,
    lower: ArrayLike = -np.inf,
    upper: ArrayLike = np.inf,
    soft: Soft = None,
    name: str = "frame_box",
    on_path: bool = True,
    at_end: bool = True,
) -> Constraint:
    """lower ≤ p(q) ≤ upper: the origin of a frame in a box of the world (m)."""
    p = symbols.robot.pose(frame)(symbols["q"])[:3, 3]
    labels = [f"{axis} of {frame}" for axis in "xyz"]
    return constraint_on(symbols, name, p, lower, upper, soft, on_path, at_end, 5.0, labels)


def half_space_constraint(
    symbols: Symbols,
    frame: str,
    normal: ArrayLike,
    offset: float,
    soft: Soft = None,
    name: str = "half_space",
) -> Constraint:
    """n · p(q) ≥ offset (m): the origin of a frame on one side of a plane; n is normalised."""
    n = vector(normal, 3, f"constraint {name!r}: normal")
    if not np.any(n):
        raise InputError(f"constraint {name!r}: the normal of a plane must not be zero")
    n = n / np.linalg.norm(n)
    p = symbols.robot.pose(frame)(symbols["q"])[:3, 3]
    return constraint_on(symbols, name, ca.dot(p, n), offset, soft=soft, scale=5.0, labels=[frame])
