"""Times of RotorPy and JSBSim, as JSON; run by the Python of their own environment."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def best(call: Callable[[], Any], rounds: int = 5, seconds: float = 0.2) -> float:
    """Seconds of the processor for one call: the best of some turns."""
    call()
    begin = time.process_time()
    call()
    number = max(1, int(seconds / max(time.process_time() - begin, 1e-7)))
    found = float("inf")
    for _ in range(rounds):
        begin = time.process_time()
        for _ in range(number):
            call()
        found = min(found, (time.process_time() - begin) / number)
    return found


def rotorpy(batch: int) -> dict[str, float]:
    """A quadrotor's step of 10 ms, its SE(3) law, and a batch where torch is there."""
    import numpy as np

    vehicles = importlib.import_module("rotorpy.vehicles.multirotor")
    parameters = importlib.import_module("rotorpy.vehicles.hummingbird_params").quad_params
    control = importlib.import_module("rotorpy.controllers.quadrotor_control")
    state = {
        "x": np.zeros(3), "v": np.zeros(3), "q": np.array([0, 0, 0, 1.0]), "w": np.array([0.1, 0.2, 0.1]),
        "wind": np.zeros(3), "rotor_speeds": np.full(4, 450.0),
    }  # fmt: skip
    quad = vehicles.Multirotor(parameters, initial_state=state, control_abstraction="cmd_motor_speeds")
    command = {"cmd_motor_speeds": np.full(4, 455.0)}
    zero = np.zeros(3)
    flat = {
        "x": zero, "x_dot": zero, "x_ddot": zero, "x_dddot": zero, "x_ddddot": zero,
        "yaw": 0.0, "yaw_dot": 0.0, "yaw_ddot": 0.0,
    }  # fmt: skip
    law = control.SE3Control(parameters)
    found = {
        "one": best(lambda: quad.step(state, command, 0.01)),
        "law": best(lambda: law.update(0.0, state, flat)),
    }
    try:
        import torch
    except ImportError:
        return found
    torch.set_num_threads(1)
    given = vehicles.BatchedMultirotorParams([parameters] * batch, batch, torch.device("cpu"))
    many = {key: torch.from_numpy(np.tile(value, (batch, 1))).double() for key, value in state.items()}
    batched = vehicles.BatchedMultirotor(
        given, batch, many, torch.device("cpu"), control_abstraction="cmd_motor_speeds", integrator="rk4"
    )
    speeds = {"cmd_motor_speeds": torch.full((batch, 4), 455.0, dtype=torch.double)}
    found["batch"] = best(lambda: batched.step(many, speeds, 0.01), rounds=3) / batch
    return found


def jsbsim() -> dict[str, float]:
    """A Cessna 172's step of 1/120 s, its trim and its linearisation."""
    module = importlib.import_module("jsbsim")
    module.FGJSBBase().debug_lvl = 0
    fdm = module.FGFDMExec(str(Path(module.__file__).parent))
    fdm.set_debug_level(0)
    fdm.load_model("c172p")
    fdm["ic/h-sl-ft"], fdm["ic/vc-kts"] = 4000.0, 100.0
    fdm.run_ic()
    fdm["propulsion/set-running"] = -1

    def trim() -> None:
        fdm["ic/h-sl-ft"], fdm["ic/vc-kts"] = 4000.0, 100.0
        fdm.run_ic()
        fdm.do_trim(1)

    found = {"trim": best(trim, rounds=3)}
    fdm.set_dt(1 / 120)
    found["one"] = best(fdm.run)
    trim()
    found["linearise"] = best(lambda: module.FGLinearization(fdm), rounds=2, seconds=0.01)
    return found


if __name__ == "__main__":
    import sys

    results: dict[str, Any] = {}
    for name, measure in (("rotorpy", lambda: rotorpy(int(sys.argv[1]))), ("jsbsim", jsbsim)):
        try:
            results[name] = measure()
        except ImportError as error:
            results[name] = {"missing": str(error)}
    print("RESULT " + json.dumps(results))
