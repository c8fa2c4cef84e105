"""The state at the end."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from helicoid.dynamics import configuration
from helicoid.errors import InputError
from helicoid.mpc.constraints.constraint import Constraint, Soft, constraint_on
from helicoid.mpc.system.parameter import mask as chosen_elements
from helicoid.mpc.system.symbols import Symbols


def final_constraints(
    symbols: Symbols,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    x: ArrayLike | None = None,
    mask: ArrayLike = True,
    soft: Soft = None,
) -> list[Constraint]:
    """q ⊖ q_final = 0, v = v_final or (of an ODE) x = x_final at the last node; `mask` chooses elements.

    The targets are parameters `final_q`, `final_v`, `final_x`. A mask is for one of them at a time.
    """
    given = {key: target for key, target in (("q", q), ("v", v), ("x", x)) if target is not None}
    if any((key == "x") != (symbols.own_robot is None) for key in given):
        raise InputError("a robot's final state is given by q and v, that of an ODE by x")
    return [_final(symbols, key, target, mask, soft) for key, target in given.items()]


def _final(symbols: Symbols, key: str, target: ArrayLike, mask: ArrayLike, soft: Soft) -> Constraint:
    # Of an ODE without what a problem adds to its state, such as a free duration.
    here = symbols[key]
    wanted = symbols.parameter(f"final_{key}", target, here.numel())
    if key == "q":
        error = configuration.difference(symbols.robot.model, wanted.symbol, here)
    else:
        error = here - wanted.symbol
    chosen = np.flatnonzero(chosen_elements(mask, error.numel(), f"final {key}")).tolist()
    labels = [f"{key}[{k}]" for k in chosen]
    return constraint_on(
        symbols, f"final_{key}_error", error[chosen], 0.0, 0.0, soft,
        on_path=False, labels=labels, parameters=[wanted],
    )  # fmt: skip
