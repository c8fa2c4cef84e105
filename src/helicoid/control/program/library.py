"""A controller that solves programs as a library in C99, with a program that checks it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import (
    Function,
    Input,
    Output,
    Routine,
    c_identifier,
    c_number,
    cmake_lists,
    write_files,
)
from helicoid.control.program.loop import CompiledStep
from helicoid.control.program.numbers import Numbers
from helicoid.robot.robot import Robot

_HEADER = """\
/* {what}
 * C99 with nothing but math.h; a controller is a struct without pointers, of which a program may have any
 * number, one for each thread that steps. */
#ifndef {P}_H
#define {P}_H

#ifdef __cplusplus
extern "C" {{
#endif

#define {P}_NQ {nq}
#define {P}_NV {nv}
/* Places and sizes in `numbers`, which may be changed between steps. */
{places}

/* What {p}_step returns. {falling_back} */
enum {{
  {P}_OK,
  {P}_INFEASIBLE,
  {P}_ITERATION_LIMIT,
  {P}_NOT_FINITE,
  {P}_NOT_CONVEX,
  {P}_BAD_MEASUREMENT{statuses}
}};

typedef struct {{
  double numbers[{np}];
  double memory[{memory}]; /* {kept} */
  double work[{work}];
}} {p}_controller;

/* At its start, with the numbers that were set when this was written. */
void {p}_init({p}_controller *controller);

/* {step} */
int {p}_step({p}_controller *controller, {parameters}, double *{result});

#ifdef __cplusplus
}}
#endif
#endif
"""

_SOURCE = """\
#include "{p}.h"
#include "{p}_data.h"

{definitions}
#define {macro}
#include "runtime/{runtime}"

/* An array of a negative size is refused: the header must be right. */
typedef char {p}_memory_fits[sizeof(((({p}_controller *)0)->memory)) == MEMORY * sizeof(double) ? 1 : -1];
typedef char {p}_work_fits[sizeof(((({p}_controller *)0)->work)) >= STEP_WORK * sizeof(double) ? 1 : -1];

void {p}_init({p}_controller *controller) {{
  static const double numbers[] = {{{numbers}}};
  memset(controller, 0, sizeof *controller);
  memcpy(controller->numbers, numbers, sizeof numbers);
}}

int {p}_step({p}_controller *controller, {parameters}, double *{result}) {{
  return {function}({arguments}, controller->numbers, {result}, controller->memory, controller->work, 0);
}}
"""

_CHECK = """\
/* Compares steps with those of Python. */
#include "{p}.h"

#include <math.h>
#include <stdio.h>

static const double measured[] = {{{measured}}};
static const double results[] = {{{results}}};

