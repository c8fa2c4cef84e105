"""Constant offsets of force/torque sensors are estimated with the bodies, in a log and online."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from synthetic_logs import motion

import helicoid as hc
from helicoid.identification.linear.equations.regression import Regression
from helicoid.model.inertia import Inertia, transformation

Array = NDArray[np.float64]

OFFSET = np.array([0.5, -0.5, 0.5, 5.0, -5.0, 5.0])  # N·m, N
NOISE = np.array([0.02, 0.02, 0.02, 0.3, 0.3, 0.3])


@cache
def arm() -> hc.Robot:
    """A UR5 with a sensor in its forearm, turned against the link about two axes and moved."""
    c, s = np.cos(0.7), np.sin(0.7)
    mount = np.eye(4)
    mount[:3, :3] = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ np.array(
        [[1, 0, 0], [0, c, -s], [0, s, c]]
    )
    mount[:3, 3] = 0.01, -0.02, 0.04
    return hc.load("ur5").with_frame("sensor", "forearm_link", mount)


@cache
def truth() -> hc.Robot:
    """Other masses by up to 30 %, other centres of mass by some 10 mm."""
    rng, rows = np.random.default_rng(5), []
    for body in arm().model.bodies:
        own = body.inertia
        com = own.com + rng.normal(0.0, 0.01, 3)
        rows.append(Inertia.from_com(own.mass * rng.uniform(0.7, 1.3), com, own.at_com).parameters)
    return arm().with_parameters(np.concatenate(rows))


def reading(
    actual: hc.Robot, seed: int, offset: Array, noise: float = 1.0, links: tuple[str, ...] = ()
) -> hc.Log:
    t, q, v, a = motion(actual, seed, 6.0)
    rng, wrenches = np.random.default_rng(seed + 1000), {}
    for link in links or ("sensor",):
        w = actual.sensor_wrench(link)(q, v, a) + offset
        wrenches[link] = w + noise * NOISE * rng.normal(size=w.shape)
    return hc.Log.from_arrays(t, q, v, a, wrenches=wrenches)


def gravity_error(found: hc.Robot, actual: hc.Robot) -> float:
    """Root mean square (N, N·m) of the wrench of weight at the sensor, over configurations."""
    q = np.array([actual.random(seed) for seed in range(20)])
    still = np.zeros_like(q)
    off = found.sensor_wrench("sensor")(q, still, still) - actual.sensor_wrench("sensor")(q, still, still)
    return float(np.sqrt(np.mean(np.square(off))))


def test_offsets_are_found_and_do_not_become_mass() -> None:
    log = reading(truth(), 31, OFFSET)
    result = hc.identify(arm(), log)
    found = result.wrench_offsets["sensor"]
    assert result.posterior is not None
    sigma = np.sqrt(np.diag(result.posterior)[result.regression.parameters.groups["offset"]])
    assert np.all(np.abs(found - OFFSET) < 4 * sigma)
    assert np.all(sigma < [0.01] * 3 + [0.1] * 3)
    assert result.parameters["sensor.fx.offset"] == found[3]
    said = [note for note in result.notes if "Offsets of the sensor at 'sensor'" in note]
    assert len(said) == 1 and f"{found[3]:.3g} ±" in said[0]
    assert gravity_error(result.robot, truth()) < 0.05
    # What the sensor reads in another motion, offset included, is what the result predicts.
    other = reading(truth(), 32, OFFSET, noise=0.0)
    assert np.abs(result.predict(other) - other.wrenches["sensor"]).max() < 0.5
    assert not any("mostly constant" in note for note in result.notes)
    zeroed = hc.identify(arm(), log, groups=("inertia",))
    assert any("mostly constant: the sensor likely has an offset" in note for note in zeroed.notes)
    assert not zeroed.wrench_offsets and gravity_error(zeroed.robot, truth()) > 0.5


def test_sensors_that_were_zeroed_are_not_said_to_have_offsets() -> None:
    result = hc.identify(arm(), reading(truth(), 36, 0 * OFFSET), groups=("inertia",), cutoff=5.0, lag=0.0)
    assert not any("constant" in note for note in result.notes) and not result.wrench_offsets
    assert gravity_error(result.robot, truth()) < 0.05


def test_bodies_do_not_depend_on_a_constant() -> None:
    """Least squares projects it out: exact, with any offset, and for two sensors each its own."""
    links = ("sensor", "wrist_2_link")
    options = {"estimator": "ordinary", "cutoff": None, "lag": 0.0}
    logs = [reading(truth(), 33, size * OFFSET, 1.0, links) for size in (0.0, 1.0)]
    without, with_offset = (hc.identify(arm(), log, **options) for log in logs)  # type: ignore[arg-type]
    np.testing.assert_allclose(with_offset.x[:60], without.x[:60], atol=1e-6)
    for link in links:
        moved = with_offset.wrench_offsets[link] - without.wrench_offsets[link]
        np.testing.assert_allclose(moved, OFFSET, atol=1e-6)


def test_columns_of_offsets() -> None:
    regression = Regression(arm(), ("inertia", "offset"), wrenches=("sensor", "wrist_2_link"))
    own = regression.parameters.groups["offset"]
    assert regression.parameters.names[own] == tuple(f"{row}.offset" for row in regression.row_names)
    q, v, a = np.random.default_rng(0).normal(size=(3, 4, 6))
    Y = regression.regressor(q, v, a)
    np.testing.assert_array_equal(Y[:, :, own], np.tile(np.eye(12), (4, 1, 1)))
    for k, (rows, on) in enumerate(zip(regression.rows(q, v, a), regression.supports, strict=True)):
        np.testing.assert_array_equal(rows, Y[:, k, on])


def test_weight_about_a_vertical_axis_is_no_offset_and_cannot_be_told_from_one() -> None:
    """The forearm's sensor turns in gravity; that below the first joint, whose axis is vertical, does not."""
    groups, axes = ("inertia", "offset"), ("nx", "ny", "nz", "fx", "fy", "fz")
    turning, upright = (
        hc.identifiability(arm(), groups=groups, wrenches=[link]).status
        for link in ("sensor", "shoulder_link")
    )
    assert {turning[f"sensor.{axis}.offset"] for axis in axes} == {"alone"}
    alone = [axis for axis in axes if upright[f"shoulder_link.{axis}.offset"] == "alone"]
    assert alone == [axis for axis in axes if axis != "fz"]


