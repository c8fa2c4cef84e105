"""Regressors: linear in named parameters, and equal to what they stand for."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from helicoid import Robot
from helicoid.dynamics.physics import nominal
from helicoid.dynamics.recursions.regressor import slotine_li_products
from helicoid.errors import InputError
from random_trees import assert_close, few, fewer, robots, seeds, state


def armature(robot: Robot) -> np.ndarray:
    return np.asarray(robot.parametric("armature").parameters.values)


@few
@given(robots(), seeds)
def test_torque(robot: Robot, seed: int) -> None:
    """Y π with the armatures' and friction's own regressors is the torque."""
    q, v, a = state(robot, seed)
    pi = robot.parameters.values
    J = armature(robot)
    rigid = robot.regressor(q, v, a) @ pi + robot.armature_regressor(a) @ J
    assert_close(rigid, robot.inverse_dynamics(q, v, a), scale=1.0)
    coefficients = robot.parametric("friction").parameters
    names = robot.friction_regressor.columns
    assert names[: len(coefficients.names)] == coefficients.names
    friction_torque = robot.friction_regressor(v) @ np.concatenate([coefficients.values, np.zeros(robot.nv)])
    assert_close(rigid + friction_torque, robot.inverse_dynamics(q, v, a, friction=True), scale=1.0)


@few
@given(robots(), seeds)
def test_slotine_li(robot: Robot, seed: int) -> None:
    """Y π = M a_r + C v_r + g; with v_r = v and a_r = a it is the torque regressor."""
    q, v, a = state(robot, seed)
    v_r, a_r = np.random.default_rng(seed).normal(size=(2, robot.nv))
    pi = robot.parameters.values
    M = robot.mass_matrix(q) - np.diag(armature(robot))
    expected = M @ a_r + robot.coriolis_matrix(q, v) @ v_r + robot.gravity(q)
    assert_close(robot.slotine_li_regressor(q, v, v_r, a_r) @ pi, expected, scale=10.0)
    assert_close(robot.slotine_li_regressor(q, v, v, a), robot.regressor(q, v, a), scale=1.0)


@fewer
@given(robots(), seeds)
def test_slotine_li_times_vectors(robot: Robot, seed: int) -> None:
    """Y π and Yᵀ s without Y, for any π."""
    q, v, _ = state(robot, seed)
    v_r, a_r, s = np.random.default_rng(seed).normal(size=(3, robot.nv))
    pi = np.random.default_rng(seed).normal(size=10 * robot.n_bodies)
    given = (ca.SX(ca.DM(x)) for x in (q, v, v_r, a_r, pi, s))
    products = slotine_li_products(robot.model, nominal(robot.model), *given)
    Y = robot.slotine_li_regressor(q, v, v_r, a_r)
    for product, expected in zip(products, (Y @ pi, Y.T @ s), strict=True):
        assert_close(ca.evalf(product).full().ravel(), expected, scale=10.0)


@few
@given(robots(), seeds)
def test_without_acceleration(robot: Robot, seed: int) -> None:
    """Momentum, its rate, energy and power."""
    q, v, a = state(robot, seed)
    pi, J = robot.parameters.values, armature(robot)
    momentum = robot.momentum_regressor(q, v) @ pi
    assert_close(momentum + J * v, robot.mass_matrix(q) @ v, scale=1.0)
    energy = robot.kinetic_energy(q, v) + robot.potential_energy(q)
    assert_close(robot.energy_regressor(q, v) @ pi + J @ v**2 / 2, energy, scale=10.0)
    tau = robot.inverse_dynamics(q, v, a)
    power = robot.power_regressor(q, v, a) @ pi + J @ (v * a)
    assert_close(power, v @ tau, scale=float(np.abs(v) @ np.abs(tau)))
    at_rest = robot.momentum_rate_regressor(q, v) @ pi
    expected = robot.gravity(q) - robot.coriolis_matrix(q, v).T @ v
    assert_close(at_rest, expected, scale=10.0)


@fewer
@given(robots(max_bodies=3), seeds)
def test_momentum_rate(robot: Robot, seed: int) -> None:
    """τ = d/dt (Y_p π) + Y π along a motion, for any parameters: the identity is one of matrices."""
    q, v, a = state(robot, seed)
    rate = robot.momentum_regressor.time_derivative()(q, v, a)
    assert_close(rate + robot.momentum_rate_regressor(q, v), robot.regressor(q, v, a), scale=1.0)


@fewer
@given(robots(max_bodies=3), seeds)
def test_columns(robot: Robot, seed: int) -> None:
    """Each column is the torque of a robot that has 1 of that parameter and nothing else."""
    q, v, a = state(robot, seed)
    flexible = robot.parametric("inertia")
    assert robot.regressor.columns == flexible.parameters.names
    Y = flexible.inverse_dynamics.jacobian("theta")(q, v, a, flexible.parameters.values)
    assert_close(robot.regressor(q, v, a), Y, scale=1.0)


def test_pinocchio() -> None:
    """The torque regressor of a Panda; Pinocchio orders a body's inertia xx, xy, yy, xz, yz, zz."""
    pin = pytest.importorskip("pinocchio")
    from importlib.resources import as_file, files

    robot = hc.load("panda")
    with as_file(files("helicoid.model.bundled") / "panda.urdf") as path:
        model = pin.buildModelFromUrdf(str(path))
    q, v, a = state(robot, 4)
    peer = pin.computeJointTorqueRegressor(model, model.createData(), q, v, a)
    ours = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
    columns = np.concatenate([10 * k + np.array(ours) for k in range(robot.n_bodies)])
    assert_close(robot.regressor(q, v, a)[:, columns], peer)


