"""Quadrupeds walk in MuJoCo and in our simulation: a wrong mass, little friction, a push from any side."""

from __future__ import annotations

import importlib.metadata

import pytest

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