def online(bias: bool, **options: float) -> hc.OnlineIdentifier:
    return hc.OnlineIdentifier(
        arm(), ("payload",), payload_link="tool0", wrenches=["sensor"], noise=NOISE, bias=bias, **options
    )


def test_online_offsets_are_estimated_beside_a_load_that_changes() -> None:
    loaded = arm().with_payload("tool0", 1.8, [0.03, -0.02, 0.09], 0.01 * np.eye(3))
    before, after = (reading(robot, 34, OFFSET) for robot in (arm(), loaded))
    estimator, plain = online(True), online(False)
    for log, mass in ((before, 0.0), (after, 1.8)):
        for q, v, a, w in zip(log.q, log.v, log.a, log.wrenches["sensor"], strict=True):  # type: ignore[arg-type]
            estimator.update(q, v, a, w)
            plain.update(q, v, a, w)
        assert estimator.trustworthy and abs(estimator.theta[0] - mass) < 0.02
        off = estimator.wrench_offsets["sensor"] - OFFSET
        assert np.all(np.abs(off) < 5 * estimator.wrench_offset_sigmas["sensor"])
    assert abs(plain.theta[0] - 1.8) > 0.1 and not plain.wrench_offsets
    again = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(again.wrench_offsets["sensor"], estimator.wrench_offsets["sensor"])


def test_online_equals_the_batch_solution() -> None:
    """Without forgetting: the posterior of one regression on load and offsets, with the same prior."""
    log, robot = reading(arm(), 35, OFFSET), arm()
    estimator = online(True, forgetting=1.0)
    q, v, a, w = (x[::20] for x in (log.q, log.v, log.a, log.wrenches["sensor"]))  # type: ignore[index]
    of_load, of_offsets = estimator.covariance, estimator.wrench_offset_sigmas["sensor"]
    for sample in zip(q, v, a, w, strict=True):
        estimator.update(*sample)
    base = robot.sensor_wrench("sensor")(q, v, a)
    frame = robot.model.frame("tool0")
    to_body = transformation(frame.placement.rotation, frame.placement.translation)
    own = slice(10 * frame.body, 10 * frame.body + 10)
    load = (robot.wrench_regressor("sensor")(q, v, a)[:, :, own] @ to_body).reshape(-1, 10)
    Y, weight = np.column_stack([load, np.tile(np.eye(6), (len(q), 1))]), np.tile(1 / NOISE, len(q))
    information = np.zeros((16, 16))
    information[:10, :10], information[10:, 10:] = np.linalg.inv(of_load), np.diag(of_offsets**-2)
    A = information + (Y * weight[:, None] ** 2).T @ Y
    x = np.linalg.solve(A, (Y * weight[:, None] ** 2).T @ (w - base).reshape(-1))
    np.testing.assert_allclose(estimator.estimate, x[:10], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(estimator.wrench_offsets["sensor"], x[10:], rtol=1e-5, atol=1e-7)


def test_bias_is_checked() -> None:
    with pytest.raises(hc.InputError, match="bias is True or False"):
        online("yes")  # type: ignore[arg-type]
    with pytest.raises(hc.InputError, match="name them, wrenches="):
        hc.OnlineIdentifier(arm(), ("inertia",), bias=True)


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_a_load_far_beyond_the_described_body(noise: float) -> None:
    """Kilograms on a flange of 0.2 kg: the prior of the description yields to what the sensor reads."""
    ur5 = hc.load("ur5")
    loaded = ur5.with_payload("tool0", 3.0, [0.03, 0.0, 0.08], 0.01 * np.eye(3))
    log = reading(loaded, 3, 0 * OFFSET, noise, ("wrist_3_link",))
    found = hc.identify(ur5, log, cutoff=None, lag=0.0, progress=False)
    own = [found.parameters.names.index(f"wrist_3_link.{name}") for name in ("m", "hx", "hy", "hz")]
    values, sigma = found.parameters.values[own], found.parameters.sigma[own]
    true = loaded.parameters.values[[loaded.parameters.names.index(found.parameters.names[k]) for k in own]]
    assert values == pytest.approx(true, abs=0.01)
    assert noise == 0.0 or np.all(np.abs(values - true) < 4 * sigma)
