"""Commissioning of an arm in MuJoCo, with what the benchmark hides from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import helicoid as hc

pytest.importorskip("mujoco")
plants = pytest.importorskip("benchmarks.commissioning.plants")
start_of = pytest.importorskip("benchmarks.commissioning.__main__").start_of


@pytest.mark.slow
def test_a_hidden_ur5_is_commissioned_within_its_limits(tmp_path: Path) -> None:
    robot = plants.described("ur5")
    true = plants.hidden("ur5", robot, seed=0)
    arm = plants.MujocoArm(true, np.array([0.0, -1.2, 1.6, -1.9, -1.5, 0.4]), seed=0)
    result = hc.commission(robot, arm, tmp_path, progress=False)
    assert result.success, result.message
    assert arm.broken == 0 and arm.not_finite == 0
    assert result.delay is not None and result.validation is not None
    # An encoder's difference quotient over four samples adds 1.5.
    assert result.delay.seconds == pytest.approx(1e-3 * (true.delay + 1.5), abs=5e-4)
    assert np.median(result.validation.relative) < 0.25 * np.median(result.validation.described)
    assert result.validation.coverage.min() > 0.88


@pytest.mark.slow
def test_a_loaded_arm_comes_back_to_its_start_after_attempts_that_break_off(tmp_path: Path) -> None:
    """Romeo's light joints have a load and rotors that no description states."""
    robot = plants.described("romeo")
    start, began = start_of(robot), []

    class Noted(plants.MujocoArm):  # type: ignore[misc, name-defined]
        def release(self) -> None:
            began.append(self.data.qpos.copy())

    arm = Noted(plants.hidden("romeo", robot, seed=777), start, seed=777)
    result = hc.commission(robot, arm, tmp_path, progress=False)
    assert result.success, result.message
    assert arm.broken == 0 and arm.not_finite == 0
    assert len(began) > 3  # more than the three motions: there were attempts, and ways back
    assert np.abs(began[-1] - start).max() < 0.05
