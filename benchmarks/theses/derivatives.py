"""Chapter 6 of the urdf2casadi thesis: Jacobians and time derivatives, counted and timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import casadi as ca
import numpy as np

from benchmarks.harness.calls import Call, relative_error
from benchmarks.harness.subjects import QUANTITIES, State, Subject
from benchmarks.harness.timing import best_times
from benchmarks.peers import Peer, hushed
from benchmarks.peers.symbolic import in_other_thread
from benchmarks.report import published
from benchmarks.report.results import OURS
from benchmarks.report.tables import Sheet
from benchmarks.theses.extent import TITLES, Extent
from benchmarks.theses.limited import MAX_MEMORY, within
from helicoid._typing import Array
from helicoid.compiler.function import Function
from helicoid.robot import Robot

Kind = Literal["jacobian", "rate"]


class Derived(NamedTuple):
    """How a derivative is written, and the function of a robot."""

    written: str
    make: Callable[[Robot], Function]


JACOBIANS = {
    "G": Derived("gravity_derivatives", lambda robot: robot.gravity_derivatives),
    "C": Derived("coriolis.jacobian()", lambda robot: robot.coriolis.jacobian()),
    "ID": Derived("inverse_dynamics_derivatives", lambda robot: robot.inverse_dynamics_derivatives),
    "M": Derived("mass_matrix_derivatives", lambda robot: robot.mass_matrix_derivatives),
    "FD (CRBA)": Derived(
        "forward_dynamics_crba.jacobian()", lambda robot: robot.forward_dynamics_crba.jacobian()
    ),
    "FD (ABA)": Derived("forward_dynamics_derivatives", lambda robot: robot.forward_dynamics_derivatives),
}
"""With respect to all inputs."""

RATES = {
    "G": Derived("gravity_dot", lambda robot: robot.gravity_dot),
    "C": Derived("coriolis.time_derivative()", lambda robot: robot.coriolis.time_derivative()),
    "ID": Derived("inverse_dynamics_dot", lambda robot: robot.inverse_dynamics_dot),
    "M": Derived("mass_matrix.time_derivative()", lambda robot: robot.mass_matrix.time_derivative()),
    "FD (CRBA)": Derived(
        "forward_dynamics_crba.time_derivative()",
        lambda robot: robot.forward_dynamics_crba.time_derivative(),
    ),
    "FD (ABA)": Derived(
        "forward_dynamics.time_derivative()", lambda robot: robot.forward_dynamics.time_derivative()
    ),
}
INTERPRETED = " (not compiled)"
"""Mark of a time of CasADi's virtual machine."""
DERIVED: dict[Kind, dict[str, Derived]] = {"jacobian": JACOBIANS, "rate": RATES}
TABLES: dict[Kind, tuple[str, Mapping[str, Sequence[float]], str, Mapping[str, Sequence[int]], str, str]] = {
    "jacobian": (
        "Table 6.1, figures 6.1 to 6.3: Jacobians with respect to all inputs, µs a call",
        published.JACOBIAN_TIMES,
        "Table 6.3: operations of Jacobians with respect to all inputs",
        published.JACOBIANS,
        "∇",
        "",
    ),
    "rate": (
        "Table 6.2, figures 6.4 to 6.6: time derivatives, µs a call",
        published.RATE_TIMES,
        "Table 6.4: operations of time derivatives",
        published.RATES,
        "d",
        "/dt",
    ),
}


@dataclass(frozen=True)
class Cell:
    """A derivative of a robot: operations and seconds, and nodes and seconds of urdf2casadi as installed.

    `remark` says why there are no seconds of urdf2casadi, or how they were measured.
    """

    operations: int
    seconds: float | None
    nodes: int | None = None
    their_seconds: float | None = None
    remark: str = ""


