"""Compiled code for C runtimes of other rooms: functions that C calls, and the runtime itself.

A runtime, such as the solver of a controller, is C for the sizes of one problem. It calls functions of CasADi
through the table of runtime/kernel.h, many samples at once, without Python in between.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import casadi as ca

from helicoid.compiler.build.binding import cannot_be_loaded
from helicoid.compiler.build.cache import library, loaded
from helicoid.compiler.build.processes import side_by_side
from helicoid.compiler.building import building
from helicoid.compiler.code.program import Program
from helicoid.compiler.compiled import kernel_library
from helicoid.progress import reporting


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
    """Compile one C file, and the functions that it will call, all side by side.

    Args:
        what: what is compiled, for a user who waits.
        text: the C file. It may include what is in the folder `headers`, and kernel.h.
        functions: see `compile_batch`.

    Raises:
        CompileError: there is no C compiler, or it fails.
        UnsupportedOperation: an operation has no counterpart in C.
    """
    parts = [text.encode(), *(path.read_bytes() for path in sorted(headers.glob("*.[ch]")))]
    digest = hashlib.sha256(b"\0".join(parts)).hexdigest()
    runtime = partial(library, f"runtime {digest}", lambda: [text], include=[headers])
    first, *others = _compiled(what, chain([runtime], map(_task, functions)))
    return Runtime(first, [BatchCode(_entry(code), code) for code in others])


def compile_batch(what: str, functions: Sequence[Callable[[], ca.Function]]) -> list[BatchCode]:
    """Compile functions for batches, side by side; each is made by a call without arguments.

    Args:
        what: what is compiled, for a user who waits.
        functions: make SX functions of dense columns. Making one goes on while others are compiled.

    Raises:
        CompileError: there is no C compiler, or it fails.
        UnsupportedOperation: an operation has no counterpart in C.
    """
    return [BatchCode(_entry(code), code) for code in _compiled(what, map(_task, functions))]


def _task(make: Callable[[], ca.Function]) -> Callable[[], Path]:
    """Make a function now; what compiles it."""
    with building():
        return partial(kernel_library, Program.from_casadi(make()), ("batch",))


def _compiled(what: str, tasks: Iterable[Callable[[], Path]]) -> list[ctypes.CDLL]:
    with reporting(None, f"Compiling {what}, once for the cache"):
        return side_by_side(partial(loaded, task, _load) for task in tasks)


def _load(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise cannot_be_loaded(error) from error


def _entry(code: ctypes.CDLL) -> int:
    code.helicoid_kernel_entry.restype = ctypes.c_void_p
    return int(code.helicoid_kernel_entry())
