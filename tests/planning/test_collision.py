"""Collision checks of configurations and edges, against NumPy in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array
from helicoid.geometry import so3
from helicoid.planning import Planner
from planning.arms import RADIUS, centers, cubes_urdf, gap

pytestmark = pytest.mark.needs_compiler
POINTS = np.random.default_rng(3).normal(size=(60, 3)) * 0.4

SHAPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "box": (hc.Box([0.3, 0.5, 0.2]), (0.3, 0.5, 0.2)),
    "sphere": (hc.Sphere(0.25), (0.25,)),
    "capsule": (hc.Capsule(0.1, 0.6), (0.1, 0.6)),
    "cylinder": (hc.Cylinder(0.2, 0.5), (0.2, 0.5)),
    "plane": (hc.Plane([0, 0, 1], -0.2), (np.array([0.0, 0, 1]), -0.2)),
    "point_cloud": (hc.PointCloud(POINTS, 0.03), (POINTS, 0.03)),
}


def random_pose(rng: np.random.Generator) -> Array:
    pose = np.eye(4)
    pose[:3, :3] = np.asarray(so3.exp(rng.normal(size=3)))
    pose[:3, 3] = rng.uniform(-0.8, 0.8, size=3)
    return pose


@pytest.mark.parametrize("kind", SHAPES)
def test_contacts_with_an_obstacle_are_those_of_numpy(
    kind: str, planner: Planner, rng: np.random.Generator
) -> None:
    shape, numbers = SHAPES[kind]
    Q = planner.robot.random(rng, 40)
    seen = set()
    for _ in range(4):
        pose = random_pose(rng)
        planner.update(None)
        free_of_itself = ~planner.in_collision(Q)
        scene = hc.Scene()
        scene.add("obstacle", shape, pose)
        planner.update(scene)
        found = planner.in_collision(Q)
        for q, touches in zip(Q[free_of_itself], found[free_of_itself], strict=True):
            d = min(
                float(gap(kind, numbers, pose, x).min()) - RADIUS
                for x in centers(planner.robot, q).values()
                if len(x)
            )
            if abs(d) > 2e-5:  # float32, and the margin against its rounding
                assert touches == (d < 0)
                seen.add(bool(touches))
                names = [contact.other for contact in planner.contacts(q)]
                assert ("obstacle" in names) == touches
    assert seen == {True, False}


def test_hulls_meshes_and_height_fields_contain_what_they_stand_for(
    planner: Planner, rng: np.random.Generator
) -> None:
    corners = np.array([[x, y, z] for x in (-0.2, 0.2) for y in (-0.3, 0.3) for z in (-0.25, 0.25)])
    box = hc.Mesh(vertices=corners)
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [(a, b, c) for a, b, c, _ in sides] + [(a, c, d) for a, _, c, d in sides]
    solid = hc.Mesh(vertices=corners, faces=faces)
    steps = hc.HeightField(np.array([[0.0, 0.0, 0.2], [0.0, 0.1, 0.2]]), spacing=(0.4, 0.6))
    Q = planner.robot.random(rng, 300)
    planner.update(None)
    Q = Q[~planner.in_collision(Q)]
    X = [np.concatenate(list(centers(planner.robot, q).values())) for q in Q]
    pose = random_pose(rng)
    for shape, slack in ((box, 0.04), (solid, 0.011)):
        scene = hc.Scene()
        scene.add("obstacle", shape, pose)
        planner.update(scene)
        d = np.array([gap("box", (0.4, 0.6, 0.5), pose, x).min() - RADIUS for x in X])
        found = planner.in_collision(Q)
        assert found[d < -1e-4].all()
        assert not found[d > slack].any() and found.any()
    scene = hc.Scene()
    scene.add("ground", steps, [0.0, 0.0, -0.3])
    planner.update(scene)
    found = planner.in_collision(Q)
    for x, touches in zip(X, found, strict=True):
        inside = (np.abs(x[:, 0]) < 0.4) & (np.abs(x[:, 1]) < 0.3)
        right = inside & (x[:, 0] > 0.001)
        assert touches or not np.any(inside & (x[:, 2] < -0.3 + RADIUS - 1e-3))
        assert touches or not np.any(right & (x[:, 2] < -0.1 + RADIUS - 1e-3))
        if np.all(x[:, 2] > -0.1 + RADIUS + 1e-3):
            assert not touches
    assert found.any() and not found.all()


def test_contacts_between_links_are_those_of_numpy(planner: Planner, rng: np.random.Generator) -> None:
    planner.update(None)
    Q = planner.robot.random(rng, 300)
    seen = set()
    for q, touches in zip(Q, planner.in_collision(Q), strict=True):
        x = list(centers(planner.robot, q).values())[1:]
        gaps = [
            np.linalg.norm(x[i][:, None] - x[j], axis=-1).min() - 2 * RADIUS
            for i in range(4)
            for j in range(i + 2, 4)
        ]
        if abs(min(gaps)) > 2e-5:
            assert touches == (min(gaps) < 0)
            seen.add(bool(touches))
    assert seen == {True, False}


def test_certified_edges_are_free_everywhere(
    planner: Planner, scene: hc.Scene, rng: np.random.Generator
) -> None:
    planner.update(scene)
    A = planner.robot.random(rng, 400)
    B = A + rng.normal(size=A.shape) * 0.4
    free = planner.edges_free(A, B)
    assert 20 < free.sum() < 380
    for a, b in zip(A[free], B[free], strict=True):
        assert not planner.in_collision(a + np.linspace(0, 1, 300)[:, None] * (b - a)).any()


def test_edges_with_clearance_are_certified(
    planner: Planner, scene: hc.Scene, rng: np.random.Generator
) -> None:
    # An edge that is free with spheres larger by 5 mm has room for every certificate.
    wide = Planner(planner.robot, scene, margin=0.005, certify=False, resolution=500)
    planner.update(scene)
    A = planner.robot.random(rng, 300)
    B = A + rng.normal(size=A.shape) * 0.4
    roomy = wide.edges_free(A, B)
    assert roomy.sum() > 20
    assert planner.edges_free(A, B)[roomy].all()


def test_edges_leave_a_configuration_that_is_a_few_hundredths_of_a_millimetre_from_contact(
    planner: Planner,
) -> None:
    q = np.array([0.3, -0.4, 0.5, 0.2])
    middle = centers(planner.robot, q)["link_3"][-1]
    away = np.asarray(planner.robot.pose("link_3")(q))[:3, 1]  # the last joint moves the link along it
    scene = hc.Scene()
    scene.add("ball", hc.Sphere(0.1), middle - (RADIUS + 0.1 + 5e-5) * away)
    planner.update(scene)
    turned = q + np.outer([0.05, 0.3, 0.6, -0.05], [0, 0, 0, 1])
    assert not planner.in_collision(q)
    np.testing.assert_array_equal(planner.edges_free(np.tile(q, (4, 1)), turned), [True, True, True, False])


def test_links_that_are_proven_to_meet_everywhere_are_not_checked(rng: np.random.Generator) -> None:
    planner = Planner(hc.load(cubes_urdf()), tolerance=0.02)
    assert ("link_0", "link_2") in planner.always_in_contact
    assert not planner.in_collision(planner.robot.random(rng, 50)).any()


def test_allowed_contacts_are_not_checked(planner: Planner, scene: hc.Scene) -> None:
    scene.add("ball", hc.Sphere(0.3), [1.6, 0.0, 0.0])
    planner.update(scene)
    assert planner.in_collision(np.zeros(4))
    scene.allow("ball", "link_3")
    planner.update(scene)
    assert not planner.in_collision(np.zeros(4))


def test_what_is_carried_is_checked(planner: Planner) -> None:
    scene = hc.Scene()
    scene.add("post", hc.Cylinder(0.05, 1.0), [1.4, 0.3, 0.0])
    scene.add("rod", hc.Capsule(0.02, 0.3))
    q, pose = np.zeros(4), np.eye(4)
    pose[:3, :3] = np.asarray(so3.exp([-np.pi / 2, 0, 0]))
    pose[:3, 3] = 0.2, 0.0, 0.0
    scene.attach("rod", planner.robot, "link_3", pose)
    tip = np.asarray(planner.robot.pose("link_3")(q)) @ pose @ np.array([0, 0, 0.17, 1])
    scene.move("post", tip[:3])
    planner.update(scene)
    assert "rod" in [contact.link for contact in planner.contacts(q)]
    scene.allow("link_3", "post")
    planner.update(scene)
    assert [(contact.link, contact.other) for contact in planner.contacts(q)] == [("rod", "post")]
    assert planner.in_collision(q)
    scene.allow("rod", "post")
    planner.update(scene)
    assert not planner.in_collision(q)
    planner.update(None)
    assert not planner.in_collision(q)
