"""Logs of robots that differ from their description, clean, with one thing wrong or with a load."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import helicoid as hc
from benchmarks.identification_cases import random_link
from helicoid import Robot
from helicoid.identification.diagnosis.tilted_base import gravity_columns
from helicoid.identification.logs.filtering import derivative, low_pass
from helicoid.model.inertia import Inertia, transformation

Array = NDArray[np.float64]
RATE, SECONDS = 100.0, 12.0
KINDS = (
    "sign", "swapped torques", "swapped joints", "degrees", "millinewton", "gear", "current", "tilted base",
)  # fmt: skip
GOOD = "load, good description"
LOADS = ("load", GOOD)
DESCRIBED = 0.15  # of the errors of the bodies, where the description is good


class Corrupted(NamedTuple):
    """A description, a log of the real robot, what is wrong with it, and in which joints (none: in all).

    `mass` (kg) is that of a load, which the last body carries and the description lacks.
    """

    robot: Robot
    log: hc.Log
    kind: str
    joints: tuple[str, ...]
    mass: float = 0.0


def chain(seed: int) -> str:
    """The URDF of a random chain of 3 to 6 joints."""
    rng = np.random.default_rng(seed)
    parts = ['<link name="base"/>']
    for k in range(int(rng.integers(3, 7))):
        parts.append(random_link(rng, k, f"link_{k - 1}" if k else "base"))
    return f'<robot name="chain_{seed}">{"".join(parts)}</robot>'


def robots() -> list[Robot]:
    """Bundled arms and random chains."""
    bundled = [hc.load("ur5"), hc.load("panda"), hc.serial_chain(3)]
    return [*bundled, *(hc.load(chain(seed)) for seed in range(4))]


def motion(robot: Robot, rng: np.random.Generator, kind: str) -> tuple[Array, Array]:
    """t and q of sums of sines, or from point to point."""
    t, n = np.arange(round(SECONDS * RATE)) / RATE, robot.nv
    low, high = robot.limits.lower, robot.limits.upper
    span = np.where(np.isfinite(high - low), np.minimum((high - low) / 2, 1.5), 1.5)
    middle = np.where(np.isfinite(high + low), (high + low) / 2, 0.0)
    if kind == "points":
        goals = middle + rng.uniform(-0.8, 0.8, (round(SECONDS / 2) + 1, n)) * span
        s = np.clip((t[:, None] % 2.0) / 1.5, 0, 1)
        s, k = s**3 * (10 - 15 * s + 6 * s * s), (t / 2.0).astype(int)
        return t, goals[k] * (1 - s) + goals[np.minimum(k + 1, len(goals) - 1)] * s
    q = np.tile(middle + rng.uniform(-0.3, 0.3, n) * span, (len(t), 1))
    for h in range(4):
        f = 0.15 * (h + rng.uniform(0.7, 1.3, n))
        q += 0.3 * span * rng.uniform(0.5, 1, n) * np.sin(2 * np.pi * (f * t[:, None] + rng.random(n)))
    return t, q


def bodies(robot: Robot, rng: np.random.Generator) -> Array:
    """π of bodies with 0.7 to 1.4 times the described masses, whose centres are centimetres off."""
    rows = []
    for body in robot.model.bodies:
        points = rng.normal(0.0, 0.04, (8, 3)) + body.inertia.com
        masses = body.inertia.mass * rng.uniform(0.7, 1.4) * rng.dirichlet(np.ones(8))
        own = [m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points, strict=True)]
        rows.append(Inertia(float(masses.sum()), masses @ points, np.sum(own, axis=0)).parameters)
    return np.concatenate(rows)


def physics(
    robot: Robot, rng: np.random.Generator, q: Array, v: Array, a: Array, gravity: Array, pi: Array
) -> Array:
    """Torques of the real robot with bodies π: friction, some armature, springs and Stribeck."""
    effort = np.where(np.isfinite(robot.limits.effort), robot.limits.effort, 50.0)
    Y = np.asarray(robot.regressor(q, v, a))
    if gravity.any():
        Y = Y + np.tensordot(gravity - [0, 0, -9.81], gravity_columns(robot, q), 1)
    way = np.tanh(v / 0.02)
    tau = Y @ pi + effort * (rng.uniform(0, 0.03, robot.nv) * v + rng.uniform(0.01, 0.06, robot.nv) * way)
    extras = rng.uniform(0.3, 1.0, (3, robot.nv)) * (rng.random((3, 1)) < 0.3)
    tau += effort * (0.02 * extras[0] * a + 0.02 * extras[1] * q)
    return np.asarray(tau + 0.03 * effort * extras[2] * np.exp(-((v / 0.15) ** 2)) * way)


def load(robot: Robot, seed: int) -> Array:
    """π of a load of 0.5 to 5 kg on the last body."""
    rng = np.random.default_rng([seed, 7])
    mass, com = rng.uniform(0.5, 5.0), rng.uniform(-0.08, 0.08, 3) + np.array([0, 0, 0.05])
    body = robot.model.frame(robot.link_names[-1])
    own = Inertia.from_com(mass, com, mass * rng.uniform(0.02, 0.06) ** 2 * np.eye(3))
    pi = np.zeros((len(robot.model.bodies), 10))
    pi[body.body] = transformation(body.placement.rotation, body.placement.translation) @ own.parameters
    return pi.ravel()


def make(robot: Robot, seed: int, kind: str) -> Corrupted:
    """The log of a seed; kind "" is clean, "load, good description" has bodies within 5 % beside the load."""
    rng = np.random.default_rng(seed)
    t, q = motion(robot, rng, "points" if rng.random() < 0.5 else "many")
    v = derivative(low_pass(q, RATE, 10.0), RATE)
    a = derivative(v, RATE)
    gravity = np.zeros(3)
    if kind == "tilted base":
        tilt, way = np.radians(rng.choice([15.0, 30.0, 90.0, 180.0])), rng.uniform(0, 2 * np.pi)
        gravity = -9.81 * np.array([np.sin(tilt) * np.cos(way), np.sin(tilt) * np.sin(way), np.cos(tilt)])
    pi, more = bodies(robot, rng), np.zeros(10 * len(robot.model.bodies))
    if kind == GOOD:
        pi = np.asarray(robot.parameters.values) * (1 - DESCRIBED) + DESCRIBED * pi
    if kind.startswith("load"):
        more = load(robot, seed)
    tau = physics(robot, rng, q, v, a, gravity, pi + more)
    tau = tau + rng.uniform(0.003, 0.03) * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    v = v + 0.003 * rng.normal(size=v.shape)
    q = q + 1e-5 * rng.normal(size=q.shape)
    q, v, tau, joints = _corrupted(robot, rng, kind, q, v, tau)
    if kind.startswith("load"):
        joints = (robot.model.bodies[robot.model.frame(robot.link_names[-1]).body].name,)
    return Corrupted(robot, hc.Log.from_arrays(t, q, v, tau=tau), kind, joints, float(more[::10].sum()))


def _corrupted(
    robot: Robot, rng: np.random.Generator, kind: str, q: Array, v: Array, tau: Array
) -> tuple[Array, Array, Array, tuple[str, ...]]:
    n, names = robot.nv, robot.model.velocity_names
    order = rng.permutation(n)
    i, j = int(order[0]), int(order[1])
    several = rng.random() < 0.5
    some = list(range(n)) if several else [i]
    if kind == "sign":
        tau[:, some] *= -1
    elif kind == "swapped torques":
        tau[:, [i, j]] = tau[:, [j, i]]
    elif kind == "swapped joints":
        q[:, [i, j]], v[:, [i, j]], tau[:, [i, j]] = q[:, [j, i]], v[:, [j, i]], tau[:, [j, i]]
    elif kind == "degrees":
        q[:, some] *= 180 / np.pi
        v[:, some] *= 180 / np.pi
    elif kind == "millinewton":
        tau[:, some] *= 1000
    elif kind == "gear":
        factor = rng.choice([2.5, 4.0, 50.0, 100.0]) ** rng.choice([-1, 1])
        tau[:, i] *= factor
    elif kind == "current":
        tau /= np.exp(rng.uniform(np.log(5), np.log(80), n))
    touched = {"swapped torques": [i, j], "swapped joints": [i, j], "gear": [i], "current": range(n)}
    if kind in ("", "tilted base"):
        touched = {kind: []}
    own = sorted(touched.get(kind, some))
    return q, v, tau, tuple(names[k] for k in own)
