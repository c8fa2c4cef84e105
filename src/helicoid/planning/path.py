"""The result of planning: a path of straight edges through configuration space."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from helicoid._typing import Array


@dataclass(frozen=True, eq=False)
class PlannedPath:
    """A path from start to goal, or why there is none.

    Attributes:
        success: whether a path was found.
        message: what was found or what is in the way, in words.
        q: waypoints (n, nq), straight edges between them; without success (0, nq).
        length: of the path (rad or m, Euclidean).
        samples: configurations drawn; nodes: of both trees; seconds: time taken.
    """

    success: bool
    message: str
    q: Array
    length: float
    samples: int = 0
    nodes: int = 0
    seconds: float = 0.0
    planner: Any = field(default=None, repr=False)

    def __repr__(self) -> str:
        if not self.success:
            return f"PlannedPath(no path: {self.message})"
        return f"PlannedPath({len(self.q)} waypoints, length {self.length:.3f})"
