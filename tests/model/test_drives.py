"""Drives: constants, limits, armature and the whole rotor."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid import ModelError, Robot
from helicoid.model.edits.drives import Drive
from helicoid.model.inertia import Inertia
from helicoid.model.joints import Prismatic, Revolute
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Link, Placement
from random_trees import Array, assert_close, rotation, state

N, J = 80.0, 3e-4


def arm() -> Robot:
    """A 3R arm, its axes turned against each other, each link large enough for a rotor."""
    rng = np.random.default_rng(5)
    links, joints, parent = [Link("base")], [], "base"
    for i in range(3):
        body = Inertia.from_com(2.0, rng.normal(0, 0.2, 3), np.diag(rng.uniform(0.05, 0.06, 3)))
        links.append(Link(f"link{i}", body))
        placed = Placement(rotation(rng), rng.normal(0, 0.3, 3))
        joints.append(Joint(f"joint{i}", Revolute(rng.normal(size=3)), parent, f"link{i}", placed))
        parent = f"link{i}"
    return Robot(Model("arm", tuple(links), tuple(joints)))


def test_armature_is_the_rotor_seen_through_the_gear() -> None:
    robot = arm()
    driven = robot.with_drives({"joint1": Drive(-N, J)})
    q = robot.random(0)
    assert_close(driven.mass_matrix(q) - robot.mass_matrix(q), np.diag([0.0, N**2 * J, 0.0]))


def turning_rate(robot: Robot, q: Array, v: Array, joint: str) -> float:
    """a·ω: how fast the link that carries a joint turns about the joint's axis."""
    stated = robot.model.joint(joint)
    assert isinstance(stated.type, Revolute)
    ω = robot.jacobian(stated.parent, "body")(q)[:3] @ v
    return float(stated.type.axis @ stated.placement.rotation.T @ ω)


def test_full_rotor_has_the_energy_of_a_spinning_body() -> None:
    """T = ½ J (a·ω + N v)² for each rotor instead of ½ J (a·ω)², which the link has already."""
    robot = arm()
    drives = {"joint1": Drive(N, J), "joint2": Drive(-2 * N, J / 2)}
    full = robot.with_drives(drives, full_rotor=True)
    assert full.joint_names == robot.joint_names
    q, v, a = state(robot, 1)
    expected = robot.kinetic_energy(q, v)
    for i, (name, drive) in enumerate(drives.items(), start=1):
        carried, r, n = turning_rate(robot, q, v, name), drive.rotor_inertia, drive.gear_ratio
        expected += r / 2 * ((carried + n * v[i]) ** 2 - carried**2)
    assert_close(full.kinetic_energy(q, v), expected)
    assert_close(v @ full.mass_matrix(q) @ v / 2, expected)
    assert_close(full.gravity(q), robot.gravity(q))
    assert_close(full.forward_dynamics(q, v, full.inverse_dynamics(q, v, a)), a, 1e-9)
    assert not np.allclose(full.coriolis(q, v), robot.with_drives(drives).coriolis(q, v), rtol=1e-3)


def test_full_rotor_against_two_bodies() -> None:
    """A rotor that spins freely in its link, held to N times the joint's speed by a torque."""
    robot = arm()
    full = robot.with_drives({"joint2": Drive(N, J)}, full_rotor=True)
    joint, model = robot.model.joint("joint2"), robot.model
    ball = Inertia.from_com(0.0, np.zeros(3), J * np.eye(3))
    spinning = Joint("spin", joint.type, joint.parent, "rotor", joint.placement)
    lighter = [
        replace(link, inertia=Inertia.from_parameters(link.inertia.parameters - ball.parameters))
        if link.name == joint.parent and link.inertia is not None
        else link
        for link in model.links
    ]
    two = Robot(Model("two", (*lighter, Link("rotor", ball)), (*model.joints, spinning)))
    assert two.joint_names[-1] == "spin"
    q, v, a = state(robot, 2)
    W = np.vstack([np.eye(3), [0.0, 0.0, N]])
    tau = two.inverse_dynamics(np.append(q, N * q[2]), W @ v, W @ a)
    assert_close(full.inverse_dynamics(q, v, a), W.T @ tau)


