"""Contact phases: schedules on a grid, plans that follow them, controllers that advance along them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from helicoid import HelicoidError
from helicoid.mpc import Controller, Phase, Problem
from helicoid.mpc.phases import ContactSchedule
from mpc.legged import FLY, STAND, check_plan, hop, hopper

A, B = ("left",), ("right",)
WALK = [
    Phase(0.2, A),
    Phase(0.1, A + B),
    Phase(0.2, B, steps={"right": (0.5, np.nan, 0.1)}),
    Phase(0.1, A + B),
]


def test_a_schedule_gives_the_active_contacts_at_the_nodes_of_a_grid() -> None:
    nodes = ContactSchedule.of(WALK, cyclic=False, radius=0.0).nodes(np.arange(7) * 0.1)
    left = np.array([1, 1, 1, 0, 0, 1, 1], bool)
    np.testing.assert_array_equal(nodes.holding[:, 0], left)
    np.testing.assert_array_equal(nodes.holding[:, 1], [0, 0, 1, 1, 1, 1, 1])
    np.testing.assert_array_equal(nodes.touching[:, 0], [1, 1, 1, 1, 0, 1, 1])  # it lifts off at node 3
    np.testing.assert_array_equal(np.flatnonzero(nodes.landing[:, 1]), [2])
    np.testing.assert_array_equal(np.flatnonzero(nodes.rise[:, 0, 0]), [4])  # in the middle of its swing
    np.testing.assert_allclose(nodes.rise[4, 0], [1, 0, 1], atol=1e-12)


def test_a_gait_begins_again_and_a_jump_ends_in_its_last_phase() -> None:
    late = np.arange(13) * 0.1
    cyclic = ContactSchedule.of(WALK, cyclic=True, radius=0.0)
    np.testing.assert_array_equal(cyclic.nodes(late).holding[:6], cyclic.nodes(late).holding[6:12])
    np.testing.assert_array_equal(cyclic.at(0.3).nodes(late).holding[:9], cyclic.nodes(late).holding[3:12])
    np.testing.assert_allclose(cyclic.at(60.3).nodes(late).rise, cyclic.at(0.3).nodes(late).rise, atol=1e-9)
    assert ContactSchedule.of(WALK, cyclic=False, radius=0.0).nodes(late).holding[6:].all()


def test_steps_are_where_feet_land_and_swings_lead_there() -> None:
    walk = [Phase(0.2, A + B), Phase(0.2, A), Phase(0.2, A + B, steps={"right": (0.5, np.nan, 0.1)})]
    nodes = ContactSchedule.of(walk, cyclic=False, radius=0.0).nodes(np.arange(13) * 0.05)
    (at,) = np.flatnonzero(nodes.landing[1:, 1]) + 1
    assert at == 8
    np.testing.assert_array_equal(nodes.steps[at, 1], [0.5, np.nan, 0.1])
    line, bump = nodes.rise[5:8, 1, 1], nodes.rise[5:8, 1, 2]
    assert np.all(np.diff(line) > 0) and line[0] > 0 and line[-1] < 0.1
    np.testing.assert_allclose(bump, [0.5625, 1.0, 0.5625])
    np.testing.assert_array_equal(nodes.floor[5:8, 1], 0.0)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Phase(-1.0, A), "positive time"),
        (lambda: Phase(float("nan"), A), "positive time"),
        (lambda: Phase(0.1, "left"), "are names"),  # type: ignore[arg-type]
        (lambda: Phase(0.1, A, steps={"right": (0, 0, 0)}), "not in stance"),
        (lambda: Phase(0.1, A, steps={"left": (0, 0)}), r"is \(x, y, z\)"),
        (lambda: ContactSchedule.of([], False, 0.0), "list of hc.mpc.Phase"),
        (lambda: ContactSchedule.of([0.1], False, 0.0), "0.1 among them"),  # type: ignore[list-item]
        (lambda: ContactSchedule.of([Phase(np.inf, A), STAND], False, 0.0), "only the last"),
        (lambda: ContactSchedule.of([Phase(np.inf, A)], True, 0.0), "not of a cyclic"),
        (lambda: ContactSchedule.of([FLY], False, 0.0), "no phase has a contact"),
        (lambda: ContactSchedule.of(WALK, False, -1.0), "foot_radius"),
        (lambda: Problem(hopper()[0], dt=0.1, phases=[Phase(0.2, ("toe",))]), "toe"),
        (lambda: Problem(hopper()[0], dt=0.1, phases=[Phase(np.inf, ("foot",))]), "horizon"),
        (lambda: _of_hopper(formulation="forward_dynamics"), "inverse_dynamics"),
        (lambda: _of_hopper(duration=(0.1, 1.0)), "not free"),
        (lambda: Problem(hopper()[0], dt=0.1, horizon=2).add_swing_cost(0.1, 1.0), "phases"),
        (lambda: hop().set(phases=[Phase(0.2, ("toe",))]), "toe stand in no phase"),
        (lambda: hop().set(phases=3), "list of hc.mpc.Phase"),
        (lambda: hop().set(phase_time=np.nan), "finite number"),
        (lambda: hop().set(foot_force_lower=3.0), "there is no 'foot_force_lower'"),
    ],
)
def test_invalid_schedules_are_reported(make: Any, said: str) -> None:
    with pytest.raises(HelicoidError, match=said):
        make()


def _of_hopper(**options: Any) -> Problem:
    return Problem(hopper()[0], dt=0.1, phases=[STAND], **options)


def test_a_leg_jumps_as_mechanics_has_it() -> None:
    """Forces only on the ground, pushing, inside the cone; in the air the center of mass falls freely."""
    robot, q = hopper()
    plan = hop().solve(q)
    assert plan.success and plan.q is not None, plan
    stands = np.repeat([True, False, True], 5)
    check_plan(robot, plan, {"foot": stands})
    height = np.asarray(robot.center_of_mass(plan.q))[5:11, 2]
    np.testing.assert_allclose(np.diff(height, 2) / 0.04**2, -9.81, rtol=0.02)
    z = np.asarray(robot.pose("foot")(plan.q))[:, 2, 3]
    assert 0.01 < z[5:11].max() < 0.06  # near the height that was asked for


def test_phases_and_steps_change_without_building_again() -> None:
    robot, q = hopper()
    problem = hop()
    engine = problem._compiled.engine
    far = Phase(0.2, ("foot",), steps={"foot": (0.16, np.nan, 0.05)})
    try:
        problem.set(phases=[Phase(0.16, ("foot",)), Phase(0.24), far])
        plan = problem.solve(q)
        assert plan.success and plan.q is not None, plan
        np.testing.assert_allclose(plan.forces["foot"][4:10], 0.0, atol=1e-4)
        assert plan.forces["foot"][10:, 2].max() > 10.0
        np.testing.assert_allclose(robot.pose("foot")(plan.q[10])[[0, 2], 3], [0.16, 0.05], atol=1e-5)
        twin = pickle.loads(pickle.dumps(problem))
        np.testing.assert_array_equal(twin._compiled.memory.lower, problem._compiled.memory.lower)
    finally:
        problem.set(phases=[STAND, FLY, STAND])
    assert problem._compiled.engine is engine
    assert {"phases", "phase_time", "ground_height", "swing_height", "foot_friction"} <= set(problem.names)


def test_a_controller_advances_along_its_contact_phases() -> None:
    """From standing over the jump to standing again: at every step the bounds are those of its time."""
    robot, q = hopper()
    controller = Controller(hop())
    v, heights = np.zeros(4), []
    for k in range(14):
        controller.step(q, v)
        assert controller.ok, (k, controller.message)
        plan = controller.plan
        assert plan.q is not None and plan.v is not None
        here = copy.deepcopy(hop())
        here.set(phase_time=k * 0.04)
        np.testing.assert_allclose(controller._memory.lower, here._compiled.memory.lower, atol=1e-9)
        flying = [i for i in range(15) if 5 <= i + k < 10]
        np.testing.assert_allclose(plan.forces["foot"][flying], 0.0, atol=1e-2)
        q, v = plan.q[1], plan.v[1]
        heights.append(float(robot.pose("foot")(q)[2, 3]))
    assert max(heights[4:9]) > 0.01 and abs(heights[-1]) < 2e-3


def test_a_period_that_is_not_the_grids() -> None:
    """Times of phases are rounded to nodes: a few iterations follow where they jump."""
    robot, q = hopper()
    controller, v, place = Controller(hop(), period=0.01, iterations=3), np.zeros(4), []
    for _ in range(58):
        controller.step(q, v)
        assert controller.ok, controller.message
        plan = controller.plan
        assert plan.a is not None
        q, v = q + 0.01 * v + 0.5e-4 * plan.a[0], v + 0.01 * plan.a[0]
        place.append(np.asarray(robot.pose("foot")(q))[[0, 2], 3])
    assert np.array(place)[20:40, 1].max() > 0.01 and np.abs(place[-1][1]) < 5e-3 and place[-1][0] > 0.05


def test_a_foot_that_lands_in_one_interval_comes_to_rest_where_it_is() -> None:
    """From a given state one acceleration sets its velocity or its place, not both."""
    problem = copy.deepcopy(hop())
    rows = {row.label: k for k, row in enumerate(problem._compiled.stages.path_rows)}
    place, rest = rows["foot_position: z"], rows["foot_velocity: z"]
    memory = problem._compiled.memory
    for node in (1, 2):
        problem.set(phase_time=0.4 - node * 0.04)
        assert memory.lower[node, rest] == memory.upper[node, rest] == 0.0
        assert (memory.lower[node, place] == 0.0) == (memory.upper[node, place] == 0.0) == (node > 1)
    problem.set_initial(q=False)  # then it may begin where it should be
    problem.set(phase_time=0.36)
    memory = problem._compiled.memory
    assert memory.lower[1, place] == memory.upper[1, place] == 0.0


def test_phases_set_on_a_controller_apply_from_its_next_step() -> None:
    _, q = hopper()
    controller = Controller(hop())
    controller.step(q, np.zeros(4))
    controller.step(q, np.zeros(4))
    controller.set(phase_time=0.12)
    controller.step(q, np.zeros(4))
    assert controller._memory.schedule is not None
    assert controller._memory.schedule.time == pytest.approx(0.12)
    controller.set(phases=[Phase(np.inf, ("foot",))])
    controller.step(q, np.zeros(4))
    assert controller._memory.schedule.time == pytest.approx(0.0)
    assert controller.plan.forces["foot"][:, 2].min() > 1.0
    before = controller._memory.lower.copy()
    with pytest.raises(HelicoidError):
        controller.set(phases="trot", swing_height=0.1)
    np.testing.assert_array_equal(controller._memory.lower, before)
    twin = copy.deepcopy(controller)
    assert twin._memory.schedule is not None and twin._memory.schedule.phases[0].duration == np.inf


def test_a_jump_is_the_one_that_ipopt_finds() -> None:
    _, q = hopper()
    ours, theirs = hop().solve(q), hop().solve(q, solver="ipopt")
    assert ours.success and theirs.success, (ours, theirs)
    assert ours.cost == pytest.approx(theirs.cost, rel=1e-5)
