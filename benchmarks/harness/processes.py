"""Measurements that need a fresh process: start, compilation, memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from itertools import pairwise
from typing import Any

from benchmarks.harness.plan import Plan
from benchmarks.report.results import Figure

_IMPORT = """
import time
start = time.perf_counter()
import casadi, numpy
middle = time.perf_counter()
import helicoid
print(json.dumps([middle - start, time.perf_counter() - middle]))
"""
_FIRST_CALL = """
import resource, time
import numpy as np, helicoid as hc
robot = hc.load("panda")
q = robot.neutral()
def cpu():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
times = [(time.perf_counter(), cpu())]
robot.inverse_dynamics.casadi
times.append((time.perf_counter(), cpu()))
robot.inverse_dynamics(q, q, q)
times.append((time.perf_counter(), cpu()))
print(json.dumps(np.diff(times, axis=0).tolist()))
"""
# Not ru_maxrss: a new process begins with that of the one which started it. VmHWM is of this memory alone.
_MEMORY = """
import numpy as np, helicoid as hc
def peak():
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
hc.set_num_threads({threads})
robot, rng = hc.load("ur5"), np.random.default_rng(0)
f = robot.inverse_dynamics
q, v, a = (rng.random(({n}, robot.nv)) for _ in range(3))
f(q[:1000], v[:1000], a[:1000])
before = peak()
result = f(q, v, a)
print(json.dumps([peak() - before, result.nbytes]))
"""
_LARGE = """
import os, resource, time
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
import helicoid as hc
hc.load("planar_2r").gravity.compile(batch=True)
f = hc.serial_chain({joints}).forward_dynamics_crba
operations = f.n_operations
def clock():
    own = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return time.perf_counter(), own
times = [clock()]
f.compile()
times.append(clock())
f.compile(batch=True)
times.append(clock())
print(json.dumps([operations, times]))
"""


def run_python(code: str, **environment: str | None) -> Any:
    """JSON output of a program in a fresh Python; a variable that is None is removed from its environment."""
    paths = os.pathsep.join(path for path in sys.path if path)
    environ = {**os.environ, "PYTHONPATH": paths, "HELICOID_COMPILE": "1"}
    for name, value in environment.items():
        if value is None:
            environ.pop(name, None)
        else:
            environ[name] = value
    command = [sys.executable, "-c", "import json\n" + code]
    run = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def measure_start(repeats: int) -> list[Figure]:
    """Import, first call with an empty cache, first call with a full one and no compiler."""
    imports = [run_python(_IMPORT) for _ in range(repeats)]
    cold, warm = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(run_python(_FIRST_CALL, HELICOID_CACHE=cache))
            warm.append(run_python(_FIRST_CALL, HELICOID_CACHE=cache, PATH="", CC=None))
    return [
        Figure("import", "import helicoid, beyond casadi and numpy", min(t[1] for t in imports), "s"),
        Figure("import others", "import casadi and numpy", min(t[0] for t in imports), "s"),
        Figure("expression", "panda ID: the symbolic expression", min(t[0][0] for t in warm), "s"),
        Figure(
            "cold",
            "panda ID: compiled with an empty cache, to the first result",
            min(t[1][0] for t in cold),
            "s",
            f"processor time {min(t[1][1] for t in cold):.2f} s; the extension that calls kernels included",
        ),
        Figure(
            "cached",
            "panda ID: loaded from the cache, no compiler on the path, to the first result",
            min(t[1][0] for t in warm),
            "s",
        ),
    ]


def measure_memory(plan: Plan) -> list[Figure]:
    """Growth of the peak resident memory in one batch call, beyond the result. Linux only."""
    figures: list[Figure] = []
    if not os.path.exists("/proc/self/status"):
        return figures
    for n in plan.memory:
        for threads, text in ((1, "1 thread"), (2, "2 threads")):
            grown, result = run_python(_MEMORY.format(n=n, threads=threads))
            figures.append(
                Figure(
                    f"memory {n} {threads}",
                    f"ur5 ID, batch of {n:,} on {text}: memory beyond the result",
                    (grown - result) / 1e6,
                    "MB",
                    f"the result is {result / 1e6:.1f} MB",
                )
            )
    return figures


def measure_large_compile(joints: int) -> list[Figure]:
    """Compile a function of about 100,000 operations on one core."""
    with tempfile.TemporaryDirectory() as cache:
        operations, clocks = run_python(_LARGE.format(joints=joints), HELICOID_CACHE=cache)
    figures = []
    for kind, (start, stop) in zip(("scalar", "batch"), pairwise(clocks), strict=True):
        wall, processor = stop[0] - start[0], stop[1] - start[1]
        figures.append(
            Figure(
                f"compile {kind}",
                f"compile 100,000 operations on one core, {kind} code",
                processor * 1e5 / operations,
                "s",
                f"processor time, from FD (CRBA) of a chain of {joints}: {operations:,} operations in "
                f"{processor:.1f} s ({wall:.1f} s on the clock)",
            )
        )
    return figures
