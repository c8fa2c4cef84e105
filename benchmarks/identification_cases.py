"""Robots, wrong descriptions, recordings with faults and other motions: cases of generalisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import helicoid as hc
from helicoid._typing import Array
from helicoid.robot import Robot

RATE, SECONDS = 100.0, 16.0
MOTIONS = ("many", "one", "points", "slow", "small", "weight", "still")
FAULTS = (
    *("none", "quantised", "delay", "lost", "jitter", "outliers", "gains", "saturated", "filtered"),
    *("flexible", "backlash", "cables"),
)


class Case(NamedTuple):
    """A description, a recording, another motion with its torques, and what kind of case it is."""

    robot: Robot
    train: hc.Log
    test: hc.Log
    labels: dict[str, Any]
    noise: float


def random_link(rng: np.random.Generator, k: int, parent: str) -> str:
    """A link and the joint that turns it on its parent, in URDF; lighter and weaker the farther out."""
    m = rng.uniform(0.5, 5.0) * 0.8**k
    com, size = rng.uniform(-0.1, 0.1, 3), rng.uniform(0.05, 0.15, 3)
    i = m * (np.sum(size**2) - size**2) / 3
    axis, xyz = np.roll([0.0, 0.0, 1.0], int(rng.integers(3))), rng.uniform(-0.25, 0.25, 3)
    words = [" ".join(f"{x:.4f}" for x in value) for value in (com, axis, xyz)]
    return (
        f'<link name="link_{k}"><inertial><origin xyz="{words[0]}"/><mass value="{m:.4f}"/>'
        f'<inertia ixx="{i[0]:.6f}" iyy="{i[1]:.6f}" izz="{i[2]:.6f}" ixy="0" ixz="0" iyz="0"/>'
        f'</inertial></link><joint name="joint_{k}" type="revolute"><parent link="{parent}"/>'
        f'<child link="link_{k}"/><origin xyz="{words[2]}"/><axis xyz="{words[1]}"/>'
        f'<limit lower="-3" upper="3" velocity="4" effort="{60 * 0.8**k:.1f}"/></joint>'
    )


def tree(seed: int) -> str:
    """The URDF of a random chain or tree of 3 to 9 joints."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 10))
    parts = ['<link name="base"/>']
    for k in range(n):
        straight = k == 0 or rng.random() < 0.85
        parent = f"link_{k - 1}" if straight and k else ("base" if k == 0 else f"link_{rng.integers(0, k)}")
        parts.append(random_link(rng, k, parent))
    return f'<robot name="tree_{seed}">{"".join(parts)}</robot>'


def robots() -> list[Robot]:
    """Bundled arms, chains and random trees; few, since each is compiled."""
    bundled = [hc.load("ur5"), hc.load("panda"), hc.serial_chain(4)]
    return [*bundled, *(hc.load(tree(seed)) for seed in range(6))]


