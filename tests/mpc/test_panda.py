"""The task of the benchmark: the costs that every solver that converges on it finds."""

from __future__ import annotations

import importlib.metadata

import numpy as np
import pytest

from helicoid.mpc import Controller

try:
    importlib.metadata.files("example-robot-data")
except importlib.metadata.PackageNotFoundError:
    pytest.skip("the Panda with its hand is part of example-robot-data", allow_module_level=True)

from benchmarks.mpc import NOISE, Q0, panda, task


@pytest.mark.parametrize(
    ("limits", "cost"),
    [
        pytest.param("none", 1.41722, marks=pytest.mark.slow),
        pytest.param("torque", 1.42606, marks=pytest.mark.slow),
        pytest.param("all", 1.44014, marks=pytest.mark.slow),
    ],
)
def test_cost_and_warm_steps(limits: str, cost: float, rng: np.random.Generator) -> None:
    problem = task(panda(), limits)
    plan = problem.solve(Q0)
    assert plan.success and plan.cost == pytest.approx(cost, abs=1e-5)
    controller = Controller(problem)
    controller.step(Q0, np.zeros(7))
    for _ in range(50):
        x = controller._engine["x"][1] + NOISE * rng.normal(size=14)
        tau = controller.step(x[:7].copy(), x[7:].copy())
        assert controller.ok, controller.message
        assert limits == "none" or np.all(np.abs(tau) <= 0.45 * problem.robot.limits.effort + 1e-9)  # type: ignore[union-attr]
    assert controller.plan.violation < 1e-3
