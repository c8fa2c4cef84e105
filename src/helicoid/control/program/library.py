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
    c_array,
    c_declaration,
    c_header,
    c_identifier,
    cmake_lists,
    runtime_files,
    write_files,
)
from helicoid.control.program.loop import STATUSES, CompiledStep
from helicoid.control.program.numbers import Numbers
from helicoid.robot.robot import Robot

_ABOUT = (
    "C99 with nothing but math.h; a controller is a struct without pointers, of which a program may have any "
    "number, one for each thread that steps."
)
_DECLARATIONS = """\
#define {P}_NQ {nq}
#define {P}_NV {nv}
/* Places and sizes in `numbers`, which may be changed between steps. */
{places}

/* What {p}_step returns. {falling_back} */
{statuses}

typedef struct {{
  double numbers[{np}];
  double memory[{memory}]; /* {kept} */
  double work[{work}];
}} {p}_controller;

/* At its start, with the numbers that were set when this was written. */
void {p}_init({p}_controller *controller);

/* {step} */
int {p}_step({p}_controller *controller, {parameters}, double *{result});"""

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
  {numbers}
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

{measured}
{results}

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
    """The parts of an exported library that differ between kinds of controllers.

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
        places: names of places in `memory`.
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
        **vars(library),
        **{"p": p, "P": p.upper(), "nq": robot.nq, "nv": robot.nv},
        **{"np": loop.p.size, "memory": loop.memory.size, "definitions": loop.definitions},
        "statuses": c_declaration(
            f"enum {{ {', '.join(f'{p.upper()}_{one.name}' for one in STATUSES[:-2])} }};"
        ),
        "places": _places(p, loop.numbers, library.places),
        "macro": library.macro.format(p=p),
        "parameters": ", ".join(f"const double *{one}" for one in library.inputs),
        "arguments": ", ".join(library.inputs),
        "read": ", ".join(("q", f"q + {p.upper()}_NQ")[: len(library.inputs)]),
        "stride": measured.shape[1],
        "steps": len(measured),
        "numbers": c_array("numbers", loop.p),
        "measured": c_array("measured", measured),
        "results": c_array("results", results),
    }
    texts = {name: text for folder in loop.runtimes for name, text in runtime_files(folder).items()}
    return write_files(
        Path(folder),
        {
            f"{p}.h": c_header(p, [library.what, _ABOUT], [_DECLARATIONS.format(**values)]),
            f"{p}.c": _SOURCE.format(**values),
            f"{p}_data.h": c_header(routine.name, ["Data of one step."], [f"{routine.prototype};"]),
            f"{p}_data.c": routine.source(f"{p}_data.h"),
            "main.c": _CHECK.format(**values),
            "CMakeLists.txt": cmake_lists(p, [f"{p}.c", f"{p}_data.c"]),
            **texts,
        },
    )


def _recorded(
    library: Library, loop: CompiledStep, robot: Robot, step: Callable[..., Array]
) -> tuple[Array, Array]:
    """Record inputs and outputs of the first 20 steps after a reset, then restore the loop's state."""
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
    """Definitions in C of the index of each named number."""
    lines = []
    for name in numbers.names:
        at = numbers[name].at
        title = f"{p}_{c_identifier(name)}".upper()
        lines += [f"#define {title} {at.start}", f"#define {title}_SIZE {at.stop - at.start}"]
    if others:
        lines.append("/* Places in `memory`. */")
        lines += [f"#define {p.upper()}_AT_{name} {place}" for name, place in others.items()]
    return "\n".join(lines)
