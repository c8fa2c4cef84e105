"""A controller of differential kinematics as a library in C99, with a program that checks it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from helicoid._typing import Array
from helicoid.compiler.code.c_names import identifier
from helicoid.compiler.export.c_library import Routine
from helicoid.compiler.export.files import write_files
from helicoid.compiler.function import Function
from helicoid.compiler.symbolic.signature import Input, Output
from helicoid.control.differential.numbers import Numbers

if TYPE_CHECKING:
    from helicoid.control.differential.differential import DifferentialIK

_HEADER = """\
/* Joint velocities from tasks, one call a step. C99 with nothing but math.h; a controller is a struct without
 * pointers, of which a program may have any number, one for each thread that steps. */
#ifndef {P}_H
#define {P}_H

#ifdef __cplusplus
extern "C" {{
#endif

#define {P}_NQ {nq}
#define {P}_NV {nv}
/* Places and sizes in `numbers`, which may be changed between steps. */
{places}

/* What {p}_step returns. Beyond the second, the last velocity dies away. */
enum {{
  {P}_SOLVED,
  {P}_INFEASIBLE,
  {P}_OUT_OF_ITERATIONS,
  {P}_NOT_FINITE,
  {P}_NOT_CONVEX,
  {P}_BAD_MEASUREMENT
}};

typedef struct {{
  double numbers[{np}];
  double memory[{memory}]; /* the last velocity first */
  double work[{work}];
}} {p}_controller;

/* At rest, with the numbers that were set when this was written. */
void {p}_init({p}_controller *controller);

/* Velocities (nv) for a configuration (nq), to be held for dt; finite and within limits whatever q is. */
int {p}_step({p}_controller *controller, const double *q, double *v);

#ifdef __cplusplus
}}
#endif
#endif
"""

_SOURCE = """\
#include "{p}.h"
#include "{p}_data.h"

{definitions}
#define DATA(q, p, first, second, A, lower, upper, errors, damping, scratch) \\
  {p}_data(q, p, first, second, A, lower, upper, errors, damping)
#include "runtime/differential.h"

/* An array of a negative size is refused: the header must be right. */
typedef char {p}_memory_fits[sizeof(((({p}_controller *)0)->memory)) == MEMORY * sizeof(double) ? 1 : -1];
typedef char {p}_work_fits[sizeof(((({p}_controller *)0)->work)) == STEP_WORK * sizeof(double) ? 1 : -1];

void {p}_init({p}_controller *controller) {{
  static const double numbers[] = {{{numbers}}};
  memset(controller, 0, sizeof *controller);
  memcpy(controller->numbers, numbers, sizeof numbers);
}}

int {p}_step({p}_controller *controller, const double *q, double *v) {{
  return differential_step(q, controller->numbers, v, controller->memory, controller->work, 0);
}}
"""

_CHECK = """\
/* Compares steps with those of Python. */
#include "{p}.h"

#include <math.h>
#include <stdio.h>

static const double configurations[] = {{{q}}};
static const double velocities[] = {{{v}}};

int main(void) {{
  static {p}_controller controller;
  double v[{P}_NV], worst = 0;
  int k, i;
  {p}_init(&controller);
  for (k = 0; k < {steps}; k++) {{
    {p}_step(&controller, configurations + k * {P}_NQ, v);
    for (i = 0; i < {P}_NV; i++) {{
      const double wrong = fabs(v[i] - velocities[k * {P}_NV + i]) / (1 + fabs(velocities[k * {P}_NV + i]));
      if (!(wrong <= worst)) worst = wrong;
    }}
  }}
  printf("{p}: %d steps, largest relative difference %.1e\\n", {steps}, worst);
  return !(worst < 1e-9);
}}
"""

CMAKE = """\
# A static library, and a program that compares it with recorded values.
cmake_minimum_required(VERSION 3.13)
project({p} C)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library({p} STATIC {p}.c {p}_data.c)
set_target_properties({p} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
target_include_directories({p} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
if(UNIX)
  target_link_libraries({p} PUBLIC m)
endif()

add_executable({p}_check main.c)
set_target_properties({p}_check PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
target_link_libraries({p}_check PRIVATE {p})
enable_testing()
add_test(NAME {p}_check COMMAND {p}_check)
"""

_OUTPUTS = ("first", "second", "A", "lower", "upper", "errors", "damping")


def export_c(ik: DifferentialIK, folder: str | os.PathLike[str], name: str, Q: Array, V: Array) -> list[Path]:
    """Write the library; Q and V are recorded steps from rest, which its program repeats."""
    p = identifier(name)
    data = ik.data()
    function = Function(
        f"{p}_data",
        [Input("q", (data.size1_in(0),)), Input("p", (data.size1_in(1),))],
        [Output(out, (data.size1_out(k),)) for k, out in enumerate(_OUTPUTS)],
        data,
    )
    routine = Routine(f"{p}_data", function, "double")
    values = {
        "p": p,
        "P": p.upper(),
        "nq": ik.robot.nq,
        "nv": ik.robot.nv,
        "np": ik.numbers.values.size,
        "memory": ik.memory_size,
        "work": _work(ik),
        "places": places(p, ik.numbers),
        "definitions": ik.definitions(),
        "numbers": numbers_in_c(ik.numbers.values),
        "q": numbers_in_c(Q),
        "v": numbers_in_c(V),
        "steps": len(Q),
    }
    headers = [path for runtime in ik.runtimes for path in sorted(runtime.glob("*.h"))]
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


def _work(ik: DifferentialIK) -> int:
    """STEP_WORK of runtime/differential.h; the source that is written refuses to compile if it is another."""
    f = ik.formulation
    nv, rows, m = f.robot.nv, f.level_rows, f.n_rows
    n, total = nv + m, sum(rows)

    def work(n: int, m: int) -> int:  # QP_WORK
        padded = -(-n // 4) * 4
        return (3 * padded + 10) * padded + m + 8

    levels = nv * nv + nv + (m + total) * nv + 4 * (n + total) + nv + work(nv, m + total)
    data = (total if f.strict else nv) * (nv + 1) + m * nv + len(rows) + 5 * n
    return data + (levels if f.strict else work(nv, m))


def places(p: str, numbers: Numbers) -> str:
    """Where each named number is, as definitions in C."""
    lines = []
    for name in numbers.names:
        at = numbers[name].at
        title = f"{p}_{identifier(name)}".upper()
        lines += [f"#define {title} {at.start}", f"#define {title}_SIZE {at.stop - at.start}"]
    return "\n".join(lines)


def numbers_in_c(values: Array) -> str:
    """Numbers as C has them, with commas."""
    words = {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}
    texts = (repr(float(value)) for value in np.ravel(values))
    return ", ".join(words.get(text, text) for text in texts)
