"""Large batches: on one thread and on two, and beside Pinocchio's loops over threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from helicoid.benchmark.calls import Call, best_times, our_call, relative_error
from helicoid.benchmark.comparison import Peers, Progress, prepared
from helicoid.benchmark.plan import Plan
from helicoid.benchmark.results import OURS, Timing
from helicoid.benchmark.subjects import QUANTITIES, Subject
from helicoid.compiler.binding import get_num_threads, set_num_threads

LABELS = ("ID", "FD (ABA)", "∂ID", "∂ID (jacobian)")
THREADS = (1, 2)


def compare_batches(
    subject: Subject, peers: Peers, plan: Plan, step: Progress, labels: Sequence[str] = LABELS
) -> list[Timing]:
    """Time each quantity for a whole batch, per state; every call makes its own result array."""
    ready, _ = prepared(subject, peers)
    states = subject.state(plan.batch)
    found: list[Timing] = []
    before = get_num_threads()
    try:
        for label in labels:
            quantity = QUANTITIES[label]
            operations = quantity.function(subject.robot).n_operations
            row = Timing("batch", subject.name, label, OURS, operations=operations, velocities=subject.robot.nv)
            ours = our_call(subject, quantity, states)
            truth = ours.run()
            timed: dict[tuple[str, int], Call] = {}
            rows = {}
            for n in THREADS:
                step(f"{subject.name}: batches of {label}")
                names = {**ours.names, "set_num_threads": set_num_threads}
                timed[OURS, n] = Call(f"set_num_threads({n}); {ours.statement}", names, ours.answer)
                rows[OURS, n] = replace(row, threads=n, error=0.0)
                for name, peer in ready.items():
                    call = peer.batch(label, states, n)
                    if call is None:
                        continue
                    error = relative_error([call.run()], [truth])
                    rows[name, n] = replace(row, library=name, threads=n, error=error)
                    if error <= peer.tolerance:
                        timed[name, n] = call
                    else:
                        rows[name, n] = replace(rows[name, n], note=f"differs by {error:.0e}")
            for key, seconds in best_times(timed, plan.batch_rounds, plan.turn).items():
                rows[key] = replace(rows[key], seconds=seconds / plan.batch)
            found += rows.values()
    finally:
        set_num_threads(before)
    return found
