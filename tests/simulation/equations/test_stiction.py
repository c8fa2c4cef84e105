"""Exact dry friction: what sticks stays, breaks loose at the limit, and slides as friction says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from helicoid import Robot
from helicoid.geometry import so3
from helicoid.model.inertia import Inertia
from helicoid.model.joints import Prismatic
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Link
from helicoid.simulation.equations import step_function
from helicoid.simulation.equations.stiction import stiction_terms
from helicoid.simulation.simulate import simulate
from random_trees import Array, assert_close, fewer, models, seeds, state

MASS, G = 2.0, 9.81


def block(friction: float, static: float = 0.0, angle: float = 0.0, **fields: float) -> Robot:
    """A block on a plane that falls along x by `angle`."""
    axis = so3.exp(np.array([0.0, angle, 0.0])) @ np.array([1.0, 0.0, 0.0])
    given: dict[str, Any] = {"friction": friction, "static_friction": static, **fields}
    joint = Joint("slide", Prismatic(axis), "plane", "block", **given)
    body = Inertia.from_com(MASS, np.zeros(3), 0.01 * np.eye(3))
    return Robot(Model("block", (Link("plane"), Link("block", body)), (joint,)))


def test_a_block_on_an_incline_breaks_loose_at_the_limit() -> None:
    """m g sin α against the static friction: below it rests for ever, above it slides with m g sin α - c."""
    static, sliding = 6.0, 4.0
    limit = np.arcsin(static / (MASS * G))
    held = simulate(block(sliding, static, limit - 1e-9), duration=1.0, method="stiction")
    assert not held.q.any() and not held.v.any() and not held.a.any()
    loose = simulate(block(sliding, static, limit + 1e-9), duration=1.0, method="stiction")
    # The first step still meets static friction; from then on it is the Coulomb friction.
    t = loose.t[1:] - loose.t[1]
    assert_close(loose.v[1:, 0], (static - sliding) / MASS * t, 1e-6)


def test_a_block_stops_and_stays() -> None:
    """It comes to rest after m v / c, v² m / (2 c) away, and does not move any more."""
    v0, c, dt = 1.5, 4.0, 1e-3
    motion = simulate(block(c), None, [v0], 1.0, dt=dt, method="stiction")
    stop = MASS * v0 / c
    assert np.all(motion.v[motion.t > stop + dt] == 0.0)
    assert np.all(motion.v[motion.t < stop - dt] > 0.0)
    assert np.ptp(motion.q[motion.t > stop + dt]) == 0.0
    assert abs(motion.q[-1, 0] - MASS * v0**2 / (2 * c)) < v0 * dt
    # Smooth friction creeps instead: the same block on a slope never stands still.
    creeping = simulate(block(c, angle=0.1), None, [v0], 1.5, dt=dt)
    assert np.all(creeping.v > 0.0)


def test_stick_slip() -> None:
    """A block drawn by a slow spring: it sticks while the spring's force grows from 2 c - s to s, then jumps.

    It sticks for 2 (s - c) / (K u), u the speed of the spring's end. Seen from there it then swings with the
    amplitude A = (s - c) / K at which it started with -u, until it is as fast as that again beyond: for
    (π + 2 atan(u / ω A)) / ω, by 2 A.
    """
    K, u, s, c = 800.0, 0.01, 6.0, 4.0
    robot = block(c, s)

    def spring(t: float, q: Array, v: Array) -> Array:
        return K * (u * t - q)

    motion = simulate(robot, None, None, 4.0, spring, method="stiction")
    still = motion.v[:, 0] == 0.0
    starts = motion.t[1:][still[:-1] & ~still[1:]]
    stops = motion.t[1:][~still[:-1] & still[1:]]
    assert abs(starts[0] - s / (K * u)) < 3e-3
    A, ω = (s - c) / K, np.sqrt(K / MASS)
    slip = (np.pi + 2 * np.arctan(u / (ω * A))) / ω
    assert np.allclose(starts[1:4] - stops[:3], 2 * A / u, rtol=0.02)
    assert np.allclose(stops[:3] - starts[:3], slip, rtol=0.02)
    positions = np.interp([starts[:3], stops[:3]], motion.t, motion.q[:, 0])
    assert np.allclose(positions[1] - positions[0], 2 * A + u * slip, rtol=0.01)


def test_a_stribeck_curve_slows_what_slides() -> None:
    """Against the motion with smooth friction and tiny steps: sliding, both follow the same curve."""
    robot = block(4.0, 7.0, 0.5, stribeck_velocity=0.3, damping=0.8)
    exact = simulate(robot, None, [0.6], 0.4, dt=1e-4, method="stiction")
    smooth = simulate(robot, None, [0.6], 0.4, dt=1e-4, smoothing=1e-6)
    assert_close(exact.v, smooth.v, 1e-3)


def residual(robot: Robot, q: Array, v: Array, tau: Array, h: float) -> tuple[Array, Array]:
    """How far v⁺ is from one that sticks within friction, or slides against all of it; and v⁺."""
    M, force, damping, bound = stiction_terms(robot, friction=True)(q, v, tau)
    _, after = step_function(robot, "stiction", friction=True)(q, v, tau, [], h)
    W = np.diag(np.linalg.inv(M + h * np.diag(damping)))
    p = M @ v + h * force - (M + h * np.diag(damping)) @ after
    sticking = np.maximum(np.abs(p) - h * bound, 0.0)
    return W * np.where(after == 0.0, sticking, p - h * bound * np.sign(after)), after


@fewer
@given(models(max_bodies=4), seeds)
def test_every_joint_sticks_or_slides(model: Model, seed: int) -> None:
    """Any tree, any state, some joints at rest: one of the two holds for each joint, to rounding."""
    robot = Robot(model)
    rng = np.random.default_rng(seed)
    q, v, tau = state(robot, rng)
    v = np.where(rng.random(robot.nv) < 0.5, 0.0, v * 10.0 ** rng.uniform(-4, 0, robot.nv))
    wrong, _ = residual(robot, q, v, robot.bias(q, v) + tau, 1e-3)
    assert np.abs(wrong).max() < 1e-11


def with_dry_friction(robot: Robot, *torques: float) -> Robot:
    """The robot with Coulomb friction in its joints."""
    return robot.with_joints(friction=list(torques))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ur5", "panda", "snake"])
def test_long_chains_find_the_joints_that_stick(name: str) -> None:
    robot = hc.load(name)
    robot = with_dry_friction(robot, *[5.0] * robot.nv)
    rng = np.random.default_rng(0)
    unsettled = stuck = 0
    for _ in range(500):
        q = robot.random(rng)
        v = np.where(rng.random(robot.nv) < 0.5, 0.0, rng.normal(size=robot.nv))
        wrong, after = residual(robot, q, v, robot.bias(q, v) + 6.0 * rng.normal(size=robot.nv), 1e-3)
        unsettled += np.abs(wrong).max() > 1e-9
        stuck += np.sum(after == 0.0)
    assert unsettled <= 2
    assert 0.2 < stuck / (500 * robot.nv) < 0.8


def test_one_joint_falls_while_another_sticks() -> None:
    """An elbow with much friction keeps its angle to the last digit, while the shoulder swings."""
    robot = with_dry_friction(hc.load("double_pendulum"), 0.1, 100.0)
    motion = simulate(robot, [1.2, 0.4], duration=1.0, method="stiction")
    assert np.all(motion.q[:, 1] == 0.4)
    assert np.ptp(motion.q[:, 0]) > 0.3
    assert np.all(np.diff(motion.energy) < 1e-3)


def test_compiled_batches_and_parameters() -> None:
    robot = with_dry_friction(hc.load("double_pendulum"), 0.4, 0.2)
    start = np.random.default_rng(0).normal(size=(5, 2))
    one = simulate(robot, start[3], duration=0.2, method="stiction")
    hc.set_compile(True)
    batch = simulate(Robot(robot.model), start, duration=0.2, method="stiction")
    hc.set_compile(False)
    assert_close(batch.q[3], one.q)
    free = hc.load("double_pendulum").parametric("friction")
    theta = np.array([0.0, 0.0, 0.4, 0.2])
    assert_close(simulate(free, start[3], duration=0.2, method="stiction", theta=theta).q, one.q)


def test_smoothing_has_no_place_here() -> None:
    with pytest.raises(hc.InputError, match="no option 'smoothing'"):
        simulate(block(1.0), duration=0.1, method="stiction", smoothing=0.1)


def test_dampers_between_links_act(rng: np.random.Generator) -> None:
    """Without dry friction, the method has the motion of one for smooth forces."""
    bare = hc.load("planar_2r").with_joints(friction=0.0, damping=0.0)
    robot = bare.with_spring("tip", "world", 20.0, 0.3, 8.0, point_b=(0, 0, 1))
    q, v = robot.random(rng), rng.normal(size=2)
    ends = [hc.simulate(robot, q, v, 0.2, dt=1e-4, method=method).v[-1] for method in ("rk4", "stiction")]
    undamped = hc.simulate(bare.with_spring("tip", "world", 20.0, 0.3, point_b=(0, 0, 1)), q, v, 0.2)
    assert np.abs(ends[0] - undamped.v[-1]).max() > 0.05
    np.testing.assert_allclose(ends[1], ends[0], atol=5e-3)
