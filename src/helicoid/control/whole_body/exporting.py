"""Whole-body control in C: the sizes that its runtime needs, and a library that checks itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helicoid._typing import Array
from helicoid.compiler.code.c_names import identifier
from helicoid.compiler.export.c_library import Routine
from helicoid.compiler.export.files import write_files
from helicoid.compiler.function import Function
from helicoid.compiler.symbolic.signature import Input, Output
from helicoid.control.differential.exporting import CMAKE, numbers_in_c, places
from helicoid.control.whole_body.formulation import OUTPUTS

if TYPE_CHECKING:
    from helicoid.control.whole_body.whole_body import WholeBody

_HEADER = """\
/* Torques from tasks, contacts and limits, one call a step. C99 with nothing but math.h; a controller is a
 * struct without pointers, of which a program may have any number, one for each thread that steps. */
#ifndef {P}_H
#define {P}_H

#ifdef __cplusplus
extern "C" {{
#endif

#define {P}_NQ {nq}
#define {P}_NV {nv}
/* Places and sizes in `numbers`, which may be changed between steps. */
{places}
/* Places in `memory`: accelerations (nv), and forces of all contacts in the axes of the world. */
#define {P}_AT_ACCELERATIONS {accelerations}
#define {P}_AT_FORCES {forces}

/* What {p}_step returns. From the third to the sixth, the last torque dies away. */
enum {{
  {P}_SOLVED,
  {P}_INFEASIBLE,
  {P}_OUT_OF_ITERATIONS,
  {P}_NOT_FINITE,
  {P}_NOT_CONVEX,
  {P}_BAD_MEASUREMENT,
  {P}_NO_CONTACT
}};

typedef struct {{
  double numbers[{np}];
  double memory[{memory}];
  double work[{work}];
}} {p}_controller;

/* With the numbers that were set when this was written. */
void {p}_init({p}_controller *controller);

/* Torques (nv) for a state (nq, nv), to be held for dt; finite and within limits whatever q and v are. */
int {p}_step({p}_controller *controller, const double *q, const double *v, double *tau);

#ifdef __cplusplus
}}
#endif
#endif
"""

_SOURCE = """\
#include "{p}.h"
#include "{p}_data.h"

{definitions}
#define DATA(q, v, p, out, scratch) {p}_data(q, v, p, {outputs})
#include "runtime/whole_body.h"

/* An array of a negative size is refused: the header must be right. */
typedef char {p}_memory_fits[sizeof(((({p}_controller *)0)->memory)) == MEMORY * sizeof(double) ? 1 : -1];
typedef char {p}_work_fits[sizeof(((({p}_controller *)0)->work)) >= STEP_WORK * sizeof(double) ? 1 : -1];

void {p}_init({p}_controller *controller) {{
  static const double numbers[] = {{{numbers}}};
  memset(controller, 0, sizeof *controller);
  memcpy(controller->numbers, numbers, sizeof numbers);
}}

int {p}_step({p}_controller *controller, const double *q, const double *v, double *tau) {{
  return step_of_body(q, v, controller->numbers, tau, controller->memory, controller->work, 0);
}}
"""

_CHECK = """\
/* Compares steps with those of Python. */
#include "{p}.h"

#include <math.h>
#include <stdio.h>

static const double states[] = {{{states}}};
static const double torques[] = {{{torques}}};