int main(void) {{
  static {p}_controller controller;
  double result[{P}_NV], worst = 0;
  int k, i;
  {p}_init(&controller);
  for (k = 0; k < {steps}; k++) {{
    const double *q = measured + k * {stride};
    const double *right = results + k * {P}_NV;
    {p}_step(&controller, {read}, result);
    for (i = 0; i < {P}_NV; i++) {{
      const double wrong = fabs(result[i] - right[i]) / (1 + fabs(right[i]));
      if (!(wrong <= worst)) worst = wrong;
    }}
  }}
  printf("{p}: %d steps, largest relative difference %.1e\\n", {steps}, worst);
  return !(worst < {tolerance});
}}
"""


@dataclass(frozen=True)
class Library:
    """What is so of one kind of controller; the rest is the same for all.

    Args:
        what: what it gives, in a sentence of the header.
        step: of what and under which conditions, likewise.
        falling_back: what happens after which status.
        kept: what `memory` begins with.
        inputs: "q", or "q" and "v".
        outputs: of the function that gives the program of a step, by name.
        result: what comes out, by its symbol.
        macro: DATA of the runtime, as that calls the function; {p} stands for the name of the library.
        runtime: the header of the runtime; function: its step.
        work: the doubles that a step works in.
        statuses: beyond those of all; places: more names of places.
        tolerance: what a step may differ by, relatively, on another compiler.
    """

    what: str
    step: str
    falling_back: str
    kept: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    result: str
    macro: str
    runtime: str
    function: str
    work: int
    tolerance: str
    statuses: tuple[str, ...] = ()
    places: Mapping[str, int] = field(default_factory=dict)


def export_c(
    library: Library,
    loop: CompiledStep,
    robot: Robot,
    step: Callable[..., Array],
    folder: str | os.PathLike[str],
    name: str,
) -> list[Path]:
    """Write a controller with the numbers that are set now; its program repeats some steps, recorded here."""
    p = c_identifier(name)
    measured, results = _recorded(library, loop, robot, step)
    data = Function(
        f"{p}_data",
        [Input(one, (loop.data.size1_in(k),)) for k, one in enumerate((*library.inputs, "p"))],
        [Output(one, (loop.data.size1_out(k),)) for k, one in enumerate(library.outputs)],
        loop.data,
    )
    routine = Routine(f"{p}_data", data, "double")
    values = {
        **{key: getattr(library, key) for key in ("what", "step", "falling_back", "kept", "result")},
        **{key: getattr(library, key) for key in ("runtime", "function", "work", "tolerance")},
        **{"p": p, "P": p.upper(), "nq": robot.nq, "nv": robot.nv},
        **{"np": loop.p.size, "memory": loop.memory.size, "definitions": loop.definitions},
        "statuses": "".join(f",\n  {p.upper()}_{status}" for status in library.statuses),
        "places": _places(p, loop.numbers, library.places),
        "macro": library.macro.format(p=p),
        "parameters": ", ".join(f"const double *{one}" for one in library.inputs),
        "arguments": ", ".join(library.inputs),
        "read": ", ".join(("q", f"q + {p.upper()}_NQ")[: len(library.inputs)]),
        "stride": measured.shape[1],
        "steps": len(measured),
        "numbers": _in_c(loop.p),
        "measured": _in_c(measured),
        "results": _in_c(results),
    }
    headers = [path for runtime in loop.runtimes for path in sorted(runtime.glob("*.h"))]
    guard = f"{p.upper()}_DATA_H"
    return write_files(
        Path(folder),
        {
            f"{p}.h": _HEADER.format(**values),
            f"{p}.c": _SOURCE.format(**values),
            f"{p}_data.h": f"#ifndef {guard}\n#define {guard}\n{routine.prototype};\n#endif\n",
            f"{p}_data.c": routine.source(f"{p}_data.h"),
            "main.c": _CHECK.format(**values),
            "CMakeLists.txt": cmake_lists(p, [f"{p}.c", f"{p}_data.c"]),
            **{f"runtime/{path.name}": path.read_text(encoding="utf-8") for path in headers},
        },
    )


def _recorded(
    library: Library, loop: CompiledStep, robot: Robot, step: Callable[..., Array]
) -> tuple[Array, Array]:
    """What is measured and what comes out in some steps from the start; the loop is as it was afterwards."""
    kept, measured, results = loop.memory.copy(), [], []
    rng = np.random.default_rng(0)
    q = robot.random(rng)
    loop.begin()
    for _ in range(20):
        v = 0.1 * rng.normal(size=robot.nv)
        given = (q, v)[: len(library.inputs)]
        measured.append(np.concatenate(given))
        results.append(step(*given))
        q = robot.integrate(q, 0.01 * v)
    loop.memory[:] = kept
    return np.array(measured), np.array(results)


def _places(p: str, numbers: Numbers, others: Mapping[str, int]) -> str:
    """Where each named number is, as definitions in C."""
    lines = []
    for name in numbers.names:
        at = numbers[name].at
        title = f"{p}_{c_identifier(name)}".upper()
        lines += [f"#define {title} {at.start}", f"#define {title}_SIZE {at.stop - at.start}"]
    if others:
        lines.append("/* Places in `memory`. */")
        lines += [f"#define {p.upper()}_AT_{name} {place}" for name, place in others.items()]
    return "\n".join(lines)


def _in_c(values: Array) -> str:
    """Numbers as C has them, with commas."""
    return ", ".join(map(c_number, np.ravel(values)))
