"""Shapes as data: their bounds against sampled points, and numbers that are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import helicoid as hc

CUBE = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
_QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
CUBE_FACES = [t for a, b, c, d in _QUADS for t in ((a, b, c), (a, c, d))]
NAN, INF = float("nan"), float("inf")

WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "box of two": (lambda: hc.Box([1, 2]), "three finite numbers"),
    "box of zero": (lambda: hc.Box([1, 0, 1]), "above zero"),
    "box negative": (lambda: hc.Box([1, -1, 1]), "above zero"),
    "box NaN": (lambda: hc.Box([1, NAN, 1]), "finite"),
    "box text": (lambda: hc.Box("large"), "three numbers"),
    "sphere": (lambda: hc.Sphere(0.0), "radius of a sphere"),
    "sphere NaN": (lambda: hc.Sphere(NAN), "radius of a sphere"),
    "sphere inf": (lambda: hc.Sphere(INF), "radius of a sphere"),
    "sphere bool": (lambda: hc.Sphere(True), "radius of a sphere"),
    "capsule": (lambda: hc.Capsule(0.1, -1), "length of a capsule"),
    "cylinder": (lambda: hc.Cylinder([0.1], 1), "radius of a cylinder"),
    "plane": (lambda: hc.Plane([0, 0, 0]), "direction"),
    "plane offset": (lambda: hc.Plane([0, 0, 1], NAN), "offset"),
    "cloud shape": (lambda: hc.PointCloud(np.zeros(3), 0.1), r"\(n, 3\)"),
    "cloud empty": (lambda: hc.PointCloud(np.zeros((0, 3)), 0.1), "one at least"),
    "cloud NaN": (lambda: hc.PointCloud([[0, 0, 0], [0, NAN, 0]], 0.1), "the first is row 1"),
    "cloud radius": (lambda: hc.PointCloud(np.zeros((4, 3)), 0), "radius of a point cloud"),
    "field of one row": (lambda: hc.HeightField([[0.0, 1.0]]), "2 each at least"),
    "field NaN": (lambda: hc.HeightField([[0.0, NAN], [0, 0]]), "NaN"),
    "field spacing": (lambda: hc.HeightField(np.zeros((2, 2)), spacing=0), "above 0"),
    "field spacings": (lambda: hc.HeightField(np.zeros((2, 2)), spacing=(1, 1, 1)), "above 0"),
    "field origin": (lambda: hc.HeightField(np.zeros((2, 2)), origin=(0, NAN)), "origin"),
    "field thickness": (lambda: hc.HeightField(np.zeros((2, 2)), thickness=0), "thickness"),
    "mesh of nothing": (lambda: hc.Mesh(), "path, or vertices"),
    "mesh that is not there": (lambda: hc.Mesh("nowhere.stl"), "no mesh nowhere.stl"),
    "mesh of a point": (lambda: hc.Mesh(vertices=np.ones((4, 3))), "same point"),
    "mesh scale": (lambda: hc.Mesh(vertices=CUBE, scale=0), "scale"),
    "mesh faces": (lambda: hc.Mesh(vertices=CUBE, faces=[[0, 1, 8]]), "indices below 8"),
    "mesh half faces": (lambda: hc.Mesh(vertices=CUBE, faces=[[0, 1, 1.5]]), "indices below 8"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_numbers_are_reported(case: str) -> None:
    make, told = WRONG[case]
    with pytest.raises(hc.HelicoidError, match=told):
        make()


SHAPES = {
    "box": hc.Box([0.4, 0.6, 0.2]),
    "sphere": hc.Sphere(0.3),
    "capsule": hc.Capsule(0.1, 0.5),
    "cylinder": hc.Cylinder(0.2, 0.5),
    "mesh": hc.Mesh(vertices=CUBE, faces=CUBE_FACES),
    "cloud": hc.PointCloud(CUBE, 0.05),
    "field": hc.HeightField([[0.0, 0.2], [0.1, 0.5]], spacing=(0.5, 0.7)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_bounding_ball_contains_the_bounding_box_or_the_shape(name: str) -> None:
    shape = SHAPES[name]
    low, high = shape.bounds
    assert np.all(low < high)
    center, radius = shape.bounding_ball
    assert np.all(center + radius >= high - 1e-12) and np.all(center - radius <= low + 1e-12)


def test_a_plane_is_of_unit_normal_and_unbounded() -> None:
    plane = hc.Plane([0, 3, 4], 0.5)
    assert plane.normal == (0.0, 0.6, 0.8) and plane.bounding_ball[1] == np.inf


def test_a_cube_is_watertight_and_without_a_face_it_is_not() -> None:
    assert hc.Mesh(vertices=CUBE, faces=CUBE_FACES).is_watertight
    with pytest.warns(hc.DoubtfulModelWarning, match="not watertight"):
        hc.Mesh(vertices=CUBE, faces=CUBE_FACES[:-1])


def test_a_mesh_in_millimetres_is_reported_and_scaled() -> None:
    with pytest.warns(hc.DoubtfulModelWarning, match=r"scale=0\.001"):
        hc.Mesh(vertices=1000 * CUBE, faces=CUBE_FACES)
    mesh = hc.Mesh(vertices=1000 * CUBE, faces=CUBE_FACES, scale=0.001)
    np.testing.assert_allclose(mesh.bounds, [[0, 0, 0], [1, 1, 1]])


def test_meshes_are_read_from_files(tmp_path: Any) -> None:
    trimesh = pytest.importorskip("trimesh")
    trimesh.Trimesh(CUBE, CUBE_FACES).export(tmp_path / "cube.stl")
    mesh = hc.Mesh(tmp_path / "cube.stl", scale=[1, 2, 3])
    assert mesh.is_watertight and len(mesh.faces) == 12
    np.testing.assert_allclose(mesh.bounds[1], [1, 2, 3])
    assert len(mesh.hull) == 8


def test_triangles_of_a_height_field_go_through_its_points_and_look_up() -> None:
    field = hc.HeightField(np.arange(12.0).reshape(3, 4), spacing=0.5, origin=(1.0, 2.0))
    vertices, triangles = field.triangles
    assert triangles.shape == (2 * 2 * 3, 3)
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    assert np.all(np.cross(b - a, c - a)[:, 2] > 0)
    np.testing.assert_allclose(vertices[5], [1.5, 2.5, 5.0])
    assert field.bottom == -1.0
