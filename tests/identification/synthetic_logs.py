"""Logs whose truth is known: smooth motions of a robot, and the torques that another robot would need."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import helicoid as hc
from helicoid import Robot
from helicoid.identification.logs.log import Log
from helicoid.model.inertia import Inertia

Array = NDArray[np.float64]


def motion(
    robot: Robot, seed: int, seconds: float = 12.0, rate: float = 100.0
) -> tuple[Array, Array, Array, Array]:
    """t, q, v, a of sums of sines, of a robot whose joints have one coordinate each."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * rate)) / rate
    q, v, a = np.zeros((3, len(t), robot.nv))
    for k in range(robot.nv):
        q[:, k] = rng.normal()
        for ω in 2 * np.pi * rng.uniform(0.1, 0.7, 4):
            size, phase = rng.uniform(0.2, 0.5), rng.uniform(0, 2 * np.pi)
            q[:, k] += size * np.sin(ω * t + phase)
            v[:, k] += size * ω * np.cos(ω * t + phase)
            a[:, k] -= size * ω * ω * np.sin(ω * t + phase)
    return t, q, v, a


def truth(robot: Robot, seed: int, spread: float = 0.3) -> Robot:
    """Another robot of the same shape: other masses, friction and armature."""
    rng = np.random.default_rng(seed)
    rows = []
    for body in robot.model.bodies:
        points = rng.normal(0.0, 0.05, (8, 3)) + body.inertia.com
        masses = body.inertia.mass * rng.uniform(1 - spread, 1 + spread) * rng.dirichlet(np.ones(8))
        own = [m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points, strict=True)]
        rows.append(Inertia(float(masses.sum()), masses @ points, np.sum(own, axis=0)).parameters)
    other = robot.with_parameters(np.concatenate(rows))
    joints = [
        replace(
            joint,
            damping=rng.uniform(0.2, 1.0, joint.type.nv),
            friction=rng.uniform(0.2, 1.0, joint.type.nv),
            armature=rng.uniform(0.05, 0.2, joint.type.nv),
        )
        if joint.type.nv
        else joint
        for joint in other.model.joints
    ]
    return other.with_model(other.model.replaced(joints=joints))


def recording(
    actual: Robot, seed: int, noise: float = 0.0, seconds: float = 12.0, rate: float = 100.0
) -> Log:
    """A log of a robot with friction; the torques carry white noise."""
    t, q, v, a = motion(actual, seed, seconds, rate)
    tau = actual.inverse_dynamics(q, v, a, friction=True)
    rng = np.random.default_rng(seed + 1)
    return Log.from_arrays(t, q, v, a, tau + noise * rng.normal(size=tau.shape))


def arm(n: int = 3) -> Robot:
    """A small arm."""
    return hc.serial_chain(n)
