"""Equality constraints: linear couplings of joints as mimics, `connect` and `weld` as kinematic loops.

MuJoCo's constraints are soft, ours are rigid. Couplings that no mimic can state are `Coupling`s, which
`hc.load` adds as holonomic constraints.
"""

from __future__ import annotations

from typing import Any

from helicoid.model.mjcf.unsupported import Refusals
from helicoid.model.model import Model


def with_equalities(model: Model, compiled: Any, refusals: Refusals) -> Model:
    """The model with the active equality constraints of a compiled model."""
    found = [
        f"<equality name={compiled.eq(i).name!r}>" for i in range(compiled.neq) if compiled.eq_active0[i]
    ]
    refusals.refuse("equality", found)
    return model