int main(void) {{
  static {p}_controller controller;
  double tau[{P}_NV], worst = 0;
  int k, i;
  {p}_init(&controller);
  for (k = 0; k < {steps}; k++) {{
    const double *q = states + k * ({P}_NQ + {P}_NV);
    {p}_step(&controller, q, q + {P}_NQ, tau);
    for (i = 0; i < {P}_NV; i++) {{
      const double wrong = fabs(tau[i] - torques[k * {P}_NV + i]) / (1 + fabs(torques[k * {P}_NV + i]));
      if (!(wrong <= worst)) worst = wrong;
    }}
  }}
  printf("{p}: %d steps, largest relative difference %.1e\\n", {steps}, worst);
  return !(worst < 1e-6);
}}
"""


def definitions(wb: WholeBody) -> str:
    """The sizes that runtime/whole_body.h needs, in C."""
    f, robot, at = wb.formulation, wb.robot, wb.numbers
    first = f.contact_names[0] if f.contacts else None
    rows = f.all_rows
    sizes: dict[str, Any] = {
        **{"NQ": robot.nq, "NV": robot.nv, "NU": len(robot.unactuated), "NP": at.values.size},
        **{"NCT": len(f.contacts), "NF": f.n_forces, "NC": f.n_cones, "NK": robot.constraints.rows},
        **{"NE": len(rows), "NM": sum(row.kind == 0 for row in rows), "NS": _size(wb, "errors")},
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
    return "".join(f"#define {name} {value}\n" for name, value in sizes.items())


def export_c(
    wb: WholeBody, folder: str | os.PathLike[str], name: str, states: Array, torques: Array
) -> list[Path]:
    """Write the library; states (q, v) and torques are recorded steps, which its program repeats."""
    p = identifier(name)
    data = wb.data()
    function = Function(
        f"{p}_data",
        [Input(one, (data.size1_in(k),)) for k, one in enumerate(("q", "v", "p"))],
        [Output(out, (data.size1_out(k),)) for k, out in enumerate(OUTPUTS)],
        data,
    )
    routine = Routine(f"{p}_data", function, "double")
    values = {
        "p": p,
        "P": p.upper(),
        "nq": wb.robot.nq,
        "nv": wb.robot.nv,
        "np": wb.numbers.values.size,
        "memory": wb.memory_size,
        "work": _work(wb),
        "accelerations": wb._at["x"].start,
        "forces": wb._at["forces"].start,
        "places": places(p, wb.numbers),
        "definitions": definitions(wb),
        "outputs": ", ".join(f"(out)[{k}]" for k in range(len(OUTPUTS))),
        "numbers": numbers_in_c(wb.numbers.values),
        "states": numbers_in_c(states),
        "torques": numbers_in_c(torques),
        "steps": len(states),
    }
    headers = [path for runtime in wb.runtimes for path in sorted(runtime.glob("*.h"))]
    guard = f"{p.upper()}_DATA_H"
    return write_files(
        Path(folder),
        {
            f"{p}.h": _HEADER.format(**values),
            f"{p}.c": _SOURCE.format(**values),
            f"{p}_data.h": f"#ifndef {guard}\n#define {guard}\n{routine.prototype};\n#endif\n",
            f"{p}_data.c": routine.source(f"{p}_data.h"),
            "main.c": _CHECK.format(**values),
            "CMakeLists.txt": CMAKE.format(**values),
            **{f"runtime/{path.name}": path.read_text(encoding="utf-8") for path in headers},
        },
    )


def _work(wb: WholeBody) -> int:
    """At least STEP_WORK of runtime/whole_body.h; with less, the source that is written does not compile."""
    f, robot = wb.formulation, wb.robot
    nx, ne, nv = f.n_variables, len(f.all_rows), robot.nv
    px = -(-(nx + 1) // 4) * 4
    held = nx - nv
    most = 2 * nx + f.n_cones + len(robot.actuated)
    rows = ne + nx + 4
    data = sum(wb.data().size1_out(k) for k in range(len(OUTPUTS)))
    reduction = (nv + 2 * (len(robot.unactuated) + held)) * px
    costs = rows * (px + 1) + (ne * (nx + 1) if f.strict else nx * nx) + nx
    program = len(robot.actuated) * (px + 1) + costs + most * nx + 5 * (nx + most) + nx

    def work(n: int, m: int) -> int:  # QP_WORK
        padded = -(-n // 4) * 4
        return (3 * padded + 10) * padded + m + 8

    levels = nx * nx + nx + (most + ne) * nx + 4 * (nx + most + ne) + nx + work(nx, most + ne)
    return int(data + reduction + program + (levels if f.strict else work(nx, most)) + nx)


def _size(wb: WholeBody, name: str) -> int:
    return int(wb._at[name].stop - wb._at[name].start)


def _list(values: Any) -> str:
    return "{" + (", ".join(map(str, values)) or "0") + "}"
