"""What is believed of θ before any torque is seen: the values of the description, and how far to trust them.

The pseudo-inertia of a body is believed to be P = L (1 + Z) Lᵀ with L Lᵀ the stated one and Z a symmetric
matrix of independent errors of standard deviation `spread`: every point mass may be wrong by that part of
itself, in whatever direction (the constant pullback metric of Lee, Wensing and Park 2019).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.identification.online.theta import ThetaEquations
from helicoid.model.inertia import Inertia
from helicoid.robot import Robot

_RADIUS = 0.01  # m: no body is thinner than this where it serves as a measure
_PAYLOAD_RADIUS = 0.1  # m
_PART = 0.1  # of the robot's mass: the size of a payload; of effort limits: the size of friction


class Whitening:
    """A body's parameters measured by a reference body: w = W π, the free elements of L⁻¹ P L⁻ᵀ.

    Off-diagonal elements are multiplied by √2, so that ‖w‖² = ‖L⁻¹ P L⁻ᵀ‖² (Frobenius).
    """

    def __init__(self, reference: Inertia) -> None:
        self.L = np.linalg.cholesky(reference.pseudo)
        inverse = np.linalg.inv(self.L)
        rows = [_vector(inverse @ Inertia.from_parameters(unit).pseudo @ inverse.T) for unit in np.eye(10)]
        self.W = np.column_stack(rows)
        self.inverse = np.linalg.inv(self.W)


UPPER = np.triu_indices(4)
WEIGHT = np.where(UPPER[0] == UPPER[1], 1.0, np.sqrt(2.0))


def _vector(symmetric: Array) -> Array:
    return symmetric[UPPER] * WEIGHT


def reference(inertia: Inertia, least_mass: float) -> Inertia:
    """The body that is nearest to a described one and has mass and extent in every direction."""
    m, c = max(inertia.mass, least_mass), inertia.com
    second = np.trace(inertia.at_com) / 2 * np.eye(3) - inertia.at_com
    moments, axes = np.linalg.eigh(second)
    second = axes @ np.diag(np.maximum(moments, m * _RADIUS**2)) @ axes.T
    return Inertia.from_com(m, c, np.trace(second) * np.eye(3) - second)


def whitenings(equations: ThetaEquations) -> dict[int, Whitening]:
    """The whitening of each body among θ, by where its ten parameters start."""
    model = equations.robot.model
    mass = sum(body.inertia.mass for body in model.bodies) or 1.0
    found = {}
    if "inertia" in equations.slices:
        start = equations.slices["inertia"].start
        for i, body in enumerate(model.bodies):
            found[start + 10 * i] = Whitening(reference(body.inertia, 0.01 * mass / len(model.bodies)))
    if "payload" in equations.slices:
        r = _PAYLOAD_RADIUS**2
        found[equations.slices["payload"].start] = Whitening(
            Inertia.from_pseudo(_PART * mass * np.diag([r, r, r, 1.0]))
        )
    return found


def covariance(equations: ThetaEquations, spread: float) -> Array:
    """Of θ about its nominal values. A payload is nothing give or take a tenth of the robot's mass."""
    P = np.zeros((len(equations.nominal),) * 2)
    payload = equations.slices.get("payload", slice(-1, -1)).start
    for start, whitening in whitenings(equations).items():
        part = 1.0 if start == payload else spread
        P[start : start + 10, start : start + 10] = part**2 * whitening.inverse @ whitening.inverse.T
    effort, velocity, inertia = usual_sizes(equations.robot)
    if "friction" in equations.slices:
        own = np.arange(len(equations.nominal))[equations.slices["friction"]]
        P[own, own] = np.concatenate([(_PART * effort / velocity) ** 2, (_PART * effort) ** 2])
    if "armature" in equations.slices:
        own = np.arange(len(equations.nominal))[equations.slices["armature"]]
        P[own, own] = (spread * (inertia + equations.nominal[own])) ** 2
    return P


def noise(robot: Robot, given: ArrayLike | None = None) -> Array:
    """σ of the measured torque (N·m, N), (nv,): as given, or 1 % of the effort limit or of what is usual."""
    if given is None:
        return 0.01 * usual_sizes(robot)[0]
    values = np.asarray(given, dtype=np.float64)
    if values.shape not in ((), (robot.nv,)) or not np.all(values > 0):
        raise InputError(f"noise: expected a number above zero or {robot.nv} of them (N·m, N), got {given!r}")
    return np.broadcast_to(values, (robot.nv,)).copy()


def usual_sizes(robot: Robot) -> tuple[Array, Array, Array]:
    """Per velocity: efforts, velocities and inertias that are usual on this robot, (nv,) each."""
    rng = np.random.default_rng(0)
    configurations = [robot.random(rng) for _ in range(8)]
    M = np.max([np.diag(robot.mass_matrix(q)) for q in configurations], axis=0)
    holding = np.max([np.abs(robot.gravity(q)) for q in configurations], axis=0)
    limits = robot.limits
    effort = np.where(np.isfinite(limits.effort) & (limits.effort > 0), limits.effort, holding + M)
    velocity = np.where(np.isfinite(limits.velocity) & (limits.velocity > 0), limits.velocity, 1.0)
    return np.maximum(effort, 1e-3), velocity, M
