"""The numerical inverse kinematics of textbooks: q ← q ⊕ dv, by one of three steps, until the error is small.

    pseudo_inverse   dv = k J⁺ e                   near the target 1 - k of e is left, for k = 1 about e²
    damped           dv = k Jᵀ (J Jᵀ + λ² 1)⁻¹ e   |dv| ≤ k |e| / (2 λ), also where J is singular
    transpose        dv = α Jᵀ e                   e falls at every step if α is small enough

Here e is what is missing and J its Jacobian, both times the root of the rows' weights. Turns go the shortest
way, by the rotation vector of R* Rᵀ; by the difference of Euler angles instead, the way depends on the choice
of angles. Each step ends at the joint limits. This is for study and where there is no compiler: one start, in
Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.control.ik.problem import SECONDARY, IKProblem
from helicoid.control.tasks import OrientationTask, PoseTask
from helicoid.control.tasks.task import square
from helicoid.dynamics.kinematics import frames
from helicoid.dynamics.tree import rate_matrix
from helicoid.errors import InputError
from helicoid.geometry import euler

Method = Literal["pseudo_inverse", "damped", "transpose"]
METHODS = get_args(Method)
SHORTEST = "shortest_path"


class Textbook:
    """Steps of one method for a problem.

    Args:
        step: k, or α of the transposed Jacobian; by default 1, and |Jᵀe|² / |J Jᵀe|², the best on that line.
        damping_factor: λ of the damped inverse.
        rotation: "shortest_path", or the differences of Euler angles in an order such as "zyx".
    """

    def __init__(
        self,
        problem: IKProblem,
        method: str,
        step: float | None = None,
        damping_factor: float = 0.1,
        rotation: str = SHORTEST,
    ) -> None:
        if method not in METHODS:
            raise InputError(
                f"method must be levenberg_marquardt or one of {', '.join(METHODS)}; got {method!r}"
            )
        for name, value in (("step", 1.0 if step is None else step), ("damping_factor", damping_factor)):
            if not isinstance(value, (int, float, np.number)) or not 0 < float(value) < np.inf:
                raise InputError(f"{name} must be a number above zero; got {value!r}")
        self.problem, self.method, self.scale, self.damping_factor = (
            problem,
            method,
            step,
            float(damping_factor),
        )
        e, J = problem.rows if rotation == SHORTEST else _by_euler_angles(problem, rotation)
        inputs = [problem.q, problem.target]
        self._rows = ca.Function("rows", inputs, [ca.densify(e), ca.densify(J[:, problem.moving])])
        step_symbol = ca.SX.sym("dv", len(problem.moving))
        self._retract = ca.Function("moved", [problem.q, step_symbol], [problem.moved(step_symbol)])
        counted = np.array(problem.levels) != SECONDARY
        self._roots = np.sqrt(problem.weights) * counted

    def rows(self, q: Array, target: Array) -> tuple[Array, Array]:
        """e and J at q, times the roots of the weights."""
        e, J = (np.array(x) for x in self._rows(q, target))
        return self._roots * e.ravel(), self._roots[:, None] * J

    def step(self, q: Array, target: Array) -> Array:
        """dv, of the velocities that move."""
        e, J = self.rows(q, target)
        if self.method == "transpose":
            g = J.T @ e
            if self.scale is not None:
                return np.asarray(self.scale * g)
            return np.asarray(g * (g @ g) / max(float(np.sum((J @ g) ** 2)), 1e-300))
        k = 1.0 if self.scale is None else self.scale
        if self.method == "damped":
            return np.asarray(k * J.T @ np.linalg.solve(J @ J.T + self.damping_factor**2 * np.eye(len(e)), e))
        return np.asarray(k * np.linalg.pinv(J) @ e)

    def walk(self, target: Array, q: Array, most: int) -> Iterator[Array]:
        """q, and where up to `most` steps lead, each within the limits."""
        yield q
        for _ in range(most):
            dv = self.step(q, target)
            q = np.clip(np.array(self._retract(q, dv)).ravel(), *self.problem.bounds)
            if not np.all(
                np.isfinite(q)
            ):  # a step beyond all bounds, or Euler angles where they have no rate
                return
            yield q


def _by_euler_angles(problem: IKProblem, order: str) -> tuple[Expression, Expression]:
    """The rows with rotations by differences of Euler angles, each within half a turn, and their slopes."""
    if order not in euler.ORDERS:
        raise InputError(
            f"rotation must be {SHORTEST} or an order of Euler angles, such as zyx; got {order!r}"
        )
    e, _ = problem.rows
    e, at, start = ca.SX(e), 0, 0
    for task, size in zip(problem.tasks, problem.sizes, strict=True):
        if isinstance(task, (PoseTask, OrientationTask)):
            wanted = square(problem.target[start : start + size], 4 if size == 16 else 3)[:3, :3]
            R, _ = frames.frame_pose(problem.robot.model, problem.q, task.frame)
            difference = ca.SX(euler.to_euler(wanted, order)) - ca.SX(euler.to_euler(R, order))
            e[at : at + 3] = ca.atan2(ca.sin(difference), ca.cos(difference))
        at, start = at + task.rows(problem.robot), start + size
    J = -ca.jacobian(e, problem.q) @ rate_matrix(problem.robot.model, problem.q)
    return e, J
