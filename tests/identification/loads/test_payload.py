from __future__ import annotations

import warnings

import numpy as np
import pytest
from synthetic_logs import arm, recording, truth

import helicoid as hc
from helicoid.identification.linear.equations.regression import default_groups
from helicoid.identification.logs.log import DoubtfulLogWarning

ROBOT = arm()
TRUTH = truth(ROBOT, 1)


def test_the_mass_of_a_payload_is_identified() -> None:
    bare = recording(TRUTH, 2, noise=0.1, seconds=6.0)
    result = hc.identify(ROBOT, bare, groups=default_groups(), cutoff=10.0, lag=0.0, regularisation=1.0)
    tip = ROBOT.link_names[-1]
    inertia = np.diag([0.02, 0.03, 0.04])
    loaded = TRUTH.with_payload(tip, 2.0, [0.05, -0.02, 0.1], inertia)
    log = recording(loaded, 12, noise=0.5)
    payload = hc.identify_payload(result, log, tip)
    assert payload.inertia.mass == pytest.approx(2.0, abs=max(0.1, 4 * payload.sigma[0]))
    assert not payload.inertia.doubts()
    assert f"Payload({tip!r}, " in repr(payload) and " kg at (" in repr(payload)
    exact = hc.identify_payload(TRUTH, recording(loaded, 12), tip)
    assert exact.inertia.mass == pytest.approx(2.0, abs=1e-3)
    np.testing.assert_allclose(exact.inertia.com, [0.05, -0.02, 0.1], atol=2e-3)
    assert exact.on(TRUTH).parameters.values[20] == pytest.approx(loaded.parameters.values[20], abs=1e-3)


def test_sigma_is_the_scatter_whatever_the_low_pass() -> None:
    tip = ROBOT.link_names[-1]
    clean = recording(TRUTH.with_payload(tip, 2.0, [0.05, -0.02, 0.1], np.diag([0.02, 0.03, 0.04])), 12)
    assert clean.tau is not None
    for cutoff in (None, 5.0):
        off = []
        for seed in range(8):
            noise = 0.5 * np.random.default_rng(seed).normal(size=clean.tau.shape)
            log = hc.Log.from_arrays(clean.t, clean.q, clean.v, clean.a, clean.tau + noise)
            found = hc.identify_payload(TRUTH, log, tip, cutoff=cutoff, gain_uncertainty=0.0)
            off.append((found.inertia.mass - 2.0) / found.sigma[0])
        assert 0.4 < np.sqrt(np.mean(np.square(off))) < 1.8  # eight draws of one number


UR5 = hc.load("ur5").with_joints(damping=[3, 3, 2, 0.6, 0.6, 0.5], friction=[5, 6, 4, 1, 1, 0.8])
CARRIED = 2.0, [0.02, -0.01, 0.06], 0.004 * np.eye(3)


