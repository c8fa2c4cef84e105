"""Steps in time: their order of convergence on the manifold, and what they keep."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import helicoid as hc
from helicoid import Robot
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Link
from helicoid.simulation import simulate
from helicoid.simulation.equations import FIXED, step_function
from random_trees import assert_close, fewer, inertia, placement, robots, seeds, state
from random_trees import joint_type as random_joint

ORDERS = {"euler": 1, "semi_implicit_euler": 1, "stiction": 1, "rk4": 4}


def ball_tree() -> Robot:
    """A floating base that carries a ball joint with a hinge on it, and a planar joint."""
    rng = np.random.default_rng(7)
    kinds = {"ball": ("base", "spherical"), "hinge": ("ball", "revolute"), "plane": ("base", "planar")}
    links = [Link(name, inertia(rng)) for name in ("base", *kinds)]
    joints = [
        Joint(f"to_{name}", random_joint(kind, rng), parent, name, placement(rng))
        for name, (parent, kind) in kinds.items()
    ]
    return Robot(Model("ball_tree", tuple(links), tuple(joints), floating=True))


def final_errors(robot: Robot, method: Any, steps: list[int], duration: float) -> list[float]:
    """Distance from the truth after `duration`, for each number of steps."""
    q, v, tau = state(robot, 3)
    truth = simulate(robot, q, v, duration, tau, duration, "adaptive", rtol=1e-12, atol=1e-13)
    errors = []
    for n in steps:
        end = simulate(robot, q, v, duration, tau, duration, method, substeps=n)
        dq, dv = robot.difference(truth.q[-1], end.q[-1]), end.v[-1] - truth.v[-1]
        errors.append(float(np.linalg.norm(np.concatenate([dq, dv]))))
    return errors


@pytest.mark.parametrize("method", FIXED)
def test_order_of_convergence_with_ball_and_floating_joints(method: str) -> None:
    steps = [40, 80, 160] if ORDERS[method] == 4 else [100, 200, 400]
    errors = final_errors(ball_tree(), method, steps, 0.4)
    orders = [np.log2(coarse / fine) for coarse, fine in pairwise(errors)]
    np.testing.assert_allclose(orders, ORDERS[method], atol=0.12)


@fewer
@given(robot=robots(max_bodies=3), seed=seeds, method=st.sampled_from(FIXED))
def test_a_step_agrees_with_the_equations_and_stays_on_the_manifold(
    robot: Robot, seed: int, method: str
) -> None:
    """(x(h) - x(0)) / h tends to (v, a) as h does to zero, for any tree."""
    q, v, tau = state(robot, seed)
    step, h = step_function(robot, method, friction=False), 1e-6
    q_next, v_next = step(q, v, tau, [], h)
    a = robot.forward_dynamics(q, v, tau, friction=False)
    scale = 1.0 + np.abs(a).max()
    assert_close((v_next - v) / h, a, 1e-3, scale)
    assert_close(robot.difference(q, q_next) / h, v, 1e-3, scale)
    for body in robot.model.bodies:
        if body.joint.type.kind in ("spherical", "floating"):
            quaternion = q_next[body.q][-4:]
            assert abs(np.linalg.norm(quaternion) - 1) < 1e-15 * 4


@fewer
@given(robot=robots(max_bodies=3, mimics=True), seed=seeds)
def test_running_backwards_returns_to_the_start(robot: Robot, seed: int) -> None:
    """A step of -h undoes a step of h, up to what a step is off by: O(h⁵)."""
    q, v, tau = state(robot, seed)
    step = step_function(robot, "rk4", friction=False)
    back = step(*step(q, v, tau, [], 1e-4), tau, [], -1e-4)
    assert_close(robot.difference(q, back.q_next), np.zeros(robot.nv), 1e-10, 1.0)
    assert_close(back.v_next, v, 1e-9, 1.0 + np.abs(robot.forward_dynamics(q, v, tau)).max())


def test_a_torque_that_grows_during_a_step() -> None:
    """A falling mass under a force f + s ḟ: x = v t + (f - m g) t² / 2 m + ḟ t³ / 6 m, exact to order 4."""
    mass, force, rate, v, h = 2.0, 3.0, 40.0, 0.5, 0.1
    lift = hc.load(
        '<robot name="lift"><link name="base"/><joint name="z" type="prismatic"><parent link="base"/>'
        '<child link="load"/><axis xyz="0 0 1"/><limit lower="-9" upper="9" effort="9" velocity="9"/></joint>'
        f'<link name="load"><inertial><mass value="{mass}"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
    )
    step = step_function(lift, "rk4", ramp=True)
    x, v_next = step(np.zeros(1), np.array([v]), np.array([force]), np.zeros(0), h, np.array([rate]))
    a = force / mass - 9.81
    np.testing.assert_allclose(x, v * h + a * h**2 / 2 + rate * h**3 / (6 * mass), rtol=1e-12)
    np.testing.assert_allclose(v_next, v + a * h + rate * h**2 / (2 * mass), rtol=1e-12)
