"""A scene of planes and height fields as the ground of a simulation."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.geometry import so3
from helicoid.simulation.ground import as_grounds


def test_planes_and_fields_are_grounds_at_their_poses() -> None:
    scene = hc.Scene()
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = so3.exp([0.3, 0, 0]), [0.0, 1.0, 0.5]
    scene.add("slope", hc.Plane([0, 0, 1], 0.1), T)
    heights = np.arange(12.0).reshape(3, 4) / 10
    scene.add("hill", hc.HeightField(heights, (0.5, 0.4), origin=(1.0, 2.0)), [0.1, 0.2, 0.3])
    slope, hill = as_grounds(scene)
    normal = T[:3, 2]
    np.testing.assert_allclose(slope.normal, normal, atol=1e-12)
    assert slope.height == pytest.approx(0.1 + normal @ T[:3, 3])
    assert hill.height_at(1.1, 2.2) == pytest.approx(0.3)
    assert hill.height_at(1.1 + 1.5, 2.2 + 0.8) == pytest.approx(0.3 + 1.1)


@pytest.mark.parametrize("shape", [hc.Box([1, 1, 1]), None])
def test_other_scenes_are_reported(shape: hc.Box | None) -> None:
    scene = hc.Scene()
    if shape is not None:
        scene.add("box", shape)
    with pytest.raises(hc.HelicoidError, match="'box' \\(box\\) cannot be touched" if shape else "no plane"):
        as_grounds(scene)


@pytest.mark.needs_compiler
def test_a_ball_rests_on_the_floor_of_a_scene() -> None:
    robot = hc.load(
        '<robot name="ball"><link name="ball"><inertial><mass value="1"/><inertia ixx="0.004" iyy="0.004" '
        'izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>',
        base="floating",
    )
    scene = hc.Scene()
    scene.add("floor", hc.Plane(), [0, 0, 0.2])
    q0 = np.array([0, 0, 0.35, 1, 0, 0, 0])
    contacts = [hc.ContactPoint("ball", radius=0.1)]
    motion = hc.simulate(robot, q0, np.zeros(6), 0.5, ground=scene, contacts=contacts)
    assert motion.q[-1, 2] == pytest.approx(0.3, abs=1e-3)
