"""Contact phases on the nodes: bounds and parameters that follow a schedule.

The functions of all nodes are the same. In swing, the force of a foot is bounded to 0 and its velocity is
free; in stance, its force is free and its velocity bounded to 0. A gait only changes numbers.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from helicoid._typing import Array
from helicoid.arrays import real_array
from helicoid.errors import InputError
from helicoid.mpc.costs.swing import PROFILE
from helicoid.mpc.phases import ContactSchedule, Nodes
from helicoid.mpc.solver.nodes.stage import ConstraintRow, Stages

if TYPE_CHECKING:
    from helicoid.mpc.solver.memory import Memory

SCHEDULE = ("ground_height", "phase_time", "phases")
"""The names by which `Problem.set` changes a schedule."""

_ROLES = {"force": 3, "velocity": 3, "position": 3, "cone": 1}


class Switching:
    """A contact schedule on a grid (s) for a robot of a weight (N), and the places of its numbers."""

    def __init__(self, stages: Stages, times: Array, schedule: ContactSchedule, weight: float) -> None:
        self.stages, self.schedule, self._times, self.weight = stages, schedule, times, weight
        at, self._offsets = 0, {}
        for role, size in _ROLES.items():
            self._offsets[role] = at
            at += size * len(schedule.contacts)
        self._path, self._end = self._places(stages.path_rows), self._places(stages.end_rows)
        self._not_at_first = [
            k for k, row in enumerate(stages.path_rows) if row.constraint.role and not row.at_first
        ]
        places = [
            row for row in stages.path_rows if row.constraint.role and row.constraint.role[0] == "position"
        ]
        self.starts_anywhere = any(row.at_first for row in places)
        columns, self._profile = 0, None
        for parameter in stages.parameters:
            size = parameter.symbol.numel()
            if parameter.name == PROFILE:
                self._profile = slice(columns, columns + size)
            columns += size

    def of(self, schedule: ContactSchedule) -> Switching:
        """A copy with another schedule of the same contacts."""
        other = copy.copy(self)
        other.schedule = schedule
        other.__dict__.pop("nodes", None)
        return other

    @cached_property
    def nodes(self) -> Nodes:
        """The schedule at the nodes."""
        return self.schedule.nodes(self._times)

    def changed(self, values: Mapping[str, Any]) -> Switching | None:
        """A copy with the values of `SCHEDULE` changed; None if `values` has none of them."""
        if not any(name in SCHEDULE for name in values):
            return None
        schedule = self.schedule
        if "phases" in values:
            schedule = schedule.with_phases(values["phases"])
        if "phase_time" in values:
            schedule = schedule.at(_number("phase_time", values["phase_time"]))
        if "ground_height" in values:
            schedule = replace(schedule, ground=_number("ground_height", values["ground_height"]))
        return self.of(schedule)

    def _places(self, rows: list[ConstraintRow]) -> tuple[list[int], list[int]]:
        """The rows that follow the schedule, and where their bounds are among those of `_bounds`."""
        here, there = [], []
        for k, row in enumerate(rows):
            role = row.constraint.role
            if role is None:
                continue
            kind, contact = role
            size = _ROLES[kind]
            number = self.schedule.contacts.index(contact) * size + (row.element if size > 1 else 0)
            here.append(k)
            there.append(self._offsets[kind] + number)
        return here, there

    def carry(self, u: Array) -> None:
        """Make the contact forces in a guess of controls (intervals, nu) agree with the schedule.

        They are zero in swing; a foot in stance without force gets its share of the weight (N).
        """
        holding = self.nodes.holding[:-1]
        forces = u[:, -3 * holding.shape[1] :].reshape(*holding.shape, 3)
        share = self.weight / np.maximum(1, holding.sum(axis=1, keepdims=True)) * holding
        forces[~holding] = 0.0
        idle = holding & (forces[..., 2] <= 0.01 * share)
        forces[idle] = 0.0
        forces[idle, 2] = share[idle]
        u[:, -3 * holding.shape[1] :] = forces.reshape(len(u), -1)

    def write(self, memory: Memory) -> None:
        """Write bounds and parameters of all nodes by the schedule."""
        nodes = self.nodes
        low, high = self._bounds(nodes)
        (here, there), (end, end_there) = self._path, self._end
        for array, values, none in ((memory.lower, low, -np.inf), (memory.upper, high, np.inf)):
            array[:-1, here] = values[:-1, there]
            array[0, self._not_at_first] = none
            array[-1, end] = values[-1, end_there]
        if self._profile is not None:
            memory.parameters[:, self._profile] = nodes.rise.reshape(len(self._times), -1)

    def _bounds(self, nodes: Nodes) -> tuple[Array, Array]:
        """Lower and upper bounds, (nodes, all that follow the schedule): role by role, contact by contact."""
        count, contacts = nodes.holding.shape
        holding, touching, landing = (one[..., None] for one in nodes[:3])
        free = np.full((count, contacts, 3), np.inf)
        pressing = np.where(holding, [-np.inf, -np.inf, 0.0], 0.0), np.where(holding, free, 0.0)
        still = np.where(touching, 0.0, -free), np.where(touching, 0.0, free)
        put = landing & ~np.isnan(nodes.steps)
        if not self.starts_anywhere:  # one interval from a given state cannot fix both position and velocity
            put[1] = False
        low, high = np.where(put, nodes.steps, -np.inf), np.where(put, nodes.steps, np.inf)
        low[..., 2] = np.where(nodes.touching, low[..., 2], nodes.floor)
        slipping = np.where(holding, 0.0, -np.inf), free[..., :1]
        parts = pressing, still, (low, high), slipping
        lower, upper = (np.hstack([part[side].reshape(count, -1) for part in parts]) for side in (0, 1))
        return lower, upper


def _number(name: str, value: Any) -> float:
    number = real_array(name, value, copy=False)
    if number.size != 1 or not np.isfinite(number).all():
        raise InputError(f"{name} is a finite number, got {number}")
    return float(number.item())
