"""Every constraint against its formula in NumPy: rows, their derivatives, bounds, labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.mpc import PlacedCapsule, PlacedSphere, Problem, constraints
from helicoid.mpc.constraints import Constraint
from helicoid.mpc.costs import velocity_cost
from mpc.nodes import FRAMES, Point, evaluate, point, robot, slopes, with_terms

CENTER, NORMAL = np.array([0.7, 0.4, -0.3]), np.array([1.0, 2.0, -2.0])


def tip(kind: str, at: Point, local: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
    T = np.asarray(robot(kind).pose(FRAMES[kind])(at.q))
    return T[:3, :3] @ np.asarray(local) + T[:3, 3]


def to_segment(point: np.ndarray, start: np.ndarray, end: np.ndarray) -> float:
    s = np.clip((point - start) @ (end - start) / ((end - start) @ (end - start)), 0, 1)
    return float(np.linalg.norm(point - start - s * (end - start)))


def goal(kind: str) -> np.ndarray:
    model = robot(kind)
    return np.asarray(model.integrate(model.neutral(), 0.2 * np.ones(model.nv)))


CASES: dict[str, tuple[Any, Any]] = {
    "frame box": (
        lambda s, kind: constraints.frame_box_constraint(s, FRAMES[kind], [-1, -2, -3], 2.0),
        lambda kind, at: 5 * tip(kind, at),
    ),
    "half space": (
        lambda s, kind: constraints.half_space_constraint(s, FRAMES[kind], NORMAL, 0.1),
        lambda kind, at: 5 * NORMAL @ tip(kind, at) / 3,
    ),
    "ball and obstacle": (
        lambda s, kind: constraints.distance_constraint(
            s, PlacedSphere(0.1, (0.1, 0.0, 0.2), FRAMES[kind]), PlacedSphere(0.2, CENTER), 0.05
        ),
        lambda kind, at: 5 * (np.linalg.norm(tip(kind, at, (0.1, 0.0, 0.2)) - CENTER) - 0.3),
    ),
    "capsule and obstacle": (
        lambda s, kind: constraints.distance_constraint(
            s, PlacedCapsule(0.1, (0, 0, 0), (0.3, 0, 0), FRAMES[kind]), PlacedSphere(0.2, CENTER), 0.05
        ),
        lambda kind, at: 5 * (to_segment(CENTER, tip(kind, at), tip(kind, at, (0.3, 0, 0))) - 0.3),
    ),
    "velocity": (
        lambda s, kind: constraints.constraint_on(s, "speed", s["v"], -1, 1, scale=0.5),
        lambda kind, at: 0.5 * at.v,
    ),
    "torque": (
        lambda s, kind: constraints.constraint_on(s, "effort", s["tau"], -1, 1, scale=0.1),
        lambda kind, at: 0.1 * robot(kind).inverse_dynamics(at.q, at.v, at.u),
    ),
    "final configuration": (
        lambda s, kind: constraints.end_constraints(s, q=goal(kind)),
        lambda kind, at: robot(kind).difference(goal(kind), at.q),
    ),
    "final velocity, some": (
        lambda s, kind: constraints.end_constraints(
            s, v=np.arange(robot(kind).nv), mask=np.arange(robot(kind).nv) % 2 == 1
        ),
        lambda kind, at: (at.v - np.arange(robot(kind).nv))[1::2],
    ),
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("name", CASES)
def test_rows_and_their_derivatives(name: str, kind: str, rng: np.random.Generator) -> None:
    make, rows = CASES[name]
    structure = with_terms(kind, lambda s: velocity_cost(s, 1.0, 1.0), lambda s: make(s, kind))
    own = structure.constraints[-1]
    at = point(kind, rng, structure)
    expected = np.atleast_1d(rows(kind, at))
    assert own.size == len(expected) == len(own.labels)
    for last in (False, True):
        node = evaluate(structure, at, at.x, last=last)
        if not (own.at_end if last else own.on_path):
            continue
        places = _places(structure, own, last)
        np.testing.assert_allclose(node.rows[places], expected, rtol=1e-8, atol=1e-8)
        slope = slopes(lambda at: np.atleast_1d(rows(kind, at)), kind, at)
        np.testing.assert_allclose(node.jacobian[places], slope, rtol=1e-5, atol=1e-6)


def _places(structure: Any, own: Constraint, last: bool) -> list[int]:
    from helicoid.mpc.solver.compiled import Compiled

    stages = Compiled(structure, {}).stages
    found = list(enumerate(stages.end_rows if last else stages.path_rows))
    # What bounds a single variable stands first among the rows of a node.
    return [k for k, row in sorted(found, key=lambda one: one[1].element) if row.constraint is own]


def test_limits_of_a_floating_tree_are_those_of_its_joints() -> None:
    """No range for the base, no effort where there is no motor."""
    made = constraints.limit_constraints(with_terms("tree").symbols, position=0.5, velocity=0.5, torque=0.5)
    by_name = {one.name: one for one in made}
    assert by_name["position_limit"].labels == ("shoulder", "hip")
    np.testing.assert_allclose(by_name["position_limit"].lower, [-1.0, -0.125])
    np.testing.assert_allclose(by_name["position_limit"].upper, [1.0, 0.625])
    assert by_name["velocity_limit"].labels == ("shoulder", "hip")
    np.testing.assert_allclose(by_name["velocity_limit"].upper, [5.0, 0.4])
    assert by_name["torque_limit"].labels == ("shoulder", "hip")
    np.testing.assert_allclose(by_name["torque_limit"].lower, [-2.5, -3.5])
    for one in made:  # a row is one at its bound, for ranges about their middle
        half = (one.upper - one.lower) / 2
        np.testing.assert_allclose(one.scale * half / (0.5 if one.name == "position_limit" else 1.0), 1.0)


def test_limits_that_nothing_states_are_no_constraint() -> None:
    free = robot("arm").with_joints(velocity=0.0, effort=np.inf)
    problem = Problem(free, horizon=2, dt=0.1)
    problem.add_limits(position=None)
    assert not problem._structure.constraints


def test_a_motor_without_effort_gives_no_torque() -> None:
    """As the simulation takes it."""
    problem = Problem(robot("arm").with_joints(effort=[0.0, 5.0]), horizon=2, dt=0.1)
    problem.add_limits(position=None, velocity=None)
    (limit,) = problem._structure.constraints
    np.testing.assert_array_equal(limit.upper, [0.0, 5.0])
    np.testing.assert_array_equal(limit.lower, [0.0, -5.0])


@pytest.mark.parametrize("kind", FRAMES)
def test_what_no_motor_drives_has_no_torque(kind: str, rng: np.random.Generator) -> None:
    structure = with_terms(kind, lambda s: velocity_cost(s, 1.0))
    at = point(kind, rng, structure)
    node = evaluate(structure, at, at.x)
    idle = list(robot(kind).unactuated)
    assert len(node.rows) == len(idle) == (0 if kind == "arm" else 6)
    weight = 9.81 * 1.9  # of the tree: its forces count in units of it
    tau = np.asarray(robot(kind).inverse_dynamics(at.q, at.v, at.u))
    np.testing.assert_allclose(node.rows, tau[idle] / weight, rtol=1e-10)


def test_a_contact_holds_by_its_acceleration_and_settles(rng: np.random.Generator) -> None:
    """A a + Ȧ v + 2 s A v + s² e = 0 of a constrained arm; forces press by Aᵀ."""
    free = robot("arm")
    held = free.with_contact("tip", kind="normal", normal=(1, 0, 0), at=[1.0, 0.0, 0.5])
    problem = Problem(held, horizon=2, dt=0.1, stabilisation=7.0)
    problem.add_control_cost(1.0)
    q, v, u = rng.normal(size=2), rng.normal(size=2), rng.normal(size=3)
    node = evaluate(problem._structure, Point(q, v, u, np.zeros(0)), np.concatenate([q, v]))
    A, dt = np.asarray(free.jacobian("tip", "world_aligned")(q))[3, :], 1e-6
    later = np.asarray(free.jacobian("tip", "world_aligned")(q + dt * v))[3, :]
    earlier = np.asarray(free.jacobian("tip", "world_aligned")(q - dt * v))[3, :]
    bias = (later - earlier) @ v / (2 * dt)
    error = free.pose("tip")(q)[0, 3] - 1.0
    expected = A @ u[:2] + bias + 14.0 * A @ v + 49.0 * error
    assert abs(node.rows[0]) == pytest.approx(abs(0.1 * expected), rel=1e-6)
    assert {name: force.numel() for name, force in problem.forces.items()} == {"tip": 3}
    plan_tau = np.asarray(free.inverse_dynamics(q, v, u[:2])) + held.constraint_jacobian(q).T @ u[2:]
    _, tau, forces = problem._compiled.motion(
        np.tile(np.concatenate([q, v]), (3, 1)), np.tile(u, (2, 1)), np.zeros(0)
    )
    np.testing.assert_allclose(tau[0], plan_tau, rtol=1e-10)
    np.testing.assert_allclose(forces["tip"][0], [-u[2], 0, 0], atol=1e-12)


def test_duration_is_bounded_where_it_is_free() -> None:
    problem = Problem(hc.load("planar_2r"), horizon=4, dt=0.1, duration=(0.5, 2.0))
    (own,) = problem._structure.constraints
    assert (own.name, own.on_path, own.at_end) == ("duration", False, True)
    assert (own.lower[0], own.upper[0], own.scale[0]) == (0.5, 2.0, 0.5)
    np.testing.assert_allclose(problem.times, [0, 0.25, 0.5, 0.75, 1])
    assert problem.duration_bounds == (0.5, 2.0) and problem.duration.numel() == 1


def test_distances_without_a_name_are_counted() -> None:
    problem = Problem(hc.load("planar_2r"), horizon=2, dt=0.1)
    for _ in range(2):
        problem.add_distance(PlacedSphere(0.1, link="tip"), PlacedSphere(0.1, CENTER))
    assert [one.name for one in problem._structure.constraints] == ["distance_0", "distance_1"]


@pytest.mark.needs_compiler
def test_a_quadratic_price_alone_is_exceeded_in_part() -> None:
    """As with a small linear price beside it, and above the bound."""
    highest = []
    for soft in ((0.0, 100.0), (1e-2, 100.0)):
        problem = Problem(hc.load("planar_2r"), horizon=15, dt=0.05)
        problem.add_posture_cost([1.0, 0.5], weight=1.0, end_weight=10.0)
        problem.add_velocity_cost(0.1)
        problem.add_control_cost(1e-4)
        problem.add_constraint("first", problem.symbols["q"][0], upper=0.7, soft=soft)
        plan = problem.solve([0.0, 0.0])
        assert plan.success and plan.q is not None
        highest.append(plan.q[:, 0].max())
    assert 0.701 < highest[0] < 0.8
    assert highest[0] == pytest.approx(highest[1], abs=1e-3)