def tables(
    kind: Kind, subjects: Mapping[str, Subject], peers: Mapping[str, Peer], extent: Extent
) -> list[Sheet]:
    """Tables 6.1 and 6.3, or 6.2 and 6.4: times and counts."""
    title, known_times, counts_title, known_counts, before, after = TABLES[kind]
    times, counts = [], []
    for name, subject in subjects.items():
        for k, (label, derived) in enumerate(DERIVED[kind].items()):
            cell = measure(kind, label, subject, peers.get(name), extent)
            what = TITLES[name], f"{before}{label}{after}"
            theirs, count = known_times[name][k], known_counts[name][k]
            ratio = cell.their_seconds / cell.seconds if cell.their_seconds and cell.seconds else None
            theirs_here = (_number(cell.their_seconds, 1e6) if cell.their_seconds else "") + cell.remark
            seconds = [theirs_here, _number(cell.seconds, 1e6), _times(ratio)]
            times.append((*what, f"{theirs:.2f}", *seconds))
            share = f"{cell.operations / count:.0%}"
            nodes = "–" if cell.nodes is None else f"{cell.nodes:,}"
            counts.append((*what, f"{count:,}", nodes, f"{cell.operations:,}", share, derived.written))
    head = ("robot", "derivative", "urdf2casadi, published", "urdf2casadi, here", OURS)
    timed = Sheet(title, (*head, "ratio here"), times, _note(extent), labels=2)
    note = "Published counts and urdf2casadi's are graph nodes; share: of the published count."
    return [timed, Sheet(counts_title, (*head, "share", "function"), counts, note, labels=2)]


def _note(extent: Extent) -> str:
    limit = f"not compiled within {extent.minutes:g} minutes of processor time and {MAX_MEMORY // 2**30} GB"
    return (
        f"–: not measured.{INTERPRETED}: {limit}, and evaluated by CasADi's virtual machine. Differs: by "
        "more than 10⁻⁶ of the largest entry. Published times are of another machine."
    )


def measure(kind: Kind, label: str, subject: Subject, peer: Any, extent: Extent) -> Cell:
    """Count a derivative and time it in turns with urdf2casadi's, if that gives the same numbers."""
    function = DERIVED[kind][label].make(subject.robot)
    operations, nodes, remark = function.n_operations, None, "–"
    large = operations > extent.max_operations
    if peer is not None:
        with hushed():
            inputs, expression = their_derivative(kind, label, peer)
            nodes = ca.Function("derivative", list(inputs.values()), [expression]).n_nodes()
        if extent.slow_libraries:
            times: tuple[float | None, float] | None
            if nodes <= extent.max_nodes:
                times = _timed_beside(kind, label, subject, peer, extent)
            else:
                limit = 60.0 * extent.minutes
                times = within(limit, _made_and_timed, kind, label, replace(subject), type(peer), extent)
            remark = ""
            if times is None:
                remark, limit = INTERPRETED, 60.0 * extent.interpreted_minutes
                times = within(
                    limit, _made_and_timed, kind, label, replace(subject), type(peer), extent, True
                )
            if times is not None and times[1]:
                return Cell(operations, times[0], nodes, times[1], remark)
            remark = "differs" if times is not None else f"not within {extent.minutes:g} min"
    if large:
        return Cell(operations, None, nodes, None, remark)
    ours = {OURS: our_derivative_call(function, subject.state())}
    return Cell(operations, best_times(ours, extent.rounds, extent.turn)[OURS], nodes, None, remark)


def _made_and_timed(
    kind: Kind,
    label: str,
    subject: Subject,
    library: type[Peer],
    extent: Extent,
    interpreted: bool = False,
) -> tuple[float | None, float]:
    """The same in a process of its own, which makes the peer again."""
    with hushed():
        peer = library(subject)
    return _timed_beside(kind, label, subject, peer, extent, interpreted)


