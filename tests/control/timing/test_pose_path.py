"""Lines and arcs of a frame, and motions of the joints along them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import helicoid as hc
from helicoid.control import InfeasiblePath, InverseKinematics, PosePath, PositionTask, time_optimal
from helicoid.errors import InputError

START = np.array([0.1, -1.2, 1.5, -0.3, 0.8, 0.0])


def pose(p=(0, 0, 0), turn=(0, 0, 0)):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = Rotation.from_rotvec(turn).as_matrix(), p
    return T


def moved(T, p=(0, 0, 0), turn=(0, 0, 0)):
    """A pose moved along the world's axes, and turned about its own."""
    other = T @ pose(turn=turn)
    other[:3, 3] = T[:3, 3] + p
    return other


@pytest.mark.parametrize("angle", [0.3, 2.5, 4.0, 6.0])
def test_arc_is_part_of_a_circle(rng, angle):
    """From the first point over the one in between, be it more or less than half a circle."""
    center, radius, turned = rng.normal(size=3), 0.7, Rotation.random(random_state=3).as_matrix()

    def at(phi):
        return center + turned @ (radius * np.array([np.cos(phi), np.sin(phi), 0.0]))

    path = PosePath(pose(at(0.0))).arc(at(0.4 * angle), pose(at(angle), (0.0, 0.0, 1.0)))
    assert path.length == pytest.approx(radius * angle)
    parts = np.linspace(0, 1, 9)
    T = path.poses(parts * path.length)
    np.testing.assert_allclose(T[:, :3, 3], [at(angle * part) for part in parts], atol=1e-12)
    turns = Rotation.from_matrix(T[:, :3, :3]).as_rotvec()
    np.testing.assert_allclose(turns, parts[:, None] * [0.0, 0.0, 1.0], atol=1e-12)
    # The directions at both ends, which decide about corners, by differences.
    h = 1e-6
    for end, s in ((0, 0.0), (1, path.length - h)):
        before, after = path.poses([s, s + h])[:, :3, 3]
        np.testing.assert_allclose(path.segments[0].direction(end)[3:], (after - before) / h, atol=1e-5)


def test_corners_are_where_directions_differ():
    a, b, c = pose((0, 0, 0)), pose((0.4, 0, 0)), pose((0.4, 0.2, 0))
    assert "0 corners" in repr(PosePath(a).line(b).arc([0.5, 0.1, 0], c))
    assert "1 corners" in repr(PosePath(a).line(b).arc([0.3, 0.1, 0], c))
    assert "1 corners" in repr(PosePath.through([a, b, c]))
    assert "0 corners" in repr(PosePath.through([a, b, pose((0.6, 0, 0))]))
    turning = pose((0.6, 0, 0), (0, 0.5, 0))  # goes on straight, but begins to turn
    assert "1 corners" in repr(PosePath.through([a, b, turning]))


@pytest.mark.needs_compiler
def test_frame_follows_the_path_and_stops_at_its_corner():
    robot = hc.load("ur5")
    T = robot.pose("tool0")(START)
    there = moved(T, (-0.1, 0.2, 0.05), (0.2, 0.0, 0.4))
    path = PosePath(T).line(there).arc(there[:3, 3] + [-0.1, 0.1, 0.05], moved(there, (-0.2, 0, 0.1)))
    motion = time_optimal(path, robot, acceleration=20.0, frame="tool0", q0=START, dt=0.002)
    np.testing.assert_allclose(motion.q[0], START, atol=1e-6)  # the branch of q0
    assert max(motion.excess) < 5e-3
    poses = robot.pose("tool0")(motion.q)
    grid = np.linspace(0, path.length, 4000)
    expected = path.poses(grid)
    for one in poses[::10]:
        k = np.argmin(np.linalg.norm(expected[:, :3, 3] - one[:3, 3], axis=1))
        assert np.abs(one - expected[k]).max() < 5e-4  # half a step of the comparison, and the tolerance
    np.testing.assert_allclose(poses[-1], path.end, atol=1e-6)
    at_corner = np.argmin(np.linalg.norm(poses[:, :3, 3] - there[:3, 3], axis=1))
    assert np.abs(motion.v[at_corner]).max() < 20.0 * 0.002
    assert 5 < at_corner < len(poses) - 5


@pytest.mark.needs_compiler
def test_smooth_seam_is_passed_without_a_stop():
    robot = hc.load("ur5")
    T = robot.pose("tool0")(START)
    there, end = moved(T, (0.0, 0.2, 0.0)), moved(T, (0.0, 0.2, 0.1))
    path = PosePath(T).line(there).arc(there[:3, 3] + [0.0, 0.05, 0.05], end)
    motion = time_optimal(path, robot, acceleration=20.0, frame="tool0", q0=START)
    speed = np.abs(motion.v).max(axis=1)
    assert speed[3:-3].min() > 0.1
    assert motion.path.corners == ()


@pytest.mark.needs_compiler
def test_paths_that_cannot_be_followed_say_where():
    robot = hc.load("ur5")
    T = robot.pose("tool0")(START)
    with pytest.raises(InfeasiblePath, match=r"the pose at s = [\d.]+ of 2 is out of reach"):
        time_optimal(np.array([T, moved(T, (2.0, 0, 0))]), robot, frame="tool0")
    there = moved(T, (0.1, 0.2, 0.05), (0.2, 0, 0.4))
    outward = PosePath(T).line(there).arc(there[:3, 3] + [-0.1, 0.1, 0.05], moved(there, (-0.2, 0, 0.1)))
    with pytest.raises(InfeasiblePath, match=r"jump is needed before s = 0\.2"):  # the elbow would stretch
        time_optimal(outward, robot, frame="tool0", q0=START)
    with pytest.raises(InputError, match="frame"):
        time_optimal(np.array([T, moved(T, (0.1, 0, 0))]), robot)
    with pytest.raises(InputError, match="one PoseTask"):
        ik = InverseKinematics(robot, PositionTask("tool0"))
        time_optimal(np.array([T, moved(T, (0.1, 0, 0))]), robot, frame=ik)
    with pytest.raises(InputError, match="single pose"):
        time_optimal(PosePath(T), robot, frame="tool0")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PosePath(np.eye(3)), "finite matrix"),
        (lambda: PosePath(np.full((4, 4), np.nan)), "finite matrix"),
        (lambda: PosePath(2 * np.eye(4)), "no pose"),
        (lambda: PosePath(np.diag([1.0, 1.0, -1.0, 1.0])), "no pose"),
        (lambda: PosePath("x"), "a pose is a matrix"),
        (lambda: PosePath.through([np.eye(4)]), "at least two poses"),
        (lambda: PosePath(pose()).line(pose()), "equal"),
        (lambda: PosePath(pose()).arc([1, 0, 0], pose((2, 0, 0))), "on a line"),
        (lambda: PosePath(pose()).arc([1, 0, 0], pose()), "full circle"),
        (lambda: PosePath(pose()).arc([1, np.nan, 0], pose((2, 0, 0))), "three finite numbers"),
    ],
)
def test_wrong_input_is_refused_by_name(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_turning_on_the_spot_has_a_length():
    path = PosePath(pose()).line(pose(turn=(0, 0, 1.5)))
    assert path.length > 0
    np.testing.assert_allclose(path.poses(path.length / 2)[0], pose(turn=(0, 0, 0.75)), atol=1e-12)
