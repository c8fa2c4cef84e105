"""The source of an exported controller: its sizes, its numbers, the runtime, and what the header promises."""

from __future__ import annotations

import numpy as np

from helicoid.compiler import c_array, c_number, c_text, loop_pragma
from helicoid.mpc.export.contacts import Contacts
from helicoid.mpc.export.header import STATISTICS, STATUS, Header
from helicoid.mpc.export.settable import Settable, definitions
from helicoid.mpc.solver import kernels
from helicoid.mpc.solver.engine import ONCE, SqpSolver

_HEAD = """\
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#endif
#include "{p}.h"

{sizes}
#define WITHOUT_ALLOCATION
#ifdef __GNUC__
#define EXPORTED static __attribute__((unused))
#else
#define EXPORTED static
#endif
#if defined(__GNUC__) && !defined(__clang__)
{pragma}#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed between functions of this file only */
#endif
#include "runtime/solver.h"
#include "runtime/setters.h"
"""

_BODY = """\
static void fill(double *field, const double *row, size_t size, size_t count) {{
  for (size_t k = 0; k < count; k++) memcpy(field + k * size, row, size * sizeof(double));
}}

{p}_controller *{p}_init(void *memory, size_t bytes) {{
  const helicoid_kernel *const kernels[] = {{{entries}}};
  const size_t skipped = (64 - (uintptr_t)memory % 64) % 64;
  size_t head, work;
  if (!memory || bytes < skipped + bytes_of({n}, kernels, &head, &work)) return NULL;
  mpc *s = place((char *)memory + skipped, {n}, kernels);
  {copies}
  return ({p}_controller *)s;
}}

int {p}_start({p}_controller *controller, {measured}) {{
  {joined}
  return loop_start((mpc *)controller, {state});
}}

void {p}_prepare({p}_controller *controller) {{ loop_prepare((mpc *)controller); }}

int {p}_feedback({p}_controller *controller, {measured}, {applied}) {{
  {joined}
  const int status = loop_feedback((mpc *)controller, {state});
  memcpy({out}, ((mpc *)controller)->torque, NTAU * sizeof(double));
  return status;
}}

int {p}_ok(const {p}_controller *controller) {{ return ((const mpc *)controller)->outcome[OK] != 0; }}

int {p}_status(const {p}_controller *controller) {{
  return (int)((const mpc *)controller)->outcome[STEP_STATUS];
}}

int {p}_applied(const {p}_controller *controller) {{
  return (int)((const mpc *)controller)->outcome[FALLBACK];
}}

const char *{p}_status_text(int status) {{
  static const char *const words[] = {{{words}}};
  return status >= 0 && status < {n_words} ? words[status] : "unknown";
}}

const char *{p}_missed(const {p}_controller *controller, double *amount, int *node) {{
  static const char *const names[] = {{{row_names}}};
  static const double scales[] = {{{row_scales}}};
  const mpc *s = (const mpc *)controller;
  double worst = PLAN_TOLERANCE;
  int at = -1, where = 0;
  for (int k = 0; k <= {n}; k++)
    for (int i = 0; i < (k < {n} ? {path_rows} : {end_rows}); i++) {{
      const int r = k * NRP + i;
      const double over = larger_of(s->rows[r] - s->upper[r], s->lower[r] - s->rows[r]);
      if (s->hard[r] != 0 && over > worst) worst = over, at = i + (k < {n} ? 0 : {path_rows}), where = k;
    }}
  if (at < 0) return NULL;
  if (amount) *amount = worst / scales[at];
  if (node) *node = where;
  return names[at];
}}

void {p}_get_statistics(const {p}_controller *controller, {p}_statistics *statistics) {{
  const mpc *s = (const mpc *)controller;
  const int ran = s->outcome[RAN] != 0;
  statistics->iterations = s->outcome[RAN];
  statistics->seconds = s->outcome[STEP_SECONDS];
  {statistics}
}}

const double *{p}_plan_states(const {p}_controller *controller) {{ return ((const mpc *)controller)->x; }}

const double *{p}_plan_controls(const {p}_controller *controller) {{ return ((const mpc *)controller)->u; }}
"""

_DISTURBANCE = """
const double *{p}_disturbance(const {p}_controller *controller) {{
  return ((const mpc *)controller)->disturbance;
}}
"""


def source(
    header: Header, engine: SqpSolver, settable: Settable, names: list[str], contacts: Contacts | None
) -> str:
    """The file `<prefix>.c`; `names` are those of the kernels that there are."""
    p, stages = header.prefix, engine.stages
    sizes = kernels.definitions(stages) + ("" if contacts is None else contacts.definitions())
    head = _HEAD.format(p=p, sizes=sizes, pragma=loop_pragma(large=True))
    declared = [f"const helicoid_kernel *{p}_{name}_kernel(void);" for name in names]
    arrays, copies = image(engine)
    if contacts is not None:
        arrays, copies = (a + b for a, b in zip((arrays, copies), contacts.first(), strict=True))
    rows = [*stages.path_rows, *stages.end_rows]
    robot = header.structure.robot
    joined = ""
    if robot is not None:
        joined = (
            f"double state[{robot.nq + robot.nv}];\n  memcpy(state, q, {robot.nq} * sizeof(double));\n"
            f"  memcpy(state + {robot.nq}, v, {robot.nv} * sizeof(double));"
        )
    figures = (name for name in STATISTICS if name not in ("iterations", "seconds"))
    body = _BODY.format(
        p=p,
        n=engine.intervals,
        entries=", ".join(f"{p}_{name}_kernel()" if name in names else "NULL" for name in kernels.KERNELS),
        copies="\n  ".join(copies),
        measured=header.measured,
        applied=header.applied,
        joined=joined,
        state="x" if robot is None else "state",
        out="u" if robot is None else "tau",
        words=", ".join(f'"{name.lower().replace("_", " ")}"' for name in STATUS),
        n_words=len(STATUS),
        row_names=", ".join(f'"{c_text(row.label)}"' for row in rows) or "NULL",
        row_scales=", ".join(c_number(row.constraint.scale[row.element]) for row in rows) or "1",
        path_rows=len(stages.path_rows),
        end_rows=len(stages.end_rows),
        statistics="\n  ".join(
            f"statistics->{name} = ran ? s->results[{name.upper()}] : NAN;" for name in figures
        ),
    )
    if header.structure.system.disturbance.numel():
        body += _DISTURBANCE.format(p=p)
    setters = definitions(p, settable.setters)
    return "\n".join([head, *declared, "", *arrays, settable.tables(), body, setters])


def image(engine: SqpSolver) -> tuple[list[str], list[str]]:
    """The initial memory of a controller: arrays, and the statements that copy them.

    It has every field that is not zero, so that a new field cannot be forgotten.
    """
    arrays, copies = [], []
    for name in (*kernels.LAYOUT.fields("NODE_FIELDS"), *kernels.LAYOUT.fields("ONCE_FIELDS")):
        values = engine[name]
        if not np.any(values):
            continue
        rows = values.reshape(1, -1) if name in ONCE else values
        if np.array_equal(rows, np.broadcast_to(rows[0], rows.shape)):
            arrays.append(c_array(f"first_{name}", rows[0]))
            copies.append(f"fill(s->{name}, first_{name}, {rows.shape[1]}, {len(rows)});")
        else:
            arrays.append(c_array(f"first_{name}", rows))
            copies.append(f"memcpy(s->{name}, first_{name}, sizeof first_{name});")
    return arrays, copies
