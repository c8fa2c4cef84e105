"""Compilation of functions at their first numeric call, and the choice of the evaluator."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from helicoid._typing import Array
from helicoid.compiler.build import binding
from helicoid.compiler.build.cache import in_cache, library, loaded
from helicoid.compiler.build.processes import in_parallel
from helicoid.compiler.build.toolchain import native_lanes
from helicoid.compiler.code.c_source import c_source
from helicoid.compiler.code.matrix_program import MatrixProgram
from helicoid.compiler.code.program import Program, UnsupportedOperation
from helicoid.compiler.evaluation.evaluator import Evaluator, Flat, VirtualMachineEvaluator
from helicoid.compiler.locks import new_lock
from helicoid.errors import CompileError, HelicoidError, PerformanceWarning, warn
from helicoid.progress import reporting

# Operations, up to which the code for one sample and that for batches share a library; above, each is
# compiled when first needed.
MAX_OPERATIONS_TOGETHER = 3000
# Operations of a program with loops, up to which batches run faster as straight-line code if that leaves out
# what is zero: each lane has a sample of its own there, so that loops gain nothing but memory.
MAX_OPERATIONS_OF_STRAIGHT_BATCHES = 80_000


def _setting_of_environment() -> bool | Literal["background"]:
    value = os.environ.get("HELICOID_COMPILE", "1").strip().lower()
    if value == "background":
        return "background"
    if value not in ("0", "1", "no", "yes", "off", "on", "false", "true", ""):
        raise HelicoidError(f"HELICOID_COMPILE is 0, 1 or background, not {value!r}")
    return value not in ("0", "no", "off", "false")


_on = _setting_of_environment()
_warned = False


def set_compile(on: bool | Literal["background"]) -> None:
    """Whether functions are compiled at their first numeric call.

    With "background" the first calls do not wait: CasADi's virtual machine answers them, about ten times
    slower and equal but for rounding, while another process compiles; from then on the code answers. The
    environment variable HELICOID_COMPILE (0, 1 or background) sets the default. Compiled code stays in use.
    """
    global _on
    if isinstance(on, str) and on != "background":
        raise HelicoidError(f'set_compile takes True, False or "background"; got {on!r}')
    _on = on if on == "background" else bool(on)


def compile_is_on() -> bool:
    """Whether functions that are called for the first time now are compiled."""
    return bool(_on)


def kernel_library(
    program: Program | MatrixProgram,
    kinds: Sequence[str],
    report: Callable[[float], None] = lambda done: None,
) -> Path:
    """The library with code of these kinds, "scalar" or "batch", from the cache or compiled now."""
    lanes, scalar, batch = native_lanes(), "scalar" in kinds, "batch" in kinds
    content = _content(program, kinds)
    return library(content, lambda: c_source(program, lanes, scalar, batch), report=report)


def _content(program: Program | MatrixProgram, kinds: Sequence[str]) -> str:
    return f"kernel {program.digest} {native_lanes()} {'scalar' in kinds} {'batch' in kinds}"


class CompiledEvaluator:
    """Evaluator by compiled code; each kind of code is compiled, or loaded, when first needed.

    Args:
        flat: the function.

    Raises:
        UnsupportedOperation: an operation has no counterpart in C.
    """

    def __init__(self, flat: Flat) -> None:
        self._flat = flat
        self._straight: Program | None = None if flat.matrix_program else Program.from_casadi(flat.function)
        self._paths: dict[str, Path] = {}
        self._lock = new_lock()
        self.kernel: binding.Kernel | None = None

    def program(self, kind: str) -> Program | MatrixProgram:
        """The program that code of a kind, "scalar" or "batch", is made of."""
        loops = self._flat.matrix_program
        if loops and (kind == "scalar" or loops.n_operations > MAX_OPERATIONS_OF_STRAIGHT_BATCHES):
            return loops
        if self._straight is None:
            self._straight = Program.from_casadi(self._flat.function)
        return loops if loops and loops.n_operations < self._straight.n_operations else self._straight

    @property
    def digest(self) -> str:
        """Digest of the program of batches."""
        return self.program("batch").digest

    def library(self, kind: str) -> Path:
        """The file with code of a kind, for other loaders."""
        self.prepare(kind)
        return self._paths[kind]

    def kinds(self, kind: str) -> tuple[str, ...]:
        """The kinds that are compiled together with this one."""
        together = (
            self._flat.matrix_program is None and self.program(kind).n_operations <= MAX_OPERATIONS_TOGETHER
        )
        return ("scalar", "batch") if together else (kind,)

    def is_cached(self, kind: str) -> bool:
        """Whether `prepare` needs no compiler."""
        return kind in self._paths or in_cache(_content(self.program(kind), self.kinds(kind)))

    def prepare(self, kind: str) -> binding.Kernel:
        """The kernel, with code of a kind, "scalar" or "batch", compiled or loaded if missing."""
        with self._lock:
            if kind not in self._paths:
                kinds = self.kinds(kind)
                program = self.program(kind)
                count = f"{program.n_operations} operations"
                text = f"Compiling {self._flat.name} ({count}), once for the cache"
                with reporting(None, text) as report:
                    self._load(program, kinds, lambda done: report(text, done))
            assert self.kernel is not None
            return self.kernel

    def _load(
        self, program: Program | MatrixProgram, kinds: Sequence[str], report: Callable[[float], None]
    ) -> None:
        def build() -> Path:
            # The extension that calls kernels is compiled once, in parallel with the first kernel.
            path: Path
            path, _ = in_parallel([lambda: kernel_library(program, kinds, report), binding.prepare])
            return path

        def load(path: Path) -> binding.Kernel:
            paths = {**self._paths, **dict.fromkeys(kinds, path)}
            flat = self._flat
            kernel = binding.load_kernel(
                list(dict.fromkeys(paths.values())), flat.input_shapes, flat.output_shapes, flat.result_type
            )
            self._paths = paths
            return kernel

        self.kernel = loaded(build, load)

    def evaluate(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        self.prepare("scalar").evaluate(inputs, outputs)

    def evaluate_batch(self, inputs: Sequence[Array], outputs: Sequence[Array], n_samples: int) -> None:
        self.prepare("batch").evaluate_batch(inputs, outputs, n_samples)


def best_evaluator(flat: Flat, kind: str) -> Evaluator:
    """Compiled code of a kind if compilation is on and succeeds, else CasADi's virtual machine."""
    global _warned
    if _on == "background":
        from helicoid.compiler.evaluation.background import BackgroundEvaluator

        return BackgroundEvaluator(flat)
    if _on:
        try:
            evaluator = CompiledEvaluator(flat)
            evaluator.prepare(kind)
            return evaluator
        except UnsupportedOperation:
            pass  # the virtual machine has every operation
        except CompileError as error:
            if not _warned:
                _warned = True
                text = f"functions run on CasADi's virtual machine, ten times slower than compiled: {error}"
                warn(PerformanceWarning(text))
    return VirtualMachineEvaluator(flat.function, flat.input_shapes, flat.output_shapes)
