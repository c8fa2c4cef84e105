"""Manoeuvres that excite the modes of an aircraft."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.aerial.checks import check_positive, is_number, real_numbers
from helicoid.errors import InputError


def multistep(
    t: ArrayLike,
    start: float = 1.0,
    unit: float = 0.5,
    amplitude: float = 1.0,
    steps: Sequence[float] = (3, 2, 1, 1),
) -> Array:
    """Multistep input: steps of alternating sign, by default 3-2-1-1, zero before and after.

    The longest step lasts 3 units. A 3-2-1-1 excites a band about 0.3 / unit (Hz), wider than that of a
    doublet, `steps=(1, 1)`: with a third of a mode's period as unit it needs no precise model of the mode
    (Jategaonkar 2006).

    Args:
        t: times (s).
        start: of the first step (s).
        unit: duration of a step of one (s).
        amplitude: height of the steps, such as a deflection (rad); negative ones begin downwards.
        steps: durations in units.

    >>> print(multistep(range(9), start=1.0, unit=1.0))
    [ 0.  1.  1.  1. -1. -1.  1. -1.  0.]
    """
    times = real_numbers("t", t)
    check_positive("a manoeuvre's unit", unit, "s")
    if not is_number(start) or not is_number(amplitude):
        raise InputError(f"a manoeuvre's start and amplitude are numbers; got {start!r} and {amplitude!r}")
    durations = real_numbers("steps", steps)
    if durations.ndim != 1 or not len(durations) or not np.all(durations > 0):
        raise InputError(f"steps are positive durations in units; got {steps!r}")
    edges = start + unit * np.concatenate([[0.0], np.cumsum(durations)])
    k = np.searchsorted(edges, times + 1e-9 * unit, side="right") - 1
    signs = np.concatenate([np.resize([1.0, -1.0], len(durations)), [0.0]])
    return np.asarray(amplitude * np.where(k < 0, 0.0, signs[k]))
