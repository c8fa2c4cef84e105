"""A plant moves as a simulation does, its sensors err as `Sensors` do, and its motors saturate."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import helicoid as hc
from helicoid.errors import InputError
from helicoid.simulation.plant import Plant, drift, jump, payload

PERIOD = 2e-3  # s
START = np.array([0.4, 0.9])
LOAD = payload(1.5, [0.05, 0.0, 0.0], 1e-3 * np.eye(3))
NOISE = {"q": 1e-3, "v": [2e-4, 1e-3], "tau": 0.05}


@functools.cache
def robot() -> hc.Robot:
    return hc.load("planar_2r")


@functools.cache
def parametric() -> hc.Robot:
    return robot().parametric("payload", payload_link="tip")


@functools.cache
def body() -> hc.Robot:
    return hc.load(
        """<robot name="b"><link name="b"><inertial><mass value="2"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2.5"/></inertial></link></robot>""",
        "floating",
    )


@pytest.mark.parametrize("compiled", [False, True])
def test_a_plant_moves_like_a_simulation(compiled: bool) -> None:
    hc.set_compile(compiled)
    plant = Plant(parametric(), START, [1.0, 1.86], theta=LOAD, period=PERIOD, substeps=3)
    for _ in range(20):
        plant.apply([3.0, -1.0])
    loaded = robot().with_payload("tip", 1.5, [0.05, 0.0, 0.0], 1e-3 * np.eye(3))
    motion = hc.simulate(
        loaded, START, [1.0, 1.86], 0.04, controller=[3.0, -1.0], dt=PERIOD, substeps=3, saturate=True
    )
    np.testing.assert_allclose(plant.q, motion.q[-1], atol=1e-12)
    np.testing.assert_allclose(plant.v, motion.v[-1], atol=1e-12)
    assert plant.time == pytest.approx(0.04)


def test_a_floating_body_measures_with_a_unit_quaternion() -> None:
    plant = Plant(body(), body().neutral(), np.arange(6.0), noise={"q": 0.1}, period=0.01)
    for _ in range(5):
        plant.apply(np.zeros(6))
    assert np.linalg.norm(plant.measure().q[3:]) == pytest.approx(1.0, abs=1e-14)


def test_what_a_plant_measures_is_what_sensors_make_of_its_motion() -> None:
    plant = Plant(robot(), START, period=PERIOD, noise=NOISE, seed=5)
    seen = [plant.measure()]
    for _ in range(10):
        plant.apply([1.0, -2.0])
        seen.append(plant.measure())
    motion = hc.simulate(robot(), START, duration=10 * PERIOD, dt=PERIOD, controller=[1.0, -2.0])
    expected = hc.Sensors(noise=NOISE, seed=5)(motion)
    np.testing.assert_allclose([one.q for one in seen], expected.q, atol=1e-12)
    np.testing.assert_allclose([one.v for one in seen], expected.v, atol=1e-12)
    # The torque that a plant measures acted before the sample, that of a trajectory acts after it.
    np.testing.assert_allclose([one.tau for one in seen[1:]], expected.tau[1:], atol=1e-12)


def test_motors_saturate_and_sensors_say_so() -> None:
    plant = Plant(robot(), START)
    plant.apply([1e4, -1e4])
    np.testing.assert_array_equal(plant.measure().tau, robot().limits.effort * [1, -1])


def measured(plant: Plant) -> np.ndarray:
    sample = plant.measure()
    return np.concatenate([sample.q, sample.v, sample.tau])


def test_noise_has_its_size_and_its_seed() -> None:
    first, second, other = (Plant(robot(), START, noise=NOISE, seed=seed) for seed in (3, 3, 4))
    seen = np.array([measured(first) for _ in range(4000)])
    np.testing.assert_array_equal(seen[0], measured(second))
    assert not np.array_equal(seen[0], measured(other))
    np.testing.assert_allclose(seen.std(axis=0), [1e-3, 1e-3, 2e-4, 1e-3, 0.05, 0.05], rtol=0.08)
    first.reset()
    np.testing.assert_array_equal(seen[0], measured(first))
    first.reset(seed=4)
    other.reset()
    np.testing.assert_array_equal(measured(first), measured(other))


def test_parameters_jump_when_they_should() -> None:
    plant = Plant(parametric(), START, theta=jump({0.0: np.zeros(10), 0.02: LOAD}), period=PERIOD)
    masses = []
    for _ in range(12):
        masses.append(plant.theta[0])
        plant.apply([0.0, 0.0])
    assert masses[9] == 0.0 and masses[10] == 1.5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"theta": [1.0]}, "10 finite numbers"),
        ({"noise": {"torque": 0.1}}, "channels are q, v, tau"),
        ({"noise": {"q": [0.1, 0.1, 0.1]}}, "one number or one for each of 2"),
        ({"period": 0.0}, "period is above zero"),
        ({"v0": np.zeros((3, 2))}, "one robot"),
        ({"v0": [np.nan, 0.0]}, "v0 has entries that are not finite"),
    ],
)
def test_a_wrong_plant_is_refused(arguments: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Plant(parametric(), START, **arguments)


@pytest.mark.parametrize("tau", [[1.0], [np.nan, 0.0], "fast", None])
def test_a_wrong_torque_is_refused_and_nothing_moves(tau: object) -> None:
    plant = Plant(robot(), START)
    with pytest.raises(InputError, match="tau must be"):
        plant.apply(tau)  # type: ignore[arg-type]
    assert plant.steps == 0 and np.array_equal(plant.q, START)


def test_a_robot_that_is_not_parametric_takes_no_parameters() -> None:
    with pytest.raises(InputError, match="parametric"):
        Plant(robot(), START, theta=LOAD)


def test_an_invalid_schedule_is_refused() -> None:
    with pytest.raises(InputError, match="first time must be 0"):
        jump({1.0: [0.0]})
    with pytest.raises(InputError, match="start < end"):
        drift([0.0], [1.0], start=2.0, end=1.0)


def test_a_plant_is_public_and_its_former_places_warn() -> None:
    assert hc.Plant is Plant and hc.payload is payload and len(hc.Plant(robot(), START).measure()) == 1
    for name, now in (("Plant", Plant), ("jump", jump), ("drift", drift), ("payload", payload)):
        with pytest.warns(DeprecationWarning, match=f"hc.mpc.{name} is called hc.{name} now"):
            assert getattr(hc.mpc, name) is now
    with pytest.warns(DeprecationWarning, match=r"hc\.Measurement"):
        assert hc.mpc.Measured is hc.Measurement
