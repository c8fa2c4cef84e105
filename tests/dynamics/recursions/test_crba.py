"""The mass matrix of deep trees, whose wrenches are not carried from each body to the next."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.random_trees import KINDS, inertia, joint_type, placement, state

from helicoid import Robot, serial_chain
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Link, Mimic


def deep_tree(seed: int, floating: bool) -> Robot:
    """Branches of 24 and 23 joints of all kinds that part after the 18th; the 21st mimics the third."""
    rng = np.random.default_rng(seed)
    links, joints = [Link("base", inertia(rng))], []
    for i in range(29):
        parent = "base" if i == 0 else "link17" if i == 24 else f"link{i - 1}"
        kind = "prismatic" if i in (2, 20) else KINDS[rng.integers(len(KINDS))]
        links.append(Link(f"link{i}", inertia(rng)))
        joints.append(Joint(f"joint{i}", joint_type(kind, rng), parent, f"link{i}", placement(rng)))
    joints[20] = replace(joints[20], mimic=Mimic("joint2", -0.7, 0.1))
    return Robot(Model("deep", tuple(links), tuple(joints), floating))


@pytest.mark.parametrize("floating", [pytest.param(False, marks=pytest.mark.slow), True])
def test_columns_are_the_torques_of_unit_accelerations(floating: bool) -> None:
    """M a = ID(q, 0, a) - ID(q, 0, 0) of recursive Newton-Euler, which knows no stations."""
    robot = deep_tree(7, floating)
    q, v, a = state(robot, 11)
    M = np.asarray(robot.mass_matrix.casadi(q))
    for column in np.vstack([a, np.eye(robot.nv)[[0, -1]]]):
        moved, still = (robot.inverse_dynamics.casadi(q, 0 * v, x) for x in (column, 0 * column))
        expected = np.asarray(moved - still).ravel()
        np.testing.assert_allclose(M @ column, expected, rtol=0, atol=1e-12 * np.abs(M).max())


@pytest.mark.slow
def test_long_chains_take_fewer_operations() -> None:
    """Of a chain of 50 they were 21,663."""
    assert serial_chain(50).mass_matrix.n_operations < 16_000
