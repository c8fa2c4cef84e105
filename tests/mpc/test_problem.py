"""Parts of a problem: terms, bounds, parameters, and errors of invalid ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.errors import InputError
from helicoid.mpc import PlacedCapsule, PlacedSphere, Problem
from helicoid.robot.collision import distance
from mpc.problems import START, arm, reset


def test_a_conflict_is_named() -> None:
    """No motor can bring the joints to 5 rad/s within one interval."""
    problem = arm()
    reset(problem)
    problem.set(velocity_limit_lower=5.0, velocity_limit_upper=6.0)
    plan = problem.solve(START)
    assert not plan.success and "infeasible" in plan.message
    assert {v.constraint for v in plan.violations} <= {"velocity_limit", "torque_limit"}
    worst = plan.violations[0]
    assert worst.row in ("joint_1", "joint_2") and worst.amount > 0.1 and str(worst) in plan.message
    ipopt = problem.solve(START, solver="ipopt")
    assert not ipopt.success and ipopt.violations


@pytest.mark.slow
def test_soft_constraints_are_exceeded_when_that_is_cheaper() -> None:
    robot = hc.load("planar_2r")
    wall = robot.pose("tip")(START)[2, 3] - 0.1
    excess = []
    problem = Problem(robot, horizon=8, dt=0.05)
    problem.add_position_cost("tip", [1.2, 0.0, 0.4], 10.0, 100.0)
    problem.add_velocity_cost(0.1, 1.0)
    problem.add_control_cost(1e-4)
    problem.add_half_space("tip", [0, 0, 1], wall, soft=(0.5, 1.0))
    memory = problem._compiled.memory
    for price in (0.1, 1.0, 1e3):
        memory.penalty[...] = price
        plans = [problem.solve(START, solver=s, tolerance=1e-7) for s in ("sqp", "ipopt")]
        assert all(plan.success for plan in plans)
        np.testing.assert_allclose(plans[0].q, plans[1].q, atol=1e-3)
        assert plans[0].q is not None
        excess.append(max(0.0, *(wall - robot.pose("tip")(q)[2, 3] for q in plans[0].q)))
    assert excess[0] > excess[1] > 0.01 and excess[2] < 1e-5


@pytest.mark.slow
def test_an_obstacle_is_avoided() -> None:
    robot = hc.load("planar_2r")
    problem = Problem(robot, horizon=15, dt=0.05)
    problem.add_position_cost("tip", [1.6, 0.0, -0.3], 10.0, 100.0)
    problem.add_velocity_cost(0.1, 1.0)
    problem.add_control_cost(1e-4)
    link = PlacedCapsule(0.05, (-0.4, 0.0, 0.0), (0.0, 0.0, 0.0), link="tip")
    problem.add_distance(link, PlacedSphere(0.2, point=(1.75, 0.0, 0.45)), margin=0.02, name="ball")
    plan = problem.solve(START)
    assert plan.success and plan.q is not None
    nearest = np.inf
    for q in plan.q:
        T = robot.pose("tip")(q)
        ends = [ca.DM(T[:3, :3] @ p + T[:3, 3]) for p in ([-0.4, 0, 0], [0, 0, 0])]
        nearest = min(nearest, float(distance([ca.DM([1.75, 0.0, 0.45])], ends)) - 0.25)
    assert nearest == pytest.approx(0.02, abs=1e-4)
    problem.set(ball_point=[9.0, 0.0, 9.0])
    assert problem.solve(START, guess=plan).cost < plan.cost - 1e-3


@pytest.mark.parametrize("seed", range(5))
def test_distance_of_segments(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, c, d = rng.normal(size=(4, 3))
    grid = np.linspace(0, 1, 201)
    p, q = a + grid[:, None] * (b - a), c + grid[:, None] * (d - c)
    sampled = np.linalg.norm(p[:, None] - q[None], axis=2).min()
    found = float(distance([ca.DM(a), ca.DM(b)], [ca.DM(c), ca.DM(d)]))
    assert found == pytest.approx(sampled, abs=1e-2) and found <= sampled + 1e-6
    point = float(distance([ca.DM(a)], [ca.DM(c), ca.DM(d)]))
    assert point == pytest.approx(np.linalg.norm(a - q, axis=1).min(), abs=1e-2)


def test_parallel_segments() -> None:
    one = [ca.DM([0, 0, 0]), ca.DM([1, 0, 0])]
    for shift, expected in ((0.0, 1.0), (0.5, 1.0), (3.0, np.hypot(2.0, 1.0))):
        other = [ca.DM([shift, 1, 0]), ca.DM([shift + 1, 1, 0])]
        assert float(distance(one, other)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
def test_jerk_cost_and_free_initial_velocity_agree_with_ipopt() -> None:
    problem = Problem(hc.load("planar_2r"), horizon=8, dt=0.05)
    problem.add_posture_cost([0.0, 0.5], 1.0, 10.0)
    problem.add_velocity_cost(0.1, 1.0)
    problem.add_control_rate_cost(1e-4)
    problem.add_control_cost(1e-4)
    problem.set_initial(v=[True, False])
    plans = [problem.solve(START, solver=s, tolerance=1e-8) for s in ("sqp", "ipopt")]
    assert plans[0].cost == pytest.approx(plans[1].cost, rel=1e-6)
    assert plans[0].v is not None and plans[0].v[0, 0] == 0 and abs(plans[0].v[0, 1]) > 0.1


def test_orientation_and_pose_costs_have_their_minimum_at_the_target() -> None:
    robot = hc.load("ur5")
    q, goal = robot.random(0), robot.random(1)
    problem = Problem(robot, horizon=2, dt=0.1)
    link = robot.link_names[-1]
    problem.add_pose_cost(link, robot.pose(link)(goal), 1.0, 1.0)
    problem.add_orientation_cost(link, robot.pose(link)(goal)[:3, :3], 1.0, 1.0)
    problem.add_control_cost(0.0)
    end = problem._compiled.stages.end_values()
    memory = problem._compiled.memory
    costs = [
        float(end(np.concatenate([x, np.zeros(6)]), memory.parameters[-1], memory.constants)[0])
        for x in (q, goal)
    ]
    assert costs[0] > 0.1 and costs[1] < 1e-20


def test_names_of_what_can_be_set() -> None:
    problem = arm()
    reset(problem)
    assert {"position", "position_weight", "position_end_weight", "torque_limit_upper"} <= set(problem.names)
    before = problem.solve(START).cost
    problem.set(position=np.tile([0.4, 0.0, 0.9], (13, 1)))
    assert problem.solve(START).cost == pytest.approx(before, rel=1e-9)
    for wrong, message in (
        ({"positon": [0, 0, 0]}, "there is no 'positon'"),
        ({"position": [0, 0]}, "takes 3 numbers"),
        ({"position": [0, 0, np.nan]}, "finite"),
        ({"torque_limit_upper": [1.0, 2.0, 3.0]}, "takes 2 numbers"),
        ({"position": "there"}, "must be numbers"),
    ):
        with pytest.raises(InputError, match=message):
            problem.set(**wrong)  # type: ignore[arg-type]


def test_wrong_terms_are_refused() -> None:
    robot = hc.load("planar_2r")
    with pytest.raises(InputError, match="horizon"):
        Problem(robot)
    with pytest.raises(InputError, match="either a grid"):
        Problem(robot, horizon=3, grid=[0, 1])
    with pytest.raises(InputError, match="increasing"):
        Problem(robot, grid=[0, 1, 1])
    with pytest.raises(InputError, match="formulation"):
        Problem(robot, horizon=3, dt=0.1, formulation="dynamics")  # type: ignore[arg-type]
    problem = Problem(robot, horizon=3, dt=0.1)
    with pytest.raises(InputError, match="no cost"):
        problem.solve(START)
    with pytest.raises(InputError, match="depends on the control"):
        problem.add_cost("torque", problem.tau, 1.0, end_weight=1.0)
    with pytest.raises(InputError, match="not negative"):
        problem.add_velocity_cost(-1.0)
    problem.add_velocity_cost(1.0)
    with pytest.raises(InputError, match="taken"):
        problem.add_velocity_cost(1.0)
    with pytest.raises(InputError, match="exceed upper"):
        problem.add_constraint("v", problem.v, 1.0, -1.0)
    with pytest.raises(InputError, match="solver is"):
        problem.solve(START, solver="magic")
    with pytest.raises(InputError, match="needs q0"):
        problem.solve([0.0], [0.0])


def test_limits_come_from_the_robot() -> None:
    robot = hc.load("panda")
    problem = Problem(robot, horizon=2, dt=0.1)
    problem.add_control_cost(1.0)
    problem.add_limits(position=0.5, velocity=0.7, torque=0.45)
    by_name = {c.name: c for c in problem._structure.constraints}
    np.testing.assert_allclose(by_name["torque_limit"].upper, 0.45 * robot.limits.effort)
    np.testing.assert_allclose(by_name["velocity_limit"].lower, -0.7 * robot.limits.velocity)
    width = by_name["position_limit"].upper - by_name["position_limit"].lower
    np.testing.assert_allclose(width, 0.5 * (robot.limits.upper - robot.limits.lower))
    rows = problem._compiled.stages.path_rows
    assert sum(row.box is not None for row in rows) == 14 and sum(row.box is None for row in rows) == 7


def test_plot_of_a_plan() -> None:
    problem = arm()
    reset(problem)
    figure = problem.solve(START).plot()
    labels = [axis.get_ylabel() for axis in figure.axes]
    assert labels == ["coordinates (rad, m)", "velocity (rad/s, m/s)", "torque (N·m, N)"]


def test_exported_functions_are_those_of_the_solver(tmp_path: Path) -> None:
    problem = arm()
    reset(problem)
    names = {path.name for path in problem.export_c(tmp_path)}
    assert {"stage.c", "end.c", "problem.h"} <= names
    header = (tmp_path / "problem.h").read_text()
    assert "hessian[6, 6]" in header and "dynamics[4, 6]" in header and "jacobian[2, 6]" in header


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda: Problem("planar_2r", horizon=3, dt=0.1), "hc.load"),  # type: ignore[arg-type]
        (lambda: hc.mpc.Controller(hc.load("planar_2r")), "solves a Problem"),  # type: ignore[arg-type]
        (lambda: Problem(hc.load("planar_2r"), horizon=3, dt=0.1).add("x"), "costs and constraints"),  # type: ignore[arg-type]
    ],
)
def test_arguments_of_a_wrong_type_are_refused(wrong: Callable[[], object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        wrong()


def test_former_names_of_placed_shapes_warn() -> None:
    for name in ("Sphere", "Capsule"):
        with pytest.warns(DeprecationWarning, match=f"hc.mpc.Placed{name}"):
            assert getattr(hc.mpc, name) is getattr(hc.mpc, f"Placed{name}")
