"""Robots and their functions go to other processes and into copies, before and after their first use."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest

import helicoid as hc

Q, V = np.array([0.3, 0.4]), np.array([1.0, -2.0])


KINDS = ("plain", "parametric", "constrained", "own equation", "floating", "flexible")


def makers() -> dict[str, Any]:
    robot = hc.load("planar_2r")
    return {
        "plain": robot,
        "parametric": robot.parametric("inertia", "gravity"),
        "constrained": robot.with_actuators("joint_1").with_contact("tip", kind="normal"),
        "own equation": robot.constrain(holonomic=lambda q: q[0] + q[1]),
        "floating": hc.load("double_pendulum", base="floating"),
        "flexible": robot.with_joints(armature=0.1).with_flexible_joints(500.0),
    }


def answers(robot: hc.Robot) -> list[Any]:
    q, v = robot.random(1), np.linspace(0.1, 1.0, robot.nv)
    theta = robot.theta.values
    result = [robot.inverse_dynamics(q, v, v, theta), robot.pose(robot.link_names[-1])(q)]
    return [*result, robot.constraint_jacobian(q), robot.actuated, repr(robot)]


def same(one: list[Any], other: list[Any]) -> None:
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")
@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("which", KINDS)
def test_a_robot_comes_back_the_same(which: str, again: Any) -> None:
    robot = makers()[which]
    fresh = again(robot)
    same(answers(fresh), answers(robot))
    same(answers(again(robot)), answers(robot))  # after first use


@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x))])
def test_functions_come_back_the_same(again: Any) -> None:
    robot = hc.load("planar_2r")
    loaded = robot.inverse_dynamics.with_options(gravity=(0, 0, -1.6), f_ext=["tip"])
    cases = [
        (robot.inverse_dynamics, (Q, V, V)),
        (loaded, (Q, V, V, np.arange(6.0))),
        (robot.jacobian("tip", "body"), (Q,)),
        (robot.task_inertia("tip", rows=(3, 5)), (Q,)),
    ]
    for function, arguments in cases:
        before = again(function)
        np.testing.assert_array_equal(before(*arguments), function(*arguments))
        after = again(function)
        np.testing.assert_array_equal(after(*arguments), function(*arguments))
        assert after.options == function.options and after.__doc__ == function.__doc__
    np.testing.assert_array_equal(again(robot.pose)("tip")(Q), robot.pose("tip")(Q))


def test_a_function_after_its_compiled_call_comes_back() -> None:
    robot = hc.load("double_pendulum")
    robot.compile("gravity", batch=True)
    wanted = robot.gravity(Q)
    for again in (copy.deepcopy(robot.gravity), pickle.loads(pickle.dumps(robot)).gravity):
        np.testing.assert_allclose(again(Q), wanted, rtol=1e-14)


def test_a_robot_and_its_function_stay_together() -> None:
    robot = hc.load("planar_2r")
    one, function = pickle.loads(pickle.dumps((robot, robot.gravity)))
    assert one.gravity is function


def called(function: Any, *arguments: Any) -> Any:
    return function(*arguments)


def test_through_a_pool_of_new_processes() -> None:
    robot = hc.load("planar_2r").parametric("gravity")
    theta = robot.theta.values
    used, unused = robot.inverse_dynamics, robot.mass_matrix
    wanted = used(Q, V, V, theta), unused(Q, theta)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(called, used, Q, V, V, theta), pool.submit(called, unused, Q, theta)
        names = pool.submit(repr, robot)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a.result(), b, rtol=1e-14)
        assert names.result() == repr(robot)
