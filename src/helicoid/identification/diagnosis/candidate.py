"""A hypothesis on a wrong log, and the misfit of the description under it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Candidate(NamedTuple):
    """A hypothesis: its kind, its joints, the misfit S under it, and a sentence with a remedy.

    `free` is how many numbers were chosen to make S small; `load` are the mass and the centre of mass, in the
    axes of the body `joints[0]`, of a load that would explain the log.
    """

    kind: str
    joints: tuple[str, ...]
    misfit: float
    text: str
    free: int = 0
    load: tuple[float, float, float, float] | None = None


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
