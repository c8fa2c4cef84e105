"""A compiled function inside CasADi's graphs: for NLPs in which calls of it are nodes of MX.

CasADi loads a library and finds its functions by the names of symbols. Next to `f` it looks for
`jac_f` (all Jacobians), `adj1_f` (products with their transposes) and `jac_adj1_f`. Those are all that
the gradients, the Jacobians of constraints and the exact Hessian of a Lagrangian need, and the last is
several times shorter than the second derivatives of each output, `jac_jac_f`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import casadi as ca

from helicoid.compiler.build.binding import cannot_be_loaded
from helicoid.compiler.build.cache import library, loaded
from helicoid.compiler.build.toolchain import native_lanes
from helicoid.compiler.code.c_names import c_identifier
from helicoid.compiler.code.c_source import translation_units
from helicoid.compiler.code.program import Program
from helicoid.compiler.code.writer import SCALAR, Writer
from helicoid.compiler.locks import building
from helicoid.errors import HelicoidError
from helicoid.progress import reporting

if TYPE_CHECKING:
    from helicoid.compiler.function import Function

_EXPORTED = '__attribute__((visibility("default")))'
_CALL = """\
{exported} int {name}(const double **arg, double **res, casadi_int *iw, double *w, int mem) {{
  static const double zeros[{largest_in}];
  const double *in[{n_in}];
  double *out[{n_out}];
  (void)arg; (void)iw; (void)mem; (void)in; (void)zeros;
{pointers}
  {calls}
  return 0;
}}
{exported} int {name}_work(casadi_int *arg, casadi_int *res, casadi_int *iw, casadi_int *w) {{
  *arg = {n_in}; *res = {n_out}; *iw = 0; *w = {work};
  return 0;
}}
"""


def casadi_external(function: Function, order: int = 2) -> ca.Function:
    """The compiled function, with its derivatives, as a CasADi function of numbers and MX.

    It has the inputs and outputs of `function.casadi` and may be called by several threads at once, for
    instance by `map(n, "thread")`.

    Args:
        order: how often CasADi can differentiate it. 1 is enough for solvers that need no exact Hessian. 2
            adds the derivatives of gradients; those of a Jacobian as such, CasADi can take of
            `function.casadi` only.

    Raises:
        CompileError: there is no C compiler, and the library is not in the cache.
        UnsupportedOperation: an operation has no counterpart in C.
    """
    if order not in (0, 1, 2):
        raise HelicoidError(f"{function.name}: order is 0, 1 or 2, got {order!r}")
    with building():
        f = _renamed(function.casadi)
        content = hashlib.sha256(f.serialize().encode()).hexdigest()
    # Compiling takes seconds, in which other threads may build functions.
    with reporting(None, f"Compiling {function.name} and its derivatives, once for the cache"):
        version = ca.CasadiMeta.version()
        return loaded(
            lambda: library(f"casadi {version} {order} {content}", lambda: _sources(f, order)),
            lambda path: _external(f.name(), path),
        )


def _external(name: str, path: Path) -> ca.Function:
    with building():
        try:
            return ca.external(name, str(path))
        except RuntimeError as error:
            raise cannot_be_loaded(error) from error


def _renamed(function: ca.Function) -> ca.Function:
    """The function under a name that C can give to a function."""
    name = c_identifier(function.name())
    if name == function.name():
        return function
    symbols = function.sx_in()
    return ca.Function(name, symbols, function.call(symbols), function.name_in(), function.name_out())


def _sources(f: ca.Function, order: int) -> list[str]:
    lanes = native_lanes()
    with building():
        functions = [f]
        if order > 0:
            functions.append(f.jacobian())
        if order > 1:
            functions += [f.reverse(1), f.reverse(1).jacobian()]
        programs = [Program.from_casadi(g) for g in functions]
    writers = [
        Writer(program, replace(SCALAR, name=f"{g.name()}_segment"), lanes)
        for g, program in zip(functions, programs, strict=True)
    ]
    head = f'#define HC_LANES {lanes}\n#include "vector_math.h"\ntypedef long long casadi_int;\n'
    tail = [line for g, writer in zip(functions, writers, strict=True) for line in _interface(g, writer)]
    return translation_units(head, writers, "\n".join(tail))


def _interface(function: ca.Function, writer: Writer) -> Iterator[str]:
    """CasADi's interface: sizes, names and sparsities of inputs and outputs, and the function itself."""
    name, program = function.name(), writer.program
    for kind, n in (("in", function.n_in()), ("out", function.n_out())):
        yield f"{_EXPORTED} casadi_int {name}_n_{kind}(void) {{ return {n}; }}"
        names = getattr(function, f"name_{kind}")()
        yield _lookup("const char *", f"{name}_name_{kind}", [f'"{text}"' for text in names])
        sparsities = []
        for k in range(n):
            compressed = getattr(function, f"sparsity_{kind}")(k).compress()
            sparsities.append(f"{name}_{kind}_{k}")
            yield f"static const casadi_int {sparsities[k]}[] = {{{', '.join(map(str, compressed))}}};"
        yield _lookup("const casadi_int *", f"{name}_sparsity_{kind}", sparsities)
    # CasADi passes a null pointer for an input that is zero and for an output that is not needed.
    pointers = [f"  in[{i}] = arg[{i}] ? arg[{i}] : zeros;" for i in range(function.n_in())]
    spare = f"w + {writer.schedule.n_slots}"
    pointers += [f"  out[{k}] = res[{k}] ? res[{k}] : {spare};" for k in range(function.n_out())]
    yield _CALL.format(
        exported=_EXPORTED,
        name=name,
        largest_in=max(1, *program.input_sizes, 1),
        n_in=max(1, function.n_in()),
        n_out=function.n_out(),
        pointers="\n".join(pointers),
        calls=" ".join(f"{name}_segment_{k}(in, out, w);" for k in range(writer.n_segments)),
        work=writer.schedule.n_slots + max(program.output_sizes),
    )


def _lookup(kind: str, name: str, values: Sequence[str]) -> str:
    """A function that returns one of some values by its number."""
    cases = " ".join(f"case {k}: return {value};" for k, value in enumerate(values))
    return f"{_EXPORTED} {kind}{name}(casadi_int i) {{ switch (i) {{ {cases} default: return 0; }} }}"