def motion(robot: Robot, rng: np.random.Generator, kind: str, seconds: float) -> tuple[Array, Array]:
    """t and q of a training motion."""
    t, n = np.arange(round(seconds * RATE)) / RATE, robot.nv
    low, high = robot.limits.lower, robot.limits.upper
    span = np.where(np.isfinite(high - low), np.minimum((high - low) / 2, 1.5), 1.5)
    middle = np.where(np.isfinite(high + low), (high + low) / 2, 0.0)
    q = np.tile(middle + rng.uniform(-0.3, 0.3, n) * span, (len(t), 1))
    if kind == "points":
        goals = middle + rng.uniform(-0.8, 0.8, (round(seconds / 2) + 1, n)) * span
        s = np.clip((t[:, None] % 2.0) / 1.5, 0, 1)
        s, k = s**3 * (10 - 15 * s + 6 * s * s), (t / 2.0).astype(int)
        return t, goals[k] * (1 - s) + goals[np.minimum(k + 1, len(goals) - 1)] * s
    count = 1 if kind == "one" else 4
    base = {"slow": 0.05, "weight": 0.08}.get(kind, 0.15)
    size = {"small": 0.08, "weight": 1.0}.get(kind, 0.6) * span / count**0.5
    shared = rng.uniform(0.08, 0.5)
    for k in range(n):
        for h in range(count):
            f = shared if kind == "one" else base * (h + rng.uniform(0.7, 1.3))
            q[:, k] += size[k] * rng.uniform(0.5, 1) * np.sin(2 * np.pi * (f * t + rng.random()))
    if kind == "still":
        fixed = rng.permutation(n)[: max(1, n // 3)]
        q[:, fixed] = q[0, fixed]
    return t, q


def other_motion(robot: Robot, rng: np.random.Generator) -> tuple[Array, Array]:
    """A motion unlike any of training: other frequencies, amplitudes and region."""
    t, q = motion(robot, rng, "many", 8.0)
    stretched = rng.uniform(0.6, 1.6)
    return t, np.column_stack([np.interp(t, t * stretched, x) if stretched > 1 else x for x in q.T])


def rates(q: Array) -> tuple[Array, Array]:
    """v and a of smooth positions."""
    from helicoid.identification.logs.filtering import derivative, low_pass

    v = derivative(low_pass(q, RATE, 10.0), RATE)
    return v, derivative(v, RATE)


def physics(
    robot: Robot, rng: np.random.Generator
) -> tuple[Callable[[Array, Array, Array], Array], list[str]]:
    """The torques of the real robot, and which effects it has beyond bodies, viscous and Coulomb friction."""
    effort = np.where(np.isfinite(robot.limits.effort), robot.limits.effort, 50.0)
    rows = []
    for body in robot.model.bodies:  # other bodies: point masses about where the description has them
        points = rng.normal(0.0, 0.06, (8, 3)) + body.inertia.com
        masses = body.inertia.mass * rng.uniform(0.7, 1.4) * rng.dirichlet(np.ones(8))
        own = [m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points, strict=True)]
        rows.append(hc.model.inertia.Inertia(masses.sum(), masses @ points, np.sum(own, axis=0)).parameters)
    pi = np.concatenate(rows)
    d, c = effort * rng.uniform(0.0, 0.03, robot.nv), effort * rng.uniform(0.01, 0.06, robot.nv)
    extras = [name for name in ("armature", "spring", "load", "stribeck") if rng.random() < 0.4]
    size = {name: rng.uniform(0.3, 1.0, robot.nv) * (name in extras) for name in
            ("armature", "spring", "load", "stribeck")}  # fmt: skip

    def torque(q: Array, v: Array, a: Array) -> Array:
        still = np.zeros_like(v)
        way = np.tanh(v / 0.02)
        load = np.asarray(robot.regressor(q, still, still) @ pi)
        tau = np.asarray(robot.regressor(q, v, a) @ pi) + d * v + c * way
        tau += size["armature"] * 0.02 * effort * a + size["spring"] * 0.03 * effort * q
        tau += size["load"] * 0.1 * np.abs(load) * way
        return tau + size["stribeck"] * 0.03 * effort * np.exp(-((v / 0.15) ** 2)) * way

    return torque, extras


def make(robot: Robot, seed: int, wanted: str = "") -> Case:
    """The case of a seed, with the motion that is wanted if one is."""
    rng = np.random.default_rng(seed)
    kind, fault = MOTIONS[int(rng.integers(len(MOTIONS)))], FAULTS[int(rng.integers(len(FAULTS)))]
    kind = wanted or kind
    torque, extras = physics(robot, rng)
    if fault == "cables":
        plain, size = torque, 0.02 * np.where(np.isfinite(robot.limits.effort), robot.limits.effort, 50.0)
        torque = lambda q, v, a: plain(q, v, a) + size * np.sin(3 * q)  # noqa: E731
    gain = rng.uniform(0.9, 1.1, robot.nv) if fault == "gains" else np.ones(robot.nv)
    delay = int(rng.integers(2, 4)) if fault == "delay" else 0

    def recorded(t: Array, q: Array) -> list[Array]:
        v, a = rates(q)
        tau = torque(q, v, a) * gain
        shift = {"flexible": 5e-5 * tau, "backlash": 1e-3 * np.tanh(tau)}.get(fault, 0 * tau)
        tau = np.vstack([np.repeat(tau[:1], delay, axis=0), tau[: len(tau) - delay]])
        return [t, q + shift, np.gradient(q + shift, 1 / RATE, axis=0) if fault == "flexible" else v, tau]

    t, q, v, tau = recorded(*motion(robot, rng, kind, SECONDS))
    noise = 0.01 * rng.uniform(0.3, 3.0)
    tau = tau + noise * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    v = v + 0.005 * rng.normal(size=v.shape)
    kept = np.ones(len(t), dtype=bool)
    if fault == "quantised":
        q, v = np.round(q / 5e-4) * 5e-4, np.round(v / 0.02) * 0.02
    elif fault == "lost":
        kept = rng.random(len(t)) > 0.05
    elif fault == "jitter":
        t = t + rng.uniform(-0.3, 0.3, len(t)) / RATE
    elif fault == "outliers":
        tau[rng.random(tau.shape) < 0.01] += 3 * np.abs(tau).max() * rng.choice([-1, 1])
    elif fault == "saturated":
        limit = 0.8 * np.abs(tau).max(axis=0)
        tau = np.clip(tau, -limit, limit)
    elif fault == "filtered":
        for i in range(1, len(v)):
            v[i] = 0.7 * v[i - 1] + 0.3 * v[i]
    train = hc.Log.from_arrays(t[kept], q[kept], v[kept], tau=tau[kept])
    T, Q, V, TAU = recorded(*other_motion(robot, rng))
    labels = {"robot": robot.name, "motion": kind, "fault": fault, "extras": extras}
    return Case(robot, train, hc.Log.from_arrays(T, Q, V, tau=TAU), labels, noise)
