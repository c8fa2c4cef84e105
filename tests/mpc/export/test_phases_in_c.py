"""Contact phases in an exported controller: as in Python, step by step."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helicoid.mpc import Controller, Phase
from helicoid.mpc.export.contacts import CAPACITY, flat_phases
from mpc.export.exported import Exported
from mpc.legged import FLY, STAND, hop, hopper

pytestmark = [pytest.mark.needs_compiler, pytest.mark.slow]


def tell(controller: Controller, exported: Exported, **values: Any) -> None:
    """Set the same numbers in both; phases as rows of numbers in C."""
    controller.set(**values)
    schedule = controller._memory.schedule
    assert schedule is not None
    for name, value in values.items():
        assert exported.set(name, flat_phases(schedule).ravel() if name == "phases" else value) == 0


def follow(
    controller: Controller,
    exported: Exported,
    x: np.ndarray,
    steps: int,
    events: dict[int, Any],
) -> set[str]:
    """Both see the same states, about those of Python's plan; every kind of status that was seen."""
    robot = controller.problem.robot
    assert robot is not None
    rng, seen = np.random.default_rng(5), set()
    for k in range(steps):
        if isinstance(events.get(k), dict):
            tell(controller, exported, **events[k])
        x = np.full_like(x, np.nan) if events.get(k) == "blind" else x
        q, v = x[: robot.nq], x[robot.nq :] + 1e-3 * rng.normal(size=robot.nv)
        tau, others = controller.step(q, v), exported.step(q, v)
        scale = max(1.0, np.abs(tau).max())
        # Python's solver is compiled with fewer passes than an exported one: rounding differs.
        np.testing.assert_allclose(others, tau, rtol=0, atol=1e-10 * scale, err_msg=f"step {k}")
        assert (exported.ok, exported.status) == (controller.ok, controller.status), k
        for name in ("cost", "violation", "gap"):
            told = exported.statistics[name], controller.statistics[name]
            np.testing.assert_allclose(*told, rtol=1e-6, atol=1e-9, err_msg=f"{name}, step {k}")
        x = controller.plan.x[1]
        seen |= {controller.status}
    return seen


@pytest.fixture(scope="module")
def leg(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return Exported(Controller(hop()), tmp_path_factory.mktemp("leg"))


def test_a_leg_jumps_in_c_as_in_python(leg: Exported) -> None:
    """Also with other phases, steps, times and grounds, and after sensors that were blind for long."""
    _, q = hopper()
    leg.start_again()
    far = Phase(0.2, ("foot",), steps={"foot": (0.2, np.nan, 0.05)})
    events = {
        **dict.fromkeys(range(20, 30), "blind"),
        12: {"phases": [STAND, Phase(0.12), far]},
        34: {"phase_time": 0.1, "ground_height": 0.01},
        40: {"phases": [STAND, FLY, STAND, FLY, far], "swing_height": 0.05},
    }
    start = np.concatenate([q, np.zeros(4)])
    assert follow(Controller(hop()), leg, start, 60, events) >= {"ok", "bad measurement"}


def test_phases_that_make_no_sense_are_refused(leg: Exported) -> None:
    leg.start_again()
    good = [0.2, 1.0, np.nan, np.nan, np.nan]
    cases: Sequence[tuple[list[float], int]] = [
        (good, 0),
        (good * CAPACITY, 0),
        (good * (CAPACITY + 1), -1),
        (good[:4], -1),
        ([np.inf, *good[1:]], 0),
        ([np.inf, *good[1:], *good], -2),
        ([np.nan, *good[1:]], -2),
        ([0.0, *good[1:]], -3),
        ([0.2, np.nan, *good[2:]], -2),
        ([0.2, 1.0, np.inf, 0.0, 0.0], -2),
    ]
    for values, code in cases:
        assert leg.set("phases", values) == code, values
    assert leg.set("phase_time", np.nan) == leg.set("ground_height", np.inf) == -2
    assert leg.set("phase_time", [0.0, 1.0]) == -1
    assert not hasattr(leg.library, "model_set_foot_force_lower")  # bounds that follow the phases


def test_a_quadruped_trots_in_c_as_in_python(tmp_path: Path) -> None:
    """Large functions are compiled with less optimisation, in C and in Python alike."""
    try:
        importlib.metadata.files("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the benchmark's robots are part of example-robot-data")
    from benchmarks.mpc_trot import standing, trot, walking

    problem, (robot, q) = walking("quadruped"), standing("quadruped")
    exported = Exported(Controller(problem), tmp_path)
    slower = [replace(phase, duration=0.3) for phase in trot("quadruped")]
    start = np.concatenate([q, np.zeros(robot.nv)])
    assert "ok" in follow(Controller(problem), exported, start, 30, {12: {"phases": slower}})
