"""Containing spheres: none of the geometry is outside, none reaches further than the tolerance."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.model.parts import Geometry, Placement
from helicoid.robot.collision.spheres import disk_cache
from helicoid.robot.collision.spheres.covering import cover, uncovered
from helicoid.robot.collision.spheres.hulls import SHARE, few_planes, hull_planes
from helicoid.robot.collision.spheres.solids import Solid, polytope, union
from helicoid.robot.collision.spheres.spheres import bounding_ball
from robot.collision.arms import capsule_arm, collision, urdf

TOLERANCE = 0.03
CORNERS = np.array([[0, 0, 0], [0.2, 0, 0], [0, 0.1, 0], [0, 0, 0.15], [0.1, 0.1, 0.1]])


def _inside(rng: np.random.Generator, solid: Solid, count: int = 20000) -> Any:
    low, high = solid.bounds
    points = low + rng.uniform(size=(count, 3)) * (high - low)
    return points[solid.distance(points) <= 0]


TILTED = Placement(np.array([[0.6, 0, 0.8], [0, 1, 0], [-0.8, 0, 0.6]]), np.array([0.1, 0.2, 0.3]))
SOLIDS: dict[str, Callable[[], Solid]] = {
    "box": lambda: union([Geometry("box", (0.1, 0.2, 0.15))]),
    "cylinder": lambda: union([Geometry("cylinder", (0.05, 0.2))]),
    "capsule": lambda: union([Geometry("capsule", (0.05, 0.2), TILTED)]),
    "two": lambda: union([Geometry("sphere", (0.06,)), Geometry("box", (0.1, 0.1, 0.1), TILTED)]),
    "hull": lambda: polytope(CORNERS),
}


@pytest.mark.parametrize("name", SOLIDS)
def test_all_of_a_solid_is_inside_and_nothing_reaches_far(name: str, rng: np.random.Generator) -> None:
    solid = SOLIDS[name]()
    centers, radii = cover(solid, TOLERANCE)
    points = _inside(rng, solid)
    assert len(points) > 500
    depth = (radii - np.linalg.norm(points[:, None] - centers, axis=2)).max(axis=1)
    assert depth.min() > 0
    assert not len(uncovered(solid, centers, radii, 0.08 * TOLERANCE))
    directions = rng.normal(size=(400, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    outermost = (centers[:, None] + radii[:, None, None] * directions).reshape(-1, 3)
    assert solid.distance(outermost).max() <= TOLERANCE * (1 + 1e-9)


def test_the_proof_finds_a_gap() -> None:
    solid = union([Geometry("box", (0.2, 0.2, 0.2))])
    ball = np.zeros((1, 3)), np.array([0.1 * np.sqrt(3)])
    assert not len(uncovered(solid, ball[0], ball[1] + 1e-3, 1e-3))
    gaps = uncovered(solid, ball[0], ball[1] - 1e-2, 1e-3)
    assert len(gaps) and np.abs(gaps).min() > 0.08  # at the corners


def test_a_flat_mesh_is_contained(rng: np.random.Generator) -> None:
    square = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0.1, 0.1, 0]])
    centers, radii = cover(polytope(square), TOLERANCE)
    points = np.column_stack([0.1 * rng.uniform(size=(500, 2)), np.zeros(500)])
    assert np.all((np.linalg.norm(points[:, None] - centers, axis=2) < radii).any(axis=1))


def test_spheres_of_a_robot_are_in_the_frames_of_its_links(rng: np.random.Generator) -> None:
    robot = capsule_arm(2)
    spheres = robot.spheres(TOLERANCE)
    assert spheres.links == ("link_0", "link_1", "link_2") and spheres is robot.spheres(TOLERANCE)
    assert spheres.tolerance == TOLERANCE and not spheres.centers.flags.writeable
    centers, radii = spheres.of("link_0")
    np.testing.assert_allclose(radii, [0.08])  # a sphere is itself
    centers, radii = spheres.of("link_1")
    axis = np.column_stack([np.zeros((50, 2)), np.linspace(0.05, 0.35, 50)])
    side = rng.normal(size=(50, 3))
    surface = axis + 0.05 * side / np.linalg.norm(side, axis=1, keepdims=True)
    assert np.all((np.linalg.norm(surface[:, None] - centers, axis=2) < radii).any(axis=1))
    assert "spheres of arm, within 30 mm" in repr(spheres) and "<table" in spheres._repr_html_()
    for k in range(3):
        own = spheres.link_index == k
        reach = np.linalg.norm(spheres.centers[own] - spheres.ball_centers[k], axis=1) + spheres.radii[own]
        assert reach.max() <= spheres.ball_radii[k] * (1 + 1e-12)


def test_the_bounding_ball_is_nearly_the_smallest(rng: np.random.Generator) -> None:
    points = rng.normal(size=(200, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    center, radius = bounding_ball(points, np.full(200, 0.1))
    assert np.linalg.norm(center) < 0.05 and radius < 1.13


def test_they_come_from_the_disk_the_second_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HELICOID_CACHE", str(tmp_path))
    calls = []

    def make() -> dict[str, Any]:
        calls.append(1)
        return {"x": np.arange(3.0)}

    for _ in range(2):
        np.testing.assert_array_equal(disk_cache.cached_arrays(b"content", make)["x"], np.arange(3.0))
    assert len(calls) == 1
    (file,) = tmp_path.glob("*/arrays-*.npz")
    assert file.stat().st_mode & 0o077 == 0
    file.write_bytes(b"broken")
    disk_cache.cached_arrays(b"content", make)
    (file,) = tmp_path.glob("*/arrays-*.npz")
    file.chmod(0o666)
    disk_cache.cached_arrays(b"content", make)
    assert len(calls) == 3


@pytest.mark.parametrize("tolerance", [0.0, -1.0, float("nan"), float("inf"), "fine", None, True])
def test_a_wrong_tolerance_is_reported(tolerance: Any) -> None:
    with pytest.raises(hc.HelicoidError, match="tolerance of spheres"):
        capsule_arm(1).spheres(tolerance)


def test_a_robot_without_geometry_is_reported() -> None:
    bare = hc.load(urdf(["", ""]))
    with pytest.raises(hc.HelicoidError, match="no collision or visual geometry"):
        bare.spheres()
    with pytest.raises(hc.HelicoidError, match="geometry is 'collision'"):
        bare.spheres(geometry="inertial")  # type: ignore[arg-type]
    with pytest.raises(hc.HelicoidError, match="has no link 'x'"):
        hc.load(urdf([collision('<sphere radius="0.1"/>')])).spheres().of("x")


def test_few_planes_of_a_finely_tessellated_hull_bound_it_within_the_tolerance(
    rng: np.random.Generator,
) -> None:
    points = rng.normal(size=(2000, 3))
    points *= np.array([0.1, 0.06, 0.03]) / np.linalg.norm(points, axis=1, keepdims=True)
    every = hull_planes(points)
    few = few_planes(every, TOLERANCE)
    assert len(few) < len(every) / 8
    x = points[:1000].repeat(5, axis=0) * rng.uniform(0.8, 1.5, size=(5000, 1))
    inside, beyond = ((x @ p[:, :3].T - p[:, 3]).max(axis=1) for p in (every, few))
    near = beyond <= SHARE * TOLERANCE
    assert np.sum(near & (inside > 0)) > 500 and inside[near].max() <= TOLERANCE
    assert np.all(beyond <= inside + 1e-12)  # the hull is inside of the polytope
    centers, radii = cover(polytope(points, TOLERANCE), SHARE * TOLERANCE)
    assert (radii - np.linalg.norm(points[:, None] - centers, axis=2)).max(axis=1).min() > 0
