"""Ellipsoids as shapes: in files of all formats, enclosing shapes, distances, contacts and drawings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import helicoid as hc
from helicoid._typing import Array
from helicoid.model.parts import Geometry
from helicoid.model.shapes import PRIMITIVES
from helicoid.robot.collision.spheres.solids import union
from helicoid.view.drawing import drawing

RADII = (0.1, 0.2, 0.3)
MJCF = """<mujoco><worldbody><body name="egg" pos="0 0 1"><freejoint name="free"/>
<geom type="ellipsoid" size=".1 .2 .3" mass="2"/></body>
<body name="block" pos="1 0 1"><geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>"""
SDF = """<sdf version="1.9"><model name="m"><link name="egg"><inertial auto="true"/><collision name="c">
<density>{}</density><geometry><ellipsoid><radii>.1 .2 .3</radii></ellipsoid></geometry></collision></link>
</model></sdf>"""


def surface(rng: np.random.Generator, count: int = 2000) -> Array:
    ball = rng.normal(size=(count, 3))
    return np.asarray(ball / np.linalg.norm(ball, axis=1, keepdims=True) * RADII)


def egg() -> hc.Robot:
    return hc.load(MJCF, base="fixed")


def test_the_polytope_contains_the_ellipsoid_within_2_percent(
    rng: np.random.Generator,
) -> None:
    corners = PRIMITIVES["ellipsoid"].corners(RADII)
    assert corners is not None
    assert np.linalg.norm(corners / RADII, axis=1).max() < 1.02
    assert union([Geometry("ellipsoid", RADII)]).distance(surface(rng)).max() <= 1e-12


def test_files_keep_ellipsoids(tmp_path: Path) -> None:
    robot = egg()
    (shape,) = robot.model.link("egg").collisions
    assert (shape.kind, shape.size) == ("ellipsoid", RADII)
    robot.to_mjcf(tmp_path / "egg.xml")
    with pytest.warns(hc.DoubtfulModelWarning, match="only Helicoid reads the <ellipsoid> of links egg"):
        robot.to_urdf(tmp_path / "egg.urdf")
    for name in ("egg.xml", "egg.urdf"):
        again = [x for link in hc.load(tmp_path / name).model.links for x in link.collisions]
        assert RADII in [x.size for x in again if x.kind == "ellipsoid"]


def test_the_inertia_of_a_solid_ellipsoid() -> None:
    """A mass of 2 kg, as MuJoCo computes it."""
    density = 2.0 / PRIMITIVES["ellipsoid"].volume(*RADII)
    ours = hc.load(SDF.format(density), base="floating").parameters.values
    assert_allclose(ours, hc.load(MJCF.replace("block", "b"), base="fixed").parameters.values, atol=1e-12)


def test_enclosing_shapes(rng: np.random.Generator) -> None:
    robot, points = egg(), surface(rng)
    (capsule,) = [one for one in robot.capsules() if one.link == "egg"]
    line = capsule.end - capsule.start
    nearest = capsule.start + np.clip((points - capsule.start) @ line / (line @ line), 0, 1)[:, None] * line
    assert np.linalg.norm(points - nearest, axis=1).max() <= capsule.radius + 1e-9
    assert capsule.radius < 0.25
    balls = robot.spheres(tolerance=0.04)
    own = balls.link_index == balls.links.index("egg")
    gaps = np.linalg.norm(points[:, None] - balls.centers[own], axis=2) - balls.radii[own]
    assert gaps.min(axis=1).max() <= 1e-9


def test_distances_and_pictures() -> None:
    robot = egg()
    scene = hc.Scene()
    scene.add("ball", hc.Sphere(0.1), pose=[0, 0.5, 1])
    q = robot.neutral()
    q[2] = 1.0
    assert_allclose(robot.distance(q, scene), 0.2, atol=0.005)
    drawn = next(one for one in drawing.collision_parts(robot) if one.body == 0)
    assert_allclose(np.abs(drawn.triangles.vertices).max(axis=0), RADII, atol=1e-3)


def test_it_rests_on_the_ground_as_in_mujoco() -> None:
    """On its flattest side, to the size of the polytope."""
    robot = egg()
    q = robot.neutral()
    q[:3], q[3:7] = (0, 0, 0.11), (np.cos(np.pi / 4), 0, np.sin(np.pi / 4), 0)
    fall = hc.simulate(robot, q, duration=1.5, dt=1e-3, ground=hc.Ground(), contacts="collision")
    assert_allclose(fall.q[-1][2], 0.1, atol=0.004)
