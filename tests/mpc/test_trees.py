"""Robots of any shape: all joint types, branches, mimics, floating bases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import helicoid as hc
from helicoid.mpc import Problem
from random_trees import robots


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck))
@given(
    robots(max_bodies=3),
    st.sampled_from(["inverse_dynamics", "forward_dynamics"]),
    st.integers(0, 2**16),
)
def test_small_motions_of_random_trees_agree_with_ipopt(robot: hc.Robot, formulation: str, seed: int) -> None:
    """Near the start, where there is one optimum: our steps in the tangent space, theirs in coordinates."""
    assume(formulation == "inverse_dynamics" or robot.selection_matrix.size > 0)  # else there is no control
    rng = np.random.default_rng(seed)
    q = robot.random(rng)
    target = robot.integrate(q, 0.1 * rng.normal(size=robot.nv))
    problem = Problem(robot, horizon=4, dt=0.02, formulation=formulation)  # type: ignore[arg-type]
    problem.add_posture_cost(target, 10.0, 100.0)
    problem.add_velocity_cost(1.0, 1.0)
    problem.add_control_cost(1e-2)
    ours = problem.solve(q, 0.1 * rng.normal(size=robot.nv), max_iterations=400)
    theirs = problem.solve(q, ours.x[0, robot.nq :], solver="ipopt", guess=ours)
    assert ours.success and theirs.success, (ours, theirs)
    assert ours.cost == pytest.approx(theirs.cost, rel=1e-4)