def _timed_beside(
    kind: Kind, label: str, subject: Subject, peer: Any, extent: Extent, interpreted: bool = False
) -> tuple[float | None, float]:
    """Seconds of ours, None if too large, and of urdf2casadi's derivative in turns; 0 of one that differs.

    CasADi's virtual machine evaluates the latter if it is `interpreted`.
    """
    function, state = DERIVED[kind][label].make(subject.robot), subject.state()
    with hushed():
        inputs, expression = their_derivative(kind, label, peer)
        options = {} if interpreted else peer.options()
        theirs = in_other_thread(
            lambda: ca.Function("derivative", list(inputs.values()), [expression], options)
        )
    names = {name: value_of(name, state) for name in inputs}
    if not agree(function, theirs, names):
        return None, 0.0
    calls = {"urdf2casadi": Call(f"result = f({', '.join(inputs)})", {"f": theirs, **names}, _no_result)}
    if function.n_operations <= extent.max_operations:
        calls[OURS] = our_derivative_call(function, state)
    seconds = best_times(calls, extent.rounds, extent.turn)
    return seconds.get(OURS), seconds["urdf2casadi"]


def _no_result(_: Mapping[str, Any]) -> Array:
    return np.zeros(0)


def their_derivative(kind: Kind, label: str, peer: Any) -> tuple[dict[str, ca.SX], ca.SX]:
    """Inputs and expression of a derivative of urdf2casadi's function, made as the thesis makes it."""
    names = QUANTITIES[label].inputs
    n = peer.subject.robot.nv
    inputs = {name: ca.SX.sym(name, n) for name in names}
    along = ca.vertcat(*inputs.values())
    result = ca.vec(ca.densify(peer.plain(label)(*inputs.values())))
    if kind == "jacobian":
        return inputs, ca.densify(ca.jacobian(result, along))
    rate_of = {"q": "v", "v": "a", "a": "a_dot", "tau": "tau_dot"}
    for name in names:
        inputs.setdefault(rate_of[name], ca.SX.sym(rate_of[name], n))
    return inputs, ca.jtimes(result, along, ca.vertcat(*(inputs[rate_of[name]] for name in names)))


def agree(function: Function, theirs: ca.Function, values: Mapping[str, Any]) -> bool:
    """Whether ours and urdf2casadi's derivative are the same within 10⁻⁶ of the largest entry."""
    result = function(**{item.name: values[item.name] for item in function.inputs})
    parts = result if isinstance(result, tuple) else (result,)
    expected = np.array(theirs(*values.values()))
    columns = expected.shape[1] // len(parts)
    ours = np.hstack([np.reshape(part, (-1, columns)) for part in parts])
    return relative_error([ours], [expected]) <= Peer.tolerance


def our_derivative_call(function: Function, state: State) -> Call:
    """A call of a function of parts of a state."""
    names = [item.name for item in function.inputs]
    values = {name: value_of(name, state) for name in names}
    return Call(f"result = f({', '.join(names)})", {"f": function, **values}, _no_result)


def value_of(name: str, state: State) -> Any:
    """An input by name; the rate of the torque is any vector."""
    return state.a_dot if name == "tau_dot" else getattr(state, name)


def large_snakes(subjects: Sequence[Subject], extent: Extent) -> Sheet:
    """Figures 6.3, 6.6 and 6.7: functions and both derivatives of the snakes."""
    rows = []
    for subject in subjects:
        state = subject.state()
        for label in published.LABELS:
            function = QUANTITIES[label].function(subject.robot)
            functions = [function, *(kind[label].make(subject.robot) for kind in DERIVED.values())]
            counts = [one.n_operations for one in functions]
            calls = {
                k: our_derivative_call(one, state)
                for k, one in enumerate(functions)
                if counts[k] <= extent.max_operations
            }
            seconds = best_times(calls, extent.rounds, extent.turn)
            times = [_number(seconds.get(k), 1e6) for k in range(3)]
            rows.append((str(subject.robot.nv), label, *(f"{n:,}" for n in counts), *times))
    columns = ("joints", "function", "ops", "ops ∇", "ops d/dt", "µs", "µs ∇", "µs d/dt")
    note = "The thesis draws the 32-joint snake without printing numbers. –: too large to compile here."
    return Sheet("Figure 6.7: the 16- and the 32-joint snake", columns, rows, note, labels=2)


def _number(value: float | None, unit: float = 1.0) -> str:
    return "–" if value is None else f"{unit * value:.3g}"


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.3g} ×"
