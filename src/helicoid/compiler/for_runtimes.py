"""Compiled code for C runtimes of other rooms: functions that C calls, and the runtime itself.

A runtime, such as the solver of a controller, is C for the sizes of one problem. It calls functions of CasADi
through the table of runtime/kernel.h, many samples at once, without Python in between.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import casadi as ca

from helicoid.compiler.build.cache import library
from helicoid.compiler.code.program import Program
from helicoid.compiler.compiled import kernel_library
from helicoid.compiler.evaluator import BUILD_LOCK
from helicoid.progress import reporting


class BatchCode(NamedTuple):
    """The batch code of one function: the address of its `helicoid_kernel`, valid while the library lives."""

    address: int
    library: ctypes.CDLL


def compile_batch(what: str, functions: Sequence[Callable[[], ca.Function]]) -> list[BatchCode]:
    """Compile functions for batches, side by side; each is made by a call without arguments.

    Args:
        what: what is compiled, for a user who waits.
        functions: make SX functions of dense columns. Making one may go on while others are compiled.

    Raises:
        CompileError: there is no C compiler, or it fails.
        UnsupportedOperation: an operation has no counterpart in C.
    """
    with reporting(None, f"Compiling {what}, once for the cache"), ThreadPoolExecutor() as pool:
        waiting = []
        for make in functions:
            with BUILD_LOCK:
                program = Program.from_casadi(make())
            waiting.append(pool.submit(kernel_library, program, ("batch",)))
        libraries = [ctypes.CDLL(str(path.result())) for path in waiting]
    return [BatchCode(_entry(loaded), loaded) for loaded in libraries]


def compile_runtime(what: str, text: str, headers: Path) -> ctypes.CDLL:
    """Compile one C file, which may include what is in the folder `headers`.

    Args:
        what: what is compiled, for a user who waits.

    Raises:
        CompileError: there is no C compiler, or it fails.
    """
    parts = [text.encode(), *(path.read_bytes() for path in sorted(headers.glob("*.[ch]")))]
    digest = hashlib.sha256(b"\0".join(parts)).hexdigest()
    with reporting(None, f"Compiling {what}, once for the cache"):
        return ctypes.CDLL(str(library(f"runtime {digest}", lambda: [text], include=[headers])))


def _entry(loaded: ctypes.CDLL) -> int:
    loaded.helicoid_kernel_entry.restype = ctypes.c_void_p
    return int(loaded.helicoid_kernel_entry())
