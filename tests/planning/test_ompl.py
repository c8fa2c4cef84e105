"""Planners of OMPL over the same space and checks; where OMPL is installed."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.planning import AxisConstraint, OMPLSetup, Planner
from planning.arms import arm_urdf
from planning.test_queries import GOAL, START
from planning.test_spaces import BALL, boxed

geometric = pytest.importorskip("ompl.geometric")
pytestmark = pytest.mark.needs_compiler
CHECKS = np.linspace(0, 1, 300)[:, None]


@pytest.mark.parametrize("name", ["RRTConnect", "KPIECE1", "BITstar", "PRM"])
def test_planners_of_ompl_find_free_paths(planner: Planner, scene: hc.Scene, name: str) -> None:
    planner.update(scene)
    assert not planner.edges_free(START, GOAL)[0]
    path = OMPLSetup(planner).plan(START, GOAL, getattr(geometric, name), time_limit=1.0)
    assert path.success, path.message
    np.testing.assert_array_equal(path.q[[0, -1]], [START, GOAL])
    for a, b in zip(path.q, path.q[1:], strict=False):
        assert not planner.in_collision(a + CHECKS * (b - a)).any()
    motion = path.timed(velocity=2.0, acceleration=8.0, torque=np.inf)
    assert not planner.in_collision(motion.q).any()


def test_a_change_of_the_scene_counts(planner: Planner, scene: hc.Scene) -> None:
    planner.update(None)
    setup = OMPLSetup(planner)
    assert len(setup.plan(START, GOAL).q) == 2
    planner.update(scene)
    path = setup.plan(START, GOAL)
    assert path.success and len(path.q) > 2
    inside = planner.plan([0.45, 0, 0, 0], GOAL)
    assert setup.plan([0.45, 0, 0, 0], GOAL).message == inside.message


def test_states_are_configurations(planner: Planner) -> None:
    floating = Planner(hc.load(BALL, base="floating"), boxed(), bounds=([-1.5] * 7, [1.5] * 7))
    turning = Planner(hc.load(arm_urdf(2, "continuous")), weights=[1.0, 2.0])
    q = np.array([0.5, 0.1, -0.2, 0.5, -0.5, 0.5, 0.5])
    for one, at in ((floating, q), (turning, np.array([3.0, -2.0])), (planner, GOAL)):
        setup = OMPLSetup(one)
        np.testing.assert_allclose(setup.configuration(setup.state(at)), at, atol=1e-15)
    path = OMPLSetup(floating).plan([-1.0, 0, 0, 1, 0, 0, 0], [1.0, 0, 0, 0, 0, 0, 1], time_limit=5.0)
    assert path.success, path.message
    assert floating.edges_free(path.q[:-1], path.q[1:]).all()
    over = OMPLSetup(turning).plan([3.0, 0.0], [-3.0, 0.0])  # the shorter way, over half a turn
    np.testing.assert_allclose(np.abs(np.diff(over.q[[0, -1], 0])), 2 * np.pi - 6.0, atol=1e-12)


def test_what_ompl_cannot_do_is_said(planner: Planner) -> None:
    upright = AxisConstraint("link_3", axis=[0, 0, 1], direction=[0, 0, 1])
    with pytest.raises(hc.InputError, match="constraints"):
        OMPLSetup(Planner(planner.robot, constraints=[upright]))
    scene, setup = hc.Scene(), OMPLSetup(planner)
    for k, angle in enumerate((0.8, -0.8)):
        T = np.eye(4)
        T[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        T[:3, 3] = T[:3, 0] * 1.3
        scene.add(f"wall {k}", hc.Box([2.2, 0.05, 4.0]), T)
    planner.update(scene)
    path = setup.plan(np.zeros(4), [2.4, 0, 0, 0], time_limit=0.2)
    planner.update(None)
    assert not path.success and path.message.startswith("OMPL: ")


def test_a_setup_is_freed(planner: Planner) -> None:
    def used() -> weakref.ref[Any]:
        setup = OMPLSetup(planner)
        assert setup.plan(START, GOAL).success
        return weakref.ref(setup)

    planner.update(None)
    gone = used()
    gc.collect()
    assert gone() is None
