"""Scenario of the adaptive MPC demonstration: robot, task, payload, sensor noise and controllers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.identification.online.identifier import OnlineIdentifier
from helicoid.mpc.loop.comparison import Comparison, compare
from helicoid.mpc.problem import Problem
from helicoid.robot import Robot, load
from helicoid.simulation.plant import Plant, jump, payload

TOOL = "panda_link8"
HOME = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)  # rad
PERIOD = 1e-3  # s: control at 1 kHz
GRID = np.concatenate(
    [[0.0], PERIOD + 0.02 * np.arange(20)]
)  # s: a horizon of 0.38 s whose first interval is one period

WAYPOINTS = np.array(  # s, and m in the world
    [
        [0.0, 0.307, 0.00, 0.590],
        [1.3, 0.500, -0.32, 0.200],  # pick-up position
        [2.0, 0.500, -0.32, 0.200],
        [3.4, 0.450, 0.32, 0.480],
        [4.8, 0.620, 0.00, 0.330],
        [6.2, 0.380, -0.36, 0.620],
        [8.0, 0.500, 0.34, 0.260],
    ]
)
DURATION = float(WAYPOINTS[-1, 0])
PICKED_UP = 1.6  # s

MASS, RADIUS = 2.5, 0.0424  # kg, m: a steel ball
CENTER = (0.0, 0.0, 0.05)  # m, in the frame of the tool
NOISE = {"q": 5e-5, "v": 1e-3, "tau": 0.2}  # rad, rad/s, N·m: standard deviations of the sensors


@dataclass(frozen=True)
class Scenario:
    """The task, with the noise of a seed."""

    seed: int = 0
    duration: float = DURATION

    @cached_property
    def robot(self) -> Robot:
        """Panda without joint friction, which its torque control compensates."""
        return load("panda").with_joints(friction=0, damping=0)

    @cached_property
    def parametric(self) -> Robot:
        """The same robot with its payload as a parameter."""
        return self.robot.parametric("payload", payload_link=TOOL)

    @cached_property
    def problem(self) -> Problem:
        """Optimal control problem: follow the path with the tool pointing down, within all limits."""
        problem = Problem(self.parametric, grid=GRID)
        rotation, translation = [40.0] * 3, [2000.0] * 3
        problem.add_pose_cost(
            TOOL, self._pose, [*rotation, *translation], [2.0] * 3 + [100.0] * 3, name="tool"
        )
        problem.add_posture_cost(HOME, 0.1)
        problem.add_velocity_cost(0.01, end_weight=0.01)
        problem.add_control_cost(4e-3)
        problem.add_limits()
        return problem

    @cached_property
    def plant(self) -> Plant:
        """Simulated robot, with the payload from the pick-up on."""
        true = jump({0.0: np.zeros(10), PICKED_UP: self.load})
        return Plant(self.parametric, HOME, theta=true, noise=NOISE, period=PERIOD, seed=self.seed)

    @property
    def load(self) -> Array:
        """True payload parameters: a ball below the flange."""
        return payload(MASS, CENTER, 0.4 * MASS * RADIUS**2 * np.eye(3))

    def identifier(self) -> OnlineIdentifier:
        """Online identifier of the payload; the arm and the torque noise are known."""
        return OnlineIdentifier(
            self.robot, ("payload",), payload_link=TOOL, noise=NOISE["tau"], cutoff=100.0, forgetting=0.999
        )

    def compare(self, watch: Callable[..., None] | None = None) -> Comparison:
        """Run the three controllers."""
        return compare(
            self.problem, self.plant, self.identifier(), self.duration,
            targets=self.targets, error=self.error, watch=watch, learn_every=4, hand_over_every=30,
        )  # fmt: skip

    # The path -------------------------------------------------------------------------------------------

    @cached_property
    def _pose(self) -> Array:
        return np.asarray(self.robot.pose(TOOL)(np.array(HOME)), np.float64)

    @cached_property
    def _rows(self) -> Array:
        return np.tile(self._pose.reshape(16), (len(GRID), 1))

    def targets(self, t: float) -> dict[str, ArrayLike]:
        """Reference poses of the tool at the nodes of the horizon that starts at t."""
        self._rows[:, [3, 7, 11]] = position(t + GRID)
        return {"tool": self._rows}

    def error(self, t: float, q: Array) -> float:
        """Distance (m) of the tool from its reference."""
        offset = self.robot.pose(TOOL)(q)[:3, 3] - position(np.array([t]))[0]
        return float(np.sqrt(offset @ offset))


def position(t: Array) -> Array:
    """Tool path (n, 3): minimum-jerk segments with rest at the waypoints."""
    times, points = WAYPOINTS[:, 0], WAYPOINTS[:, 1:]
    leg = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
    s = np.clip((t - times[leg]) / (times[leg + 1] - times[leg]), 0.0, 1.0)
    s = s**3 * (10 - 15 * s + 6 * s**2)
    return np.asarray(points[leg] + s[:, None] * (points[leg + 1] - points[leg]), np.float64)
