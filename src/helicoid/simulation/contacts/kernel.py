"""The compiled time step with contacts: constants of a robot for the C runtime, and the kernel."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import numpy as np

from helicoid.compiler import Input, Kernel, compile_kernel, loop_pragma, native_lanes
from helicoid.errors import CompileError
from helicoid.robot import Robot
from helicoid.simulation.contacts.terms import ContactTerms

RUNTIME = Path(__file__).parent / "runtime"
POINT_SIZE, GROUND_SIZE = 11, 7  # of runtime/surfaces.h
MAX_TOUCHES = 40  # points that touch at once


class Stop:
    """End stops of joints of one coordinate: which coordinate and velocity, from where to where."""

    def __init__(self, robot: Robot | None) -> None:
        self.coordinate: list[int] = []
        self.velocity: list[int] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        for joint in robot.model.independent_joints if robot else ():
            if joint.type.nq == joint.type.nv == 1 and joint.limits is not None:
                assert robot is not None
                at_q, at_v = robot.index(joint.name)
                lower, upper = float(joint.limits.lower[0]), float(joint.limits.upper[0])
                if lower < upper and min(abs(lower), abs(upper)) < np.inf:
                    self.coordinate.append(at_q.start)
                    self.velocity.append(at_v.start)
                    self.lower.append(lower)
                    self.upper.append(upper)


class Sizes:
    """Names and sizes of the kernel's states and inputs.

    Args:
        counts: of points, of grounds, of numbers of a height field, of reported contacts.
        states: of `prepare`: q, v, and those of a law.
    """

    def __init__(
        self,
        robot: Robot,
        terms: ContactTerms,
        counts: tuple[int, int, int, int],
        states: int,
        stops: Stop,
        frictional: Sequence[int],
    ) -> None:
        self.points, self.grounds, field, self.contacts = counts
        self.touches = max(min(self.points * self.grounds, MAX_TOUCHES), 1)
        self.others = len(stops.velocity), len(frictional), robot.constraints.rows
        self.memory = 5 + 4 * self.touches + sum(self.others)
        self.states = states
        names = terms.inputs
        kept = [Input("memory", (self.memory,)), Input("record", (6 * self.contacts,))]
        tables = [
            Input("points", (self.points * POINT_SIZE,)),
            Input("grounds", (self.grounds * GROUND_SIZE,)),
            Input("field", (field,)),
            Input("repeats", ()),
        ]
        self.inputs = [*names[:states], *kept, *names[states:], *tables]
        self.outputs = self.inputs[: states + 2]


def contact_kernel(
    robot: Robot, terms: ContactTerms, sizes: Sizes, stops: Stop, frictional: Sequence[int], batch: bool
) -> Kernel:
    """Compile the step of a robot, for one or for many side by side."""
    text = (
        _constants(robot, terms, sizes, stops, frictional)
        + loop_pragma(large=True)
        + '#include "contact.c"\n'
    )
    shapes = [item.shape for item in sizes.inputs], [item.shape for item in sizes.outputs]
    functions = {"prepare": terms.prepare, "finish": terms.finish}
    try:
        return compile_kernel(
            "a simulation with contacts",
            text,
            [RUNTIME],
            *shapes,
            functions,
            lanes=native_lanes() if batch else 1,
        )
    except CompileError as error:
        raise CompileError(
            f"{error}. A simulation with contacts is compiled C and cannot do without"
        ) from error


def _constants(
    robot: Robot, terms: ContactTerms, sizes: Sizes, stops: Stop, frictional: Sequence[int]
) -> str:
    nv, at = robot.nv, terms.at
    rows = 3 * sizes.touches + sum(sizes.others)
    in_sizes = [int(np.prod(item.shape, initial=1)) for item in sizes.inputs]
    given = [int(np.prod(item.shape, initial=1)) for item in terms.inputs]
    numbers = {
        "NQ": robot.nq,
        "NV": nv,
        "POINTS": sizes.points,
        "GROUNDS": sizes.grounds,
        "TOUCHES": sizes.touches,
        "CONTACTS": sizes.contacts,
        "STOPS": len(stops.velocity),
        "FRICTION_ROWS": len(frictional),
        "EQUATIONS": robot.constraints.rows,
        "ROWS": max(rows, 1),
        "MEMORY": sizes.memory,
        "STATES": sizes.states,
        "REST": len(terms.inputs) - sizes.states,
        "GIVEN": sum(given),
        "PREPARED": terms.size,
        "FINISHED": terms.finish.numel_out(0),
        "MIDDLE": at["BOUND"],
        "OPERATIONS": terms.prepare.n_instructions() + terms.finish.n_instructions() + 2000,
        "FINAL_LINKS": nv + robot.nq,
        "FINAL_EQUATIONS": nv + robot.nq + 12 * len(terms.links_at),
        **{f"AT_{name}": start for name, start in at.items() if not name.startswith("LINK_")},
    }
    flat_L = [column for row in terms.L for column in row]
    supports = [_closure(terms, columns) for columns in terms.columns]
    joints = [_closure(terms, [k]) for k in range(nv)]
    tables: dict[str, tuple[str, Sequence[float]]] = {
        "IN_SIZE": ("int64_t", in_sizes),
        "L_START": ("int", _starts(terms.L)),
        "L_COLUMN": ("int", flat_L),
        "AT_LINK": ("int", list(terms.links_at)),
        "COLUMN_START": ("int", _starts(terms.columns)),
        "COLUMN": ("int", [k for columns in terms.columns for k in columns]),
        "TWIST": ("int", [at["TWISTS"] + 6 * k for columns in terms.columns for k in columns.values()]),
        "SUPPORT_START": ("int", _starts(supports)),
        "SUPPORT": ("int", [k for support in supports for k in support]),
        "JOINT_START": ("int", _starts(joints)),
        "JOINT_SUPPORT": ("int", [k for support in joints for k in support]),
        "EVERY": ("int", list(reversed(range(nv)))),
        "STOP_COORDINATE": ("int", stops.coordinate),
        "STOP_VELOCITY": ("int", stops.velocity),
        "FRICTION_VELOCITY": ("int", list(frictional)),
        "STOP_LOWER": ("double", stops.lower),
        "STOP_UPPER": ("double", stops.upper),
    }
    lines = ["#include <math.h>", "#include <stdint.h>", '#include "kernel.h"']
    lines += [f"#define {name} {value}" for name, value in numbers.items()]
    lines += [_table(name, kind, values) for name, (kind, values) in tables.items()]
    return "\n".join(lines) + "\n"


def _closure(terms: ContactTerms, columns: Iterable[int]) -> list[int]:
    """The rows that L⁻ᵀ spreads a vector with these entries over, largest first."""
    found = set(columns)
    for k in reversed(range(len(terms.L))):
        if k in found:
            found |= set(terms.L[k])
    return sorted(found, reverse=True)


def _starts(lists: Sequence[Collection[int]]) -> list[int]:
    return [0, *np.cumsum([len(one) for one in lists]).astype(int).tolist()]


def _table(name: str, kind: str, values: Sequence[float]) -> str:
    words = [_literal(value) for value in values] or ["0"]
    return f"static const {kind} {name}[] = {{{', '.join(words)}}};"


def _literal(value: float) -> str:
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(value)
