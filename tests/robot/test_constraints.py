"""Contacts, equations and actuators of a robot: what is refused, and what edits make of them."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import helicoid as hc


@pytest.fixture
def arm() -> hc.Robot:
    return hc.load("planar_2r")


class TestContacts:
    def test_rows_are_along_the_normal_last(self, arm: hc.Robot) -> None:
        q = np.array([0.2, 0.5])
        held = arm.with_contact("tip", q=q, normal=(1, 0, 0))
        J = arm.jacobian("tip", "world_aligned")(q)
        assert_allclose(held.constraint_jacobian(q)[2], J[3], atol=1e-15)
        assert_allclose(held.constraint_position(q), 0, atol=1e-15)

    @pytest.mark.slow
    def test_corners_of_a_foot_are_redundant(self) -> None:
        robot = hc.load("quadruped", base="floating")
        corners = np.array([[x, y, 0.0] for x in (-0.1, 0.1) for y in (-0.05, 0.05)])
        q = robot.neutral()
        face = robot.with_contact("FL_foot", corners, q=q)
        report = face.constraint_report(q)
        assert (report.rows, report.rank) == (12, 6)
        assert [one.name for one in face.constraints] == ["FL_foot_contact"] + [
            f"FL_foot_contact_{k}" for k in (1, 2, 3)
        ]
        surface = robot.with_contact("FL_foot", kind="surface", q=q)
        rest, push = np.zeros(robot.nv), np.random.default_rng(0).normal(size=robot.nv)
        a = surface.constrained_forward_dynamics(q, rest, push).a
        assert_allclose(face.constrained_forward_dynamics(q, rest, push).a, a, atol=1e-7 * np.abs(a).max())

    def test_a_surface_is_held_at_a_pose(self, arm: hc.Robot) -> None:
        q = np.array([0.2, 0.5])
        held = arm.with_contact("tip", kind="surface", at=arm.pose("tip")(q))
        assert_allclose(held.constraint_position(q), 0, atol=1e-15)
        assert np.abs(held.constraint_position([0.3, 0.5])[3:]).max() > 0.09

    def test_refused(self, arm: hc.Robot) -> None:
        with pytest.raises(hc.InputError, match="give the place of the contact of 'tip'"):
            arm.with_contact("tip")
        with pytest.raises(hc.InputError, match="q or at, not both"):
            arm.with_contact("tip", q=[0, 0], at=(0, 0, 0))
        with pytest.raises(hc.InputError, match="4 × 4 pose, which a surface needs"):
            arm.with_contact("tip", kind="surface", at=(0, 0, 0))
        with pytest.raises(hc.ModelError, match="does not move against the world"):
            arm.with_contact("base_link", at=(0, 0, 0))
        with pytest.raises(hc.ModelError, match="kind must be one of point, surface, normal, stick"):
            arm.with_contact("tip", kind="rope", at=(0, 0, 0))  # type: ignore[arg-type]
        with pytest.raises(hc.ModelError, match="two constraints are called 'end'"):
            arm.with_contact("tip", at=(0, 0, 0), name="end").with_contact("tip", at=(0, 0, 0), name="end")
        for normal in ((0, 0, 0), (np.nan, 0, 1), (1, 0)):
            with pytest.raises(hc.ModelError, match="normal is a direction"):
                arm.with_contact("tip", at=(0, 0, 0), normal=normal)
        with pytest.raises(hc.InputError, match="point must be numbers; got 'toe'"):
            arm.with_contact("tip", "toe", at=(0, 0, 0))


class TestEquations:
    def test_both_at_once(self, arm: hc.Robot) -> None:
        held = arm.constrain(holonomic=lambda q: q[0] - q[1] ** 2, pfaffian=lambda q: [ca.sin(q[0]), 1])
        assert_allclose(held.constraint_position([3.0, 1.0]), [2, 0])
        assert_allclose(held.constraint_jacobian([3.0, 1.0]), [[1, -2], [np.sin(3), 1]])
        assert [one.kind for one in held.constraints] == ["holonomic", "pfaffian"]

    def test_on_a_manifold(self) -> None:
        """A distance kept by a floating body: its derivative is along the velocity, not along q."""
        robot = hc.load("quadruped", base="floating").constrain(holonomic=lambda q: ca.sumsqr(q[:3]) - 1)
        q, v = robot.random(0), np.random.default_rng(0).normal(size=robot.nv)
        ahead, behind = (robot.constraint_position(robot.integrate(q, e * v)) for e in (1e-6, -1e-6))
        assert_allclose(robot.constraint_jacobian(q) @ v, (ahead - behind) / 2e-6, rtol=1e-6)

    def test_refused(self, arm: hc.Robot) -> None:
        other = ca.SX.sym("other")
        with pytest.raises(hc.InputError, match="needs holonomic"):
            arm.constrain()
        with pytest.raises(hc.ModelError, match="takes a function of q"):
            arm.constrain(holonomic=3)  # type: ignore[arg-type]
        with pytest.raises(hc.ModelError, match="row 0 has no effect"):
            arm.constrain(holonomic=lambda q: ca.SX(1.0))
        with pytest.raises(hc.ModelError, match="may depend on q alone"):
            arm.constrain(holonomic=lambda q: q[0] - other)
        with pytest.raises(hc.ModelError, match="needs rows of nv = 2 entries"):
            arm.constrain(pfaffian=lambda q: ca.SX.ones(1, 3) * q[0])


class TestEdits:
    def test_contacts_stay_where_they_make_sense(self, arm: hc.Robot) -> None:
        held = arm.with_contact("tip", kind="normal")
        assert held.with_payload("tip", 1.0, [0, 0, 0], np.zeros((3, 3))).constraints == held.constraints
        assert held.parametric("inertia").constraints == held.constraints
        assert held.lock({"joint_1": 0.3}).constraint_jacobian([0.1]).shape == (1, 1)
        with pytest.raises(hc.ModelError, match="is with the world, which this edit would move"):
            held.reroot("tip")

    def test_equations_stay_with_their_coordinates(self, arm: hc.Robot) -> None:
        held = arm.constrain(holonomic=lambda q: q[0] - q[1])
        assert held.with_payload("tip", 1.0, [0, 0, 0], np.zeros((3, 3))).constraints == held.constraints
        with pytest.raises(hc.ModelError, match="make this edit first"):
            held.lock({"joint_1": 0.3})


class TestActuators:
    def test_selection(self, arm: hc.Robot) -> None:
        assert_allclose(arm.selection_matrix, np.eye(2))
        driven = arm.with_actuators("joint_2")
        assert_allclose(driven.selection_matrix, [[0, 1]])
        assert driven.lock({"joint_2": 0.0}).selection_matrix.shape == (0, 1)
        with pytest.raises(hc.ModelError, match="no joint with a coordinate is called 'joint_3'"):
            arm.with_actuators("joint_3")
        with pytest.raises(hc.InputError, match=r"with_actuators\('joint_1', ...\); got \['joint_1'\]"):
            arm.with_actuators(["joint_1"])  # type: ignore[arg-type]

    def test_one_motor_drives_a_held_arm(self, arm: hc.Robot) -> None:
        """With its tip in a slot, the elbow's motor alone holds the arm up."""
        robot = arm.with_contact("tip", kind="normal", normal=(1, 0, 0), at=(1.0, 0, 0)).with_actuators(
            "joint_2"
        )
        q = robot.project_configuration([-0.8, 1.5])
        still = np.zeros(2)
        tau, λ = robot.constrained_inverse_dynamics(q, still, still)
        expected = robot.gravity(q) + robot.constraint_jacobian(q).T @ λ
        assert_allclose(expected, [0, tau[0]], atol=1e-8)