def test_columns_of_what_is_no_regressor() -> None:
    with pytest.raises(InputError, match="gravity is no regressor"):
        _ = hc.load("double_pendulum").gravity.columns


def test_chosen_columns(rng: np.random.Generator) -> None:
    """`parameters=` selects columns by name, in order, in each regressor."""
    robot = hc.load("ur5")
    q, v, a = state(robot, rng)
    names = ("wrist_3_link.m", "upper_arm_link.hx")
    for function, arguments in (
        (robot.regressor, (q, v, a)),
        (robot.energy_regressor, (q, v)),
        (robot.wrench_regressor("tool0"), (q, v, a)),
        (robot.closed_form_slotine_li_regressor, (q, v, v, a)),
    ):
        places = [function.columns.index(name) for name in names]
        assert_close(function(*arguments, parameters=names), function(*arguments)[..., places])
        assert function.with_options(parameters=names).columns == names
    assert robot.regressor.with_options(parameters=["wrist_3_link.mass"]).columns == names[:1]
    with pytest.raises(InputError, match=r"no column 'wrist_3_link.weight'; near it: wrist_3_link"):
        robot.regressor(q, v, a, parameters=["wrist_3_link.weight"])
    with pytest.raises(InputError, match="each column once"):
        robot.regressor(q, v, a, parameters=[names[0], names[0]])


@fewer
@given(robots(max_bodies=4), seeds)
def test_closed_form_parameters(robot: Robot, seed: int) -> None:
    """∂C/∂π π = C and Y π = M a_r + C v_r + g, for the C of the closed form."""
    q, v, a_r = state(robot, seed)
    v_r, pi = np.random.default_rng(seed).normal(size=robot.nv), robot.parameters.values
    M, C, g = robot.closed_form(q, v)
    assert_close(robot.closed_form_coriolis_parameter_derivatives(q, v) @ pi, C, scale=10.0)
    expected = (M - np.diag(armature(robot))) @ a_r + C @ v_r + g
    assert_close(robot.closed_form_slotine_li_regressor(q, v, v_r, a_r) @ pi, expected, scale=10.0)
