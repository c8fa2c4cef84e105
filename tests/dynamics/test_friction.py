"""Friction, armature and how a mimic joint scales them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helicoid import ModelError, Robot
from helicoid.model.joints import Revolute
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Link, Mimic
from random_trees import Array, assert_close, fewer, inertia, robots, seeds, state

D, C, J = 0.3, 0.7, 0.05


def friction_of(robot: Robot, v: Array, **options: float) -> Array:
    q, a = robot.neutral(), np.zeros(robot.nv)
    with_friction = robot.inverse_dynamics(q, v, a, friction=True, **options)
    return np.asarray(with_friction - robot.inverse_dynamics(q, v, a))


def wheel(damping: float = D, friction: float = C, armature: float = J) -> Robot:
    """One hinge through a center of mass."""
    body = inertia(np.random.default_rng(0))
    joint = Joint(
        "axle", Revolute([0, 0, 1]), "world", "wheel", damping=damping, friction=friction, armature=armature
    )
    return Robot(Model("wheel", (Link("world"), Link("wheel", body)), (joint,)))


@pytest.mark.parametrize("v", [-2.0, -0.005, 0.0, 0.003, 1.5])
def test_viscous_and_smooth_coulomb(v: float) -> None:
    """d v + c tanh(v / ε), ε = 0.01 unless said otherwise."""
    robot = wheel()
    assert_close(friction_of(robot, np.array([v])), [D * v + C * np.tanh(v / 0.01)])
    assert_close(friction_of(robot, np.array([v]), smoothing=0.1), [D * v + C * np.tanh(v / 0.1)])


@pytest.mark.parametrize("v", [-1e-9, 0.0, 1e-9, 3.0])
def test_smoothing_zero_is_the_sign(v: float) -> None:
    assert_close(friction_of(wheel(), np.array([v]), smoothing=0), [D * v + C * np.sign(v)])


def test_sign_is_the_limit_of_smoothing() -> None:
    robot, v = wheel(), np.array([0.02])
    exact = friction_of(robot, v, smoothing=0.0)
    errors = [np.abs(friction_of(robot, v, smoothing=e) - exact).max() for e in (0.1, 0.03, 0.01, 0.003)]
    assert errors[0] > errors[1] > errors[2] > errors[3]
    assert errors[0] > 0.1 * C and errors[3] < 1e-5


@fewer
@given(robots(max_bodies=3), seeds, st.sampled_from([0.0, 0.01, 1.0]))
def test_friction_takes_power(robot: Robot, seed: int, smoothing: float) -> None:
    """vᵀ τ_friction >= 0 joint by joint, and free motion loses exactly that power."""
    q, v, _ = state(robot, seed)
    options = {"friction": True, "smoothing": smoothing}
    torque = robot.bias(q, v, **options) - robot.bias(q, v)
    assert np.all(torque * v >= -1e-12)
    assert v @ torque > 0
    free = robot.forward_dynamics(q, v, np.zeros(robot.nv), **options)
    change = robot.kinetic_energy.time_derivative()(q, v, free) + robot.gravity(q) @ v
    assert_close(change, -v @ torque, 1e-9, scale=float(np.abs(v) @ np.abs(robot.gravity(q)) + 1.0))


def test_friction_enters_only_when_asked_and_armature_always() -> None:
    plain, with_friction = wheel(0.0, 0.0, 0.0), wheel()
    q, v, a = np.zeros(1), np.array([2.0]), np.array([3.0])
    for name in ("inverse_dynamics", "bias"):
        arguments = (q, v, a)[: len(getattr(plain, name).inputs)]
        expected = getattr(plain, name)(*arguments) + (J * a if name == "inverse_dynamics" else 0.0)
        assert_close(getattr(with_friction, name)(*arguments), expected)
        assert_close(getattr(with_friction, name)(*arguments, friction=False), expected)
        assert getattr(with_friction, name)(*arguments, friction=True)[0] > expected[0] + C
    assert_close(with_friction.mass_matrix(q), plain.mass_matrix(q) + J)
    assert_close(with_friction.kinetic_energy(q, v), plain.kinetic_energy(q, v) + J * v[0] ** 2 / 2)
    assert_close(with_friction.mass_matrix_inverse(q), 1 / with_friction.mass_matrix(q))
    assert_close(with_friction.gravity(q), plain.gravity(q))
    assert_close(with_friction.coriolis(q, v), plain.coriolis(q, v))
    faster, slower = (with_friction.forward_dynamics(q, v, a, friction=on)[0] for on in (False, True))
    assert_close(faster - slower, (D * v[0] + C) / with_friction.mass_matrix(q)[0, 0])


def test_parametric_friction_enters_unless_refused() -> None:
    robot = wheel(0.0, 0.0).parametric("friction")
    assert robot.parameters.names == ("axle.damping", "axle.friction")
    q, v, a, theta = np.zeros(1), np.array([2.0]), np.zeros(1), np.array([0.4, 0.6])
    assert_close(robot.inverse_dynamics(q, v, a, theta), wheel().bias(q, v) + 0.4 * 2 + 0.6)
    assert_close(robot.inverse_dynamics(q, v, a, theta, friction=False), wheel().bias(q, v))
    exact = robot.bias(q, -1e-9 * v, theta, smoothing=0) - wheel().bias(q, v)
    assert_close(exact, [-0.6], 1e-8)


@pytest.mark.parametrize("k", [-3.0, 0.5, 2.0])
def test_mimic_scales(k: float) -> None:
    """The source feels k² of a follower's damping and armature, and |k| of its Coulomb friction."""
    body = inertia(np.random.default_rng(0))
    dissipation = {"damping": D, "friction": C, "armature": J}
    source = Joint("source", Revolute([0, 0, 1]), "world", "a")
    follower = Joint(
        "follower", Revolute([0, 0, 1]), "world", "b", mimic=Mimic("source", k, 0.4), **dissipation
    )
    links = (Link("world"), Link("a", body), Link("b", body))
    robot = Robot(Model("geared", links, (source, follower)))
    free = Robot(Model("free", links, (source, Joint("follower", Revolute([0, 0, 1]), "world", "b"))))
    v = np.array([0.8])
    expected = k**2 * D * v + abs(k) * C
    assert_close(friction_of(robot, v, smoothing=0), expected)
    # By virtual power: M of the pair projected on the motion (1, k), at q and k q + o.
    q = np.array([0.3, k * 0.3 + 0.4])
    W = np.array([1.0, k])
    assert_close(robot.mass_matrix(q[:1]), [[W @ free.mass_matrix(q) @ W + k**2 * J]])
    assert_close(robot.gravity(q[:1]), [W @ free.gravity(q)])
    a = np.array([1.7])
    expected = [W @ free.inverse_dynamics(q, W * v, W * a) + k**2 * J * a[0]]
    assert_close(robot.inverse_dynamics(q[:1], v, a), expected)
    assert_close(robot.pose("b")(q[:1]), free.pose("b")(q))
    assert robot.joint_names == ["source"]


