"""Which pairs of a robot and a scene are checked; wrong input raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from robot.collision.arms import capsule_arm, collision, urdf

pytestmark = pytest.mark.needs_compiler

Q = np.array([0.3, -0.4, 0.5])


@pytest.fixture(scope="module")
def arm() -> hc.Robot:
    return capsule_arm(3)


def scene_of(**objects: tuple[Any, Any]) -> hc.Scene:
    scene = hc.Scene()
    for name, (shape, pose) in objects.items():
        scene.add(name, shape, pose)
    return scene


def test_batches_are_single_calls_and_the_least_of_all_pairs(arm: hc.Robot, rng: np.random.Generator) -> None:
    scene = scene_of(a=(hc.Box([0.2, 0.2, 0.2]), [0.4, 0.1, 0.6]), b=(hc.Plane([0, 0, 1]), [0, 0, -0.5]))
    Q = arm.random(rng, 300)
    d, slope = arm.distance(Q, scene, gradient=True)
    assert d.shape == (300,) and slope.shape == (300, 3)
    hit = arm.in_collision(Q, scene)
    assert 0 < hit.sum() < 300
    np.testing.assert_array_equal(hit, d < 0)
    np.testing.assert_array_equal(arm.in_collision(Q, scene, margin=0.05), d < 0.05)
    for k in range(0, 300, 50):
        near = arm.closest(Q[k], scene)
        assert arm.distance(Q[k], scene) == d[k] == pytest.approx(near[0].distance, abs=1e-9)
        assert [one.distance for one in near] == sorted(one.distance for one in near)
        assert arm.in_collision(Q[k], scene) is bool(hit[k])
        assert all(one.distance <= 0.1 for one in arm.closest(Q[k], scene, within=0.1))


def test_self_distances_are_those_of_the_capsules(arm: hc.Robot, rng: np.random.Generator) -> None:
    capsules, Q = arm.capsules(), arm.random(rng, 50)
    theirs = capsules.distances(Q).min(axis=1)
    ours = arm.distance(Q)
    # Where axes cross, capsules overlap by their radii alone; the depth of capsules is the same there.
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    assert arm.distance(Q, hc.Scene(), self_collision=False)[0] == np.inf


def test_the_gradient_is_that_of_differences(arm: hc.Robot, rng: np.random.Generator) -> None:
    scene = scene_of(a=(hc.Capsule(0.1, 0.4), [0.5, 0.05, 0.5]))
    for q in arm.random(rng, 10):
        d, slope = arm.distance(q, scene, gradient=True, self_collision=False)
        step = 1e-6 * np.eye(3)
        numeric = (arm.distance(q + step, scene, self_collision=False) - d) / 1e-6
        np.testing.assert_allclose(slope, numeric, atol=1e-4)


def test_objects_that_move_are_seen_at_once(arm: hc.Robot) -> None:
    scene = scene_of(a=(hc.Sphere(0.1), [5, 0, 0]))
    far = arm.distance(Q, scene, self_collision=False)
    scene.move("a", [4, 0, 0])
    assert arm.distance(Q, scene, self_collision=False) == pytest.approx(far - 1.0, abs=0.1)
    scene.remove("a")
    assert arm.distance(Q, scene, self_collision=False) == np.inf
    assert arm.closest(Q, scene, self_collision=False) == []


def test_the_base_and_the_world_do_not_collide(arm: hc.Robot) -> None:
    scene = scene_of(floor=(hc.Plane([0, 0, 1]), [0, 0, 0]))
    assert not arm.in_collision(np.zeros(3), scene)
    assert "link_0" not in {
        name for one in arm.closest(np.zeros(3), scene, self_collision=False) for name in one.names
    }


def test_what_is_carried_moves_and_may_be_allowed(arm: hc.Robot) -> None:
    scene = scene_of(rod=(hc.Box([0.02, 0.02, 0.6]), [0, 0, 0]), wall=(hc.Box([0.1, 2, 2]), [1.6, 0, 0]))
    scene.attach("rod", arm, "link_3", pose=[0, 0, 0.6])
    q = np.array([np.pi / 2, 0.0, 0.0])  # along x
    (near,) = [one for one in arm.closest(q, scene, self_collision=False) if one.names == ("rod", "wall")]
    tip = float((arm.pose("link_3")(q) @ [0, 0, 0.9, 1])[0])
    assert near.distance == pytest.approx(1.55 - tip, abs=1e-6)
    assert "link_3" not in {n for one in arm.closest(q, scene) for n in one.names if "rod" in one.names}
    scene.allow("rod", "wall")
    assert ("rod", "wall") not in [one.names for one in arm.closest(q, scene)]
    scene.allow("wall", "link_9")
    with pytest.raises(hc.HelicoidError, match="'link_9' is neither an object nor a link"):
        arm.distance(q, scene)


def test_a_carried_cloud_counts_as_its_hull(arm: hc.Robot) -> None:
    corners = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
    scene = scene_of(
        cloud=(hc.PointCloud(corners, 0.01), [0, 0, 0]), ball=(hc.Sphere(0.02), arm.pose("link_3")(Q))
    )
    scene.attach("cloud", arm, "link_3", pose=[0, 0, 0])
    assert ("cloud", "ball") in [one.names for one in arm.closest(Q, scene, within=0.0)]


def test_disabled_pairs_and_neighbours_are_not_checked() -> None:
    big = collision('<sphere radius="0.2"/>', 0.0)
    text = urdf([big, big, big])
    robot = hc.load(text)
    assert [one.names for one in robot.closest([0.1, 0.2])] == [("link_0", "link_2")]
    srdf = '<robot name="arm"><disable_collisions link1="link_0" link2="link_2" reason="Always"/></robot>'
    assert hc.load(text, srdf=srdf).closest([0.1, 0.2]) == []


def test_floating_and_spherical_coordinates_have_gradients_by_velocity(rng: np.random.Generator) -> None:
    robot = hc.load(
        urdf([collision('<box size="0.1 0.2 0.3"/>'), collision('<sphere radius="0.1"/>')]), "floating"
    )
    scene = scene_of(a=(hc.Cylinder(0.1, 0.4), [1.5, 0.05, 0.5]))
    q = robot.random(rng)
    d, slope = robot.distance(q, scene, gradient=True)
    moved = np.array([robot.integrate(q, 1e-6 * e) for e in np.eye(robot.nv)])
    np.testing.assert_allclose(slope, (robot.distance(moved, scene) - d) / 1e-6, atol=1e-4)


def test_another_robot_cannot_be_asked_about_what_this_one_carries(arm: hc.Robot) -> None:
    scene = scene_of(rod=(hc.Sphere(0.1), [0, 0, 0]))
    scene.attach("rod", arm, "link_3")
    with pytest.raises(hc.HelicoidError, match="is attached to 'link_3'"):
        hc.load("planar_2r").distance([0.0, 0.0], scene)


NAN = float("nan")
WRONG: dict[str, tuple[Callable[[hc.Robot], Any], str]] = {
    "NaN": (lambda r: r.distance([0, NAN, 0]), "finite; row 0"),
    "NaN in a batch": (lambda r: r.distance([[0, 0, 0], [0, NAN, 0]]), "finite; row 1"),
    "size": (lambda r: r.in_collision([0, 0]), r"\(3\) or \(N, 3\); got shape \(2,\)"),
    "text": (lambda r: r.distance("home"), "numbers"),
    "scene": (lambda r: r.distance(Q, [hc.Sphere(1.0)]), "a scene is hc.Scene"),  # type: ignore[arg-type]
    "margin": (lambda r: r.in_collision(Q, margin=NAN), "margin is a distance"),
    "batch of closest": (lambda r: r.closest([Q, Q]), "takes one configuration"),
    "geometry": (lambda r: r.distance(Q, geometry="inertial"), "geometry is"),  # type: ignore[arg-type]
    "carried plane": (lambda r: _carried_plane(r), "a plane, which a robot cannot carry"),
}


def _carried_plane(robot: hc.Robot) -> Any:
    scene = scene_of(floor=(hc.Plane(), [0, 0, 0]))
    scene.attach("floor", robot, "link_1")
    return robot.distance(Q, scene)


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_reported(arm: hc.Robot, case: str) -> None:
    call, told = WRONG[case]
    with pytest.raises(hc.HelicoidError, match=told):
        call(arm)
