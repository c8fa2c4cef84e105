"""Compiled batch code as a custom call of XLA, which runs it without Python."""

from __future__ import annotations

import ctypes
import functools
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import jax

from helicoid.compiler.build.binding import follow_num_threads
from helicoid.compiler.build.cache import library, loaded
from helicoid.compiler.code.program import UnsupportedOperation
from helicoid.compiler.evaluation.compiled import CompiledEvaluator, compile_is_on
from helicoid.compiler.locks import new_lock
from helicoid.errors import CompileError

if TYPE_CHECKING:
    from helicoid.compiler.function import Function

TARGET = "helicoid_call"

_SOURCE = Path(__file__).parent / "runtime" / "xla_ffi.c"
_lock = new_lock()
_known: dict[int, ctypes.CDLL] = {}  # keeps the code mapped


def kernel_number(function: Function) -> int | None:
    """The number by which the custom call finds a function's batch code, compiled and added at first.

    None where there is no compiled code: it is not wanted, there is no compiler, or an operation has no
    counterpart in C.
    """
    if not compile_is_on():
        return None
    try:
        function._numeric.compile("batch")
        handler = _handler()
    except (CompileError, UnsupportedOperation):
        return None
    evaluator = function._numeric.evaluator
    assert isinstance(evaluator, CompiledEvaluator)
    number = int.from_bytes(hashlib.sha256(evaluator.digest.encode()).digest()[:7], "little")
    with _lock:
        if number not in _known:
            code = ctypes.CDLL(str(evaluator.library("batch")))
            code.helicoid_kernel_entry.restype = ctypes.c_void_p
            if handler.helicoid_add_kernel(
                ctypes.c_int64(number), ctypes.c_void_p(code.helicoid_kernel_entry())
            ):
                raise MemoryError
            _known[number] = code
    return number


@functools.cache
def _handler() -> ctypes.CDLL:
    """The library with the custom call, known to XLA."""
    text = _SOURCE.read_text(encoding="utf-8")
    content = f"xla {jax.__version__} {jax.lib.__version__} {hashlib.sha256(text.encode()).hexdigest()}"
    include = [Path(jax.ffi.include_dir())]
    handler = loaded(
        lambda: library(content, lambda: [text], include=include, link=["-pthread"]),
        lambda path: ctypes.CDLL(str(path)),
    )
    follow_num_threads(handler.helicoid_set_threads)
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(handler.helicoid_call), platform="cpu")
    return handler
