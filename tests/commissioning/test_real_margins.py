"""Stated margins beside the delay and the gain at which arms in MuJoCo begin to oscillate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array
from helicoid.commissioning.margins import loop_margins

pytest.importorskip("mujoco")
plants = pytest.importorskip("benchmarks.commissioning.plants")
start_of = pytest.importorskip("benchmarks.commissioning.__main__").start_of

pytestmark = [pytest.mark.compiled, pytest.mark.slow]

STEP, OSCILLATION = 0.05, 0.5  # rad; rad/s, of what does not fade


def speed_that_stays(law: Any, true: Any, q0: Array) -> float:
    """Largest speed in the third second after a step of the reference."""
    arm, speed = plants.MujocoArm(true, q0, 0), 0.0
    law.reset()
    for k in range(3000):
        sample = arm.measure()
        arm.apply(law.step(sample.q, sample.v, q0 + STEP * (k < 100)))
        speed = max(speed, float(np.abs(arm.data.qvel).max())) if k >= 2000 else 0.0
    return speed


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_the_loop_is_stable_at_its_margins_and_oscillates_beyond(name: str, tmp_path: Path) -> None:
    robot = plants.described(name)
    true, q0 = plants.hidden(name, robot, seed=0), start_of(robot)
    result = hc.commission(robot, plants.MujocoArm(true, q0, 0), tmp_path, progress=False)
    assert result.success and result.margins is not None and result.delay is not None
    law, worst = result.controllers.computed_torque, result.margins
    exact = loop_margins(result.frequency, result.delay.seconds, 1e-3)  # of an inertia that is right

    def late(seconds: float) -> float:
        return speed_that_stays(law, true._replace(delay=true.delay + round(1e3 * seconds)), q0)

    def amplified(factor: float) -> float:
        return speed_that_stays(law, true._replace(gain=factor * true.gain), q0)

    assert late(0.95 * worst.delay) < OSCILLATION < late(1.25 * exact.delay)
    assert amplified(0.95 * worst.gain) < OSCILLATION < amplified(1.25 * exact.gain)
