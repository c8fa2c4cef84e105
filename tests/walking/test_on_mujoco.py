"""Quadrupeds walk in MuJoCo and in our simulation: a wrong mass, little friction, a push from any side."""

from __future__ import annotations

import importlib.metadata
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import helicoid as hc
from helicoid.walking import Walker

try:
    importlib.metadata.files("example-robot-data")
except importlib.metadata.PackageNotFoundError:
    pytest.skip("the robots are part of example-robot-data", allow_module_level=True)

from benchmarks.walking.task import Episode, Plant, run, walker

pytest.importorskip("mujoco")
pytestmark = [pytest.mark.slow, pytest.mark.needs_compiler]


@pytest.fixture(scope="module", params=["a1", "quadruped"])
def dog(request: pytest.FixtureRequest) -> Walker:
    return walker(request.param)


# `python -m benchmarks.walking` takes twenty seeds in each.
@pytest.mark.parametrize(("plant", "seed"), [("mujoco", 0), ("helicoid", 1), ("mujoco", 2)])
def test_ten_metres_a_turn_and_a_stop(plant: Plant, seed: int, dog: Walker) -> None:
    assert run(Episode(dog, seed), plant) == "walked"


@pytest.mark.parametrize("plant", ["mujoco", "helicoid"])
def test_noise_and_plans_that_take_their_time(plant: Plant) -> None:
    late = walker("quadruped", plan_delay=0.016)
    assert run(Episode(late, 1, noise=1e-3), plant) == "walked"


@pytest.mark.parametrize("share", [1.0, 0.1, 0.05])
def test_light_shanks_stand_or_the_status_says_so(share: float, tmp_path: Path) -> None:
    """MuJoCo's default contacts let light feet creep apart: the trunk keeps its height, or it is not ok."""
    from benchmarks.walking.mujoco_ground import MuJoCoGround, balls

    hc.load("quadruped").to_urdf(tmp_path / "light.urdf")
    tree = ElementTree.parse(tmp_path / "light.urdf")
    for link in tree.iter("link"):
        inertial = link.find("inertial")
        if inertial is None or not link.attrib["name"].endswith(("calf", "foot")):
            continue
        for element, name in [
            ("mass", "value"),
            *(("inertia", f"i{one}") for one in ("xx", "yy", "zz", "xy", "xz", "yz")),
        ]:
            found = inertial.find(element)
            assert found is not None
            found.set(name, repr(share * float(found.attrib[name])))
    tree.write(tmp_path / "light.urdf")
    robot = hc.load(str(tmp_path / "light.urdf"), base="floating")
    q = robot.neutral()
    q[7:] = np.tile([0.0, 0.8, -1.6], 4)
    dog = Walker(robot, q, foot_radius=0.02)
    ground = MuJoCoGround(robot, dog.posture, balls(dog.gait.feet, 0.02), tmp_path, 0.6, 1.05)
    for _ in range(2000):
        q, v = ground.state()
        ground.hold(dog.step(q, v), dog.dt)
    stands = abs(q[2] / dog.height - 1) < 0.02
    assert dog.ok == stands and (stands or "feet have slid" in dog.message)
    assert stands or share < 0.1
