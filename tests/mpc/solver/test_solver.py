"""Our solver against ipopt and fatrop, and its optimality checked without any of its code."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import helicoid as hc
from helicoid.errors import CompileError
from helicoid.mpc import Controller, Problem
from mpc.problems import FORMULATIONS, START, arm, reset

UNIT = st.floats(-1, 1)
FREE_BODY = """
<robot name="free_body">
  <link name="base"><inertial><mass value="1"/>
    <inertia ixx="0.1" iyy="0.2" izz="0.3" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0 0 0.3"/><mass value="0.5"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="5" velocity="10"/></joint>
</robot>"""


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_limits_become_active_and_all_solvers_agree(formulation: str) -> None:
    problem = arm(formulation)
    reset(problem)
    tolerances = {"sqp": 1e-9, "ipopt": 1e-9, "fatrop": 1e-7}
    plans = [problem.solve(START, solver=s, tolerance=e) for s, e in tolerances.items()]
    for plan in plans:
        assert plan.success and plan.violation < 1e-7 and plan.gap < 1e-7
        assert plan.cost == pytest.approx(plans[0].cost, rel=1e-6)
        np.testing.assert_allclose(plan.q, plans[0].q, atol=1e-5)
    assert plans[0].tau is not None and plans[0].v is not None
    assert np.isclose(np.abs(plans[0].tau).max(), 40, rtol=1e-6)
    assert np.isclose(np.abs(plans[0].v).max(), 2, rtol=1e-6)


@given(st.tuples(UNIT, UNIT), st.tuples(UNIT, UNIT), st.tuples(UNIT, UNIT), st.floats(0.7, 3.0))
def test_random_starts_targets_and_limits(
    q: tuple[float, float], v: tuple[float, float], target: tuple[float, float], limit: float
) -> None:
    problem = arm()
    reset(problem)
    problem.set(position=[0.6 + 0.4 * target[0], 0.0, 0.8 + 0.4 * target[1]], posture=[q[0], 1.2 + q[1]])
    problem.set(velocity_limit_lower=-limit, velocity_limit_upper=limit)
    start = np.array([q[0], 1.2 + 0.8 * q[1]])
    ours = problem.solve(start, 0.5 * np.array(v), tolerance=1e-8)
    theirs = problem.solve(start, 0.5 * np.array(v), solver="ipopt", tolerance=1e-8, guess=ours)
    assert ours.success and theirs.success
    assert ours.cost == pytest.approx(theirs.cost, rel=1e-5, abs=1e-7)


def test_optimality_conditions_by_finite_differences() -> None:
    """∇_u (cost + Σ λ row) = 0 along the dynamics, λ ≥ 0, λ (bound - row) = 0, from the robot's functions."""
    problem, robot = arm(), arm().robot
    reset(problem)
    plan = problem.solve(START, tolerance=1e-9)
    assert robot is not None
    pose, h, N = robot.pose("tip"), 0.05, problem.intervals
    memory = problem._compiled.memory

    def cost_and_rows(u: np.ndarray) -> tuple[float, np.ndarray]:
        q, v, total, rows = START, np.zeros(2), 0.0, np.full((N + 1, 4), np.nan)
        for k in range(N + 1):
            end = k == N
            p = pose(q)[:3, 3] - memory.parameters[0, :3]
            weights = (100.0, 0.1, 2.0) if end else (10.0, 0.1, 0.1)
            residuals = (p, q - [0.0, 0.5], v)
            cost = 0.5 * sum(w * (r @ r) for w, r in zip(weights, residuals, strict=True))
            rows[k, :2] = v / 2
            if not end:
                tau = robot.inverse_dynamics(q, v, u[k])
                rows[k, 2:] = tau / 40
                cost += 0.5e-3 * np.sum((tau - robot.gravity(q)) ** 2)
                q = q + h * v + h**2 / 2 * u[k]
                v = v + h * u[k]
            total += cost * (1 if end else h)
        return total, rows

    cost, rows = cost_and_rows(plan.u)
    assert cost == pytest.approx(plan.cost, rel=1e-12)
    multiplier = problem._compiled.engine["multiplier"].reshape(N + 1, 2, -1)[:, :, :4]
    assert multiplier.min() > -1e-12 and multiplier.max() > 0.01
    used = np.isfinite(rows)
    used[0, :2] = False
    assert np.abs(multiplier[:, 1] * (1 - rows))[used].max() < 1e-6
    assert np.abs(multiplier[:, 0] * (1 + rows))[used].max() < 1e-6
    weights = np.where(used, multiplier[:, 1] - multiplier[:, 0], 0.0)

    def lagrangian(u: np.ndarray) -> float:
        cost, rows = cost_and_rows(u)
        return cost + float(np.sum(weights * np.where(used, rows, 0.0)))

    for k in range(N):
        for i in range(2):
            step = np.zeros_like(plan.u)
            step[k, i] = 1e-4
            slope = (lagrangian(plan.u + step) - lagrangian(plan.u - step)) / 2e-4
            assert abs(slope) < 1e-6


