"""Bounds found by search: never beyond analytic ones, and at the true extremes where those are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import helicoid as hc
from helicoid.cli.app import app
from helicoid.robot.bounds import DynamicsBounds, bounds

L1, L2, M1, M2, G = 1.0, 0.8, 1.5, 1.0, 9.81  # of planar_2r


def limited(robot: hc.Robot, angle: float) -> hc.Robot:
    """The robot with every joint limited to ± angle."""
    return robot.with_joints(lower=-angle, upper=angle)


def attained(robot: hc.Robot, found: DynamicsBounds) -> None:
    """Every bound is the value at the configuration and direction that come with it, within the limits."""
    low, high = found.mass_lower, found.mass_upper
    assert low.direction is not None and high.direction is not None and found.coriolis.direction is not None
    eigenvalues = [np.linalg.eigvalsh(robot.mass_matrix(bound.configuration)) for bound in (low, high)]
    np.testing.assert_allclose([low.value, high.value], [eigenvalues[0][0], eigenvalues[1][-1]], rtol=1e-9)
    c = robot.coriolis(found.coriolis.configuration, found.coriolis.direction)
    np.testing.assert_allclose(np.linalg.norm(found.coriolis.direction), 1.0)
    np.testing.assert_allclose(np.linalg.norm(c), found.coriolis.value, rtol=1e-12)
    g = robot.gravity(found.gravity.configuration)
    np.testing.assert_allclose(np.linalg.norm(g), found.gravity.value, rtol=1e-12)
    for bound in found[:4]:
        assert np.all(bound.configuration >= robot.limits.lower - 1e-12)
        assert np.all(bound.configuration <= robot.limits.upper + 1e-12)


def test_planar_arm_reaches_the_true_extremes() -> None:
    """|θ| ≤ π/2: below the textbook's estimates, and at the maxima of a dense grid."""
    robot = limited(hc.load("planar_2r"), np.pi / 2)
    found = bounds(robot, samples=100)
    attained(robot, found)
    assert found.assumed == ()

    # The textbook's: n² max |Γ| for the 2-norm of c, the 1-norm (which is not smaller) of g.
    assert found.coriolis.value < 4 * M2 * L1 * L2
    assert found.gravity.value < (M1 + M2) * G * L1 + 2 * M2 * G * L2

    θ = np.linspace(-np.pi / 2, np.pi / 2, 401)
    eigenvalues = np.linalg.eigvalsh(robot.mass_matrix(np.stack([0 * θ, θ], axis=1)))
    np.testing.assert_allclose(found.mass_lower.value, eigenvalues[:, 0].min(), rtol=1e-8)
    np.testing.assert_allclose(found.mass_upper.value, eigenvalues[:, 1].max(), rtol=1e-8)
    a, b = np.cos(np.linspace(0, np.pi, 20001)), np.sin(np.linspace(0, np.pi, 20001))
    c = M2 * L1 * L2 * np.hypot(2 * a * b + b**2, a**2).max()  # at sin θ2 = 1
    np.testing.assert_allclose(found.coriolis.value, c, rtol=1e-6)
    outer = M2 * L2 * G * np.cos(θ[:, None] + θ)
    g = np.hypot((M1 + M2) * L1 * G * np.cos(θ[:, None]) + outer, outer).max()
    np.testing.assert_allclose(found.gravity.value, g, rtol=1e-8)


def test_limits_matter() -> None:
    """An arm that cannot bend past a small angle never meets the Coriolis forces of a bent one."""
    robot = limited(hc.load("planar_2r"), 0.1)
    found = bounds(robot, samples=50)
    attained(robot, found)
    assert found.coriolis.value < 0.2 * bounds(hc.load("planar_2r"), samples=50).coriolis.value


@pytest.mark.parametrize(("name", "base"), [("ur5", "fixed"), ("quadruped", "floating")])
def test_no_random_state_is_beyond(name: str, base: Any) -> None:
    robot = hc.load(name, base=base)
    found = bounds(robot, samples=200, starts=3)
    attained(robot, found)
    rng = np.random.default_rng(11)
    Q = np.array([robot.random(rng) for _ in range(300)])
    V = rng.normal(size=(300, robot.nv))
    λ = np.linalg.eigvalsh(robot.mass_matrix(Q))
    assert found.mass_lower.value <= λ.min() and λ.max() <= found.mass_upper.value
    assert np.linalg.norm(robot.gravity(Q), axis=1).max() <= found.gravity.value * (1 + 1e-12)
    ratios = np.linalg.norm(robot.coriolis(Q, V), axis=1) / np.sum(V**2, axis=1)
    assert ratios.max() <= found.coriolis.value
    assert found.assumed == ()  # the base's own position plays no part


