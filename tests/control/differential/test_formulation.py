"""Objective and constraints of a step on random trees, against independent Jacobians and errors."""

from __future__ import annotations

import casadi as ca
import numpy as np
from hypothesis import given

import helicoid as hc
from helicoid.control import CenterOfMassTask, PositionTask, PostureTask
from helicoid.control.differential.formulation import VelocityProgram
from random_trees import few, moving_links, robots, seeds, state


def evaluated(formulation, numbers, q):
    symbols = ca.SX.sym("q", formulation.robot.nq), ca.SX.sym("p", numbers.values.size)
    function = formulation.data(*symbols, numbers.symbols(symbols[1]))
    return [np.array(value) for value in function(q, numbers.values)]


@few
@given(robot=robots(max_bodies=4), seed=seeds)
def test_the_program_minimises_weighted_task_errors(robot, seed):
    rng, q = np.random.default_rng(seed), state(robot, seed).q
    link = moving_links(robot)[-1]
    tasks = (PositionTask(link, rng.normal(size=3), [1, 2, 3]), PostureTask(q, 0.1, robot.joint_names))
    if robot.mass > 0:
        tasks += (CenterOfMassTask(rng.normal(size=3), 0.5),)
    weighted, strict = (
        VelocityProgram(robot, tuple((task,) for task in tasks), s, False) for s in (False, True)
    )
    numbers = weighted.numbers(0.01, 7.0, None, 0.1, 0.2, 10.0)
    numbers.set({f"{weighted.names[0]}_velocity": (feed := rng.normal(size=3)), "null_velocity": 0.3})
    H, f, _, lower, upper, errors, shift, squared = evaluated(weighted, numbers, q)
    J = robot.jacobian(link, "world_aligned")(q)[3:]
    rows, wanted = [np.sqrt([[1], [2], [3]]) * J], [np.sqrt([1, 2, 3]) * (feed + 7 * errors[:3, 0])]
    posture = np.zeros(robot.nv)
    rows.append(np.sqrt(0.1) * np.eye(robot.nv)[weighted.tasks[1].velocities(robot)])
    wanted.append(posture)
    weights = [1, 2, 3, *(0.1 * np.ones(len(rows[1])))]
    if robot.mass > 0:
        rows.append(np.sqrt(0.5) * robot.com_jacobian(q))
        wanted.append(np.sqrt(0.5) * 7 * errors[-3:, 0])
        weights += [0.5] * 3
    E, e = np.vstack(rows), np.concatenate(wanted)
    expected = 0.01 + 0.2 * np.linalg.norm(np.array(weights) * errors[:, 0])
    assert np.allclose(shift, expected)
    assert np.allclose(squared, e @ e)
    assert np.allclose(H.reshape(robot.nv, -1), E.T @ E + expected * np.eye(robot.nv), atol=1e-9)
    assert np.allclose(f[:, 0], -E.T @ e - expected * 0.3, atol=1e-9)
    found = evaluated(strict, numbers, q)
    assert np.allclose(found[0].reshape(-1, robot.nv), E, atol=1e-10)
    assert np.allclose(found[1][:, 0], e, atol=1e-10)
    assert np.allclose(found[5], errors)
    assert np.all(lower <= upper)


def test_bounds_lead_to_the_ends_of_joints_and_back_from_beyond():
    robot = hc.load("planar_2r")
    for accelerates in (False, True):
        f = VelocityProgram(robot, ((PostureTask(np.zeros(2)),),), False, accelerates)
        numbers = f.numbers(0.01, 1.0, 8.0 if accelerates else None, 0.1, 0.0, 10.0)
        for distance in (3.0, 0.3, 1e-3, 0.0, -0.05, -5.0):
            q = np.array([np.pi - distance, -np.pi + distance])
            lower, upper = evaluated(f, numbers, q)[3:5]
            left = max(distance, 0)
            inside = 8 * (np.sqrt(0.01**2 + 2 * left / 8) - 0.01) if accelerates else 10 * left
            expected = min(inside, 10.0) if distance >= 0 else max(10 * distance, -10.0)
            assert np.allclose(upper[0], expected) and np.allclose(lower[1], -expected)
            assert np.all(lower <= upper)