def test_weights_of_any_size() -> None:
    problem = arm()
    reset(problem)
    before = problem.solve(START)
    path = {"position_weight": 10.0, "posture_weight": 0.1, "velocity_weight": 0.1, "torque_weight": 1e-3}
    end = {"position_end_weight": 100.0, "posture_end_weight": 0.1, "velocity_end_weight": 2.0}
    for factor in (1e-5, 1e5, 1.0):
        problem.set(**{name: factor * weight for name, weight in {**path, **end}.items()})
        plan = problem.solve(START)
        assert plan.success
        assert plan.cost == pytest.approx(factor * before.cost, rel=1e-5)


@pytest.mark.slow
def test_time_optimal_motion_of_a_double_integrator() -> None:
    """From rest to rest over a distance d with |u| ≤ 1: T = 2 √d, bang-bang."""
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    problem = Problem.from_ode(x, u, ca.vertcat(x[1], u), horizon=20, dt=0.1, duration=(0.1, 20.0))
    problem.add_constraint("force", u, -1, 1)
    problem.set_end(x=[1.0, 0.0])
    problem.add_cost("time", problem.duration, 0.0, end_weight=1.0, square=False)
    for distance in (1.0, 4.0, 0.25):
        problem.set(end_x=[distance, 0.0])
        plan = problem.solve([0.0, 0.0])
        assert plan.success
        assert plan.duration == pytest.approx(2 * np.sqrt(distance), rel=1e-4)
        np.testing.assert_allclose(plan.u[:10], 1, atol=1e-3)
        np.testing.assert_allclose(plan.u[10:], -1, atol=1e-3)


@pytest.mark.slow
def test_swing_up_of_a_double_pendulum() -> None:
    robot = hc.load("double_pendulum")
    problem = Problem(robot, horizon=60, dt=0.05)
    problem.add_posture_cost([np.pi, 0.0], 0.1, 100.0)
    problem.add_velocity_cost(0.01, 10.0)
    problem.add_torque_cost(1e-3, reference=[0.0, 0.0])
    problem.add_constraint("torque_limit", problem.tau, -6.0, 6.0, scale=1 / 6, labels=robot.joint_names)
    # The shoulder is too weak to lift it at once: holding it level takes more than twice the limit.
    assert robot.gravity([np.pi / 2, 0.0])[0] > 12
    plan = problem.solve([0.0, 0.0])
    assert plan.success and plan.q is not None and plan.v is not None and plan.tau is not None
    np.testing.assert_allclose(plan.q[-1], [np.pi, 0.0], atol=0.05)
    np.testing.assert_allclose(plan.v[-1], 0.0, atol=0.1)
    assert np.abs(plan.tau).max() < 6 + 1e-4


