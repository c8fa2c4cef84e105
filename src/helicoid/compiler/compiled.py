"""When a function is compiled, and what computes it until then or instead."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import casadi as ca

from helicoid._typing import Array
from helicoid.compiler.build import binding
from helicoid.compiler.build.cache import library
from helicoid.compiler.build.toolchain import native_lanes
from helicoid.compiler.code.c_source import c_source
from helicoid.compiler.code.program import Program, UnsupportedOperation
from helicoid.compiler.evaluator import VirtualMachineEvaluator
from helicoid.compiler.signature import Shape
from helicoid.errors import CompileError, HelicoidError, PerformanceWarning
from helicoid.progress import shown_late

# Up to this many operations, the code for one sample and that for batches share a library; beyond, each is
# compiled when first needed.
TOGETHER = 3000
PATIENCE = 1.0  # seconds that a compiler may take before the user is told


def _wanted_by_environment() -> bool:
    value = os.environ.get("HELICOID_COMPILE", "1").strip().lower()
    if value not in ("0", "1", "no", "yes", "off", "on", "false", "true", ""):
        raise HelicoidError(f"HELICOID_COMPILE is 0 or 1, not {value!r}")
    return value not in ("0", "no", "off", "false")


_on = _wanted_by_environment()
_warned = False


def set_compile(on: bool) -> None:
    """Whether functions are compiled at their first numeric call.

    The variable HELICOID_COMPILE=0 turns it off from the start. Functions that are compiled stay so.
    """
    global _on
    _on = bool(on)


def is_on() -> bool:
    """Whether functions that are called for the first time now are compiled."""
    return _on


class CompiledEvaluator:
    """Computes a function by compiled code; each kind of code is compiled, or loaded, when first needed.

    Args:
        name: for messages.
        kernel: an SX function of dense columns in row-major order (see `expressions.row_major_kernel`).
        result_type: the named tuple of several outputs.

    Raises:
        UnsupportedOperation: something in the function cannot be said in C.
    """

    def __init__(
        self,
        name: str,
        kernel: ca.Function,
        input_shapes: Sequence[Shape],
        output_shapes: Sequence[Shape],
        result_type: type[tuple[Any, ...]],
    ) -> None:
        self._name = name
        self._program = Program.from_casadi(kernel)
        self._shapes = tuple(input_shapes), tuple(output_shapes)
        self._result_type = result_type
        self._paths: dict[str, Any] = {}
        self._lock = threading.Lock()
        self.kernel: binding.Kernel | None = None

    def prepare(self, kind: str) -> binding.Kernel:
        """The kernel, after seeing that it has code of a kind, "scalar" or "batch"."""
        with self._lock:
            if kind not in self._paths:
                kinds = ("scalar", "batch") if self._program.n_operations <= TOGETHER else (kind,)
                with announced(f"compiling {self._name} ({self._program.n_operations} operations)"):
                    # The extension that calls kernels is compiled once and for all, beside the first kernel.
                    extension = threading.Thread(target=binding.prepare)
                    extension.start()
                    path = self._library(kinds)
                    extension.join()
                    self._paths.update(dict.fromkeys(kinds, path))
                    paths = list(dict.fromkeys(self._paths.values()))
                    self.kernel = binding.load_kernel(paths, *self._shapes, self._result_type)
            assert self.kernel is not None
            return self.kernel

    def _library(self, kinds: Sequence[str]) -> Any:
        lanes = native_lanes()
        scalar, batch = "scalar" in kinds, "batch" in kinds
        content = f"kernel {self._program.digest} {lanes} {scalar} {batch}"
        return library(content, lambda: c_source(self._program, lanes, scalar, batch))

    def evaluate(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        self.prepare("scalar").evaluate(inputs, outputs)

    def evaluate_batch(self, inputs: Sequence[Array], outputs: Sequence[Array], n_samples: int) -> None:
        self.prepare("batch").evaluate_batch(inputs, outputs, n_samples)


def best_evaluator(
    name: str,
    kernel: ca.Function,
    input_shapes: Sequence[Shape],
    output_shapes: Sequence[Shape],
    result_type: type[tuple[Any, ...]],
    kind: str,
) -> CompiledEvaluator | VirtualMachineEvaluator:
    """Compiled code of a kind where that is wanted and possible, else CasADi's virtual machine."""
    global _warned
    if _on:
        try:
            evaluator = CompiledEvaluator(name, kernel, input_shapes, output_shapes, result_type)
            evaluator.prepare(kind)
            return evaluator
        except UnsupportedOperation:
            pass  # the virtual machine knows every operation
        except CompileError as error:
            if not _warned:
                _warned = True
                text = f"functions run on CasADi's virtual machine, ten times slower than compiled: {error}"
                warnings.warn(text, PerformanceWarning, stacklevel=6)
    return VirtualMachineEvaluator(kernel, input_shapes, output_shapes)


def announced(text: str) -> AbstractContextManager[None]:
    """Tell a user at a terminal what takes so long, once it does."""
    message = f"Helicoid is {text}; next time it is in the cache"
    return shown_late(lambda console: console.status(message), PATIENCE)
