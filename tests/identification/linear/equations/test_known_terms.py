"""Described terms that are not among the unknowns, and elastic elements as unknowns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from synthetic_logs import arm, motion, recording, truth

import helicoid as hc
from helicoid import InputError, Log, Robot
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.options import ESTIMATORS, Estimator

ROBOT = arm()
STIFFNESS, DAMPING = 400.0, 15.0  # N/m, N·s/m of the real balancer; 250 N/m and none are described


def balanced(robot: Robot, stiffness: float, damping: float) -> Robot:
    """With a gravity compensator between the last link and the world."""
    ends = {"point_a": (0.1, 0.0, 0.05), "point_b": (0.3, 0.2, 1.0)}
    return robot.with_spring(
        "link_3", "world", stiffness=stiffness, damping=damping, rest_length=0.4, name="balancer", **ends
    )


DESCRIBED = balanced(ROBOT, 250.0, 0.0)


def of_known_bodies(seed: int, noise: float) -> tuple[Robot, Log]:
    """A robot whose bodies are as described and whose joints are not."""
    actual = truth(ROBOT, seed).with_parameters(ROBOT.parameters.values)
    return actual, recording(actual, seed, noise)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_friction_alone_is_identified_beside_known_bodies(estimator: Estimator) -> None:
    actual, log = of_known_bodies(1, 0.01)
    groups = ("viscous", "coulomb", "armature")
    result = hc.identify(ROBOT, log, groups=groups, estimator=estimator, cutoff=None, lag=0.0)
    for name in ("damping", "friction", "armature"):
        found, true = (
            [getattr(joint, name)[0] for joint in robot.model.joints if joint.type.nv]
            for robot in (result.robot, actual)
        )
        np.testing.assert_allclose(found, true, rtol=0.02, atol=0.005)
    np.testing.assert_array_equal(result.robot.parameters.values, ROBOT.parameters.values)
    assert result.training.overall_relative == pytest.approx(result.score(log).overall_relative, rel=1e-3)


def test_a_report_without_unknown_bodies(tmp_path: Path) -> None:
    _, log = of_known_bodies(2, 0.01)
    hc.identify(ROBOT, log, groups=("viscous", "coulomb")).report(tmp_path / "report.html")
    assert "joint_1" in (tmp_path / "report.html").read_text()


def test_groups_that_cannot_be() -> None:
    _, log = of_known_bodies(1, 0.0)
    with pytest.raises(InputError, match="each once"):
        hc.identify(ROBOT, log, groups=())
    with pytest.raises(InputError, match="each once"):
        hc.identify(ROBOT, log, groups=("inertia", "inertia"))
    for form in ("momentum", "energy", "power"):
        with pytest.raises(InputError, match="inertia among the unknowns"):
            hc.identify(ROBOT, log, groups=("viscous",), form=form)


def test_wrenches_need_bodies_among_the_unknowns() -> None:
    t, q, v, a = motion(ROBOT, 1, 2.0)
    wrench = ROBOT.sensor_wrench("link_3")(q, v, a)
    log = Log.from_arrays(t, q, v, a, wrenches={"link_3": wrench})
    with pytest.raises(InputError, match="add 'inertia' to groups"):
        hc.identify(ROBOT, log, groups=("viscous",))
    with pytest.raises(InputError, match="from joint torques"):
        hc.identify(DESCRIBED, log, groups=("inertia", "elastic"))


@pytest.mark.parametrize("seed", [1, 5])
def test_stiffness_and_damping_of_an_elastic_element(seed: int, tmp_path: Path) -> None:
    actual = balanced(truth(ROBOT, seed), STIFFNESS, DAMPING)
    result = hc.identify(DESCRIBED, recording(actual, seed + 3, 0.2), cutoff=None, lag=0.0)
    found = result.robot.model.elastic[0]
    assert "elastic" in result.regression.groups
    assert found.stiffness == pytest.approx(STIFFNESS, rel=0.01)
    assert found.damping == pytest.approx(DAMPING, rel=0.05)
    assert found.rest_length == 0.4
    np.testing.assert_allclose(result.robot.parametric("elastic").theta.values[0], found.stiffness)
    sigma = result.parameters.sigma[result.parameters.names.index("balancer.stiffness")]
    assert abs(found.stiffness - STIFFNESS) < 4 * sigma < 0.02 * STIFFNESS
    assert result.success and result.score(recording(actual, 70)).overall_relative < 0.01
    result.report(tmp_path / "report.html")
    assert "balancer" in (tmp_path / "report.html").read_text()
    result.to_urdf(tmp_path / "arm.urdf")
    assert hc.load(tmp_path / "arm.urdf").model.elastic[0].stiffness == pytest.approx(found.stiffness)


def test_the_regression_is_the_inverse_dynamics_of_the_identified_robot(rng: np.random.Generator) -> None:
    actual = balanced(truth(ROBOT, 1), STIFFNESS, DAMPING)
    _, q, v, a = motion(actual, 3, 1.0)
    for groups in (("elastic", "viscous"), ("inertia", "elastic"), ("viscous",), ("elastic",)):
        regression = Regression(actual, groups)
        nominal = regression.parameters.nominal
        friction = any(group in ("elastic", "viscous") for group in groups)
        full = actual if "viscous" in groups else actual.with_joints(damping=0, friction=0)
        expected = full.inverse_dynamics(q, v, a, friction=friction)
        smooth = Regression(full, groups).predict(nominal, q, v, a)
        np.testing.assert_allclose(smooth, expected, atol=1e-9)
        sparse = np.zeros((len(q), len(regression.row_names), len(nominal)))
        for k, (rows, support) in enumerate(zip(regression.rows(q, v, a), regression.supports, strict=True)):
            sparse[:, k, support] = rows
        np.testing.assert_array_equal(sparse, regression.regressor(q, v, a))


def test_described_elements_count_in_wrenches() -> None:
    t, q, v, a = motion(DESCRIBED, 1, 4.0)
    robot = balanced(ROBOT, 250.0, DAMPING)
    log = Log.from_arrays(t, q, v, a, wrenches={"link_3": robot.sensor_wrench("link_3")(q, v, a)})
    result = hc.identify(robot, log, cutoff=None, lag=0.0)
    assert result.score(log).overall_relative < 1e-6


@pytest.mark.parametrize(("rest_length", "expected"), [(0.0, "combination"), (0.4, "alone")])
def test_a_spring_without_rest_length_has_the_torque_of_a_weight(rest_length: float, expected: str) -> None:
    """For one joint, JᵀΔ of a spring to the world is A sin(q + φ), as the torque of its weight."""
    pendulum = hc.serial_chain(2).lock({"joint_1": 0.0})
    robot = pendulum.with_spring(
        "link_2", "world", stiffness=100.0, rest_length=rest_length, point_a=(0.2, 0.1, 0.3), name="spring"
    )
    status = hc.identifiability(robot, groups=("inertia", "elastic")).status
    assert status["spring.stiffness"] == expected
