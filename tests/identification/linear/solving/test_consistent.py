from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic_logs import arm, recording, truth

from helicoid import InputError, Robot
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.stack import Stack
from helicoid.identification.linear.solving.consistent import Bounds, consistent
from helicoid.identification.linear.solving.estimators import deviation
from helicoid.identification.linear.solving.whitened_coordinates import whitened_coordinates
from helicoid.identification.linear.weighting import weighted_samples
from helicoid.identification.logs.preparation import prepare
from helicoid.model.inertia import Inertia
from random_trees import fewest, robots


def assert_consistent(regression: Regression, x: np.ndarray) -> None:
    for start in range(0, 10 * regression.robot.n_bodies, 10):
        body = Inertia.from_parameters(x[start : start + 10])
        assert body.mass > 0 and not body.doubts()
        assert np.linalg.eigvalsh(body.pseudo)[0] > 0
    for group in ("viscous", "coulomb", "armature"):
        assert np.all(regression.parameters.of(x, group) >= 0)


@fewest
@given(robots(max_bodies=3, mimics=False), st.integers(0, 10_000), st.sampled_from([1e-3, 1.0, 1e3]))
def test_whatever_the_data_bodies_can_have_the_result(robot: Robot, seed: int, strength: float) -> None:
    rng = np.random.default_rng(seed)
    regression = Regression(robot)
    q = np.array([robot.random(rng) for _ in range(30)])
    v, a, y = rng.normal(size=(3, 30, robot.nv)) * np.array([1.0, 1.0, 50.0])[:, None, None]
    factor = Stack.empty(regression).added(regression.rows(q, v, a), y).combined()
    x = consistent(regression, factor, whitened_coordinates(regression, factor), strength)
    assert_consistent(regression, x)


IDENTITY = np.array([1.0, 0, 0, 0, 1, 0, 0, 1, 0, 1])  # as whitened elements: the reference body itself


def problem() -> tuple[Regression, object, object]:
    robot = arm()
    log = recording(truth(robot, 3), 4, noise=2.0, seconds=5.0)
    regression = Regression(robot)
    data = weighted_samples(regression, prepare(robot, log)[0])
    return regression, data.whole.combined(data.weights), data.coordinates


def test_the_solution_is_that_of_an_independent_modelling_tool() -> None:
    cp = pytest.importorskip("cvxpy")
    regression, factor, own = problem()
    ours = consistent(regression, factor, own, 1.0)
    u = cp.Variable(len(own.origin))
    x = own.origin + own.T @ u
    constraints = [x[30:36] >= 0, x[39:42] >= 0]
    units = np.column_stack([Inertia.from_parameters(unit).pseudo.ravel() for unit in np.eye(10)])
    for start in own.bodies:
        block = own.T[start : start + 10, start : start + 10]
        least = 1e-3 * Inertia.from_parameters(block @ IDENTITY).pseudo
        constraints.append(cp.reshape(units @ x[start : start + 10], (4, 4), order="C") - least >> 0)
    prior = own.inertial + own.joint_prior
    regularisation = cp.sum_squares(cp.multiply(prior, u))
    task = cp.Problem(cp.Minimize(cp.sum_squares(factor.R @ x - factor.z) + regularisation), constraints)
    task.solve(solver=cp.CLARABEL)

    def cost(values: np.ndarray) -> float:
        deviation = np.linalg.solve(own.T, values - own.origin) * prior
        return float(np.sum((factor.R @ values - factor.z) ** 2) + deviation @ deviation)

    assert cost(ours) == pytest.approx(task.value, rel=1e-5)


def test_inactive_constraints_change_nothing() -> None:
    robot = arm()
    log = recording(truth(robot, 3, 0.05), 4, seconds=5.0)
    regression = Regression(robot)
    data = weighted_samples(regression, prepare(robot, log)[0])
    factor = data.whole.combined(np.ones(3))
    found = consistent(regression, factor, data.coordinates, 1e-6)
    free = data.coordinates.origin + data.coordinates.T @ deviation(factor, data.coordinates, 1e-6)
    predicted, expected = factor.R @ found, factor.R @ free
    assert np.linalg.norm(predicted - expected) < 1e-3 * np.linalg.norm(expected)


def test_bounds_are_kept() -> None:
    regression, factor, own = problem()
    names = [body.name for body in regression.robot.model.bodies]
    bounds = Bounds(mass={names[1]: (9.0, 9.5)}, com={names[2]: ([-0.01, -0.02, 0.0], [0.01, 0.0, 0.1])})
    x = consistent(regression, factor, own, 1.0, bounds)
    assert_consistent(regression, x)
    assert 9.0 - 1e-5 < x[10] < 9.5 + 1e-5
    com = x[21:24] / x[20]
    assert np.all(com >= [-0.0101, -0.0201, -1e-4]) and np.all(com <= [0.0101, 1e-4, 0.1001])
    with pytest.raises(InputError, match="no moving body is called 'hand'"):
        consistent(regression, factor, own, 1.0, Bounds(mass={"hand": (0, 1)}))


def test_a_log_of_the_described_robot_itself_gives_it_back() -> None:
    robot = arm()
    rng = np.random.default_rng(5)
    q, v, a = rng.normal(size=(3, 200, robot.nv))
    regression = Regression(robot, groups=("inertia",))
    stack = Stack.empty(regression).added(regression.rows(q, v, a), robot.inverse_dynamics(q, v, a))
    factor = stack.combined()
    own = whitened_coordinates(regression, factor)
    x = consistent(regression, factor, own, 1.0)
    np.testing.assert_allclose(x, own.origin, atol=1e-6 * np.abs(own.origin).max())
