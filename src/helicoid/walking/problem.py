"""Optimal control problem of locomotion, with weights scaled by the weight and the height of the robot."""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array
from helicoid.mpc import Phase, Problem
from helicoid.robot.robot import Robot
from helicoid.walking.gait import Gait

_GRAVITY = 9.81  # m/s²
_REFERENCE_WEIGHT = 120.0  # N, of the robots on which the weights were chosen
_REFERENCE_HEIGHT = 0.3  # m, of their trunk


def force_scale(robot: Robot) -> float:
    """Weight of a reference robot by that of this one, by which squared forces are comparable."""
    return (_REFERENCE_WEIGHT / (robot.mass * _GRAVITY)) ** 2


def locomotion_problem(
    robot: Robot,
    q: Array,
    gait: Gait,
    horizon: int,
    dt: float,
    radius: float,
    friction: float,
    step_height: float,
) -> Problem:
    """Problem of the plan: commanded velocity, level trunk, low effort, no opposing tangential forces.

    Torques count in units of weight times height, forces in units of weight, so that robots of any size
    trade effort for motion alike. Tangential forces cost more than the torque that they could save: feet on
    compliant ground creep in their direction.
    """
    n, feet = robot.nv - 6, len(gait.feet)
    phases = [Phase(gait.step, gait.feet), *(Phase(gait.step, stand) for stand in gait.stands)]
    problem = Problem(robot, horizon, dt, phases=phases, foot_radius=radius)
    velocity = problem.parameter("velocity", np.zeros(3))
    turn = problem.parameter("turn", 0.0)
    problem.add_cost("speed", problem.v[3:6] - velocity, 20.0, 20.0)
    problem.add_cost("turning", problem.v[2] - turn, 5.0, 5.0)
    level = [50.0, 50.0, 20.0, 0.0, 0.0, 100.0, *np.ones(n)]
    problem.add_posture_cost(q, level, level)
    calm = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, *np.full(n, 0.01)]
    problem.add_velocity_cost(calm, calm)
    height = max(float(q[2]), 1e-3)
    force, torque = force_scale(robot), 1e-3 * force_scale(robot) * (_REFERENCE_HEIGHT / height) ** 2
    problem.add_torque_cost(torque, reference=np.zeros(robot.nv))
    tangential = 10 * torque * height**2
    problem.add_control_cost(
        [*np.full(robot.nv, 1e-5), *np.tile([tangential, tangential, 1e-6 * force], feet)]
    )
    problem.add_swing_cost(height=step_height, weight=1000.0)
    problem.add_friction_cone(friction=friction)
    problem.add_limits(position=None)
    return problem
