"""What a controller does when a step fails: the plan it had, then braking."""

from __future__ import annotations

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.mpc.solver.compiled import Compiled
from helicoid.mpc.solver.memory import Memory
from helicoid.mpc.solver.stage import Row, Stages


class Fallback:
    """The last good plan, the limits of what may be applied, and how to stop."""

    def __init__(self, compiled: Compiled, memory: Memory, period: float) -> None:
        structure = compiled.structure
        self._compiled, self._structure, self._memory, self._period = compiled, structure, memory, period
        self._node = 0
        robot = structure.robot
        self._x: Array | None = None
        self._u: Array = np.zeros((0, structure.system.nu))
        n = structure.system.nu if robot is None else robot.nv
        self._limit = np.full(n, np.inf) if robot is None else robot.limits.effort.copy()
        limits = [
            (k, row, column)
            for k, row in enumerate(memory.stages.path_rows)
            if row.constraint.name == "torque_limit"
            and (column := _torque_of(memory.stages, row)) is not None
        ]
        self._rows = [k for k, _, _ in limits]
        self._scale = np.array([row.constraint.scale[row.element] for _, row, _ in limits])
        self._columns = [column for _, _, column in limits]
        if robot is not None:
            self._limit[list(robot.unactuated)] = 0.0

    def remember(self, x: Array, u: Array) -> None:
        """Keep a plan that is good."""
        if self._x is None:
            self._x, self._u = x.copy(), u.copy()
        else:
            self._x[...], self._u[...] = x, u

    def planned(self, failures: int) -> Array | None:
        """The control that the last good plan has for now, or None in the second half of its horizon."""
        if self._x is None:
            return None
        times, now = self._structure.times, failures * self._period / self._structure.duration_of(self._x)
        if now > 0.5 * times[-1]:
            return None
        self._node = int(np.searchsorted(times, now * (1 + 1e-9), side="right")) - 1
        return np.asarray(self._u[self._node])

    def state(self, measured: Array) -> Array:
        """The measured state, or the planned one where that is not finite."""
        if np.isfinite(measured).all() or self._x is None:
            return measured
        return np.asarray(self._x[self._node])

    def clipped(self, tau: Array) -> Array:
        """Within the problem's constraint `torque_limit`, and last of all within the robot's own limits."""
        result = tau.copy()
        if self._rows:
            low = self._memory.lower[0, self._rows] / self._scale
            high = self._memory.upper[0, self._rows] / self._scale
            result[self._columns] = np.minimum(np.maximum(result[self._columns], low), high)
        return np.minimum(np.maximum(result, -self._limit), self._limit)

    def brake(self, x: Array, theta: Array) -> Array:
        """Gravity compensation and damping; nothing for an ODE, nor where a state gives no number."""
        tau = self._compiled.braking(x, theta)
        return self.clipped(np.where(np.isfinite(tau), tau, 0.0))


def _torque_of(stages: Stages, row: Row) -> int | None:
    """Which torque of a robot a row bounds, by itself; None if it is something else."""
    tau = stages.system.symbols.get("tau", ca.SX(0, 1))
    expression = row.constraint.expression[row.element]
    return next((k for k in range(tau.numel()) if ca.is_equal(expression, tau[k])), None)
