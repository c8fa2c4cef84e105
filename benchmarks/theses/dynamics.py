"""Chapter 5 of the urdf2casadi thesis and section 6.1 of the Heidelberg thesis: functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.harness.subjects import Subject, chain_subject
from benchmarks.harness.timing import best_times
from benchmarks.peers import hushed
from benchmarks.report import published
from benchmarks.report.comparison import Peers, compare_calls, compare_growth
from benchmarks.report.results import OURS, Timing, distinct
from benchmarks.report.tables import Sheet
from benchmarks.theses.derivatives import our_derivative_call
from benchmarks.theses.extent import TITLES, Extent, heidelberg

RBDL = "RBDL, which both theses time, is not in the package registries and is missing."


def tables(
    subjects: Mapping[str, Subject], symbolic: Mapping[str, Any], peers: Peers, extent: Extent
) -> list[Sheet]:
    """Tables 5.1 to 5.3 and figures 5.1 to 5.4: the six functions of three robots."""
    times, counts = [], []
    quick = {name: peer for name, peer in peers.items() if extent.slow_libraries or name != "urdf2casadi"}
    for name, subject in subjects.items():
        timings = compare_calls(subject, published.LABELS, quick, extent.plan, _silent)
        for k, label in enumerate(published.LABELS):
            found = {t.library: t for t in timings if t.quantity == label}
            what = TITLES[name], label
            ours = found[OURS].seconds or 0.0
            others = [_ratio(found.get(one), ours) for one in quick]
            times.append((*what, f"{published.TIMES[name][k]:.2f}", f"{1e6 * ours:.3g}", *others))
            nodes = "–"
            if name in symbolic:
                with hushed():
                    nodes = f"{symbolic[name].plain(label).n_nodes():,}"
            count, theirs = found[OURS].operations, published.ROBOTS[name][k]
            counts.append((*what, f"{theirs:,}", nodes, f"{count:,}", f"{count / theirs:.0%}"))
    head = ("robot", "function", "urdf2casadi, published")
    title = "Tables 5.1 and 5.3, figures 5.1 to 5.4: one call, µs, and how many times longer others take here"
    note = f"Published times are of another machine. {RBDL} –: not offered, or its result differs."
    return [
        Sheet(title, (*head, OURS, *quick), times, note, labels=2),
        Sheet(
            "Table 5.2: operations of the functions",
            (*head, "urdf2casadi, here", OURS, "share"),
            counts,
            "Published counts and urdf2casadi's are graph nodes; share: of the published count.",
            labels=2,
        ),
    ]


def growth(peers: Peers, extent: Extent) -> Sheet:
    """Tables 5.4 to 5.10, figures 5.5 to 5.11, and figures 6.5 and 6.6 of the Heidelberg thesis."""
    quick = {name: peer for name, peer in peers.items() if name != "urdf2casadi"}
    chains = [chain_subject(n) for n in extent.chains]
    timings = compare_growth(chains, published.LABELS, quick, extent.plan, _silent)
    rows = []
    for label in published.LABELS:
        known = dict(zip(published.JOINTS, published.CHAINS.get(label, ()), strict=False))
        for n in extent.chains:
            found = {t.library: t for t in timings if (t.quantity, t.velocities) == (label, n)}
            ours = found[OURS].seconds or 0.0
            counts = f"{known[n]:,}" if n in known else "–", f"{found[OURS].operations:,}"
            others = [_ratio(found.get(one), ours) for one in quick]
            rows.append((label, str(n), *counts, f"{1e6 * ours:.3g}", *others))
    columns = ("function", "joints", "urdf2casadi's count, published", "ops", f"{OURS}, µs", *quick)
    title = "Tables 5.4 to 5.10, figures 5.5 to 5.11: chains, and how many times longer others take"
    note = (
        f"urdf2casadi is not timed: compiling its long chains takes minutes each. The thesis has no counts "
        f"of FD (CRBA) for the same reason. {RBDL} –: not published, or not offered by the library."
    )
    return Sheet(title, columns, rows, note, labels=2)


def heidelberg_times(peers: Peers, extent: Extent) -> Sheet:
    """Figures 6.1 to 6.3 of the Heidelberg thesis: Panda, double pendulum, chain of 14 joints."""
    labels = ("ID", "M", "FD (CRBA)", "FD (ABA)")
    quick = {name: peer for name, peer in peers.items() if name != "urdf2casadi"}
    rows = []
    for title, subject in heidelberg(extent).items():
        call = our_derivative_call(subject.robot.bias, subject.state())
        seconds = best_times({OURS: call}, extent.rounds, extent.turn)[OURS]
        bias = str(subject.robot.bias.n_operations), f"{1e6 * seconds:.3g}"
        rows.append((title, "C̃ = C + G", *bias, *("–" for _ in quick)))
        timings = compare_calls(subject, labels, quick, extent.plan, _silent)
        for label in distinct(t.quantity for t in timings):
            found = {t.library: t for t in timings if t.quantity == label}
            ours = found[OURS].seconds or 0.0
            others = [_ratio(found.get(one), ours) for one in quick]
            rows.append((title, label, f"{found[OURS].operations:,}", f"{1e6 * ours:.3g}", *others))
    note = (
        "The thesis draws these figures without printing numbers. Others compute C̃ as ID without "
        f"acceleration, in the same time. {RBDL} –: not offered by the library."
    )
    title = "Figures 6.1 to 6.3 (Heidelberg): one call, µs, and how many times longer others take"
    return Sheet(title, ("robot", "function", "ops", f"{OURS}, µs", *quick), rows, note, labels=2)


def heidelberg_functionality() -> Sheet:
    """Table 6.1 of the Heidelberg thesis, with a column for Helicoid."""
    published_rows = (
        ("inverse dynamics", "yes", "yes", "yes", "yes", "inverse_dynamics"),
        ("forward dynamics (ABA)", "yes", "yes", "no", "no", "forward_dynamics"),
        ("forward dynamics (CRBA)", "yes", "yes", "yes", "yes", "forward_dynamics_crba"),
        ("M", "yes", "yes", "yes", "yes", "mass_matrix"),
        ("C̃", "yes", "yes", "yes", "yes", "bias"),
        ("URDF", "yes", "yes", "no", "yes", "load"),
        ("sensitivity", "yes", "no", "no", "yes", "Function.jacobian"),
        ("closed loops", "no", "yes", "yes", "no", "close_loop"),
        ("open loops", "yes", "yes", "yes", "yes", "load"),
        ("constraints", "no", "yes", "yes", "no", "with_contact"),
    )
    columns = ("", "urdf2casadi", "RBDL", "Bullet", "the thesis", OURS)
    return Sheet("Table 6.1 (Heidelberg): functionality, as published, and ours", columns, published_rows)


def _ratio(timing: Timing | None, ours: float) -> str:
    if timing is None or timing.seconds is None or not ours:
        return "–"
    return f"{timing.seconds / ours:.3g} ×"


def _silent(_: str) -> None:
    """Progress that is not shown."""
