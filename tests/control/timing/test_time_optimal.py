"""The fastest motion along a path, beside toppra, closed forms and its own limits."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from control.timing import toppra_oracle
from helicoid.control import InfeasiblePath, JointPath, time_optimal
from helicoid.errors import InputError

pytestmark = pytest.mark.needs_compiler


def random_case(robot, rng, k):
    """Waypoints and limits; every third case lacks torque limits, every third acceleration limits."""
    limits = robot.limits
    low, high = np.maximum(limits.lower, -2.5), np.minimum(limits.upper, 2.5)
    shape = (int(rng.integers(2, 8)), robot.nv)
    waypoints = (low + high) / 2 + 0.3 * (high - low) * rng.uniform(-1, 1, shape)
    acceleration = None if k % 3 == 1 else rng.uniform(3, 15, robot.nv)
    torque = None if k % 3 == 0 else limits.effort * rng.uniform(0.7, 1.5, robot.nv)
    return waypoints, limits.velocity, acceleration, torque


def compare(robot, rng, k):
    """The relative difference of durations, and the motion; None where both find none."""
    waypoints, velocity, acceleration, torque = random_case(robot, rng, k)
    path = JointPath.through(waypoints)
    n = int(rng.integers(60, 220))
    scheme = "collocation" if k % 4 == 3 else "interpolation"
    args = {"position": np.inf, "grid": n, "scheme": scheme, "dt": 0.05}
    theirs = toppra_oracle.duration(robot, path, path.grid(n), velocity, acceleration, torque, scheme)
    given = (
        velocity,
        np.inf if acceleration is None else acceleration,
        np.inf if torque is None else torque,
    )
    try:
        motion = time_optimal(path, robot, *given, **args)
    except InfeasiblePath:
        assert np.isnan(theirs)
        return None
    assert not np.isnan(theirs)
    return motion.duration / theirs - 1, motion, scheme


def test_duration_is_that_of_toppra(rng):
    robot = hc.load("double_pendulum")
    found = [compare(robot, rng, k) for k in range(6)]
    assert sum(one is not None for one in found) >= 4
    assert max(abs(one[0]) for one in found if one is not None) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["double_pendulum", "ur5", "panda"])
@pytest.mark.parametrize("seed", [0, 20261116])
def test_duration_is_that_of_toppra_on_many_paths(name, seed):
    robot, rng = hc.load(name), np.random.default_rng(seed)
    found = [compare(robot, rng, k) for k in range(24)]
    solved = [one for one in found if one is not None]
    assert len(solved) >= 20
    assert max(abs(one[0]) for one in solved) < 1e-3
    for _, motion, scheme in solved:
        if scheme == "interpolation":
            assert max(motion.excess) < 0.1  # coarse grids; it falls with the square of an interval


@pytest.mark.parametrize(("start", "end"), [(0.3, 0.0), (0.0, 0.5), (0.4, 0.2)])
def test_speeds_at_both_ends(start, end):
    robot = hc.load("planar_2r")
    path = JointPath.through([[0.0, 0.2], [0.8, -0.3], [1.2, 0.6], [0.5, 1.0]])
    velocity, acceleration = np.full(2, 2.0), np.full(2, 6.0)
    args = {"start_speed": start, "end_speed": end, "torque": np.inf}
    motion = time_optimal(path, robot, velocity, acceleration, **args)
    expected = toppra_oracle.duration(
        robot, path, path.grid(200), velocity, acceleration, None, speeds=(start, end)
    )
    assert motion.duration == pytest.approx(expected, rel=1e-4)
    np.testing.assert_allclose(motion.v[0], start * path(path.start, 1), atol=1e-12)
    np.testing.assert_allclose(motion.v[-1], end * path(path.end, 1), atol=1e-9)


@pytest.mark.parametrize("distance", [0.1, 3.0])
def test_straight_line_is_a_triangle_or_a_trapezoid(distance):
    """One joint from rest to rest: 2 √(d / a) below the velocity limit, d / v + v / a with it."""
    v, a = 1.5, 4.0
    motion = time_optimal([[0.0, 0.0], [distance, 0.0]], hc.load("planar_2r"), v, a, np.inf, grid=600)
    expected = 2 * np.sqrt(distance / a) if distance < v * v / a else distance / v + v / a
    assert motion.duration == pytest.approx(expected, rel=1e-4)
    assert motion.excess.velocity < 1e-9
    assert motion.excess.acceleration < 1e-9


def test_torque_limits_bind_and_hold_between_points(rng):
    robot = hc.load("double_pendulum")
    # Bounds of the pendulum hanging down: gravity can be held everywhere on the path.
    waypoints = np.array([[-0.5, 0.2], [0.1, -0.4], [0.5, 0.3], [0.2, 0.8]])
    torque = 1.2 * np.abs(robot.gravity(robot.random(rng, size=200))).max(axis=0)
    excesses = []
    for grid in (100, 200, 400):
        motion = time_optimal(waypoints, robot, np.inf, np.inf, torque, grid=grid)
        used = np.abs(motion.tau / torque).max(axis=1)
        assert np.median(used) > 0.98  # bang-bang: one joint is at its limit nearly always
        np.testing.assert_allclose(
            motion.tau, robot.inverse_dynamics(motion.q, motion.v, motion.a), atol=1e-12
        )
        excesses.append(motion.excess.torque)
    assert excesses[0] < 0.02
    assert excesses[2] < max(excesses[0] / 4, 1e-9)


def test_two_sided_limits():
    robot = hc.load("planar_2r")
    velocity, acceleration = [[-1.0, -0.4], [2.0, 0.7]], [[-2.0, -5.0], [3.0, 9.0]]
    waypoints = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.5], [-1.0, 0.0]]
    motion = time_optimal(waypoints, robot, velocity, acceleration, np.inf, grid=600)
    assert max(motion.excess) < 3e-3
    for values, (low, high) in ((motion.v, velocity), (motion.a, acceleration)):
        # Every one of the two limits of a joint is reached by some joint, so that none is simply ignored.
        assert (values.max(axis=0) / high).max() > 0.95
        assert (values.min(axis=0) / low).max() > 0.95


def test_motion_is_consistent_and_can_be_resampled(rng):
    robot = hc.load("planar_2r")
    motion = time_optimal(rng.uniform(-1, 1, (5, 2)), robot, 2.0, 8.0, dt=1e-3)
    assert motion.t[0] == 0
    assert motion.t[-1] == motion.duration
    np.testing.assert_allclose(np.diff(motion.t)[:-1], 1e-3, rtol=1e-9)
    # v and a are derivatives in time: trapezoids of them give q and v back, up to where a jumps.
    h = np.diff(motion.t)[:, None]
    np.testing.assert_allclose(np.diff(motion.q, axis=0), h * (motion.v[1:] + motion.v[:-1]) / 2, atol=1e-5)
    np.testing.assert_allclose(np.diff(motion.v, axis=0), h * (motion.a[1:] + motion.a[:-1]) / 2, atol=1e-2)
    again = motion.resample(times=motion.t[::7])
    np.testing.assert_allclose(again.q, motion.q[::7], atol=1e-12)
    np.testing.assert_allclose(again.a, motion.a[::7], atol=1e-9)
    coarse = motion.resample(dt=0.03)
    assert coarse.t[-1] == motion.duration
    assert coarse.kinetic_energy.shape == coarse.t.shape
    with pytest.raises(InputError, match="takes from 0"):
        motion.resample(times=[motion.duration + 1])
    with pytest.raises(InputError, match="ascending"):
        motion.resample(times=[0.2, 0.1])


def test_corners_are_stopped_at():
    robot = hc.load("planar_2r")
    waypoints = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.5]]
    path = JointPath.through(waypoints, shape="lines")
    assert path.corners == (True, False)  # the last two lines are one
    motion = time_optimal(path, robot, 2.0, 5.0, np.inf, grid=400)
    first, second = (
        time_optimal([a, b], robot, 2.0, 5.0, np.inf, grid=200).duration
        for a, b in ([waypoints[0], waypoints[1]], [waypoints[1], waypoints[3]])
    )
    assert motion.duration == pytest.approx(first + second, rel=2e-3)
    assert max(motion.excess) < 1e-6
    at_corner = np.argmin(np.abs(motion.q - waypoints[1]).sum(axis=1))
    np.testing.assert_allclose(motion.q[at_corner], waypoints[1], atol=1e-2)


def test_friction_is_worked_against(rng):
    robot = hc.load("planar_2r").with_joints(damping=0.8, friction=0.6)
    waypoints = rng.uniform(-0.5, 0.5, (4, 2)) - np.array([1.57, 0.0])
    torque = np.array([75.0, 27.0])
    smooth = time_optimal(waypoints, robot, np.inf, np.inf, torque, grid=300)
    rough = time_optimal(waypoints, robot, np.inf, np.inf, torque, grid=300, friction=True)
    assert rough.excess.torque < 0.025  # dry friction jumps by 1.6 % of the limit where a joint turns round
    # Without friction in the plan, motors would need more than they have.
    needed = robot.inverse_dynamics.with_options(friction=True)(smooth.q, smooth.v, smooth.a)
    assert (np.abs(needed) / torque).max() > 1.01
    assert np.median(np.abs(rough.tau / torque).max(axis=1)) > 0.98


def test_theta_of_a_parametric_robot_is_nominal():
    robot = hc.load("planar_2r")
    args = ([[0.0, 0.0], [1.0, 0.5], [0.3, 1.0]],)
    plain = time_optimal(*args, robot, torque=[60.0, 20.0])
    parametric = time_optimal(*args, robot.parametric("inertia"), torque=[60.0, 20.0])
    assert parametric.duration == pytest.approx(plain.duration, rel=1e-9)
    assert parametric.energy.shape == parametric.t.shape


def test_gravity_that_cannot_be_held_is_named():
    robot = hc.load("double_pendulum")
    waypoints = [[1.2, 0.0], [1.6, 0.1], [2.0, 0.0]]
    with pytest.raises(InfeasiblePath, match=r"gravity needs -?[\d.]+ N·m of joint_1 at rest; limits are"):
        time_optimal(waypoints, robot, torque=[2.0, 50.0])


def test_limits_that_contradict_each_other_are_named():
    """Where one joint's speed holds still and another must fall fast enough, no speed is left."""
    robot = hc.load("double_pendulum")
    with pytest.raises(InfeasiblePath, match="start_speed"):
        time_optimal([[0.0, 0.0], [0.3, 0.0]], robot, 2.0, 4.0, np.inf, start_speed=1.9)
    with pytest.raises(InfeasiblePath, match="end_speed"):
        time_optimal([[0.0, 0.0], [0.3, 0.0]], robot, 2.0, 4.0, np.inf, end_speed=2.5)


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ([[0, 0]], {}, "at least two"),
        ([[0, 0], [1, 1], [1, 1], [2, 0]], {}, "waypoints 1 and 2 are equal"),
        ([[0, 0], [np.nan, 1]], {}, "finite"),
        ([0, 1], {}, "shape"),
        ([[0, 0, 0], [1, 1, 1]], {}, "2 columns"),
        ("x", {}, "numbers"),
        ([[0, 0], [9, 0]], {}, "leaves the limits of joint_1"),
        ([[0, 0], [1, 0]], {"velocity": [0, 1]}, "joint_1 moves"),
        ([[0, 0], [1, 0]], {"velocity": -1}, "velocity must be"),
        ([[0, 0], [1, 0]], {"velocity": [1, 2, 3]}, "one for each joint"),
        ([[0, 0], [1, 0]], {"acceleration": np.nan}, "acceleration must be"),
        ([[0, 0], [1, 0]], {"acceleration": [[1, 1], [2, 2]]}, "0"),
        ([[0, 0], [1, 0]], {"torque": np.inf}, "nothing limits"),
        ([[0, 0], [1, 0]], {"torque": "much"}, "numbers"),
        ([[0, 0], [1, 0]], {"grid": 1}, "at least 2"),
        ([[0, 0], [1, 0]], {"grid": [0, 0.5, 0.4, 1]}, "ascending"),
        ([[0, 0], [1, 0]], {"grid": [0, 0.5, 2]}, "goes from"),
        ([[0, 0], [1, 0]], {"dt": 0}, "dt must be positive"),
        ([[0, 0], [1, 0]], {"dt": np.nan}, "dt must be positive"),
        ([[0, 0], [1, 0]], {"start_speed": -1}, "start_speed"),
        ([[0, 0], [1, 0]], {"end_speed": np.nan}, "end_speed"),
        ([[0, 0], [1, 0]], {"scheme": "other"}, "scheme"),
    ],
)
def test_wrong_input_is_refused_by_name(path, options, message):
    with pytest.raises(InputError, match=message):
        time_optimal(path, hc.load("planar_2r"), **options)


