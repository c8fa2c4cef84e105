"""From the plan of one step to the start of the next: the same motion, one period later."""

from __future__ import annotations

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.compiler.function import Function, Input, Output
from helicoid.errors import InputError
from helicoid.mpc.solver.engine import Engine
from helicoid.mpc.structure import Structure


class Shift:
    """Moves an engine's trajectory and multipliers by a period: by whole nodes if that is the grid's step.

    Otherwise states and controls are interpolated in time. At the end the last ones stay.
    """

    def __init__(self, structure: Structure, engine: Engine, period: float) -> None:
        self._engine = engine
        self._structure, self._period = structure, period
        longest = structure.times[-1] if structure.duration_bounds is None else structure.duration_bounds[1]
        if not 0 < period <= longest:
            raise InputError(f"period must be positive and at most the horizon {longest:g} s, got {period!r}")
        even = bool(np.allclose(np.diff(structure.times), period, rtol=1e-9))
        whole = even and structure.duration_bounds is None
        self._between = None if whole else _interpolation(structure)
        self._look(period)

    def _look(self, period: float) -> None:
        """Find where the nodes, a period later, lie in the grid."""
        times = self._structure.times
        lengths = np.diff(times)
        later = np.minimum(times + period, times[-1])
        self._before = np.minimum(np.searchsorted(times, later, side="right") - 1, len(times) - 2)
        self._fraction = ((later - times[self._before]) / lengths[self._before])[:, None]
        # An interval's control belongs to its middle; nothing to interpolate in the last.
        self._next_control = np.minimum(self._before[:-1] + 1, len(times) - 2)
        self._nearest = np.minimum(self._before + (self._fraction[:, 0] > 0.5), len(times) - 1)

    def compile(self, x: Array) -> None:
        """Call once, for a state, what shifting calls: what must be compiled is compiled now."""
        if self._between is not None:
            rows = np.tile(x, (len(self._before), 1))
            self._between(rows, rows, self._fraction[:, 0])

    def __call__(self) -> None:
        if self._between is None:
            self._engine.shift()
            return
        engine, x, u = self._engine, self._engine["x"], self._engine["u"]
        if self._structure.duration_bounds is not None:
            self._look(self._period / self._structure.duration_of(x))
        k, f = self._before, self._fraction
        x[...] = self._between(x[k], x[k + 1], f[:, 0])
        u[:-1] = (1 - f[:-1]) * u[k[:-1]] + f[:-1] * u[self._next_control]
        multiplier, path = engine["multiplier"], np.minimum(self._nearest[:-1], len(k) - 2)
        multiplier[:-1] = multiplier[path]


def _interpolation(structure: Structure) -> Function:
    """(x0, x1, f) -> x0 ⊕ f (x1 ⊖ x0)."""
    system = structure.system
    n = system.x.numel()
    x0, x1, f = ca.SX.sym("x0", n), ca.SX.sym("x1", n), ca.SX.sym("f")
    between = system.retract(x0, f * system.local(x0, x1))
    return Function.from_expressions(
        "between",
        [(Input("x0", (n,)), x0), (Input("x1", (n,)), x1), (Input("f", ()), f)],
        [(Output("x", (n,)), between)],
    )
