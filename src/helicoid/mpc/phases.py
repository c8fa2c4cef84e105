"""Contact phases of a gait or a jump, on the nodes of a grid."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array
from helicoid.errors import InputError

Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Phase:
    """A contact phase: for `duration` (s) the feet `contacts` are in stance, all others in swing.

    Feet are named by their frames. `steps` are the footholds of those that touch down here: (x, y, z)
    of the world (m), NaN for a coordinate that the plan may choose; a height that is not given is that of
    the ground. The last phase may last for ever (`numpy.inf`).

    >>> import helicoid as hc
    >>> hc.mpc.Phase(0.2, contacts=("FL_foot", "RR_foot"), steps={"FL_foot": (0.3, 0.1, 0.0)}).duration
    0.2
    """

    duration: float
    contacts: tuple[str, ...] = ()
    steps: Mapping[str, ArrayLike] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.contacts, str) or not all(isinstance(name, str) for name in self.contacts):
            raise InputError(f"contacts of a phase are names, such as ('FL_foot',); got {self.contacts!r}")
        if not self.duration > 0:
            raise InputError(f"the duration of a phase is a positive time (s), got {self.duration!r}")
        object.__setattr__(self, "contacts", tuple(self.contacts))
        object.__setattr__(self, "steps", {name: _point(name, at) for name, at in dict(self.steps).items()})
        if idle := [name for name in self.steps if name not in self.contacts]:
            raise InputError(f"steps of {', '.join(idle)}, which are not in stance in this phase")


def _point(name: str, at: ArrayLike) -> Array:
    try:
        point = np.asarray(at, dtype=np.float64)
    except (TypeError, ValueError):
        point = np.zeros(0)
    if point.shape != (3,) or np.isinf(point).any():
        raise InputError(f"the step of {name!r} is (x, y, z) in m, NaN where that is free; got {at!r}")
    return point


class Nodes(NamedTuple):
    """A schedule at the nodes of a grid, (nodes, contacts) each; the last node's interval is beyond the end.

    A foot is `holding` in the interval that begins at a node, `touching` the ground at a node in or at an
    end of such an interval, `landing` where that begins. `steps` (nodes, contacts, 3) are where it lands, NaN
    where that is free; `floor` is what it must stay above. `rise` (nodes, contacts, 3) is 1 where it swings
    from one stand to another, the height of the line between them, and a bump from 0 over 1 to 0.
    """

    holding: Booleans
    touching: Booleans
    landing: Booleans
    steps: Array
    floor: Array
    rise: Array


@dataclass(frozen=True, eq=False)
class ContactSchedule:
    """Phases one after the other, again and again if `cyclic`, else the last one stays.

    `contacts` are the names of all feet, balls of `radius` (m) around their frames; `time` is where in the
    phases (s) the grid begins, `ground` the height of the ground (m) where a step has none of its own.
    """

    phases: tuple[Phase, ...]
    contacts: tuple[str, ...]
    cyclic: bool = False
    radius: float = 0.0
    time: float = 0.0
    ground: float = 0.0

    @staticmethod
    def of(phases: Sequence[Phase], cyclic: bool, radius: float) -> ContactSchedule:
        """The schedule of phases, with the feet that they name."""
        checked = _phases(phases, cyclic)
        names = tuple(dict.fromkeys(name for one in checked for name in one.contacts))
        if not names:
            raise InputError("no phase has a contact: without them, leave phases out")
        if not 0 <= radius < np.inf:
            raise InputError(f"foot_radius is a length (m), got {radius!r}")
        return ContactSchedule(checked, names, cyclic, float(radius))

    def with_phases(self, phases: Sequence[Phase]) -> ContactSchedule:
        """Other phases, from their beginning, of the same feet."""
        checked = _phases(phases, self.cyclic)
        new = {name for one in checked for name in one.contacts} - set(self.contacts)
        if new:
            raise InputError(
                f"{', '.join(sorted(new))} stand in no phase that the problem was made with; it knows "
                f"{', '.join(self.contacts)}"
            )
        return replace(self, phases=checked, time=0.0)

    def intervals(self, dt: float) -> int | None:
        """Number of intervals of a length (s) in all phases; None if they never end."""
        count = self.duration / dt if dt > 0 else np.inf
        return max(1, round(count)) if np.isfinite(count) else None

    def at(self, time: float) -> ContactSchedule:
        """The same, with the grid beginning at another time (s)."""
        made = copy.copy(self)  # with what was found of the phases: a controller does this in every step
        object.__setattr__(made, "time", float(time))
        return made

    @property
    def duration(self) -> float:
        """Duration of all phases together (s)."""
        return float(self._ends[-1])

    @cached_property
    def _ends(self) -> Array:
        return np.cumsum([one.duration for one in self.phases])

    @cached_property
    def _stands(self) -> Booleans:
        return np.array([[name in one.contacts for name in self.contacts] for one in self.phases])

    @cached_property
    def _steps(self) -> Array:
        free = np.array([np.nan, np.nan, self.ground])
        steps = [[one.steps.get(name, free) for name in self.contacts] for one in self.phases]
        full = np.array(steps, dtype=np.float64)
        full[..., 2] = np.where(np.isnan(full[..., 2]), self.ground, full[..., 2])
        return full

    @cached_property
    def _swings(self) -> Array:
        """Rows contact, begin, end, height before, height after; a column for each swing of the phases."""
        ends, stands, heights = self._ends, self._stands, self._steps[..., 2]
        total, count = self.duration, len(self.phases)
        around = range(-count, 2 * count) if self.cyclic else range(count)
        found = []
        for contact in range(len(self.contacts)):
            begin, before = None, self.ground
            for k in around:
                turn, i = divmod(k, count)
                start = (turn * total if turn else 0.0) + (ends[i - 1] if i else 0.0)
                if not stands[i, contact]:
                    begin = start if begin is None else begin
                    continue
                if begin is not None and begin < start and start > 0 and begin < total:
                    found.append((contact, float(begin), float(start), before, heights[i, contact]))
                begin, before = None, heights[i, contact]
        return np.array(found, dtype=np.float64).reshape(-1, 5).T

    def nodes(self, times: Array) -> Nodes:
        """The schedule at the nodes of a grid (s)."""
        lengths = np.diff(times)
        middles = self.time + times + 0.5 * np.append(lengths, lengths[-1])
        index = self._index(middles)
        holding = self._stands[index]
        before = np.vstack([np.zeros((1, len(self.contacts)), bool), holding[:-1]])
        touching = holding | before
        rise, floor = self._rise(self.time + times)
        rise[touching] = 0.0
        return Nodes(holding, touching, holding & ~before, self._steps[index], floor, rise)

    def _index(self, times: Array) -> NDArray[np.intp]:
        """The number of the phase at each time."""
        folded = np.mod(times, self.duration) if self.cyclic else times
        return np.minimum(np.searchsorted(self._ends, folded, side="right"), len(self.phases) - 1)

    def _rise(self, times: Array) -> tuple[Array, Array]:
        shape = len(times), len(self.contacts)
        rise, floor = np.zeros((*shape, 3)), np.full(shape, self.ground)
        folded = np.mod(times, self.duration) if self.cyclic else times
        contact, begin, end, low, high = self._swings
        passed = (folded[:, None] - begin) / (end - begin)
        node, swing = np.nonzero((passed > 0) & (passed < 1))
        s, low, high, at = passed[node, swing], low[swing], high[swing], (node, contact[swing].astype(int))
        rise[at] = np.transpose(
            [1 + 0 * s, low + (high - low) * s * s * (3 - 2 * s), 16 * (s * (1 - s)) ** 2]
        )
        floor[at] = np.minimum(low, high)
        return rise, floor


def _phases(phases: Sequence[Phase], cyclic: bool) -> tuple[Phase, ...]:
    if isinstance(phases, Phase) or not isinstance(phases, Sequence) or not phases:
        raise InputError(f"phases are a list of hc.mpc.Phase, got {phases!r}")
    for k, one in enumerate(phases):
        if not isinstance(one, Phase):
            raise InputError(f"phases are a list of hc.mpc.Phase, got {one!r} among them")
        if np.isinf(one.duration) and (cyclic or k < len(phases) - 1):
            raise InputError("only the last phase may last for ever, and not of a cyclic gait")
    return tuple(phases)
