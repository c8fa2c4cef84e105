"""Functions as C99 for other projects: nothing but math.h, no allocation, no state.

<library>.h      sizes and prototypes
<function>.c     one for each function
main.c           a program that compares the functions with values recorded here
CMakeLists.txt   a static library, and the program as its test
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import casadi as ca

from helicoid._typing import Array
from helicoid.compiler.code.c_names import c_identifier, distinct_identifiers
from helicoid.compiler.code.program import Program
from helicoid.compiler.code.writer import Flavour, Writer
from helicoid.compiler.export.check_program import check_program
from helicoid.compiler.export.cmake import cmake_lists
from helicoid.compiler.export.files import write_files
from helicoid.compiler.export.texts import c_declaration, c_header
from helicoid.compiler.locks import building
from helicoid.compiler.symbolic.expressions import flat_function
from helicoid.compiler.symbolic.signature import Input, Output, Shape, describe, signature
from helicoid.errors import HelicoidError

if TYPE_CHECKING:
    from helicoid.compiler.function import Function

Precision = Literal["double", "single"]

_SIZES = {"double": 8, "float": 4}
_NOINLINE = """\
/* In one function, thousands of operations would take a compiler very long. */
#ifdef __GNUC__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE
#endif
"""
# Winitzki's estimate, corrected by Halley's method: |x| < 1 to the last digits.
_ERFINV = """
static {type} hc_erfinv_scalar({type} x) {{
  const {type} a = fabs{f}(x), l = log{f}((1 - a) * (1 + a)), t = {t} + l / 2;
  {type} y = sqrt{f}(fmax{f}(sqrt{f}(t * t - l / {a}) - t, 0));
  int k;
  if (!(a < 1)) return a == 1 ? copysign{f}(INFINITY, x) : NAN;
  for (k = 0; k < 4; k++) {{
    const {type} error = y < 1 ? erf{f}(y) - a : (1 - a) - erfc{f}(y);
    const {type} step = {half_root_pi} * error * exp{f}(y * y);
    y -= step / (1 + y * step);
  }}
  return copysign{f}(y, x);
}}
"""


def export_c(
    function: Function,
    folder: str | os.PathLike[str],
    precision: Precision = "double",
    samples: Sequence[Array] | None = None,
) -> list[Path]:
    """Write a function as a C99 library of its own name; see `export_library`."""
    return export_library(function.name, {function.name: function}, folder, precision, samples)


def export_library(
    name: str,
    functions: Mapping[str, Function],
    folder: str | os.PathLike[str],
    precision: Precision = "double",
    samples: Sequence[Array] | None = None,
) -> list[Path]:
    """Write functions as one C99 library, with a program that checks it and a CMakeLists.txt.

    Each becomes `void name(inputs..., outputs...)` on arrays of `double`, or of `float` for the precision
    "single": tensors in row-major order, scalar inputs by value. Outputs must not overlap inputs. The
    functions allocate nothing and may be called by several threads at once.

    Args:
        name: of the header, the library and the CMake target.
        functions: by their names in C, which are turned into identifiers where needed.
        folder: created if it does not exist. Files of these names that an earlier export wrote are replaced,
            other files stay untouched.
        samples: values of the inputs that the program checks, (n, size) each, row by row; random by default.

    Returns:
        The files written.

    Raises:
        HelicoidError: the folder has a file of one of these names that no export wrote, or cannot be
            written to; an operation has no counterpart in C.
    """
    if precision not in ("double", "single"):
        raise HelicoidError(f"precision is 'double' or 'single', got {precision!r}")
    if not functions:
        raise HelicoidError(f"{name}: there is no function to export")
    library = c_identifier(name)
    real = "double" if precision == "double" else "float"
    names = distinct_identifiers(functions, taken=["main"])
    routines = [Routine(c_name, f, real) for c_name, f in zip(names, functions.values(), strict=True)]
    texts = {
        f"{library}.h": _header(library, routines),
        **{f"{routine.name}.c": routine.source(f"{library}.h") for routine in routines},
        "main.c": check_program(f"{library}.h", routines, samples),
        "CMakeLists.txt": cmake_lists(library, [f"{routine.name}.c" for routine in routines]),
    }
    return write_files(Path(folder), texts)


@dataclass(frozen=True)
class CParameter:
    """An input or output of a function as a parameter in C."""

    item: Input | Output
    name: str
    real: str

    @property
    def size(self) -> int:
        """Number of elements."""
        return _product(self.item.shape)

    @property
    def by_value(self) -> bool:
        """Whether it is passed by value instead of by address."""
        return isinstance(self.item, Input) and self.item.shape == ()

    def __str__(self) -> str:
        if self.by_value:
            return f"{self.real} {self.name}"
        const = "const " if isinstance(self.item, Input) else ""
        if self.item.shape == () or not self.size:  # C has no arrays of no elements
            return f"{const}{self.real} *{self.name}"
        return f"{const}{self.real} {self.name}[{self.size}]"


class Routine:
    """One function of the library: its C, and its part of the header and of the check."""

    def __init__(self, name: str, function: Function, real: str) -> None:
        self.name, self.function, self.real = name, function, real
        items: list[Input | Output] = [*function.inputs, *function.outputs]
        given = [item.name for item in function.inputs]
        given += [f"{item.name}_out" if item.name in given else item.name for item in function.outputs]
        names = distinct_identifiers(given, linked=False)
        parameters = [CParameter(item, name, real) for item, name in zip(items, names, strict=True)]
        self.inputs, self.outputs = parameters[: len(function.inputs)], parameters[len(function.inputs) :]

    @property
    def parameters(self) -> list[CParameter]:
        """Inputs, then outputs."""
        return [*self.inputs, *self.outputs]

    @cached_property
    def casadi(self) -> ca.Function:
        """The function on dense columns in row-major order."""
        with building():
            return flat_function(self.function.casadi, self.function.inputs, self.function.outputs)

    @cached_property
    def writer(self) -> Writer:
        """The function as segments of C."""
        real = self.real
        parameters = f"const {real} *const *in, {real} *const *out, {real} *w"
        flavour = Flavour(f"{self.name}_segment", real, parameters, "in, out, w", vector=False, portable=True)
        return Writer(Program.from_casadi(self.casadi), flavour, lanes=1)

    @property
    def stack(self) -> int:
        """Bytes on the stack if every value of the largest segment is there, as in unoptimised code."""
        schedule = self.writer.schedule
        values = max(
            len(segment.loads) + sum(max(1, 2 * len(one.angles)) for one in segment.instructions)
            for segment in schedule.segments
        )
        inputs = sum(self.writer.program.input_sizes)
        pointers = 8 * (len(self.parameters) + 8)
        return _SIZES[self.real] * (schedule.n_slots + values + inputs) + pointers

    @property
    def prototype(self) -> str:
        """The declaration without its semicolon."""
        return c_declaration(f"void {self.name}({', '.join(map(str, self.parameters))})")

    def documentation(self) -> Iterator[str]:
        """The lines of the header about this function."""
        width = max(len(parameter.name) for parameter in self.parameters)
        yield f"/* {signature(self.function.name, self.function.inputs)} -> {describe(self.function.outputs)}"
        for kind, parameters in (("in ", self.inputs), ("out", self.outputs)):
            for parameter in parameters:
                yield f" *   {kind}  {parameter.name:{width}}  {_extent(parameter.item.shape)}"
        operations = self.writer.program.n_operations
        yield f" * {operations} operations, at most about {_rounded(self.stack)} bytes of stack. */"
        for parameter in self.parameters:
            yield f"#define {self.name.upper()}_{parameter.name.upper()}_SIZE {parameter.size}"

    def source(self, header: str) -> str:
        """The text of the function's own file."""
        values = self.writer.program.values
        inputs = ", ".join(f"&{p.name}" if p.by_value else p.name for p in self.inputs) or "0"
        outputs = ", ".join(p.name for p in self.outputs)
        calls = [
            f"  {self.name}_segment_{k}(inputs_, outputs_, work_);" for k in range(self.writer.n_segments)
        ]
        return "\n".join(
            [
                f'#include "{header}"\n\n#include <math.h>\n',
                _NOINLINE,
                *([_erfinv(self.writer.flavour)] if any(v.operation == "erfinv" for v in values) else []),
                *("static " + text for text in self.writer.functions()),
                f"{self.prototype} {{",
                f"  const {self.real} *const inputs_[] = {{{inputs}}};",
                f"  {self.real} *const outputs_[] = {{{outputs}}};",
                f"  {self.real} work_[{max(1, self.writer.schedule.n_slots)}];",
                *calls,
                "}",
                "",
            ]
        )


def _erfinv(flavour: Flavour) -> str:
    winitzki, pi = 0.147, 3.141592653589793
    numbers = {"a": winitzki, "t": 2 / (pi * winitzki), "half_root_pi": pi**0.5 / 2}
    literals = {name: flavour.literal(number) for name, number in numbers.items()}
    return _ERFINV.format(type=flavour.type, f=flavour.suffix, **literals)


def _header(library: str, routines: Sequence[Routine]) -> str:
    about = (
        "Functions in C99. They need math.h, allocate nothing and keep no state: any number of threads may "
        "call them. Arrays hold tensors row after row. Outputs must not overlap inputs."
    )
    declared = ("\n".join([*routine.documentation(), f"{routine.prototype};"]) for routine in routines)
    return c_header(library, [about], declared)


def _extent(shape: Shape) -> str:
    if not shape:
        return "a number"
    order = ", row-major" if len(shape) > 1 else ""
    return " x ".join(map(str, shape)) + order


def _product(shape: Shape) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def _rounded(n_bytes: int) -> int:
    return -(-n_bytes // 100) * 100
