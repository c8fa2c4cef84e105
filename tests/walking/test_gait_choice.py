"""Gaits are chosen by the loads that the motors carry and by the steps that the legs can take."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.walking.gait_choice import choose_gait

ANGLES = (0.0, 0.8, -1.6)


def quadruped(strength: float, planar: bool = False) -> tuple[hc.Robot, np.ndarray]:
    """The quadruped and a standing posture; knees carry `strength` times what a trot takes of them."""
    robot = hc.load("quadruped", base="floating")
    if planar:
        robot = robot.lock({name: 0.0 for name in robot.joint_names[1::3]})
    q = robot.neutral()
    q[7:] = np.tile(ANGLES[planar:], 4)
    taken, still = np.zeros(robot.nv), np.zeros(robot.nv)
    for foot in ("FL_foot", "FR_foot", "RL_foot", "RR_foot"):
        J = robot.jacobian(foot, "world_aligned")(q)[5]
        knee = int(np.flatnonzero(J[6:])[-1]) + 6
        taken[knee] = strength * abs(robot.bias(q, still)[knee] - J[knee] * 0.75 * 9.81 * robot.mass)
    knees = {robot.joint_names[k - 5]: float(taken[k]) for k in np.flatnonzero(taken)}
    return robot.with_joints(effort=knees), q


@pytest.mark.parametrize(
    ("strength", "planar", "steps", "reason"),
    [
        (1.01, False, 2, "a trot, whose loads"),
        (0.9, False, 4, "a crawl: a trot would take 1.1 times the torque of "),
        (0.4, False, 1, "standing alone: a trot would take 2.5 times the torque of "),
        (1.01, True, 2, "a trot, whose loads"),
        (0.9, True, 1, "a crawl takes legs that step sideways"),
    ],
)
def test_the_gait_follows_from_the_strength_and_the_legs(
    strength: float, planar: bool, steps: int, reason: str
) -> None:
    robot, q = quadruped(strength, planar)
    chosen = choose_gait(robot, q)
    assert len(chosen.gait.stands) == steps and chosen.walks == (steps > 1)
    assert reason in chosen.reason, chosen.reason
    assert set(chosen.gait.feet) == {"FL_foot", "FR_foot", "RL_foot", "RR_foot"}


def test_other_numbers_of_feet_need_a_gait() -> None:
    robot = hc.load("planar_2r", base="floating")
    with pytest.raises(hc.InputError, match="a trot has four feet"):
        choose_gait(robot, robot.neutral())


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_a_robot_that_can_only_stand_refuses_to_walk() -> None:
    robot, q = quadruped(0.4)
    dog = hc.walking.Walker(robot, q)
    with pytest.raises(hc.InputError, match=r"does not walk: standing alone: a trot would take 2\.5 times"):
        dog.go(forward=0.1)
    dog.step(dog.posture, np.zeros(18), velocity=[0.1, 0.0, 0.0])
    assert dog.status is hc.Status.BAD_REFERENCE and not dog.velocity.any()
    for _ in range(100):
        tau = dog.step(dog.posture, np.zeros(18))
    assert dog.ok and dog.standing == dog.gait.feet and np.isfinite(tau).all()
    assert "standing alone" in repr(dog)