def encoder_log(seed: int, gains: np.ndarray | float = 1.0, noise: float = 0.0) -> hc.Log:
    """Positions with the noise of encoders, and torques, of a UR5 that carries the load."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, 10.0, 0.004)
    w = np.array([0.7, 0.9, 1.1, 1.7, 2.1, 2.9]) * rng.uniform(0.8, 1.2, 6)
    size, phases = np.array([0.8, 0.5, 0.6, 0.8, 0.9, 1.0]), rng.uniform(0, 6.3, 6)
    q = np.array([0.0, -1.2, 1.4, -1.0, -1.5, 0.3]) + size * np.sin(t[:, None] * w + phases)
    v, a = size * w * np.cos(t[:, None] * w + phases), -size * w**2 * np.sin(t[:, None] * w + phases)
    loaded = UR5.with_payload("tool0", *CARRIED)
    tau = gains * np.asarray(loaded.inverse_dynamics(q, v, a, friction=True))
    tau += noise * rng.normal(size=tau.shape)
    return hc.Log.from_arrays(t, q + 5e-5 * rng.normal(size=q.shape), tau=tau)


def test_positions_and_torques_alone_are_low_passed_as_for_identification() -> None:
    found = hc.identify_payload(UR5, encoder_log(0), "tool0")
    assert found.inertia.mass == pytest.approx(2.0, abs=0.005)
    assert found.sigma[0] < 0.01
    raw = hc.identify_payload(UR5, encoder_log(0), "tool0", cutoff=None)
    assert abs(raw.inertia.mass - 2.0) > 0.5  # accelerations are the noise of the encoders


def test_sigma_allows_for_wrong_gains_of_the_drives() -> None:
    off, exact = [], []
    for seed in range(8):
        gains = 1 + 0.05 * np.random.default_rng(500 + seed).normal(size=6)
        log = encoder_log(50 + seed, gains, 0.05)
        found = hc.identify_payload(UR5, log, "tool0", cutoff=8.0)
        off.append((found.inertia.mass - 2.0) / found.sigma[0])
        assert found.parts["noise and gains"][0] >= found.parts["noise"][0] > 0
        told = hc.identify_payload(UR5, log, "tool0", cutoff=8.0, gain_uncertainty=0.0)
        exact.append([abs(told.inertia.mass - 2.0), abs(found.inertia.mass - 2.0)])
    assert 0.4 < np.sqrt(np.mean(np.square(off))) < 1.8  # eight draws of one number
    by_trust, by_doubt = np.median(exact, axis=0)
    assert by_doubt < 0.2 * by_trust
    with pytest.raises(hc.InputError, match="gain_uncertainty"):
        hc.identify_payload(UR5, encoder_log(0), "tool0", gain_uncertainty=-1.0)


def test_gains_that_disagree_ask_for_a_known_load() -> None:
    gains = np.array([1.0, 1.0, 1.4, 1.0, 1.0, 1.0])
    with pytest.warns(DoubtfulLogWarning, match=r"'elbow_joint' by [+-]\d+ %.*with a known load") as caught:
        hc.identify_payload(UR5, encoder_log(0, gains, 0.05), "tool0", cutoff=8.0)
    assert "shoulder_pan_joint" not in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DoubtfulLogWarning)
        hc.identify_payload(UR5, encoder_log(0, 1.0, 0.05), "tool0", cutoff=8.0)
        hc.identify_payload(UR5, encoder_log(0, gains, 0.05), "tool0", cutoff=8.0, gain_uncertainty=0.0)


@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_a_point_mass_is_not_hidden_in_the_gains_of_the_drives(noise: float) -> None:
    """No solid body is a point: exact torques once gave 1.4 times the mass, and gains far outside of 5 %."""
    t, rng = 0.005 * np.arange(801), np.random.default_rng(4200)
    w, phases = rng.uniform(0.8, 3.0, 3), rng.uniform(0.0, 6.0, 3)
    angle = np.outer(t, w) + phases
    motion = 0.6 * np.sin(angle), 0.6 * w * np.cos(angle), -0.6 * w**2 * np.sin(angle)
    robot = hc.serial_chain(3)
    tau = robot.with_payload("tool0", 0.5, [0.0, 0.0, 0.1]).inverse_dynamics(*motion)
    bare = hc.Log.from_arrays(t, *motion, robot.inverse_dynamics(*motion))
    log = hc.Log.from_arrays(t, *motion, tau + noise * rng.normal(size=tau.shape))
    found = hc.identify_payload(hc.identify(robot, bare, groups=("inertia",)), log, "tool0")
    assert found.inertia.mass == pytest.approx(0.5, abs=0.01)
    assert found.sigma[0] == pytest.approx(0.05 * 0.5 / np.sqrt(3), rel=0.05)  # of three gains


def wrist_log(robot: hc.Robot, sensors: hc.Sensors, seed: int = 0) -> hc.Log:
    """An excitation of the UR5's last joints that a force/torque sensor at its wrist measures."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, 6.0, 0.004)
    phases = rng.uniform(0, 6.3, 6)
    w = np.array([0.7, 0.9, 1.1, 1.7, 2.1, 2.9])
    size = np.array([0.4, 0.3, 0.4, 0.8, 0.9, 1.0])
    q = np.array([0.0, -1.2, 1.4, -1.0, -1.5, 0.3]) + size * np.sin(t[:, None] * w + phases)
    v, a = size * w * np.cos(t[:, None] * w + phases), -size * w**2 * np.sin(t[:, None] * w + phases)
    motion = hc.Trajectory(t, q, v, robot.inverse_dynamics(q, v, a), robot)
    motion.known["a"] = a
    return hc.Log.from_trajectory(sensors(motion))


