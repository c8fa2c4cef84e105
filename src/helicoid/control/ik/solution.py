"""Results of inverse kinematics: configurations for targets, and along paths of targets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array


class Solution(NamedTuple):
    """A configuration for a target; of many targets, arrays with their axis first.

    Args:
        q: (nq) or (N, nq), always within the limits; where `success` is False, the nearest that was found.
        success: whether every task is met within the tolerance, and every constraint of the robot.
        error: √(Σ w e²) over the rows of tasks and constraints.
        residual: e, the error of each row (rad, m), (rows) or (N, rows).
        starts: number of initial configurations of the search.
        iterations: number of evaluations of errors and Jacobians.
        collides: with a scene, whether `q` is in collision: no solution was found that is free.
    """

    q: Array
    success: bool | NDArray[np.bool_]
    error: float | Array
    residual: Array
    starts: int | Array
    iterations: int | Array
    collides: bool | NDArray[np.bool_] = False

    @property
    def message(self) -> str:
        """Tasks and limits not satisfied, in words; empty where `success` is True for all targets."""
        if np.all(self.success):
            return ""
        if self.q.ndim == 2:
            hit = int(np.sum(self.collides))
            ending = f", {hit} of them end in collision" if hit else ""
            missed = int(np.sum(~np.asarray(self.success)))
            return f"{missed} of {len(self.q)} targets were not reached{ending}"
        if self.collides:
            return f"every configuration found is in collision; the error of this one is {self.error:.2g}"
        return (
            f"no configuration was found within the tolerance; the error of the nearest is {self.error:.2g}"
        )

    def __repr__(self) -> str:
        if self.q.ndim == 2:
            reached, worst = int(np.sum(self.success)), np.max(self.error, initial=0.0)
            return f"Solution({reached} of {len(self.q)} reached, error up to {worst:.2g})"
        state = "reached" if self.success else "in collision" if self.collides else "not reached"
        return f"Solution({state}, error {self.error:.2g}, q={np.array2string(self.q, precision=4)})"


class Path(NamedTuple):
    """Configurations along a path of targets.

    Args:
        q: (N, nq).
        success: (N), which targets are met.
        error: (N), as in `Solution`.
        jumps: numbers k of targets to which no motion leads from the one before: the limits, or a
            singularity, end every branch that was tried. Empty where the path can be followed.
    """

    q: Array
    success: NDArray[np.bool_]
    error: Array
    jumps: list[int]

    def __repr__(self) -> str:
        where = f"jumps before {self.jumps}" if self.jumps else "no jumps"
        return f"Path({int(np.sum(self.success))} of {len(self.q)} reached, {where})"
