"""Jacobians in C: exported, compiled, and called in a loop without Python."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.harness.subjects import State, Subject
from benchmarks.harness.timing import best_times
from benchmarks.report import published
from benchmarks.report.results import OURS
from benchmarks.report.tables import Sheet
from benchmarks.theses.derivatives import JACOBIANS, our_derivative_call, value_of
from benchmarks.theses.extent import TITLES, Extent
from helicoid.compiler.build.toolchain import FLAGS, find_compiler, native_flags
from helicoid.compiler.function import Function

TIMER = """
#include <time.h>
#include "{name}.h"
{arrays}
double seconds_of(int n) {{
  const clock_t began = clock();
  for (int k = 0; k < n; k++) {name}({arguments});
  return (double)(clock() - began) / CLOCKS_PER_SEC / n;
}}
"""


def table(subjects: Mapping[str, Subject], extent: Extent) -> Sheet:
    """Jacobians from Python and in C beside the published times of compiled functions called from Python."""
    rows = []
    for name, subject in subjects.items():
        for k, (label, derived) in enumerate(JACOBIANS.items()):
            function, state = derived.make(subject.robot), subject.state()
            times = ["–", "–"]
            if function.n_operations <= extent.max_operations:
                call = our_derivative_call(function, state)
                python = best_times({OURS: call}, extent.rounds, extent.turn)[OURS]
                times = [f"{1e6 * python:.3g}", f"{1e6 * seconds_in_c(function, state, extent):.3g}"]
            theirs = f"{published.JACOBIAN_TIMES[name][k]:.2f}"
            rows.append((TITLES[name], f"∇{label}", theirs, *times, f"{function.n_operations:,}"))
    columns = ("robot", "Jacobian", "urdf2casadi, published", f"{OURS} from Python", f"{OURS} in C", "ops")
    note = "In C: export_c, compiled with the flags of the library, processor time of a loop of calls."
    return Sheet("Jacobians evaluated in C, µs", columns, rows, note, labels=2)


def seconds_in_c(function: Function, state: State, extent: Extent) -> float:
    """Processor seconds of one call, the best of the rounds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = [
            path for path in function.export_c(folder) if path.suffix == ".c" and path.name != "main.c"
        ]
        (folder / "timer.c").write_text(_timer(function, state))
        compiler = find_compiler()
        flags = [*(flag for flag in FLAGS if not flag.startswith(("-std", "-fvis")))]
        command = [*compiler.command, "-std=c99", *flags, *native_flags(compiler.is_zig), "-shared"]
        target = folder / "timed.so"
        files = [*map(str, sources), str(folder / "timer.c")]
        subprocess.run([*command, *files, "-o", str(target), "-lm"], check=True)
        timer = ctypes.CDLL(str(target)).seconds_of
        timer.restype = ctypes.c_double
        n = max(10, min(10**6, int(extent.turn / max(timer(10), 1e-8))))
        return float(min(timer(n) for _ in range(extent.rounds)))


def _timer(function: Function, state: State) -> str:
    arrays, arguments = [], []
    for item in function.inputs:
        values = ", ".join(repr(float(x)) for x in np.ravel(value_of(item.name, state)))
        arrays.append(f"static const double in_{item.name}[] = {{{values}}};")
        arguments.append(f"in_{item.name}")
    for output in function.outputs:
        size = int(np.prod(output.shape, dtype=int))
        arrays.append(f"static double out_{output.name}[{size}];")
        arguments.append(f"out_{output.name}")
    return TIMER.format(name=function.name, arrays="\n".join(arrays), arguments=", ".join(arguments))
