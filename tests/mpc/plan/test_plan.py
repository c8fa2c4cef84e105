"""A plan between its nodes, and in files."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.errors import InputError
from helicoid.mpc import Plan, Violation

H = np.array([0.1, 0.1, 0.2])


@pytest.fixture
def plan(rng: np.random.Generator) -> Plan:
    """Constant accelerations over uneven intervals, as a problem would plan them, and made-up results."""
    robot = hc.load("planar_2r")
    a = rng.normal(size=(3, 2))
    q, v = np.zeros((4, 2)), np.zeros((4, 2))
    q[0], v[0] = rng.normal(size=(2, 2))
    for k, h in enumerate(H):
        q[k + 1], v[k + 1] = q[k] + h * v[k] + h**2 / 2 * a[k], v[k] + h * a[k]
    return Plan(
        t=np.append(0.0, np.cumsum(H)), x=np.hstack([q, v, np.full((4, 1), 0.4)]), u=a, message="solved",
        success=True, iterations=7, cost=1.5, violation=1e-9, gap=2e-9, stationarity=np.nan, seconds=0.1,
        solver="sqp", violations=(Violation("torque_limit", "joint_1", 2, 0.25),), q=q, v=v, a=a,
        tau=rng.normal(size=(3, 2)), forces={"left foot": rng.normal(size=(3, 3))}, robot=robot,
        velocity_limit=np.array([1.0, np.inf]),
    )  # fmt: skip


@pytest.mark.parametrize("known", [True, False])
def test_between_nodes_it_moves_as_planned(plan: Plan, known: bool) -> None:
    assert plan.q is not None and plan.v is not None and plan.a is not None and plan.tau is not None
    plan = plan if known else replace(plan, robot=None)
    now = plan.at(0.27)
    s = 0.07
    np.testing.assert_allclose(now.q, plan.q[2] + s * plan.v[2] + s**2 / 2 * plan.a[2], atol=1e-14)
    np.testing.assert_allclose(now.v, plan.v[2] + s * plan.a[2], atol=1e-14)
    np.testing.assert_array_equal(now.tau, plan.tau[2])
    np.testing.assert_allclose(now.x, np.concatenate([now.q, now.v, [0.4]]), atol=1e-14)
    assert now.t == 0.27


def test_at_its_nodes_it_has_their_values(plan: Plan) -> None:
    all_of_it = plan.at(plan.t)
    np.testing.assert_allclose(all_of_it.x, plan.x, atol=1e-14)
    np.testing.assert_array_equal(all_of_it.tau, plan.tau[[0, 1, 2, 2]])
    np.testing.assert_allclose(plan.at(plan.duration * (1 + 1e-12)).q, plan.q[-1], atol=1e-12)


@pytest.mark.parametrize("t", [-0.01, 0.41, np.nan, [0.1, 7.0]])
def test_times_outside_of_the_plan_are_refused(plan: Plan, t: Any) -> None:
    with pytest.raises(InputError, match=r"goes from 0 to 0\.4 s and says nothing about"):
        plan.at(t)


@pytest.mark.parametrize("t", ["now", [[0.1]]])
def test_times_are_numbers(plan: Plan, t: Any) -> None:
    with pytest.raises(InputError, match="number"):
        plan.at(t)


def test_on_a_manifold(rng: np.random.Generator, plan: Plan) -> None:
    robot = hc.load("quadruped", base="floating")
    q, v = robot.random(rng, size=4), rng.normal(size=(4, robot.nv))
    x = np.hstack([q, v])
    floating = replace(plan, q=q, v=v, x=x, robot=robot, a=v[:-1], tau=v[:-1], u=v[:-1])
    now = floating.at([0.05, 0.3])
    np.testing.assert_allclose(np.linalg.norm(now.q[:, 3:7], axis=1), 1.0, atol=1e-12)
    with pytest.raises(InputError, match="robot="):
        replace(floating, robot=None).at(0.05)


def test_a_file_gives_back_all_of_it(plan: Plan, tmp_path: Path) -> None:
    plan.save(tmp_path / "plan.npz")
    again = Plan.load(tmp_path / "plan.npz", robot=plan.robot)
    for field in fields(Plan):
        ours, theirs = (getattr(one, field.name) for one in (plan, again))
        assert type(ours) is type(theirs), field.name
        if isinstance(ours, dict):
            assert list(ours) == list(theirs)
            np.testing.assert_array_equal(list(ours.values()), list(theirs.values()))
        elif isinstance(ours, np.ndarray | float):
            np.testing.assert_array_equal(ours, theirs)
        else:
            assert ours == theirs or ours is theirs, field.name
    assert Plan.load(tmp_path / "plan.npz").robot is None
    hc.simulate(plan.robot, duration=0.4, dt=0.1, controller=Plan.load(tmp_path / "plan.npz"))


def test_of_an_ode(plan: Plan, tmp_path: Path) -> None:
    bare = replace(
        plan, q=None, v=None, a=None, tau=None, robot=None, forces={}, violations=(), velocity_limit=None
    )
    bare.save(tmp_path / "plan.npz")
    again = Plan.load(tmp_path / "plan.npz")
    assert again.q is None and again.violations == ()
    np.testing.assert_allclose(again.at(0.15).x, (plan.x[1] + plan.x[2]) / 2)


def test_other_files_are_refused(plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "plan.npz"
    with pytest.raises(InputError, match=r"saved as \.npz"):
        plan.save(tmp_path / "plan.pkl")
    with pytest.raises(InputError, match="no folder"):
        plan.save(tmp_path / "nowhere" / "plan.npz")
    plan.save(path)
    with pytest.raises(InputError, match="has the joints"):
        Plan.load(path, robot=hc.load("ur5"))
    with pytest.raises(InputError, match="would expand"):
        Plan.load(path, max_bytes=10)
    content = dict(np.load(path))
    for change, message in (
        ({"format": "other"}, "is no plan"),
        ({"x": np.zeros((2, 2))}, "x is float64 of shape"),
        ({"cost": np.zeros(2)}, "cannot be read as a plan"),
        ({"violations_node": np.zeros(5)}, "cannot be read as a plan"),
        ({"tau": np.zeros((3, 2), complex)}, "tau is complex128"),
    ):
        np.savez(path, **{**content, **change})
        with pytest.raises(InputError, match=message):
            Plan.load(path)
    np.savez(path, **{key: value for key, value in content.items() if key != "message"})
    with pytest.raises(InputError, match="lacks 'message'"):
        Plan.load(path)
    path.write_bytes(b"PK nonsense")
    with pytest.raises(InputError, match=r"plan\.npz"):
        Plan.load(path)
