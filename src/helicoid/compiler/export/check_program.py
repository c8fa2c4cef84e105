"""The program that an exported library comes with: it compares the functions with recorded values."""

from __future__ import annotations

import textwrap
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from helicoid._typing import Array
from helicoid.compiler.code.writer import SCALAR

if TYPE_CHECKING:
    from helicoid.compiler.export.c_library import Routine

SAMPLES = 3
TOLERANCES = {"double": 1e-12, "float": 1e-4}
ERFINV_TOLERANCE = 1e-4  # CasADi's erfinv, which the recorded values come from, is a few 1e-6 off

# Domains to draw inputs from: the first in which all outputs are finite, or else most.
_DOMAINS = ((-1.0, 1.0), (0.0, 1.0), (1.0, 2.0))

_PROGRAM = """\
/* Compares the functions with values recorded when they were exported. */
#include "{header}"

#include <math.h>
#include <stdio.h>

/* The largest error, relative to the largest recorded value; absolute where all are rounding errors. */
static double error_of(const {real} *found, const double *expected, int n) {{
  double error = 0, scale = 0;
  int k;
  for (k = 0; k < n; k++)
    if (isfinite(expected[k]) && fabs(expected[k]) > scale) scale = fabs(expected[k]);
  if (scale < 1e-9) scale = 1;
  for (k = 0; k < n; k++) {{
    const double x = found[k];
    const double e = x == expected[k] || (isnan(x) && isnan(expected[k])) ? 0 : fabs(x - expected[k]) / scale;
    if (!(e <= error)) error = isnan(e) ? HUGE_VAL : e;
  }}
  return error;
}}

static double larger(double x, double y) {{ return x > y ? x : y; }}
{checks}
static int report(const char *name, double error, double tolerance) {{
  const int wrong = error > tolerance;
  printf("%-7s %s: largest relative error %.2g\\n", wrong ? "WRONG" : "correct", name, error);
  return wrong;
}}

int main(void) {{
  int wrong = 0;
{reports}
  return wrong ? 1 : 0;
}}
"""
_CHECK = """
static double check_{name}(void) {{
{data}
  double error = 0;
  int k;
  for (k = 0; k < {samples}; k++) {{
    {name}({arguments});
{comparisons}
  }}
  return error;
}}
"""


def check_program(header: str, routines: Sequence[Routine], samples: Sequence[Array] | None = None) -> str:
    """The text of main.c, with values that CasADi's virtual machine computes.

    `samples` are values for the inputs of all routines, (n, size) each; by default random ones.
    """
    reports = (f'  wrong |= report("{r.name}", check_{r.name}(), {_tolerance(r)});' for r in routines)
    return _PROGRAM.format(
        header=header,
        real=routines[0].real,
        checks="".join(_check(routine, samples) for routine in routines),
        reports="\n".join(reports),
    )


def _tolerance(routine: Routine) -> float:
    inexact = any(value.operation == "erfinv" for value in routine.writer.program.values)
    return max(TOLERANCES[routine.real], ERFINV_TOLERANCE if inexact else 0.0)


def _check(routine: Routine, samples: Sequence[Array] | None) -> str:
    inputs, outputs = _recorded(routine) if samples is None else (list(samples), _computed(routine, samples))
    literal = routine.writer.flavour.literal
    data: list[str] = []
    for parameter, values in zip(routine.inputs, inputs, strict=True):
        data += _array(f"{routine.real} in_{parameter.name}", values, literal)
    for parameter, values in zip(routine.outputs, outputs, strict=True):
        data += _array(f"double out_{parameter.name}", values, SCALAR.literal)
        data.append(f"  static {routine.real} found_{parameter.name}[{max(1, parameter.size)}];")
    arguments = [f"in_{p.name}[k][0]" if p.by_value else f"in_{p.name}[k]" for p in routine.inputs]
    comparisons = (
        f"    error = larger(error, error_of(found_{p.name}, out_{p.name}[k], {p.size}));"
        for p in routine.outputs
    )
    return _CHECK.format(
        name=routine.name,
        data="\n".join(data),
        samples=SAMPLES if samples is None else len(samples[0]),
        arguments=", ".join([*arguments, *(f"found_{p.name}" for p in routine.outputs)]),
        comparisons="\n".join(comparisons),
    )


def _recorded(routine: Routine) -> tuple[list[Array], list[Array]]:
    """Inputs, numbers that even a float holds exactly, and outputs; a row for each sample."""
    rng = np.random.default_rng(zlib.crc32(routine.name.encode()))
    sizes = [parameter.size for parameter in routine.inputs]
    best: tuple[int, list[Array], list[Array]] = (-1, [], [])
    for low, high in _DOMAINS:
        inputs = [np.round(rng.uniform(low, high, (SAMPLES, n)) * 4096) / 4096 for n in sizes]
        outputs = _computed(routine, inputs)
        n_finite = sum(int(np.isfinite(values).sum()) for values in outputs)
        if n_finite > best[0]:
            best = n_finite, inputs, outputs
        if n_finite == sum(values.size for values in outputs):
            break
    return best[1], best[2]


def _computed(routine: Routine, inputs: Sequence[Array]) -> list[Array]:
    """Outputs for each row of the inputs."""
    rows = [routine.casadi.call([x[k] for x in inputs]) for k in range(len(inputs[0]))]
    return [np.array([np.array(row[i]).ravel() for row in rows]) for i in range(len(routine.outputs))]


def _array(declaration: str, values: Array, literal: Callable[[float], str]) -> Iterator[str]:
    """The definition of a table with a row for each sample."""
    samples, size = values.shape
    yield f"  static const {declaration}[{samples}][{max(1, size)}] = {{"
    for row in values:
        numbers = ", ".join(map(literal, row.tolist())) or "0"
        yield textwrap.fill(f"{{{numbers}}},", 110, initial_indent="    ", subsequent_indent="     ")
    yield "  };"
