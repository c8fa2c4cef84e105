"""Contacts: feet of a schedule, and friction cones of all contacts."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.mpc.constraints.constraint import Constraint, Role, Soft, constraint_on
from helicoid.mpc.phases import ContactSchedule
from helicoid.mpc.system.feet import foot
from helicoid.mpc.system.forces import axes, contact_name
from helicoid.mpc.system.symbols import Symbols


def foot_constraints(symbols: Symbols, schedule: ContactSchedule) -> list[Constraint]:
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


_CONE_SMOOTHING = 1e-3
"""Smoothing ε of a cone at its tip, relative to the robot's weight."""


def friction_cones(
    symbols: Symbols,
    contact: str | None = None,
    friction: float = 0.7,
    kind: Literal["pyramid", "cone"] = "pyramid",
    soft: Soft = None,
) -> list[Constraint]:
    """|f_t| ≤ μ f_n and f_n ≥ 0 of a contact's force f, or of all of them: it presses and does not slip.

    f_n is the part of f along the contact's normal, f_t the part across. The "pyramid" has four faces,
    |f_t1|, |f_t2| ≤ μ f_n / √2: it is inscribed in the cone and linear, which is fastest. The "cone" is
    √(|f_t|² + ε²) ≤ μ f_n, smooth, with ε a thousandth of the robot's weight. The constraint is called
    `<contact>_cone`; μ changes at run time as `<contact>_friction`.
    """
    if kind not in ("pyramid", "cone"):
        raise InputError(f"kind is 'pyramid' or 'cone', got {kind!r}")
    normals = {contact_name(one): R for one in symbols.robot.constraints if (R := axes(one)) is not None}
    normals |= dict.fromkeys(_feet(symbols), np.eye(3))
    if not normals:
        raise InputError(
            "this robot has no contacts: robot.with_contact(...) adds a contact, phases of the problem feet"
        )
    _ = None if contact is None else symbols.forces[contact]
    if contact is not None and contact not in normals:
        raise InputError(f"{contact!r} is no contact; there are: {', '.join(normals)}")
    chosen = normals if contact is None else [contact]
    return [_cone(symbols, name, normals[name], friction, kind, soft) for name in chosen]


def _cone(symbols: Symbols, contact: str, R: Array, friction: float, kind: str, soft: Soft) -> Constraint:
    if not 0 < friction < np.inf:
        raise InputError(f"friction is a positive number, got {friction!r}")
    μ = symbols.parameter(foot_row(contact, "friction"), friction, 1)
    weight = max(9.81 * symbols.robot.mass, 1.0)
    x, y, n = ca.vertsplit(ca.SX(R).T @ symbols.forces[contact][-3:])
    if kind == "pyramid":
        side = μ.symbol / np.sqrt(2) * n
        rows = {"normal": n, "+x": side - x, "-x": side + x, "+y": side - y, "-y": side + y}
    else:
        rows = {"normal": n, "cone": μ.symbol * n - ca.sqrt(x**2 + y**2 + (_CONE_SMOOTHING * weight) ** 2)}
    is_scheduled = contact in _feet(symbols)
    if is_scheduled:  # the schedule bounds its normal force
        del rows["normal"]
    cone = constraint_on(
        symbols, foot_row(contact, "cone"), ca.vertcat(*rows.values()), 0.0, np.inf, soft,
        scale=1 / weight, labels=list(rows), parameters=[μ],
    )  # fmt: skip
    return replace(cone, role=Role("cone", contact) if is_scheduled else None)


def _feet(symbols: Symbols) -> tuple[str, ...]:
    return () if symbols.schedule is None else symbols.schedule.contacts
