"""Feet that come and go: they stand still or push nothing, and land where they should."""

from __future__ import annotations

import re
from dataclasses import replace

from helicoid.mpc.constraints.constraint import Constraint, Role, constraint_on
from helicoid.mpc.phases import Schedule
from helicoid.mpc.system.feet import foot
from helicoid.mpc.system.symbols import Symbols


def foot_constraints(symbols: Symbols, schedule: Schedule) -> list[Constraint]:
    """The rows of each foot; what bounds them at a node, the schedule says (see `solver/switching.py`).

    `<foot>_force`: zero in the air, not pulling on the ground. `<foot>_velocity`: zero while it stands, from
    where it lands to where it lifts off. `<foot>_position`: where it lands; above the ground in the air.
    """
    weight = max(9.81 * symbols.robot.mass, 1.0)
    made = []
    for name in schedule.contacts:
        p, J = foot(symbols.robot, name, schedule.radius, symbols["q"])
        rows = {"force": symbols.forces[name], "velocity": J @ symbols["v"], "position": p}
        for kind, expression in rows.items():
            scale = {"force": 1 / weight, "velocity": 0.5}.get(kind, 1.0)
            one = constraint_on(
                symbols, foot_row(name, kind), expression, scale=scale, labels=("x", "y", "z")
            )
            priority = 10.0 if kind == "velocity" else one.priority
            made.append(replace(one, role=Role(kind, name), priority=priority))
    return made


def foot_row(contact: str, kind: str) -> str:
    """The name of a constraint of a contact, an identifier."""
    return re.sub(r"\W", "_", f"{contact}_{kind}")
