"""Differential kinematics: the formulas of the textbook, limits, singularities, and whatever comes as q."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import helicoid as hc
from control.ball import shoulder
from helicoid.control import DifferentialIK, OrientationTask, PoseTask, PositionTask, PostureTask
from helicoid.errors import CompileError, HelicoidError, InputError
from helicoid.geometry import so3
from mechanisms import four_bar_angles, four_bar_urdf, joint_angles

pytestmark = pytest.mark.needs_compiler
HOME = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.8])
DT = 0.01


@pytest.fixture(scope="module")
def panda():
    return hc.load("panda")


@pytest.fixture(scope="module")
def weighted(panda):
    """A hand and a posture, weighted, with limited accelerations."""
    tasks = [PoseTask("panda_link8", name="hand"), PostureTask(HOME, weight=1e-6)]
    return DifferentialIK(panda, tasks, DT, acceleration=15.0)


@pytest.fixture(scope="module")
def strict(panda):
    """The hand's place before how it is turned, before a posture."""
    place, turn = PositionTask("panda_link8", name="place"), OrientationTask("panda_link8", name="turn")
    return DifferentialIK(panda, [place, turn, PostureTask(HOME)], DT, "strict")


def started(ik, **numbers):
    """As if it were new, but for these numbers."""
    limits = ik.robot.limits
    ik.set(velocity_limit=limits.velocity, position_lower=limits.lower, position_upper=limits.upper)
    ik.set(null_velocity=0.0, damping_factor=1e-3, error_damping_factor=0.1)
    ik.set(**numbers)
    ik.reset()
    return ik


def test_without_limits_it_is_the_pseudo_inverse_with_motion_in_its_null_space(weighted, panda, rng):
    free = {"velocity_limit": np.inf, "position_lower": -np.inf, "position_upper": np.inf}
    ik = started(
        weighted,
        **free,
        acceleration_limit=1e9,
        damping_factor=1e-5,
        error_damping_factor=0.0,
        posture_weight=0.0,
    )
    T = panda.pose("panda_link8")(HOME)
    w, v0 = rng.normal(size=6), rng.normal(size=7)
    ik.set(hand=T, hand_velocity=w, null_velocity=v0)
    J = panda.jacobian("panda_link8", "world_aligned")(HOME)
    inverse = np.linalg.pinv(J)
    v = ik.step(HOME)
    assert ik.ok and ik.limits == ()
    assert np.allclose(v, inverse @ w + (np.eye(7) - inverse @ J) @ v0, atol=1e-6)
    ik.set(posture_weight=1e-6, hand_velocity=0.0, acceleration_limit=15.0)


@pytest.mark.slow
def test_strict_is_the_recursion_by_projections(strict, panda, rng):
    free = {"velocity_limit": np.inf, "position_lower": -np.inf, "position_upper": np.inf}
    ik = started(strict, **free, damping_factor=1e-6, error_damping_factor=0.0)
    for _ in range(3):
        q = panda.random(rng)
        feeds = {"place": rng.normal(size=3), "turn": rng.normal(size=3), "posture": rng.normal(size=7)}
        T = panda.pose("panda_link8")(q)
        ik.set(place=T[:3, 3], turn=T[:3, :3], posture=q, **{f"{k}_velocity": w for k, w in feeds.items()})
        J = panda.jacobian("panda_link8", "world_aligned")(q)
        v, free_motion = np.zeros(7), np.eye(7)
        for task, w in ((J[3:], feeds["place"]), (J[:3], feeds["turn"]), (np.eye(7), feeds["posture"])):
            inverse = np.linalg.pinv(task @ free_motion, rcond=1e-6)
            v = v + free_motion @ inverse @ (w - task @ v)
            free_motion = free_motion @ (np.eye(7) - inverse @ task @ free_motion)
        assert np.allclose(ik.step(q), v, atol=1e-4 * (1 + np.abs(v).max()))
    ik.set(place_velocity=0.0, turn_velocity=0.0, posture_velocity=0.0)


