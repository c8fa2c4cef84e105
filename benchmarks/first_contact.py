"""Time to the first answer: import, load and one call, each in a fresh process with warm caches.

    python -m benchmarks.first_contact [robot] [runs]

Prints processor time (s), which other work on the machine disturbs less than the clock, the least of several
runs, and the ratio to Pinocchio's where that is installed. Python's bytecode and Helicoid's compiled code are
made by a first run that does not count.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile

_CLOCK = """
import time
parts, last = {}, 0.0  # processor time counts from the start of the process
def part(name):
    global last
    now = time.process_time()
    parts[name], last = now - last, now
part("interpreter")
"""

HELICOID = """
import numpy; part("import numpy")
import casadi; part("import casadi")
import helicoid as hc; part("import helicoid")
robot = hc.load(NAME); part("load")
robot.inverse_dynamics(*numpy.zeros((3, robot.nv))); part("first inverse dynamics")
"""

PINOCCHIO = """
import numpy; part("import numpy")
import pinocchio; part("import pinocchio")
model = pinocchio.buildModelFromXML(TEXT); part("load")
zeros = numpy.zeros(model.nv)
pinocchio.rnea(model, model.createData(), pinocchio.neutral(model), zeros, zeros)
part("first inverse dynamics")
"""


def measured(program: str, constants: str, runs: int, folder: str) -> dict[str, float]:
    """The parts of a program's processor time (s), of the run that took least in all."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = folder
    code = "\n".join((_CLOCK, constants, program, "import json; print(json.dumps(parts))"))
    found: list[dict[str, float]] = []
    for _ in range(runs + 1):
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
        )
        found.append(json.loads(done.stdout))
    return min(found[1:], key=lambda parts: sum(parts.values()))


def show(title: str, parts: dict[str, float]) -> float:
    """Print the parts of one library; their sum without the interpreter's own start."""
    total = sum(parts.values()) - parts["interpreter"]
    print(title)
    for name, seconds in parts.items():
        print(f"  {name:<24} {seconds:6.3f} s")
    print(f"  {'sum without interpreter':<24} {total:6.3f} s\n")
    return total


def main(robot: str = "panda", runs: str = "7") -> None:
    from helicoid.model import bundled

    with tempfile.TemporaryDirectory() as folder:
        name = f"NAME = {robot!r}"
        own = show(f"Helicoid, {robot}", measured(HELICOID, name, int(runs), folder))
        if importlib.util.find_spec("pinocchio") is not None:
            text = f"TEXT = {bundled.text(robot)!r}"
            other = show(f"Pinocchio, {robot}", measured(PINOCCHIO, text, int(runs), folder))
            print(f"Helicoid / Pinocchio: {own / other:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
