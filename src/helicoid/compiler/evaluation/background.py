"""Compilation in the background: CasADi's virtual machine computes until the code is ready.

Another process puts the library into the cache, so that it shares neither the GIL nor signals with this one;
a thread waits for it and loads the library. Functions are compiled one after the other.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Sequence

import casadi as ca

from helicoid._typing import Array
from helicoid.compiler.build.binding import Kernel
from helicoid.compiler.code.program import Program, UnsupportedOperation
from helicoid.compiler.evaluation.compiled import CompiledEvaluator, kernel_library
from helicoid.compiler.evaluation.evaluator import Flat, VirtualMachineEvaluator
from helicoid.errors import CompileError, HelicoidError, PerformanceWarning

_CHILD = (
    "import sys; sys.path[:] = {path!r}; "
    "import helicoid.compiler.evaluation.background as b; b._child({kinds!r})"
)
_CLEANUP_TIME = 5.0  # s for a compiling process to clean up when this one ends

_turn = threading.Lock()
_running: set[subprocess.Popen[bytes]] = set()
_ended = False


class BackgroundEvaluator:
    """Evaluator by compiled code as soon as there is some, and by CasADi's virtual machine until then.

    Each kind of code, for one sample and for batches, is compiled when it is first needed. Where it cannot be
    compiled, the virtual machine stays; a warning says why, unless C lacks an operation.

    Args:
        flat: the function.
    """

    def __init__(self, flat: Flat) -> None:
        self._machine = VirtualMachineEvaluator(flat.function, flat.input_shapes, flat.output_shapes)
        self._flat = flat
        self._compiled: CompiledEvaluator | None = None
        self._threads: dict[str, threading.Thread] = {}
        self.kernel: Kernel | None = None

    def ready(self, kind: str) -> Kernel | None:
        """The kernel, if it has code of this kind, "scalar" or "batch"; else it is being compiled."""
        kernel = self.kernel
        if kernel is not None and (kernel.has_scalar if kind == "scalar" else kernel.has_batch):
            return kernel
        thread = threading.Thread(target=self._compile, args=(kind,), daemon=True)
        if self._threads.setdefault(kind, thread) is thread:
            thread.start()
        return None

    def wait(self, timeout: float | None = None) -> None:
        """Wait until compilation has ended."""
        for thread in list(self._threads.values()):
            thread.join(timeout)

    def evaluate(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        (self.ready("scalar") or self._machine).evaluate(inputs, outputs)

    def evaluate_batch(self, inputs: Sequence[Array], outputs: Sequence[Array], n_samples: int) -> None:
        (self.ready("batch") or self._machine).evaluate_batch(inputs, outputs, n_samples)

    def _compile(self, kind: str) -> None:
        with _turn, contextlib.suppress(UnsupportedOperation):
            try:
                if self._compiled is None:
                    self._compiled = CompiledEvaluator(self._flat)
                # What has loops is compiled in seconds, by a compiler that is a process of its own anyway.
                if self._flat.matrix_program is None and not self._compiled.is_cached(kind):
                    _in_another_process(self._flat.function, self._compiled.kinds(kind))
                if not _ended:
                    self.kernel = self._compiled.prepare(kind)
            except CompileError as error:
                text = f"{self._flat.name} stays on CasADi's virtual machine, ten times slower: {error}"
                warnings.warn(text, PerformanceWarning, stacklevel=2)


def _in_another_process(flat: ca.Function, kinds: Sequence[str]) -> None:
    """Compile into the cache in a child process. If that fails, this process tries again."""
    if not sys.executable:
        return
    command = [sys.executable, "-c", _CHILD.format(path=sys.path, kinds=tuple(kinds))]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, **quiet)  # type: ignore[call-overload]
    except OSError:
        return
    _running.add(child)
    try:
        if _ended:
            child.send_signal(signal.SIGINT)
        child.communicate(flat.serialize().encode())
    finally:
        _running.discard(child)


def _child(kinds: Sequence[str]) -> None:
    """Main function of the child; an interrupt ends the compilers and leaves the cache unchanged."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.suppress(HelicoidError, KeyboardInterrupt):
        from helicoid.compiler.build.processes import in_parallel

        program = Program.from_casadi(ca.Function.deserialize(sys.stdin.read()))
        in_parallel([lambda: kernel_library(program, kinds)])


@atexit.register
def _end() -> None:
    """Leave no compiler behind when this process ends."""
    global _ended
    _ended = True
    for child in list(_running):
        child.send_signal(signal.SIGINT)
    for child in list(_running):
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_CLEANUP_TIME)
        if child.returncode is None:
            child.kill()


def _forget_children() -> None:
    _running.clear()  # they are the parent's


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_children)
