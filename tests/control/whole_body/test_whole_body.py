"""Whole-body control: the whole program as an oracle has it, contacts, limits, priorities, and bad input."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import helicoid as hc
from helicoid.control import (
    CenterOfMassTask,
    ForceTask,
    MomentumTask,
    OrientationTask,
    PointContact,
    PoseTask,
    PositionTask,
    PostureTask,
    SurfaceContact,
    TorqueTask,
    WholeBody,
)
from helicoid.errors import HelicoidError, InputError
from mechanisms import four_bar_angles, four_bar_urdf, joint_angles
from whole_body_oracle import solve

pytestmark = pytest.mark.needs_compiler
FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
DT = 0.002


HOME = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8])


@pytest.fixture(scope="module")
def arm():
    return WholeBody(hc.load("panda"), PostureTask(HOME), [], DT, frequency=20.0)


def standing(robot):
    q = robot.neutral()
    q[7:] = np.tile([0.0, 0.8, -1.6], 4)
    q[2] = 0.02 - min(robot.pose(foot)(q)[2, 3] for foot in FEET)
    return q


@pytest.fixture(scope="module")
def dog():
    return hc.load("quadruped", base="floating")


@pytest.fixture(scope="module")
def made(dog):
    """All kinds of tasks at once."""
    q = standing(dog)
    tasks = [
        PoseTask("trunk", dog.pose("trunk")(q), name="trunk"),
        PostureTask(q, 1e-2),
        MomentumTask(np.zeros(6), 1e-3),
        ForceTask("FL_foot", [0, 0, 20.0], 1e-4),
        TorqueTask(weight=1e-4),
        CenterOfMassTask(dog.center_of_mass(q), 2.0),
    ]
    return WholeBody(dog, tasks, [PointContact(foot, 0.5, radius=0.02) for foot in FEET], DT)


@pytest.fixture
def wb(made):
    made.set(contacts=FEET, torque_limit=made.robot.limits.effort[6:], ramp=0.0)
    for foot in FEET:
        made.set(**{f"{foot}_max_force": np.inf, f"{foot}_min_force": 0.0})
    made.set(velocity_limit=made.robot.limits.velocity, braking=100.0)
    made.reset()
    return made


def agrees(wb, q, v):
    """Whether a step is what the oracle says; and then it keeps all limits too."""
    tau = wb.step(q, v)
    answer = solve(wb, q, v)
    assert answer.flag == 1 and wb.status in ("ok", "no contact")
    x = wb._memory[wb._loop.at["x"]]
    assert np.allclose(x, answer.x, rtol=1e-8, atol=1e-7)
    assert np.allclose(tau, answer.tau, rtol=1e-8, atol=1e-7)
    assert not wb.violations
    return len(wb.limits)


def test_it_solves_the_whole_program_with_any_contacts(wb, dog, rng):
    q0, held = standing(dog), 0
    for k in range(25):
        wb.set(contacts=[foot for foot in FEET if rng.random() < 0.7])
        q = dog.integrate(q0, 0.2 * rng.normal(size=18))
        held += agrees(wb, q, rng.normal(size=18) * (0.01, 0.3, 2.0)[k % 3])
    assert held > 50  # limits held in most of them


@pytest.mark.slow
def test_an_arm_that_pushes_on_a_wall(rng):
    robot = hc.load("panda")
    q0 = HOME
    hand = PointContact("panda_link8", 0.4, point=(0.0, 0.0, 0.1), normal=(-1.0, 0.2, 0.1), sides=8)
    push = ForceTask("panda_link8", [-40.0, 5.0, 0.0], 1.0)
    wb = WholeBody(robot, [push, PostureTask(q0, 1e-2), TorqueTask(weight=1e-5)], hand, DT)
    for k in range(12):
        wb.contact("panda_link8", active=k % 4 < 3)
        agrees(wb, robot.integrate(q0, 0.3 * rng.normal(size=7)), rng.normal(size=7) * (0.0, 1.0)[k % 2])
    wb.set(contacts=["panda_link8"])
    wb.step(q0, np.zeros(7))
    assert wb.ok and np.allclose(wb.forces["panda_link8"], [-40.0, 5.0, 0.0], atol=0.05)


@pytest.mark.slow
def test_points_that_say_the_same_thing_twice(dog):
    """Four points of one body hold it by twelve rows, of which six say something."""
    q = standing(dog)
    corners = [(x, y, -0.05) for x in (0.15, -0.15) for y in (0.08, -0.08)]
    contacts = [PointContact("trunk", point=p, name=f"corner{k}") for k, p in enumerate(corners)]
    wb = WholeBody(dog, [PostureTask(q)], contacts, DT)
    wb.step(q, np.zeros(18))
    assert wb.ok
    forces = np.array(list(wb.forces.values()))
    assert np.isclose(forces[:, 2].sum(), 9.81 * dog.mass, rtol=1e-6)
    assert np.abs(wb.accelerations[:6]).max() < 1e-9


@pytest.mark.slow
def test_strict_levels_take_nothing_from_those_before(dog, rng):
    q = standing(dog)
    trunk = OrientationTask("trunk", dog.pose("trunk")(dog.integrate(q, 0.02 * np.ones(18)))[:3, :3])
    other = CenterOfMassTask(dog.center_of_mass(q) + np.array([0.1, 0.1, 0.0]))
    alone = WholeBody(dog, [trunk], FEET, DT, "strict")
    both = WholeBody(dog, [trunk, [other, PostureTask(q)]], FEET, DT, "strict")
    v = 0.05 * rng.normal(size=18)
    J = dog.jacobian("trunk", "world_aligned")(q)[:3]
    alone.step(q, v)
    both.step(q, v)
    assert alone.ok and both.ok
    assert np.allclose(J @ alone.accelerations, J @ both.accelerations, atol=1e-5)
    assert not np.allclose(alone.accelerations[6:], both.accelerations[6:], atol=1e-3)


def test_torques_do_not_jump_when_contacts_are_switched(wb, dog):
    q, v = standing(dog), np.zeros(18)
    wb.set(ramp=0.02)
    before, steps = wb.step(q, v), []
    assert wb.contacts == FEET
    wb.contact("FR_foot", active=False)
    forces = [wb.forces["FR_foot"][2]]
    for _ in range(14):
        tau = wb.step(q, v)
        steps.append(np.abs(tau - before).max())
        before = tau
        forces.append(wb.forces["FR_foot"][2])
    assert wb.contacts == ("FL_foot", "RL_foot", "RR_foot") and forces[-1] == 0.0
    assert forces[0] > 10 and np.all(np.diff(forces) > -0.11 * forces[0] - 1e-9)  # in ten steps or so
    wb.contact("FR_foot", active=True)
    for _ in range(14):
        wb.step(q, v)
        forces.append(wb.forces["FR_foot"][2])
    assert np.abs(np.diff(forces[-14:])).max() < 0.21 * 9.81 * dog.mass
    assert forces[-1] == pytest.approx(forces[0], rel=1e-6)
    wb.set(ramp=0.0)
    wb.contact("FR_foot", active=False)
    wb.step(q, v)
    assert "FR_foot" not in wb.contacts


def test_forces_stay_in_their_cones_and_below_what_a_foot_may_carry(wb, dog, rng):
    q = standing(dog)
    wb.set(FL_foot_max_force=15.0, RR_foot_min_force=10.0)
    for _ in range(10):
        wb.step(dog.integrate(q, 0.05 * rng.normal(size=18)), 0.2 * rng.normal(size=18))
        for name, force in wb.forces.items():
            assert np.hypot(*force[:2]) <= 0.5 * force[2] + 1e-7, name
        assert wb.forces["FL_foot"][2] <= 15.0 + 1e-9
        assert wb.forces["RR_foot"][2] >= 10.0 - 1e-9


def test_what_contradicts_itself_is_named_and_left_by_the_least(wb, dog):
    q, v = standing(dog), np.zeros(18)
    wb.set(torque_limit=0.5, **{f"{foot}_min_force": 200.0 for foot in FEET})  # more than motors can push
    tau = wb.step(q, v)
    assert wb.status == "infeasible" and not wb.ok
    assert np.all(np.abs(tau) <= 0.5) and np.all(np.isfinite(wb.accelerations))
    assert wb.violations and wb.message.startswith("limits contradict each other; exceeded: ")


@pytest.mark.slow
def test_accelerations_yield_before_motors_do(arm):
    q, v = HOME, np.full(7, 8.0)  # too fast to be slowed down as limits want it
    arm.set(torque_limit=1.0, braking=1e4, posture=HOME)
    tau = arm.step(q, v)
    assert arm.status == "infeasible" and np.all(np.abs(tau) <= 1.0)
    assert {one.kind for one in arm.violations} == {"acceleration"}
    assert "acceleration of panda_joint1 by" in arm.message


@pytest.mark.slow
def test_joints_brake_before_their_ends(arm):
    wb, robot, q, v = arm, arm.robot, HOME, np.zeros(7)
    wb.set(posture=HOME + 5.0, torque_limit=robot.limits.effort, braking=8.0)
    wb.reset()
    limits, fastest, fine = robot.limits, 0.0, []
    for _ in range(1500):
        tau = wb.step(q, v)
        fine.append(wb.ok)
        v = v + DT * robot.forward_dynamics(q, v, tau)
        q = q + DT * v
        fastest = max(fastest, np.max(np.abs(v) / limits.velocity))
        assert np.all(q <= limits.upper + 1e-4) and np.all(np.abs(tau) <= limits.effort + 1e-9)
    assert np.mean(fine) > 0.99 and fastest < 1.0 + 1e-2
    assert np.abs(q - limits.upper).max() < 2e-3 and np.abs(v).max() < 1e-2


def test_no_contact_holds_a_floating_base(wb, dog):
    q, v = standing(dog), np.zeros(18)
    wb.set(contacts=[])
    wb.step(q, v)
    assert wb.status == "no contact" and not wb.ok and "falls" in wb.message
    assert np.isclose(dog.com_jacobian(q)[2] @ wb.accelerations, -9.81, atol=1e-6)


def test_invalid_measurements_let_the_last_torque_decay(wb, dog):
    q, v = standing(dog), np.zeros(18)
    last = wb.step(q, v)
    stretched = np.concatenate([q[:3], 2 * q[3:7], q[7:]])
    for bad_q, bad_v in ((q * np.nan, v), (q, v + np.inf), (q, v * np.nan), (stretched, v)):
        tau = wb.step(bad_q, bad_v)
        assert wb.status == "bad measurement" and not wb.ok
        assert np.allclose(tau, 0.95 * last)
        last = tau
    wb.step(q, v)
    assert wb.ok
    for _ in range(30):  # whatever comes, torques are numbers within limits
        rng = np.random.default_rng(_)
        wild = 10.0 ** rng.uniform(-300, 300, 19) * rng.choice([-1, 1, 0], 19)
        tau = wb.step(wild, wild[1:])
        assert np.all(np.abs(tau) <= np.r_[np.zeros(6), dog.limits.effort[6:]] + 1e-12)
    wb.step(q, v)
    assert wb.ok


@pytest.mark.slow
def test_a_closed_loop_is_kept():
    robot = hc.load(four_bar_urdf())
    q = joint_angles(four_bar_angles(0.7))
    wb = WholeBody(robot, PostureTask(q + 0.2), [], DT)
    v = robot.project_velocity(q, 0.3 * np.ones(robot.nv))
    wb.step(q, v)
    assert wb.ok
    residual = robot.constraint_jacobian(q) @ wb.accelerations + robot.constraint_bias(q, v)
    assert np.abs(residual).max() < 1e-6


@pytest.mark.slow
def test_theta_of_a_parametric_robot_counts(dog):
    q, v = standing(dog), np.zeros(18)
    known = dog.parametric("inertia")
    tasks = [PoseTask("trunk", dog.pose("trunk")(q), name="trunk"), PostureTask(q, 1e-3)]
    wb = WholeBody(known, tasks, FEET, DT)
    wb.step(q, v)
    light = sum(f[2] for f in wb.forces.values())
    wb.set(theta=1.1 * known.theta.values)
    wb.step(q, v)
    assert sum(f[2] for f in wb.forces.values()) == pytest.approx(1.1 * light, rel=1e-3)


@pytest.mark.slow
def test_copies_are_independent(wb, dog):
    q, v = standing(dog), np.zeros(18)
    wb.step(q, v)
    for other in (copy.copy(wb), copy.deepcopy(wb), pickle.loads(pickle.dumps(wb))):
        assert np.array_equal(other.step(q, v), wb.step(q, v))
        other.set(contacts=[])
        other.step(q, v)
        wb.step(q, v)
        assert wb.ok and not other.ok


def test_targets_that_are_missing_are_named():
    robot, q = hc.load("planar_2r"), np.array([0.2, 0.4])
    wb = WholeBody(robot, [PositionTask("tip", name="end"), PostureTask(q, 1e-3)], [], DT)
    assert wb.status == "not started"
    tau = wb.step(q, np.zeros(2))
    assert wb.status == "no target" and not tau.any() and "end" in wb.message
    wb.set(end=robot.pose("tip")(q)[:3, 3])
    wb.step(q, np.zeros(2))
    assert wb.ok and np.allclose(wb.error("end"), 0.0)
    with pytest.raises(InputError, match="no task of motion 'hand'; there are end, posture"):
        wb.error("hand")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda r, t: WholeBody(r, t, ["nose"], DT), "contact 'nose'.*nose"),
        (lambda r, t: WholeBody(r, t, [PointContact("FL_foot", -0.1)], DT), "friction.*above 0; got -0.1"),
        (lambda r, t: WholeBody(r, t, [PointContact("FL_foot", np.nan)], DT), "friction"),
        (lambda r, t: WholeBody(r, t, ["FL_foot", "FL_foot"], DT), "two contacts are called FL_foot"),
        (lambda r, t: WholeBody(r, t, [3], DT), "contacts are names"),
        (lambda r, t: PointContact("FL_foot", normal=(0, 0, 0)), "direction"),
        (lambda r, t: PointContact("FL_foot", sides=2), "sides"),
        (lambda r, t: PointContact("FL_foot", radius=-1.0), "radius"),
        (lambda r, t: SurfaceContact("FL_foot"), "length and width"),
        (lambda r, t: SurfaceContact("FL_foot", size_xy=(0.1, -0.1)), "length and width"),
        (lambda r, t: WholeBody(r, [ForceTask("nose")], FEET, DT), "no contact 'nose'; there are FL_foot"),
        (lambda r, t: WholeBody(r, [ForceTask("FL_foot", size=6)], FEET, DT), "has 3 forces, the task 6"),
        (lambda r, t: WholeBody(r, [], FEET, DT), "WholeBody needs a task"),
        (lambda r, t: WholeBody(r, t, FEET, -1.0), "dt must be above 0"),
        (lambda r, t: WholeBody(r, t, FEET, DT, "none"), "priorities"),
        (lambda r, t: WholeBody(r, t, FEET, DT, friction="always"), "friction is 'none' or 'measured'"),
        (lambda r, t: WholeBody(r, [TorqueTask(joints="floating_base")], FEET, DT), "no actuator drives"),
        (lambda r, t: hc.control.DifferentialIK(r, [MomentumTask()], DT), "is about momentum"),
        (lambda r, t: hc.control.InverseKinematics(r, [TorqueTask()]), "is about torque"),
    ],
)
def test_invalid_arguments_are_refused_with_a_message(make, message, dog):
    with pytest.raises(HelicoidError, match=message):
        make(dog, [PostureTask(standing(dog))])


def test_numbers_are_checked_all_or_none(wb, dog):
    kept = wb.numbers.values.copy()
    for wrong, message in (
        ({"contacts": ["nose"]}, "no contact 'nose'"),
        ({"FL_foot_friction": -1.0}, "friction.*above 0"),
        ({"FL_foot_normal": [0, 0, 0]}, "direction"),
        ({"trunk": np.ones((4, 4))}, "no pose"),
        ({"ramp": -1.0}, "ramp"),
        ({"what": 1.0}, "there is no number 'what'"),
        ({"decay": 0.5, "torque_limit": -1.0}, "torque_limit"),
    ):
        with pytest.raises(InputError, match=message):
            wb.set(**wrong)
        assert np.array_equal(kept, wb.numbers.values, equal_nan=True)
    with pytest.raises(InputError, match="no contact 'nose'; there are FL_foot"):
        wb.contact("nose", active=True)
    with pytest.raises(InputError, match="q must be numbers of shape"):
        wb.step(np.zeros(3), np.zeros(18))
    wb.step(standing(dog), np.zeros(18))
    for wrong in (np.zeros(3), None, "no"):  # once it runs, nothing raises
        wb.step(wrong, np.zeros(18))
        assert wb.status == "bad measurement"


@pytest.mark.slow
def test_a_foot_swings_while_three_stand(dog):
    """Positions and orientations are tasks like any other: a foot without contact goes to its target."""
    q, v = standing(dog), np.zeros(18)
    goal = dog.pose("FR_foot")(q)[:3, 3] + np.array([0.02, 0.0, 0.05])
    tasks = [
        CenterOfMassTask(dog.center_of_mass(q) + np.array([-0.03, 0.04, 0.0])),
        OrientationTask("trunk", np.eye(3)),
        PositionTask("FR_foot", goal, 10.0, name="swing"),
        PostureTask(q, 1e-4),
    ]
    contacts = [PointContact(foot, radius=0.02) for foot in FEET]
    wb = WholeBody(dog, tasks, contacts, DT)
    on_three = dog
    for foot in ("FL_foot", "RL_foot", "RR_foot"):
        on_three = on_three.with_contact(foot, q=q)
    on_four = on_three.with_contact("FR_foot", q=q)
    for k in range(700):
        if k == 350:
            wb.contact("FR_foot", active=False)
        tau = wb.step(q, v)
        assert wb.ok, (k, wb.message)
        a, _ = (on_three if k >= 350 else on_four).constrained_forward_dynamics(q, v, tau, stabilisation=20.0)
        v = v + DT * a
        q = dog.integrate(q, DT * v)
    assert np.allclose(dog.pose("FR_foot")(q)[:3, 3], goal, atol=5e-3)


@pytest.mark.slow
def test_friction_that_is_compensated_is_that_of_theta():
    robot = hc.load("planar_2r").parametric("friction")
    wb = WholeBody(robot, PostureTask([0.3, 0.4]), [], DT, friction="measured")
    q, v = np.array([0.3, 0.4]), np.array([0.2, -0.3])
    wb.set(theta=np.zeros(4))
    free = wb.step(q, v)
    damping = np.array([0.5, 0.7])
    wb.set(theta=[*damping, 0.0, 0.0])
    np.testing.assert_allclose(wb.step(q, v) - free, damping * v, atol=1e-6)


def test_a_stance_beyond_joint_limits_is_kept_and_returns_as_far_as_contacts_allow(dog):
    """All hips and knees 0.3 rad beyond their range: the feet cannot follow, and the trunk does not fall."""
    q = standing(dog)
    tasks = [PoseTask("trunk", dog.pose("trunk")(q), name="trunk"), PostureTask(q, 1e-2)]
    wb = WholeBody(dog, tasks, [PointContact(foot, 0.6, radius=0.02) for foot in FEET], DT)
    lower, upper = dog.limits.lower.copy(), dog.limits.upper.copy()
    lower[7::3] = 0.3
    wb.set(position_lower=lower, position_upper=np.maximum(upper, lower))
    x, v, used = q, np.zeros(dog.nv), 0.0
    for _ in range(500):
        used = max(used, np.abs(wb.step(x, v)[6:] / dog.limits.effort[6:]).max())
        v = v + DT * wb.accelerations
        x = dog.integrate(x, DT * v)
        assert wb.ok or "hip" in wb.message
    assert abs(x[2] - q[2]) < 0.05 and used < 0.6
