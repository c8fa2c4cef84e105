"""Prior of θ: a normal distribution about the values of the description.

The pseudo-inertia of a body is P = L (1 + Z) Lᵀ with L Lᵀ the stated one and Z a symmetric
matrix of independent errors of standard deviation `spread`: every point mass has that relative error,
in whatever direction (the constant pullback metric of Lee, Wensing and Park 2019).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import float_array
from helicoid.errors import InputError
from helicoid.identification.identifiability.base_equations import BaseEquations
from helicoid.identification.linear.solving.whitening import (
    Whitening,
    reference,
    usual_sizes,
    usual_wrench,
)
from helicoid.model.inertia import Inertia
from helicoid.robot import Robot

_PAYLOAD_RADIUS = 0.1  # m
_RELATIVE_SIGMA = 0.1  # of a payload to the robot's mass, of friction to the effort limits


def whitenings(equations: BaseEquations) -> dict[int, Whitening]:
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
            Inertia.from_pseudo(_RELATIVE_SIGMA * mass * np.diag([r, r, r, 1.0]))
        )
    return found


def covariance(equations: BaseEquations, spread: float) -> Array:
    """The covariance (θ, θ) of θ about its nominal values; `spread` is the relative σ of bodies.

    The prior of a payload's mass has mean zero and a σ of a tenth of the robot's mass.
    """
    P = np.zeros((len(equations.nominal),) * 2)
    payload = equations.slices.get("payload", slice(-1, -1)).start
    for start, whitening in whitenings(equations).items():
        part = 1.0 if start == payload else spread
        P[start : start + 10, start : start + 10] = part**2 * whitening.inverse @ whitening.inverse.T
    effort, velocity, inertia = usual_sizes(equations.robot)
    if "friction" in equations.slices:
        own = np.arange(len(equations.nominal))[equations.slices["friction"]]
        P[own, own] = np.concatenate(
            [(_RELATIVE_SIGMA * effort / velocity) ** 2, (_RELATIVE_SIGMA * effort) ** 2]
        )
    if "armature" in equations.slices:
        own = np.arange(len(equations.nominal))[equations.slices["armature"]]
        P[own, own] = (spread * (inertia + equations.nominal[own])) ** 2
    return P


def offset_sigma(equations: BaseEquations) -> Array:
    """Prior σ of the offsets of force/torque sensors, (offsets,); their mean is zero."""
    sensors = len(equations.wrenches) if equations.bias else 0
    return _RELATIVE_SIGMA * np.tile(usual_wrench(equations.robot), sensors)


def noise(robot: Robot, given: ArrayLike | None = None, sensors: int = 0) -> Array:
    """σ of the measurements (N·m, N): torques, (nv,), or the wrenches of so many sensors, six each.

    By default 1 % of the effort limit (or of the usual effort) for torques; for wrenches 1 % of the robot's
    weight, and of that weight on a lever of 0.1 m for moments.
    """
    rows = 6 * sensors or robot.nv
    if given is None and sensors:
        return 0.01 * 9.81 * max(robot.mass, 0.1) * np.tile([0.1, 0.1, 0.1, 1.0, 1.0, 1.0], sensors)
    if given is None:
        return 0.01 * usual_sizes(robot)[0]
    values = float_array(given, "noise must be numbers (N·m, N)")
    if values.shape not in ((), (rows,)) or not np.all(values > 0):
        raise InputError(f"noise: expected a number above zero or {rows} of them (N·m, N), got {given!r}")
    return np.broadcast_to(values, (rows,)).copy()
