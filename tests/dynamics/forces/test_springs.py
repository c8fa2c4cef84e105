"""Springs in the joints: energy, torque and derivatives agree, for every type of joint."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from helicoid import Robot
from helicoid.dynamics.forces.springs import spring_energy, spring_stiffness
from helicoid.dynamics.physics import nominal
from helicoid.dynamics.recursions.rnea import passive_torque
from helicoid.model.inertia import Inertia
from helicoid.model.joints import Prismatic, Revolute, Spherical, Universal
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Link, Mimic
from random_trees import Array, assert_close, fewer, inertia, models, seeds, state


def sprung(model: Model, seed: int) -> Robot:
    """The model with a spring in every joint."""
    rng = np.random.default_rng(seed)
    joints = []
    for joint in model.joints:
        free = np.full(joint.type.nq, np.inf)
        rest = joint.type.random(rng, -free, free)
        joints.append(replace(joint, stiffness=rng.uniform(1.0, 5.0, joint.type.nv), rest=rest))
    return Robot(model.replaced(joints=joints))


@fewer
@given(models(max_bodies=3), seeds)
def test_torque_is_the_gradient_of_energy(model: Model, seed: int) -> None:
    robot, plain = sprung(model, seed), Robot(model)
    q, v, a = state(robot, seed)
    gradient = robot.potential_energy.jacobian("q")(q).ravel()
    assert_close(robot.gravity(q) + robot.spring_torque(q), gradient)
    extra = robot.spring_torque(q)
    assert_close(robot.inverse_dynamics(q, v, a), plain.inverse_dynamics(q, v, a) + extra)
    assert_close(robot.bias(q, v), plain.bias(q, v) + extra)
    tau = robot.inverse_dynamics(q, v, a, friction=True)
    assert_close(robot.forward_dynamics(q, v, tau, friction=True), a, 1e-8)
    assert_close(robot.forward_dynamics_crba(q, v, tau, friction=True), a, 1e-8)


@fewer
@given(models(max_bodies=3), seeds)
def test_derivatives_include_the_springs(model: Model, seed: int) -> None:
    robot = sprung(model, seed)
    q, v, a = state(robot, seed)
    dq, dv, _ = robot.inverse_dynamics_derivatives(q, v, a, friction=True)
    function = robot.inverse_dynamics.with_options(friction=True)
    assert_close(dq, function.jacobian("q")(q, v, a), 1e-9)
    assert_close(dv, function.jacobian("v")(q, v, a), 1e-9)


def test_an_oscillator() -> None:
    """x = x₀ + A cos(ω t) with ω = √(K / m): the acceleration is -ω² (x - x₀)."""
    m, K, x0 = 2.0, 50.0, 0.3
    joint = Joint("slide", Prismatic([1, 0, 0]), "wall", "mass", stiffness=np.array([K]), rest=np.array([x0]))
    body = Inertia.from_com(m, np.zeros(3), np.eye(3))
    robot = Robot(Model("oscillator", (Link("wall"), Link("mass", body)), (joint,)))
    assert_close(robot.forward_dynamics([0.5], [3.0], [0.0]), [-K / m * 0.2])
    assert_close(robot.potential_energy([0.5]), K * 0.2**2 / 2)
    assert_close(robot.forward_dynamics_derivatives([0.5], [3.0], [0.0])[0], [[-K / m]])


def test_a_ball_with_one_stiffness_is_pulled_straight_back() -> None:
    """With equal stiffness the torque is K times the rotation vector from rest, as of a vector space."""
    body = inertia(np.random.default_rng(0))
    rest = Spherical().random(np.random.default_rng(1), np.zeros(4), np.zeros(4))
    joint = Joint("ball", Spherical(), "world", "arm", stiffness=np.full(3, 7.0), rest=rest)
    robot = Robot(Model("ball", (Link("world"), Link("arm", body)), (joint,)))
    δ = np.array([0.4, -1.1, 0.8])
    assert_close(robot.spring_torque(robot.integrate(rest, δ)), 7.0 * δ)
    assert_close(robot.spring_torque(rest), np.zeros(3))
    dq = robot.inverse_dynamics_derivatives(rest, np.zeros(3), np.zeros(3), gravity=[0, 0, 0])[0]
    assert_close(dq, 7.0 * np.eye(3))


def test_a_mimic_stretches_its_own_spring() -> None:
    """U = ½ K (k q + o - rest)²: the source feels k K (k q + o - rest)."""
    body, k, o, K, rest = inertia(np.random.default_rng(0)), -2.0, 0.4, 5.0, 0.1
    source = Joint("source", Revolute([0, 0, 1]), "world", "a")
    spring = {"stiffness": np.array([K]), "rest": np.array([rest])}
    follower = Joint("follower", Revolute([0, 0, 1]), "world", "b", mimic=Mimic("source", k, o), **spring)
    robot = Robot(Model("geared", (Link("world"), Link("a", body), Link("b", body)), (source, follower)))
    assert_close(robot.spring_torque([0.7]), [k * K * (k * 0.7 + o - rest)])


def test_nothing_is_added_without_springs() -> None:
    model = hc.load("ur5").model
    q, v = ca.SX.sym("q", model.nq), ca.SX.sym("v", model.nv)
    physics = nominal(model).without_friction()
    assert passive_torque(model, physics, q, v).is_zero()
    assert spring_stiffness(model, q).is_zero()
    assert spring_energy(model, q).is_zero()


def test_rest_must_be_a_configuration() -> None:
    with pytest.raises(hc.ModelError, match=r"'ball'.*quaternions unit"):
        Joint("ball", Spherical(), "a", "b", rest=np.array([1.0, 1.0, 0.0, 0.0]))
    with pytest.raises(hc.ModelError, match="expected shape"):
        Joint("hinge", Revolute([0, 0, 1]), "a", "b", rest=np.array([1.0, 1.0]))


def swing(robot: Robot, q: Array, v: Array, dt: float, n: int) -> tuple[Array, Array]:
    for _ in range(n):
        v = v + dt * robot.forward_dynamics(q, v, np.zeros(robot.nv))
        q = robot.integrate(q, dt * v)
    return q, v


def test_energy_of_a_swinging_ball_is_kept() -> None:
    """With stiffness that differs by axis, energy changes by the error of the integrator alone."""
    joint = Joint("ball", Spherical(), "world", "arm", stiffness=np.array([3.0, 30.0, 90.0]))
    body = inertia(np.random.default_rng(3))
    robot = Robot(Model("ball", (Link("world"), Link("arm", body)), (joint,)))
    start = robot.integrate(robot.neutral(), np.array([0.9, 0.5, -0.7])), np.array([1.0, -2.0, 0.5])
    before = robot.kinetic_energy(*start) + robot.potential_energy(start[0])
    errors = []
    for n in (200, 400):
        q, v = swing(robot, *start, 0.2 / n, n)
        errors.append(abs(robot.kinetic_energy(q, v) + robot.potential_energy(q) - before))
    assert errors[1] < 0.6 * errors[0] and errors[1] < 0.02 * abs(before)


def test_springs_stay_when_the_robot_stands_on_another_link() -> None:
    """Joints that turn around keep their coordinates, and with them the energy of their springs."""
    rng = np.random.default_rng(0)
    joints = (
        Joint("a", Revolute([0, 0, 1]), "base", "1", stiffness=np.array([5.0]), rest=np.array([0.3])),
        Joint("b", Universal([1, 0, 0], [0, 1, 0]), "1", "2", stiffness=np.array([2.0, 3.0])),
    )
    robot = Robot(Model("chain", tuple(Link(name, inertia(rng)) for name in ("base", "1", "2")), joints))
    turned = robot.reroot("2")
    assert turned.joint_names == ["b", "a"]
    q = np.array([0.7, 0.2, -0.4])
    weightless = {"gravity": [0.0, 0.0, 0.0]}
    energy = (5.0 * 0.4**2 + 2.0 * 0.2**2 + 3.0 * 0.4**2) / 2
    assert_close(robot.potential_energy(q, **weightless), energy)
    assert_close(turned.potential_energy([-0.4, 0.2, 0.7], **weightless), energy)