def mounted() -> hc.Robot:
    """A UR5 with a sensor that is turned and moved against its flange."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]], [0.01, -0.02, 0.04]
    return hc.load("ur5").with_frame("sensor", "wrist_3_link", T)


LOAD = 1.8, np.array([0.03, -0.02, 0.09]), np.diag([0.01, 0.012, 0.008])


def test_a_wrist_sensor_alone_identifies_the_mass_of_the_load() -> None:
    """Offsets of six channels, noise, a turned and displaced sensor: mass and centre within the intervals."""
    robot = mounted()
    loaded = robot.with_payload("tool0", *LOAD)
    bias, noise = [0.3, -0.2, 0.1, 4.0, -6.0, 5.0], [0.02, 0.02, 0.02, 0.3, 0.3, 0.3]
    channels = dict(wrenches=["sensor"], accelerations=True)
    off = []
    for seed in range(6):
        sensors = hc.Sensors(noise={"wrench": noise}, bias={"wrench": bias}, seed=seed, **channels)
        found = hc.identify_payload(robot, wrist_log(loaded, sensors, seed), "tool0")
        off.append((found.inertia.mass - LOAD[0]) / found.sigma[0])
        np.testing.assert_allclose(found.inertia.com, LOAD[1], atol=5e-3)
        assert found.sigma[0] < 0.02
    assert 0.3 < np.sqrt(np.mean(np.square(off))) < 2.0  # six draws of one number
    biased = hc.Sensors(bias={"wrench": bias}, **channels)
    wrong = hc.identify_payload(robot, wrist_log(loaded, biased), "tool0", bias=False)
    assert abs(wrong.inertia.mass - LOAD[0]) > 0.05  # an offset that nobody estimates is taken for mass
    zeroed = hc.Sensors(**channels)
    right = hc.identify_payload(robot, wrist_log(loaded, zeroed), "tool0", bias=False)
    assert right.inertia.mass == pytest.approx(LOAD[0], abs=1e-6)


@pytest.mark.parametrize("delay", [0.0, 0.02])
def test_offsets_of_a_sensor_are_no_lag(delay: float) -> None:
    """Whatever its offsets, the lag of the readings is that of the sensor, and σ that of the noise."""
    robot = mounted()
    loaded = robot.with_payload("tool0", *LOAD)
    bias, noise = [0.3, -0.2, 0.1, 4.0, -6.0, 5.0], [0.02, 0.02, 0.02, 0.3, 0.3, 0.3]
    effects = dict(noise={"wrench": noise}, bias={"wrench": bias}, delay={"wrench": delay})
    sensors = hc.Sensors(**effects, wrenches=["sensor"], accelerations=True)
    found = hc.identify_payload(robot, wrist_log(loaded, sensors), "tool0")
    assert found.sigma[0] < 2e-3  # 0.3 N of 1,500 samples
    assert abs(found.inertia.mass - LOAD[0]) < 4 * found.sigma[0]


def test_the_sensor_carries_its_own_flange() -> None:
    """A flange of 0.4 kg below the sensor is known and no part of the load."""
    robot = hc.load("ur5").with_payload("tool0", 0.4, [0.0, 0.0, 0.02], 1e-4 * np.eye(3))
    loaded = robot.with_payload("tool0", *LOAD)
    log = wrist_log(loaded, hc.Sensors(wrenches=["tool0"], accelerations=True, carried="link"))
    found = hc.identify_payload(robot, log, "tool0", carried="link")
    assert found.inertia.mass == pytest.approx(LOAD[0], abs=1e-5)
    assert np.linalg.norm(log.wrenches["tool0"][:, 3:], axis=1).mean() < 4 * 9.81  # no link of the arm


def test_a_load_that_no_sensor_carries_is_refused() -> None:
    robot = hc.load("ur5")
    log = wrist_log(robot, hc.Sensors(wrenches=["wrist_3_link"], accelerations=True))
    with pytest.raises(hc.InputError, match="acts on no sensor"):
        hc.identify_payload(robot, log, "forearm_link")


def test_a_known_contact_during_the_log_is_no_load() -> None:
    """External wrenches on links, stated by the log, count in wrench and torque logs alike."""
    robot = mounted()
    loaded = robot.with_payload("tool0", *LOAD)
    clean = wrist_log(loaded, hc.Sensors(wrenches=["sensor"], accelerations=True))
    assert clean.v is not None and clean.a is not None
    push = np.zeros((len(clean), 6))
    push[200:900] = [1.0, 2.0, -1.0, 15.0, 20.0, -10.0]  # N·m, N on the tool
    T = np.linalg.inv(loaded.pose("sensor")(clean.q)) @ loaded.pose("tool0")(clean.q)
    felt = np.array([_moved(t, w) for t, w in zip(T, push, strict=True)])
    arrays = clean.t, clean.q, clean.v, clean.a
    at_wrist = hc.Log.from_arrays(*arrays, wrenches={"sensor": clean.wrenches["sensor"] - felt})
    told = hc.Log.from_arrays(*arrays, wrenches=at_wrist.wrenches, f_ext={"tool0": push})
    assert hc.identify_payload(robot, told, "tool0").inertia.mass == pytest.approx(LOAD[0], abs=1e-5)
    assert abs(hc.identify_payload(robot, at_wrist, "tool0").inertia.mass - LOAD[0]) > 0.02
    tau = loaded.inverse_dynamics(*arrays[1:], f_ext={"tool0": push})
    torques = hc.Log.from_arrays(*arrays, tau=tau, f_ext={"tool0": push})
    assert hc.identify_payload(robot, torques, "tool0").inertia.mass == pytest.approx(LOAD[0], abs=1e-5)
    assert "f_ext[tool0]" in repr(told[100:200]) and len(told[100:200].f_ext["tool0"]) == 100


@pytest.mark.parametrize("seed", [77, 78])
def test_a_turned_sensor_with_offsets_a_flange_and_a_contact_at_once(seed: int) -> None:
    """The flange is known, offsets estimated, the contact stated; each left out falsifies the mass."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]], [0.01, -0.02, 0.04]
    bare = hc.load("ur5").with_frame("sensor", "tool0", T)
    robot = bare.with_payload("sensor", 0.4, [0.0, 0.0, 0.02], 1e-4 * np.eye(3))
    bias, noise = [0.3, -0.2, 0.1, 4.0, -6.0, 5.0], [0.02, 0.02, 0.02, 0.3, 0.3, 0.3]
    sensors = hc.Sensors(
        noise={"wrench": noise},
        bias={"wrench": bias},
        seed=seed,
        wrenches=["sensor"],
        accelerations=True,
        carried="link",
    )
    free = wrist_log(robot.with_payload("sensor", *LOAD), sensors, seed)
    push = np.zeros((len(free), 6))
    push[300:1100] = [1.0, 2.0, -1.0, 15.0, 20.0, -10.0]  # N·m, N on the tool
    arrays, wrenches = (free.t, free.q, free.v, free.a), {"sensor": free.wrenches["sensor"] - push}
    log = hc.Log.from_arrays(*arrays, wrenches=wrenches, f_ext={"sensor": push})
    found = hc.identify_payload(robot, log, "sensor", carried="link")
    assert abs(found.inertia.mass - LOAD[0]) < 4 * found.sigma[0] < 0.05
    np.testing.assert_allclose(found.inertia.com, LOAD[1], atol=5e-3)
    without_contact = hc.Log.from_arrays(*arrays, wrenches=wrenches)
    for wrong, where, offsets in ((robot, without_contact, True), (bare, log, True), (robot, log, False)):
        off = hc.identify_payload(wrong, where, "sensor", carried="link", bias=offsets)
        assert abs(off.inertia.mass - LOAD[0]) > 0.02


