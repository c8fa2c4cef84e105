"""One robot, every quantity, every library: first whether they agree, then how long a call takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from benchmarks.harness.calls import Call, our_call, relative_error
from benchmarks.harness.disturbance import Watch
from benchmarks.harness.plan import DERIVATIVES, Plan
from benchmarks.harness.registers import leaves_registers_in_use
from benchmarks.harness.subjects import QUANTITIES, State, Subject
from benchmarks.harness.timing import best_times
from benchmarks.peers import Peer, Unfit, hushed
from benchmarks.report.results import OURS, UNCLEAN, Timing
from helicoid._typing import Array

CHECKED_STATES = 4
Peers = Mapping[str, Callable[[Subject], Peer]]
Progress = Callable[[str], None]


def compare_calls(
    subject: Subject, labels: Sequence[str], peers: Peers, plan: Plan, step: Progress, kind: str = "call"
) -> list[Timing]:
    """Time one call of each quantity in each library that computes it as Helicoid does."""
    ready, refused = prepared(subject, peers)
    batch = subject.state(CHECKED_STATES)
    states = [State(*(part[k] for part in batch)) for k in range(CHECKED_STATES)]
    found: list[Timing] = []
    for label in labels:
        step(f"{subject.name}: {label}")
        operations = QUANTITIES[label].function(subject.robot).n_operations
        row = Timing(kind, subject.name, label, OURS, velocities=subject.robot.nv, operations=operations)
        start = time.perf_counter()
        ours = [our_call(subject, QUANTITIES[label], state) for state in states]
        truths = [call.run() for call in ours]
        rows = {OURS: replace(row, error=0.0, preparation=time.perf_counter() - start)}
        if leaves_registers_in_use(ours[0]):
            rows[OURS] = replace(rows[OURS], note=UNCLEAN)
        timed = {OURS: ours[0]}
        for name, peer in ready.items():
            if peer.compiles and label in DERIVATIVES and not plan.slow_libraries:
                rows[name] = replace(row, library=name, note="in the full run only")
                continue
            call, rows[name] = _checked(peer, label, states, truths, replace(row, library=name))
            if call is not None:
                timed[name] = call
        watch = Watch()
        times = best_times(timed, plan.rounds, plan.turn)
        others = watch.others()
        for name, seconds in times.items():
            rows[name] = replace(rows[name], seconds=seconds, others=others)
        found += rows.values()
        found += [replace(row, library=name, note=note) for name, note in refused.items()]
    return found


def compare_growth(
    subjects: Sequence[Subject], labels: Sequence[str], peers: Peers, plan: Plan, step: Progress
) -> list[Timing]:
    """The same on longer and longer chains; a library that takes too long to prepare is left behind."""
    quick_ones = {name: peer for name, peer in peers.items() if not getattr(peer, "compiles", False)}
    asked = dict(peers) if plan.slow_libraries else quick_ones
    found: list[Timing] = []
    for subject in subjects:
        timings = compare_calls(subject, labels, asked, plan, step, "growth")
        for name in {timing.library for timing in timings if timing.preparation > plan.patience} & set(asked):
            del asked[name]
        found += timings
    return found


def prepared(subject: Subject, peers: Peers) -> tuple[dict[str, Peer], dict[str, str]]:
    """The libraries with the robot loaded, and for those that cannot take it, why."""
    ready: dict[str, Peer] = {}
    refused: dict[str, str] = {}
    for name, make in peers.items():
        try:
            with hushed():
                ready[name] = make(subject)
        except Unfit as reason:
            refused[name] = str(reason)
        except Exception as error:  # whatever a peer does, the others are measured
            refused[name] = _failure(error)
    return ready, refused


def _checked(
    peer: Peer, label: str, states: Sequence[State], truths: Sequence[Array], row: Timing
) -> tuple[Call | None, Timing]:
    """The call to time, or None with a note that says why not."""
    start = time.perf_counter()
    try:
        with hushed():
            calls = [peer.call(label, state) for state in states]
            answers = [call.run() for call in calls if call is not None]
    except Exception as error:
        return None, replace(row, note=_failure(error))
    row = replace(row, preparation=time.perf_counter() - start)
    if len(answers) < len(states):
        return None, replace(row, note="not offered")
    difference = relative_error(answers, truths)
    if not difference <= peer.tolerance:
        return None, replace(row, error=difference, note=f"differs by {difference:.0e}")
    return calls[0], replace(row, error=difference)


def _failure(error: Exception) -> str:
    return f"fails: {type(error).__name__}: {error}".splitlines()[0][:200]
