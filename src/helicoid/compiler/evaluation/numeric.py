"""Calls with numbers: arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.compiler.evaluation.arguments import as_arrays, as_targets
from helicoid.compiler.evaluation.compiled import CompiledEvaluator, best_evaluator
from helicoid.compiler.evaluation.evaluator import Evaluator, Flat, VirtualMachineEvaluator
from helicoid.compiler.locks import building, new_lock
from helicoid.compiler.symbolic.definition import Definition
from helicoid.compiler.symbolic.expressions import flat_function
from helicoid.compiler.symbolic.signature import result_type

_FLOAT64 = np.dtype(np.float64)


class NumericCall:
    """Numeric evaluation of a function; its evaluator is chosen at the first call.

    Args:
        definition: of the function.
    """

    def __init__(self, definition: Definition) -> None:
        self.result_type = result_type(definition.name, definition.outputs)
        self.evaluator: Evaluator | None = None
        self._machine: VirtualMachineEvaluator | None = None
        self._definition = definition
        self._input_shapes = tuple(item.shape for item in definition.inputs)
        self._output_shapes = tuple(item.shape for item in definition.outputs)
        self._lock = new_lock()

    def __call__(self, values: Sequence[Any], out: Any) -> Any:
        """Results for one value per input, in order: new ones, or written to `out`."""
        known = self._definition
        arrays, n_samples = self._arrays(values)
        targets = [] if out is None else as_targets(known.usage, known.outputs, out, n_samples)
        aliased = any(np.may_share_memory(target, array) for target in targets for array in arrays)
        lead = () if n_samples is None else (n_samples,)
        results = targets
        if out is None or aliased:
            results = [np.empty(lead + shape) for shape in self._output_shapes]
        evaluator = self.evaluator_for("scalar" if n_samples is None else "batch")
        if n_samples is None:
            evaluator.evaluate(arrays, results)
        else:
            evaluator.evaluate_batch(arrays, results, n_samples)
        if out is None:
            return self.pack([result if result.ndim else result.item() for result in results])
        if aliased:
            for target, result in zip(targets, results, strict=True):
                target[...] = result
        return out

    def interpreted(self, values: Sequence[Any]) -> Any:
        """Results by CasADi's virtual machine."""
        arrays, n_samples = self._arrays(values)
        if self._machine is None:
            self._machine = VirtualMachineEvaluator(
                self._flat().function, self._input_shapes, self._output_shapes
            )
        lead = () if n_samples is None else (n_samples,)
        results = [np.empty(lead + shape) for shape in self._output_shapes]
        if n_samples is None:
            self._machine.evaluate(arrays, results)
        else:
            self._machine.evaluate_batch(arrays, results, n_samples)
        return self.pack([result if result.ndim else result.item() for result in results])

    def _arrays(self, values: Sequence[Any]) -> tuple[Sequence[Array], int | None]:
        for value, shape in zip(values, self._input_shapes, strict=True):
            if type(value) is not np.ndarray or value.dtype is not _FLOAT64 or value.shape != shape:
                break
            flags = value.flags
            if not (flags.c_contiguous and flags.aligned):
                break
        else:
            return values, None
        return as_arrays(self._definition.usage, self._definition.inputs, values)

    def pack(self, results: Sequence[Any]) -> Any:
        """One result as itself, several as a named tuple."""
        return results[0] if len(results) == 1 else self.result_type._make(results)

    def evaluator_for(self, kind: str) -> Evaluator:
        """The evaluator; chosen at the first call, with code of a kind, "scalar" or "batch", if compiled."""
        if self.evaluator is None:
            with self._lock:
                if self.evaluator is None:
                    self.evaluator = best_evaluator(self._flat(), kind)
        return self.evaluator

    def compile(self, kind: str) -> None:
        """Compile code of a kind now, whether compilation is on or off."""
        evaluator = self.evaluator_for(kind)
        if not isinstance(evaluator, CompiledEvaluator):
            evaluator = CompiledEvaluator(self._flat())
        evaluator.prepare(kind)
        self.evaluator = evaluator

    def _flat(self) -> Flat:
        known = self._definition

        def build() -> ca.Function:
            with building():
                return flat_function(known.casadi, known.inputs, known.outputs)

        return Flat(
            known.name, build, self._input_shapes, self._output_shapes, self.result_type, known.matrix_program
        )
