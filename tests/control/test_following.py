"""References over time: the same commands as those of steps with the references at that time."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.control import ComputedTorque, ControllerProtocol, DifferentialIK, Following, JointImpedance

ROBOT = hc.load("planar_2r")
TIMES = np.array([0.0, 0.1, 0.3])
Q = np.array([[0.0, 0.1], [0.2, -0.1], [0.3, 0.4]])
V = np.array([[0.5, 0.0], [0.0, -0.2], [0.1, 0.1]])
A = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, 0.0]])
MOTION = SimpleNamespace(t=TIMES, q=Q, v=V, a=A)
MEASURED = (np.array([0.05, 0.02]), np.array([0.1, -0.1]))


@pytest.fixture(scope="module")
def law() -> ComputedTorque:
    return ComputedTorque(ROBOT, frequency=2.0, dt=0.05)


def _at(t: float, form: str = "") -> dict[str, np.ndarray]:
    samples = {"q_ref": Q, "v_ref": V, "a_ref": A}
    at = {name: np.array([np.interp(t, TIMES, x[:, k]) for k in range(2)]) for name, x in samples.items()}
    if form == "motion" and t > TIMES[-1] + 1e-6:  # a motion is at rest after its end
        at["v_ref"] = at["a_ref"] = np.zeros(2)
    return at


FORMS: dict[str, Any] = {
    "motion": MOTION,
    "samples": {"t": TIMES, "q_ref": Q, "v_ref": V, "a_ref": A},
    "callable": _at,
    "callables": {name: lambda t, name=name: _at(t)[name] for name in ("q_ref", "v_ref", "a_ref")},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("t", [-1.0, 0.0, 0.07, 0.1, 0.25, 0.3, 9.0])
def test_every_form_gives_the_reference_at_the_time(law: ComputedTorque, form: str, t: float) -> None:
    following = law.following(FORMS[form])
    law.reset()
    command = following.step(*MEASURED, t=t)
    assert following.ok and following.status is hc.Status.OK and following.message == ""
    law.reset()
    np.testing.assert_allclose(command, law.step(*MEASURED, **_at(t, form)), rtol=1e-12)


def test_a_constant_is_the_first_reference(law: ComputedTorque) -> None:
    law.reset()
    wanted = law.step(*MEASURED, q_ref=Q[1])
    for reference in (Q[1], list(Q[1]), {"q_ref": Q[1]}, lambda t: Q[1]):
        law.reset()
        np.testing.assert_array_equal(law.following(reference).step(*MEASURED, t=0.0), wanted)
    law.reset()
    np.testing.assert_array_equal(law.following(q_ref=Q[1]).step(*MEASURED), wanted)


def test_its_own_clock_advances_by_the_period(law: ComputedTorque) -> None:
    times: list[float] = []

    def reference(t: float) -> np.ndarray:
        times.append(t)
        return Q[0]

    following = law.following(reference)
    assert following.period == 0.05 and isinstance(following, ControllerProtocol)
    times.clear()
    for _ in range(3):
        following.step(*MEASURED)
    following.step(*MEASURED, t=1.0)
    following.step(*MEASURED)
    following.reset()
    assert following.status is hc.Status.NOT_STARTED
    following.step(*MEASURED)
    np.testing.assert_allclose(times, [0.0, 0.05, 0.1, 1.0, 1.05, 0.0])


def test_without_a_period_the_time_is_needed_for_a_reference_that_moves() -> None:
    law = JointImpedance(ROBOT, 100.0, 20.0)
    assert law.period is None and law.following(Q[0]).step(*MEASURED).shape == (2,)
    with pytest.raises(hc.InputError, match="no period"):
        law.following(MOTION).step(*MEASURED)


def test_rows_without_times_are_one_per_step(law: ComputedTorque) -> None:
    following = law.following(q_ref=Q)
    law.reset()
    commands = [following.step(*MEASURED) for _ in range(4)]
    law.reset()
    wanted = [law.step(*MEASURED, q_ref=Q[k]) for k in (0, 1, 2, 2)]
    np.testing.assert_array_equal(commands, wanted)


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ([0.0, 0.0, 0.0], "shape"),
        ({"q_ref": Q[0], "speed": 1.0}, "no reference 'speed'"),
        ({"v_ref": Q[0]}, "needs a reference 'q_ref'"),
        ({"q_ref": [np.nan, 0.0]}, "finite"),
        ({"t": [0.0, 0.0, 1.0], "q_ref": Q}, "increase"),
        ({"t": [0.0, 1.0], "q_ref": Q}, "3 samples"),
        ("home", "must be numbers"),
        (lambda t: "home", "must be numbers"),
        (SimpleNamespace(t=TIMES, q=np.zeros((3, 3)), v=V, a=A), "for its 3 times"),
        (SimpleNamespace(t=TIMES, q=np.zeros((4, 3, 2)), v=V, a=A), "for its 3 times"),
    ],
)
def test_what_is_no_reference_is_refused_at_once(law: ComputedTorque, reference: Any, words: str) -> None:
    with pytest.raises(hc.InputError, match=words):
        law.following(reference)


def test_a_reference_that_fails_in_the_loop_is_a_bad_one(law: ComputedTorque) -> None:
    def reference(t: float) -> np.ndarray:
        if t > 0.04:
            raise RuntimeError("no more")
        return Q[0]

    following = law.following(reference)
    following.reset()
    following.step(*MEASURED)
    assert following.ok
    assert np.isfinite(following.step(*MEASURED)).all()
    assert following.status is hc.Status.BAD_REFERENCE and not following.ok and "no more" in following.message


def test_quaternions_and_rotations_follow_geodesics() -> None:
    model = hc.load("quadruped", base="floating")
    rng = np.random.default_rng(0)
    q = np.array([model.random(rng), model.random(rng)])
    wb = hc.control.PrioritisedInverseDynamics(ROBOT, [hc.control.PoseTask("tip", np.eye(4), name="tip")])
    turn = np.diag([-1.0, -1.0, 1.0, 1.0])
    turn[:2, :2] = [[0.0, -1.0], [1.0, 0.0]]
    following = wb.following({"t": [0.0, 1.0], "tip": [np.eye(4), turn]})
    following.step(*MEASURED, t=0.5)
    half = wb.number("tip").reshape(4, 4)[:2, :2]
    np.testing.assert_allclose(half, np.sqrt(0.5) * np.array([[1, -1], [1, 1]]), atol=1e-12)
    sampled = hc.control.following.signals.Sampled(np.array([0.0, 1.0]), q, model)
    middle = sampled.at(0.5, 0)
    np.testing.assert_allclose(
        model.difference(q[0], middle), 0.5 * np.asarray(model.difference(q[0], q[1])), atol=1e-9
    )


@pytest.mark.needs_compiler
def test_targets_are_set_before_each_step() -> None:
    tasks = [hc.control.PostureTask(weight=1.0)]
    ik, same = (DifferentialIK(ROBOT, tasks, dt=0.05) for _ in range(2))
    following = ik.following(MOTION)
    assert isinstance(following, Following) and not hasattr(following, "in_loop") and following.command == "v"
    for k in range(8):
        at = _at(0.05 * k, "motion")
        same.set(posture=at["q_ref"], posture_velocity=at["v_ref"])
        np.testing.assert_allclose(following.step(*MEASURED), same.step(MEASURED[0]), rtol=1e-12)
    constant = ik.following(Q[1])
    same.set(posture=Q[1], posture_velocity=0.0)
    ik.set(posture_velocity=0.0)
    same.reset(), constant.reset()
    np.testing.assert_array_equal(constant.step(*MEASURED), same.step(*MEASURED))


def test_a_frame_follows_the_joint_motion() -> None:
    law = hc.control.TaskSpaceControl(ROBOT, "tip", frequency=10.0, rows=(3, 5))
    following = law.following(MOTION)
    command = following.step(*MEASURED, t=0.1)
    J = ROBOT.jacobian("tip", "world_aligned")(Q[1])
    J_dot = ROBOT.jacobian_dot("tip", "world_aligned")(Q[1], V[1])
    wanted = law.step(
        *MEASURED, ROBOT.pose("tip")(Q[1]), twist_ref=J @ V[1], a_ref=J @ A[1] + J_dot @ V[1], q_posture=Q[1]
    )
    np.testing.assert_allclose(command, wanted, rtol=1e-9)


def test_a_compiled_loop_has_the_same_references(law: ComputedTorque) -> None:
    times = np.linspace(0.0, 0.5, 11)
    for form, reference in FORMS.items():
        inside = law.following(reference).in_loop(times)
        for name in ("q_ref", "v_ref", "a_ref"):
            expected = [_at(float(t), form)[name] for t in times]
            np.testing.assert_allclose(inside.rows[name], expected, atol=1e-12)
    inside = law.following(Q[1]).in_loop(times)
    assert inside.rows["q_ref"].shape == (1, 2) and inside.rows["v_ref"].shape == (1, 2)


def test_it_pickles(law: ComputedTorque) -> None:
    law.reset()
    following = law.following(MOTION)
    following.step(*MEASURED)
    other = pickle.loads(pickle.dumps(following))
    np.testing.assert_array_equal(other.step(*MEASURED), following.step(*MEASURED))


def test_after_a_compiled_simulation_the_law_says_how_it_ended() -> None:
    robot = hc.load("planar_2r")
    law = hc.control.JointImpedance(robot, 100.0, 20.0)
    follower = law.following([0.2, 0.3])
    hc.simulate(robot, [0.1, 0.0], duration=0.1, dt=0.001, controller=follower)
    assert follower.status == law.status == "ok"
    weak = robot.with_joints(effort=[1e-3, 1e-3])
    saturated = hc.control.JointImpedance(weak, 100.0, 20.0)
    hc.simulate(weak, [0.1, 0.0], duration=0.01, dt=0.001, controller=saturated.following([2.0, 2.0]))
    assert saturated.status == "saturated" and saturated.message


def test_after_the_end_of_a_motion_it_is_at_rest_there(law: ComputedTorque) -> None:
    still = law.step(*MEASURED, Q[-1])
    assert np.allclose(law.following(MOTION).step(*MEASURED, t=0.31), still, atol=1e-12)
    assert not np.allclose(law.following(MOTION).step(*MEASURED, t=0.3), still, atol=1e-3)
