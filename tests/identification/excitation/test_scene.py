"""Excitation trajectories that stay clear of a scene."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.identification.excitation.scene import distance_from
from robot.collision.arms import capsule_arm


@pytest.mark.needs_compiler
def test_a_motion_keeps_the_clearance_to_a_wall() -> None:
    robot, scene = capsule_arm(2), hc.Scene()
    scene.add("wall", hc.Plane([-1, 0, 0], -0.5))  # x < 0.5 is free
    motion = hc.excitation(robot, 4.0, harmonics=3, iterations=6, velocity=2.0, scene=scene, clearance=0.03)
    assert robot.distance(motion.q, scene, self_collision=False).min() > 0.03 - 1e-3
    free = hc.excitation(robot, 4.0, harmonics=3, iterations=6, velocity=2.0)
    assert robot.distance(free.q, scene, self_collision=False).min() < 0


@pytest.mark.parametrize(
    "shape",
    [
        hc.Box([0.2, 0.4, 0.6]),
        hc.Sphere(0.3),
        hc.Capsule(0.1, 0.4),
        hc.Cylinder(0.2, 0.3),
        hc.Plane([0, 1, 1]),
    ],
    ids=lambda shape: str(shape.kind),
)
def test_distances_of_points_are_those_of_the_sets(shape: Any, rng: np.random.Generator) -> None:
    x = ca.SX.sym("x", 3)
    f = ca.Function("f", [x], [distance_from(shape, x)])
    P = rng.uniform(-1, 1, (40, 3))
    ours = np.array(f(P.T)).ravel()
    if isinstance(shape, hc.Plane):
        expected = P @ np.array(shape.normal) - shape.offset
    else:
        low, high = shape.bounds
        cloud = rng.uniform(low, high, (15_000, 3))
        inside = np.array(f(cloud.T)).ravel() <= 0
        expected = np.linalg.norm(P[:, None] - cloud[inside], axis=2).min(axis=1)
        expected, ours = expected[ours > 0.05], ours[ours > 0.05]
        np.testing.assert_allclose(inside.mean() * np.prod(high - low), shape.volume, rtol=0.1)
    np.testing.assert_allclose(ours, expected, atol=0.05)


def test_what_has_no_smooth_distance_is_reported() -> None:
    scene = hc.Scene()
    scene.add("cloud", hc.PointCloud(np.zeros((1, 3)), 0.1))
    with pytest.raises(hc.HelicoidError, match=r"'cloud' \(point_cloud\): an excitation trajectory avoids"):
        hc.excitation(capsule_arm(2), 2.0, scene=scene)
    with pytest.raises(hc.HelicoidError, match="a scene is"):
        hc.excitation(capsule_arm(2), 2.0, scene="wall")  # type: ignore[arg-type]
