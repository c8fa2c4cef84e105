"""Self-collision avoidance in model predictive control."""

from __future__ import annotations

import copy

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.errors import InputError
from robot.collision.arms import capsule_arm, collision, urdf

MARGIN = 0.03
Q0, GOAL = np.array([0.3, 1.7, 1.7]), np.array([0.3, -2.1, -2.1])


def folding(apart: bool, **options: object) -> hc.mpc.Problem:
    """An arm that is folded to one side and shall fold to the other, so far that it would meet itself."""
    problem = hc.mpc.Problem(capsule_arm(3), horizon=20, dt=0.05)
    problem.add_posture_cost(GOAL, 5.0, 50.0)
    problem.add_velocity_cost(0.05, 1.0)
    problem.add_control_cost(1e-3)
    if apart:
        problem.add_self_collision(MARGIN, **options)  # type: ignore[arg-type]
    return problem


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_the_plan_keeps_its_distance() -> None:
    capsules = capsule_arm(3).capsules()
    assert capsules.distances(GOAL).min() < -0.01
    plan = folding(True).solve(Q0)
    assert plan.success and not plan.violations and plan.q is not None
    assert capsules.distances(plan.q).min() > MARGIN - 1e-6
    # It goes as far as it can: the margin is what stops it.
    assert capsules.distances(plan.q[-1]).min() < MARGIN + 1e-3 and np.linalg.norm(plan.q[-1] - GOAL) < 0.3


def test_derivatives_are_those_of_the_distance(rng: np.random.Generator) -> None:
    problem = folding(True)
    system, (constraint,) = problem.system, problem._structure.constraints
    robot = problem.robot
    assert robot is not None
    d, J = system.resolve([constraint.expression, system.differentiate(constraint.expression)])
    slope = ca.jacobian(d, ca.vertcat(system.u, system.x))
    values = ca.Function("f", [system.x, system.u], [d, J, slope])
    for q in robot.random(rng, 3):
        found, ours, theirs = (np.array(one) for one in values(np.append(q, np.zeros(3)), np.zeros(3)))
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
        numbers = [robot.capsules().pairs.index(pair) for pair in robot.capsules().could_meet(MARGIN)]
        np.testing.assert_allclose(found.ravel(), robot.capsules().distances(q)[numbers], atol=1e-12)


def test_labels_bounds_and_ends() -> None:
    (constraint,) = folding(True)._structure.constraints
    assert constraint.labels == ("link_0 and link_2", "link_0 and link_3", "link_1 and link_3")
    assert constraint.at_end and np.all(constraint.lower == MARGIN)
    (fewer,) = folding(True, ignore=[("link_3", "link_0")])._structure.constraints
    assert fewer.labels == ("link_0 and link_2", "link_1 and link_3")
    assert "self_collision_lower" in folding(True).names


def test_a_copy_has_it_too() -> None:
    problem = folding(True)
    problem.add_control_rate_cost(1e-4)  # more state comes after it
    again = copy.deepcopy(problem)
    q = np.array([0.1, 0.5, -0.7])
    for one in (problem, again):
        system, constraint = one.system, one._structure.constraints[0]
        rows = system.resolve([constraint.expression, system.differentiate(constraint.expression)])
        values = ca.Function("f", [system.x, system.u], rows)(np.append(q, np.zeros(6)), np.zeros(3))
        assert values[1].shape == (3, 12)
        if one is problem:
            first = values
        np.testing.assert_allclose(np.array(values[0]), np.array(first[0]))


def test_what_does_not_fit_is_refused() -> None:
    problem = folding(False)
    with pytest.raises(InputError, match="no link 'hand' to ignore"):
        problem.add_self_collision(ignore=[("hand", "link_1")])
    with pytest.raises(InputError, match="margin"):
        problem.add_self_collision(margin=-0.1)
    with pytest.raises(InputError, match="capsules are those of this robot"):
        problem.add_self_collision(capsules=hc.load("planar_2r").capsules("visual"))
    with pytest.raises(InputError, match="would be empty"):
        problem.add_self_collision(ignore=[("link_0", "link_2"), ("link_0", "link_3"), ("link_3", "link_1")])
    two = hc.mpc.Problem(hc.load(urdf([collision('<sphere radius="0.01"/>')] * 2)), horizon=3, dt=0.1)
    with pytest.raises(InputError, match=r"can come within 0\.02 m of each other"):
        two.add_self_collision()
    with pytest.raises(InputError, match="has no collision geometry"):
        hc.mpc.Problem(hc.load("panda"), horizon=3, dt=0.1).add_self_collision()