def test_what_comes_first_is_not_disturbed_by_what_comes_after_even_at_limits(strict, panda, rng):
    ik = started(strict)
    for _ in range(20):
        q = panda.random(rng)
        ik.set(place=rng.normal(size=3), turn=so3.exp(rng.normal(size=3)), posture=panda.random(rng))
        ik.reset()
        v = ik.step(q)
        # Alone, the first level gets no closer to what it asks for.
        ik.set(turn_weight=0.0, posture_weight=0.0)
        alone = ik.step(q)
        ik.set(turn_weight=1.0, posture_weight=1.0)
        J = panda.jacobian("panda_link8", "world_aligned")(q)[3:]
        assert np.allclose(J @ v, J @ alone, atol=1e-6)
        assert np.all(np.abs(v) <= panda.limits.velocity)


@pytest.mark.parametrize("kind", ["weighted", "strict"])
def test_limits_are_kept_whatever_is_asked_for_and_named(kind, request, panda, rng):
    ik = started(request.getfixturevalue(kind))
    q, last, seen = HOME.copy(), np.zeros(7), set()
    for k in range(600):
        if k % 60 == 0:
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = so3.exp(3 * rng.normal(size=3)), rng.normal(size=3)
            ik.set(**({"hand": T} if kind == "weighted" else {"place": T[:3, 3], "turn": T[:3, :3]}))
        v = ik.step(q)
        assert ik.ok or ik.status == "no progress"
        assert np.all(np.abs(v) <= panda.limits.velocity)
        if kind == "weighted":
            assert np.all(np.abs(v - last) <= 15.0 * DT + 1e-12)
        q, last = q + DT * v, v
        assert np.all(q >= panda.limits.lower - 1e-12) and np.all(q <= panda.limits.upper + 1e-12)
        seen |= {limit.kind for limit in ik.limits}
        assert all(limit.joint in panda.joint_names for limit in ik.limits)
    assert seen == {"velocity", "position"} | ({"acceleration"} if kind == "weighted" else set())


def test_a_trajectory_is_followed_without_drift(weighted, panda):
    ik = started(weighted)
    T0 = panda.pose("panda_link8")(HOME)
    q, errors = HOME + 0.02, []  # it begins beside the trajectory
    for k in range(500):
        t = k * DT
        T = T0.copy()
        T[:3, 3] += 0.1 * np.array([np.cos(2 * t) - 1, np.sin(2 * t), 0])
        ik.set(hand=T, hand_velocity=[0, 0, 0, *(0.2 * np.array([-np.sin(2 * t), np.cos(2 * t), 0]))])
        q = panda.integrate(q, DT * ik.step(q))
        errors.append(np.linalg.norm(ik.error("hand")))
    ik.set(hand_velocity=0.0)
    assert errors[0] > 0.02 and max(errors[200:]) < 1e-3
    assert max(errors[400:]) <= 1.1 * max(errors[200:300])


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"solver": "projection", "priorities": "strict"}])
def test_through_a_stretched_elbow_and_back(options):
    robot = hc.load("planar_2r")
    ik = DifferentialIK(robot, PositionTask("tip", name="tip"), 0.005, **options)
    ik.set(velocity_limit=2.0)
    q, motion = np.array([0.3, -1.0]), []
    start = robot.pose("tip")(q)[:3, 3]
    near, far = np.linalg.norm(start), 1.1 * np.linalg.norm(robot.pose("tip")(np.zeros(2))[:3, 3])
    for k in range(1200):  # 4 s out beyond the reach of the arm and back, 2 s of rest
        t = min(k * 0.005, 4.0)
        ik.set(tip=start / near * (near + (far - near) * np.sin(np.pi * t / 4) ** 2))
        motion.append(ik.step(q))
        q = robot.integrate(q, 0.005 * motion[-1])
        assert ik.ok
    v = np.array(motion)
    assert np.abs(v).max() <= 2.0
    assert np.abs(np.diff(v, axis=0)).sum() < 20  # out and back four times the limit each, and no trembling
    assert np.linalg.norm(ik.error("tip")) < 1e-6


