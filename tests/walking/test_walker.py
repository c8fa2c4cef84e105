"""A walker never raises in its loop, gives no NaN, and says what is so."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.walking import Gait, Walker

GAIT = Gait.trot("FL_foot", "FR_foot", "RL_foot", "RR_foot")


def stance(robot: hc.Robot) -> np.ndarray:
    q = robot.neutral()
    q[7:] = np.tile([0.0, 0.8, -1.6], 4)
    q[2] += 0.02 - min(robot.pose(foot)(q)[2, 3] for foot in GAIT.feet)
    return q


@pytest.mark.parametrize(
    ("base", "options", "message"),
    [
        ("fixed", {}, "floating base"),
        ("floating", {"plan_dt": 1e-4}, "plan_dt is at least dt"),
        ("floating", {"plan_delay": 0.03}, "plan_delay is from 0"),
        ("floating", {"plan_delay": -0.01}, "plan_delay is from 0"),
        ("floating", {"plan_delay": np.nan}, "plan_delay is from 0"),
    ],
)
def test_what_makes_no_sense_is_refused(base: str, options: dict[str, float], message: str) -> None:
    robot = hc.load("quadruped", base=base)  # type: ignore[arg-type]
    with pytest.raises(hc.InputError, match=message):
        Walker(robot, robot.neutral(), GAIT, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def dog() -> Walker:
    robot = hc.load("quadruped", base="floating")
    return Walker(robot, stance(robot), GAIT, foot_radius=0.02)


@pytest.mark.slow
@pytest.mark.needs_compiler
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_bad_measurements_are_survived(dog: Walker, bad: float) -> None:
    q, v = dog.posture.copy(), np.zeros(18)
    limit = dog.robot.limits.effort[6:] * (1 + 1e-9)
    dog.reset()
    for k in range(200):
        now_q, now_v = q.copy(), v.copy()
        wrong = 40 <= k < 120 and k % 3 != 0
        if wrong:
            (now_q if k % 2 else now_v)[k % 18] = bad
        if k == 20:
            dog.go(forward=0.3)
        tau = dog.step(now_q, now_v)
        assert np.isfinite(tau).all() and np.all(np.abs(tau[6:]) <= limit) and not tau[:6].any()
        if wrong:
            assert not dog.ok, dog.status
    assert dog.ok, dog.status


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_a_first_measurement_that_is_bad_is_survived_too(dog: Walker) -> None:
    dog.reset()
    tau = dog.step(np.full(19, np.nan), np.full(18, np.nan))
    assert not tau.any() and not dog.ok
    assert np.isfinite(dog.step(dog.posture, np.zeros(18))).all() and dog.ok


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_it_is_a_controller_of_a_simulation(dog: Walker) -> None:
    dog.reset()
    contacts = [hc.ContactPoint(foot, radius=0.02) for foot in GAIT.feet]
    start = dog.posture + np.array([0, 0, 1e-7, *np.zeros(16)])
    motion = hc.simulate(
        dog.robot, start, None, 1.0, dog, dt=0.002, substeps=2, ground=hc.Ground(), contacts=contacts
    )
    weight = 9.81 * dog.robot.mass
    assert abs(motion.contact_forces[-1, :, 2].sum() - weight) < 0.02 * weight
    assert np.abs(motion.q[-1] - start).max() < 0.02 and dog.ok
