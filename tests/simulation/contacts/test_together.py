"""End stops, dry friction, loops, shapes and fields of heights in the same step."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import helicoid as hc
from contact_bodies import G, ball, body

pytestmark = pytest.mark.needs_compiler

SLIDER = """<robot name="slider"><link name="world"/><link name="mass"><inertial><mass value="2"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="x" type="prismatic"><parent link="world"/><child link="mass"/><axis xyz="1 0 0"/>
  <dynamics friction="3.0" damping="0"/>
  <limit lower="-0.1" upper="0.2" velocity="9" effort="99"/></joint></robot>"""


def test_a_joint_stops_at_its_end() -> None:
    motion = hc.simulate(
        hc.load(SLIDER), [0.0], [1.0], 0.5, np.array([5.0]), end_stops=True, friction=False, dt=1e-3
    )
    assert motion.q.max() < 0.2 + 1e-9 and abs(motion.q[-1, 0] - 0.2) < 1e-9
    assert abs(motion.v[-1, 0]) < 1e-12


def test_dry_friction_holds_and_brakes() -> None:
    slider = hc.load(SLIDER)
    held = hc.simulate(slider, [0.0], None, 0.1, np.array([2.9]), method="time_stepping")
    assert np.abs(held.q).max() < 1e-11
    pushed = hc.simulate(slider, [0.0], None, 0.1, np.array([3.5]), method="time_stepping")
    assert_allclose(pushed.v[-1, 0], 0.5 / 2 * 0.1, rtol=1e-9)


LOOP = """<robot name="scissors"><link name="world"/>{links}
  <joint name="lift" type="prismatic"><parent link="world"/><child link="a"/><axis xyz="0 0 1"/>
    <limit lower="-9" upper="9" velocity="9" effort="99"/></joint>
  <joint name="first" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
    <dynamics friction="0.2"/></joint>
  <joint name="second" type="continuous"><parent link="b"/><child link="c"/><origin xyz="0.3 0 0"/>
    <axis xyz="0 1 0"/><dynamics friction="0.2"/></joint></robot>"""


@pytest.mark.slow
def test_loops_dry_friction_and_contacts_act_together() -> None:
    inertial = """<inertial><origin xyz="0.1 0 0"/><mass value="1"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>"""
    links = "".join(f'<link name="{name}">{inertial}</link>' for name in "abc")
    robot = hc.load(LOOP.format(links=links)).constrain(holonomic=lambda q: q[2] + 2 * q[1])
    q0 = robot.project_configuration(np.array([0.3, 0.4, -0.8]))
    contacts = [hc.ContactPoint("c", (0.3, 0, 0)), hc.ContactPoint("a")]
    motion = hc.simulate(robot, q0, duration=1.0, ground=hc.Ground(friction=0.5), contacts=contacts)
    closed = np.asarray(robot.constraint_position(motion.q))
    assert np.abs(closed).max() < 1e-9
    assert motion.penetration.max() < 1e-6 and motion.contact_residual.max() < 1e-8
    assert np.diff(motion.energy).max() < 1e-4
    assert np.abs(motion.v[-1]).max() < 1e-9  # it has come to rest on its points, held by friction
    assert_allclose(motion.contact_forces[-1, :, 2].sum(), 3 * G, rtol=1e-6)


@pytest.mark.slow
def test_a_ball_rolls_into_a_hollow_of_a_field() -> None:
    x = np.linspace(-1, 1, 81)
    ground = hc.Ground(heights=0.3 * (x[None] ** 2 + x[:, None] ** 2), spacing=0.025, friction=0.5)
    robot = ball(0.05)
    start = [0.5, 0, float(ground.height_at(0.5, 0.0)) + 0.06, 1, 0, 0, 0]
    motion = hc.simulate(robot, start, duration=1.5, ground=ground, contacts="collision")
    assert motion.q[:, 0].min() < -0.2 and np.abs(motion.q[:, 1]).max() < 1e-4
    assert motion.penetration.max() < 1e-6 and motion.contact_residual.max() < 1e-8


@pytest.mark.slow
def test_a_capsule_falls_on_its_side() -> None:
    capsule = body('<capsule radius="0.05" length="0.2"/>', 1.0, (0.005, 0.005, 0.001), "capsule")
    q0 = [0, 0, 0.2, np.cos(0.5), np.sin(0.5), 0, 0]
    motion = hc.simulate(capsule, q0, duration=1.5, ground=hc.Ground(), contacts="collision")
    assert_allclose(motion.q[-1, 2], 0.05, atol=1e-6)
    assert_allclose(motion.contact_forces[-1, 0], [0, 0, G], atol=1e-2)


@pytest.mark.slow
def test_a_law_in_the_loop_a_callable_and_a_batch_agree() -> None:
    robot = ball(0.1)
    q, v = ca.SX.sym("q", 7), ca.SX.sym("v", 6)
    law = hc.Function.from_expressions("law", {"q": q, "v": v}, {"tau": ca.vertcat(0, 0, 0, 0, 0, -5 * v[5])})
    q0, v0 = [0, 0, 0.2, 1, 0, 0, 0], [0, 3.0, 0, 1.0, 0, 0]
    arguments = {"duration": 0.4, "substeps": 2, "ground": hc.Ground(), "contacts": "collision"}
    inside = hc.simulate(robot, q0, v0, controller=law, **arguments)  # type: ignore[arg-type]
    asked = hc.simulate(robot, q0, v0, controller=lambda t, q, v: law(q, v), **arguments)  # type: ignore[arg-type]
    many = hc.simulate(robot, np.tile(q0, (5, 1)), v0, controller=law, **arguments)  # type: ignore[arg-type]
    assert_allclose(inside.q, asked.q, atol=1e-12)
    assert_allclose(many.q[3], inside.q, atol=1e-9)
    assert_allclose(many.contact_forces[3], inside.contact_forces, atol=1e-6)
    total = inside.contact_forces[:-1].sum(axis=(0, 1)) * 1e-3
    assert total[2] > 0


@pytest.mark.slow
def test_a_box_in_a_corner_of_three_grounds() -> None:
    cube = body('<box size="0.2 0.2 0.2"/>', 1.0, (0.02, 0.02, 0.02), "cube")
    walls = [hc.Ground(normal=(1, 0, 0), friction=0.0), hc.Ground(normal=(0, 1, 0), friction=0.0)]
    motion = hc.simulate(
        cube,
        [0.2, 0.25, 0.1, 1, 0, 0, 0],
        [0, 0, 0, -2.0, -2.5, 0],
        0.5,
        ground=[hc.Ground(friction=0.2), *walls],
        contacts="collision",
    )
    assert motion.penetration.max() < 1e-6 and motion.contact_residual.max() < 1e-8
    assert motion.q[:, :2].min() > 0.1 - 1e-6 and motion.q[-1, 2] > 0.1 - 1e-6
    reached = motion.q[:, :2].min(axis=0)
    assert_allclose(reached, [0.1, 0.1], atol=0.02)  # it slid into the corner
    assert_allclose(motion.contact_forces[-1].sum(axis=0), [0, 0, G], atol=1e-6)


class Damper:
    """A controller object with a period of two steps."""

    period = 0.002

    def __init__(self) -> None:
        self.calls = 0

    def step(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.calls += 1
        return np.asarray(np.concatenate([np.zeros(3), -5.0 * v[3:]]))


def test_a_controller_object_steers_what_touches() -> None:
    robot, damper = ball(0.1), Damper()
    motion = hc.simulate(
        robot, [0, 0, 0.2, 1, 0, 0, 0], None, 0.4, damper, ground=hc.Ground(), contacts="collision"
    )
    assert damper.calls == 200
    assert_allclose(motion.q[-1, 2], 0.1, atol=1e-5)
    assert_allclose(motion.tau[:-2:2], motion.tau[1:-1:2])  # held in between
