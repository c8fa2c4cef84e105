"""The whole procedure on a small robot: a wrong description, plants that fail, limits, resumption."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.commissioning import Commissioning, CommissioningPlant
from helicoid.errors import InputError

pytestmark = pytest.mark.compiled

START, GOAL = np.array([0.3, 0.5]), np.array([0.7, 0.2])
QUICK: dict[str, Any] = {"duration": 4.0, "max_frequency": 15.0, "progress": False}


def described() -> hc.Robot:
    return hc.load("planar_2r").with_joints(velocity=2.0, effort=100.0)


def true() -> hc.Robot:
    robot = described()
    scale = np.repeat([0.75, 1.3], 10)
    robot = robot.with_parameters(scale * robot.parameters.values)
    return robot.with_joints(damping=[2.0, 1.0], friction=[1.5, 0.8], armature=[0.3, 0.2])


def plant(robot: hc.Robot | None = None, seed: int = 0) -> hc.Plant:
    noise = {"q": 1e-5, "v": 2e-3, "tau": 0.05}
    return hc.Plant(robot or true(), START, noise=noise, period=0.005, seed=seed)


class Faulty:
    """A plant that works until a sample, and then does `fault` to what it measures."""

    period = 0.005

    def __init__(self, after: int, fault: Any, applied: Any = None) -> None:
        self.inner, self.after, self.fault, self.applied = plant(), after, fault, applied
        self.calls, self.held, self.largest = 0, 0, 0.0

    def measure(self) -> Any:
        self.calls += 1
        sample = self.inner.measure()
        return self.fault(sample) if self.calls > self.after else sample

    def apply(self, tau: Any) -> None:
        self.largest = max(self.largest, float(np.abs(tau).max()))
        self.inner.apply(tau if self.applied is None else self.applied(tau))

    def hold(self) -> None:
        self.held += 1


def raising(sample: Any) -> Any:
    raise OSError("the bus is down")


def changed(**values: Any) -> Any:
    return lambda sample: SimpleNamespace(**{"q": sample.q, "v": sample.v, "tau": sample.tau, **values})


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Commissioning:
    return hc.commission(described(), plant(), tmp_path_factory.mktemp("out"), **QUICK)


def test_a_wrong_description_is_commissioned(done: Commissioning, rng: np.random.Generator) -> None:
    assert done.success and done.status == "ok", done.message
    robot, right, wrong = done.robot, true(), described()
    q, v, a = rng.uniform(-1, 1, (3, 50, 2))
    torque = right.inverse_dynamics(q, v, a, friction=True)
    errors = [
        np.sqrt(np.mean((one.inverse_dynamics(q, v, a, friction=True) - torque) ** 2))
        for one in (robot, wrong)
    ]
    assert errors[0] < 0.1 * errors[1]
    assert np.all(done.validation is not None and done.validation.coverage > 0.9)


def test_its_controllers_track_and_detect(done: Commissioning) -> None:
    controllers = done.controllers
    assert controllers is not None and done.margins is not None
    assert done.margins.phase > 50 and done.margins.gain > 2.5
    reference = {"t": [0.0, 1.0], "q_ref": [START, GOAL]}
    law = controllers.computed_torque.following(reference)
    motion = hc.simulate(true(), START, duration=6.0, controller=law, dt=0.005)
    np.testing.assert_allclose(motion.q[-1], GOAL, atol=5e-3)
    mpc = controllers.mpc
    mpc.set(posture=START + 0.2)
    moved = hc.simulate(true(), START, duration=4.0, controller=mpc, dt=0.005)
    np.testing.assert_allclose(moved.q[-1], START + 0.2, atol=5e-3)
    observer = controllers.observer
    for push, contact in (([0.0, 0.0], False), (4 * done.detects, True)):
        observer.reset()
        tau = done.robot.gravity(START) - push
        for _ in range(200):
            observer.step(START, np.zeros(2), tau)
        assert observer.contact == contact


def test_report_and_record_say_all(done: Commissioning) -> None:
    page = done.report.read_text("utf-8")
    for text in ("Before the robot moves faster", "phase margin", "joint_2", "identified.urdf", "rad/s"):
        assert text in page
    assert "Rehearsal in simulation. Ready" in page and "nothing here holds for a real robot" in page
    motion = done.recordings["validation"]
    assert done.validation is not None
    for k in range(2):
        assert f"{motion.q[:, k].min():.2f} to {motion.q[:, k].max():.2f}" in page
        assert f"{done.validation.noise_v[k]:.2g}" in page and f"{done.detects[k]:.3g}" in page
    assert not re.search(r"\bnan\b", page) and "<script" not in page
    record = json.loads((done.out / "commissioning.json").read_text("utf-8"))
    assert record["status"] == "ok" and [one["name"] for one in record["steps"]][-1] == "controllers"
    again = hc.load(done.out / "identified.urdf")
    np.testing.assert_allclose(again.gravity(START), done.robot.gravity(START), rtol=1e-6)


def test_resumed_without_moving(done: Commissioning) -> None:
    still = Faulty(0, raising)
    result = hc.commission(described(), still, done.out, resume=True, **QUICK)
    assert result.success and still.calls == 0
    assert result.notes == done.notes and any("self-collision" in note for note in result.notes)
    np.testing.assert_allclose(result.robot.gravity(START), done.robot.gravity(START))
    with pytest.raises(InputError, match="leave out resume="):
        hc.commission(described(), still, done.out, resume=True, seed=1, **QUICK)


@pytest.mark.parametrize(
    ("fault", "status", "text"),
    [
        (raising, "plant failed", r"measure\(\) raised OSError: the bus is down"),
        (changed(q=np.array([np.nan, 0.0])), "bad measurement", "q = nan at 'joint_1'"),
        (changed(v=np.array([0.0, np.inf])), "bad measurement", "v = inf at 'joint_2'"),
        (changed(q=np.zeros(3)), "plant failed", r"q of shape \(3,\)"),
        (changed(tau=np.zeros(1)), "plant failed", r"tau of shape \(1,\)"),
        (lambda sample: None, "plant failed", "AttributeError"),
        (changed(q=np.array([4.0, 0.0])), "limit reached", "'joint_1' leaves its position limits"),
        (changed(v=np.array([0.0, 5.0])), "limit reached", "'joint_2' exceeds its velocity limit"),
    ],
)
@pytest.mark.parametrize("after", [0, 150])
def test_a_plant_that_fails_stops_the_procedure(
    fault: Any, status: str, text: str, after: int, tmp_path: Path
) -> None:
    faulty = Faulty(after, fault)
    result = hc.commission(described(), faulty, tmp_path, **QUICK)
    assert not result.success and result.controllers is None
    if after or status != "limit reached":  # at once, the start is outside of the limits
        assert result.status == status
        assert re.search(text, result.message), result.message
    assert result.remedy and result.remedy in result.report.read_text("utf-8")
    assert faulty.largest <= 100.0
    if after:
        assert (tmp_path / "stopped.npz").exists() and len(result.recordings["stopped"]) > 100
        assert faulty.held >= 1


def test_joints_that_do_not_move_are_named(tmp_path: Path) -> None:
    stuck = Faulty(0, lambda sample: SimpleNamespace(q=START.copy(), v=np.zeros(2), tau=sample.tau))
    result = hc.commission(described(), stuck, tmp_path, **QUICK)
    assert result.status == "no motion" and "'joint_" in result.message


def test_a_joint_with_the_other_sign_is_stopped(tmp_path: Path) -> None:
    flipped = Faulty(10**9, None, applied=lambda tau: tau * [1.0, -1.0])
    result = hc.commission(described(), flipped, tmp_path, **QUICK)
    assert result.status in ("limit reached", "no motion") and "'joint_2'" in result.message
    assert "sign" in result.remedy or "commands" in result.remedy


@pytest.mark.parametrize(
    ("robot", "text"),
    [
        (hc.load("planar_2r").with_joints(velocity=0.0, effort=10.0), "'joint_1' has no velocity limit"),
        (hc.load("planar_2r").with_joints(velocity=1.0, effort=np.inf), "'joint_1' has no effort limit"),
        (hc.load("planar_2r", base="floating"), "arms on a fixed base"),
    ],
)
def test_a_robot_without_limits_is_refused_with_the_reason(
    robot: hc.Robot, text: str, tmp_path: Path
) -> None:
    still = SimpleNamespace(period=0.005, measure=lambda: None, apply=lambda tau: None)
    result = hc.commission(robot, still, tmp_path, progress=False)
    assert result.status == "unsuitable robot" and text in result.message and result.report.exists()


def test_gravity_beyond_the_effort_has_no_excitation(tmp_path: Path) -> None:
    result = hc.commission(described().with_joints(effort=5.0), plant(), tmp_path, **QUICK)
    assert result.status == "no excitation" and "torque" in result.message


def test_doubts_are_listed_where_a_later_motion_stops(tmp_path: Path) -> None:
    result = hc.commission(described(), Faulty(1000, raising), tmp_path, **QUICK)
    assert result.status == "plant failed" and "first_motion" in result.recordings
    page = result.report.read_text("utf-8")
    assert "Doubts until then" in page and "Self-collision" in page.replace("self-c", "Self-c")


@pytest.mark.parametrize(
    "given",
    [{"speed": 0.9}, {"speed": np.nan}, {"duration": 0}, {"mpc_period": -1.0}, {"max_frequency": "high"}],
)
def test_wrong_settings_raise(given: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=next(iter(given))):
        hc.commission(described(), plant(), tmp_path, **given)


@pytest.mark.parametrize("given", [None, object(), SimpleNamespace(period=1.0, measure=print, apply=print)])
def test_what_is_no_plant_raises(given: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="period"):
        hc.commission(described(), given, tmp_path)


def test_the_protocol_is_answered_by_plants() -> None:
    assert isinstance(plant(), CommissioningPlant) and isinstance(Faulty(0, None), CommissioningPlant)
    assert not isinstance(object(), CommissioningPlant)


def test_names_from_descriptions_are_escaped_in_the_report(tmp_path: Path) -> None:
    urdf = """<robot name="a &lt;b&gt;"><link name="base"/><link name="tip"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="j &lt;i&gt;" type="revolute"><parent link="base"/><child link="tip"/>
      <limit lower="-1" upper="1" velocity="0" effort="1"/></joint></robot>"""
    still = SimpleNamespace(period=0.005, measure=lambda: None, apply=lambda tau: None)
    page = hc.commission(hc.load(urdf), still, tmp_path).report.read_text("utf-8")
    assert "a &lt;b&gt;" in page and "j &lt;i&gt;" in page and "<i>" not in page and "a <b>" not in page
