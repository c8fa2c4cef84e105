"""Active and violated limits of a step of whole-body control, by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import casadi as ca
import numpy as np

from helicoid.control.program.loop import CompiledStep
from helicoid.control.whole_body.formulation import AccelerationProgram

Kind = Literal["acceleration", "friction", "force", "torque"]


class Held(NamedTuple):
    """An active limit: its joint or contact, its kind, and by how much it is exceeded.

    "acceleration" is that of a joint, which its limits of velocity and position bound; "force" the most or
    least that a contact may carry. `excess` is 0 where the limit is kept.
    """

    of: str
    kind: Kind
    excess: float


def limits_at(f: AccelerationProgram, loop: CompiledStep) -> Iterator[Held]:
    """Active and violated limits of the last step."""
    robot, memory, at, numbers = f.robot, loop.memory, loop.at, loop.numbers
    x, lower, upper, state = memory[at["x"]], memory[at["lower"]], memory[at["upper"]], memory[at["state"]]
    names = list(robot.model.velocity_names)
    for k in range(robot.nv):
        excess = _excess(x[k], lower[k], upper[k])
        if state[k] or excess > 0:
            yield Held(names[k], "acceleration", excess)
    cone = robot.nv + f.n_forces + robot.constraints.rows
    contacts = zip(f.contacts, f.contact_names, f.starts, memory[at["is_on"]], strict=True)
    for one, name, start, on in contacts:
        rows, forces = slice(cone, cone + one.cone_rows), x[robot.nv + start : robot.nv + start + one.size]
        cone = rows.stop
        if not on:
            continue
        C = np.array(ca.DM(one.cone(ca.SX(float(loop.p[numbers[f"{name}_friction"].at][0])))))
        excess = float(max(0.0, np.max(C @ forces)))
        excess = excess if excess > 1e-6 * (1 + np.abs(forces).max()) else 0.0
        if np.any(state[rows]) or excess > 0:
            yield Held(one.name, "friction", excess)
        normal = robot.nv + start + one.size - 1
        excess = _excess(x[normal], lower[normal], upper[normal])
        if state[normal] or excess > 0:
            yield Held(one.name, "force", excess)
    most = loop.p[numbers["torque_limit"].at]
    for j, k in enumerate(robot.actuated):
        wanted = abs(float(memory[at["wanted"]][k]))
        excess = _excess(wanted, -np.inf, most[j])
        if state[cone + j] or excess > 0:
            yield Held(names[k], "torque", excess)


def not_returning(f: AccelerationProgram, loop: CompiledStep) -> Iterator[str]:
    """The joints of which limits of position or velocity demand an acceleration that the last step lacks."""
    memory, at = loop.memory, loop.at
    for k, name in enumerate(f.robot.model.velocity_names):
        a, lower, upper = memory[at["x"]][k], memory[at["lower"]][k], memory[at["upper"]][k]
        if (lower > 0 or upper < 0) and _excess(a, lower, upper) > 0:
            yield name


def _excess(value: float, lower: float, upper: float) -> float:
    """Violation of the limits by a value, beyond rounding."""
    excess = float(max(value - upper, lower - value, 0.0))
    return excess if excess > 1e-7 * (1 + abs(value)) else 0.0
