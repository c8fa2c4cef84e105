"""Large batches: on one thread and on two, and beside Pinocchio's loops over threads."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchmarks.harness.calls import Call, our_call, relative_error
from benchmarks.harness.disturbance import Watch
from benchmarks.harness.plan import Plan
from benchmarks.harness.registers import leaves_registers_in_use
from benchmarks.harness.subjects import QUANTITIES, Quantity, Subject
from benchmarks.harness.timing import best_times
from benchmarks.report.comparison import Peers, Progress, prepared
from benchmarks.report.results import OURS, UNCLEAN, Timing
from helicoid.compiler.build.binding import get_num_threads, set_num_threads

LABELS = ("ID", "FD (ABA)", "∂ID", "∂ID (AD)")
THREADS = (1, 2)
LARGEST = 256_000_000  # bytes of a result
INTO, WALL = f"{OURS}, out=", f"{OURS}, wall clock"


def compare_batches(
    subject: Subject, peers: Peers, plan: Plan, step: Progress, labels: Sequence[str] = LABELS
) -> list[Timing]:
    """Time each quantity for a whole batch, per state, with a fresh result array at each call.

    Helicoid's call is also timed with `out=`, that is, into the same array again and again.
    """
    ready, _ = prepared(subject, peers)
    found: list[Timing] = []
    before = get_num_threads()
    try:
        for label in labels:
            calls: dict[tuple[str, int], Call] = {}
            rows: dict[tuple[str, int], Timing] = {}
            step(f"{subject.name}: batches of {label}")
            quantity = QUANTITIES[label]
            states = subject.state(_size(quantity, subject, plan))
            operations = quantity.function(subject.robot).n_operations
            row = Timing(
                "batch", subject.name, label, OURS, operations=operations, velocities=subject.robot.nv
            )
            ours = our_call(subject, quantity, states)
            truth = ours.run()
            set_num_threads(1)  # on this thread, whose registers are looked at
            note = UNCLEAN if leaves_registers_in_use(ours) else ""
            for n in THREADS:
                for name, call in _our_calls(ours, n).items():
                    calls[name, n] = call
                    rows[name, n] = replace(row, library=name, threads=n, error=0.0, note=note)
                for name, peer in ready.items():
                    offered = peer.batch(label, states, n)
                    if offered is None:
                        continue
                    answer = offered.run()
                    error = relative_error([answer], [truth[-len(answer) :]])
                    rows[name, n] = replace(row, library=name, threads=n, error=error)
                    if error <= peer.tolerance:
                        calls[name, n] = offered
                    else:
                        rows[name, n] = replace(rows[name, n], note=f"differs by {error:.0e}")
            watch = Watch()
            times = _times(calls, plan)
            others = watch.others()
            for key, seconds in times.items():
                n_states = calls[key].states or len(states.q)
                rows[key] = replace(rows[key], seconds=seconds / n_states, others=others)
            found += rows.values()
    finally:
        set_num_threads(before)
    return found


def _size(quantity: Quantity, subject: Subject, plan: Plan) -> int:
    """Number of states: as planned, or fewer where the result would be too large."""
    outputs = quantity.function(subject.robot).outputs
    return min(plan.batch, LARGEST // sum(8 * math.prod(output.shape) for output in outputs))


def _times(calls: Mapping[tuple[str, int], Call], plan: Plan) -> dict[tuple[str, int], float]:
    """One thread by the processor's clock; several, and for comparison one, by that on the wall."""
    alone = {key: call for key, call in calls.items() if key[1] == 1 and key[0] != WALL}
    others = {key: call for key, call in calls.items() if key not in alone}
    times = best_times(alone, plan.batch_rounds, plan.turn)
    return times | best_times(others, plan.batch_rounds, plan.turn, time.perf_counter)


def _our_calls(ours: Call, n_threads: int) -> dict[str, Call]:
    names = dict(ours.names)
    exec(ours.statement, names)
    names |= {"set_num_threads": set_num_threads, "array": names["result"]}
    threads = f"set_num_threads({n_threads}); "
    filling = ours.statement.replace(")", ", out=array)")
    fresh = Call(threads + ours.statement, names, ours.answer)
    calls = {OURS: fresh, INTO: Call(threads + filling, names, ours.answer)}
    return calls | ({WALL: fresh} if n_threads == 1 else {})
