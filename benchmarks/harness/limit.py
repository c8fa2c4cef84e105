"""Throughput of the batch kernels as a share of the processor's peak."""

from __future__ import annotations

import ctypes
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from benchmarks.harness.plan import Plan
from benchmarks.harness.subjects import QUANTITIES, Quantity, Subject
from benchmarks.report.results import Figure
from helicoid.compiler.build.binding import get_num_threads, set_num_threads
from helicoid.compiler.build.cache import library
from helicoid.compiler.build.toolchain import native_lanes
from helicoid.compiler.code.program import CONSTANT, INPUT, Program
from helicoid.compiler.function import Function
from helicoid.compiler.symbolic.expressions import flat_function

# Enough to fill two pipelines of latency 4, few enough for the 32 registers of AVX-512, or 16 elsewhere.
ACCUMULATORS = 24 if native_lanes() == 8 else 12
SINCOS_FLOPS = (
    41  # floating-point operations of hc_sincos in runtime/vector_math.h; its bit operations are free
)
IN_CACHE = 512  # states whose inputs and results stay in the second-level cache
LABELS = ("ID", "∂ID", "∂ID (AD)")

_SOURCE = """
typedef double v __attribute__((vector_size(8 * {lanes})));
__attribute__((visibility("default"))) double multiply_add(long n, double seed) {{
  const v m = seed - (v){{0}}, c = 1e-9 * m;
  v {declared};
  for (long r = 0; r < n; r++) {{
    {steps}
  }}
  const v sum = {sum};
  double total = 0;
  for (int l = 0; l < {lanes}; l++) total += sum[l];
  return total;
}}
"""


def measure_limit(subject: Subject, plan: Plan) -> list[Figure]:
    """Operations a second of batch kernels on one core, as a share of a plain vector multiply-add loop."""
    loop, lanes, n_loop = multiply_add_loop(), native_lanes(), 10_000
    runs = {label: _kernel_run(QUANTITIES[label], subject) for label in LABELS}
    runs["loop"] = lambda: loop(n_loop, 0.999999)
    best = dict.fromkeys(runs, float("inf"))
    before = get_num_threads()
    set_num_threads(1)
    try:
        for _ in range(20 * plan.rounds):
            for label, run in runs.items():
                start = time.thread_time()
                run()
                best[label] = min(best[label], time.thread_time() - start)
    finally:
        set_num_threads(before)
    limit = 2.0 * n_loop * ACCUMULATORS * lanes / best["loop"]
    what = f"multiply-add loop, {lanes} lanes, {ACCUMULATORS} accumulators, one core"
    figures = [Figure("limit", what, limit / 1e9, "G operations/s", "a multiply-add counted as two")]
    for label in LABELS:
        plain, whole = operation_counts(QUANTITIES[label].function(subject.robot))
        for key, count, how in (
            ("", plain, "sin, cos as one"),
            ("+", whole, f"sin/cos pairs as {SINCOS_FLOPS}"),
        ):
            rate = count * IN_CACHE / best[label]
            what = f"{subject.name} {label}, share of that ({how})"
            note = (
                f"{count} operations, {rate / 1e9:.1f} G a second; {2 * rate / limit:.0%} of the loop with a "
                "multiply-add counted as one"
            )
            figures.append(Figure(f"share{key} {label}", what, rate / limit, "", note))
    return figures


def _kernel_run(quantity: Quantity, subject: Subject) -> Callable[[], object]:
    """The batch kernel itself, without what a call in Python costs."""
    function = quantity.function(subject.robot).compile(batch=True)
    arguments = quantity.arguments(subject.state(IN_CACHE))
    result = function(*arguments)
    outputs = list(result) if isinstance(result, tuple) else [result]
    return partial(function._kernel.evaluate_batch, arguments, outputs, IN_CACHE)


def measure_second_core(rounds: int) -> Figure:
    """Speed-up by a second thread without memory traffic: below 2 on a shared machine."""
    loop, n = multiply_add_loop(), 1_000_000
    one = two = float("inf")
    with ThreadPoolExecutor(2) as pool:
        for _ in range(rounds):
            start = time.perf_counter()
            loop(n, 0.999999)
            loop(n, 0.999999)
            middle = time.perf_counter()
            list(pool.map(loop, (n, n), (0.999999, 0.999999)))
            one, two = min(one, middle - start), min(two, time.perf_counter() - middle)
    return Figure("second core", "multiply-add loop: two threads against one", one / two, "×")


def multiply_add_loop() -> Callable[[int, float], float]:
    """The loop, compiled with the same tools and flags as the kernels."""
    # A variable each: an array of vectors would live in memory, and the loop would measure that.
    names = [f"x{i}" for i in range(ACCUMULATORS)]
    source = _SOURCE.format(
        lanes=native_lanes(),
        declared=", ".join(f"{name} = m + {i}" for i, name in enumerate(names)),
        steps=" ".join(f"{name} = {name} * m + c;" for name in names),
        sum=" + ".join(names),
    )
    loop: Any = ctypes.CDLL(str(library(source, lambda: [source]))).multiply_add
    loop.argtypes, loop.restype = (ctypes.c_long, ctypes.c_double), ctypes.c_double
    return loop


def operation_counts(function: Function) -> tuple[int, int]:
    """Operations of one state: as the graph counts them, and with sine and cosine at what they cost."""
    program = Program.from_casadi(flat_function(function.casadi, function.inputs, function.outputs))
    kinds = Counter(value.operation for value in program.values)
    angles = {value.arguments for value in program.values if value.operation in ("sin", "cos")}
    plain = sum(count for kind, count in kinds.items() if kind not in (INPUT, CONSTANT))
    return plain, plain - kinds["sin"] - kinds["cos"] + SINCOS_FLOPS * len(angles)
