"""Capsules around shapes hold them, and are no larger than they need to be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helicoid.model.parts import Geometry, Placement
from helicoid.robot.collision.fitting import Fit, around, fewer, fit


def outside(one: Fit, points: np.ndarray) -> float:
    """How far the outermost point sticks out (m)."""
    along = one.end - one.start
    s = np.clip((points - one.start) @ along / max(float(along @ along), 1e-300), 0, 1)
    return float((np.linalg.norm(points - one.start - s[:, None] * along, axis=1) - one.radius).max())


@pytest.mark.parametrize(("kind", "size", "length"), [("sphere", (0.2,), 0.0), ("capsule", (0.1, 0.5), 0.5)])
def test_round_shapes_are_exact(kind: str, size: tuple[float, ...], length: float) -> None:
    one = fit(Geometry(kind, size))
    assert one.radius == size[0] and np.linalg.norm(one.end - one.start) == pytest.approx(length)
    assert one.volume == pytest.approx(one.held)


@pytest.mark.parametrize("size", [(0.1, 1.0), (0.3, 0.1), (0.2, 0.0), (0.05, 0.1)])
def test_cylinders_are_held(size: tuple[float, float]) -> None:
    one = fit(Geometry("cylinder", size))
    radius, length = size
    angles = np.linspace(0, 2 * np.pi, 50)
    rim = np.stack([radius * np.cos(angles), radius * np.sin(angles), np.full(50, length / 2)], axis=1)
    assert outside(one, np.vstack([rim, rim * [1, 1, -1]])) <= 1e-12
    # No larger than the usual choice, its own radius and length, nor than the ball around it.
    assert one.volume <= np.pi * radius**2 * (length + 4 / 3 * radius) * (1 + 1e-12)
    assert one.volume <= 4 / 3 * np.pi * np.hypot(radius, length / 2) ** 3 * (1 + 1e-12)


@pytest.mark.parametrize("size", [(0.1, 0.2, 1.0), (0.3, 0.3, 0.3), (1.0, 0.1, 0.1)])
def test_boxes_are_held(size: tuple[float, ...]) -> None:
    one = fit(Geometry("box", size))
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size
    assert outside(one, corners) <= 1e-12 and one.held == pytest.approx(np.prod(size))
    assert one.volume <= 4 / 3 * np.pi * (np.linalg.norm(size) / 2) ** 3 * (1 + 1e-12)


def test_the_capsule_of_points_on_a_capsule_is_that_one(rng: np.random.Generator) -> None:
    along = rng.normal(size=3)
    along *= 0.6 / np.linalg.norm(along)
    start = rng.normal(size=3)
    directions = rng.normal(size=(400, 3))
    directions *= 0.1 / np.linalg.norm(directions, axis=1, keepdims=True)
    points = np.where((directions @ along > 0)[:, None], start + along, start) + directions
    one = around(points, np.zeros(len(points)), 0.0)
    exact = np.pi * 0.01 * (0.6 + 4 / 30)
    assert outside(one, points) <= 1e-12 and one.volume < 1.03 * exact


@pytest.mark.parametrize("shape", ["flat", "line", "point", "cloud"])
def test_degenerate_points_are_held(rng: np.random.Generator, shape: str) -> None:
    points = rng.normal(size=(40, 3))
    if shape == "flat":
        points[:, 2] = 0.3
    elif shape == "line":
        points[:] = points[:, :1] * [1.0, 2.0, 3.0]
    elif shape == "point":
        points[:] = points[0]
    one = around(points, np.zeros(40), 0.0)
    assert outside(one, points) <= 1e-12 and np.isfinite([*one.start, *one.end, one.radius]).all()


def test_a_capsule_contains_whole_balls(rng: np.random.Generator) -> None:
    points, radii = rng.normal(size=(12, 3)), rng.uniform(0, 0.5, 12)
    one = around(points, radii, 0.0)
    directions = rng.normal(size=(200, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    surface = (points[:, None] + radii[:, None, None] * directions).reshape(-1, 3)
    assert outside(one, surface) <= 1e-12


def test_a_mesh_is_held_in_its_scale(tmp_path: Path, rng: np.random.Generator) -> None:
    trimesh = pytest.importorskip("trimesh")
    mesh = trimesh.creation.box(extents=(1.0, 2.0, 6.0))
    mesh.export(tmp_path / "box.stl")
    one = fit(Geometry("mesh", (0.1, 0.1, 0.1), filename="box.stl", folder=str(tmp_path)))
    assert outside(one, mesh.vertices * 0.1) <= 1e-9
    assert one.held == pytest.approx(0.012, rel=1e-6)
    assert one.volume < 1.05 * fit(Geometry("box", (0.1, 0.2, 0.6))).volume
    moved = one.moved(Placement(translation=[0, 0, 1]))
    assert outside(moved, mesh.vertices * 0.1 + [0, 0, 1]) <= 1e-9


def test_what_lies_inside_goes_and_small_things_become_one() -> None:
    large, small = fit(Geometry("capsule", (0.2, 0.4))), fit(Geometry("sphere", (0.1,)))
    names = (("link", "shape"),)
    assert len(fewer([(small, names), (large, names)], 0.0)) == 1
    aside = small.moved(Placement(translation=[0.5, 0, 0]))
    assert len(fewer([(aside, names), (large, names)], 0.0)) == 2
    ((both, found),) = fewer([(aside, names), (large, names)], 1.0)
    assert found == names + names and both.holds(large) and both.holds(aside)
