"""Contacts that close and open, against parabolas, impact laws and a bouncing spring."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import helicoid as hc
from helicoid.simulation import ContactPoint, Trajectory, simulate_contacts

G = 9.81
BALL = """<robot name="ball"><link name="ball"><inertial><mass value="2"/>
  <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link></robot>"""


def test_a_ball_bounces_along_parabolas() -> None:
    ball, e, T = hc.load(BALL, base="floating"), 0.5, 0.2  # T: the time that it falls
    start, v0 = np.array([0, 0, G * T**2 / 2, 1, 0, 0, 0]), np.array([0, 0, 0, 0.3, 0, 0])
    floor = ContactPoint("ball", kind="normal")
    motion = simulate_contacts(ball, [floor], start, v0, 0.5, dt=0.01, restitution=e)
    times = T + 2 * T * np.cumsum([0, e, e**2])
    assert_allclose([event.t for event in motion.events[:2]], times[:2], atol=1e-10)
    assert [event.what for event in motion.events[:2]] == ["bounces", "bounces"]
    assert_allclose(motion.events[0].impulse, 2 * (1 + e) * G * T, rtol=1e-9)  # N·s
    t, z = motion.trajectory.t, motion.trajectory.q[:, 2]
    up = (t > times[0]) & (t < times[1])
    s = t[up] - times[0]
    assert_allclose(z[up], e * G * T * s - G * s**2 / 2, atol=1e-10)
    assert_allclose(motion.trajectory.q[:, 0], 0.3 * t, atol=1e-12)
    assert z.min() > -1e-10


def test_bouncing_ends_in_rest_that_carries_the_weight() -> None:
    ball = hc.load(BALL, base="floating")
    motion = simulate_contacts(
        ball,
        [ContactPoint("ball")],
        [0, 0, 0.01, 1, 0, 0, 0],
        None,
        0.5,
        dt=0.01,
        restitution=0.5,
        resting=0.05,
    )
    assert motion.events[-1].what == "closes" and len(motion.events) < 10
    assert_allclose(motion.normal_forces[-1], 2 * G, rtol=1e-9)
    assert_allclose(motion.trajectory.v[-1], 0, atol=1e-12)


HOPPER = """<robot name="hopper"><link name="world"/>
  <link name="trunk"><inertial><mass value="3"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="foot"><inertial><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="height" type="prismatic"><parent link="world"/><child link="trunk"/><axis xyz="0 0 1"/>
    <limit lower="-9" upper="9" velocity="99" effort="999"/></joint>
  <joint name="leg" type="prismatic"><parent link="trunk"/><child link="foot"/><axis xyz="0 0 -1"/>
    <limit lower="-9" upper="9" velocity="99" effort="999"/><dynamics stiffness="1500" rest="0.5"/></joint>
  </robot>"""


def test_a_hopper_lands_stands_on_its_foot_and_takes_off() -> None:
    hopper = hc.load(HOPPER)
    contact = ContactPoint("foot", kind="normal")
    motion = simulate_contacts(hopper, [contact], [0.8, 0.5], None, 0.45, dt=1e-3)
    lands, leaves = motion.events[:2]
    assert (lands.what, leaves.what) == ("closes", "opens")
    speed = np.sqrt(2 * G * 0.3)  # the spring is at rest and nothing stretches it in free fall
    assert_allclose([lands.t, lands.impulse], [speed / G, 1 * speed], rtol=1e-9)
    # On its foot the trunk swings about 0.5 - m g / k until the spring has to pull the foot's weight.
    ω, middle = np.sqrt(1500 / 3), 0.5 - 3 * G / 1500
    swing = np.hypot(0.5 - middle, speed / ω)
    pulls = 0.5 + 1 * G / 1500
    began, ends = np.arcsin((0.5 - middle) / swing), np.arcsin((pulls - middle) / swing)
    assert_allclose(leaves.t - lands.t, (began + np.pi + ends) / ω, rtol=1e-7)
    on = (motion.trajectory.t > lands.t) & (motion.trajectory.t < leaves.t)
    assert motion.normal_forces[on].min() > 0
    energy = motion.trajectory.energy
    before, after = energy[motion.trajectory.t < lands.t], energy[motion.trajectory.t > lands.t]
    assert_allclose(before, before[0], atol=1e-8)
    assert_allclose(after, before[0] - speed**2 / 2, atol=1e-6)  # the foot's kinetic energy is lost


def test_two_feet_close_one_after_the_other() -> None:
    """A leaning plank tips over its first foot onto its second, and lies still."""
    plank = hc.load(BALL, base="floating")
    feet = [ContactPoint("ball", point=(x, 0.0, 0.0)) for x in (-0.5, 0.5)]
    lean = 0.2
    q0 = [0, 0, 0.5 * np.sin(lean) + 1e-3, np.cos(lean / 2), 0, -np.sin(lean / 2), 0]
    motion = simulate_contacts(plank, feet, q0, None, 1.0, dt=5e-3)
    assert {event.contact for event in motion.events if event.what == "closes"} == {0, 1}
    heights = motion.trajectory.q[-1, 2]
    assert abs(heights) < 0.03
    assert motion.trajectory.q[:, 2].min() > -1e-6


def test_refused() -> None:
    ball = hc.load(BALL, base="floating")
    with pytest.raises(hc.InputError, match=r"contact 0 of 'ball' starts 0\.1 m below its plane"):
        simulate_contacts(ball, [ContactPoint("ball")], [0, 0, -0.1, 1, 0, 0, 0])
    with pytest.raises(hc.InputError, match="needs contacts"):
        simulate_contacts(ball, [])
    with pytest.raises(hc.InputError, match=r"the torque must have shape \(6,\)"):
        simulate_contacts(ball, [ContactPoint("ball")], [0, 0, 1, 1, 0, 0, 0], controller=[1.0])
    with pytest.raises(hc.InputError, match="at 0 s got 'off'"):
        simulate_contacts(ball, [ContactPoint("ball")], controller=lambda t, q, v: "off")
    with pytest.raises(hc.InputError, match="moves one robot"):
        simulate_contacts(ball, [ContactPoint("ball")], np.tile([0, 0, 1, 1, 0, 0, 0], (2, 1)))


def test_divergence_is_told_and_keeps_what_was_computed() -> None:
    ball = hc.load(BALL, base="floating")
    with pytest.raises(hc.SimulationError, match=r"diverged at t = 0.0\d s") as caught:
        simulate_contacts(
            ball,
            [ContactPoint("ball")],
            [0, 0, 1, 1, 0, 0, 0],
            [0, 0, 0, 0, 0, 1.0],
            duration=1.0,
            controller=lambda t, q, v: 1e5 * v,
            dt=0.01,
        )
    motion = caught.value.trajectory
    assert len(motion) > 2 and np.all(np.isfinite(motion.energy))


@pytest.fixture(scope="module")
def dropped() -> hc.simulation.ContactMotion:
    ball = hc.load(BALL, base="floating")
    drop = [0, 0, G * 0.1**2 / 2, 1, 0, 0, 0]
    return simulate_contacts(ball, [ContactPoint("ball", kind="normal")], drop, duration=0.2, dt=0.02)


def test_a_row_accelerates_by_the_forces_that_act_in_it(dropped: hc.simulation.ContactMotion) -> None:
    motion, falls = dropped.trajectory, dropped.trajectory.t < 0.1 - 1e-9
    assert_allclose(motion.a[falls, 5], -G, rtol=1e-12)
    assert_allclose(motion.a[~falls, 5], 0, atol=1e-9)
    assert_allclose(dropped.normal_forces[:, 0], np.where(falls, 0, 2 * G), atol=1e-9)
    assert_allclose(motion.constraint_forces, -dropped.normal_forces, atol=1e-12)


def test_a_robot_that_stands_carries_its_weight_from_the_first_row_on() -> None:
    ball = hc.load(BALL, base="floating")
    motion = simulate_contacts(ball, [ContactPoint("ball")], duration=0.02, dt=0.01)
    assert_allclose(motion.normal_forces, 2 * G, rtol=1e-9)
    assert_allclose(motion.trajectory.a, 0, atol=1e-9)


@pytest.mark.parametrize("ending", [".npz", ".csv"])
def test_a_motion_with_contacts_is_saved_and_read(
    dropped: hc.simulation.ContactMotion, ending: str, tmp_path: Path
) -> None:
    path = tmp_path / f"ball{ending}"
    dropped.trajectory.save(path)
    again = Trajectory.load(path, robot=dropped.trajectory.robot)
    for name in ("t", "q", "v", "a", "tau", "energy"):
        np.testing.assert_array_equal(getattr(again, name), getattr(dropped.trajectory, name))


def test_a_motion_with_contacts_is_plotted_shown_and_short_to_print(
    dropped: hc.simulation.ContactMotion,
) -> None:
    from helicoid.view.motion import as_motion

    assert len(dropped.trajectory.plot().axes) == 4
    shown = as_motion(dropped.trajectory.robot, dropped)
    np.testing.assert_array_equal(shown.q, dropped.trajectory.q)
    assert repr(dropped) == "ContactMotion(Trajectory(ball, 11 samples, 0 to 0.2 s), 1 events)"
