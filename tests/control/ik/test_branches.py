"""Paths: one branch of solutions from end to end, or the place where it ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.control import InverseKinematics, PositionTask
from helicoid.control.ik.problem import IKProblem
from helicoid.control.ik.targets import between
from helicoid.geometry import se3, so3

pytestmark = pytest.mark.needs_compiler


@pytest.fixture(scope="module")
def planar() -> InverseKinematics:
    return InverseKinematics(hc.load("planar_2r"), PositionTask("tip"))


@pytest.fixture(scope="module")
def ur5() -> InverseKinematics:
    return InverseKinematics(hc.load("ur5"), "tool0")


def largest_step(robot: hc.Robot, Q: Any) -> float:
    return float(np.abs(np.diff(Q, axis=0)).max())


def test_a_motion_of_joints_is_found_again(ur5: InverseKinematics, rng: Any) -> None:
    robot = ur5.robot
    a, b = np.array([0.2, -1.4, 1.2, -0.3, 0.8, 0.1]), np.array([0.9, -0.8, 1.9, 0.4, 1.3, -0.8])
    share = np.linspace(0, 1, 60)[:, None]
    Q = (1 - share) * a + share * b
    way = ur5.path(robot.pose("tool0")(Q), q0=a)
    assert way.success.all() and way.jumps == [] and np.allclose(way.q, Q, atol=1e-4)


def test_without_a_start_the_branch_is_one_that_leads_to_the_end(planar: InverseKinematics) -> None:
    robot = planar.robot.with_joints(lower={"joint_2": -2.0}, upper={"joint_2": 0.7})
    ik = InverseKinematics(robot, PositionTask("tip"))
    Q = np.column_stack([np.linspace(-0.2, 0.3, 40), np.linspace(-0.5, -1.8, 40)])
    P = robot.pose("tip")(Q)[:, :3, 3]
    assert len(ik.all(P[0])) == 2 and len(ik.all(P[-1])) == 1  # the other elbow ends at its limit
    way = ik.path(P)
    assert way.jumps == [] and np.allclose(way.q, Q, atol=1e-4)


def test_from_the_wrong_branch_it_says_where_it_must_jump(planar: InverseKinematics) -> None:
    robot = planar.robot.with_joints(lower={"joint_2": -2.0}, upper={"joint_2": 0.7})
    ik = InverseKinematics(robot, PositionTask("tip"))
    Q = np.column_stack([np.linspace(-0.2, 0.3, 40), np.linspace(-0.5, -1.8, 40)])
    P = robot.pose("tip")(Q)[:, :3, 3]
    other = next(q for q in ik.all(P[0]) if q[1] > 0)
    way = ik.path(P, q0=other)
    last = int(np.sum(-Q[:, 1] <= 0.7))  # up to there the mirrored elbow is within its limit
    assert (
        way.success.all()
        and way.jumps == [last]
        and np.allclose(P, robot.pose("tip")(way.q)[:, :3, 3], atol=1e-5)
    )
    assert np.all(way.q[:last, 1] > 0) and np.all(way.q[last:, 1] < 0)


def test_coarse_paths_are_followed_closely(ur5: InverseKinematics) -> None:
    robot = ur5.robot
    a, b = np.array([0.2, -1.4, 1.2, -0.3, 0.8, 0.1]), np.array([1.6, -0.6, 2.0, 0.8, 1.4, -1.0])
    ends = robot.pose("tool0")(np.stack([a, b]))
    way = ur5.path(ends, q0=a)
    assert way.success.all()
    # The straight way between the two poses, in small steps, leads to the same configuration.
    problem = IKProblem(robot, "tool0")
    fine = np.array([between(problem, *ends.reshape(2, 16), s) for s in np.linspace(0, 1, 100)]).reshape(
        -1, 4, 4
    )
    closely = ur5.path(fine, q0=a)
    assert closely.jumps == way.jumps == [] and np.allclose(closely.q[-1], way.q[-1], atol=1e-4)
    assert largest_step(robot, closely.q) < 0.2


def test_out_of_reach_on_the_way_is_reported(planar: InverseKinematics) -> None:
    x = np.concatenate([np.linspace(0.3, 3.0, 30), np.linspace(3.0, 0.3, 30)])
    way = planar.path(np.column_stack([x, 0 * x, 0 * x + 0.1]))
    gone = np.flatnonzero(~way.success)
    assert 0 < len(gone) < 60 and way.q.shape == (60, 2) and way.jumps
    assert np.all(way.error[gone] > 0) and way.success[0] and way.success[-1]


def test_half_ways_of_targets() -> None:
    problem = IKProblem(hc.load("ur5"), "tool0")
    a, b = np.eye(4), np.asarray(se3.pose(so3.exp([0.0, 0.0, 1.0]), [1.0, 2.0, 3.0]))
    half = between(problem, a.ravel(), b.ravel(), 0.5).reshape(4, 4)
    assert np.allclose(half, se3.pose(so3.exp([0.0, 0.0, 0.5]), [0.5, 1.0, 1.5]))


def test_a_path_needs_several_targets(planar: InverseKinematics) -> None:
    with pytest.raises(hc.InputError, match="axis first"):
        planar.path([0.5, 0.0, 0.5])
    assert planar.path(np.zeros((0, 3))).q.shape == (0, 2)
