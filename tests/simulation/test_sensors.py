"""Sensors: each effect on its own, exactly or within its statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid import InputError, Robot
from helicoid.model.joints import Revolute, Spherical
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Link
from helicoid.simulation.sensors import Sensors
from helicoid.simulation.simulate import simulate
from helicoid.simulation.trajectory import Trajectory
from random_trees import assert_close, inertia

N = 4001


@pytest.fixture(scope="module")
def motion() -> Trajectory:
    """A motion that is easy to know between its samples: q = t and sines, v its rate, τ counts."""
    robot = hc.load("double_pendulum")
    t = np.linspace(0.0, 4.0, N)
    q, v = np.column_stack([t, np.sin(t)]), np.column_stack([np.ones(N), np.cos(t)])
    tau = np.column_stack([np.arange(N), -np.arange(N)]).astype(float)
    return Trajectory(t, q, v, tau, robot)


@pytest.fixture(scope="module")
def turning() -> Trajectory:
    """A ball joint and a hinge, swinging: a quaternion among the coordinates."""
    rng = np.random.default_rng(0)
    joints = (Joint("ball", Spherical(), "base", "a"), Joint("hinge", Revolute([0, 0, 1]), "a", "b"))
    links = (Link("base"), Link("a", inertia(rng)), Link("b", inertia(rng)))
    robot = Robot(Model("turning", links, joints))
    return simulate(robot, v0=np.array([1.0, -2.0, 0.5, 1.0]), duration=0.4)


def test_nothing_asked_for_is_the_truth(motion: Trajectory, turning: Trajectory) -> None:
    for path in (motion, turning):
        seen = Sensors()(path)
        assert len(seen) == len(seen.complete) == len(path.t)
        assert repr(seen).startswith(f"Measurement({len(seen)} samples, ") and len(repr(seen)) < 100
        for name in ("t", "q", "v", "tau"):
            assert_close(getattr(seen, name), getattr(path, name))


def test_noise_is_normal_with_its_deviation(motion: Trajectory) -> None:
    """Mean, deviation and fourth moment within five standard errors; channels and joints independent."""
    deviations = {"q": [0.1, 2.0], "v": 0.3, "tau": 5.0}
    seen = Sensors(noise=deviations, seed=3)(motion)
    errors = np.column_stack([seen.q - motion.q, seen.v - motion.v, seen.tau - motion.tau])
    z = errors / np.array([0.1, 2.0, 0.3, 0.3, 5.0, 5.0])
    assert np.all(np.abs(z.mean(axis=0)) < 5 / np.sqrt(N))
    assert np.all(np.abs(z.std(axis=0) - 1) < 5 / np.sqrt(2 * N))
    assert np.all(np.abs((z**4).mean(axis=0) - 3) < 5 * np.sqrt(96 / N))
    assert np.all(np.abs(np.corrcoef(z.T) - np.eye(6)) < 5 / np.sqrt(N))
    assert np.all(np.abs(np.mean(z[1:] * z[:-1], axis=0)) < 5 / np.sqrt(N))


def test_bias_is_added(motion: Trajectory) -> None:
    seen = Sensors(bias={"q": [0.1, -0.2], "tau": 3.0})(motion)
    assert_close(seen.q, motion.q + np.array([0.1, -0.2]))
    assert_close(seen.v, motion.v)
    assert_close(seen.tau, motion.tau + 3.0)


def test_delay_shows_the_past(motion: Trajectory) -> None:
    """0.25 ms late, between samples too; before the start it was as at the start."""
    late = 0.10025
    seen = Sensors(delay={"q": late, "tau": 0.1})(motion)
    past = np.maximum(motion.t - late, 0.0)
    assert_close(seen.q, np.column_stack([past, np.sin(past)]), 1e-9)
    assert_close(seen.v, motion.v)
    assert_close(seen.tau[:, 0], np.maximum(np.arange(N) - 100, 0))


def test_rate(motion: Trajectory) -> None:
    seen = Sensors(rate=300.0)(motion)
    assert_close(seen.t, np.arange(1201) / 300.0)
    assert_close(seen.q, np.column_stack([seen.t, np.sin(seen.t)]), 1e-9)
    assert_close(seen.tau[:, 0], np.floor(seen.t * 1000 + 1e-6))


def test_quantisation_rounds(motion: Trajectory) -> None:
    seen = Sensors(quantisation={"q": [0.01, 0.0], "tau": 7.0})(motion)
    assert_close(seen.q[:, 0], np.round(motion.q[:, 0] / 0.01) * 0.01)
    assert_close(seen.q[:, 1], motion.q[:, 1])
    assert_close(seen.tau % 7.0, np.zeros((N, 2)))
    assert np.abs(seen.tau - motion.tau).max() <= 3.5


def test_noise_comes_before_quantisation(motion: Trajectory) -> None:
    seen = Sensors(noise={"v": 0.1}, quantisation={"v": 0.5})(motion)
    assert_close(seen.v / 0.5, np.round(seen.v / 0.5))
    assert np.any(np.abs(seen.v - motion.v) > 0.3)


def test_missing_samples_are_nan(motion: Trajectory) -> None:
    seen = Sensors(missing={"q": 0.2, "tau": 0.5})(motion)
    for values, share in ((seen.q, 0.2), (seen.v, 0.0), (seen.tau, 0.5)):
        lost = np.isnan(values)
        assert np.array_equal(lost[:, 0], lost[:, 1])
        assert abs(lost[:, 0].mean() - share) <= 5 * np.sqrt(share * (1 - share) / N)
    whole = seen.complete
    assert abs(len(whole) / N - 0.8 * 0.5) < 5 * np.sqrt(0.24 / N)
    assert not np.isnan(whole.q).any() and not np.isnan(whole.tau).any()
    assert_close(whole.tau[:, 0], 1000 * whole.t)
    assert np.isnan(Sensors(missing=1.0)(motion).v).all()


def test_a_seed_repeats_itself(motion: Trajectory) -> None:
    """And an effect added to one channel leaves the others as they were."""
    one, two, other = (Sensors(noise={"q": 1.0, "v": 1.0}, seed=s)(motion) for s in (1, 1, 2))
    assert np.array_equal(one.q, two.q) and np.array_equal(one.v, two.v)
    assert not np.allclose(one.q, other.q)
    more = Sensors(noise={"q": 1.0, "v": 1.0, "tau": 1.0}, missing={"v": 0.1}, seed=1)(motion)
    assert np.array_equal(one.q, more.q)
    kept = ~np.isnan(more.v)
    assert np.array_equal(one.v[kept], more.v[kept])


def test_quaternions_stay_unit(turning: Trajectory) -> None:
    """Noise and steps act along the tangent: the error is a small rotation of their size."""
    assert turning.robot is not None
    robot = turning.robot
    sensors = Sensors(noise={"q": 0.01}, bias={"q": [0.1, 0, 0, 0]}, rate=700, delay=1e-4, seed=1)
    seen = sensors(turning)
    assert_close(np.linalg.norm(seen.q[:, :4], axis=1), np.ones(len(seen)))
    true = Sensors(rate=700, delay=1e-4)(turning)
    error = robot.difference(true.q, seen.q)
    assert_close(error.mean(axis=0), [0.1, 0, 0, 0], 5 * 0.01 / np.sqrt(len(seen)), scale=1.0)
    assert np.all(np.abs(error.std(axis=0) / 0.01 - 1) < 5 / np.sqrt(2 * len(seen)))
    stepped = Sensors(quantisation={"q": 0.05})(turning)
    zero = np.broadcast_to(robot.neutral(), stepped.q.shape)
    steps = robot.difference(zero, stepped.q) / 0.05
    assert_close(steps, np.round(steps), 1e-9)
    assert_close(np.linalg.norm(stepped.q[:, :4], axis=1), np.ones(len(stepped)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"noise": 0.1}, "by channel"),
        ({"noise": {"p": 0.1}}, "names 'p'; the channels are q, v, tau"),
        ({"noise": {"q": -0.1}}, "must not be negative"),
        ({"missing": 1.5}, "at most 1"),
        ({"delay": [0.1, 0.2]}, "one number for each channel"),
        ({"bias": {"q": np.nan}}, "finite numbers"),
        ({"rate": 0.0}, "rate is positive"),
    ],
)
def test_wrong_sensors_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Sensors(**arguments)


def test_what_cannot_be_measured_is_refused(motion: Trajectory) -> None:
    with pytest.raises(InputError, match=r"noise\['q'\] .* each of 2 velocities; it has 3"):
        Sensors(noise={"q": [1.0, 2.0, 3.0]})(motion)
    batch = simulate(hc.load("double_pendulum"), np.zeros((2, 2)), duration=0.01)
    with pytest.raises(InputError, match=r"trajectory\[i\]"):
        Sensors()(batch)


def test_force_torque_sensor_and_imu(rng: np.random.Generator) -> None:
    """A wrist sensor reads the joint's wrench in its own frame; an IMU at rest feels 9.81 m/s² upwards."""
    robot = hc.load("ur5")
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]], [0.01, 0.02, 0.05]
    robot = robot.with_frame("wrist_sensor", "wrist_3_link", T)
    q0 = robot.random(rng)
    motion = simulate(robot, q0, 0.3 * rng.normal(size=6), 0.1, lambda t, q, v: robot.gravity(q))
    sensors = Sensors(accelerations=True, wrenches=["wrist_sensor"], imus=["forearm_link"])
    seen = sensors(motion)
    assert_close(seen.a, motion.a)
    expected = robot.wrench_regressor("wrist_sensor")(motion.q, motion.v, motion.a) @ robot.parameters.values
    assert_close(seen.wrenches["wrist_sensor"], expected)
    still = Sensors(imus=["forearm_link"])(simulate(robot, q0, None, 0.01, robot.gravity(q0), friction=False))
    R = robot.pose("forearm_link")(q0)[:3, :3]
    assert_close(still.imus["forearm_link"][0], np.concatenate([np.zeros(3), R.T @ [0, 0, 9.81]]), 1e-9)
    # The specific force at a point of a turning link: ω̇ × r + ω × (ω × r) - g in its axes.
    ω = seen.imus["forearm_link"][:, :3]
    assert_close(ω, robot.velocity("forearm_link", "body")(motion.q, motion.v)[:, :3])


