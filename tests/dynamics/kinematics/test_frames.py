"""Poses, Jacobians and their rates against the geometry that they differentiate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import helicoid as hc
from helicoid.geometry import se3, so3
from random_trees import Array, assert_close, few, fewer, robots, seeds, state


def frame_of(robot: hc.Robot, choice: int) -> str:
    """Any link; of a robot with a mimic joint, mostly one that this joint carries."""
    followers = [body.name for body in robot.model.bodies if body.joint.mimic is not None]
    names = robot.link_names + 3 * robot.n_bodies * followers
    return names[choice % len(names)]


def blocks(R: Array, p: Array) -> Array:
    """From a twist in the frame's own axes to world axes and the world's origin."""
    return np.block([[R, np.zeros((3, 3))], [so3.hat(p) @ R, R]])


@few
@given(robots(), seeds)
def test_jacobian_is_the_derivative_of_the_pose(robot: hc.Robot, seed: int) -> None:
    """T⁻¹ ∂T = [J_body] along each tangent direction; the other references are J_body seen elsewhere."""
    q, v, _ = state(robot, seed)
    frame = frame_of(robot, seed)
    pose, J = robot.pose(frame)(q), robot.jacobian(frame, "body")(q)
    dT = robot.pose(frame).jacobian("q")(q)
    for k in range(robot.nv):
        assert_close(np.linalg.inv(pose) @ dT[:, :, k], se3.hat(J[:, k]))
    R, p = pose[:3, :3], pose[:3, 3]
    assert_close(R @ R.T, np.eye(3), 1e-14)
    assert_close(robot.jacobian(frame)(q), blocks(R, p) @ J, scale=1.0)
    aligned = robot.jacobian(frame, "world_aligned")(q)
    assert_close(aligned, blocks(R, np.zeros(3)) @ J)
    assert_close(robot.velocity(frame, "world_aligned")(q, v), aligned @ v, scale=1.0)


@fewer
@given(robots(max_bodies=4), seeds, st.sampled_from(["world", "world_aligned", "body"]))
def test_rates_of_a_twist(robot: hc.Robot, seed: int, reference: str) -> None:
    """J̇ = dJ/dt; acceleration = J a + J̇ v = d(twist)/dt, here along a motion q ⊕ (v t + a t²/2)."""
    q, v, a = state(robot, seed)
    frame, t = frame_of(robot, seed), 1e-5
    twist = robot.velocity(frame, reference)
    J, J_dot = robot.jacobian(frame, reference), robot.jacobian_dot(frame, reference)(q, v)
    assert_close(J.time_derivative()(q, v), J_dot, scale=1.0)
    rate = J(q) @ a + J_dot @ v
    assert_close(robot.acceleration(frame, reference)(q, v, a), rate, scale=1.0)
    after, before = (twist(robot.integrate(q, s * v), v + s * a) for s in (t, -t))
    assert_close((after - before) / (2 * t), rate, 1e-6, scale=1.0)


@fewer
@given(robots(), seeds)
def test_pose_moves_with_its_twist(robot: hc.Robot, seed: int) -> None:
    """T(q ⊕ h dv) = T(q) exp(h J_body dv) up to second order, over a step that is not infinitesimal."""
    q, v, _ = state(robot, seed)
    frame, h = frame_of(robot, seed), 1e-4
    pose, J = robot.pose(frame), robot.jacobian(frame, "body")(q)
    ahead, back = pose(robot.integrate(q, np.array([h * v, -h * v])))
    moved = se3.log(np.linalg.inv(back) @ ahead) / (2 * h)
    assert_close(moved, J @ v, 1e-6, scale=1.0)


@few
@given(robots(), seeds)
def test_configuration_manifold(robot: hc.Robot, seed: int) -> None:
    """integrate and difference undo each other, stay on the manifold, and start as q̇ = Γ v."""
    q, v, _ = state(robot, seed)
    other = robot.random(seed + 1)
    dv = v / max(1.0, np.linalg.norm(v) / 3.0)  # no turn beyond π, which has a shorter way
    moved = robot.integrate(q, dv)
    assert_close(robot.difference(q, moved), dv, 1e-9)
    reached = robot.integrate(q, robot.difference(q, other))
    frame = frame_of(robot, seed)  # compared by pose: a quaternion and its negative are the same
    assert_close(robot.pose(frame)(reached), robot.pose(frame)(other), 1e-9, scale=1.0)
    assert_close(robot.difference(q, q), np.zeros(robot.nv), 1e-9)
    for body in robot.model.bodies:
        if body.joint.type.nq != body.joint.type.nv:
            lengths = [np.linalg.norm(x[body.q][-4:]) for x in (q, moved, reached, robot.neutral())]
            assert_close(lengths, np.ones(4), 1e-14)
    assert_close(robot.integrate.jacobian("dv")(q, np.zeros(robot.nv)), rate_matrix(robot, q))


def rate_matrix(robot: hc.Robot, q: Array) -> Array:
    return np.eye(robot.nq) if robot.tangent is None else np.array(robot.tangent(q))


def test_poses_of_a_known_arm() -> None:
    """The planar arm's tip, by eye, and the root that does not move."""
    robot = hc.load("planar_2r")
    t1, t2 = 0.3, 0.5
    tip = [np.cos(t1) + 0.8 * np.cos(t1 + t2), 0.0, np.sin(t1) + 0.8 * np.sin(t1 + t2)]
    assert_close(robot.pose("tip")([t1, t2])[:3, 3], tip, 1e-14)
    assert_close(robot.pose(robot.model.root)([t1, t2]), np.eye(4))
    assert_close(robot.jacobian(robot.model.root)([t1, t2]), np.zeros((6, 2)))


@pytest.mark.parametrize("function", ["jacobian", "jacobian_dot", "velocity", "acceleration"])
def test_unknown_reference_is_refused(function: str) -> None:
    robot = hc.load("ur5")
    with pytest.raises(hc.InputError, match="one of world, world_aligned, body; got 'tool'"):
        getattr(robot, function)("tool0", "tool")


@pytest.mark.parametrize("function", ["pose", "jacobian", "jacobian_dot", "velocity", "acceleration"])
def test_unknown_frame_suggests_the_nearest(function: str) -> None:
    with pytest.raises(hc.ModelError, match="'tool_0'; did you mean 'tool0'"):
        getattr(hc.load("ur5"), function)("tool_0")


@fewer
@given(robots(max_bodies=4), seeds)
def test_velocities_of_floating_bodies_in_world_axes(robot: hc.Robot, seed: int) -> None:
    """u = T v has a floating body's velocity in world axes, then its angular velocity in its own axes."""
    q, v, _ = state(robot, seed)
    u = robot.mixed_velocity_matrix(q) @ v
    expected = v.copy()
    for body in robot.model.bodies:
        if body.joint.type.kind == "floating" and body.parent == -1:
            expected[body.v][:3] = robot.velocity(body.name, "world_aligned")(q, v)[3:]
            expected[body.v][3:] = robot.velocity(body.name, "body")(q, v)[:3]
        elif body.joint.type.kind == "floating":
            expected[body.v] = u[body.v]
    assert_close(u, expected)
