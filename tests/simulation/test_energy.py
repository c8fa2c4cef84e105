"""A simulation does not gain energy in silence: long steps at high speeds end it."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from contact_bodies import ball, box

pytestmark = pytest.mark.needs_compiler


@pytest.mark.parametrize("robot", [box(), ball()], ids=["box", "ball"])
@pytest.mark.parametrize("seed", [None, 1])
def test_a_body_that_is_too_fast_for_the_step_is_an_error(robot: hc.Robot, seed: int | None) -> None:
    v0 = np.full(6, 1e3) if seed is None else np.random.default_rng(seed).normal(size=6) * 1e3
    q0 = [0, 0, 1.0, 1, 0, 0, 0]
    with pytest.raises(hc.SimulationError, match=r"gained energy .* times as many substeps") as caught:
        hc.simulate(robot, q0, v0, ground=hc.Ground(), contacts="collision")
    energy = caught.value.trajectory.energy
    assert energy.max() < 1.25 * energy[0]


def test_as_many_substeps_as_the_message_asks_for_are_enough() -> None:
    motion = hc.simulate(
        box(),
        [0, 0, 1.0, 1, 0, 0, 0],
        np.full(6, 1e3),
        0.1,
        substeps=20,
        ground=hc.Ground(),
        contacts="collision",
    )
    assert motion.energy.max() < 1.1 * motion.energy[0]


def test_the_rollout_that_gains_is_named() -> None:
    v0 = np.zeros((3, 6))
    v0[1] = 1e3
    with pytest.raises(hc.SimulationError, match=r"of rollout 1 gained energy"):
        hc.simulate(box(), [0, 0, 1.0, 1, 0, 0, 0], v0, ground=hc.Ground(), contacts="collision")


def test_work_of_motors_gravity_wrenches_and_springs_is_no_gain() -> None:
    """Coarse steps at high speed: each source of energy accelerates by itself, and counts."""
    robot = hc.load("planar_2r")
    fast = dict(duration=1.0, dt=0.02, friction=False)
    driven = hc.simulate(robot, [0, 0], controller=[200.0, 0.0], **fast)
    pushed = hc.simulate(robot, [0, 0], f_ext={"tip": [0, 0, 0, 0, 300.0, 0]}, **fast)
    fallen = hc.simulate(robot, [0, 0], gravity=[0, 0, -900.0], **fast)
    sprung = hc.simulate(robot.with_joints(stiffness=400.0, rest=2.0), [0, 0], **fast)
    for motion in (driven, pushed, fallen, sprung):
        assert np.abs(motion.v).max() * 0.02 > 0.1 and motion.kinetic_energy.max() > 10


def test_stiff_friction_is_named() -> None:
    """Explicit steps are unstable with it, whatever the gains."""
    robot = hc.load("ur5").with_joints(damping=[3, 3, 2, 0.6, 0.6, 0.5], friction=[5, 6, 4, 1, 1, 0.8])
    with pytest.raises(hc.SimulationError, match=r"joint friction.*stiff: take method='stiction'"):
        hc.simulate(robot, [0, -1, 1, 0, 0, 0], duration=0.2)
    held = hc.simulate(robot, [0, -1, 1, 0, 0, 0], duration=0.2, method="stiction")
    assert np.abs(held.v).max() < 5
