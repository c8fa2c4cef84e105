"""The methods of textbooks: each does what its formula promises."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.control import InverseKinematics, OrientationTask, PoseTask, PositionTask
from helicoid.control.ik.problem import IKProblem
from helicoid.control.ik.textbook import METHODS, Textbook
from helicoid.geometry import euler, so3
from helicoid.model.joints import TYPES
from helicoid.model.parts import Joint

UR5 = hc.load("ur5")
Q = np.array([0.4, -1.1, 1.3, 0.2, 0.9, -0.5])
NEAR = Q + np.array([0.1, -0.08, 0.12, 0.05, -0.1, 0.07])


@pytest.fixture(scope="module")
def problem() -> IKProblem:
    return IKProblem(UR5, "tool0")


def errors(textbook: Textbook, target: Any, q: Any, most: int = 30) -> Any:
    return np.array([np.linalg.norm(textbook.rows(at, target)[0]) for at in textbook.walk(target, q, most)])


def target_at(q: Any) -> Any:
    return UR5.pose("tool0")(q).ravel()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_a_pose_nearby(method: str) -> None:
    ik = InverseKinematics(UR5, "tool0", method=method, tolerance=1e-3)
    found = ik(UR5.pose("tool0")(Q), q0=NEAR)
    assert found.success and found.error < 2e-3 and found.starts == 1


def test_the_pseudo_inverse_converges_quadratically(problem: IKProblem) -> None:
    e = errors(Textbook(problem, "pseudo_inverse"), target_at(Q), NEAR, 6)
    assert e[4] < 1e-12 and np.all(e[1:5] < 3 * e[:4] ** 2 + 1e-12)


def test_the_pseudo_inverse_is_the_shortest_step_of_a_redundant_arm() -> None:
    robot = hc.load("panda")
    problem, q = IKProblem(robot, "panda_link8"), robot.random(1)
    textbook, target = Textbook(problem, "pseudo_inverse"), robot.pose("panda_link8")(robot.random(2)).ravel()
    e, J = textbook.rows(q, target)
    dv = textbook.step(q, target)
    null = np.eye(7) - np.linalg.pinv(J) @ J
    assert np.allclose(J @ dv, e) and np.allclose(null @ dv, 0, atol=1e-9)  # nothing is wasted on self-motion


@pytest.mark.parametrize("k", [0.2, 0.5])
def test_a_scaled_step_leaves_a_share_of_the_error(problem: IKProblem, k: float) -> None:
    e = errors(Textbook(problem, "pseudo_inverse", step=k), target_at(Q), NEAR, 12)
    assert e[-1] / e[-2] == pytest.approx(1 - k, abs=0.02)


def test_where_the_linearisation_is_poor_a_scaled_step_comes_down_steadily() -> None:
    robot = hc.load("planar_2r")
    problem = IKProblem(robot, PositionTask("tip"))
    target, q = robot.pose("tip")([-1.38, -1.45])[:3, 3], np.array([0.41, -0.69])
    full, scaled = (errors(Textbook(problem, "pseudo_inverse", step=k), target, q, 60) for k in (1.0, 0.1))
    assert full[-1] > 0.3 * full[0]  # the full step overshoots and never comes back
    assert np.all(np.diff(scaled) <= 1e-12) and scaled[-1] < 0.01 * scaled[0]


def test_at_a_singularity_only_the_damped_step_stays_small() -> None:
    robot = hc.load("planar_2r")
    problem = IKProblem(robot, PositionTask("tip"))
    q = np.array([0.3, 1e-5])  # all but stretched out
    target = robot.pose("tip")([0.3, 0.0])[:3, 3] * 0.95  # inwards, where a stretched arm cannot go
    e = np.linalg.norm(Textbook(problem, "damped").rows(q, target)[0])
    for damping in (0.01, 0.1):
        assert np.linalg.norm(Textbook(problem, "damped", damping_factor=damping).step(q, target)) <= e / (
            2 * damping
        )
    assert np.linalg.norm(Textbook(problem, "pseudo_inverse").step(q, target)) > 100
    found = InverseKinematics(robot, PositionTask("tip"), method="damped", damping_factor=0.02)(target, q0=q)
    assert found.success


def test_the_damped_step_is_the_undamped_where_there_is_nothing_to_damp(problem: IKProblem) -> None:
    steps = [Textbook(problem, "damped", damping_factor=d).step(NEAR, target_at(Q)) for d in (1e-7, 1e-1)]
    plain = Textbook(problem, "pseudo_inverse").step(NEAR, target_at(Q))
    assert np.allclose(steps[0], plain, atol=1e-9) and np.linalg.norm(steps[1]) < np.linalg.norm(plain)


def test_the_transpose_always_comes_down_if_its_step_is_small_enough(problem: IKProblem, rng: Any) -> None:
    textbook = Textbook(problem, "transpose", step=0.05)
    for start in UR5.random(rng, size=3):
        e = errors(textbook, target_at(Q), start, 60)
        assert np.all(np.diff(e) <= 1e-12) and e[-1] < e[0]


def test_the_transpose_does_not_if_its_step_is_large(problem: IKProblem) -> None:
    e = errors(Textbook(problem, "transpose", step=20.0), target_at(Q), NEAR, 20)
    assert np.any(np.diff(e) > 0)


def ball() -> hc.Robot:
    """A link on a ball joint: every orientation, and nothing between it and the way there."""
    robot = hc.load("planar_2r").lock({"joint_2": 0.0})
    joints = [
        Joint(joint.name, TYPES["spherical"](), joint.parent, joint.child, joint.placement)
        if joint.name == "joint_1"
        else joint
        for joint in robot.model.joints
    ]
    return robot.with_model(robot.model.replaced(joints=tuple(joints)))


def test_turns_go_the_shortest_way_and_by_euler_angles_another() -> None:
    robot = ball()
    problem = IKProblem(robot, OrientationTask("tip"))
    begin = np.asarray(robot.pose("tip")(robot.neutral()))[:3, :3]
    wanted = np.asarray(so3.exp([1.0, 0.9, -1.1])) @ begin
    lengths = {}
    for rotation in ("shortest_path", "zyx"):
        textbook = Textbook(problem, "pseudo_inverse", step=0.05, rotation=rotation)
        R = [
            np.asarray(robot.pose("tip")(q))[:3, :3]
            for q in textbook.walk(wanted.ravel(), robot.neutral(), 200)
        ]
        assert np.allclose(R[-1], wanted, atol=1e-3)
        lengths[rotation] = sum(np.linalg.norm(so3.log(a.T @ b)) for a, b in pairwise(R))
    shortest = np.linalg.norm(so3.log(begin.T @ wanted))
    assert lengths["shortest_path"] == pytest.approx(shortest, rel=1e-3)
    assert lengths["zyx"] > 1.01 * shortest


def test_euler_angles_agree_at_the_target(problem: IKProblem) -> None:
    textbook = Textbook(problem, "pseudo_inverse", rotation="zyx")
    e = errors(textbook, target_at(Q), NEAR, 8)
    assert e[-1] < 1e-9
    now = UR5.pose("tool0")(NEAR)[:3, :3]
    difference = np.asarray(euler.to_euler(UR5.pose("tool0")(Q)[:3, :3], "zyx")) - euler.to_euler(now, "zyx")
    assert np.allclose(textbook.rows(NEAR, target_at(Q))[0][:3], difference)


@pytest.mark.slow
def test_limits_are_kept_here_too() -> None:
    robot = hc.load("planar_2r").with_joints(lower={"joint_1": -0.5}, upper={"joint_1": 0.5})
    for method in METHODS:
        found = InverseKinematics(robot, PositionTask("tip"), method=method)([-1.0, 0.0, 0.3])
        assert np.all(found.q >= robot.limits.lower) and np.all(found.q <= robot.limits.upper)
        assert np.all(np.isfinite(found.q)) and not found.success


def test_many_targets_and_weights() -> None:
    ik = InverseKinematics(
        UR5, PoseTask("tool0", weight=[1, 1, 0, 1, 1, 1], reference="body"), method="damped"
    )
    T = UR5.pose("tool0")(np.stack([Q, NEAR]))
    found = ik(T, q0=Q)
    assert found.q.shape == (2, 6) and found.success.all() and found.iterations[0] == 1


BAD: list[dict[str, Any]] = [
    {"method": "newton"},
    {"method": "damped", "damping_factor": 0.0},
    {"method": "damped", "step": -1.0},
    {"method": "transpose", "step": np.inf},
    {"method": "damped", "rotation": "xx"},
    {"method": "damped", "speed": 1.0},
    {"step": 0.5},
]


@pytest.mark.parametrize("options", BAD)
def test_what_is_no_method_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(hc.InputError):
        InverseKinematics(UR5, "tool0", **options)