def test_on_a_link_that_does_not_turn_the_rotor_is_armature() -> None:
    """On the base, and on a slide: its rotor has no other effect."""
    robot = arm()
    drives = {"joint0": Drive(N, J)}
    full, simple = robot.with_drives(drives, full_rotor=True), robot.with_drives(drives)
    assert full.n_bodies == robot.n_bodies
    q, v, a = state(robot, 3)
    assert_close(full.inverse_dynamics(q, v, a), simple.inverse_dynamics(q, v, a))
    body = Inertia.from_com(2.0, np.zeros(3), 0.05 * np.eye(3))
    joints = (
        Joint("slide", Prismatic([1, 0, 0]), "base", "a"),
        Joint("turn", Revolute([0, 1, 0]), "a", "b"),
    )
    cart = Robot(Model("cart", (Link("base"), Link("a", body), Link("b", body)), joints))
    drives = {"slide": Drive(500.0, J), "turn": Drive(N, J)}
    full, simple = cart.with_drives(drives, full_rotor=True), cart.with_drives(drives)
    assert full.n_bodies == 3
    q, v, a = state(cart, 4)
    assert_close(full.inverse_dynamics(q, v, a), simple.inverse_dynamics(q, v, a))
    assert_close(full.mass_matrix(q)[0, 0], 4.0 + 500.0**2 * J)


def test_limits_of_torque_current_and_voltage() -> None:
    drive = Drive(50, torque_constant=0.02, efficiency=0.8, torque_limit=2.0, current_limit=3.0)
    assert drive.max_torque == 2.0
    assert replace(drive, torque_limit=9.0).max_torque == pytest.approx(2.4)
    assert_close(drive.current(drive.torque(1.7)), 1.7)
    robot = hc.load("planar_2r").with_drives({"joint_2": drive})
    assert robot.limits.effort[1] == 2.0
    line = Drive(50, torque_constant=0.02, voltage=24.0, resistance=2.0)
    no_load = 24.0 / (0.02 * 50)
    assert_close(line.torque_range([0.0, no_load / 2, no_load])[1], [12.0, 6.0, 0.0])
    lower, upper = line.torque_range(np.array([-3.0, 0.0, 30.0]))
    reversed_lower, reversed_upper = line.torque_range(-np.array([-3.0, 0.0, 30.0]))
    assert_close(lower, -reversed_upper)
    assert_close(upper, -reversed_lower)
    # Power balance of the motor at full voltage: V i = R i² + mechanical power.
    v = 7.0
    i = line.current(line.torque_range(v)[1])
    assert_close(24.0 * i, 2.0 * i**2 + line.torque(i) * v)
    # A gear that reverses is driven by the opposite current, within the same torques.
    back = replace(line, gear_ratio=-50)
    assert_close(back.torque_range(v), line.torque_range(v))
    assert back.torque(1.0) == -line.torque(1.0)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"gear_ratio": 0.0}, "finite and not zero"),
        ({"rotor_inertia": -1.0}, "rotor_inertia .* not be negative"),
        ({"efficiency": 1.5}, "at most 1"),
        ({"current_limit": 3.0}, "need the drive's torque_constant"),
        ({"torque_constant": 0.1, "voltage": 24.0}, "voltage and resistance go together"),
        ({"torque_constant": 0.0}, "must not be zero"),
        ({"torque_limit": math.nan}, "torque_limit .* a number"),
        ({"torque_limit": "much"}, "torque_limit .* a number"),
    ],
)
def test_impossible_drives_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Drive(**{"gear_ratio": 10.0, **fields})


def test_drives_where_none_can_be_are_refused() -> None:
    robot = arm()
    with pytest.raises(ModelError, match=r"no joint .*'joint9'"):
        robot.with_drives({"joint9": Drive(N, J)})
    with pytest.raises(ModelError, match="their Drive"):
        robot.with_drives({"joint1": 100.0})  # type: ignore[dict-item]
    with pytest.raises(ModelError, match=r"link 'link0', which has only"):
        robot.with_drives({"joint1": Drive(N, 0.5)}, full_rotor=True)
    with pytest.raises(ModelError, match="has a rotor"):
        full = robot.with_drives({"joint1": Drive(N, J)}, full_rotor=True)
        full.with_drives({"joint1": Drive(N, J)}, full_rotor=True)
    with pytest.raises(ModelError, match="torque_constant"):
        Drive(N).torque(1.0)
    floating = Robot(replace(robot.model, floating=True))
    with pytest.raises(ModelError, match="no joint"):
        floating.with_drives({"floating_base": Drive(N, J)})