def test_sensor_below_a_tool_measures_the_tool_alone(rng: np.random.Generator) -> None:
    """What a fixed joint attaches: only that mass; contact forces on it are part of the reading."""
    tool = 0.7
    description = hc.load("planar_2r")
    assert description.link_names[-1] == "tip"
    robot = description.with_payload("tip", tool, [0.1, 0.0, 0.0], np.zeros((3, 3)))
    motion = simulate(robot, [0.3, 0.5], [0.0, 0.0], 0.01, robot.gravity([0.3, 0.5]), friction=False)
    at_tip = Sensors(wrenches=["tip"], carried="link")(motion).wrenches["tip"][0]
    assert_close(np.linalg.norm(at_tip[3:]), tool * 9.81)
    pushed = simulate(
        robot, [0.3, 0.5], None, 0.01, robot.gravity([0.3, 0.5]), f_ext={"tip": [0, 0, 0, 0, 5.0, 0]},
        friction=False,
    )  # fmt: skip
    felt = Sensors(wrenches=["tip"], carried="link")(pushed).wrenches["tip"]
    carried = robot.sensor_wrench("tip", "link")(pushed.q, pushed.v, pushed.a)
    assert_close(felt, carried - [0, 0, 0, 0, 5.0, 0])


def test_external_wrenches_on_links_whose_names_differ_in_special_characters_only() -> None:
    at = np.eye(4)
    robot = hc.load("planar_2r").with_frame("tool-1", "tip", at).with_frame("tool_1", "tip", at)
    first, second = [0, 0, 0, 0, 5.0, 0], [0, 0, 0, 3.0, 0, 0]
    motion = simulate(
        robot, [0.3, 0.5], None, 0.01, robot.gravity([0.3, 0.5]), f_ext={"tool-1": first, "tool_1": second},
        friction=False,
    )  # fmt: skip
    felt = Sensors(wrenches=["tip"], carried="link")(motion).wrenches["tip"]
    carried = robot.sensor_wrench("tip", "link")(motion.q, motion.v, motion.a)
    assert_close(felt, carried - np.add(first, second))