def test_the_same_seed_finds_the_same() -> None:
    robot = hc.load("double_pendulum")
    one, same = (bounds(robot, samples=20, starts=2, seed=4) for _ in range(2))
    np.testing.assert_array_equal([b.value for b in one[:4]], [b.value for b in same[:4]])
    assert one.gravity.found == (
        "largest of 20 random configurations, improved by local optimisation from the best 2"
    )
    assert one.mass_lower.found.startswith("smallest")


ROOM_TO_SLIDE = """<robot name="slider"><link name="base"/><link name="arm">
  <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="hand">
  <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
  <joint name="slide" type="prismatic"><parent link="arm"/><child link="hand"/><axis xyz="1 0 0"/>
  <limit effort="1" velocity="1" {limits}/></joint></robot>"""


def test_what_stands_in_for_a_missing_limit_is_said() -> None:
    """A slide without limits has no bounds: a warning names the range searched. A full turn needs none."""
    slider = hc.load(ROOM_TO_SLIDE.format(limits='lower="-3" upper="2"'))
    joints = [replace(joint, limits=None) for joint in slider.model.joints]
    found = bounds(slider.with_model(slider.model.replaced(joints=joints)), samples=50)
    assert found.assumed == ("slide (prismatic) has no limits: searched from -1 to 1 only",)
    assert found.mass_upper.value == pytest.approx(2 + 1)  # the hand's m x² at 1 m
    known = bounds(slider, samples=50)
    assert known.assumed == ()
    assert known.mass_upper.value == pytest.approx(2 + 9)


def test_parametric_robots_are_taken_at_their_nominal_parameters() -> None:
    robot = hc.load("double_pendulum")
    plain, parametric = bounds(robot, samples=20), bounds(robot.parametric("inertia"), samples=20)
    assert plain.gravity.value == parametric.gravity.value


def test_textbook_bounds_in_the_1_norm() -> None:
    """|θ| ≤ π/2: m_1, m_2, c_b and g_b of a worked example in the 1-norm; n² max |Γ| for the 2-norm."""
    robot = limited(hc.load("planar_2r"), np.pi / 2)
    found = bounds(robot, samples=200, norm=1)
    expected = {
        "mass_lower": (M1 + M2) * L1**2 + 2 * M2 * L2**2,
        "mass_upper": (M1 + M2) * L1**2 + 2 * M2 * L2**2 + 3 * M2 * L1 * L2,
        "coriolis": M2 * L1 * L2,
        "gravity": (M1 + M2) * G * L1 + 2 * M2 * G * L2,
        "christoffel": 4 * M2 * L1 * L2,
    }
    for name, value in expected.items():
        np.testing.assert_allclose(getattr(found, name).value, value, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_bounds_hold_in_every_norm(norm: float, rng: np.random.Generator) -> None:
    robot = hc.load("ur5")
    found = bounds(robot, samples=100, norm=norm)
    Q, V = robot.random(rng, size=50), rng.normal(size=(50, robot.nv))
    c = np.linalg.norm(robot.coriolis(Q, V), norm, axis=1) / np.linalg.norm(V, norm, axis=1) ** 2
    assert c.max() <= found.coriolis.value * (1 + 1e-9)
    assert np.linalg.norm(robot.gravity(Q), norm, axis=1).max() <= found.gravity.value * (1 + 1e-9)
    sizes = np.linalg.norm(robot.mass_matrix(Q), norm, axis=(1, 2))
    assert sizes.max() <= found.mass_upper.value * (1 + 1e-9)
    assert norm == 2 or sizes.min() >= found.mass_lower.value * (1 - 1e-9)
    assert norm != 2 or found.coriolis.value <= found.christoffel.value


def test_impossible_searches_are_refused() -> None:
    robot = hc.load("double_pendulum")
    with pytest.raises(hc.InputError, match="norm is 1, 2 or"):
        bounds(robot, norm=3)
    for arguments in ({"samples": 0}, {"samples": 3, "starts": 4}, {"starts": 0}):
        with pytest.raises(hc.InputError, match="1 <= starts <= samples"):
            bounds(robot, **arguments)


def test_progress_counts_every_search() -> None:
    told: list[tuple[str, float]] = []
    bounds(hc.load("double_pendulum"), samples=5, starts=2, progress=lambda *step: told.append(step))
    assert [done for _, done in told] == [k / 10 for k in range(11)]
    searched = ["μ1", "μ1", "μ2", "μ2", "c_b", "c_b", "g_b", "g_b"]
    searched += ["n² max |Γ|"] * 3
    assert [what for what, _ in told] == [f"Searching {name}" for name in searched]


def test_command_shows_bounds_and_how_they_were_found() -> None:
    result = CliRunner().invoke(app, ["info", "planar_2r", "--bounds"])
    assert result.exit_code == 0, result.output
    assert "33.3107" in result.output
    assert "not certified" in result.output
    assert "not certified" not in CliRunner().invoke(app, ["info", "planar_2r"]).output
