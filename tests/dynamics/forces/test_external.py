"""Wrenches from outside act through the Jacobian of the link that they hit, in either frame."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import helicoid as hc
from helicoid.model.joints import Revolute
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Link
from random_trees import Array, assert_close, fewer, inertia, moving_links, robots, seeds, state

REFERENCES = {"body": "body", "world": "world_aligned", "world_origin": "world"}


@fewer
@given(robots(max_bodies=4), seeds, st.sampled_from(list(REFERENCES)))
def test_wrench_acts_through_the_jacobian(robot: hc.Robot, seed: int, expressed_in: str) -> None:
    """ID(f_ext = w) = ID - Jᵀ w, and FD(τ, f_ext = w) = FD(τ + Jᵀ w), both ways."""
    q, v, a = state(robot, seed)
    rng = np.random.default_rng(seed + 1)
    wrenches = {link: rng.normal(size=6) for link in moving_links(robot)[-2:]}
    options = {"f_ext": wrenches, "expressed_in": expressed_in}
    push = sum(
        (robot.jacobian(link, REFERENCES[expressed_in])(q).T @ w for link, w in wrenches.items()),
        np.zeros(robot.nv),
    )
    tau = robot.inverse_dynamics(q, v, a)
    assert_close(robot.inverse_dynamics(q, v, a, **options), tau - push, scale=float(np.abs(tau).max()))
    assert_close(robot.bias(q, v, **options), robot.bias(q, v) - push, scale=float(np.abs(tau).max()))
    expected = robot.forward_dynamics_crba(q, v, a + push)
    assert_close(robot.forward_dynamics(q, v, a, **options), expected, 1e-9)
    assert_close(robot.forward_dynamics_crba(q, v, a, **options), expected, 1e-9)


@pytest.fixture(scope="module")
def ur5() -> hc.Robot:
    return hc.load("ur5")


def test_expressed_in_body_unless_said_otherwise(ur5: hc.Robot) -> None:
    q, v, a = state(ur5, 3)
    w = np.arange(1.0, 7.0)
    given_frame = ur5.inverse_dynamics(q, v, a, f_ext={"tool0": w}, expressed_in="body")
    np.testing.assert_array_equal(ur5.inverse_dynamics(q, v, a, f_ext={"tool0": w}), given_frame)


def test_batches_of_wrenches(ur5: hc.Robot) -> None:
    """A batch of states, of wrenches, or of both: each sample as if it were alone."""
    rng = np.random.default_rng(0)
    Q, V, A = rng.normal(size=(3, 4, 6))
    W = rng.normal(size=(4, 6))
    both = ur5.inverse_dynamics(Q, V, A, f_ext={"tool0": W})
    alone = [ur5.inverse_dynamics(q, v, a, f_ext={"tool0": w}) for q, v, a, w in zip(Q, V, A, W, strict=True)]
    np.testing.assert_array_equal(both, alone)
    wrenches_only = ur5.inverse_dynamics(Q[0], V[0], A[0], f_ext={"tool0": W})
    assert wrenches_only.shape == (4, 6)
    np.testing.assert_array_equal(wrenches_only[0], both[0])
    out = np.empty((4, 6))
    assert ur5.inverse_dynamics(Q, V, A, f_ext={"tool0": W}, out=out) is out
    np.testing.assert_array_equal(out, both)


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
def test_symbolic_wrench(ur5: hc.Robot, kind: type) -> None:
    """∂τ/∂w = -Jᵀ, with the wrench a CasADi symbol."""
    q, v, a = state(ur5, 5)
    w = kind.sym("w", 6)  # type: ignore[attr-defined]
    tau = ur5.inverse_dynamics(q, v, a, f_ext={"tool0": w})
    assert isinstance(tau, kind)
    derivative = ca.Function("f", [w], [ca.jacobian(tau, w)])(np.zeros(6))
    assert_close(np.array(derivative), -ur5.jacobian("tool0", "body")(q).T)


def test_variant_with_wrenches_as_inputs(ur5: hc.Robot) -> None:
    """`with_options(f_ext=links)` takes the wrenches as inputs, which can be differentiated by."""
    q, v, tau = state(ur5, 7)
    variant = ur5.forward_dynamics.with_options(f_ext=("tool0", "forearm_link"), expressed_in="world")
    names = [item.name for item in variant.inputs]
    assert names == ["q", "v", "tau", "f_ext_tool0", "f_ext_forearm_link"]
    w1, w2 = np.arange(6.0), -np.arange(6.0)
    expected = ur5.forward_dynamics(q, v, tau, f_ext={"tool0": w1, "forearm_link": w2}, expressed_in="world")
    np.testing.assert_array_equal(variant(q, v, tau, w1, w2), expected)
    np.testing.assert_array_equal(variant(q, v, tau, f_ext_forearm_link=w2, f_ext_tool0=w1), expected)
    derivative = variant.jacobian("f_ext_tool0")(q, v, tau, w1, w2)
    J = ur5.jacobian("tool0", "world_aligned")(q)
    assert_close(derivative, ur5.mass_matrix_inverse(q) @ J.T, 1e-9)
    assert ur5.forward_dynamics.with_options(f_ext="tool0").inputs[-1].name == "f_ext_tool0"


def pendulum(*names: str) -> hc.Robot:
    """A chain of hinges whose links have these names."""
    rng = np.random.default_rng(1)
    joints = [
        Joint(f"j{i}", Revolute([0, 1, 0]), parent, child)
        for i, (parent, child) in enumerate(zip(("world", *names[:-1]), names, strict=True))
    ]
    links = (Link("world"), *(Link(name, inertia(rng)) for name in names))
    return hc.Robot(Model("odd", links, tuple(joints)))


def test_links_of_odd_names() -> None:
    """Names that are no identifiers, and that differ in odd signs only, keep their wrenches apart."""
    robot = pendulum("arm/1", "arm-1", "Arm 1 é", "1")
    names = robot.link_names[1:]
    wrenches: dict[str, Array] = {name: np.eye(6)[i + 1] for i, name in enumerate(names)}
    q, v, a = state(robot, 2)
    push = sum((robot.jacobian(n, "body")(q).T @ w for n, w in wrenches.items()), np.zeros(4))
    actual = robot.inverse_dynamics(q, v, a, f_ext=wrenches)
    assert_close(actual, robot.inverse_dynamics(q, v, a) - push)
    backwards = dict(reversed(wrenches.items()))
    assert_close(robot.inverse_dynamics(q, v, a, f_ext=backwards), actual)
    inputs = [x.name for x in robot.inverse_dynamics.with_options(f_ext=names).inputs[3:]]
    assert inputs == ["f_ext_arm_1", "f_ext_arm_1_", "f_ext_Arm_1__", "f_ext_1"]


def test_no_wrench_is_the_function_itself(ur5: hc.Robot) -> None:
    q, v, a = state(ur5, 9)
    np.testing.assert_array_equal(ur5.inverse_dynamics(q, v, a, f_ext={}), ur5.inverse_dynamics(q, v, a))
    assert ur5.inverse_dynamics.with_options(f_ext=()) is ur5.inverse_dynamics


def test_wrench_on_what_does_not_move(ur5: hc.Robot) -> None:
    q, v, a = state(ur5, 1)
    with pytest.raises(hc.ModelError, match="'base_link' does not move: a wrench on it would change nothing"):
        ur5.inverse_dynamics(q, v, a, f_ext={"base_link": np.zeros(6)})
    with pytest.raises(hc.ModelError, match="'base_link' does not move"):
        ur5.inverse_dynamics.with_options(f_ext=["base_link"])
    floating = hc.load("ur5", base="floating")
    assert "f_ext_base_link" in repr(floating.inverse_dynamics.with_options(f_ext="base_link"))
