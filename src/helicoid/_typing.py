"""Types of arrays of numbers and of CasADi's expressions."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

Expression: TypeAlias = Any
"""casadi.SX, MX or DM: the stubs of casadi cannot say "any of the three, the same throughout"."""
