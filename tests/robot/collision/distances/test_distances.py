"""Distances of shapes and their gradients: against coal, closed forms, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import helicoid as hc
from robot.collision.distances.worlds import (
    CUBE,
    CUBE_FACES,
    KINDS,
    LINK_KINDS,
    by_coal,
    configuration,
    free_body,
    random_pose,
    random_shape,
)

pytestmark = pytest.mark.needs_compiler


def scene_of(shape: Any, T: Any) -> hc.Scene:
    scene = hc.Scene()
    scene.add("object", shape, T)
    return scene


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("link", LINK_KINDS)
def test_signed_distances_are_those_of_coal(link: str, kind: str, rng: np.random.Generator) -> None:
    coal = pytest.importorskip("coal")
    shape = random_shape(link, rng)
    robot = free_body(shape)
    apart = overlapping = 0
    for _ in range(4):
        other = random_shape(kind, rng)
        S = random_pose(rng, 0.2)
        scene = scene_of(other, S)
        poses = [random_pose(rng, reach) for reach in (0.1, 0.3, 0.6, 0.9) for _ in range(4)]
        ours = robot.distance(np.array([configuration(T) for T in poses]), scene)
        theirs = np.array([by_coal(coal, shape, T, other, S) for T in poses])
        # In some overlaps coal finds no depth of a cylinder, or a larger one: a depth is the least motion
        # that separates, so that the smaller one is right if it does separate.
        unlike = np.flatnonzero(np.abs(ours - theirs) > 2e-5)
        assert np.all(theirs[unlike] < ours[unlike]) and np.all(ours[unlike] < 0)
        assert not len(unlike) or "cylinder" in (link, kind)
        for T in (poses[k] for k in unlike):
            (near,) = robot.closest(configuration(T), scene)
            T[:3, 3] -= near.distance * near.normal
            assert robot.distance(configuration(T), scene) == pytest.approx(0, abs=1e-6)
            T[:3, 3] += near.distance * near.normal
        apart, overlapping = apart + np.sum(theirs > 0), overlapping + np.sum(theirs < 0)
        np.testing.assert_array_equal(
            robot.in_collision(np.array([configuration(T) for T in poses]), scene), ours < 0
        )
    assert apart and overlapping


@pytest.mark.parametrize("kind", [*KINDS, "cloud", "field", "mesh"])
def test_nearest_points_normal_and_gradient_agree(kind: str, rng: np.random.Generator) -> None:
    extra = {
        "cloud": lambda: hc.PointCloud(rng.normal(size=(50, 3)), 0.05),
        "field": lambda: hc.HeightField(0.2 * rng.uniform(size=(4, 5)), spacing=0.3),
        "mesh": lambda: hc.Mesh(vertices=CUBE, faces=CUBE_FACES),
    }
    shape = random_shape("capsule", rng)
    robot = free_body(shape)
    scene = scene_of(extra[kind]() if kind in extra else random_shape(kind, rng), random_pose(rng, 0.2))
    checked = 0
    for _ in range(12):
        q = configuration(random_pose(rng, 1.2))
        (near,) = robot.closest(q, scene)
        d, slope = robot.distance(q, scene, gradient=True)
        assert near.names == ("body", "object") and near.distance == pytest.approx(d, abs=1e-9)
        np.testing.assert_allclose(near.points[0] - near.points[1], d * near.normal, atol=1e-7)
        np.testing.assert_allclose(np.linalg.norm(near.normal), 1.0)
        np.testing.assert_allclose(slope, near.gradient, atol=1e-6)
        step = 1e-5
        ends = np.array([robot.integrate(q, sign * step * e) for e in np.eye(6) for sign in (1, -1)])
        values = robot.distance(ends, scene).reshape(6, 2)
        second = np.abs(values.sum(axis=1) - 2 * d) / step  # large at an edge of the distance
        numeric = (values[:, 0] - values[:, 1]) / (2 * step)
        if second.max() < 1e-3 and d > -0.02:
            np.testing.assert_allclose(slope, numeric, atol=3e-4)
            checked += 1
    assert checked >= 3


def test_a_sphere_against_closed_forms(rng: np.random.Generator) -> None:
    robot = free_body(hc.Sphere(0.1))
    p = rng.uniform(-1, 1, (200, 3))
    q = np.column_stack([p, np.tile([1.0, 0, 0, 0], (200, 1))])
    gap = np.abs(p) - [0.2, 0.3, 0.1]
    box = np.linalg.norm(np.maximum(gap, 0), axis=1) + np.minimum(gap.max(axis=1), 0)
    found = robot.distance(q, scene_of(hc.Box([0.4, 0.6, 0.2]), [0, 0, 0]))
    np.testing.assert_allclose(found, box - 0.1, atol=1e-9)
    points = rng.normal(size=(3000, 3))
    least = np.linalg.norm(p[:, None] - points, axis=2).min(axis=1)
    found = robot.distance(q, scene_of(hc.PointCloud(points, 0.02), [0, 0, 0]))
    np.testing.assert_allclose(found, least - 0.12, atol=1e-9)
    inside = robot.distance(q, scene_of(hc.Mesh(vertices=CUBE, faces=CUBE_FACES), [0, 0, 0]))
    gap = np.abs(p) - 0.5
    cube = np.linalg.norm(np.maximum(gap, 0), axis=1) + np.minimum(gap.max(axis=1), 0) - 0.1
    np.testing.assert_array_equal(inside < 0, cube < 0)
    np.testing.assert_allclose(inside[cube > 0], cube[cube > 0], atol=1e-9)


def test_a_height_field_is_solid_below_its_surface() -> None:
    robot = free_body(hc.Sphere(0.1))
    scene = scene_of(hc.HeightField([[0.0, 0.0], [1.0, 1.0]], spacing=1.0), [0, 0, 0])
    q = np.array([[0, 0, z, 1, 0, 0, 0] for z in (1.0, 0.7, 0.4, -0.8, -3.0)])
    d = robot.distance(q, scene)
    np.testing.assert_allclose(d[0], 0.5 / np.sqrt(2) - 0.1, atol=1e-9)
    np.testing.assert_allclose(d[1], 0.2 / np.sqrt(2) - 0.1, atol=1e-9)
    assert d[2] < 0 and d[3] < 0 and d[4] > 0


def test_a_body_inside_of_a_closed_mesh_is_in_collision() -> None:
    robot = free_body(hc.Box([0.05, 0.05, 0.05]))
    mesh = hc.Mesh(vertices=CUBE, faces=CUBE_FACES)
    q = np.array([0.1, 0.05, 0.2, 1, 0, 0, 0])
    assert robot.distance(q, scene_of(mesh, [0, 0, 0])) == pytest.approx(-0.275)
    (near,) = robot.closest(q, scene_of(mesh, [0, 0, 0]))
    np.testing.assert_allclose(near.normal, [0, 0, 1], atol=1e-9)
    with pytest.warns(hc.DoubtfulModelWarning, match="watertight"):
        shell = hc.Mesh(vertices=CUBE, faces=CUBE_FACES[:-1])
    assert not robot.in_collision(q, scene_of(shell, [0, 0, 0]))


def test_a_concave_mesh_is_not_its_hull() -> None:
    faces = [t for k in range(2) for t in (np.array(CUBE_FACES) + 8 * k).tolist()]
    vertices = np.concatenate([CUBE, CUBE + np.array([3, 0, 0])])
    robot, q = free_body(hc.Sphere(0.1)), np.array([1.5, 0, 0, 1, 0, 0, 0])
    assert robot.distance(q, scene_of(hc.Mesh(vertices=vertices, faces=faces), [0, 0, 0])) == pytest.approx(
        0.9
    )
    assert robot.in_collision(q, scene_of(hc.Mesh(vertices=vertices, faces=faces, convex=True), [0, 0, 0]))


def test_a_cloud_of_many_points_uses_a_tree_of_moderate_size(rng: np.random.Generator) -> None:
    from helicoid.robot.collision.distances.rows import tree_of

    points = rng.uniform(-1, 1, (200_000, 3))
    cloud = hc.PointCloud(points, 1e-3)
    robot = free_body(hc.Sphere(0.1))
    q = np.array([0.2, 0.1, 3.0, 1, 0, 0, 0])
    expected = np.linalg.norm(points - q[:3], axis=1).min() - 0.101
    assert robot.distance(q, scene_of(cloud, [0, 0, 0])) == pytest.approx(expected, abs=1e-9)
    assert tree_of(cloud).memory < 32 * len(points) and tree_of(cloud) is tree_of(cloud)
    assert cloud.memory == 24 * len(points)


def test_shapes_that_coincide_and_degenerate_ones_have_finite_distances() -> None:
    for shape in (hc.Sphere(0.1), hc.Capsule(0.1, 0.3), hc.Box([0.2, 0.3, 0.4]), hc.Cylinder(0.1, 0.2)):
        robot = free_body(shape)
        q = np.array([0, 0, 0, 1.0, 0, 0, 0])
        d, slope = robot.distance(q, scene_of(shape, [0, 0, 0]), gradient=True)
        assert -0.5 < d < -0.19 and np.all(np.isfinite(slope))
    thin = hc.Box([1e-6, 0.5, 0.5])
    robot = free_body(thin)
    assert robot.distance(q, scene_of(thin, [0.3, 0, 0])) == pytest.approx(0.3 - 1e-6)
