"""Small problems that several tests share; a solver is compiled for each once."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import helicoid as hc
from helicoid.mpc import Problem

# Accelerations as controls are the default; torques as controls are for the long suite.
FORMULATIONS = ["inverse_dynamics", pytest.param("forward_dynamics", marks=pytest.mark.slow)]

TARGET = [0.4, 0.0, 0.9]


@functools.cache
def arm(formulation: str = "inverse_dynamics") -> Problem:
    """A planar arm that reaches for a point, with limits on velocity and torque that are easily reached."""
    robot = hc.load("planar_2r")
    problem = Problem(robot, horizon=12, dt=0.05, formulation=formulation)  # type: ignore[arg-type]
    problem.add_position_cost("tip", TARGET, 10.0, 100.0)
    problem.add_posture_cost([0.0, 0.5], 0.1, 0.1)
    problem.add_velocity_cost(0.1, 2.0)
    problem.add_torque_cost(1e-3)
    problem.add_constraint("velocity_limit", problem.v, -2.0, 2.0, scale=0.5, labels=robot.joint_names)
    problem.add_constraint("torque_limit", problem.tau, -40.0, 40.0, scale=1 / 40, labels=robot.joint_names)
    return problem


def reset(problem: Problem) -> None:
    """The numbers that `arm` starts with."""
    problem.set(
        position=TARGET,
        posture=[0.0, 0.5],
        velocity_limit_lower=-2.0,
        velocity_limit_upper=2.0,
        torque_limit_lower=-40.0,
        torque_limit_upper=40.0,
    )


START = np.array([0.3, 0.8])
