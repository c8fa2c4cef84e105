"""Quadrupeds trot and jump: what their plans must be, on robots that differ, and a controller on the way."""

from __future__ import annotations

import functools
import importlib.metadata

import numpy as np
import pytest

import helicoid as hc
from helicoid.mpc import Controller, Phase, Plan, Problem

try:
    importlib.metadata.files("example-robot-data")
except importlib.metadata.PackageNotFoundError:
    pytest.skip("real quadrupeds are part of example-robot-data", allow_module_level=True)

from benchmarks.mpc_trot import QUADRUPEDS, standing, trot, walking

from mpc.legged import check_plan, integrated

pytestmark = [pytest.mark.slow, pytest.mark.needs_compiler]
COUNTS = {"trot": (4, 8, 8, 4), "jump": (10, 8, 6)}  # intervals of the phases
robots = pytest.mark.parametrize("name", ["quadruped", "a1", "solo12"])


@functools.cache
def problem(name: str) -> Problem:
    """24 intervals of 25 ms; what it does is said by its phases."""
    return walking(name, intervals=24, cyclic=False)


def phases(name: str, motion: str) -> list[Phase]:
    feet = QUADRUPEDS[name].feet
    stands = {"trot": (feet, feet[:2], feet[2:], feet), "jump": (feet, (), feet)}[motion]
    return [Phase(0.025 * count, one) for count, one in zip(COUNTS[motion], stands, strict=True)]


def solved(name: str, motion: str) -> tuple[hc.Robot, Plan, dict[str, np.ndarray]]:
    robot, q = standing(name)
    one = problem(name)
    one.set(phases=phases(name, motion))
    plan = one.solve(q)
    assert plan.success, plan
    stands = {
        foot: np.repeat([foot in phase.contacts for phase in phases(name, motion)], COUNTS[motion])
        for foot in QUADRUPEDS[name].feet
    }
    return robot, plan, stands


@robots
@pytest.mark.parametrize("motion", COUNTS)
def test_a_plan_is_mechanics(name: str, motion: str) -> None:
    """Forces on the ground and inside their cones, feet that stand still, nothing pulls at the trunk."""
    robot, plan, stands = solved(name, motion)
    assert plan.q is not None
    radius = QUADRUPEDS[name].radius
    check_plan(robot, plan, stands, radius=radius)
    errors = np.array([integrated(robot, plan, radius, k) for k in range(24)])
    # Of the trunk, after an interval of forward dynamics: a few percent of what a jump does in 25 ms.
    place, velocity = (1e-3, 0.05) if motion == "trot" else (5e-3, 0.5)
    assert np.abs(errors[:, :6]).max() < place
    assert np.abs(errors[:, 18:24]).max() < velocity
    if motion == "trot":
        assert plan.q[-1, 0] > 0.1  # on its way
        heights = [np.asarray(robot.pose(foot)(plan.q))[:, 2, 3].max() for foot in stands]
        assert min(heights) > 0.01 + radius  # every foot was lifted
    else:
        flown = np.asarray(robot.center_of_mass(plan.q))[10:19]
        np.testing.assert_allclose(np.diff(flown, 2, axis=0)[:, 2] / 0.025**2, -9.81, rtol=0.05)


def test_ipopt_finds_the_same_trot() -> None:
    """On a short grid: the program is the same, its derivatives are others."""
    _, q = standing("quadruped")
    one = walking("quadruped", intervals=8, cyclic=False)
    one.set(phases=[Phase(0.1, QUADRUPEDS["quadruped"].feet), Phase(1.0, QUADRUPEDS["quadruped"].feet[:2])])
    ours, theirs = one.solve(q), one.solve(q, solver="ipopt")
    assert ours.success and theirs.success, (ours, theirs)
    assert ours.cost == pytest.approx(theirs.cost, rel=1e-4)


@robots
def test_a_controller_trots(name: str, rng: np.random.Generator) -> None:
    """Two strides from standing, with noise on what is measured: it moves forward, level, and says ok."""
    robot, q = standing(name)
    one = problem(name)
    one.set(phases=[Phase(0.2, QUADRUPEDS[name].feet), *2 * trot(name), Phase(np.inf, QUADRUPEDS[name].feet)])
    controller, v, fine = Controller(one, iterations=2), np.zeros(robot.nv), []
    height = q[2]
    for _ in range(40):
        controller.step(q, v)
        fine.append(controller.ok)
        plan = controller.plan
        assert plan.q is not None and plan.v is not None
        q = robot.integrate(plan.q[1], 1e-3 * rng.normal(size=robot.nv))
        v = plan.v[1] + 1e-3 * rng.normal(size=robot.nv)
    assert np.mean(fine) > 0.9
    assert q[0] > 0.2 and abs(q[2] - height) < 0.03 and abs(q[1]) < 0.1