def test_invalid_measurements_let_the_motion_decay(weighted):
    ik = started(weighted)
    T = np.eye(4)
    T[:3, 3] = 0.5, 0.3, 0.3
    ik.set(hand=T)
    q = HOME.copy()
    for _ in range(20):
        last = ik.step(q)
    for bad in (np.nan, np.inf, -np.inf):
        q[3] = bad
        v = ik.step(q)
        assert not ik.ok and ik.status == "bad measurement" and ik.limits == ()
        assert np.all(np.abs(v) <= np.abs(last)) and np.abs(v).max() > 0
        last = v
    for _ in range(300):
        v = ik.step(q)
    assert np.array_equal(v, np.zeros(7))
    for huge in (1e300, -1e300, 1e20):
        assert np.all(np.isfinite(ik.step(np.full(7, huge))))
    for none in (np.zeros(6), "x", None, {}, np.zeros((7, 1)), [10**400] * 7):
        assert np.all(np.isfinite(ik.step(none))) and ik.status == "bad measurement"
    ik.reset()
    ik.step(HOME)
    assert ik.ok


def test_a_quaternion_that_is_not_unit_is_no_configuration():
    robot = shoulder()
    q = np.array([0.6, 0.0, 0.8, 0.0, 0.3])
    ik = DifferentialIK(robot, [PositionTask("hand", [0.5, 0.5, 0.5])], DT)
    good = ik.step(q)
    ik.reset()
    np.testing.assert_allclose(ik.step(np.append(1.01 * q[:4], q[4:])), good, atol=1e-12)
    for length in (0.0, 0.5, 2.0):
        assert np.all(np.isfinite(ik.step(np.append(length * q[:4], q[4:]))))
        assert not ik.ok and ik.status == "bad measurement"
    with pytest.raises(InputError, match=r"a quaternion is 2\.0 long"):
        DifferentialIK(robot, [PostureTask([2.0, 0.0, 0.0, 0.0, 0.0])], DT)


def test_without_a_target_nothing_moves(panda):
    ik = DifferentialIK(panda, [PoseTask("panda_link8", name="hand"), PostureTask(HOME, weight=1e-6)], DT,
                        acceleration=15.0)  # fmt: skip
    assert ik.status == "not started" and not ik.ok
    assert np.array_equal(ik.step(HOME), np.zeros(7))
    assert ik.status == "no target" and not ik.ok


def test_beyond_its_limits_a_joint_returns(weighted, panda):
    ik = started(weighted)
    q = HOME.copy()
    q[3] = panda.limits.upper[3] + 0.1
    ik.set(hand=panda.pose("panda_link8")(q))
    for _ in range(200):
        q = q + DT * ik.step(q)
    assert q[3] <= panda.limits.upper[3] + 1e-3


@pytest.mark.slow
def test_links_stay_apart_and_the_nearest_are_named(panda):
    capsules = panda.capsules("visual")  # it has no collision shapes
    into_itself = PositionTask("panda_link8", [0.0, 0.02, 0.25], name="tip")
    ik = DifferentialIK(panda, into_itself, DT, self_distance=0.05, capsules=capsules)
    watched = [capsules.pairs.index(pair) for pair in capsules.could_meet(0.05)]
    q, Q, named = HOME.copy(), [], set()
    for _ in range(300):
        q = panda.integrate(q, DT * ik.step(q))
        assert ik.ok or ik.status is hc.Status.NO_PROGRESS  # it slides along the distance
        named |= {limit.joint for limit in ik.limits if limit.kind == "self_distance"}
        Q.append(q)
    assert capsules.distances(np.array(Q))[:, watched].min() > 0.0499
    assert "panda_link1 and panda_link7" in named
    with pytest.raises(InputError, match="knows no distances"):
        DifferentialIK(panda, into_itself, DT, self_distance=0.05, capsules=capsules, solver="projection")
    with pytest.raises(InputError, match="capsules are those of this robot"):
        other = hc.load("planar_2r").capsules("visual")
        DifferentialIK(panda, into_itself, DT, self_distance=0.05, capsules=other)


