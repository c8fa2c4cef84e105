from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given

from helicoid import InputError, Robot
from helicoid.identification.linear.equations.regression import Regression, default_groups, known_groups
from random_trees import assert_close, fewest, robots, seeds, state


def states(robot: Robot, seed: int, n: int = 3) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return tuple(np.array(column) for column in zip(*(state(robot, rng) for _ in range(n)), strict=True))


@fewest
@given(robots(floating=False), seeds)
def test_described_values_give_the_described_torque(robot: Robot, seed: int) -> None:
    q, v, a = states(robot, seed)
    regression = Regression(robot)
    predicted = regression.predict(regression.parameters.nominal, q, v, a)
    assert_close(predicted, robot.inverse_dynamics(q, v, a, friction=True), scale=1.0)


@fewest
@given(robots(max_bodies=4), seeds)
def test_rows_are_the_regressor_without_what_is_always_zero(robot: Robot, seed: int) -> None:
    q, v, a = states(robot, seed)
    regression = Regression(robot, known_groups())
    Y = regression.regressor(q, v, a)
    for k, (row, on) in enumerate(zip(regression.rows(q, v, a), regression.supports, strict=True)):
        np.testing.assert_array_equal(row, Y[:, k, on])
        assert not np.any(np.delete(Y[:, k], on, axis=1))


@fewest
@given(robots(max_bodies=4, mimics=False, kinds=("revolute", "prismatic", "planar", "spherical")), seeds)
def test_a_joint_bears_its_part_of_the_wrench(robot: Robot, seed: int) -> None:
    q, v, a = states(robot, seed, 1)
    tau = robot.regressor(q, v, a) @ robot.parameters.values
    links = [body.name for body in robot.model.bodies]
    wrenches = Regression(robot, ("inertia",), wrenches=links).predict(robot.parameters.values, q, v, a)
    for i, body in enumerate(robot.model.bodies):
        S = np.array(ca.evalf(ca.SX(body.joint.type.subspace(ca.SX(q[0, body.q])))))
        assert_close(S.T @ wrenches[0, 6 * i : 6 * i + 6], tau[0, body.v], 1e-9, scale=1.0)


@fewest
@given(robots(floating=True, max_bodies=2), seeds)
def test_a_floating_base_has_no_friction(robot: Robot, seed: int) -> None:
    names = Regression(robot).parameters.names
    assert not any(name.startswith("floating_base") for name in names)
    q, v, a = states(robot, seed)
    Y = Regression(robot).regressor(q, v, a)
    assert Y.shape[2] == 10 * robot.n_bodies + 4 * (robot.nv - 6)


def test_unknown_groups_are_refused_by_name() -> None:
    from synthetic_logs import arm

    with pytest.raises(InputError, match="'drag'; there are: inertia, viscous"):
        Regression(arm(), (*default_groups(), "drag"))
