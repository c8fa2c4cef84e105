"""The capsules of whole robots: which there are, which could meet, how their distances change."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.errors import InputError
from helicoid.robot.collision.pairs import distances
from robot.collision.arms import capsule_arm, collision, urdf
from robot.collision.test_shapes import by_coal


def test_they_are_those_of_the_description() -> None:
    capsules = capsule_arm().capsules()
    assert [one.link for one in capsules] == ["link_0", "link_1", "link_2", "link_3"]
    np.testing.assert_allclose([capsules[1].start, capsules[1].end], [[0, 0, 0.05], [0, 0, 0.35]])
    assert capsules.excess == pytest.approx(0, abs=1e-12) and capsules[0].length == 0
    assert len(capsules.of("link_2")) == 1 and capsule_arm().capsules() is not capsules


def test_they_print_as_a_table() -> None:
    capsules = hc.load("planar_2r").capsules("visual")
    lines = repr(capsules).splitlines()
    assert len(lines) == len(capsules) + 2 and "larger than their shapes" in lines[0]
    assert all(word in lines[1] for word in ("link", "around", "radius (cm)", "length (cm)", "excess"))
    assert "<table" in capsules._repr_html_()


def test_a_cylinder_between_spheres_is_a_capsule() -> None:
    ball, rod = '<sphere radius="0.05"/>', '<cylinder radius="0.05" length="0.3"/>'
    stated = collision(rod) + collision(ball, 0.05) + collision(ball, 0.35)
    one = hc.load(urdf([stated, stated])).capsules()
    assert len(one) == 2 and one[0].of == "capsule" and one.excess == pytest.approx(0, abs=1e-12)
    open_end = hc.load(urdf([collision(rod) + collision(ball, 0.05)])).capsules()
    assert all(shape.of != "capsule" for shape in open_end)


def test_missing_geometry_is_reported() -> None:
    with pytest.raises(InputError, match=r"'panda' has no collision geometry .*; robot.capsules\('visual'\)"):
        hc.load("panda").capsules()
    with pytest.raises(InputError, match="'collision' or to 'visual'"):
        hc.load("panda").capsules("inertia")  # type: ignore[arg-type]
    bare = hc.load(urdf(["", ""]))
    with pytest.raises(InputError, match="no visual geometry"):
        bare.capsules("visual")
    meshes = hc.load(urdf([collision('<mesh filename="package://arms/a.stl"/>')]))
    with pytest.raises(InputError, match=r"a\.stl is not found; give its folder: hc\.load.*'arms'"):
        meshes.capsules()


def test_neighbours_and_what_always_touches_are_no_pairs() -> None:
    robot = capsule_arm(4)
    capsules = robot.capsules()
    names = [{capsules[i].link, capsules[j].link} for i, j in capsules.pairs]
    assert {"link_0", "link_1"} not in names and {"link_0", "link_2"} in names and len(names) == 6
    fat = collision('<sphere radius="0.5"/>')
    touching = hc.load(urdf([fat, fat, fat])).capsules()
    assert len(touching.pairs) == 1 and touching.could_meet() == ()


def test_what_cannot_come_near_is_left_out() -> None:
    robot = hc.load(urdf([collision('<sphere radius="0.05"/>', 0.0)] * 4))
    capsules = robot.capsules()
    found = [(capsules[i].link, capsules[j].link) for i, j in capsules.could_meet(0.02)]
    # The ball of link 2 turns about that of link 1, 0.4 m away; the base is 0.1 m below.
    assert found == [("link_0", "link_3"), ("link_1", "link_3")]
    reach = np.array([capsules.distances(q) for q in robot.random(1, 3000)])
    assert reach[:, capsules.pairs.index((0, 2))].min() > 0.02


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_distances_are_those_of_coal(rng: np.random.Generator, base: str) -> None:
    robot = hc.load(
        urdf([collision('<capsule radius="0.05" length="0.3"/>')] * 4, axis="0.6 0.8 0"), base=base
    )  # type: ignore[arg-type]
    capsules = robot.capsules()
    for q in robot.random(rng, 5):
        placed = []
        for one in capsules:
            T = robot.pose(str(one.link))(q)
            ends = [T[:3, :3] @ np.asarray(end) + T[:3, 3] for end in (one.start, one.end)]
            placed.append((*ends, one.radius))
        theirs = [by_coal(placed[i], placed[j]) for i, j in capsules.pairs]
        np.testing.assert_allclose(capsules.distances(q), theirs, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["arm", "floating", "quadruped"])
def test_rates_are_derivatives(rng: np.random.Generator, name: str) -> None:
    if name == "quadruped":
        robot = hc.load("quadruped", base="floating")
    else:
        rod = collision('<capsule radius="0.05" length="0.3"/>')
        base = "floating" if name == "floating" else "fixed"
        robot = hc.load(urdf([rod] * 4, axis="0.6 0 0.8"), base=base)  # type: ignore[arg-type]
    capsules = robot.capsules("visual" if name == "quadruped" else "collision")
    pairs = capsules.pairs[::5] if name == "quadruped" else capsules.pairs
    q, dv = ca.SX.sym("q", robot.nq), ca.SX.sym("dv", robot.nv)
    _, J = distances(robot.model, q, capsules, pairs)
    moved, _ = distances(robot.model, robot.integrate(q, dv), capsules, pairs)
    both = ca.Function("J", [q, dv], [J, ca.jacobian(moved, dv)])
    for posture in robot.random(rng, 3):
        ours, slope = both(posture, np.zeros(robot.nv))
        np.testing.assert_allclose(np.array(ours), np.array(slope), atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda.urdf", "ur5_robot.urdf", "a1.urdf", "kinova.urdf"])
def test_real_robots(name: str) -> None:
    import warnings
    from importlib.metadata import files

    pytest.importorskip("trimesh")
    path = next(str(file.locate()) for file in files("example-robot-data") or () if file.name == name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = hc.load(path, base="floating" if name == "a1.urdf" else "fixed")
    capsules = robot.capsules()
    assert len(capsules) >= robot.n_bodies / 2 and capsules.excess < 3
    assert np.isfinite(capsules.distances(robot.random(0, 50))).all()
    assert 0 < len(capsules.could_meet()) <= len(capsules.pairs)