@pytest.mark.slow
def test_constraints_are_kept(rng):
    robot = hc.load(four_bar_urdf())
    q = joint_angles(four_bar_angles(0.7))
    q = q + 1e-3  # a little open
    crank = PostureTask(np.array([2.0, 0, 0]), joints=["crank_joint"])
    ik = DifferentialIK(robot, crank, DT)
    for _ in range(300):
        q = robot.integrate(q, DT * ik.step(q))
        assert ik.ok
    assert np.abs(robot.constraint_position(q)).max() < 1e-4
    assert q[0] == pytest.approx(2.0, abs=1e-4)


def test_a_copy_continues_as_the_original(weighted):
    ik = started(weighted)
    T = np.eye(4)
    T[:3, 3] = 0.5, 0.3, 0.3
    ik.set(hand=T)
    for _ in range(5):
        ik.step(HOME)
    for copied in (copy.deepcopy(ik), pickle.loads(pickle.dumps(ik))):
        again = copied.step(HOME)
    assert np.array_equal(ik.step(HOME), again)


def test_invalid_arguments_are_refused(weighted, panda):
    hand = PoseTask("panda_link8", name="hand")
    with pytest.raises(HelicoidError, match="did you mean"):
        DifferentialIK(panda, PoseTask("panda_link88"), DT)
    with pytest.raises(InputError, match="priorities"):
        DifferentialIK(panda, hand, DT, "soft")
    with pytest.raises(InputError, match="solver"):
        DifferentialIK(panda, hand, DT, solver="magic")
    with pytest.raises(InputError, match="needs a task"):
        DifferentialIK(panda, [], DT)
    with pytest.raises(InputError, match="twice"):
        DifferentialIK(panda, [hand, hand], DT)
    with pytest.raises(InputError, match="such as"):
        DifferentialIK(panda, None, DT)
    with pytest.raises(InputError, match="such as"):
        DifferentialIK(panda, ["panda_link8"], DT)
    with pytest.raises(InputError, match="takes a robot"):
        DifferentialIK("panda", hand, DT)
    for dt in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="dt"):
            DifferentialIK(panda, hand, dt)
    with pytest.raises(InputError, match="gain"):
        DifferentialIK(panda, hand, DT, gain=-1.0)
    before = weighted.numbers.values.copy()
    for name, value in {
        "hands": np.eye(4),
        "hand": np.ones((4, 4)),
        "hand_gain": -1.0,
        "hand_weight": [1, 2],
        "velocity_limit": -1.0,
        "acceleration_limit": 0.0,
        "position_lower": 9.0,
        "damping_factor": 0.0,
        "null_velocity": np.nan,
        "dt": "x",
    }.items():
        with pytest.raises(InputError):
            weighted.set(posture_weight=0.5, **{name: value})
        assert np.array_equal(weighted.numbers.values, before, equal_nan=True)
    weighted.reset()
    for wrong in (np.zeros(6), "x", None):
        with pytest.raises(InputError, match=r"\(7,\)"):
            weighted.step(wrong)
    with pytest.raises(InputError, match="no task"):
        weighted.error("foot")


def test_without_a_compiler_it_says_what_is_missing(panda, monkeypatch, tmp_path):
    monkeypatch.setenv("CC", "no-compiler")
    monkeypatch.setenv("HELICOID_CACHE", str(tmp_path / "cache"))
    with pytest.raises(CompileError, match=r"no-compiler.*control loops are solved by compiled C"):
        DifferentialIK(panda, PoseTask("panda_link8"), DT)
