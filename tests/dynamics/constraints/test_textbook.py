"""Constrained dynamics against closed forms: a course's example, a linkage, a platform, a knife edge."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import helicoid as hc
from helicoid.model import bundled
from mechanisms import (
    BASE_POINTS,
    PLATFORM_MASS,
    PLATFORM_POINTS,
    four_bar_angles,
    four_bar_rates,
    four_bar_urdf,
    joint_angles,
    stewart_urdf,
)

WEIGHTLESS = {"gravity": (0.0, 0.0, 0.0)}


@pytest.fixture(scope="module", params=["contact", "expression"])
def arm(request: pytest.FixtureRequest) -> hc.Robot:
    text = bundled.text("planar_2r").replace('mass value="1.5"', 'mass value="1"')
    free = hc.load(text.replace("0.8 0 0", "1 0 0"))
    if request.param == "contact":
        return free.with_contact("tip", kind="normal", normal=(1, 0, 0), at=(1, 0, 0))
    return free.constrain(holonomic=lambda q: ca.cos(q[0]) + ca.cos(q[0] + q[1]) - 1)


@pytest.fixture(scope="module")
def four_bar() -> hc.Robot:
    return hc.load(four_bar_urdf())


class TestTipInAChannel:
    """2R arm with unit lengths and point masses, its tip in a frictionless channel x = 1."""

    Q, V = np.array([-np.pi / 3, 2 * np.pi / 3]), np.array([1.0, 0.0])

    def test_constraint(self, arm: hc.Robot) -> None:
        assert_allclose(arm.constraint_position(self.Q), 0, atol=1e-15)
        assert_allclose(arm.constraint_jacobian(self.Q), [[0, -np.sqrt(3) / 2]], atol=1e-15)
        assert_allclose(arm.constraint_bias(self.Q, self.V), [-1], atol=1e-15)

    @pytest.mark.parametrize("tau", [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.7, -2.0)])
    def test_forward_dynamics(self, arm: hc.Robot, tau: tuple[float, float]) -> None:
        a, λ = arm.constrained_forward_dynamics(self.Q, self.V, np.array(tau), **WEIGHTLESS)
        assert_allclose(λ, [tau[0] / np.sqrt(12) - 2 / np.sqrt(3) * tau[1] - 1 / 6], rtol=1e-12)
        assert_allclose(a, [tau[0] / 2 + 1 / np.sqrt(12), -2 / np.sqrt(3)], rtol=1e-12)

    def test_numbers_as_printed(self, arm: hc.Robot) -> None:
        a, λ = arm.constrained_forward_dynamics(self.Q, self.V, np.zeros(2), **WEIGHTLESS)
        assert_allclose([*a, *λ], [0.289, -1.155, -0.167], atol=5e-4)

    def test_inverse_dynamics(self, arm: hc.Robot) -> None:
        a = np.array([0.8, -2 / np.sqrt(3)])
        tau, λ = arm.constrained_inverse_dynamics(self.Q, self.V, a, **WEIGHTLESS)
        s = np.sqrt(3)
        # τ = (2 θ̈₁ - 0.578, 0.5 θ̈₁ - 0.866 f - 0.289): the f that makes τ₂ vanish gives the least torque.
        assert_allclose(tau, [2 * 0.8 - 1 / s, 0.0], atol=1e-9)
        assert_allclose(λ, [(0.4 - 1 / (2 * s)) * 2 / s], rtol=1e-9)

    def test_projectors(self, arm: hc.Robot) -> None:
        assert_allclose(arm.constraint_projector(self.Q), [[1, 0], [0.25, 0]], atol=1e-12)
        assert_allclose(arm.constraint_null_space(self.Q), [[1, 0.25], [0, 0]], atol=1e-12)

    def test_force_at_the_tip(self, arm: hc.Robot) -> None:
        force = arm.tip_force("tip", rows=(3, 5)).with_options(**WEIGHTLESS)  # type: ignore[attr-defined]
        assert_allclose(force(self.Q, self.V, np.zeros(2)), [-1 / 6, 0], atol=1e-12)


class TestFourBar:
    @pytest.mark.parametrize("crank", np.linspace(0.1, 6.2, 7))
    def test_positions(self, four_bar: hc.Robot, crank: float) -> None:
        expected = joint_angles(four_bar_angles(crank))
        q = four_bar.project_configuration(expected + np.array([0.0, 0.2, -0.15]), hold=["crank_joint"])
        assert_allclose(q, expected, atol=1e-11)
        assert_allclose(four_bar.constraint_position(expected), 0, atol=1e-12)

    @pytest.mark.parametrize("crank", np.linspace(0.1, 6.2, 5))
    def test_velocities_and_accelerations(self, four_bar: hc.Robot, crank: float) -> None:
        angles = four_bar_angles(crank)
        q, (v, _) = joint_angles(angles), map(joint_angles, four_bar_rates(angles, 2.0, 0.0))
        assert_allclose(four_bar.constraint_jacobian(q) @ v, 0, atol=1e-13)
        a, _ = four_bar.constrained_forward_dynamics(q, v, np.array([3.0, 0.0, 0.0]))
        expected = joint_angles(four_bar_rates(angles, 2.0, float(a[0]))[1])
        assert_allclose(a, expected, atol=1e-9 * np.abs(expected).max())

    def test_equation_of_its_one_freedom(self, four_bar: hc.Robot) -> None:
        """KᵀM K α + Kᵀ (M K̇ ω + h) = Kᵀ τ with v = K ω from the vector loop."""
        angles, ω, tau = four_bar_angles(1.1), 1.7, np.array([2.0, -0.3, 0.5])
        q = joint_angles(angles)
        v, drift = map(joint_angles, four_bar_rates(angles, ω, 0.0))  # K ω, and K̇ ω as α = 0
        K, M = v / ω, four_bar.mass_matrix(q)
        α = K @ (tau - M @ drift - four_bar.bias(q, v)) / (K @ M @ K)
        assert_allclose(four_bar.constrained_forward_dynamics(q, v, tau).a[0], α, rtol=1e-9)

    def test_redundant_rows_are_reported_and_carry_the_least_force(self, four_bar: hc.Robot) -> None:
        q, (v, _) = (
            joint_angles(four_bar_angles(0.4)),
            map(joint_angles, four_bar_rates(four_bar_angles(0.4), 1, 0)),
        )
        report = four_bar.constraint_report(q)
        assert (report.rows, report.rank, report.redundancy, report.mobility) == (5, 2, 3, 1)
        A, M = four_bar.constraint_jacobian(q), four_bar.mass_matrix(q)
        a, λ = four_bar.constrained_forward_dynamics(q, v, np.zeros(3))
        least = -np.linalg.pinv(A.T) @ (M @ a + four_bar.bias(q, v))
        assert_allclose(λ, least, atol=1e-7 * np.abs(least).max())
        point = hc.load(four_bar_urdf("point")).constrained_forward_dynamics(q, v, np.zeros(3))
        assert_allclose(a, point.a, rtol=1e-9)

    def test_drift_stays_bounded(self, four_bar: hc.Robot) -> None:
        """Ten seconds at 1 kHz by Runge and Kutta, nothing but Baumgarte's terms holding it together."""
        x, h = ca.SX.sym("x", 6), 1e-3
        forward = four_bar.constrained_forward_dynamics.with_options(stabilisation=20.0)

        def rate(y: ca.SX) -> ca.SX:
            return ca.vertcat(y[3:], forward(y[:3], y[3:], ca.SX.zeros(3)).a)

        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        k4 = rate(x + h * k3)
        step = ca.Function("step", [x], [x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)])
        rollout = step.mapaccum(10_000)
        start = np.concatenate([joint_angles(four_bar_angles(1.0)), np.zeros(3)])
        states = np.array(rollout(start))
        assert np.abs(np.diff(states[0])).max() > 1e-3  # it swings
        violation = np.abs(four_bar.constraint_position(np.ascontiguousarray(states[:3].T)))
        assert violation.max() < 1e-6
        q, v = states[:3, -1], states[3:, -1]
        energy = four_bar.kinetic_energy(q, v) + four_bar.potential_energy(q)
        assert_allclose(energy, four_bar.potential_energy(start[:3]), rtol=1e-6)


