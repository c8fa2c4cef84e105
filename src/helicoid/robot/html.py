"""A robot as notebooks show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from helicoid._typing import Array
from helicoid.tables import table

if TYPE_CHECKING:
    from helicoid.robot.data import RobotData


def to_html(robot: RobotData) -> str:
    """The robot in a line, and its joints in a table: where they are in q and v, and their limits."""
    names = ("joint", "type", "q", "v", "range", "velocity", "effort")
    rows = []
    for joint in robot.model.independent_joints:
        q, v = robot.index(joint.name)
        limits = joint.range
        cells = [
            joint.name,
            joint.type.kind,
            _places(q),
            _places(v),
            f"{_numbers(limits.lower)} … {_numbers(limits.upper)}",
            _numbers(limits.velocity),
            _numbers(limits.effort),
        ]
        rows.append(cells)
    return table(f"{robot!r}, {robot.mass:.4g} kg move", names, rows)


def _places(part: slice) -> str:
    return str(part.start) if part.stop == part.start + 1 else f"{part.start}:{part.stop}"


def _numbers(values: Array) -> str:
    """The value, or those that differ; nothing where there is no limit."""
    if not np.any(np.isfinite(values)):
        return "∞" if np.all(values > 0) else "-∞"
    same = np.unique(values)
    return ", ".join(f"{x:.4g}" for x in (same if len(same) == 1 else values))
