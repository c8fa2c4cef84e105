"""Parametric robots: θ at run time gives what the same numbers give when they are part of the model."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import helicoid as hc
from helicoid.dynamics.parametric import parameter_groups, term_groups
from helicoid.model.inertia import Inertia
from random_trees import Array, assert_close, few, inertia, moving_links, robots, seeds, state

some_groups = st.permutations(parameter_groups()).flatmap(
    lambda order: st.integers(1, len(order)).map(lambda n: tuple(order[:n]))
)


@few
@given(robots(max_bodies=2), some_groups, seeds)
def test_theta_equals_the_model_with_these_numbers(
    robot: hc.Robot, groups: tuple[str, ...], seed: int
) -> None:
    """Any groups in any order, at other values than the nominal ones, in every dynamics function."""
    rng = np.random.default_rng(seed)
    link = moving_links(robot)[seed % len(moving_links(robot))]
    asked = robot.parametric(*groups, payload_link=link if "payload" in groups else None)
    theta = other_theta(robot, groups, rng)
    constant, options = rebuilt(robot, groups, theta, link)
    values = np.concatenate([theta[group] for group in groups])
    assert values.shape == (len(asked.parameters),) == asked.parameters.values.shape

    q, v, a = state(robot, seed)
    expected = constant.inverse_dynamics(q, v, a, **options)
    assert_close(asked.inverse_dynamics(q, v, a, values), expected, 1e-9)
    assert_close(asked.forward_dynamics(q, v, expected, values), a, 1e-6, scale=10.0)
    assert_close(asked.forward_dynamics_crba(q, v, expected, values), a, 1e-6, scale=10.0)
    assert_close(asked.mass_matrix(q, values), constant.mass_matrix(q))
    assert_close(asked.kinetic_energy(q, v, values), constant.kinetic_energy(q, v))
    assert_close(asked.center_of_mass(q, values), constant.center_of_mass(q), scale=1.0)
    gravity = {key: value for key, value in options.items() if key == "gravity"}
    assert_close(asked.potential_energy(q, values), constant.potential_energy(q, **gravity), scale=10.0)


def other_theta(robot: hc.Robot, groups: tuple[str, ...], rng: np.random.Generator) -> dict[str, Array]:
    """Physical values for each group, none of them the nominal ones."""
    bodies = [inertia(rng).parameters for _ in robot.model.bodies]
    damping, friction, armature, *terms = per_velocity = rng.uniform(
        0.0, 0.5, (3 + len(term_groups()), robot.nv)
    )
    if robot.model.floating:  # no model can state these of its base
        per_velocity[:, :6] = 0.0
    values = {
        "inertia": np.concatenate(bodies),
        "friction": np.concatenate([damping, friction]),
        "armature": armature,
        "gravity": rng.normal(0.0, 5.0, 3),
        "payload": inertia(rng).parameters,
        "elastic": np.zeros(0),  # of elements between links; these trees have none
        **dict(zip(term_groups(), terms, strict=True)),
    }
    return {group: values[group] for group in groups}


def rubs(groups: tuple[str, ...]) -> bool:
    """Does θ have friction, which dynamics then counts?"""
    return bool({"friction", *term_groups()} & set(groups))


def rebuilt(
    robot: hc.Robot, groups: tuple[str, ...], theta: dict[str, Array], link: str
) -> tuple[hc.Robot, dict[str, Any]]:
    """A robot without parameters that has these numbers, and the options that say the rest."""
    options: dict[str, Any] = {"friction": rubs(groups)}
    if "gravity" in groups:
        options["gravity"] = theta["gravity"]
    model = robot.model
    per_velocity = {name: theta.get(name) for name in ("armature", *term_groups())}
    if "friction" in groups:
        per_velocity |= {"damping": theta["friction"][: robot.nv], "friction": theta["friction"][robot.nv :]}
    constant = hc.Robot(model).with_joints(**{k: x for k, x in per_velocity.items() if x is not None})
    if "inertia" in groups:
        constant = constant.with_parameters(theta["inertia"])
    if "payload" in groups:
        load = Inertia.from_parameters(theta["payload"])
        constant = constant.with_payload(link, load.mass, load.com, load.at_com)
    return constant, options


@few
@given(robots(max_bodies=3), some_groups, seeds)
def test_nominal_theta_is_the_robot_itself(robot: hc.Robot, groups: tuple[str, ...], seed: int) -> None:
    link = moving_links(robot)[0] if "payload" in groups else None
    asked = robot.parametric(*groups, payload_link=link)
    q, v, a = state(robot, seed)
    theta = asked.parameters.values
    expected = robot.inverse_dynamics(q, v, a, friction=rubs(groups))
    assert_close(asked.inverse_dynamics(q, v, a, theta), expected)


def test_names_and_order_of_theta() -> None:
    """θ follows the order asked for; names say link or joint."""
    robot = hc.load("double_pendulum").parametric("gravity", "inertia", "armature", "friction")
    names = robot.parameters.names
    joints, links = robot.joint_names, [body.name for body in robot.model.bodies]
    assert names[:3] == ("gravity.x", "gravity.y", "gravity.z")
    kinds = ["m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz"]
    assert list(names[3:23]) == [f"{link}.{kind}" for link in links for kind in kinds]
    assert list(names[23:25]) == [f"{joint}.armature" for joint in joints]
    kinds = ["damping", "friction"]
    assert list(names[25:]) == [f"{joint}.{kind}" for kind in kinds for joint in joints]
    assert len(robot.parameters) == len(names) == 29
    assert robot.parameters["gravity.z"] == -9.81
    assert robot.parameters.index("gravity.z") == 2
    assert "theta[29]" in repr(robot)
    assert repr(robot.parameters).startswith("Parameters(29: gravity.x=0, gravity.y=0, gravity.z=-9.81, ")
    with pytest.raises(hc.ModelError, match=r"no parameter is called 'gravity\.w'; .*gravity\.x"):
        robot.parameters["gravity.w"]


def test_names_of_joints_with_several_velocities() -> None:
    robot = hc.load("quadruped", base="floating").parametric("armature")
    assert robot.parameters.names[:2] == ("floating_base[0].armature", "floating_base[1].armature")
    assert len(robot.parameters) == robot.nv


def test_every_dynamics_function_takes_theta_and_no_kinematic_one_does() -> None:
    robot = hc.load("ur5").parametric("payload")
    dynamic = ("inverse_dynamics", "forward_dynamics", "forward_dynamics_crba", "mass_matrix", "gravity")
    dynamic += ("mass_matrix_inverse", "coriolis", "bias", "kinetic_energy", "potential_energy")
    for name in (*dynamic, "center_of_mass", "com_jacobian"):
        assert getattr(robot, name).inputs[-1].name == "theta", name
        assert getattr(robot, name).inputs[-1].shape == (10,)
    for function in (robot.integrate, robot.difference, robot.pose("tool0"), robot.jacobian("tool0")):
        assert "theta" not in [item.name for item in function.inputs]
    assert robot.theta.payload_link == "tool0"


def test_theta_is_an_input_like_any_other() -> None:
    """Missing or misshapen it is refused; batches and symbols work; τ is linear in it."""
    robot = hc.load("double_pendulum").parametric("inertia")
    q, v, a = state(robot, 1)
    with pytest.raises(hc.InputError, match="missing 'theta'"):
        robot.inverse_dynamics(q, v, a)
    with pytest.raises(hc.InputError, match=r"'theta' must have shape \(20,\)"):
        robot.inverse_dynamics(q, v, a, np.zeros(10))
    theta = robot.parameters.values
    tau = robot.inverse_dynamics(q, v, a, theta=theta)
    Y = robot.inverse_dynamics.jacobian("theta")(q, v, a, np.zeros(20))
    assert_close(Y @ theta, tau)
    batch = robot.inverse_dynamics(q, v, a, np.array([theta, 2 * theta]))
    assert_close(batch, [tau, 2 * tau])
    symbol = ca.SX.sym("theta", 20)
    assert robot.inverse_dynamics(q, v, a, symbol).shape == (2, 1)
    with pytest.raises(ValueError, match="read-only"):
        theta[0] = 1.0


def test_payload_link_is_the_only_tip_or_must_be_named() -> None:
    with pytest.raises(hc.ModelError, match=r"'quadruped' has 4 tips \(.*\): say which .* payload_link="):
        hc.load("quadruped", base="floating").parametric("payload")
    with pytest.raises(
        hc.ModelError, match="'base_link' does not move: a payload on it would change nothing"
    ):
        hc.load("ur5").parametric("payload", payload_link="base_link")
    with pytest.raises(hc.ModelError, match="did you mean 'tool0'"):
        hc.load("ur5").parametric("payload", payload_link="tool")
    with pytest.raises(hc.ModelError, match="payload_link goes with the group 'payload'"):
        hc.load("ur5").parametric("inertia", payload_link="tool0")


def test_groups_are_checked() -> None:
    robot = hc.load("ur5")
    with pytest.raises(hc.ModelError, match="called 'mass'; there are: inertia, friction, armature, gravity"):
        robot.parametric("mass")
    with pytest.raises(hc.ModelError, match="'inertia' is named twice"):
        robot.parametric("inertia", "gravity", "inertia")


def test_gravity_cannot_be_option_and_parameter() -> None:
    robot = hc.load("double_pendulum").parametric("gravity")
    with pytest.raises(hc.InputError, match="gravity is part of theta here; it cannot be an option too"):
        robot.gravity(robot.neutral(), [0, 0, -9.81], gravity=(0, 0, 0))


def test_edits_keep_the_groups() -> None:
    """Other robots made of a parametric one are parametric, their θ follows their bodies."""
    robot = hc.load("ur5").parametric("inertia", "payload")
    locked = robot.lock({"wrist_3_joint": 0.2})
    assert locked.theta.groups == ("inertia", "payload")
    assert len(locked.parameters) == 10 * 5 + 10
    q, v, a = state(locked, 4)
    expected = hc.load("ur5").lock({"wrist_3_joint": 0.2}).inverse_dynamics(q, v, a)
    assert_close(locked.inverse_dynamics(q, v, a, locked.parameters.values), expected)
