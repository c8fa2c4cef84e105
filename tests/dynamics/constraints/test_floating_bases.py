"""Floating bases on contacts: null space, inverse kinematics, projected inverse dynamics by identities."""

from __future__ import annotations

import importlib.metadata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import helicoid as hc
from random_trees import robots

FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")


def check(robot: hc.Robot, frame: str, q: np.ndarray, rng: np.random.Generator) -> None:
    """J_c N_c = 0, N_c N_c = N_c; u = N_c (J_t N_c)⁺ w stands still at contacts and moves the frame."""
    A, N, M = robot.constraint_jacobian(q), robot.constraint_null_space(q), robot.mass_matrix(q)
    size = 1 + np.abs(N).max()
    assert np.abs(A @ N).max(initial=0) < 1e-6 * size * (1 + np.abs(A).max(initial=0))
    assert np.abs(N @ N - N).max() < 1e-6 * size**2
    assert np.abs(M @ N - N.T @ M).max() < 1e-6 * size * np.abs(M).max()  # orthogonal by kinetic energy
    J, inverse = robot.jacobian(frame, "world_aligned")(q), robot.constrained_jacobian_inverse(frame)(q)
    free = J @ N
    left, sizes, _ = np.linalg.svd(free)
    able = left[:, : np.sum(sizes > 1e-2 * max(sizes[0], 1e-9))]  # ways in which contacts let it move well
    if able.size and not np.any((sizes < 1e-2 * sizes[0]) & (sizes > 1e-9 * sizes[0])):
        w = able @ rng.normal(size=able.shape[1])
        u = inverse @ w
        assert np.abs(A @ u).max(initial=0) < 1e-5 * (1 + np.abs(u).max())
        assert np.allclose(J @ u, w, atol=1e-4 * (1 + np.abs(w).max()))
        expected = N @ np.linalg.pinv(free, rcond=1e-6) @ w
        assert np.allclose(u, expected, atol=1e-4 * (1 + np.abs(expected).max()))


def projected(robot: hc.Robot, q: np.ndarray, rng: np.random.Generator) -> None:
    """τ = (N_cᵀ Sᵀ)⁺ N_cᵀ (M u̇ + b + g) gives u̇ back by forward dynamics, if contacts allow u̇."""
    v = robot.project_velocity(q, 0.3 * rng.normal(size=robot.nv))
    N, S, M = robot.constraint_null_space(q), robot.selection_matrix, robot.mass_matrix(q)
    a, _ = robot.constrained_forward_dynamics(q, v, S.T @ rng.normal(size=len(S)), friction=False)
    tau, _ = robot.constrained_inverse_dynamics(q, v, a, friction=False)
    h = robot.bias(q, v, friction=False)
    textbook = np.linalg.pinv(N.T @ S.T, rcond=1e-6) @ N.T @ (M @ a + h)
    assert np.allclose(tau, textbook, rtol=1e-4, atol=1e-4 * (1 + np.abs(textbook).max()))
    again, _ = robot.constrained_forward_dynamics(q, v, S.T @ tau, friction=False)
    assert np.allclose(again, a, rtol=1e-4, atol=1e-4 * (1 + np.abs(a).max()))


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(robots(), st.integers(0, 2**31))
def test_random_trees(robot: hc.Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = robot.random(rng)
    names = list(robot.link_names)
    held = robot.with_contact(names[-1], rng.normal(size=3), kind="point", q=q)
    check(held, names[len(names) // 2], q, rng)


@pytest.mark.slow
@pytest.mark.parametrize(("contacts", "frame"), [(FEET, "trunk"), (FEET[:2], "RL_foot"), (FEET[:1], "trunk")])
def test_a_quadruped_on_some_feet(contacts: tuple[str, ...], frame: str, rng: np.random.Generator) -> None:
    robot = hc.load("quadruped", base="floating")
    q = robot.neutral()
    q[7:] = np.tile([0.1, 0.8, -1.6], 4) + 0.1 * rng.normal(size=12)
    for foot in contacts:
        robot = robot.with_contact(foot, q=q)
    check(robot, frame, q, rng)
    if len(contacts) == 4:
        projected(robot, q, rng)


@pytest.mark.parametrize(
    "name",
    ["panda", pytest.param("ur5", marks=pytest.mark.slow), pytest.param("kuka_lwr4", marks=pytest.mark.slow)],
)
def test_an_arm_whose_hand_is_held(name: str, rng: np.random.Generator) -> None:
    free = hc.load(name)
    q = free.random(rng)
    hand, elbow = free.link_names[-1], free.link_names[len(free.link_names) // 2]
    robot = free.with_contact(hand, q=q)
    check(robot, elbow, q, rng)
    projected(robot, q, rng)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a1", "talos"])
def test_robots_of_example_robot_data_on_their_feet(name: str, rng: np.random.Generator) -> None:
    try:
        importlib.metadata.files("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the robots are part of example-robot-data")
    from benchmarks.control.differential import talos
    from benchmarks.mpc_trot import standing

    if name == "a1":
        robot, q = standing(name)
        feet, frame, kind = ("FL_foot", "FR_foot", "RL_foot", "RR_foot"), "trunk", "point"
    else:
        subject = talos()
        assert subject is not None
        robot, q = subject.robot, subject.posture.copy()
        feet, frame, kind = ("left_sole_link", "right_sole_link"), "torso_2_link", "surface"
    q = robot.integrate(q, 0.05 * rng.normal(size=robot.nv))
    for foot in feet:
        robot = robot.with_contact(foot, kind=kind, q=q)
    check(robot, frame, q, rng)
    projected(robot, q, rng)