def test_effects_on_each_channel(rng: np.random.Generator) -> None:
    robot = hc.load("ur5")
    motion = simulate(robot, robot.random(rng), rng.normal(size=6), 0.5)
    links = dict(wrenches=["tool0", "forearm_link"], imus=["tool0"], accelerations=True)
    true = Sensors(**links)(motion)
    biased = Sensors(bias={"wrench": [1, 2, 3, 4, 5, 6], "imu": 0.1, "a": 0.2}, **links)(motion)
    assert_close(biased.wrenches["tool0"] - true.wrenches["tool0"], np.tile(np.arange(1.0, 7.0), (501, 1)))
    assert_close(biased.imus["tool0"] - true.imus["tool0"], 0.1 * np.ones((501, 6)))
    noisy = Sensors(noise={"wrench": 0.5}, missing={"imu": 0.2}, seed=3, **links)(motion)
    errors = [noisy.wrenches[link] - true.wrenches[link] for link in links["wrenches"]]
    assert all(abs(np.std(error) - 0.5) < 0.03 for error in errors)
    assert abs(np.corrcoef(errors[0].ravel(), errors[1].ravel())[0, 1]) < 0.1
    assert 0 < len(noisy.complete) < len(noisy) and noisy.complete.wrenches["tool0"].shape[1] == 6
    late = Sensors(delay={"wrench": 0.1}, **links)(motion)
    assert_close(late.wrenches["tool0"][100:], true.wrenches["tool0"][:-100], 1e-9)
    slow = Sensors(bandwidth={"a": 5.0}, **links)(motion)
    assert np.ptp(slow.a) < np.ptp(true.a) and np.array_equal(slow.a[0], true.a[0])
    log = hc.Log.from_trajectory(true)
    assert set(log.wrenches) == set(links["wrenches"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"wrenches": "tool0"}, "list of links"),
        ({"bandwidth": {"q": 5.0}}, "positions have none"),
        ({"noise": {"force": 1.0}}, "channels are"),
        ({"bandwidth": {"v": -5.0}}, "negative"),
    ],
)
def test_wrong_channels_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Sensors(**options)


def test_unknown_links_and_sizes_are_named() -> None:
    moving = simulate(hc.load("double_pendulum"), [1.0, 0.5], duration=0.01)
    with pytest.raises(hc.HelicoidError, match="nobody"):
        Sensors(imus=["nobody"])(moving)
    with pytest.raises(InputError, match="6 elements"):
        Sensors(noise={"wrench": [1.0, 2.0]}, wrenches=["link_2"])(moving)
