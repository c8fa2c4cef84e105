"""Initial translation of a floating base to its target, before the search."""

from __future__ import annotations

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.control.ik.problem import SECONDARY, IKProblem


class BasePlacement:
    """Translation of a floating base that minimises the errors of tasks, as the start of a search."""

    def __init__(self, problem: IKProblem) -> None:
        self.problem = problem
        self.function = self._made()

    def _made(self) -> ca.Function | None:
        """(q, target) -> √w e and √w J of the base's translation; None where no base moves freely."""
        problem = self.problem
        along = [3, 4, 5]  # of the base's twist (ω, v), which comes first
        if not problem.robot.model.floating or not set(along) <= set(problem.moving):
            return None
        e, J = problem.rows
        root = np.sqrt(problem.weights * (np.array(problem.levels) != SECONDARY))
        return ca.Function("by_base", [problem.q, problem.target], [root * e, ca.densify(root * J[:, along])])

    def carried(self, targets: Array, Q: Array) -> Array | None:
        """Configurations (n, nq) with their base translated; None without a floating base.

        Position errors are linear in the base's translation, so that one step suffices.
        """
        if self.function is None:
            return None
        robot, moved = self.problem.robot, Q.copy()
        for k, (target, q) in enumerate(zip(targets, Q, strict=True)):
            e, J = (np.array(part) for part in self.function(q, target))
            dv = np.zeros(robot.nv)
            dv[3:6] = np.linalg.lstsq(J, e[:, 0], rcond=1e-9)[0]
            moved[k] = robot.integrate(q, dv)
        return np.clip(moved, *self.problem.bounds)
