"""Tasks: errors, Jacobians, and invalid tasks."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from helicoid.control import (
    CenterOfMassTask,
    LookAtTask,
    OrientationTask,
    PoseTask,
    PositionTask,
    PostureTask,
    RelativePoseTask,
    Task,
)
from helicoid.geometry import se3, so3
from random_trees import few, robots, seeds


def tasks_of(robot: hc.Robot) -> list[Task]:
    """One of each kind, about the last link and, where it moves against that, the first."""
    tip = robot.model.links[-1].name
    found: list[Task] = [
        CenterOfMassTask(),
        PostureTask(joints=robot.joint_names),
        LookAtTask(tip, axis=(1, 2, 2)),
    ]
    for reference in ("world_aligned", "body"):
        found += [kind(tip, reference=reference) for kind in (PoseTask, PositionTask, OrientationTask)]
    other = robot.model.links[0].name
    if robot.model.frame(tip).body != robot.model.frame(other).body:
        found.append(RelativePoseTask(tip, seen_from=other))
    return found


def evaluated(task: Task, robot: hc.Robot, *, exact: bool = False) -> ca.Function:
    q, target = ca.SX.sym("q", robot.nq), ca.SX.sym("target", task.target_size(robot))
    J = (task.exact_jacobian if exact else task.jacobian)(robot, q, target)
    return ca.Function("task", [q, target], [task.error(robot, q, target), J])


def target_at(task: Task, robot: hc.Robot, q: Any, rng: np.random.Generator) -> Any:
    """The numbers of a target that the robot has reached at q."""
    symbol = ca.SX.sym("q", robot.nq)
    measure = task.measure(robot, symbol)
    if measure is not None:
        return np.array(ca.Function("measure", [symbol], [measure])(q)).ravel()
    if isinstance(task, PostureTask):
        return q
    assert isinstance(task, LookAtTask)
    T = robot.pose(task.frame)(q)
    return T[:3, 3] + rng.uniform(0.5, 2.0) * (T[:3, :3] @ np.asarray(task.axis))


@few
@given(robot=robots(), seed=seeds)
def test_the_error_is_zero_at_the_target_and_a_step_makes_up_for_it(robot: hc.Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = robot.random(rng)
    dv = 1e-6 * rng.normal(size=robot.nv)
    for task in tasks_of(robot):
        f = evaluated(task, robot)
        target = target_at(task, robot, q, rng)
        e, J = (np.array(x) for x in f(q, target))
        assert np.abs(e).max() < 1e-7, task.name  # rounding of a rotation matrix, to the half power at worst
        moved = np.array(f(robot.integrate(q, -dv), target)[0]).ravel()
        assert np.allclose(moved, e.ravel() + J @ dv, atol=1e-9 * (1 + np.abs(J).max())), task.name


@few
@given(robot=robots(), seed=seeds)
def test_far_from_the_target_the_jacobian_still_gives_the_gradient(robot: hc.Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, there = robot.random(rng), robot.random(rng)
    for task in tasks_of(robot):
        if isinstance(task, PostureTask):  # turns and ways of one joint mix in its tangent
            continue
        target = target_at(task, robot, there, rng)
        e, J = (np.array(x) for x in evaluated(task, robot)(q, target))
        exact = np.array(evaluated(task, robot, exact=True)(q, target)[1])
        size = 1 + np.abs(exact).max() * np.abs(e).max()
        assert np.allclose(J.T @ e, exact.T @ e, atol=1e-6 * size), task.name


def test_the_numbers_are_those_of_geometry() -> None:
    robot = hc.load("planar_2r")
    q, T = [0.3, -0.4], se3.pose(so3.exp([0.1, 0.5, -0.2]), [0.1, 0.2, 0.3])
    now = robot.pose("tip")(q)
    R, p = now[:3, :3], now[:3, 3]
    wanted = np.asarray(T)
    e = np.array(evaluated(PoseTask("tip"), robot)(q, wanted.ravel())[0]).ravel()
    assert np.allclose(e, [*so3.log(wanted[:3, :3] @ R.T), *(wanted[:3, 3] - p)])
    e = np.array(evaluated(PoseTask("tip", reference="body"), robot)(q, wanted.ravel())[0]).ravel()
    assert np.allclose(e, [*so3.log(R.T @ wanted[:3, :3]), *(R.T @ (wanted[:3, 3] - p))])
    relative = np.linalg.inv(robot.pose("link_1")(q)) @ now
    e = evaluated(RelativePoseTask("tip", seen_from="link_1"), robot)(q, relative.ravel())[0]
    assert np.allclose(np.array(e), 0, atol=1e-7)


def test_looking_away_is_an_error_of_the_angle() -> None:
    robot = hc.load("planar_2r")
    T = robot.pose("tip")([0.0, 0.0])
    for angle in (0.3, 2.0, np.pi):
        point = T[:3, 3] + 0.7 * T[:3, :3] @ so3.exp([0.0, angle, 0.0]) @ [0.0, 0.0, 1.0]
        e = np.array(evaluated(LookAtTask("tip"), robot)([0.0, 0.0], point)[0])
        assert np.linalg.norm(e) == pytest.approx(2 * np.sin(angle / 2))


BAD_TARGETS = [
    (PositionTask("tip"), [1, 2], "has shape (3,)"),
    (PositionTask("tip"), [1, 2, np.nan], "must be finite"),
    (PositionTask("tip"), "here", "must be numbers"),
    (PositionTask("tip"), None, "none was given"),
    (OrientationTask("tip"), 1.1 * np.eye(3), "is no rotation"),
    (OrientationTask("tip"), np.diag([1, 1, -1]), "is no rotation"),
    (PoseTask("tip"), 2 * np.eye(4), "last row"),
    (PoseTask("tip"), np.diag([1, -1, 1, 1]), "is no rotation"),
    (PoseTask("tip"), np.stack([np.eye(4), np.full((4, 4), np.nan)]), "number 1 of 2, must be finite"),
    (RelativePoseTask("tip", "base_link"), np.eye(3), "has shape (4, 4)"),
    (PostureTask(), np.zeros(3), "has shape (2,)"),
]


@pytest.mark.parametrize(("task", "target", "message"), BAD_TARGETS)
def test_what_is_no_target_is_refused(task: Task, target: Any, message: str) -> None:
    with pytest.raises(hc.InputError, match=re.escape(message)):
        task.numbers(hc.load("planar_2r"), target)


def test_targets_of_many_are_rows() -> None:
    robot = hc.load("planar_2r")
    assert PoseTask("tip").numbers(robot, np.stack(5 * [np.eye(4)])).shape == (5, 16)
    assert PositionTask("tip", target=[1, 2, 3]).numbers(robot).tolist() == [1, 2, 3]
    assert PositionTask("tip").numbers(robot, np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("weight", [-1.0, [1, 2], np.nan, [1, 1, -1], "much"])
def test_what_is_no_weight_is_refused(weight: Any) -> None:
    with pytest.raises(hc.InputError, match="weight of 'tip position'"):
        PositionTask("tip", weight=weight).weights(hc.load("planar_2r"))


def test_weights_are_one_for_each_row() -> None:
    robot = hc.load("planar_2r")
    assert PoseTask("tip", weight=2.0).weights(robot).tolist() == [2.0] * 6
    assert PositionTask("tip", weight=[1, 2, 0]).weights(robot).tolist() == [1, 2, 0]


def test_unknown_frames_joints_axes_and_masses_are_refused() -> None:
    robot = hc.load("planar_2r")
    with pytest.raises(hc.HelicoidError, match="nowhere"):
        PoseTask("nowhere").check(robot)
    with pytest.raises(hc.HelicoidError, match="elbow"):
        PostureTask(joints=["elbow"]).check(robot)
    with pytest.raises(hc.InputError, match="reference must be one of"):
        PoseTask("tip", reference="moon")  # type: ignore[arg-type]
    with pytest.raises(hc.InputError, match="axis is a direction"):
        LookAtTask("tip", axis=(0, 0, 0))
    with pytest.raises(hc.InputError, match="do not move against each other"):
        RelativePoseTask("tip", seen_from="link_2").check(robot)
    weightless = robot.with_parameters(0 * robot.parameters.values)
    with pytest.raises(hc.InputError, match="nothing that moves has mass"):
        CenterOfMassTask().check(weightless)


def test_a_posture_is_of_the_joints_and_not_of_the_base() -> None:
    robot = hc.load("quadruped", base="floating")
    assert PostureTask().rows(robot) == robot.nv - 6
    assert PostureTask(joints="floating_base").rows(robot) == 6
    assert PostureTask(joints=robot.joint_names[1:3]).velocities(robot) == [6, 7]


def test_tasks_are_values() -> None:
    task = PoseTask("tip", weight=2.0)
    other = replace(task, target=np.eye(4))
    assert task.target is None and other.weight == 2.0 and other.name == task.name
