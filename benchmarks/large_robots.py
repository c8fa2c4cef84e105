"""Large robots beside Pinocchio: one call, a batch, and the build of each function, in one run on one core.

Run with `python -m benchmarks.large_robots`. Both compute what the same URDF describes, at random states;
they take turns, and the least processor time of each counts. A batch is one call of Helicoid, which fills
arrays that exist, beside as many calls of Pinocchio. Builds begin with an empty cache; their processor time
includes that of the C compiler. Arguments name other robots: chains by their number of joints, robots of
example-robot-data by file.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from rich.console import Console

import helicoid as hc
from benchmarks.report.tables import Sheet
from helicoid._typing import Array

DEFAULT, BATCH, ROUNDS, CALLS = ("10", "16", "30", "60", "talos_reduced"), 256, 25, 40
DATA = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix/share/example-robot-data/robots"
FUNCTIONS = {
    "ID": ("inverse_dynamics", 3),
    "FD": ("forward_dynamics", 3),
    "M": ("mass_matrix", 1),
    "M⁻¹": ("mass_matrix_inverse", 1),
    "∂ID": ("inverse_dynamics_derivatives", 3),
    "∂FD": ("forward_dynamics_derivatives", 3),
}


def main() -> None:
    """Print ratios of calls and batches, and the processor time of builds."""
    warnings.simplefilter("ignore")
    hc.set_num_threads(1)
    rows: dict[str, list[tuple[str, ...]]] = {"call": [], "batch": [], "build": []}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HELICOID_CACHE"] = str(Path(folder) / "cache")
        for name in sys.argv[1:] or DEFAULT:
            for kind, cells in measure(name, Path(folder) / "robot.urdf").items():
                rows[kind].append((name, *cells))
    titles = {
        "call": "Pinocchio's time over ours, one call",
        "batch": f"Pinocchio's time over ours, {BATCH} samples",
        "build": "Build from an empty cache, for calls + for batches (s of processor time)",
    }
    console = Console()
    for kind, title in titles.items():
        console.print(Sheet(title, ("robot", *FUNCTIONS), rows[kind]).rich(console.width))


def measure(name: str, urdf: Path) -> dict[str, list[str]]:
    """Cells of a robot in each table."""
    robot = (
        hc.serial_chain(int(name))
        if name.isdigit()
        else hc.load(next(DATA.rglob(f"{name}.urdf")), "floating")
    )
    robot.to_urdf(urdf)
    peer = peers_calls(urdf, robot.model.floating)
    rng = np.random.default_rng(0)
    q = np.array([robot.random(rng) for _ in range(BATCH)])
    states = [q, *rng.normal(size=(2, BATCH, robot.nv))]
    cells: dict[str, list[str]] = {"call": [], "batch": [], "build": []}
    for key, (attribute, n_inputs) in FUNCTIONS.items():
        function = getattr(robot, attribute)
        builds = []
        for with_batches in (False, True):
            before = processor_time()
            function.compile(batch=with_batches)
            builds.append(f"{processor_time() - before:.1f}")
        cells["build"].append(" + ".join(builds))
        batch = states[:n_inputs]
        one = [values[0] for values in batch]
        ours, theirs = least(lambda f=function, x=one: f(*x), peer[key])
        filled = function(*batch)
        many, _ = least(lambda f=function, x=batch, y=filled: f(*x, out=y), peer[key], calls=1)
        cells["call"].append(f"{theirs / ours:.1f}")
        cells["batch"].append(f"{theirs / (many / BATCH):.1f}")
    return cells


def peers_calls(urdf: Path, floating: bool) -> dict[str, Callable[[], Any]]:
    """Pinocchio's functions at a random state."""
    base = (pin.JointModelFreeFlyer(),) if floating else ()
    model = pin.buildModelFromUrdf(str(urdf), *base)
    data, rng = model.createData(), np.random.default_rng(1)
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    v, a = rng.normal(size=(2, model.nv))
    return {
        "ID": lambda: pin.rnea(model, data, q, v, a),
        "FD": lambda: pin.aba(model, data, q, v, a),
        "M": lambda: pin.crba(model, data, q),
        "M⁻¹": lambda: pin.computeMinverse(model, data, q),
        "∂ID": lambda: pin.computeRNEADerivatives(model, data, q, v, a),
        "∂FD": lambda: pin.computeABADerivatives(model, data, q, v, a),
    }


def least(ours: Callable[[], Any], theirs: Callable[[], Any], calls: int = CALLS) -> Array:
    """The least time of a call of each (s)."""
    best = np.full(2, np.inf)
    for _ in range(ROUNDS):
        for k, (call, n) in enumerate(((ours, calls), (theirs, CALLS))):
            start = time.thread_time()
            for _ in range(n):
                call()
            best[k] = min(best[k], (time.thread_time() - start) / n)
    return best


def processor_time() -> float:
    """Of this process and of compilers that have ended (s)."""
    return float(sum(os.times()[:4]))


if __name__ == "__main__":
    main()
