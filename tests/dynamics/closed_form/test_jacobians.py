"""The bodies' Jacobians, and the closed form evaluated from them as it is written."""

from __future__ import annotations

import casadi as ca
import numpy as np
from hypothesis import given

from helicoid import Robot
from helicoid.dynamics import physics
from helicoid.dynamics.closed_form.equations import inertia_times, jacobians
from helicoid.dynamics.recursions.composites.composite import elements, motion_cross, wrench_cross
from helicoid.dynamics.tree import along_motion, from_parent
from helicoid.model.model import WORLD
from random_trees import Array, assert_close, fewer, robots, seeds, state


def evaluated(
    robot: Robot, expressions: list[ca.SX], symbols: list[ca.SX], values: list[Array]
) -> list[Array]:
    f = ca.Function("f", symbols, [ca.densify(x) for x in expressions])
    return [np.array(x) for x in f.call([ca.DM(x) for x in values])]


def symbols(robot: Robot) -> tuple[ca.SX, ca.SX, ca.SX]:
    return ca.SX.sym("q", robot.nq), ca.SX.sym("v", robot.nv), ca.SX.sym("a", robot.nv)


@fewer
@given(robots(max_bodies=4), seeds)
def test_the_closed_form_as_it_is_written(robot: Robot, seed: int) -> None:
    """(6) from J_k and J̇_k, and the center of mass Jacobian of (7), give what the functions give."""
    q, v, _ = symbols(robot)
    nominal = physics.nominal(robot.model)
    tree, nv = elements(robot.model, q), robot.nv
    M, C, g, J_com = ca.SX(nv, nv), ca.SX(nv, nv), ca.SX(nv, 1), ca.SX(3, nv)
    up = ca.vertcat(ca.SX.zeros(3), -nominal.gravity)
    weights: list[ca.SX] = []
    turned: list[ca.SX] = []
    for element, (J, J_dot) in zip(tree, jacobians(tree, nv, [v]), strict=True):
        root = element.parent == WORLD
        weights.append(from_parent(element.motion, up if root else weights[element.parent]))
        turned.append(element.motion.R if root else turned[element.parent] @ element.motion.R)
        if element.body >= 0:
            pi, V = nominal.inertias[element.body], J @ v
            M += J.T @ inertia_times(pi, J)
            wrench = inertia_times(pi, motion_cross(V, J) + J_dot) + wrench_cross(V, inertia_times(pi, J))
            C += J.T @ wrench
            g += J.T @ inertia_times(pi, weights[-1])
            J_com += turned[-1] @ inertia_times(pi, J)[3:, :]  # m u - h × ω: the linear momentum
    at, velocity, _ = state(robot, seed)
    found = evaluated(robot, [M + ca.diag(nominal.armature), C, g, J_com], [q, v], [at, velocity])
    for exact, written in zip(robot.closed_form(at, velocity), found, strict=False):
        assert_close(exact, written.reshape(np.shape(exact)), scale=1.0)
    mass = sum(body.inertia.mass for body in robot.model.bodies)
    if mass > 0:
        assert_close(robot.com_jacobian(at), found[3] / mass, scale=1.0)


@fewer
@given(robots(max_bodies=3), seeds)
def test_time_derivatives_of_jacobians(robot: Robot, seed: int) -> None:
    """(28) and (29) are what algorithmic differentiation makes of (27)."""
    q, v, a = symbols(robot)
    tree, nv = elements(robot.model, q), robot.nv
    expected, found = [], []
    for J, J_dot, J_ddot in jacobians(tree, nv, [v, a]):
        first = along_motion(robot.model, J, q, v)
        expected += [first, along_motion(robot.model, first, q, v, a)]
        found += [J_dot, J_ddot]
    values = list(state(robot, seed))
    both = evaluated(robot, expected + found, [q, v, a], values)
    for one, other in zip(both[: len(found)], both[len(found) :], strict=True):
        assert_close(other, one, scale=10.0)
