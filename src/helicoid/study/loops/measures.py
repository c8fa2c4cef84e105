"""Performance measures of closed loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.robot import Robot
from helicoid.simulation.equations.actuated import force_function
from helicoid.simulation.running import MAX_VELOCITY
from helicoid.simulation.trajectory import MotionEquations, Trajectory
from helicoid.study.loops.loop_settings import LoopSettings


@dataclass(frozen=True, eq=False)
class Loops:
    """Closed loops side by side: t (N + 1), q, v, tau (B, N + 1, n), and the share of steps not ok (B).

    `reference` has the references of the controller, (N + 1, ...) each; `tau` are the controls of a vehicle,
    and `states` its actuator states. The last command repeats.
    """

    settings: LoopSettings
    t: Array
    q: Array
    v: Array
    tau: Array
    theta: Array
    trouble: Array
    reference: Mapping[str, Array]
    states: Array | None = None

    @property
    def robot(self) -> Robot:
        """The robot that moves."""
        return self.settings.robot

    @cached_property
    def diverged(self) -> NDArray[np.bool_]:
        """Whether each of them diverged, (B)."""
        fast = np.abs(self.v).reshape(len(self.v), -1).max(axis=1)
        return ~(fast < MAX_VELOCITY)

    def trajectory(self, k: int) -> Trajectory:
        """One of them as a trajectory."""
        s, tau, known = self.settings, self.tau[k], {}
        if s.system is not None:
            parts = [self.q[k], self.v[k], *([] if self.states is None else [self.states[k]])]
            known = {"controls": tau, "states": np.zeros((len(tau), 0)) if len(parts) < 3 else parts[2]}
            tau = np.asarray(force_function(s.system)(*parts, tau))
        inputs = {"tau": tau, "theta": self.theta[k][None]}
        motion = MotionEquations(s.robot, inputs, s.method, {"friction": s.friction})
        return Trajectory(self.t, self.q[k], self.v[k], tau, s.robot, motion=motion, known=known)


Measure = Callable[[Loops], Mapping[str, Any]]


def usual_measures(loops: Loops) -> dict[str, Array]:
    """`rms`, `peak` and `final` error of all joints (rad, m), where there is a q_ref; `effort`, the largest
    share of a torque limit; `trouble`, the share of steps whose controller was not ok; `diverged`, 1 or 0.

    Errors of loops that diverged are NaN. Sums do not depend on which loops run side by side.
    """
    n, robot = len(loops.q), loops.robot
    results: dict[str, Array] = {}
    wrong = loops.diverged
    if "q_ref" in loops.reference:
        error = np.abs(_differences(robot, loops.q, loops.reference["q_ref"]))
        flat = np.ascontiguousarray(error[:, 1:]).reshape(n, -1)
        with np.errstate(over="ignore", invalid="ignore"):
            results["rms"] = np.where(wrong, np.nan, np.sqrt(np.mean(flat * flat, axis=1)))
        results["peak"] = np.where(wrong, np.nan, flat.max(axis=1))
        results["final"] = np.where(wrong, np.nan, error[:, -1].max(axis=1))
    limit = robot.limits.effort
    known = np.isfinite(limit) & (limit > 0)
    if known.any() and loops.settings.system is None:
        peak = np.abs(loops.tau).max(axis=1)[:, known]
        results["effort"] = (peak / limit[known]).max(axis=1)
    return results | {"trouble": loops.trouble, "diverged": wrong.astype(np.float64)}


def _differences(robot: Robot, q: Array, q_ref: Array) -> Array:
    if robot.nq == robot.nv:
        return np.asarray(q_ref - q)
    wanted = np.broadcast_to(q_ref, q.shape).reshape(-1, robot.nq)
    return np.asarray(robot.difference(q.reshape(-1, robot.nq), wanted)).reshape(*q.shape[:2], robot.nv)
