"""Inverse kinematics in a scene: solutions are free of collision, checked against distances."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import helicoid as hc

pytestmark = pytest.mark.needs_compiler

FRAME = "tool0"


@pytest.fixture(scope="module")
def arm() -> hc.Robot:
    return hc.load("ur5")


@pytest.fixture(scope="module")
def scene() -> hc.Scene:
    made = hc.Scene()
    made.add("table", hc.Box([2.0, 2.0, 0.1]), [0.0, 0.0, -0.06])
    made.allow("table", "base_link")
    made.allow("table", "shoulder_link")
    made.add("wall", hc.Plane([0, -1, 0], -0.55))
    made.add("post", hc.Cylinder(0.06, 1.2), [0.3, -0.25, 0.6])
    return made


@pytest.fixture(scope="module")
def ik(arm: hc.Robot, scene: hc.Scene) -> hc.control.InverseKinematics:
    return hc.control.InverseKinematics(arm, FRAME, scene=scene, margin=0.01)


def poses(arm: hc.Robot, scene: hc.Scene, number: int, seed: int) -> np.ndarray:
    """Poses with a solution that keeps the margin."""
    q = arm.random(np.random.default_rng(seed), size=60 * number)
    far = ~arm.in_collision(q, scene, margin=0.01, self_collision=False) & ~arm.in_collision(q)
    return np.asarray(arm.pose(FRAME)(q[far][:number]))


def test_solutions_are_free(arm: hc.Robot, scene: hc.Scene, ik: hc.control.InverseKinematics) -> None:
    T = poses(arm, scene, 60, 0)
    found = ik(T)
    assert found.success.all() and not found.collides.any()
    assert arm.distance(found.q, scene, self_collision=False).min() >= 0.01
    assert arm.distance(found.q).min() >= 0
    np.testing.assert_allclose(arm.pose(FRAME)(found.q), T, atol=1e-5)
    plain = hc.control.InverseKinematics(arm, FRAME)(T)
    assert arm.in_collision(plain.q, scene).sum() > 5  # the first solutions found are not free
    for k in (0, 17):
        np.testing.assert_array_equal(ik(T[k]).q, found.q[k])


def test_all_solutions_are_the_free_ones(
    arm: hc.Robot, scene: hc.Scene, ik: hc.control.InverseKinematics
) -> None:
    plain = hc.control.InverseKinematics(arm, FRAME)
    left_out = 0
    for T in poses(arm, scene, 6, 1):
        every, free = plain.all(T), ik.all(T)
        keeps = ~arm.in_collision(every, scene, margin=0.01, self_collision=False) & ~arm.in_collision(every)
        assert len(free) == keeps.sum()
        left_out += len(every) - len(free)
    assert left_out > 10


def test_a_pose_within_an_object_is_no_success(
    arm: hc.Robot, scene: hc.Scene, ik: hc.control.InverseKinematics
) -> None:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.diag([1.0, -1.0, -1.0]), [0.3, -0.25, 0.5]  # in the post
    solution = ik(T)
    assert not solution.success and solution.collides and "in collision" in solution.message
    assert np.all(np.isfinite(solution.q)) and solution.error < 1e-5
    assert len(ik.all(T)) == 0
    batch = ik(np.array([T, poses(arm, scene, 1, 2)[0]]))
    assert list(batch.success) == [False, True] and list(batch.collides) == [True, False]
    assert "1 of 2 targets were not reached, 1 of them" in batch.message


def test_objects_may_move(arm: hc.Robot) -> None:
    q = np.array([0.4, -1.1, 1.3, 0.2, 0.9, -0.5])
    T, scene = arm.pose(FRAME)(q), hc.Scene()
    scene.add("ball", hc.Sphere(0.1), [0.0, 0.0, 3.0])
    ik = pickle.loads(pickle.dumps(hc.control.InverseKinematics(arm, FRAME, scene=scene)))
    scene = ik._collisions.scene
    np.testing.assert_allclose(ik(T, q0=q).q, q, atol=1e-4)
    scene.move("ball", arm.pose("forearm_link")(q)[:3, 3] + [0, 0, 0.05])  # at the elbow
    other = ik(T, q0=q)
    assert other.success and np.abs(other.q - q).max() > 0.3
    assert not arm.in_collision(other.q, scene)


def test_a_path_stays_free(arm: hc.Robot, scene: hc.Scene, ik: hc.control.InverseKinematics) -> None:
    T = np.repeat(np.eye(4)[None], 30, axis=0)
    T[:, :3, :3] = np.diag([1.0, -1.0, -1.0])
    T[:, :3, 3] = np.linspace([0.45, 0.3, 0.3], [0.45, -0.1, 0.3], 30)
    path = ik.path(T)
    assert path.success.all()
    assert not arm.in_collision(path.q, scene).any()


def test_wrong_input_is_reported(arm: hc.Robot, scene: hc.Scene) -> None:
    with pytest.raises(hc.HelicoidError, match="a scene is hc"):
        hc.control.InverseKinematics(arm, FRAME, scene=[hc.Sphere(1.0)])  # type: ignore[arg-type]
    with pytest.raises(hc.HelicoidError, match="margin"):
        hc.control.InverseKinematics(arm, FRAME, scene=scene, margin=np.nan)
    with pytest.raises(hc.HelicoidError, match="restarts"):
        hc.control.InverseKinematics(arm, FRAME, scene=scene, method="damped")
    other = scene.copy()
    other.allow("table", "nothing")
    with pytest.raises(hc.HelicoidError, match="nothing"):
        hc.control.InverseKinematics(arm, FRAME, scene=other)
