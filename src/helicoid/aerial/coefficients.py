"""Wing and aerodynamic coefficients of an aircraft, by name: numbers, and tables in their place.

C_X_i is the derivative of the coefficient C_X (lift L, drag D, side force Y, moments l, m, n; or body axes X
and Z in place of L and D) by the quantity i. Rates are normalised: p b/2V, q c/2V, r b/2V, α̇ c/2V, β̇ b/2V.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from helicoid.aerial.checks import check_positive, is_number
from helicoid.aerial.propulsion.curve import LookupTable
from helicoid.aerial.table import Table
from helicoid.errors import InputError

LONGITUDINAL = (
    *("C_L_0", "C_L_alpha", "C_L_q", "C_L_delta_e", "C_D_p", "C_D_q", "C_D_delta_e"),
    *("C_m_0", "C_m_alpha", "C_m_q", "C_m_delta_e"),
)
LATERAL = tuple(f"C_{c}_{k}" for c in "Yln" for k in ("0", "beta", "p", "r", "delta_a", "delta_r"))
_DERIVATIVES = (
    *("alpha", "alpha2", "beta", "beta2", "alpha_dot", "beta_dot", "p", "q", "r"),
    *("mach", "delta_e", "delta_a", "delta_r"),
)
OPTIONAL = tuple(f"C_{c}_{k}" for c in "LDmYlnXZ" for k in _DERIVATIVES if (c, k) != ("D", "p"))
"""Coefficients that are zero unless given; C_D_alpha replaces the induced drag, C_D_p is parasitic drag."""
TABLES = {"C_L": ("C_L_0", "C_L_alpha"), "C_D": ("C_D_p",), "C_m": ("C_m_0", "C_m_alpha")}
"""Coefficients that may be tables over α, and the numbers that each table replaces."""
TOTALS = {**TABLES, **{f"C_{c}": (f"C_{c}_0", f"C_{c}_beta") for c in "Yln"}, "C_X": (), "C_Z": ()}
"""Coefficients that may be a `Table`, beside derivatives, and the numbers that each replaces."""
AXES = ("alpha", "beta", "mach", "delta_e", "delta_a", "delta_r")
"""Quantities over which coefficients may be tables."""

AnyTable = LookupTable | Table


@dataclass(frozen=True)
class Wing:
    """Wing: area S (m²), span b (m), mean chord c (m), Oswald efficiency e, and stall.

    Beyond the angle `stall` (rad) lift blends into that of a flat plate, with the rate `blend` (1/rad).
    """

    area: float
    span: float
    chord: float
    efficiency: float = 0.9
    stall: float = 0.47
    blend: float = 50.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check_positive(f"a wing's {name}", value)

    @property
    def aspect_ratio(self) -> float:
        """b²/S."""
        return self.span**2 / self.area


def read_tables(given: Mapping[str, Any]) -> dict[str, AnyTable]:
    """Tables of coefficients: pairs (angles, values) over α, or a `Table`, with their numbers checked."""
    if not isinstance(given, Mapping):
        raise InputError(f"tables are of coefficients, by name; got {given!r}")
    tables: dict[str, AnyTable] = {}
    for name, table in given.items():
        if isinstance(table, Table):
            if name not in TOTALS and name not in (*LONGITUDINAL, *LATERAL, *OPTIONAL):
                raise InputError(f"tables are of {', '.join(TOTALS)} or of derivatives; got {name!r}")
            if set(table.over) - set(AXES):
                raise InputError(f"table {name}: over {', '.join(AXES)}; got {', '.join(table.over)}")
            tables[name] = table
            continue
        if name not in TABLES:
            raise InputError(f"tables are of {', '.join(TABLES)} over alpha, or a Table; got {name!r}")
        if not isinstance(table, (tuple, list)) or len(table) != 2:
            raise InputError(f"table {name}: a pair (angles, values); got {table!r}")
        tables[name] = LookupTable.of(table[0], table[1], f"table {name}", "alpha")
    if ("C_X" in tables) != ("C_Z" in tables):
        raise InputError("tables of C_X and C_Z come together: forces along x and z of the body")
    if "C_X" in tables and {"C_L", "C_D"} & set(tables):
        raise InputError("forces are C_L and C_D, or C_X and C_Z in body axes: not both")
    return tables


def _replaced(name: str, table: AnyTable) -> tuple[str, ...]:
    """Numbers that a table replaces."""
    if name not in TOTALS:
        return (name,)
    over = table.over if isinstance(table, Table) else ("alpha",)
    return (*TOTALS[name], *(f"{name}_{x}" for x in over if x not in ("alpha", "beta")))


def read_coefficients(coefficients: Mapping[str, float], tables: Mapping[str, AnyTable]) -> dict[str, float]:
    """Coefficients by name, beside those that tables replace.

    Raises:
        InputError: one is missing, unknown or not finite.
    """
    if not isinstance(coefficients, Mapping):
        raise InputError(f"coefficients are numbers by name; got {coefficients!r}")
    body_axes = "C_X" in tables
    forces = "LD" if body_axes else "XZ"
    replaced = [name for key, table in tables.items() for name in _replaced(key, table)]
    needed = [
        name
        for name in (*LONGITUDINAL, *LATERAL)
        if name not in replaced and not (body_axes and name[2] in "LD")
    ]
    missing = [name for name in needed if name not in coefficients]
    if missing:
        raise InputError(f"coefficients are missing: {', '.join(missing)}")
    known = {*needed, *(name for name in OPTIONAL if name not in replaced and name[2] not in forces)}
    unknown: list[Any] = [name for name in coefficients if name not in known]
    if unknown:
        names = ", ".join(
            f"{name} (replaced by a table)" if name in replaced else str(name) for name in unknown
        )
        raise InputError(f"unknown coefficients: {names}")
    bad = [name for name, value in coefficients.items() if not is_number(value)]
    if bad:
        raise InputError(f"coefficients that are not finite numbers: {', '.join(bad)}")
    return {name: float(value) for name, value in coefficients.items()}
