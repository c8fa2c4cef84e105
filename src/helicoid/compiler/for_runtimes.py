"""Compiled code for C runtimes of other packages: functions that C calls, and the runtime itself.

A runtime, such as the solver of a controller, is C for the sizes of one problem. It calls functions of CasADi
through the table of runtime/kernel.h, many samples at once, without Python in between.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import casadi as ca

from helicoid.compiler.build.binding import Kernel, cannot_be_loaded, load_kernel
from helicoid.compiler.build.cache import library, loaded
from helicoid.compiler.build.processes import in_parallel
from helicoid.compiler.build.toolchain import native_lanes
from helicoid.compiler.code.c_source import embedded, optimisation_pragma, translation_units
from helicoid.compiler.code.program import Program
from helicoid.compiler.code.writer import SCALAR, Writer
from helicoid.compiler.evaluation.compiled import kernel_library
from helicoid.compiler.locks import building
from helicoid.compiler.symbolic.signature import Shape
from helicoid.progress import reporting

_HIDDEN = '__attribute__((visibility("hidden")))'


class BatchCode(NamedTuple):
    """The batch code of one function: the address of its `helicoid_kernel`, valid while the library lives."""

    address: int
    library: ctypes.CDLL


class Runtime(NamedTuple):
    """A runtime and the functions that it calls, all loaded."""

    library: ctypes.CDLL
    functions: list[BatchCode]


def compile_runtime(
    what: str, text: str, headers: Path, functions: Sequence[Callable[[], ca.Function]] = ()
) -> Runtime:
    """Compile one C file, and the functions that it will call, in parallel.

    Args:
        what: description for the progress bar.
        text: the C file. It may include files of the folder `headers`, and kernel.h.
        functions: see `compile_batch`.

    Raises:
        CompileError: there is no C compiler, or it fails.
        UnsupportedOperation: an operation has no counterpart in C.
    """
    parts = [text.encode(), *(path.read_bytes() for path in sorted(headers.rglob("*.[ch]")))]
    digest = hashlib.sha256(b"\0".join(parts)).hexdigest()
    runtime = partial(library, f"runtime {digest}", lambda: [text], include=[headers])
    first, *others = _compiled(what, chain([runtime], map(_task, functions)))
    return Runtime(first, [BatchCode(_entry(code), code) for code in others])


def compile_kernel(
    what: str,
    text: str,
    headers: Sequence[Path],
    input_shapes: Sequence[Shape],
    output_shapes: Sequence[Shape],
    functions: Mapping[str, ca.Function] | None = None,
    lanes: int | None = None,
) -> Kernel:
    """Compile C that is a kernel itself (runtime/kernel.h), together with functions that it calls.

    The kernel may also read its outputs: state between calls is an output.

    Args:
        what: description for the progress bar.
        text: the C file with `helicoid_kernel_entry`. It may include files of `headers`, and kernel.h.
        functions: SX functions of dense columns. For one called `f` there is
            `void f(const double *const *in, double *const *out, void *work)` for one sample, declared above
            the text, and the constant `F_WORK`, the bytes of scratch that it needs, aligned to 64.
        lanes: if given, the functions compute so many samples at once, as in `compile_with_functions`.

    Raises:
        CompileError: there is no C compiler, or it fails.
        UnsupportedOperation: an operation has no counterpart in C.
    """
    with building():
        programs = {name: Program.from_casadi(function) for name, function in (functions or {}).items()}
    if lanes is not None:
        at_once = lanes
        return _kernel(
            what,
            [text, "on vectors", str(lanes), *(program.digest for program in programs.values())],
            headers,
            lambda: embedded(programs, at_once, text),
            (input_shapes, output_shapes),
        )
    lanes = native_lanes()
    writers = {
        name: Writer(program, replace(SCALAR, name=f"{name}_segment"), lanes)
        for name, program in programs.items()
    }
    declarations = "".join(
        f"{_HIDDEN} void {name}(const double *const *in, double *const *out, void *work);\n"
        f"enum {{ {name.upper()}_WORK = {-(-writer.work // 64) * 64} }};\n"
        for name, writer in writers.items()
    )
    runtime = f'#define HC_LANES {lanes}\n#include "vector_math.h"\n#include "kernel.h"\n'
    parts = [text, declarations, str(lanes), *(program.digest for program in programs.values())]

    def sources() -> list[str]:
        units = [declarations + text]
        for name, writer in writers.items():
            calls = " ".join(f"{name}_segment_{k}({SCALAR.arguments});" for k in range(writer.n_segments))
            driver = f"void {name}(const double *const *in, double *const *out, void *work)"
            driver = f"{_HIDDEN} {driver} {{\n  double *w = work; {calls}\n}}\n"
            head = optimisation_pragma(programs[name], math.inf) + runtime
            units += translation_units(head, [writer], driver)
        return units

    return _kernel(what, parts, headers, sources, (input_shapes, output_shapes))


def _kernel(
    what: str,
    parts: Sequence[str],
    headers: Sequence[Path],
    sources: Callable[[], list[str]],
    shapes: tuple[Sequence[Shape], Sequence[Shape]],
) -> Kernel:
    """The kernel of sources that `parts` and the files of the headers determine."""
    files = [path for folder in headers for path in sorted(folder.glob("*.[ch]"))]
    content = [part.encode() for part in parts] + [path.read_bytes() for path in files]
    digest = hashlib.sha256(b"\0".join(content)).hexdigest()
    with reporting(None, f"Compiling {what}, once for the cache"):
        return loaded(
            partial(library, f"kernel runtime {digest}", sources, include=headers),
            lambda path: load_kernel([path], *shapes, tuple),
        )


def compile_with_functions(
    what: str,
    text: str,
    headers: Path,
    functions: Mapping[str, Callable[[], ca.Function]],
    lanes: int,
    include: Sequence[Path] = (),
) -> ctypes.CDLL:
    """Compile one C file together with functions on vectors, for loops that call them.

    Before the text stand, for each name, `static void name(const hc_v *x, hc_v *y, hc_v *work)`, which
    computes `lanes` samples from all inputs one after the other in x to all outputs in y;
    `name_constants(y)`, which writes the outputs that depend on nothing and is to be called once; and
    `NAME_WORK`, the vectors of `work`. `include` are folders of other libraries' headers, whose version the
    text has to state.

    Raises:
        CompileError: there is no C compiler, or it fails.
        UnsupportedOperation: an operation has no counterpart in C.
    """
    with building():
        programs = {name: Program.from_casadi(make()) for name, make in functions.items()}
    parts = [text.encode(), *(path.read_bytes() for path in sorted(headers.rglob("*.[ch]")))]
    digest = hashlib.sha256(b"\0".join(parts)).hexdigest()
    content = f"with functions {digest} {lanes} " + " ".join(f"{n} {p.digest}" for n, p in programs.items())

    def sources() -> list[str]:
        return embedded(programs, lanes, text)

    (loaded_library,) = _compiled(what, [partial(library, content, sources, include=[headers, *include])])
    return loaded_library


def compile_batch(what: str, functions: Sequence[Callable[[], ca.Function]]) -> list[BatchCode]:
    """Compile functions for batches, in parallel; each is built by a callable without arguments.

    Args:
        what: description for the progress bar.
        functions: build SX functions of dense columns, one while others are compiled.

    Raises:
        CompileError: there is no C compiler, or it fails.
        UnsupportedOperation: an operation has no counterpart in C.
    """
    return [BatchCode(_entry(code), code) for code in _compiled(what, map(_task, functions))]


def _task(make: Callable[[], ca.Function]) -> Callable[[], Path]:
    """Build a function now; returns the task that compiles it."""
    with building():
        return partial(kernel_library, Program.from_casadi(make()), ("batch",))


def _compiled(what: str, tasks: Iterable[Callable[[], Path]]) -> list[ctypes.CDLL]:
    with reporting(None, f"Compiling {what}, once for the cache"):
        return in_parallel(partial(loaded, task, _load) for task in tasks)


def _load(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise cannot_be_loaded(error) from error


def _entry(code: ctypes.CDLL) -> int:
    code.helicoid_kernel_entry.restype = ctypes.c_void_p
    return int(code.helicoid_kernel_entry())