def stribeck_wheel(v_s: float = 0.1) -> Robot:
    body = inertia(np.random.default_rng(0))
    dry = {"damping": D, "friction": C, "static_friction": 2 * C, "stribeck_velocity": v_s}
    joint = Joint("axle", Revolute([0, 0, 1]), "world", "wheel", **dry)
    return Robot(Model("wheel", (Link("world"), Link("wheel", body)), (joint,)))


@pytest.mark.parametrize("v", [-2.0, -0.15, -0.02, 0.0, 0.05, 1.5])
def test_stribeck(v: float) -> None:
    """d v + [c + (s - c) exp(-(v / v_s)²)] sign(v), smoothed alike."""
    dry = C + C * np.exp(-((v / 0.1) ** 2))
    robot = stribeck_wheel()
    assert_close(friction_of(robot, np.array([v])), [D * v + dry * np.tanh(v / 0.01)])
    assert_close(friction_of(robot, np.array([v]), smoothing=0), [D * v + dry * np.sign(v)])
    q, a = np.zeros(1), np.ones(1)
    tau = robot.inverse_dynamics(q, [v], a, friction=True)
    assert_close(robot.forward_dynamics(q, [v], tau, friction=True), a)
    slope = robot.inverse_dynamics_derivatives(q, [v], a, friction=True)[1]
    h = 1e-6
    ahead, behind = (friction_of(robot, np.array([v + e])) for e in (h, -h))
    # The wheel turns about a fixed axis: nothing else depends on its velocity.
    assert_close(slope, [(ahead - behind) / (2 * h)], 1e-6)
    bend = robot.inverse_dynamics_second_derivatives(q, [v], a, friction=True)[2]
    middle = friction_of(robot, np.array([v]))
    h = 1e-4
    ahead, behind = (friction_of(robot, np.array([v + e])) for e in (h, -h))
    assert_close(np.ravel(bend), (ahead - 2 * middle + behind) / h**2, 1e-2, scale=100.0)


def test_without_a_stribeck_velocity_static_friction_acts_at_rest_alone() -> None:
    v = np.array([0.02])
    assert_close(friction_of(stribeck_wheel(0.0), v), friction_of(wheel(), v))


def test_a_mimic_meets_its_stribeck_velocity_sooner() -> None:
    """The follower slips at k v: half its Stribeck velocity at k = 2, and twice its friction."""
    k, v, v_s = 2.0, np.array([0.04]), 0.1
    body = inertia(np.random.default_rng(0))
    dry = {"friction": C, "static_friction": 2 * C, "stribeck_velocity": v_s}
    source = Joint("source", Revolute([0, 0, 1]), "world", "a", **dry)
    follower = Joint("follower", Revolute([0, 0, 1]), "world", "b", mimic=Mimic("source", k), **dry)
    robot = Robot(Model("geared", (Link("world"), Link("a", body), Link("b", body)), (source, follower)))
    own, other = (C + C * np.exp(-((x / v_s) ** 2)) for x in (v, k * v))
    assert_close(friction_of(robot, v, smoothing=0), own + k * other)


def test_impossible_friction_is_refused() -> None:
    for wrong, message in (
        ({"friction": 2.0, "static_friction": 1.0}, "below its Coulomb friction"),
        ({"friction": 2.0, "stribeck_velocity": 1.0}, "needs a static friction"),
    ):
        with pytest.raises(ModelError, match=f"'axle'.*{message}"):
            Joint("axle", Revolute([0, 0, 1]), "a", "b", **wrong)


def test_parametric_friction_keeps_what_is_beyond_coulomb() -> None:
    robot, v, d, c = stribeck_wheel().parametric("friction"), np.array([0.05]), 0.9, 1.3
    q, a = np.zeros(1), np.zeros(1)
    friction = robot.inverse_dynamics(q, v, a, [d, c], smoothing=0) - robot.inverse_dynamics(
        q, v, a, [d, c], friction=False
    )
    assert_close(friction, d * v + c + C * np.exp(-((v / 0.1) ** 2)))
