"""Load times of MJCF: `hc.load` beside MuJoCo's own load of the same file.

    python -m benchmarks.mjcf_loading FILE [FILE ...]

Processor time in seconds. Cold: the first load in a new process of its own, after the imports; warm: the
least of the next five. Each includes MuJoCo's compiler, which `hc.load` calls. The last column is the first
mass matrix of a new robot on CasADi's virtual machine, without a compiler of C.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path


def measure(path: str, reader: str) -> dict[str, float]:
    """Times of one file in this process, by "mujoco" or "helicoid"."""
    import warnings

    import mujoco

    import helicoid as hc

    warnings.simplefilter("ignore")
    hc.set_compile(False)
    load = hc.load if reader == "helicoid" else mujoco.MjModel.from_xml_path
    loads, answers = [], []
    for _ in range(6):
        start = time.process_time()
        loaded = load(path)
        loads.append(time.process_time() - start)
        start = time.process_time()
        if reader == "helicoid":
            loaded.mass_matrix(loaded.neutral())
        answers.append(time.process_time() - start)
    return {"nv": loaded.nv, "cold": loads[0], "warm": min(loads[1:]), "answer": min(answers[1:])}


def main() -> None:
    """Print the table."""
    if sys.argv[1] == "--one":
        print(json.dumps(measure(*sys.argv[2:])))
        return
    print("| model | velocities | MuJoCo cold | Helicoid cold | MuJoCo warm | Helicoid warm | first answer |")
    print("|---|---|---|---|---|---|---|")
    for path in sys.argv[1:]:
        theirs, ours = (_measured(path, reader) for reader in ("mujoco", "helicoid"))
        times = theirs["cold"], ours["cold"], theirs["warm"], ours["warm"], ours["answer"]
        row = " | ".join(f"{x:.3f}" for x in times)
        print(f"| {_name(path)} | {theirs['nv']:.0f} | {row} |", flush=True)


def _measured(path: str, reader: str) -> dict[str, float]:
    """`measure` in a new process."""
    command = [sys.executable, "-m", "benchmarks.mjcf_loading", "--one", path, reader]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return dict(json.loads(answer.splitlines()[-1]))


def _name(path: str) -> str:
    own = Path(path)
    return own.parent.name if own.stem == "robot" else own.stem


if __name__ == "__main__":
    main()
