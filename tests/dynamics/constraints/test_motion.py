"""Constraints on random trees: their derivatives, the dynamics they leave, and states that they allow."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import helicoid as hc
from helicoid import Robot
from helicoid.dynamics.constraints.equations import equations
from mechanisms import four_bar_angles, four_bar_urdf, joint_angles
from random_trees import assert_close, fewer, models, placement, rotation, seeds, state

KINDS = ("point", "line", "pose")


@st.composite
def looped(draw: st.DrawFn) -> Robot:
    """A random tree with a loop between two of its bodies, and a contact with the world."""
    robot = Robot(draw(models(max_bodies=3)))
    bodies = robot.model.bodies
    rng = np.random.default_rng(draw(seeds, label="frames"))
    names = [body.name for body in bodies] + ([] if robot.model.floating else ["base"])
    if len(names) > 1:
        a, b = draw(st.permutations(names), label="links")[:2]
        kind: Any = draw(st.sampled_from(KINDS), label="kind")
        poses = []
        for _ in range(2):
            T, placed = np.eye(4), placement(rng)
            T[:3, :3], T[:3, 3] = placed.rotation, placed.translation
            poses.append(T)
        robot = robot.close_loop(a, b, kind, *poses)
    at = np.eye(4)
    at[:3, :3] = rotation(rng)
    contact: Any = draw(st.sampled_from(["point", "surface", "normal"]), label="contact")
    return robot.with_contact(bodies[-1].name, rng.normal(size=3), contact, at=at, normal=rng.normal(size=3))


@fewer
@given(looped(), seeds)
def test_jacobian_and_bias_are_derivatives(robot: Robot, seed: int) -> None:
    q, v, _ = state(robot, seed)

    def assert_rate(function: Any, rate: np.ndarray) -> None:
        coarse, fine = (
            (function(robot.integrate(q, h * v)) - function(robot.integrate(q, -h * v))) / (2 * h)
            for h in (2e-6, 1e-6)
        )
        # Near half a turn a rotation's rows bend so much that difference quotients show it.
        blur = float(np.abs(coarse - fine).max(initial=0.0))
        assert_close(rate, fine, 1e-6, scale=1.0 + 2e6 * blur)

    assert_rate(robot.constraint_position, robot.constraint_jacobian(q) @ v)
    assert_rate(lambda x: robot.constraint_jacobian(x) @ v, robot.constraint_bias(q, v))


@fewer
@given(looped(), seeds)
def test_motion_obeys_both_equations(robot: Robot, seed: int) -> None:
    q, v, tau = state(robot, seed)
    A, M, h = robot.constraint_jacobian(q), robot.mass_matrix(q), robot.bias(q, v)
    a, λ = robot.constrained_forward_dynamics(q, v, tau)
    # A velocity that is not allowed makes dependent rows contradict each other: even then λ is no nonsense.
    assert_close(M @ a + h + A.T @ λ, tau, 1e-9, scale=float(np.abs(A.T @ λ).max()))
    P, N = robot.constraint_projector(q), robot.constraint_null_space(q)
    assert_close(P, N.T, 1e-9)
    if np.linalg.cond(A @ np.linalg.solve(M, A.T)) < 1e6:
        assert_close(A @ a, -robot.constraint_bias(q, v), 1e-7, scale=float(np.abs(a).max()))
        assert_close(P @ P, P, 1e-7)
        assert_close(A @ N, np.zeros_like(A), 1e-7, scale=float(np.abs(A).max()))


@fewer
@given(looped(), seeds, st.sampled_from([0.0, 0.4, 1.0]))
def test_impact_keeps_momentum_and_never_gains_energy(robot: Robot, seed: int, e: float) -> None:
    q, v, _ = state(robot, seed)
    A, M = robot.constraint_jacobian(q), robot.mass_matrix(q)
    after, impulse = robot.impact(q, v, restitution=e)
    assert_close(
        M @ (after - v) + A.T @ impulse, np.zeros(robot.nv), 1e-8, scale=float(np.abs(A.T @ impulse).max())
    )
    G = A @ np.linalg.solve(M, A.T)
    if np.linalg.cond(G) > 1e6:
        return
    E = np.array([e if row else 0.0 for one in robot.constraints for row in one.bouncing])
    assert_close(A @ after, -E * (A @ v), 1e-7, scale=float(np.abs(A @ v).max()))
    if e == 0.0:
        lost = robot.kinetic_energy(q, v) - robot.kinetic_energy(q, after)
        w = A @ v
        assert_close(lost, w @ np.linalg.solve(G, w) / 2, 1e-7, scale=1.0)
        assert_close(robot.project_velocity(q, v), after, 1e-9)


def test_restitution_of_a_sliding_contact_takes_its_share_of_the_energy() -> None:
    robot = hc.load("quadruped", base="floating").with_contact("FL_foot", kind="normal")
    q, v, _ = state(robot, 3)
    A, M = robot.constraint_jacobian(q), robot.mass_matrix(q)
    after, _ = robot.impact(q, v, restitution=0.6)
    w = A @ v
    expected = (1 - 0.6**2) / 2 * w @ np.linalg.solve(A @ np.linalg.solve(M, A.T), w)
    assert_allclose(robot.kinetic_energy(q, v) - robot.kinetic_energy(q, after), expected, rtol=1e-9)


@pytest.fixture(scope="module")
def standing() -> tuple[Robot, np.ndarray]:
    robot = hc.load("quadruped", base="floating")
    q = robot.neutral()
    q[7:] = np.tile([0.0, 0.8, -1.5], 4)
    for foot in ("FL_foot", "FR_foot", "RL_foot", "RR_foot"):
        robot = robot.with_contact(foot, q=q)
    return robot, q


class TestFloatingBase:
    """A quadruped on four point feet, as in a course on legged robots."""

    def test_report(self, standing: tuple[Robot, np.ndarray]) -> None:
        robot, q = standing
        report = robot.constraint_report(q)
        assert (report.rows, report.rank, report.mobility) == (12, 12, 6)
        assert (report.base_rank, report.internal) == (6, 6)
        assert "base rank 6, internal 6" in repr(report)

    def test_selection_matrix(self, standing: tuple[Robot, np.ndarray]) -> None:
        S = standing[0].selection_matrix
        assert_allclose(S, np.hstack([np.zeros((12, 6)), np.eye(12)]))

    def test_contact_forces_carry_the_weight(self, standing: tuple[Robot, np.ndarray]) -> None:
        robot, q = standing
        still = np.zeros(robot.nv)
        tau, λ = robot.constrained_inverse_dynamics(q, still, still)
        weight = 9.81 * sum(body.inertia.mass for body in robot.model.bodies)
        assert_allclose(-λ.reshape(4, 3).sum(axis=0), [0, 0, weight], atol=1e-6 * weight)
        a, _ = robot.constrained_forward_dynamics(q, still, robot.selection_matrix.T @ tau)
        assert_allclose(a, 0, atol=1e-6)

    def test_least_torque_is_the_pseudo_inverse(self, standing: tuple[Robot, np.ndarray]) -> None:
        robot, q = standing
        rng = np.random.default_rng(1)
        v = robot.project_velocity(q, rng.normal(size=robot.nv))
        a = robot.constrained_forward_dynamics(q, v, rng.normal(size=robot.nv)).a
        M_c, h_c, S_c = robot.constraint_consistent_dynamics(q, v)
        tau, _ = robot.constrained_inverse_dynamics(q, v, a)
        expected = np.linalg.pinv(S_c, rcond=1e-8) @ (M_c @ a + h_c)
        assert_allclose(tau, expected, atol=1e-6 * np.abs(expected).max())
        assert_allclose(S_c @ tau, M_c @ a + h_c, atol=1e-6 * np.abs(h_c).max())


def test_calls_with_batches_symbols_parameters_and_compiled_code() -> None:
    robot = hc.load(four_bar_urdf())
    q = np.array([joint_angles(four_bar_angles(crank)) for crank in (0.3, 1.0, 2.0)])
    v, tau = np.random.default_rng(0).normal(size=(2, 3, 3))
    each = [robot.constrained_forward_dynamics(*row) for row in zip(q, v, tau, strict=True)]
    batch = robot.constrained_forward_dynamics(q, v, tau)
    assert_allclose(batch.a, [one.a for one in each], rtol=1e-12)
    symbol = ca.SX.sym("q", 3)
    expression = robot.constrained_forward_dynamics(symbol, v[0], tau[0]).a
    assert_allclose(ca.Function("a", [symbol], [expression])(q[0]).full().ravel(), each[0].a, rtol=1e-12)
    parametric = robot.parametric("inertia", "gravity")
    theta = parametric.parameters.values
    assert_allclose(parametric.constrained_forward_dynamics(q, v, tau, theta).a, batch.a, rtol=1e-9)
    hc.set_compile(True)
    compiled = hc.load(four_bar_urdf()).constrained_forward_dynamics(q[0], v[0], tau[0])
    assert_allclose(compiled.a, each[0].a, rtol=1e-9)


def test_options() -> None:
    robot = hc.load("planar_2r").with_contact("tip", kind="normal", normal=(1, 0, 0), at=(1.2, 0, 0))
    q, v, tau = state(robot, 5)
    forward = robot.constrained_forward_dynamics
    α, A = 7.0, robot.constraint_jacobian(q)
    stable = forward(q, v, tau, stabilisation=α).a
    aim = -robot.constraint_bias(q, v) - 2 * α * A @ v - α**2 * robot.constraint_position(q)
    assert_allclose(A @ stable, aim, rtol=1e-9)
    pushed = forward(q, v, tau, f_ext={"link_2": np.array([0, 0, 0, 1.0, 2.0, 3.0])}, expressed_in="world")
    J = robot.jacobian("link_2", "world_aligned")(q)
    assert_allclose(pushed.a, forward(q, v, tau + J.T @ [0, 0, 0, 1.0, 2.0, 3.0]).a, rtol=1e-9)
    with pytest.raises(hc.InputError, match="stabilisation is a rate"):
        forward(q, v, tau, stabilisation=-1)
    with pytest.raises(hc.InputError, match="restitution is from 0"):
        robot.impact(q, v, restitution=1.5)


def test_only_joints_between_the_links_enter() -> None:
    robot = hc.load("quadruped", base="floating").close_loop("FL_foot", "FR_foot", "pose")
    A = robot.constraint_jacobian(robot.random(0))
    assert not A[:, :6].any() and not A[:, 12:].any() and np.linalg.matrix_rank(A) == 6


def test_half_a_turn_is_no_closed_pose() -> None:
    """Sines alone would vanish there."""
    robot = hc.load("double_pendulum").close_loop(*hc.load("double_pendulum").link_names[::2], "pose")
    q = ca.SX.sym("q", robot.nq)
    position = ca.Function("position", [q], [equations(robot.model, q, robot.constraints).position])
    assert np.abs(position([np.pi, 1e-3]).full()[3:]).max() > 1.9


class TestStatesThatAreAllowed:
    def test_projection_and_consistent_state(self, rng: np.random.Generator) -> None:
        free = hc.load("quadruped", base="floating")
        robot = free.close_loop("FL_foot", "FR_foot", "point").with_contact("RL_foot", at=(0, 0, 0))
        q, v = robot.find_consistent(robot.random(rng), rng.normal(size=robot.nv))
        assert np.abs(robot.constraint_position(q)).max() < 1e-12
        assert_allclose(robot.constraint_jacobian(q) @ v, 0, atol=1e-9)
        assert_allclose(np.linalg.norm(q[3:7]), 1, rtol=1e-14)
        assert robot.find_consistent(q).v.shape == (robot.nv,)

    def test_batches(self, rng: np.random.Generator) -> None:
        robot = hc.load(four_bar_urdf())
        start = np.array([joint_angles(four_bar_angles(t)) for t in (0.1, 2.0)]) + rng.normal(0, 0.05, (2, 3))
        q = robot.project_configuration(start, hold=["crank_joint"])
        assert_allclose(q[:, 0], start[:, 0], rtol=0)
        assert_allclose(q[1], robot.project_configuration(start[1], hold=["crank_joint"]))
        assert_allclose(q[1], robot.project_configuration(start[1], hold="crank_joint"))

    def test_refused(self) -> None:
        robot = hc.load(four_bar_urdf())
        with pytest.raises(hc.InputError, match="q has entries that are not finite"):
            robot.find_consistent([0.0, np.nan, 0.0])
        with pytest.raises(hc.InputError, match="one configuration"):
            robot.constraint_report(np.zeros((2, 3)))

    def test_a_loop_that_cannot_close_is_named_with_its_gap(self) -> None:
        robot = hc.load("planar_2r").close_loop(
            "base_link", "tip", "point", origin_a=(2.0, 0, 0), name="reach"
        )
        with pytest.raises(hc.ModelError, match=r"'reach' stays open by 0\.2 m"):
            robot.project_configuration([0.3, 0.4])

    def test_parametric_robots_use_their_nominal_parameters(self) -> None:
        robot = hc.load(four_bar_urdf())
        start = joint_angles(four_bar_angles(1.0))
        expected = robot.find_consistent(start, np.ones(3))
        assert_allclose(
            robot.parametric("inertia").find_consistent(start, np.ones(3)).v, expected.v, rtol=1e-9
        )


def test_derivatives_of_the_constrained_motion_where_rows_depend_on_each_other() -> None:
    robot = hc.load(four_bar_urdf())  # its hinge has 5 rows, of which 2 are independent
    q = joint_angles(four_bar_angles(1.0))
    v, tau, h = robot.project_velocity(q, [2.0, 0, 0]), np.array([1.0, 0.3, -0.2]), 1e-6
    motion = robot.constrained_forward_dynamics
    for name, moved in (("q", lambda d: (robot.integrate(q, d), v, tau)), ("v", lambda d: (q, v + d, tau))):
        ahead, behind = ([motion(*moved(s * h * e)).a for e in np.eye(3)] for s in (1, -1))
        differences = (np.array(ahead) - np.array(behind)).T / (2 * h)
        assert_allclose(motion.jacobian(name)(q, v, tau)[0], differences, rtol=1e-6, atol=1e-6)