class TestStewartPlatform:
    @staticmethod
    def at_rest(leg_mass: float) -> tuple[hc.Robot, np.ndarray]:
        legs = [f"leg{k}" for k in range(6)]
        robot = hc.load(stewart_urdf(leg_mass)).with_actuators(*legs)
        q = robot.neutral()
        for body in robot.model.bodies:
            if body.joint.name in legs:
                q[body.q] = 1.0
        start = robot.project_configuration(q)
        return robot, start

    def test_mobility(self) -> None:
        robot, q = self.at_rest(1.0)
        report = robot.constraint_report(q)
        assert (report.rows, report.rank, report.mobility) == (15, 15, 6)
        assert robot.selection_matrix.shape == (6, robot.nv)

    @pytest.mark.slow
    def test_light_legs_carry_the_load_as_statics_say(self) -> None:
        robot, q = self.at_rest(1e-5)
        still = np.zeros(robot.nv)
        force, _ = robot.constrained_inverse_dynamics(q, still, still)
        T = robot.pose("platform")(q)
        tops = PLATFORM_POINTS @ T[:3, :3].T + T[:3, 3]
        along = (tops - BASE_POINTS) / np.linalg.norm(tops - BASE_POINTS, axis=1, keepdims=True)
        wrenches = np.vstack([np.cross(tops, along).T, along.T])
        weight = np.array([0, 0, -9.81 * PLATFORM_MASS])
        com = T[:3, :3] @ [0.05, 0.02, 0.1] + T[:3, 3]
        expected = np.linalg.solve(wrenches, -np.concatenate([np.cross(com, weight), weight]))
        assert_allclose(force, expected, atol=1e-3)
        assert_allclose(along.T @ force, -weight, atol=1e-3)

    @pytest.mark.slow
    def test_heavy_legs_by_virtual_work(self) -> None:
        robot, q = self.at_rest(3.0)
        still = np.zeros(robot.nv)
        force, λ = robot.constrained_inverse_dynamics(q, still, still)
        free = np.linalg.svd(robot.constraint_jacobian(q))[2][15:]  # the six motions that are left
        expected = np.linalg.solve(free @ robot.selection_matrix.T, free @ robot.gravity(q))
        assert_allclose(force, expected, rtol=1e-7)
        tau = robot.selection_matrix.T @ force
        a, held = robot.constrained_forward_dynamics(q, still, tau)
        assert_allclose(a, 0, atol=1e-7)
        assert_allclose(held, λ, atol=1e-6)


