"""A walker answers the protocol of controllers: never raises in its loop, no NaN, one status."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import helicoid as hc
from helicoid.walking import Gait, Walker
from helicoid.walking.replanning import TimedPlan

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
def test_invalid_arguments_are_refused(base: str, options: dict[str, float], message: str) -> None:
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
def test_bad_measurements(dog: Walker, bad: float) -> None:
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
def test_a_bad_first_measurement(dog: Walker) -> None:
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
    forces = np.concatenate([dog.forces[foot] for foot in dog.gait.feet])
    np.testing.assert_array_equal(dog.whole_body.stacked_forces, forces)


@pytest.mark.slow
@pytest.mark.needs_compiler
@pytest.mark.parametrize("bad", [10**400, "x", {}, None, np.zeros(3), [1 + 2j] * 19], ids=str)
def test_a_measurement_of_another_kind_does_not_raise(dog: Walker, bad: object) -> None:
    dog.reset()
    dog.step(dog.posture, np.zeros(18))
    for q, v in ((bad, np.zeros(18)), (dog.posture, bad)):
        tau = dog.step(q, v)  # type: ignore[arg-type]
        assert np.isfinite(tau).all() and not dog.ok
        assert dog.status is hc.Status.BAD_MEASUREMENT and dog.message.startswith("torque")


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_the_protocol_of_controllers(dog: Walker) -> None:
    assert isinstance(dog, hc.control.ControllerProtocol) and dog.period == dog.dt == 0.002
    q, v = dog.posture, np.zeros(18)
    dog.reset()
    assert dog.status is hc.Status.NOT_STARTED and not dog.ok
    first = [dog.step(q, v) for _ in range(30)]
    assert dog.status is hc.Status.OK and dog.message == ""
    dog.set(forward=0.3)
    dog.step(q, v)
    dog.reset()
    assert not dog.velocity.any()
    np.testing.assert_array_equal([dog.step(q, v) for _ in range(30)], first)
    twin = pickle.loads(pickle.dumps(dog))
    np.testing.assert_array_equal(twin.step(q, v), dog.step(q, v))
    with pytest.raises(hc.InputError, match="finite"):
        dog.set(turn=np.nan)
    with pytest.raises(hc.InputError):
        dog.set(forward=1.0, no_such_number=1.0)
    assert not dog.velocity.any()  # all or none


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_velocities_over_time(dog: Walker) -> None:
    q, v = dog.posture, np.zeros(18)
    dog.reset()
    ramp = dog.following({"t": [0.0, 0.04], "velocity": [[0.0, 0.0, 0.0], [0.2, 0.0, 0.1]]})
    for _ in range(30):
        ramp.step(q, v)
    np.testing.assert_allclose(dog.velocity, [0.2, 0.0, 0.1])
    assert ramp.status in (hc.Status.OK, hc.Status.NO_PROGRESS)  # the state stands still, against the plan
    by_name = dog.following(forward=0.1, left=lambda t: -0.1)
    by_name.step(q, v, t=0.0)
    np.testing.assert_allclose(dog.velocity, [0.1, -0.1, 0.1])
    dog.step(q, v, velocity=[np.nan, 0.0, 0.0])
    assert dog.status is hc.Status.BAD_REFERENCE and not dog.ok
    np.testing.assert_allclose(dog.velocity, [0.1, -0.1, 0.1])


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_velocities_beyond_the_legs_are_refused(dog: Walker) -> None:
    dog.reset()
    fast = 1.01 * dog.max_speed
    for refused in (dog.go, dog.set):
        with pytest.raises(hc.InputError, match="beyond the reach of the legs"):
            refused(forward=fast)
    dog.step(dog.posture, np.zeros(18), velocity=[fast, 0.0, 0.0])
    assert dog.status is hc.Status.BAD_REFERENCE and "former velocity stays" in dog.message
    assert not dog.velocity.any() and dog.sideways


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_plans_in_the_second_thread_are_reproducible(dog: Walker) -> None:
    def run() -> np.ndarray:
        dog.reset()
        dog.go(forward=0.3)
        q, v = dog.posture, np.zeros(18)
        return np.array([dog.step(q, v) for _ in range(100)])

    first = run()
    assert dog.plans == 7  # one at once, then one every 12.5 steps, each a period after its measurement
    np.testing.assert_array_equal(run(), first)


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_parts_are_exported_as_c(dog: Walker, tmp_path: Path) -> None:
    files = dog.export_c(tmp_path, "dog")
    assert {file.parent.name for file in files} >= {"plan", "targets", "whole_body"}
    assert all(file.exists() for file in files) and any(file.name == "dog_targets.c" for file in files)


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_a_gait_that_does_not_hold_stands_and_goes_on_after_a_pause(dog: Walker) -> None:
    def steps(seconds: float) -> None:
        for _ in range(round(seconds / dog.dt)):
            dog.step(dog.posture, np.zeros(18))

    dog.reset()
    dog.go(forward=0.3)
    steps(0.3)
    assert len(dog.standing) == 2
    motion = dog.controller.motion()
    lost = TimedPlan(dog._valid_at + 0.6, motion, hc.Status.INFEASIBLE, "lost", 0.0)
    dog._begin_plan(lost)  # for longer than the horizon there was no valid plan
    assert dog.status is hc.Status.INFEASIBLE and "gait: stands, after 0.5 s without" in dog.message
    steps(0.3)
    dog.go(forward=0.3)  # does not shorten the pause
    assert dog.standing == GAIT.feet
    steps(0.5)
    assert dog.standing == GAIT.feet and not dog.ok
    steps(0.7)
    assert len(dog.standing) == 2 and "gait" not in dog.message
