"""Durations of the peer `toppra` for the same path, limits and grid."""

from __future__ import annotations

import logging

import numpy as np
import toppra
import toppra.algorithm
import toppra.constraint

from helicoid._typing import Array
from helicoid.control import JointPath
from helicoid.robot import Robot

logging.getLogger("toppra").setLevel(logging.ERROR)


def duration(
    robot: Robot,
    path: JointPath,
    grid: Array,
    velocity: Array | None,
    acceleration: Array | None,
    torque: Array | None,
    scheme: str = "interpolation",
    speeds: tuple[float, float] = (0.0, 0.0),
) -> float:
    """Seconds; NaN where it finds no motion. Limits are (n), symmetric; None is none."""
    kinds = toppra.constraint.DiscretizationType
    kind = kinds.Interpolation if scheme == "interpolation" else kinds.Collocation
    constraints = []
    if velocity is not None:
        constraints.append(toppra.constraint.JointVelocityConstraint(np.column_stack([-velocity, velocity])))
    if acceleration is not None:
        bounds = np.column_stack([-acceleration, acceleration])
        constraints.append(toppra.constraint.JointAccelerationConstraint(bounds, kind))
    if torque is not None:
        bounds, none = np.column_stack([-torque, torque]), np.zeros(robot.nv)
        dynamics = robot.inverse_dynamics
        constraints.append(toppra.constraint.JointTorqueConstraint(dynamics, bounds, none, kind))
    spline = toppra.SplineInterpolator(path.breaks, path(path.breaks))
    found = toppra.algorithm.TOPPRA(
        constraints, spline, gridpoints=grid, parametrizer="ParametrizeConstAccel"
    ).compute_trajectory(*speeds)
    return float("nan") if found is None else float(found.duration)
