"""A frame in a box."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from helicoid.mpc.constraints.constraint import Constraint, Soft, constraint_on
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
