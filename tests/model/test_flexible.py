"""Flexible joints: Spong's equations, eigenfrequencies, and the rigid limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import helicoid as hc
from helicoid import ModelError, Robot
from helicoid.model.edits.drives import Drive
from helicoid.model.inertia import Inertia
from helicoid.model.joints import Revolute, Spherical
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Limits, Link, Mimic
from random_trees import Array, assert_close

B, K, D = np.array([0.4, 0.1]), np.array([300.0, 80.0]), np.array([2.0, 0.5])


def geared() -> Robot:
    """The 2R arm with motors."""
    drives = {"joint_1": Drive(100, B[0] / 1e4), "joint_2": Drive(100, B[1] / 1e4)}
    return hc.load("planar_2r").with_drives(drives)


def flexible_2r() -> Robot:
    stiffness, damping = ({"joint_1": x[0], "joint_2": x[1]} for x in (K, D))
    return geared().with_flexible_joints(stiffness, damping)


def woven(θ: Array, δ: Array) -> Array:
    """(θ₁, δ₁, θ₂, δ₂): the order of the flexible robot."""
    return np.column_stack([θ, δ]).ravel()


def test_equations_are_spongs() -> None:
    """M(q) q̈ + h + K (q - θ) + D (q̇ - θ̇) = 0 and B θ̈ - K (q - θ) - D (q̇ - θ̇) = τ, with q = θ + δ."""
    robot, rigid = flexible_2r(), hc.load("planar_2r")
    assert robot.joint_names == ["joint_1_motor", "joint_1", "joint_2_motor", "joint_2"]
    rng = np.random.default_rng(0)
    for _ in range(5):
        θ, δ, θd, δd, τ = rng.normal(size=(5, 2))
        q, qd = θ + δ, θd + δd
        transmitted = K * δ + D * δd
        qdd = np.linalg.solve(rigid.mass_matrix(q), -rigid.bias(q, qd) - transmitted)
        θdd = (τ + transmitted) / B
        expected = woven(θdd, qdd - θdd)
        state = woven(θ, δ), woven(θd, δd), woven(τ, np.zeros(2))
        assert_close(robot.forward_dynamics(*state, friction=True), expected)
        assert_close(robot.forward_dynamics_crba(*state, friction=True), expected)
        assert_close(robot.link_positions(state[0]), q)
        assert_close(robot.link_velocities(state[1]), qd)
        # M = [[M + B, M], [M, M]], motors before springs.
        order = [0, 2, 1, 3]
        M = rigid.mass_matrix(q)
        blocks = np.block([[M + np.diag(B), M], [M, M]])
        assert_close(robot.mass_matrix(state[0])[np.ix_(order, order)], blocks)


def wheel(armature: float = 0.2, inertia: float = 0.7, **fields: object) -> Robot:
    body = Inertia.from_com(1.0, np.zeros(3), np.diag([inertia] * 3))
    joint = Joint("axle", Revolute([0, 0, 1]), "base", "wheel", armature=np.array([armature]), **fields)  # type: ignore[arg-type]
    return Robot(Model("wheel", (Link("base"), Link("wheel", body)), (joint,)))


def frequencies(robot: Robot, free: list[int]) -> Array:
    """ω of M ẍ + K x = 0 in the coordinates `free`, the others held (rad/s)."""
    q, zero = robot.neutral(), np.zeros(robot.nv)
    stiff = robot.inverse_dynamics_derivatives(q, zero, zero)[0][np.ix_(free, free)]
    squares = np.linalg.eigvals(np.linalg.solve(robot.mass_matrix(q)[np.ix_(free, free)], stiff))
    return np.sqrt(np.sort(squares.real))


def test_eigenfrequencies_of_one_joint() -> None:
    """Free motor: 0 and √(K (1/J + 1/B)). Motor held: √(K / J). Link held: √(K / B)."""
    J, B, K = 0.7, 0.2, 45.0
    robot = wheel(B, J).with_flexible_joints(K)
    free, held = np.sqrt(K * (1 / J + 1 / B)), np.sqrt(K / J)
    assert_close(frequencies(robot, [0, 1]), [0.0, free])
    assert_close(frequencies(robot, [1]), [held])
    # Holding the link means θ = -δ: project the equations on that motion.
    w = np.array([1.0, -1.0])
    M, stiff = robot.mass_matrix([0, 0]), np.diag([0.0, K])
    assert_close((w @ stiff @ w) / (w @ M @ w), K / B)


def swing(robot: Robot, q: Array, v: Array, motors: list[int], dt: float, n: int) -> Array:
    """Where the links are after RK4 steps under a torque that oscillates."""
    tau = np.zeros(robot.nv)

    def rate(t: float, q: Array, v: Array) -> tuple[Array, Array]:
        tau[motors] = [3.0 * np.cos(9.0 * t), -np.sin(7.0 * t)]
        return v, robot.forward_dynamics(q, v, tau, friction=True)

    for k in range(n):
        q1, v1 = rate(k * dt, q, v)
        q2, v2 = rate((k + 0.5) * dt, q + dt / 2 * q1, v + dt / 2 * v1)
        q3, v3 = rate((k + 0.5) * dt, q + dt / 2 * q2, v + dt / 2 * v2)
        q4, v4 = rate((k + 1) * dt, q + dt * q3, v + dt * v3)
        q, v = q + dt / 6 * (q1 + 2 * q2 + 2 * q3 + q4), v + dt / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
    return robot.link_positions(q)


@pytest.mark.slow
def test_rigid_limit() -> None:
    """As the stiffness grows, the links move as those of the rigid robot with armature; error ~ 1/K."""
    rigid = geared()
    start = np.array([0.4, -0.7])
    expected = swing(rigid, start, np.zeros(2), [0, 1], 5e-4, 800)
    errors = []
    for stiffness in (1e3, 1e4, 1e5):
        # Critical damping by the smaller inertia lets the vibration of the start die away.
        robot = rigid.with_flexible_joints(stiffness, 2 * np.sqrt(0.02 * stiffness))
        δ = -rigid.gravity(start) / stiffness
        found = swing(robot, woven(start - δ, δ), np.zeros(4), [0, 2], 5e-4, 800)
        errors.append(np.abs(found - expected).max())
    assert errors[0] > 5 * errors[1] > 25 * errors[2]
    assert errors[2] < 2e-4


def test_the_motor_keeps_what_belongs_to_the_drive() -> None:
    one = np.ones(1)
    limits = Limits(-2 * one, 3 * one, 4 * one, 5 * one)
    stated = {"damping": 0.3 * one, "friction": 0.2 * one, "static_friction": 0.4 * one, "limits": limits}
    robot = wheel(**stated).with_flexible_joints({"axle": 50.0}, {"axle": 0.1})
    motor, spring = robot.model.joint("axle_motor"), robot.model.joint("axle")
    assert (motor.damping[0], motor.friction[0], motor.static_friction[0]) == (0.3, 0.2, 0.4)
    assert_close(np.ravel(motor.range), [-2, 3, 4, 5])
    assert (spring.damping[0], spring.friction[0], spring.armature[0]) == (0.1, 0.0, 0.0)
    assert robot.motor_joints == ["axle_motor"]
    assert_close(robot.limits.effort, [5.0, 0.0])


def test_written_and_read_it_is_the_same(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    robot = flexible_2r()
    robot.to_urdf(tmp_path / "flexible.urdf")
    again = hc.load(tmp_path / "flexible.urdf")
    assert not recwarn.list
    assert again.motor_joints == robot.motor_joints == ["joint_1_motor", "joint_2_motor"]
    rng = np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, 4))
    for name in ("forward_dynamics", "inverse_dynamics"):
        assert_close(
            getattr(again, name)(q, v, tau, friction=True), getattr(robot, name)(q, v, tau, friction=True)
        )
    assert_close(again.link_positions(q), robot.link_positions(q))


def test_one_number_makes_every_motor_flexible() -> None:
    """Floating base and ball joints stay as they are; so do springs without a drive."""
    body = Inertia.from_com(1.0, np.zeros(3), 0.1 * np.eye(3))
    joints = (
        Joint("a", Revolute([0, 0, 1]), "base", "1", armature=np.ones(1)),
        Joint("b", Spherical(), "1", "2"),
        Joint("c", Revolute([1, 0, 0]), "2", "3", armature=np.ones(1)),
    )
    model = Model("mixed", tuple(Link(name, body) for name in ("base", "1", "2", "3")), joints, True)
    robot = Robot(model).with_flexible_joints(10.0)
    assert robot.joint_names == ["floating_base", "a_motor", "a", "b", "c_motor", "c"]
    assert robot.motor_joints == ["a_motor", "b", "c_motor"]
    q = robot.random(0)
    assert_close(robot.link_positions(q), np.r_[q[:7], q[7] + q[8], q[9:13], q[13] + q[14]])
    assert robot.with_flexible_joints({}).joint_names == robot.joint_names


def test_what_cannot_be_flexible_is_refused() -> None:
    with pytest.raises(ModelError, match=r"'axle' .*armature is 0.*with_drives"):
        wheel(0.0).with_flexible_joints(10.0)
    for stiffness, damping in ((0.0, 0.0), (-1.0, 0.0), (np.inf, 0.0), (1.0, -1.0), (1.0, np.nan)):
        with pytest.raises(ModelError, match="stiffness > 0 and damping >= 0"):
            wheel().with_flexible_joints(stiffness, damping)
    with pytest.raises(ModelError, match=r"no joint .*'axel'.*'axle'"):
        wheel().with_flexible_joints({"axel": 10.0})
    with pytest.raises(ModelError, match="'axel', which is not made flexible"):
        wheel().with_flexible_joints({"axle": 10.0}, {"axel": 1.0})
    with pytest.raises(ModelError, match="a spring already"):
        wheel(stiffness=np.ones(1)).with_flexible_joints({"axle": 10.0})
    robot = wheel()
    follower = Joint("idler", Revolute([0, 0, 1]), "base", "other", mimic=Mimic("axle"))
    links = (*robot.model.links, Link("other", Inertia.from_com(1.0, np.zeros(3), np.eye(3))))
    pair = Robot(Model("pair", links, (*robot.model.joints, follower)))
    with pytest.raises(ModelError, match="idler mimics it"):
        pair.with_flexible_joints({"axle": 10.0})
    with pytest.raises(ModelError, match="not one coordinate of its own"):
        pair.with_flexible_joints({"idler": 10.0})
