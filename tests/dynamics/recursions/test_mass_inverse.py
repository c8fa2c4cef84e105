"""M⁻¹ times columns, both ways, and the choice between them."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given

import helicoid as hc
from helicoid import Robot
from helicoid.dynamics import physics
from helicoid.dynamics.linear import factor, inverse, solve
from helicoid.dynamics.recursions.crba import mass_matrix
from helicoid.dynamics.recursions.mass_inverse import _ways, times_inverse
from random_trees import assert_close, fewer, robots, seeds, state


@fewer
@given(robots(max_bodies=4), seeds)
def test_articulated_bodies_give_the_inverse(robot: Robot, seed: int) -> None:
    assume(all(body.joint.mimic is None for body in robot.model.bodies))
    model, nominal = robot.model, physics.nominal(robot.model)
    q, B = ca.SX.sym("q", robot.nq), ca.SX.sym("B", robot.nv, 3)
    _, by_articulated_bodies = _ways(model, nominal, q, mass_matrix(model, nominal, q))
    f = ca.Function("f", [q, B], [by_articulated_bodies(B)])
    at, columns = state(robot, seed)[0], np.random.default_rng(seed).normal(size=(robot.nv, 3))
    M = robot.mass_matrix(at)
    found = np.array(f(at, columns)).reshape(robot.nv, 3)
    assert_close(M @ found, columns, 1e-13 * max(1e3, np.linalg.cond(M)), scale=1.0)


@pytest.mark.slow
def test_a_long_chain_takes_articulated_bodies_and_a_short_arm_factors() -> None:
    for name, articulated in (("snake", True), ("ur5", False)):
        model = hc.load(name).model
        nominal = physics.nominal(model)
        q, b = ca.SX.sym("q", model.nq), ca.SX.sym("b", model.nv)
        M = mass_matrix(model, nominal, q)
        chosen = ca.n_nodes(times_inverse(model, nominal, q, M)(b))
        assert (chosen < ca.n_nodes(solve(factor(M), b))) == articulated


@pytest.mark.slow
def test_the_inverse_of_a_long_chain_costs_less_than_by_factors_and_is_symmetric(
    rng: np.random.Generator,
) -> None:
    robot = hc.load("snake")
    q = ca.SX.sym("q", robot.nq)
    by_factors = inverse(mass_matrix(robot.model, physics.nominal(robot.model), q))
    assert robot.mass_matrix_inverse.n_operations < ca.n_nodes(by_factors) / 2
    at = robot.random(rng)
    found = robot.mass_matrix_inverse(at)
    assert np.array_equal(found, found.T)
    assert_close(found, np.linalg.inv(robot.mass_matrix(at)), 1e-11)
