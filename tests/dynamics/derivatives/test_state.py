"""Derivatives of the dynamics by recursion: equal to algorithmic ones, and to Pinocchio's."""

from __future__ import annotations

from importlib.resources import as_file, files

import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from helicoid import Robot
from random_trees import assert_close, fewer, robots, seeds, state

pin = pytest.importorskip("pinocchio")


@fewer
@given(robots(), seeds)
def test_inverse_dynamics(robot: Robot, seed: int) -> None:
    """∂τ/∂q, ∂τ/∂v and M with friction, gravity and armature."""
    q, v, a = state(robot, seed)
    variant = robot.inverse_dynamics.with_options(friction=True)
    found = robot.inverse_dynamics_derivatives(q, v, a, friction=True)
    for exact, expected in zip(found, variant.jacobian()(q, v, a), strict=True):
        assert_close(exact, expected, scale=1.0)


@fewer
@given(robots(max_bodies=4), seeds)
def test_forward_dynamics(robot: Robot, seed: int) -> None:
    """∂a/∂q, ∂a/∂v and M⁻¹ with friction, gravity and armature."""
    q, v, tau = state(robot, seed)
    variant = robot.forward_dynamics.with_options(friction=True)
    found = robot.forward_dynamics_derivatives(q, v, tau, friction=True)
    stiffness = np.linalg.cond(robot.mass_matrix(q))
    for exact, expected in zip(found, variant.jacobian()(q, v, tau), strict=True):
        assert_close(exact, expected, 1e-14 * max(stiffness, 1e4), scale=1.0)


@fewer
@given(robots(max_bodies=2, floating=False), seeds)
def test_second_derivatives(robot: Robot, seed: int) -> None:
    """Of both dynamics, friction included: algorithmic derivatives of the first ones."""
    q, v, a = state(robot, seed)
    first = robot.inverse_dynamics_derivatives.with_options(friction=True).jacobian("q", "v")(q, v, a)
    found = robot.inverse_dynamics_second_derivatives(q, v, a, friction=True)
    expected = first.ddtau_dq_dq, first.ddtau_dq_dv, first.ddtau_dv_dv, first.dM_dq
    for exact, algorithmic in zip(found, expected, strict=True):
        assert_close(exact, algorithmic, scale=1.0)
    first = robot.forward_dynamics_derivatives.with_options(friction=True).jacobian("q", "v")(q, v, a)
    found = robot.forward_dynamics_second_derivatives(q, v, a, friction=True)
    expected = first.dda_dq_dq, first.dda_dq_dv, first.dda_dv_dv, first.dM_inverse_dq
    stiffness = np.linalg.cond(robot.mass_matrix(q))
    for exact, algorithmic in zip(found, expected, strict=True):
        assert_close(exact, algorithmic, 1e-13 * max(stiffness, 1e4), scale=1.0)


@pytest.mark.slow
def test_second_derivatives_are_symmetric_for_coordinates() -> None:
    """Where v = q̇ the order of differentiation does not matter."""
    robot = hc.load("ur5")
    found = robot.inverse_dynamics_second_derivatives(*state(robot, 2))
    for tensor in (found.d2tau_dqdq, found.d2tau_dvdv):
        assert_close(tensor, tensor.transpose(0, 2, 1))
    M_changes = found.dM_dq
    assert_close(M_changes, M_changes.transpose(1, 0, 2))


@fewer
@given(robots(max_bodies=2), seeds)
def test_parametric(robot: Robot, seed: int) -> None:
    """With its nominal parameters a parametric robot has the same derivatives."""
    q, v, a = state(robot, seed)
    flexible = robot.parametric("inertia", "friction", "armature", "gravity")
    theta = flexible.parameters.values
    for name in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        fixed = getattr(robot, name)(q, v, a, friction=True)
        for found, expected in zip(getattr(flexible, name)(q, v, a, theta), fixed, strict=True):
            assert_close(found, expected, 1e-9, scale=1.0)
    inertial = robot.parametric("inertia")
    pi = inertial.parameters.values
    assert_close(inertial.christoffel_symbols(q, pi), robot.christoffel_symbols(q), scale=1.0)
    assert_close(inertial.closed_form(q, v, pi).C, robot.closed_form(q, v).C, scale=1.0)


@pytest.mark.parametrize(
    ("name", "base"),
    [
        pytest.param("ur5", "fixed", marks=pytest.mark.slow),
        ("ur5", "floating"),
        ("panda", "fixed"),
        pytest.param("panda", "floating", marks=pytest.mark.slow),
        pytest.param("kuka_lwr4", "fixed", marks=pytest.mark.slow),
        pytest.param("snake", "fixed", marks=pytest.mark.slow),
        pytest.param("quadruped", "floating", marks=pytest.mark.slow),
    ],
)
def test_pinocchio(name: str, base: str) -> None:
    """computeRNEADerivatives and computeABADerivatives; Pinocchio's free flyer has linear parts first."""
    robot = hc.load(name, base=base)  # type: ignore[arg-type]
    with as_file(files("helicoid.model.bundled") / f"{name}.urdf") as path:
        root = [pin.JointModelFreeFlyer()] if base == "floating" else []
        model = pin.buildModelFromUrdf(str(path), *root)
    data = model.createData()
    q, v, a = state(robot, 11)
    ours = [robot.joint_names.index(joint) for joint in list(model.names)[1 + len(root) :]]
    offset = len(root)
    order = [3, 4, 5, 0, 1, 2] * offset + [6 * offset + k - offset for k in ours]
    joints = [7 * offset + k - offset for k in ours]
    q_pin = q[[0, 1, 2, 4, 5, 6, 3] * offset + joints]
    back = np.argsort(order)
    wanted = pin.computeRNEADerivatives(model, data, q_pin, v[order], a[order])
    for exact, peer in zip(robot.inverse_dynamics_derivatives(q, v, a)[:2], wanted[:2], strict=True):
        assert_close(exact, peer[back][:, back], 1e-9, scale=1.0)
    tau = robot.inverse_dynamics(q, v, a)
    wanted = pin.computeABADerivatives(model, data, q_pin, v[order], tau[order])
    for exact, peer in zip(robot.forward_dynamics_derivatives(q, v, tau), wanted, strict=True):
        full = peer if peer is not wanted[2] else np.triu(peer) + np.triu(peer, 1).T
        assert_close(exact, full[back][:, back], 1e-9, scale=1.0)