@pytest.mark.slow
def test_floating_base_steps_on_the_manifold() -> None:
    """A free body with an arm turns itself by its arm; the solvers agree though their states differ."""
    robot = hc.load(FREE_BODY, base="floating")
    start = robot.integrate(robot.neutral(), np.array([0.4, -0.2, 0.3, 0.0, 0.0, 0.0, 0.0]))
    problem = Problem(robot, horizon=8, dt=0.05, formulation="forward_dynamics")
    turned = robot.pose("base")(problem.q)
    problem.add_cost("lean", turned[0, 2] - 0.2, 10.0, 100.0)
    problem.add_velocity_cost(1e-3)
    problem.add_control_cost(1e-2)
    ours = problem.solve(start, tolerance=1e-7)
    theirs = problem.solve(start, solver="ipopt", tolerance=1e-9)
    assert ours.success and ours.q is not None
    assert ours.cost == pytest.approx(theirs.cost, rel=1e-6)
    np.testing.assert_allclose(np.linalg.norm(ours.q[:, 3:7], axis=1), 1, atol=1e-12)
    stretched = start.copy()
    stretched[3:7] *= 1.01
    assert problem.solve(stretched, tolerance=1e-7).cost == pytest.approx(ours.cost, rel=1e-9)
    broken = start.copy()
    broken[3:7] = 0.0
    with pytest.raises(hc.InputError, match="quaternions in q0"):
        problem.solve(broken)
    controller = Controller(problem)
    controller.step(start, np.zeros(7))
    assert controller.ok
    tau = controller.step(broken, np.zeros(7))
    assert not controller.ok and "quaternion" in controller.message and np.isfinite(tau).all()


def test_without_a_compiler_it_says_what_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("helicoid.mpc.solver.kernels.compile_runtime", _no_compiler)
    problem = Problem(hc.load("planar_2r"), horizon=2, dt=0.05)
    problem.add_posture_cost([0.0, 0.5], 1.0, 1.0)
    problem.add_control_cost(1e-3)
    with pytest.raises(hc.HelicoidError, match=r"no compiler here.*solver='ipopt'"):
        problem.solve(START)
    assert problem.solve(START, solver="ipopt").success


def test_a_cost_that_c_cannot_look_into_is_named() -> None:
    """A call of a compiled function gives its value, but nothing of it can become part of the solver."""
    problem = Problem(hc.load("planar_2r"), horizon=2, dt=0.05)
    problem.add_velocity_cost(1.0)
    q = ca.SX.sym("q", 2)
    called = ca.Function("closed", [q], [ca.sin(q)], {"never_inline": True})  # as a casadi_external is
    problem.add_cost("held", called(problem.q), 1e-3)
    with pytest.raises(CompileError, match=r"cost 'held' calls a function.*robot.gravity\(problem.q\)"):
        problem.solve(START)


def test_progress_is_reported() -> None:
    problem = arm()
    reset(problem)
    told: list[tuple[str, float]] = []
    problem.solve(START, progress=lambda what, done: told.append((what, done)))
    assert told[-1][1] == 1.0 and told[-1][0].startswith("Solving")


def _no_compiler(*_: object, **__: object) -> None:
    raise CompileError("no compiler here")


@pytest.mark.slow
def test_contact_forces_are_controls_of_a_constrained_robot() -> None:
    """An arm whose tip stands on a wall: the plan keeps it there, and τ = ID + Aᵀ λ."""
    free = hc.load("planar_2r")
    q0 = np.array([0.4, 1.0])
    robot = free.with_contact("tip", kind="normal", normal=(1, 0, 0), at=free.pose("tip")(q0)[:3, 3])
    problem = Problem(robot, horizon=10, dt=0.05)
    problem.add_cost("height", robot.pose("tip")(problem.q)[2, 3] - 1.3, 100.0, 100.0)
    problem.add_velocity_cost(0.1, 1.0)
    problem.add_torque_cost(1e-3, reference=[0.0, 0.0])
    plan, other = problem.solve(q0), problem.solve(q0, solver="ipopt")
    assert plan.success and plan.cost == pytest.approx(other.cost, rel=1e-5)
    assert plan.q is not None and plan.v is not None and plan.a is not None and plan.tau is not None
    error = [np.abs(robot.constraint_position(q)).max() for q in plan.q]
    assert max(error) < 2e-3
    k = 3
    force = plan.forces["tip"][k]  # of the wall on the arm, along its normal only
    np.testing.assert_allclose(force[1:], 0.0, atol=1e-9)
    expected = free.inverse_dynamics(plan.q[k], plan.v[k], plan.a[k])
    expected = expected - free.jacobian("tip", "world_aligned")(plan.q[k])[3:].T @ force
    np.testing.assert_allclose(plan.tau[k], expected, atol=1e-9)
