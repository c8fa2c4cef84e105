"""From a program to C: the translation units of a kernel for one sample, and one for several at once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from helicoid.compiler.code.matrix_program import MatrixProgram
from helicoid.compiler.code.matrix_writer import MATRIX_HEADERS, MatrixWriter
from helicoid.compiler.code.program import Program
from helicoid.compiler.code.schedule import SEGMENT_LENGTH
from helicoid.compiler.code.writer import SCALAR, VECTOR, Writer

MIN_OPERATIONS_QUICK = 6_000  # operations above which compile time matters more than some percent of speed
QUICK_OPTIMISATION = "O1", "expensive-optimizations", "no-tree-fre"
# Passes that find nothing in straight-line code, where each value is computed, and each result stored, once.
USELESS_PASSES = (
    *("no-tree-dse", "no-dse", "no-ipa-modref", "no-ipa-pure-const", "no-tree-pre", "no-gcse"),
    *("no-code-hoisting", "no-tree-vrp", "no-rerun-cse-after-loop", "no-cse-follow-jumps"),
)
UNIT_OPERATIONS = 1800, 8000  # minimum and maximum of a translation unit; units compile in parallel


def c_source(
    program: Program | MatrixProgram,
    lanes: int,
    scalar: bool = True,
    batch: bool = True,
    head: str | None = None,
) -> list[str]:
    """The translation units of a library with the chosen kernels (see runtime/kernel.h).

    A `head` replaces the lines that define HC_LANES and include the runtime; there is one unit then, in which
    all but the entry is static.
    """
    if isinstance(program, MatrixProgram):
        kinds = [kind for kind, chosen in (("scalar", scalar), ("batch", batch)) if chosen]
        loops = [MatrixWriter(program, kind, lanes) for kind in kinds]
        tail = "\n".join([*(writer.driver() for writer in loops), _entry(program, loops, lanes)])
        return translation_units(f"#define HC_LANES {lanes}\n{MATRIX_HEADERS}", loops, tail)
    writers = [
        Writer(program, flavour, lanes) for flavour, chosen in ((SCALAR, scalar), (VECTOR, batch)) if chosen
    ]
    tail = "\n".join([*(writer.driver() for writer in writers), _entry(program, writers, lanes)])
    if head is not None:
        segments = ("static " + segment for writer in writers for segment in writer.functions())
        return ["\n".join([head, *segments, tail])]
    head = f'#define HC_LANES {lanes}\n#include "vector_math.h"\n#include "kernel.h"\n'
    return translation_units(optimisation_pragma(program) + head, writers, tail)


def optimisation_pragma(program: Program, max_operations: float = MIN_OPERATIONS_QUICK) -> str:
    """The line of C that leaves out useless passes, and above `max_operations` those that gain little."""
    quick = QUICK_OPTIMISATION if program.n_operations > max_operations else ()
    names = ", ".join(f'"{name}"' for name in (*quick, *USELESS_PASSES))
    return f"#pragma GCC optimize ({names})\n"


def embedded(programs: Mapping[str, Program], lanes: int, text: str) -> list[str]:
    """The translation units of C that calls programs by name on vectors; see `compile_with_functions`."""
    writers = [Writer(program, replace(VECTOR, name=name), lanes) for name, program in programs.items()]
    head = f'#define HC_LANES {lanes}\n#include "vector_math.h"\n'
    return translation_units(head, writers, "\n".join([*map(_embedded, writers), text]))


def _embedded(writer: Writer) -> str:
    name, arguments = writer.flavour.name, writer.flavour.arguments
    calls = " ".join(f"{name}_{k}({arguments});" for k in range(writer.n_segments))
    constants = "\n  ".join(writer.constant_outputs())
    return (
        f"#define {name.upper()}_WORK {max(writer.schedule.n_slots, 1)}\n"
        f"static void {name}({writer.flavour.parameters}) {{ (void)x; (void)y; (void)w; {calls} }}\n"
        f"static void {name}_constants(hc_v *y) {{\n  (void)y;\n  {constants}\n}}\n"
    )


def translation_units(head: str, writers: Sequence[Writer | MatrixWriter], tail: str) -> list[str]:
    """The segments of writers between a head, which every unit begins with, and a tail, which calls them."""
    segments = [segment for writer in writers for segment in writer.functions()]
    smallest, largest = (size // SEGMENT_LENGTH for size in UNIT_OPERATIONS)
    per_unit = min(max(-(-len(segments) // (os.cpu_count() or 1)), smallest), largest)
    groups = [segments[k : k + per_unit] for k in range(0, len(segments), per_unit)]
    if len(groups) == 1:
        return ["\n".join([head, *("static " + text for text in groups[0]), tail])]
    hidden = '__attribute__((visibility("hidden")))'
    declarations = "\n".join(
        f"{hidden} {writer.declaration(k)};" for writer in writers for k in range(writer.n_segments)
    )
    units = ["\n".join([head, declarations, *group]) for group in groups]
    return [*units, "\n".join([head, declarations, tail])]


def _entry(program: Program | MatrixProgram, writers: Sequence[Writer | MatrixWriter], lanes: int) -> str:
    """The table of the kernel, and the function that returns it."""
    by_name = {writer.flavour.name: writer for writer in writers}

    def sizes(name: str, numbers: Sequence[int]) -> str:
        return f"static const int64_t {name}[] = {{{', '.join(map(str, numbers)) or '0'}}};"

    work = [by_name[name].work if name in by_name else 0 for name in ("scalar", "batch")]
    functions = [name if name in by_name else "0" for name in ("scalar", "batch")]
    fields = [
        "HELICOID_KERNEL_ABI",
        *(str(len(program.input_sizes)), str(len(program.output_sizes)), "in_size", "out_size"),
        *(str(lanes), str(program.n_operations), *map(str, work), *functions),
    ]
    return "\n".join(
        [
            sizes("in_size", program.input_sizes),
            sizes("out_size", program.output_sizes),
            f"static const helicoid_kernel kernel = {{{', '.join(fields)}}};",
            '__attribute__((visibility("default"))) const helicoid_kernel *helicoid_kernel_entry(void) {',
            "  return &kernel;",
            "}",
            "",
        ]
    )
