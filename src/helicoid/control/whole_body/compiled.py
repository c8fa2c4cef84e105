"""The step of whole-body control in C: its memory, sizes of its runtime, description of its library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca

from helicoid.control.program.library import Library
from helicoid.control.program.loop import CompiledStep, qp_work
from helicoid.control.program.numbers import Numbers
from helicoid.control.whole_body.formulation import OUTPUTS, AccelerationProgram

RUNTIME = Path(__file__).parent / "runtime"


def loop(f: AccelerationProgram, numbers: Numbers) -> CompiledStep:
    """The step of runtime/whole_body.h."""
    robot = f.robot
    measured = [(n, t) for n, t in zip(f.names, f.tasks, strict=True) if t.of in ("motion", "momentum")]
    errors = sum(task.rows(robot) for _, task in measured)
    q, v, p = ca.SX.sym("q", robot.nq), ca.SX.sym("v", robot.nv), ca.SX.sym("p", numbers.values.size)
    data = f.data(q, v, p, numbers.symbols(p))
    return CompiledStep(robot, numbers, measured, RUNTIME / "whole_body.c", _sizes(f, numbers, errors), data)


def library(f: AccelerationProgram, made: CompiledStep) -> Library:
    """Description of the exported library."""
    outputs = ", ".join(f"(out)[{k}]" for k in range(len(OUTPUTS)))
    return Library(
        what="Torques from tasks, contacts and limits, one call a step.",
        step="Torques (nv) for a state (nq, nv), to be held for dt; finite and within limits.",
        falling_back="From the third to the seventh, the last torque decays.",
        kept="the last torque first; AT_FORCES: of all contacts, world axes",
        inputs=("q", "v"),
        outputs=OUTPUTS,
        result="tau",
        macro=f"DATA(q, v, p, out, scratch) {{p}}_data(q, v, p, {outputs})",
        runtime="whole_body.h",
        function="step_of_body",
        work=_work(f, made),
        tolerance="1e-6",
        places={"ACCELERATIONS": made.at["x"].start, "FORCES": made.at["forces"].start},
    )


def _sizes(f: AccelerationProgram, at: Numbers, errors: int) -> dict[str, Any]:
    """Definitions that runtime/whole_body.h needs."""
    robot = f.robot
    first = f.contact_names[0] if f.contacts else None
    rows = f.all_rows
    return {
        **{"NV": robot.nv, "NU": len(robot.unactuated), "NP": at.values.size},
        **{"NCT": len(f.contacts), "NF": f.n_forces, "NC": f.n_cones, "NK": robot.constraints.rows},
        **{"NX": f.n_variables, "NL": f.n_variables + f.n_cones + len(robot.actuated)},
        **{"NE": len(rows), "NM": sum(row.kind == 0 for row in rows), "NS": errors},
        **{"STRICT": int(f.strict), "FLOATING": int(robot.model.floating)},
        "NLEVELS": len(f.level_rows),
        "LEVELS": _list(f.level_rows),
        "TASK_ROWS": "{" + ", ".join(f"{{{row.kind}, {row.at}}}" for row in rows) + "}",
        "UNACTUATED": _list(robot.unactuated),
        "SCALE": _list(map(repr, f.scale.tolist())),
        "CONE_SCALE": repr(1 / max(9.81 * float(robot.mass), 1e-3)),
        "CONE_NUMBERS": sum(one.cone_rows * one.size for one in f.contacts),
        "CONTACT_START": _list(f.starts),
        "CONTACT_SIZE": _list(one.size for one in f.contacts),
        "CONE_ROWS": _list(one.cone_rows for one in f.contacts),
        "P_DT": at["dt"].at.start,
        "P_RAMP": at["ramp"].at.start,
        "P_RISE": at["ramp_force"].at.start,
        "P_ACTIVE": at[f"{first}_active"].at.start if first else 0,
        "P_MOST": at[f"{first}_max_force"].at.start if first else 0,
        "P_LEAST": at[f"{first}_min_force"].at.start if first else 0,
        "P_TORQUE": at["torque_limit"].at.start,
        "P_DECAY": at["decay"].at.start,
    }


def _work(f: AccelerationProgram, made: CompiledStep) -> int:
    """At least STEP_WORK of runtime/whole_body.h; with less, the source that is written does not compile."""
    robot = f.robot
    nx, ne, nv = f.n_variables, len(f.all_rows), robot.nv
    px = -(-(nx + 1) // 4) * 4
    held = nx - nv
    most = 2 * nx + f.n_cones + len(robot.actuated)
    rows = ne + nx + 4
    data = sum(made.data.size1_out(k) for k in range(len(OUTPUTS)))
    reduction = (nv + 2 * (len(robot.unactuated) + held)) * px
    costs = rows * (px + 1) + (ne * (nx + 1) if f.strict else nx * nx) + nx
    program = len(robot.actuated) * (px + 1) + costs + most * nx + 5 * (nx + most) + nx

    levels = nx * nx + nx + (most + ne) * nx + 4 * (nx + most + ne) + nx + qp_work(nx, most + ne)
    return int(data + reduction + program + (levels if f.strict else qp_work(nx, most)) + nx)


def _list(values: Any) -> str:
    return "{" + (", ".join(map(str, values)) or "0") + "}"
