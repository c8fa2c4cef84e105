"""Contact phases as tables of C, for runtime/loop/contact_phases.h."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import c_array, c_number, c_text
from helicoid.mpc.costs.swing import PROFILE
from helicoid.mpc.phases import ContactSchedule
from helicoid.mpc.solver.nodes.stage import ConstraintRow
from helicoid.mpc.solver.switching import Switching

_ROLES = {"force": "OF_FORCE", "velocity": "OF_VELOCITY", "position": "OF_POSITION", "cone": "OF_CONE"}
CAPACITY = 32
"""Phases that an exported controller can hold, or more if it begins with more."""


class Contacts:
    """The feet of an exported controller and the phases that it begins with."""

    def __init__(self, switching: Switching) -> None:
        self._switching, self.schedule = switching, switching.schedule
        self.feet, self.capacity = self.schedule.contacts, max(CAPACITY, len(self.schedule.phases))
        self.size = 1 + 4 * len(self.feet)

    @property
    def bytes(self) -> int:
        """Bytes of the phases in a controller's memory, with their pointers."""
        return 64 + sum(-(-8 * count // 64) * 64 for count in (3, self.capacity * self.size))

    def definitions(self) -> str:
        """Sizes and tables, for the top of the source."""
        stages, switching = self._switching.stages, self._switching
        at = 0
        columns = {}
        for parameter in stages.parameters:
            columns[parameter.name] = at
            at += parameter.symbol.numel()
        numbers = {
            "FEET": len(self.feet),
            "MAX_PHASES": self.capacity,
            "CYCLIC": int(self.schedule.cyclic),
            "STARTS_ANYWHERE": int(switching.starts_anywhere),
            "PROFILE_AT": columns.get(PROFILE, -1),
            "WEIGHT": c_number(switching.weight),
        }
        texts = [f"#define {name} {value}" for name, value in numbers.items()]
        texts += ["typedef struct {\n  int row, role, foot, element, at_first;\n} ContactRow;"]
        texts += ["enum { OF_FORCE, OF_VELOCITY, OF_POSITION, OF_CONE };"]
        for name, rows in (("path", stages.path_rows), ("end", stages.end_rows)):
            table = self._rows(rows)
            texts += [f"#define N_{name.upper()}_CONTACTS {len(table)}"]
            body = ",\n  ".join(table or ["{0, 0, 0, 0, 0}"])
            texts += [f"static const ContactRow {name}_contacts[] = {{\n  {body}}};"]
        return "\n".join(texts) + "\n"

    def _rows(self, rows: Sequence[ConstraintRow]) -> list[str]:
        found = []
        for k, row in enumerate(rows):
            if row.constraint.role is None:
                continue
            kind, contact = row.constraint.role
            element = 0 if kind == "cone" else row.element
            place = f"{self.feet.index(contact)}, {element}, {int(row.at_first)}"
            found.append(f"{{{k}, {_ROLES[kind]}, {place}}}")
        return found

    def first(self) -> tuple[list[str], list[str]]:
        """The initial phases: arrays, and the statements that copy them."""
        schedule = self.schedule
        numbers = np.array([schedule.time, schedule.ground, len(schedule.phases)])
        arrays = [c_array("first_schedule", numbers), c_array("first_phases", flat_phases(schedule))]
        names = ("schedule", "phases")
        return arrays, [f"memcpy(s->{name}, first_{name}, sizeof first_{name});" for name in names]

    def setters(self) -> list[tuple[str, str, str, str]]:
        """Functions of the numbers that `Controller.set` takes of a schedule."""
        values = "const double *values, size_t count"
        feet = ", ".join(map(c_text, self.feet))
        about = (
            f"the phases, from their beginning: {self.size} numbers for each of 1 to {self.capacity}. These "
            "are its duration (s), INFINITY for a last one that stays"
            + (" (not here: they are cyclic)" if self.schedule.cyclic else "")
            + f"; then for each foot ({feet}) 1 if it stands and 0 if not, and x, y, z (m) of where it is "
            "put if it lands in this phase, NAN where that is free (a height: that of the ground)"
        )
        when = "phase_time: where in its phases (s) the next step begins; count is 1"
        height = "ground_height: of the ground (m) where a step has none of its own; count is 1"
        call = "set_schedule((mpc *)controller, {}, values, count)"
        return [
            ("phases", values, "set_phases((mpc *)controller, values, count)", about),
            ("phase_time", values, call.format("PHASE_TIME"), when),
            ("ground_height", values, call.format("GROUND"), height),
        ]


def flat_phases(schedule: ContactSchedule) -> Array:
    """Phases as rows of numbers (phases, 1 + 4 feet): duration, then of each foot 1 or 0 and x, y, z."""
    rows = []
    for phase in schedule.phases:
        row = [phase.duration]
        for name in schedule.contacts:
            at = np.asarray(phase.steps.get(name, (np.nan,) * 3), dtype=np.float64)
            row += [float(name in phase.contacts), *at.tolist()]
        rows.append(row)
    return np.array(rows)
