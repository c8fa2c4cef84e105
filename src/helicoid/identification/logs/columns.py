"""Columns of a table by name: times, positions, velocities, accelerations, torques."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from helicoid.errors import InputError

COMMANDS = ("q_command", "v_command", "tau_command")
KINDS = ("q", "v", "a", "tau", *COMMANDS)
# Accepted prefixes of each quantity's columns, before the number or name of the joint.
PREFIXES = {
    "q": ("q", "pos", "position"),
    "v": ("dq", "qd", "v", "vel", "velocity"),
    "a": ("ddq", "qdd", "a", "acc", "acceleration"),
    "tau": ("tau", "torque", "effort", "eff"),
    "q_command": ("q_command", "q_cmd", "q_des", "position_command"),
    "v_command": ("v_command", "v_cmd", "dq_command", "dq_cmd", "dq_des", "velocity_command"),
    "tau_command": ("tau_command", "tau_cmd", "tau_des", "torque_command"),
}
TIMES = ("t", "time", "timestamp")
_SYNONYMS = {"dq": "v", "ddq": "a"}
# The rest of a column's name: a number, or the name of a joint.
_ENDING = r"_?(\d+)|\[(\d+)\]|[_./](\w+)"


def chosen_columns(
    header: list[str], columns: Mapping[str, Any] | None, name: str
) -> dict[str, tuple[str, ...]]:
    """The columns of t and of each kind in a header, by a mapping where it says so, else by name.

    >>> chosen_columns(["t", "q2", "q1", "tau_2", "tau_1"], None, "run.csv")["tau"]
    ('tau_1', 'tau_2')
    """
    if columns is not None and not isinstance(columns, Mapping):
        raise InputError(
            f"columns maps t, q, v, a and tau to names of columns, such as {{'t': 'stamp'}}; got {columns!r}"
        )
    chosen = {_SYNONYMS.get(kind, kind): _wanted(names) for kind, names in (columns or {}).items()}
    for kind, names in chosen.items():
        if kind not in ("t", *KINDS):
            raise InputError(
                f"columns: {kind!r} is none of t, q, v (or dq), a (or ddq), tau, {', '.join(COMMANDS)}"
            )
        for one in names:
            if one not in header:
                raise InputError(f"{name}: has no column {one!r}; it has: {', '.join(header)}")
    for kind in KINDS:
        if kind not in chosen:
            found = _found(header, kind)
            first = {ending: k for k, ending in enumerate(_endings(chosen["q"]))} if kind != "q" else {}
            if set(first) == set(_endings(found)):
                found = tuple(sorted(found, key=lambda column: first[_endings([column])[0]]))
            chosen[kind] = found
    chosen.setdefault("t", tuple(c for c in header if c.lower() in TIMES)[:1])
    for kind in ("t", "q"):
        if not chosen[kind]:
            raise InputError(
                f"{name}: found no column for {kind}; it has: {', '.join(header)}. "
                f"Say which with columns={{{kind!r}: ...}}"
            )
    return chosen


def _wanted(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _found(header: list[str], kind: str) -> tuple[str, ...]:
    """The columns of a kind: its prefix, then a number or `_name`; by number where all have one."""
    if kind not in COMMANDS:
        commands = {column for one in COMMANDS for column in _found(header, one)}
        header = [column for column in header if column not in commands]
    for prefix in PREFIXES[kind]:
        pattern = re.compile(rf"{prefix}(?:{_ENDING})$", re.IGNORECASE)
        found = [column for column in header if pattern.match(column)]
        if found:
            endings = _endings(found)
            numbered = all(ending.isdecimal() for ending in endings)
            order = (
                sorted(range(len(found)), key=lambda k: int(endings[k])) if numbered else range(len(found))
            )
            return tuple(found[k] for k in order)
    return ()


def _endings(columns: Iterable[str]) -> list[str]:
    """Endings of columns after prefix and separator; the whole name where there is none."""
    prefixes = sorted((prefix for kind in KINDS for prefix in PREFIXES[kind]), key=len, reverse=True)
    any_prefix = "|".join(prefixes)
    found = [re.match(rf"(?:{any_prefix})(?:{_ENDING})$", column, re.IGNORECASE) for column in columns]
    return [
        column if match is None else next(group for group in match.groups() if group is not None)
        for column, match in zip(columns, found, strict=True)
    ]
