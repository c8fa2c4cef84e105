"""Sections 6.2 and 6.3 of the Heidelberg thesis: derivatives against functions, and identification."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from benchmarks.harness.subjects import chain_subject
from benchmarks.harness.timing import best_times
from benchmarks.report.tables import Sheet
from benchmarks.theses.derivatives import our_derivative_call
from benchmarks.theses.extent import Extent
from helicoid.compiler.function import Function
from helicoid.robot import Robot

PAIRS: dict[str, tuple[Callable[[Robot], Function], Callable[[Robot], Function]]] = {
    "C̃": (lambda robot: robot.bias, lambda robot: robot.inverse_dynamics_derivatives),
    "ID": (lambda robot: robot.inverse_dynamics, lambda robot: robot.inverse_dynamics_derivatives),
    "M": (lambda robot: robot.mass_matrix, lambda robot: robot.mass_matrix_derivatives),
    "FD": (lambda robot: robot.forward_dynamics, lambda robot: robot.forward_dynamics_derivatives),
}
"""Functions and their full Jacobians; that of C̃ is that of ID without acceleration."""
COMPILED_AS_LOOPS = ("C̃", "ID", "FD")
"""Those whose Jacobians are compiled in seconds, however many operations they have."""


def ratios(extent: Extent) -> Sheet:
    """Figure 6.7: operations and time of a full Jacobian as multiples of its function's."""
    rows = []
    for label, (make, differentiate) in PAIRS.items():
        for n in extent.derivative_chains:
            subject = chain_subject(n)
            function, jacobian = make(subject.robot), differentiate(subject.robot)
            counts = function.n_operations, jacobian.n_operations
            cells = [*(f"{count:,}" for count in counts), _ratio(counts[1], counts[0])]
            if label in COMPILED_AS_LOOPS or counts[1] <= extent.max_growth_operations:
                state = subject.state()
                calls = {k: our_derivative_call(one, state) for k, one in enumerate((function, jacobian))}
                seconds = best_times(calls, extent.rounds, extent.turn)
                cells += [
                    f"{1e6 * seconds[0]:.3g}",
                    f"{1e6 * seconds[1]:.3g}",
                    _ratio(seconds[1], seconds[0]),
                ]
            else:
                cells += ["–"] * 3
            rows.append((label, str(n), *cells))
    columns = ("function", "joints", "ops", "ops ∇", "ratio", "µs", "µs ∇", "ratio")
    note = (
        "The thesis prints no numbers of this figure. ∇C̃ is ∇ID without acceleration. From 12 joints on ∇C̃, "
        "∇ID and ∇FD are compiled as loops, which compute more operations than are counted. –: over "
        f"{extent.max_growth_operations:,} operations, not compiled here."
    )
    title = "Figure 6.7 (Heidelberg): full Jacobians against functions, chains of 1 to 60 joints"
    return Sheet(title, columns, rows, note, labels=2)


def identification(extent: Extent) -> Sheet:
    """Figure 6.8: linear least squares against multiple shooting; the example does the work."""
    title = "Figure 6.8 (Heidelberg): identification of chains, seconds"
    columns = ("joints", "linear least squares", "multiple shooting", "ratio", "errors of torques")
    try:
        example = _example()
    except ImportError as error:
        return Sheet(title, columns, [], f"Left out: {error}.")
    rows = []
    for n in extent.identified:
        linear, shooting, linear_error, shooting_error = example.compared(n)
        errors = f"{linear_error:.2%}, {shooting_error:.2%}"
        rows.append((str(n), f"{linear:.2g}", f"{shooting:.2g}", _ratio(shooting, linear), errors))
    note = "By examples/identification_growth.py, wall-clock time; the thesis prints no numbers."
    return Sheet(title, columns, rows, note)


def _example() -> ModuleType:
    path = Path(__file__).parents[2] / "examples/identification_growth.py"
    spec = importlib.util.spec_from_file_location("identification_growth", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _ratio(above: float, below: float) -> str:
    return f"{above / below:.3g}" if below else "–"
