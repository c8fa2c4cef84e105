"""Friction cones of contacts, and forces by name."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid import HelicoidError
from helicoid.mpc import Problem
from mpc.nodes import Point, evaluate

WALL = {"normal": (-1.0, 0.0, 0.0)}  # the wall is in front: it pushes back
CLOSED = np.array([0.4, 0.7, -0.3])
FREE = hc.serial_chain(3)


def pressed(kind: str = "point", **options: object) -> hc.Robot:
    """A chain of three joints whose tool touches a wall."""
    return FREE.with_contact("tool0", kind=kind, q=CLOSED, **WALL, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "formulation"),
    [("point", "inverse_dynamics"), ("surface", "inverse_dynamics"), ("point", "forward_dynamics")],
)
def test_forces_in_the_world_balance_the_robot(kind: str, formulation: str, rng: np.random.Generator) -> None:
    """M a + h = τ + Jᵀ w of the free robot, w = (n, f) the wrench of the wall, in the world's axes."""
    problem = Problem(pressed(kind), horizon=2, dt=0.1, formulation=formulation)  # type: ignore[arg-type]
    q, v = CLOSED, rng.normal(size=3)
    x, u = np.tile(np.concatenate([q, v]), (3, 1)), rng.normal(size=(2, problem.u.numel()))
    a, tau, forces = problem._compiled.motion(x, u, np.zeros(0))
    again, as_well = problem._compiled.planned(x, u, np.zeros(0))
    np.testing.assert_allclose(again, a, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(as_well["tool0"], forces["tool0"], rtol=1e-12, atol=1e-12)
    wrench = np.zeros(6)
    wrench[-forces["tool0"].shape[1] :] = forces["tool0"][0]
    assert np.any(wrench)
    J = np.asarray(FREE.jacobian("tool0", "world_aligned")(q))
    left = np.asarray(FREE.inverse_dynamics(q, v, a[0])) - J.T @ wrench
    np.testing.assert_allclose(left, tau[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("kind", "count"), [("pyramid", 5), ("cone", 2)])
def test_the_rows_of_cones_are_those_of_coulomb(kind: str, count: int, rng: np.random.Generator) -> None:
    """What is inside of the rows is inside of |f_t| ≤ μ f_n; the smooth cone is all of it but its tip."""
    robot, μ = pressed(), 0.5
    weight = 9.81 * robot.mass
    problem = Problem(robot, horizon=2, dt=0.1)
    problem.add_friction_cone(friction=μ, kind=kind)  # type: ignore[arg-type]
    problem.add_control_cost(1.0)
    R = np.asarray(robot.constraints[0].placement_a.rotation)  # type: ignore[attr-defined]
    own = [k for k, row in enumerate(problem._compiled.stages.path_rows) if "cone" in row.constraint.name]
    assert len(own) == count
    inside = 0
    for _ in range(40):
        f = weight * rng.normal(size=3) - [2 * weight, 0, 0]  # on the robot, in the world: the normal is -x
        at = Point(CLOSED, np.zeros(3), np.concatenate([np.zeros(3), -R.T @ f]), np.zeros(0))
        rows = evaluate(problem._structure, at, np.concatenate([at.q, at.v])).rows[own]
        n, t = -f[0] / weight, np.hypot(f[1], f[2]) / weight
        assert rows[0] == pytest.approx(n)
        if kind == "pyramid":
            across = np.abs(R[:, :2].T @ f) / weight
            assert rows[1:].min() == pytest.approx(μ * n / np.sqrt(2) - across.max())
        else:
            assert rows[1] == pytest.approx(μ * n - np.sqrt(t**2 + 1e-6))
        fits = bool(np.all(rows >= 0))
        assert not fits or (n >= 0 and t <= μ * n)
        inside += fits
    assert 0 < inside < 40


def test_friction_changes_at_run_time_and_what_is_no_contact_is_reported() -> None:
    problem = Problem(pressed(name="wall"), horizon=2, dt=0.1)
    problem.add_control_cost(1.0)
    problem.add_friction_cone("wall", 0.6)
    problem.set(wall_friction=0.2)
    assert "wall_cone_lower" in problem.names
    for call, said in [
        (lambda: problem.forces["floor"], "no contact 'floor'; there are: wall"),
        (lambda: problem.add_friction_cone("floor"), "there are: wall"),
        (lambda: problem.add_friction_cone(friction=-1.0), "positive"),
        (lambda: problem.add_friction_cone(kind="ice"), "pyramid"),  # type: ignore[arg-type]
        (lambda: Problem(hc.load("planar_2r"), horizon=2, dt=0.1).add_friction_cone(), "has no contacts"),
    ]:
        with pytest.raises(HelicoidError, match=said):
            call()
