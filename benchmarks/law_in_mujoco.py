"""Cost of a control law inside MuJoCo's loop: `python -m benchmarks.law_in_mujoco`.

Processor time of `hc.simulate(robot, engine="mujoco", controller=law.following(...))`, of the same without a
controller, and of the same law called from Python in a hand-written loop, all over that of a bare loop of
`mujoco.mj_step` in Python, with the same model, time step and number of steps. One thread; best of several
rounds in which all take turns.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

import helicoid as hc
from helicoid._typing import Array
from helicoid.robot.loading import mjcf_of

ROUNDS = 9
STEPS = 5000
DT = 1e-3  # s
ROBOTS = ("ur5", "panda")


def laws(robot: hc.Robot, goal: Array) -> dict[str, Any]:
    """Laws that hold a configuration, by name."""
    reference = {"q_ref": goal}
    impedance = hc.control.JointImpedance(robot, stiffness=100.0, damping=20.0)
    return {
        "joint impedance": (impedance, impedance.following(reference)),
        "computed torque": (
            law := hc.control.ComputedTorque(robot, frequency=10.0),
            law.following(reference),
        ),
    }


def by_hand(robot: hc.Robot, q0: Array, law: Any, goal: Array) -> Callable[[], object]:
    """A loop as a user writes it; without a law only the steps."""
    spec = mujoco.MjSpec.from_string(mjcf_of(robot).text)
    spec.option.timestep = DT
    model = spec.compile()
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    data = mujoco.MjData(model)

    def run() -> None:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = q0
        for _ in range(STEPS):
            if law is not None:
                data.qfrc_applied[:] = law.step(data.qpos, data.qvel, q_ref=goal)
            mujoco.mj_step(model, data)

    return run


def main() -> None:
    """The table."""
    hc.set_num_threads(1)
    warnings.simplefilter("ignore")
    print(f"MuJoCo {mujoco.__version__}, {STEPS} steps, ratios to a bare loop of mj_step in Python")
    print(f"{'':30}{'µs bare':>10}{'no law':>10}{'law':>10}{'by hand':>10}")
    for name in ROBOTS:
        robot = hc.load(name)
        goal = np.clip(robot.neutral() + 0.3, robot.limits.lower, robot.limits.upper)
        q0 = np.clip(goal + 0.3, robot.limits.lower, robot.limits.upper)
        for kind, (law, following) in laws(robot, goal).items():

            def ours(controller: Any, robot: hc.Robot = robot, q0: Array = q0) -> Callable[[], object]:
                options: dict[str, Any] = {"engine": "mujoco", "contacts": [], "progress": False}
                return lambda: hc.simulate(robot, q0, None, STEPS * DT, controller, DT, **options)

            calls = {
                "bare": by_hand(robot, q0, None, goal),
                "no law": ours(None),
                "law": ours(following),
                "by hand": by_hand(robot, q0, law, goal),
            }
            best = dict.fromkeys(calls, np.inf)
            for round in range(ROUNDS + 1):  # the first one compiles
                for key, call in calls.items():
                    began = time.process_time()
                    call()
                    if round:
                        best[key] = min(best[key], time.process_time() - began)
            bare = best["bare"]
            ratios = "".join(f"{best[key] / bare:10.2f}" for key in list(calls)[1:])
            print(f"{name + ', ' + kind:30}{bare / STEPS * 1e6:10.2f}{ratios}")


if __name__ == "__main__":
    main()