def test_joint_that_may_not_move_and_does_not_is_fine():
    motion = time_optimal([[0, 0.5], [1, 0.5]], hc.load("planar_2r"), [1.0, 0.0], 5.0, np.inf)
    assert np.all(motion.v[:, 1] == 0)
    assert max(motion.excess) < 1e-9


def test_robots_that_it_does_not_know_are_refused():
    with pytest.raises(InputError, match="quaternions"):
        time_optimal(np.zeros((2, 7)), hc.load("quadruped", base="floating"))
    passive = hc.load("planar_2r").with_actuators("joint_1")
    with pytest.raises(InputError, match="no motor drives joint_2"):
        time_optimal([[0, 0], [1, 0]], passive)


def test_extreme_scales(rng):
    """Durations scale with √ of accelerations, whatever the units and the parameter of the path."""
    robot = hc.load("double_pendulum")
    waypoints = rng.uniform(-1, 1, (5, 2))
    one = time_optimal(waypoints, robot, np.inf, 1.0, np.inf, dt=1.0)
    for factor in (1e-8, 1e8):
        other = time_optimal(waypoints, robot, np.inf, factor, np.inf, dt=1e9)
        assert other.duration * np.sqrt(factor) == pytest.approx(one.duration, rel=1e-6)
        stretched = JointPath.through(waypoints, s=factor * one.path.breaks)
        assert time_optimal(stretched, robot, np.inf, 1.0, np.inf).duration == pytest.approx(
            one.duration, rel=1e-6
        )
