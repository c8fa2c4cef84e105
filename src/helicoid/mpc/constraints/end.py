"""Terminal constraints: the state at the end of the horizon."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from helicoid.dynamics.kinematics import configuration
from helicoid.errors import InputError
from helicoid.mpc.constraints.constraint import Constraint, Soft, constraint_on
from helicoid.mpc.system.parameter import mask as chosen_elements
from helicoid.mpc.system.symbols import Symbols


def end_constraints(
    symbols: Symbols,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    x: ArrayLike | None = None,
    mask: ArrayLike = True,
    soft: Soft = None,
) -> list[Constraint]:
    """q ⊖ q_end = 0, v = v_end or (of an ODE) x = x_end at the last node; `mask` chooses elements.

    The targets are parameters `end_q`, `end_v`, `end_x`. A mask is for one of them at a time.
    """
    given = {key: target for key, target in (("q", q), ("v", v), ("x", x)) if target is not None}
    if any((key == "x") != (symbols.own_robot is None) for key in given):
        raise InputError("the end state of a robot is given by q and v, that of an ODE by x")
    return [_end_constraint(symbols, key, target, mask, soft) for key, target in given.items()]


def _end_constraint(symbols: Symbols, key: str, target: ArrayLike, mask: ArrayLike, soft: Soft) -> Constraint:
    # Of an ODE without what a problem adds to its state, such as a free duration.
    here = symbols[key]
    desired = symbols.parameter(f"end_{key}", target, here.numel())
    if key == "q":
        error = configuration.difference(symbols.robot.model, desired.symbol, here)
    else:
        error = here - desired.symbol
    chosen = np.flatnonzero(chosen_elements(mask, error.numel(), f"end {key}")).tolist()
    labels = [f"{key}[{k}]" for k in chosen]
    return constraint_on(
        symbols, f"end_{key}_error", error[chosen], 0.0, 0.0, soft,
        on_path=False, labels=labels, parameters=[desired],
    )  # fmt: skip
