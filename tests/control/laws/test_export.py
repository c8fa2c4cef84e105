"""Every law as C99: no warnings, and the numbers of Python, of steps in which it does what it says."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import helicoid as hc
from helicoid.control.laws.step import CompiledLaw

FRAME = "tip"
LAWS: dict[str, Callable[[hc.Robot], CompiledLaw]] = {
    "JointImpedance": lambda robot: hc.control.JointImpedance(robot, 100.0, 10.0, friction="measured"),
    "flexible joints": lambda robot: hc.control.JointImpedance(robot, 100.0, 10.0, joint_stiffness=900.0),
    "ComputedTorque": lambda robot: hc.control.ComputedTorque(robot, 9.0, integral=5.0, dt=1e-3),
    "AdaptiveControl": lambda robot: hc.control.AdaptiveControl(robot, 9.0, 5.0, dt=1e-3),
    "TaskSpaceControl": lambda robot: hc.control.TaskSpaceControl(robot, FRAME, frequency=5.0, rows=(3, 5)),
    "with stiffness": lambda robot: hc.control.TaskSpaceControl(robot, FRAME, stiffness=50.0, rows=(3, 5)),
    "OperationalSpaceControl": lambda robot: hc.control.OperationalSpaceControl(
        robot, FRAME, motion=(1, 1, 1, 1, 1, 0), force_gain=2.0, dt=1e-3
    ),
    "PrioritisedInverseDynamics": lambda robot: hc.control.PrioritisedInverseDynamics(
        robot, [hc.control.PositionTask(FRAME, [0.5, 0.0, 0.5]), hc.control.PostureTask(np.zeros(2))]
    ),
    "MomentumObserver": lambda robot: hc.control.MomentumObserver(robot, FRAME, 50.0, dt=1e-3),
}


@pytest.mark.needs_compiler
@pytest.mark.parametrize("kind", LAWS)
def test_exported_laws_check_themselves(kind: str, tmp_path: Path) -> None:
    """As strict C99, against numbers that Python recorded."""
    law = LAWS[kind](hc.load("planar_2r").with_joints(effort=1e6, damping=0.1))
    files = law.export_c(tmp_path)
    assert law.status == "not started"  # recording steps has not made any
    strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1"]
    sources = [str(path) for path in files if path.suffix == ".c"]
    subprocess.run(["cc", *strict, *sources, "-o", str(tmp_path / "check"), "-lm"], check=True)
    told = subprocess.run([tmp_path / "check"], capture_output=True, text=True, check=True)
    assert told.stdout.startswith("correct") and float(told.stdout.split()[-1]) <= 1e-12
    # What is compared is what the law does, not what it does with something that it refuses.
    statuses = re.search(r"out_status\[4\]\[2\] = \{(.*?)\};", (tmp_path / "main.c").read_text(), re.DOTALL)
    assert statuses is not None and re.findall(r"\{(\d)", statuses[1]) == ["0"] * 4


def test_what_is_exported_is_what_python_computes(tmp_path: Path) -> None:
    """The examples are steps of a loop: their memory is that of `step`."""
    robot = hc.load("planar_2r")
    law = LAWS["ComputedTorque"](robot)
    q, v, q_ref, v_ref, a_ref, _, memory = law._examples()
    for k in range(len(q)):
        np.testing.assert_array_equal(law._memory, memory[k])
        law.step(q[k], v[k], q_ref[k], v_ref[k], a_ref[k])  # type: ignore[attr-defined]