def test_a_robot_without_constraints_moves_freely(arm: hc.Robot) -> None:
    q, v, tau = np.random.default_rng(0).normal(size=(3, 2))
    a, λ = arm.constrained_forward_dynamics(q, v, tau)
    assert_allclose(a, arm.forward_dynamics(q, v, tau), rtol=1e-12)
    assert λ.shape == (0,)
    assert arm.constraint_report(q).mobility == 2
    assert_allclose(arm.project_configuration(q), q)


def test_repr_counts_the_rows(arm: hc.Robot) -> None:
    assert repr(arm.with_contact("tip", at=(1, 0, 0))).endswith("fixed base, 3 constraint rows)")


def test_what_a_urdf_cannot_state_is_named(arm: hc.Robot, tmp_path: Path) -> None:
    held = arm.with_contact("tip", q=np.zeros(2), name="touch").with_actuators("joint_1")
    with pytest.warns(hc.DoubtfulModelWarning, match="'touch', the choice of actuators"):
        held.to_urdf(tmp_path / "held.urdf")
    assert hc.load(tmp_path / "held.urdf").constraints == ()


def test_edits_of_joints_keep_constraints_actuators_and_theta() -> None:
    robot = hc.load("planar_2r").with_actuators("joint_1").with_contact("tip", kind="normal")
    edited = robot.parametric("gravity").with_joints(damping=0.3, armature={"joint_2": 0.1})
    assert edited.actuators == ("joint_1",)
    assert [one.name for one in edited.constraints] == ["tip_contact"]
    assert edited.theta.groups == ("gravity",)


@pytest.mark.parametrize("kind", ["holonomic", "pfaffian"])
def test_an_equation_of_coordinates_that_are_not_there_is_refused(kind: str) -> None:
    with pytest.raises(hc.ModelError, match=rf"{kind} cannot be computed .* \(joint_1, joint_2\)"):
        hc.load("planar_2r").constrain(**{kind: lambda q: q[7]})
