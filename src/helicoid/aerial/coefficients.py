"""Aerodynamic coefficients of an aircraft by name, and lookup tables over α."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from helicoid.aerial.checks import is_number
from helicoid.aerial.propulsion.curve import LookupTable
from helicoid.errors import InputError

LONGITUDINAL = (
    *("C_L_0", "C_L_alpha", "C_L_q", "C_L_delta_e", "C_D_p", "C_D_q", "C_D_delta_e"),
    *("C_m_0", "C_m_alpha", "C_m_q", "C_m_delta_e"),
)
LATERAL = tuple(f"C_{c}_{k}" for c in "Yln" for k in ("0", "beta", "p", "r", "delta_a", "delta_r"))
TABLES = {"C_L": ("C_L_0", "C_L_alpha"), "C_D": ("C_D_p",), "C_m": ("C_m_0", "C_m_alpha")}
"""Coefficients that may be tables over α, and the numbers that each table replaces."""


def read_tables(given: Mapping[str, Any]) -> dict[str, LookupTable]:
    """Lookup tables over α, with their numbers checked."""
    if not isinstance(given, Mapping) or any(name not in TABLES for name in given):
        raise InputError(f"tables are of {', '.join(TABLES)}, by name; got {given!r}")
    tables = {}
    for name, pair in given.items():
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InputError(f"table {name}: a pair (angles, values); got {pair!r}")
        tables[name] = LookupTable.of(pair[0], pair[1], f"table {name}", "alpha")
    return tables


def read_coefficients(
    coefficients: Mapping[str, float], tables: Mapping[str, LookupTable]
) -> dict[str, float]:
    """Coefficients by name, beside those that tables replace.

    Raises:
        InputError: one is missing, unknown or not finite.
    """
    if not isinstance(coefficients, Mapping):
        raise InputError(f"coefficients are numbers by name; got {coefficients!r}")
    replaced = [name for table in tables for name in TABLES[table]]
    needed = [name for name in (*LONGITUDINAL, *LATERAL) if name not in replaced]
    missing = [name for name in needed if name not in coefficients]
    if missing:
        raise InputError(f"coefficients are missing: {', '.join(missing)}")
    unknown: list[Any] = [name for name in coefficients if name not in needed]
    if unknown:
        names = ", ".join(
            f"{name} (replaced by a table)" if name in replaced else str(name) for name in unknown
        )
        raise InputError(f"unknown coefficients: {names}")
    bad = [name for name, value in coefficients.items() if not is_number(value)]
    if bad:
        raise InputError(f"coefficients that are not finite numbers: {', '.join(bad)}")
    return {name: float(value) for name, value in coefficients.items()}
