"""All files of an exported controller."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import casadi as ca

from helicoid.compiler import (
    KERNEL_HEADERS,
    Program,
    building,
    c_identifier,
    c_source,
    native_lanes,
    optimisation_pragma,
    runtime_files,
    write_files,
)
from helicoid.mpc.export.contacts import Contacts
from helicoid.mpc.export.example import cmake, main_program
from helicoid.mpc.export.header import Header
from helicoid.mpc.export.settable import Settable
from helicoid.mpc.export.source import source
from helicoid.mpc.solver.compiled import Compiled
from helicoid.mpc.solver.kernels import RUNTIME, node_functions
from helicoid.mpc.solver.memory import Memory
from helicoid.mpc.solver.receding_horizon.loop import RecedingHorizonLoop
from helicoid.mpc.solver.switching import Switching

_KERNEL_HEAD = """\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed between functions of this file only */
{pragma}#endif
#if !defined(__GNUC__) || defined(PLAIN_C)
#define HC_LANES 1
#elif defined(__x86_64__) && !defined(__AVX__)
#define HC_LANES 2
#elif defined(__x86_64__) && !defined(__AVX512F__) && {lanes} > 4
#define HC_LANES 4
#else
#define HC_LANES {lanes}
#endif
#include "runtime/vector_math.h"
#define helicoid_kernel_entry {entry}
#include "runtime/kernel.h"
"""


def export_controller(
    compiled: Compiled, loop: RecedingHorizonLoop, switching: Switching | None, folder: Path, name: str | None
) -> list[Path]:
    """Write the library of a controller that has not stepped yet; see `Controller.export_c`."""
    structure, engine = compiled.structure, loop.engine
    contacts = None if switching is None else Contacts(switching)
    robot = structure.robot
    prefix = c_identifier(name or ("ode" if robot is None else robot.name))
    lanes = native_lanes()
    functions: dict[str, Callable[[], ca.Function]] = {
        **node_functions(compiled.stages),
        **compiled.loop_functions,
    }
    texts = {
        f"{prefix}_{key}.c": _kernel(f"{prefix}_{key}_kernel", make, lanes) for key, make in functions.items()
    }
    more = 0 if contacts is None else contacts.bytes
    header = Header(prefix, structure, loop, engine.bytes + more)
    settable = Settable(prefix, Memory.of(engine), contacts)
    sources = [f"{prefix}.c", *texts]
    texts |= {
        f"{prefix}.h": header.text(settable.setters),
        f"{prefix}.c": source(header, engine, settable, list(functions), contacts),
        "main.c": main_program(header),
        "CMakeLists.txt": cmake(header, sources),
    }
    for name in ("kernel.h", "vector_math.h", "vector_rows.h"):
        texts |= runtime_files(KERNEL_HEADERS, name)
    return write_files(folder, {**texts, **runtime_files(RUNTIME, "*.[ch]")})


def _kernel(entry: str, make: Callable[[], ca.Function], lanes: int) -> str:
    """One function of a node or of the loop, as a file of its own."""
    with building():
        program = Program.from_casadi(make())
    # The pragma with which Python compiles it: the results agree to the last digit.
    head = _KERNEL_HEAD.format(pragma=optimisation_pragma(program), lanes=lanes, entry=entry)
    (text,) = c_source(program, lanes, scalar=False, batch=True, head=head)
    return text
