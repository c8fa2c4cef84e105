"""Statuses of the parts of a controller, and their worst."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from helicoid.status import Status

Report = tuple[str, Status, Callable[[], str]]
"""The name of a part, its status, and its message."""

_SEVERITY = (
    *(Status.OK, Status.NOT_STARTED, Status.SATURATED, Status.ITERATION_LIMIT, Status.TIME_LIMIT),
    *(Status.NO_PROGRESS, Status.INFEASIBLE, Status.NOT_CONVEX, Status.NO_TARGET, Status.NO_CONTACT),
    *(Status.NOT_FINITE, Status.BAD_REFERENCE, Status.BAD_MEASUREMENT),
)
"""Statuses from the best to the worst."""


def worst(reports: Sequence[Report]) -> Status:
    """The worst status."""
    return max((status for _, status, _ in reports), key=_SEVERITY.index)


def joined(reports: Sequence[Report]) -> str:
    """Messages of the parts that are not ok."""
    return "; ".join(f"{name}: {text() or status}" for name, status, text in reports if status != Status.OK)
