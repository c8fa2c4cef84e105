"""Problems and plans as tables, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from helicoid._typing import Array
from helicoid.pages.tables import table

if TYPE_CHECKING:
    from helicoid.mpc.plan import Plan
    from helicoid.mpc.structure import Structure


def problem(one: Structure) -> str:
    """A problem's grid, and a row for each cost and constraint."""
    of = "an ODE" if one.robot is None else one.robot.name
    bounds = one.duration_bounds
    time = f"{one.times[-1]:g}" if bounds is None else f"{bounds[0]:g} to {bounds[1]:g}"
    title = f"Problem of {of}: {one.intervals} intervals, {time} s"
    costs = [
        (cost.name, cost.expression.numel(), _range(cost.weight.initial[0]), _range(cost.weight.initial[-1]))
        for cost in one.costs
    ]
    held = [
        (c.name, c.size, _range(c.lower), _range(c.upper), "hard" if c.price is None else "soft")
        for c in one.constraints
    ]
    return table(title, ("cost", "rows", "weight", "at the end"), costs) + table(
        "", ("constraint", "rows", "lower", "upper", "kind"), held
    )


def plan(one: Plan) -> str:
    """Cost and violations of a plan."""
    rows = [
        ("message", one.message),
        ("duration", f"{one.duration:g} s in {len(one.u)} intervals"),
        ("cost", f"{one.cost:.6g}"),
        ("violation", f"{one.violation:.1e}"),
        ("solver", f"{one.solver}, {one.iterations} iterations, {1e3 * one.seconds:.3g} ms"),
    ]
    missed = [(each.constraint, each.row, each.node, f"{each.amount:.3g}") for each in one.violations]
    more = table("not met:", ("constraint", "row", "node", "missed by"), missed) if missed else ""
    return table("Plan", ("", ""), rows) + more


def _range(values: Array) -> str:
    """One number, or the smallest and the largest."""
    low, high = float(np.min(values)), float(np.max(values))
    return f"{low:.4g}" if low == high else f"{low:.4g} … {high:.4g}"
