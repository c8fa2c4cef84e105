"""The example of an exported controller: a loop that follows its own plan, and how long its steps take."""

from __future__ import annotations

import numpy as np

from helicoid.compiler import c_array, cmake_lists
from helicoid.mpc.export.header import Header

_SETTINGS = """\
option(NATIVE "Use all that the processor of this machine has; off for code that others of its kind run" ON)
"""
_OPTIONS = """\
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  # As in Python. Never -ffast-math: the order of sums matters, and NaN must be seen.
  target_compile_options({p} PRIVATE -Wall -Wextra -pedantic -Wno-psabi -O2
    -fno-math-errno -fno-trapping-math -ffp-contract=fast)
  if(NATIVE AND NOT CMAKE_CROSSCOMPILING)
    target_compile_options({p} PRIVATE -march=native)
  endif()
endif()
"""

_MAIN = """\
/* An example: a robot that moves as planned, nearly, and how long the steps of its controller take. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "{p}.h"

enum {{ STEPS = 1000, BINS = 24 }};

static unsigned char memory[{big}_MEMORY];
{start}

static double seconds(void) {{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}}

static int by_size(const void *a, const void *b) {{
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}}

/* Numbers between -1 and 1, the same in every run. */
static double noise(void) {{
  static unsigned long state = 1;
  state = (state * 1103515245UL + 12345UL) & 0x7fffffffUL;
  return (double)state / 1073741824.0 - 1.0;
}}

static void print_times(double *times) {{
  qsort(times, STEPS, sizeof *times, by_size);
  const double first = times[0], width = (times[STEPS * 99 / 100] - first) / (BINS - 1) + 1e-9;
  for (int bin = 0, k = 0; bin < BINS; bin++) {{
    const double end = first + (bin + 1) * width;
    int count = 0;
    for (; k < STEPS && (times[k] < end || bin == BINS - 1); k++) count++;
    printf("%8.1f us %5d ", 1e6 * (end - width), count);
    for (int i = 0; i < count * 200 / STEPS; i++) putchar('#');
    putchar('\\n');
  }}
  printf("half of the steps take at most %.1f us, 99 %% %.1f us, all %.1f us\\n", 1e6 * times[STEPS / 2],
         1e6 * times[STEPS * 99 / 100], 1e6 * times[STEPS - 1]);
}}

int main(void) {{
  double times[STEPS], applied[{big}_TORQUE_SIZE], state[MEASURED];
  int failed = 0;
  {p}_controller *controller = {p}_init(memory, sizeof memory);
  if (!controller) return 1;
  {p}_start(controller, {first});
  printf("start: %s\\n", {p}_status_text({p}_status(controller)));
  for (int k = 0; k < STEPS; k++) {{
    const double began = seconds();
    {p}_prepare(controller);
    const double prepared = seconds();
    /* What would be measured: the state that was planned for now, and a little noise. */
    for (int i = 0; i < MEASURED; i++) state[i] = {p}_plan_states(controller)[i]{noise};
    const double measured = seconds();
    {p}_feedback(controller, {now}, applied);
    times[k] = seconds() - measured + prepared - began;
    failed += {p}_applied(controller) != {big}_NEW_PLAN;
  }}
  print_times(times);
  printf("%d of %d steps had no new plan; the last one: %s\\n", failed, STEPS,
         {p}_status_text({p}_status(controller)));
  return failed == STEPS;
}}
"""


def main_program(header: Header) -> str:
    """The file main.c."""
    robot, n = header.structure.robot, header.structure.n_measured
    state = np.zeros(n)
    if robot is not None:
        state[: robot.nq] = robot.neutral(within_limits=True)
    flat = robot is None or robot.nq == robot.nv
    start = f"enum {{ MEASURED = {n} }};\n{c_array('first', state)}"
    return _MAIN.format(
        p=header.prefix,
        big=header.big,
        start=start,
        first="first" if robot is None else f"first, first + {robot.nq}",
        now="state" if robot is None else f"state, state + {robot.nq}",
        # Coordinates of a quaternion are no place for noise.
        noise=" + 1e-4 * noise()" if flat else f" + (i < {robot.nq if robot else 0} ? 0 : 1e-4 * noise())",
    )


def cmake(header: Header, sources: list[str]) -> str:
    """The file CMakeLists.txt."""
    return cmake_lists(
        header.prefix,
        sources,
        "A static library, and an example that prints how long its steps take.",
        "example",
        _SETTINGS,
        _OPTIONS.format(p=header.prefix),
    )
