"""Arms with prismatic, continuous and coupled joints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import helicoid as hc

pytestmark = [pytest.mark.compiled, pytest.mark.slow]

LIMIT = '<limit lower="-2" upper="2" velocity="2" effort="60"/>'


def link(name: str) -> str:
    return (
        f'<link name="{name}"><inertial><origin xyz="0 0 0.2"/><mass value="2"/>'
        '<inertia ixx="0.04" iyy="0.04" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def joint(name: str, kind: str, ends: tuple[str, str], axis: str, rest: str = LIMIT) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{ends[0]}"/><child link="{ends[1]}"/>'
        f'<origin xyz="0 0 0.4"/><axis xyz="{axis}"/>{rest}</joint>'
    )


TURN = joint("turn", "revolute", ("base", "a"), "0 1 0")
LIFT = joint("lift", "revolute", ("a", "b"), "0 1 0")
SHORT = '<limit lower="-0.4" upper="0.4" velocity="1" effort="100"/>'
UNLIMITED = '<limit velocity="2" effort="60"/>'
COUPLED = LIMIT + '<mimic joint="lift" multiplier="-1"/>'
ARMS = {
    "prismatic": TURN + joint("slide", "prismatic", ("a", "b"), "1 0 0", SHORT),
    "continuous": joint("spin", "continuous", ("base", "a"), "0 0 1", '<limit velocity="2" effort="60"/>')
    + LIFT,
    "mimic": TURN + LIFT + link("c") + joint("follow", "revolute", ("b", "c"), "0 1 0", COUPLED),
}


@pytest.mark.parametrize("kind", ARMS)
def test_joints_of_each_kind_are_commissioned_or_stop(kind: str, tmp_path: Path) -> None:
    urdf = f'<robot name="arm"><link name="base"/>{link("a")}{link("b")}{ARMS[kind]}</robot>'
    robot = hc.load(urdf)
    true = robot.with_parameters(1.2 * robot.parameters.values)
    true = true.with_joints(damping=1.0, friction=1.0, armature=0.05)
    noise = {"q": 1e-5, "v": 2e-3, "tau": 0.05}
    plant = hc.Plant(true, np.full(robot.nq, 0.2), noise=noise, period=0.005)
    result = hc.commission(robot, plant, tmp_path, duration=4.0, max_frequency=15.0, progress=False)
    if kind == "continuous":  # friction of 1 N·m on a light axis: it may stop, within its limits
        assert result.status in ("ok", "limit reached") and np.all(np.abs(plant.v) < robot.limits.velocity)
        return
    assert result.success, result.message
    assert result.validation is not None and np.median(result.validation.relative) < 0.2
