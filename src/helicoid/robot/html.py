"""A robot as notebooks show it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from helicoid._typing import Array

if TYPE_CHECKING:
    from helicoid.robot.data import RobotData


def table(robot: RobotData) -> str:
    """The robot in a line, and its joints in a table: where they are in q and v, and their limits."""
    names = ("joint", "type", "q", "v", "range", "velocity", "effort")
    rows = ["<tr>" + "".join(f"<th>{name}</th>" for name in names) + "</tr>"]
    for joint in robot.model.independent_joints:
        q, v = robot.index(joint.name)
        limits = joint.range
        cells = [
            escape(joint.name),
            escape(joint.type.kind),
            _places(q),
            _places(v),
            f"{_numbers(limits.lower)} … {_numbers(limits.upper)}",
            _numbers(limits.velocity),
            _numbers(limits.effort),
        ]
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    what = f"{escape(repr(robot))}, {robot.mass:.4g} kg move"
    return f"<p><b>{escape(robot.name)}</b>: <code>{what}</code></p><table>{''.join(rows)}</table>"


def _places(part: slice) -> str:
    return str(part.start) if part.stop == part.start + 1 else f"{part.start}:{part.stop}"


def _numbers(values: Array) -> str:
    """The value, or those that differ; nothing where there is no limit."""
    if not np.any(np.isfinite(values)):
        return "∞" if np.all(values > 0) else "-∞"
    same = np.unique(values)
    return ", ".join(f"{x:.4g}" for x in (same if len(same) == 1 else values))
