"""Integrators of robots with torques as controls: their orders against a fine simulation, and derivatives."""

from __future__ import annotations

import pickle
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import helicoid as hc
from helicoid.mpc import Problem
from helicoid.mpc.solver.nodes.curvature import second_derivative
from helicoid.mpc.system import System
from mpc.nodes import TREE

Array = np.ndarray
X, U = np.array([0.4, -0.9, 1.1, 0.7]), np.array([1.5, -0.8])


def system(integrator: str, substeps: int = 1) -> System:
    robot = hc.load("double_pendulum")
    options: dict[str, Any] = {"integrator": integrator, "substeps": substeps}
    return Problem(robot, horizon=2, dt=0.1, formulation="forward_dynamics", **options).system


def step_of(one: System) -> ca.Function:
    following = one.resolve([one.following])[0]
    return ca.Function("step", [one.x, one.u, one.constants, one.h], [following])


def error(step: ca.Function, count: int, duration: float = 0.4) -> float:
    """After some time with constant torque, against a simulation to 1e-12."""
    robot = hc.load("double_pendulum")

    def rate(_: float, x: Array) -> Array:
        return np.concatenate([x[2:], np.array(robot.forward_dynamics(x[:2], x[2:], U))])

    exact = solve_ivp(rate, (0, duration), X, rtol=1e-12, atol=1e-12, method="DOP853").y[:, -1]
    x = X
    for _ in range(count):
        x = np.array(step(x, U, np.zeros(2), duration / count)).ravel()
    return float(np.abs(x - exact).max())


@pytest.mark.parametrize(
    ("integrator", "order"), [("rk4", 4.0), ("constant_acceleration", 1.0), ("semi_implicit", 1.0)]
)
def test_order(integrator: str, order: float) -> None:
    step = step_of(system(integrator))
    coarse, fine = error(step, 16), error(step, 32)
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.25)


@pytest.mark.parametrize("integrator", ["rk4", "constant_acceleration", "semi_implicit"])
def test_substeps_are_shorter_steps(integrator: str) -> None:
    one, three = step_of(system(integrator)), step_of(system(integrator, 3))
    x = X
    for _ in range(3):
        x = np.array(one(x, U, np.zeros(2), 0.05)).ravel()
    np.testing.assert_allclose(np.array(three(X, U, np.zeros(2), 0.15)).ravel(), x, rtol=1e-12)


@pytest.mark.parametrize(("integrator", "substeps"), [("rk4", 1), ("semi_implicit", 2)])
def test_derivatives(integrator: str, substeps: int) -> None:
    """Both derivatives, put together from those of the accelerations, against those of the whole step."""
    one = system(integrator, substeps)
    pi = ca.DM([0.3, -1.2, 0.5, 0.8])
    z, whole = ca.vertcat(one.u, one.x), one.resolve([one.following])[0]
    J, H = one.resolve([one.differentiate(one.following), second_derivative(one, ca.dot(pi, one.following))])
    wanted = [ca.jacobian(whole, z), ca.hessian(ca.dot(pi, whole), z)[0]]
    both = ca.Function("both", [one.x, one.u, one.disturbance, one.h], [J, H, *wanted])
    J, H, J_whole, H_whole = (np.array(m) for m in both(X, U, np.array([0.3, -0.2]), 0.1))
    np.testing.assert_allclose(J, J_whole, atol=1e-12)
    np.testing.assert_allclose(H, H_whole, atol=1e-11)


@pytest.mark.slow
def test_a_plan_is_what_the_robot_does() -> None:
    robot = hc.load("double_pendulum")
    options: dict[str, Any] = {"formulation": "forward_dynamics", "integrator": "rk4", "substeps": 2}
    problem = Problem(robot, horizon=10, dt=0.1, **options)
    problem.add_posture_cost([1.0, 0.5], 1.0, 10.0)
    problem.add_velocity_cost(0.1, 1.0)
    problem.add_control_cost(1e-2)
    copy = pickle.loads(pickle.dumps(problem))
    plan, other = copy.solve([0.0, 0.0]), problem.solve([0.0, 0.0], solver="ipopt")
    assert plan.success and plan.cost == pytest.approx(other.cost, rel=1e-6)
    assert plan.q is not None and plan.v is not None

    def rate(_: float, x: Array, tau: Array) -> Array:
        return np.concatenate([x[2:], np.array(robot.forward_dynamics(x[:2], x[2:], tau))])

    x = np.zeros(4)
    for k in range(10):
        x = solve_ivp(rate, (0, 0.1), x, args=(plan.u[k],), rtol=1e-10, atol=1e-10).y[:, -1]
    np.testing.assert_allclose(x, plan.x[-1], atol=1e-3)


def test_what_cannot_be_is_refused() -> None:
    arm, tree = hc.load("planar_2r"), hc.load(TREE, base="floating")
    torques: dict[str, Any] = {"horizon": 2, "dt": 0.1, "formulation": "forward_dynamics"}
    with pytest.raises(hc.InputError, match=r"needs formulation='forward_dynamics'"):
        Problem(arm, horizon=2, dt=0.1, integrator="rk4")
    with pytest.raises(hc.InputError, match=r"substeps=2 needs formulation"):
        Problem(arm, horizon=2, dt=0.1, substeps=2)
    with pytest.raises(hc.InputError, match=r"without quaternions"):
        Problem(tree, **torques, integrator="rk4")
    with pytest.raises(hc.InputError, match=r"duration that is not free"):
        Problem(arm, **torques, integrator="rk4", duration=(0.1, 1.0))
    with pytest.raises(hc.InputError, match=r"'rk4', got 'rk5'"):
        Problem(arm, **torques, integrator="rk5")  # type: ignore[arg-type]
    for wrong in (0, 1.5, True):
        with pytest.raises(hc.InputError, match=r"substeps is an integer"):
            Problem(arm, **torques, substeps=wrong)  # type: ignore[arg-type]