def _moved(T: np.ndarray, w: np.ndarray) -> np.ndarray:
    """A wrench in a frame at pose T, about the origin that T is seen from."""
    n, f = T[:3, :3] @ w[:3], T[:3, :3] @ w[3:]
    return np.concatenate([n + np.cross(T[:3, 3], f), f])


def test_predictions_include_external_wrenches(rng: np.random.Generator) -> None:
    robot = arm()
    log = recording(truth(robot, 1), 2, seconds=3.0)
    assert log.v is not None and log.tau is not None
    tip = robot.link_names[-1]
    push = 5.0 * np.ones((len(log), 6))
    reduced = log.tau - np.einsum("kij,ki->kj", robot.jacobian(tip, "body")(log.q), push)
    pushed = hc.Log.from_arrays(log.t, log.q, log.v, log.a, reduced, f_ext={tip: push})
    fits = [hc.identify(robot, one, groups=default_groups(), cutoff=None, lag=0.0) for one in (log, pushed)]
    np.testing.assert_allclose(fits[0].x, fits[1].x, atol=1e-6)
    np.testing.assert_allclose(fits[1].predict(pushed), fits[0].predict(log) - (log.tau - reduced), atol=1e-6)
    with pytest.raises(hc.HelicoidError, match="maps links"):
        hc.Log.from_arrays(log.t, log.q, f_ext=[1.0])
    with pytest.raises(hc.HelicoidError, match="6 columns"):
        hc.Log.from_arrays(log.t, log.q, f_ext={tip: push[:, :3]})
