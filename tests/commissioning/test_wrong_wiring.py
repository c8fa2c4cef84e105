"""Arms in MuJoCo with wrong signs, order or timing: the cause is named, and the brake keeps the limits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array

pytest.importorskip("mujoco")
plants = pytest.importorskip("benchmarks.commissioning.plants")

pytestmark = [pytest.mark.compiled, pytest.mark.slow]

START = {
    "ur5": np.array([0.51, -1.51, -0.12, -1.0, -1.98, -3.1]),
    "panda": np.array([0.2, 0.4, -0.3, -1.2, 0.4, 2.0, -0.4]),
}


def flip(k: int, n: int) -> Array:
    return np.where(np.arange(n) == k, -1.0, 1.0)


def swapped(i: int, j: int, n: int) -> Array:
    order = np.arange(n)
    order[[i, j]] = j, i
    return order


def wired(name: str, kind: str, joints: tuple[int, ...]) -> tuple[hc.Robot, Any]:
    """A described arm, and the true one with other masses, friction and this error."""
    robot = plants.described(name)
    n = robot.nv
    signs = flip(joints[0], n) if len(joints) == 1 else np.ones(n)
    order = swapped(*joints, n) if len(joints) == 2 else np.arange(n)

    class Wrong(plants.MujocoArm):  # type: ignore[misc, name-defined]
        def measure(self) -> Any:
            q, v, tau = super().measure()
            if kind in ("encoder", "joint"):
                q, v = signs * q[order], signs * v[order]
            return plants.Measured(q, v, tau)

        def apply(self, tau: Array) -> None:
            super().apply(signs * tau[order] if kind in ("torque", "joint") else tau)

    true = plants.hidden(name, robot, seed=5)
    return robot, Wrong(true._replace(delay=100 if kind == "late" else true.delay), START[name], seed=5)


@pytest.mark.parametrize(
    ("name", "kind", "joints", "text"),
    [
        ("ur5", "torque", (1,), "(the encoder|torques) of 'shoulder_lift_joint' .*other direction"),
        ("ur5", "torque", (5,), "(the encoder|torques) of 'wrist_3_joint' .*other direction"),
        ("ur5", "encoder", (1,), "the encoder of 'shoulder_lift_joint' counts in the other direction"),
        ("ur5", "encoder", (1, 2), "encoders of 'shoulder_lift_joint' and 'elbow_joint' are exchanged"),
        ("ur5", "torque", (1, 2), "commands of 'shoulder_lift_joint' and 'elbow_joint' are exchanged"),
        ("panda", "torque", (4,), "(the encoder|torques) of 'panda_joint5' .*other direction"),
        ("panda", "torque", (0, 3), "commands of 'panda_joint1' and 'panda_joint4' are exchanged"),
    ],
)
def test_the_cause_is_named_and_the_limits_are_kept(
    name: str, kind: str, joints: tuple[int, ...], text: str, tmp_path: Path
) -> None:
    robot, arm = wired(name, kind, joints)
    result = hc.commission(robot, arm, tmp_path, progress=False)
    assert result.status == "limit reached" and re.search("likely " + text, result.message), result.message
    assert "the arm was left where it came to rest" in result.message
    assert arm.broken == 0 and arm.not_finite == 0
    assert np.abs(arm.data.qvel).max() < 0.1


def test_late_torques_are_named(tmp_path: Path) -> None:
    robot, arm = wired("ur5", "late", ())
    result = hc.commission(robot, arm, tmp_path, progress=False)
    assert result.status == "limit reached" and "torques act about 100 ms late" in result.message


@pytest.mark.parametrize("direction", [(9.81, 0.0, 0.0), (0.0, 0.0, 9.81)], ids=["wall", "ceiling"])
def test_gravity_in_another_direction_is_named(direction: tuple[float, ...], tmp_path: Path) -> None:
    robot, arm = wired("ur5", "", ())
    arm.model.opt.gravity[:] = direction
    result = hc.commission(robot, arm, tmp_path, progress=False)
    assert result.status == "doubtful identification" and "the base is tilted by" in result.message
    assert arm.broken == 0