def test_knife_edge_on_an_inclined_plane() -> None:
    """It slides along its blade: x = g/(2ω²) sin² ωt, y = g/(2ω²) (ωt - ½ sin 2ωt); it never runs away."""
    robot = hc.load("""<robot name="knife"><link name="ice"/><link name="knife"><inertial><mass value="2"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
      <joint name="slide" type="planar"><parent link="ice"/><child link="knife"/><axis xyz="0 0 1"/></joint>
      </robot>""").constrain(pfaffian=lambda q: [-ca.sin(q[2]), ca.cos(q[2]), 0])
    g, ω = 3.0, 1.3
    for t in np.linspace(0.0, 4.0, 9):
        q = np.array(
            [g / (2 * ω**2) * np.sin(ω * t) ** 2, g / (2 * ω**2) * (ω * t - np.sin(2 * ω * t) / 2), ω * t]
        )
        v = np.array([g / (2 * ω) * np.sin(2 * ω * t), g / (2 * ω) * (1 - np.cos(2 * ω * t)), ω])
        expected = [g * np.cos(2 * ω * t), g * np.sin(2 * ω * t), 0.0]
        assert_allclose(robot.constraint_jacobian(q) @ v, 0, atol=1e-14)
        a, _ = robot.constrained_forward_dynamics(q, v, np.zeros(3), gravity=(g, 0, 0))
        assert_allclose(a, expected, atol=1e-9)
    assert_allclose(robot.constraint_position(q), [0.0])
