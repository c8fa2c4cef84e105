"""Control laws on a Panda in MuJoCo, from the URDF that Helicoid writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array
from mujoco_plant import MuJoCoPlant

FRAME = "panda_link8"
Q = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8])


class Arm(NamedTuple):
    robot: hc.Robot
    frame: str
    q: Array


def smooth(name: str) -> hc.Robot:
    return hc.load(name).with_joints(friction=0, damping=0)


@pytest.fixture(scope="module")
def panda() -> hc.Robot:
    return smooth("panda")


@pytest.fixture(scope="module", params=["panda", pytest.param("ur5", marks=pytest.mark.slow)])
def arm(request: pytest.FixtureRequest, panda: hc.Robot) -> Arm:
    """The Panda, for which gains were chosen, and an arm for which they were not, with heavy motors."""
    if request.param == "panda":
        return Arm(panda, FRAME, Q)
    heavy = smooth("ur5").with_joints(armature=0.1)
    return Arm(heavy, "tool0", np.array([0.3, -1.2, 1.6, -1.9, -1.5, 0.4]))


def circle(t: float, T: Array, radius: float, speed: float) -> tuple[Array, Array, Array]:
    """Pose, twist and its rate on a level circle, begun smoothly within half a second."""
    w, rise = speed / radius, 0.5
    s = np.clip(t / rise, 0, 1)
    angle = w * (rise * (s**3 - s**4 / 2) + max(t - rise, 0))
    rate = w * (3 * s**2 - 2 * s**3)
    growth = w * (6 * s - 6 * s**2) / rise
    c, i = np.cos(angle), np.sin(angle)
    pose, twist, change = T.copy(), np.zeros(6), np.zeros(6)
    pose[:2, 3] += radius * np.array([c - 1, i])
    twist[3:5] = radius * rate * np.array([-i, c])
    change[3:5] = radius * (growth * np.array([-i, c]) - rate**2 * np.array([c, i]))
    return pose, twist, change


def test_a_circle_at_half_a_metre_a_second_within_a_millimetre(arm: Arm) -> None:
    robot, frame, Q = arm
    law = hc.control.TaskSpaceControl(robot, frame, frequency=30.0)
    T = robot.pose(frame)(Q)

    def step(t: float, q: Array, v: Array) -> Array:
        tau = law.step(q, v, *circle(t, T, 0.1, 0.5), Q)
        assert law.ok, law.status
        return tau

    motion = hc.simulate(robot, Q, None, 2.5, step, engine="mujoco", contacts=[])
    wanted = [circle(t, T, 0.1, 0.5)[0][:3, 3] for t in motion.t]
    assert np.linalg.norm(robot.pose(frame)(motion.q)[:, :3, 3] - wanted, axis=1).max() < 1e-3


@pytest.mark.parametrize(
    ("speed", "radius", "friction_time"),
    [
        pytest.param(0.03, 0.05, None, id="all of MuJoCo's own", marks=pytest.mark.slow),
        pytest.param(0.2, 0.1, 0.5, id="slow friction"),
    ],
)
def test_ten_newton_while_a_circle_is_traced_on_a_plate(
    arm: Arm, tmp_path: Path, speed: float, radius: float, friction_time: float | None
) -> None:
    """The force is felt by a sensor, pressing is -z, and the plate is 2 mm below the ball at the start.

    How fast MuJoCo's own contacts can be slid on, and why, says `MuJoCoPlant`.
    """
    robot, frame, Q = arm
    T, ball = robot.pose(frame)(Q), 0.02
    plate = T[2, 3] - ball - 0.002
    plant = MuJoCoPlant(robot, tmp_path, tip=frame, plate=plate, radius=ball, friction_time=friction_time)
    law = hc.control.OperationalSpaceControl(
        robot, frame, 20.0, motion=(1, 1, 1, 1, 1, 0), force_gain=10.0, force_damping=100.0, dt=1e-3
    )
    wanted, pressed, errors = np.array([0, 0, 0, 0, 0, -10.0]), [], []
    plant.start(Q)
    for k in range(2000 + int(1000 * 2 * np.pi * radius / speed)):  # a second of touch, and once around
        pose, twist, change = circle(k * 1e-3 - 1, T, radius, speed) if k > 1000 else (T, None, None)
        felt = np.array([0, 0, 0, 0, 0, -plant.pressed()])
        plant.step(law.step(plant.q, plant.v, pose, wanted, felt, twist, change, q_posture=Q))
        assert law.ok, law.status
        pressed.append(plant.pressed())
        errors.append(np.linalg.norm(robot.pose(frame)(plant.q)[:2, 3] - pose[:2, 3]))
    assert np.abs(np.array(pressed[1000:]) - 10.0).max() < 0.5
    assert max(errors[1000:]) < 5e-3


def test_ten_newton_move_the_frame_by_what_the_stiffness_says(arm: Arm) -> None:
    robot, frame, Q = arm
    stiffness = np.array([100.0, 100.0, 100.0, 400.0, 600.0, 800.0])
    law = hc.control.TaskSpaceControl(robot, frame, stiffness=stiffness)
    T, force = robot.pose(frame)(Q), np.array([0, 0, 0, 10.0, -10.0, 10.0])
    following, push = law.following({"T_ref": T, "q_posture": Q}), {frame: force}
    options: dict[str, Any] = {"f_ext": push, "expressed_in": "world", "engine": "mujoco", "contacts": []}
    motion = hc.simulate(robot, Q, None, 2.0, following, **options)
    moved = robot.pose(frame)(motion.q[-1])[:3, 3] - T[:3, 3]
    np.testing.assert_allclose(moved, force[3:] / stiffness[3:], rtol=0.02)


@pytest.mark.parametrize(
    "joint_space", ["computed torque", pytest.param("joint impedance", marks=pytest.mark.slow)]
)
def test_joints_follow(panda: hc.Robot, joint_space: str) -> None:
    w = np.array([1.0, 1.3, 1.7, 0.9, 2.0, 1.5, 1.1])
    computed = hc.control.ComputedTorque(panda, 20.0)
    impedance = hc.control.JointImpedance(panda, [600, 600, 400, 400, 60, 60, 20], [50, 50, 30, 30, 4, 4, 1])
    law = computed if joint_space == "computed torque" else impedance
    t = 1e-3 * np.arange(2501)[:, None]
    swing = 0.3 * (1 - np.exp(-3 * t)) ** 3
    rate = 0.9 * (1 - np.exp(-3 * t)) ** 2 * np.exp(-3 * t) * 3
    q_ref = Q + swing * np.sin(w * t)
    v_ref = rate * np.sin(w * t) + swing * w * np.cos(w * t)
    following = law.following({"t": t[:, 0], "q_ref": q_ref, "v_ref": v_ref})
    motion = hc.simulate(panda, Q, None, 2.5, following, engine="mujoco", contacts=[])
    assert np.abs(motion.q - q_ref).max() < (0.005 if joint_space == "computed torque" else 0.03)


def sensed(plant: MuJoCoPlant, rng: np.random.Generator) -> tuple[Array, Array]:
    return plant.q + 1e-5 * rng.normal(size=7), plant.v + 2e-3 * rng.normal(size=7)


def watched(panda: hc.Robot, plant: MuJoCoPlant, seconds: float, seed: int, push_at: float) -> Array:
    """Whether an observer with a model that is wrong by 5 % reports a contact, at every step."""
    rng = np.random.default_rng(seed)
    wrong = panda.with_parameters(panda.parameters.values * 0.95)
    observer = hc.control.MomentumObserver(
        wrong, dt=1e-3, gain=100.0, velocity_noise=2e-3, torque_noise=0.1, model_error=0.06, floor=0.5
    )
    law = hc.control.ComputedTorque(panda, 10.0)
    J, told = panda.jacobian(FRAME, "world_aligned"), []
    w, phase = rng.uniform(0.5, 1.5, 7), rng.uniform(0, 6.28, 7)
    plant.start(Q)
    for k in range(int(seconds * 1000)):
        t = k * 1e-3
        q, v = sensed(plant, rng)
        grow = min(t, 1.0)
        tau = law.step(q, v, Q + 0.25 * grow * (np.sin(w * t + phase) - np.sin(phase)))
        observer.step(q, v, tau + 0.1 * rng.normal(size=7))
        told.append(observer.contact)
        push = J(plant.q).T @ [0, 0, 0, 0, 20.0, 0] if t >= push_at else 0.0
        plant.step(tau + push)
    return np.array(told)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3, 4, 5))]
)
def test_a_push_of_twenty_newton_is_seen_within_ten_milliseconds(
    panda: hc.Robot, tmp_path: Path, seed: int
) -> None:
    told = watched(panda, MuJoCoPlant(panda, tmp_path), 2.0, seed, push_at=1.9)
    assert not told[:1900].any()
    assert told[1900:1911].any()


@pytest.mark.slow
def test_no_false_alarm_in_ten_minutes(panda: hc.Robot, tmp_path: Path) -> None:
    assert not watched(panda, MuJoCoPlant(panda, tmp_path), 600.0, 11, push_at=np.inf).any()
