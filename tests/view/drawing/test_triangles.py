"""Triangles enclose what they should: volumes by the divergence theorem, closed surfaces, normals outward."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from helicoid.model.parts import Placement
from helicoid.view.drawing import triangles
from helicoid.view.drawing.triangles import Triangles, creased, joined, welded

SOLIDS = {
    "box": (triangles.box([0.2, 0.3, 0.5]), 0.2 * 0.3 * 0.5),
    "cylinder": (triangles.cylinder(0.2, 0.7), np.pi * 0.2**2 * 0.7),
    "capsule": (triangles.capsule(0.2, 0.7), np.pi * 0.2**2 * 0.7 + 4 / 3 * np.pi * 0.2**3),
    "sphere": (triangles.sphere(0.4), 4 / 3 * np.pi * 0.4**3),
    "ellipsoid": (triangles.ellipsoid(np.diag([0.1, 0.2, 0.3])), 4 / 3 * np.pi * 0.1 * 0.2 * 0.3),
    "rod": (triangles.rod(np.array([1.0, 2, 3]), np.array([1.0, 2, 4]), 0.1, "cylinder"), np.pi * 0.1**2),
}


def volume(mesh: Triangles) -> float:
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


@pytest.mark.parametrize("name", SOLIDS)
def test_solids_are_closed_oriented_and_of_the_right_volume(name: str) -> None:
    mesh, expected = SOLIDS[name]
    assert volume(mesh) == pytest.approx(expected, rel=0.015)
    edges = Counter((int(f[k]), int(f[k - 2])) for f in mesh.faces for k in range(3))
    assert all(count == 1 and edges[b, a] == 1 for (a, b), count in edges.items())


def test_a_capsule_reaches_half_its_length_and_its_radius() -> None:
    top = triangles.capsule(0.2, 0.7).vertices.max(axis=0)
    np.testing.assert_allclose(top, [0.2, 0.2, 0.55])


def test_a_rod_ends_at_the_given_points() -> None:
    start, end = np.array([0.1, 0.2, 0.3]), np.array([-0.4, 0.5, 0.9])
    mesh = triangles.rod(start, end, 0.01)
    along = (end - start) / np.linalg.norm(end - start)
    heights = (mesh.vertices - start) @ along
    assert heights.min() == pytest.approx(-0.01)
    assert heights.max() == pytest.approx(np.linalg.norm(end - start) + 0.01)


def test_a_tube_stays_at_its_radius_around_its_line() -> None:
    angle = np.linspace(0, 5, 400)
    line = np.column_stack([np.cos(angle), np.sin(angle), 0.1 * angle])
    mesh = triangles.tube(line, 0.01)
    nearest = np.linalg.norm(mesh.vertices[:, None] - line[None], axis=2).min(axis=1)
    np.testing.assert_allclose(nearest, 0.01, atol=2e-4)


def test_a_tube_of_a_line_that_stands_still_is_a_ball() -> None:
    mesh = triangles.tube(np.ones((5, 3)), 0.1)
    np.testing.assert_allclose(np.linalg.norm(mesh.vertices - 1, axis=1), 0.1)


def test_welding_joins_faces_that_are_stated_one_by_one() -> None:
    cube = triangles.box([1, 1, 1])
    soup = Triangles(cube.vertices[cube.faces].reshape(-1, 3), np.arange(36).reshape(-1, 3))
    mended = welded(soup, 1e-6)
    assert len(mended.vertices) == 8
    assert volume(mended) == pytest.approx(1.0)


def test_welding_with_a_large_cell_simplifies_and_keeps_the_shape() -> None:
    ball = triangles.sphere(1.0)
    coarse = welded(ball, 0.25)
    assert len(coarse.faces) < 0.7 * len(ball.faces)
    assert volume(coarse) == pytest.approx(volume(ball), rel=0.1)


def test_edges_of_a_box_stay_sharp_and_a_sphere_is_smooth() -> None:
    split, normals = creased(triangles.box([1, 2, 3]))
    assert len(split.vertices) == 24
    np.testing.assert_allclose(np.abs(normals).max(axis=1), 1.0)
    ball, outward = creased(triangles.sphere(1.0))
    assert len(ball.vertices) == len(triangles.sphere(1.0).vertices)
    assert np.einsum("ij,ij->i", ball.vertices, outward).min() > 0.995


def test_joined_and_moved_triangles_keep_their_volume() -> None:
    turned = Placement(np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]), np.array([5.0, 0, 0]))
    both = joined([triangles.box([1, 2, 3]), triangles.box([1, 1, 1]).moved(turned)])
    assert volume(both) == pytest.approx(7.0)
    assert both.vertices[:, 0].max() == pytest.approx(5.5)
