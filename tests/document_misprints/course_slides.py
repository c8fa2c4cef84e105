"""Misprints of the lecture slides."""

from __future__ import annotations

import numpy as np

import helicoid as hc
from document_misprints.common import CHAIN, SLIDES, both, misprint, state


@misprint(f"{SLIDES}, Coriolis matrices")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    robot = hc.load("planar_2r")
    q, v, _ = state(rng, 2)
    s = 1.0 * 1.0 * 0.8 * np.sin(q[1])  # m₂ L₁ L₂ sin θ₂ of this arm
    third = [
        np.array([[0, -(2 * v[0] + v[1]) * s], [(v[0] + v[1] / 2) * s, sign * v[0] * s / 2]])
        for sign in (-1, 1)
    ]
    assert np.allclose(robot.coriolis_matrix_classic(q, v)[2], third[0])
    return both(robot.coriolis(q, v), *(C @ v for C in third))


@misprint(f"{SLIDES}, Jacobian")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    J = CHAIN.jacobian("tool0", "body")(rng.normal(size=3))
    return J.shape == (6, 3), J.shape == (3, 6)


@misprint(f"{SLIDES}, constraint of the channel")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    robot = hc.load("planar_2r")
    channel = robot.constrain(holonomic=lambda q: robot.pose("tip")(q)[0, 3] - 1)
    rows = channel.constraint_jacobian([-1.0, 2.0]) @ np.ones(2)
    return rows.shape == (1,), rows.shape == (2,)
