"""Whitening of a body's parameters by a reference body: dimensionless, independent of frames.

With P the pseudo-inertia of a body and L Lᵀ that of a reference, L⁻¹ P L⁻ᵀ is a symmetric matrix of pure
numbers, the identity for the reference itself (the constant pullback metric of Lee, Wensing and Park 2019).
"""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array
from helicoid.model.inertia import Inertia
from helicoid.robot import Robot

_GRAVITY = 9.81  # m/s²
_MIN_MASS = 0.1  # kg: of a robot
_MIN_RADIUS = 0.01  # m: of gyration of a reference body


class Whitening:
    """A body's parameters measured by a reference body: w = W π, the free elements of L⁻¹ P L⁻ᵀ.

    Off-diagonal elements are multiplied by √2, so that ‖w‖² = ‖L⁻¹ P L⁻ᵀ‖² (Frobenius).
    """

    def __init__(self, reference: Inertia) -> None:
        self.L = np.linalg.cholesky(reference.pseudo)
        inverse = np.linalg.inv(self.L)
        rows = [vector(inverse @ Inertia.from_parameters(unit).pseudo @ inverse.T) for unit in np.eye(10)]
        self.W = np.column_stack(rows)
        self.inverse = np.linalg.inv(self.W)


UPPER = np.triu_indices(4)
WEIGHT = np.where(UPPER[0] == UPPER[1], 1.0, np.sqrt(2.0))


def vector(symmetric: Array) -> Array:
    """The free elements (10) of a symmetric matrix, row by row, with its Frobenius norm."""
    return symmetric[UPPER] * WEIGHT


def reference(inertia: Inertia, least_mass: float) -> Inertia:
    """The body that is nearest to a described one and has mass and extent in every direction."""
    m, c = max(inertia.mass, least_mass), inertia.com
    second = np.trace(inertia.at_com) / 2 * np.eye(3) - inertia.at_com
    moments, axes = np.linalg.eigh(second)
    second = axes @ np.diag(np.maximum(moments, m * _MIN_RADIUS**2)) @ axes.T
    return Inertia.from_com(m, c, np.trace(second) * np.eye(3) - second)


def usual_sizes(robot: Robot) -> tuple[Array, Array, Array]:
    """Per velocity: efforts, velocities and inertias that are usual on this robot, (nv,) each."""
    return robot.memo("usual sizes", lambda: _usual_sizes(robot))


def usual_wrench(robot: Robot) -> Array:
    """Upper end of the usual range of six-axis readings: the weight, and its moment on a lever of 1 m."""
    return np.full(6, _GRAVITY * max(robot.mass, _MIN_MASS))


def _usual_sizes(robot: Robot) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    configurations = [robot.random(rng) for _ in range(8)]
    M = np.max([np.diag(robot.mass_matrix(q)) for q in configurations], axis=0)
    holding = np.max([np.abs(robot.gravity(q)) for q in configurations], axis=0)
    limits = robot.limits
    effort = np.where(np.isfinite(limits.effort) & (limits.effort > 0), limits.effort, holding + M)
    velocity = np.where(np.isfinite(limits.velocity) & (limits.velocity > 0), limits.velocity, 1.0)
    return np.maximum(effort, 1e-3), velocity, M
