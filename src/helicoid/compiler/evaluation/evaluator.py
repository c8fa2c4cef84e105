"""Numeric evaluation: the interface, and CasADi's virtual machine behind it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.compiler.code.matrix_program import MatrixProgram
from helicoid.compiler.locks import building
from helicoid.compiler.symbolic.signature import Shape

# A batch is cut into as many blocks of the first size as fit, then of the next. One call of the virtual
# machine serves one block, so its overhead in Python is shared; a larger first block gains nothing.
_BLOCK_SIZES = (256, 16, 1)


@dataclass(frozen=True, eq=False)
class Flat:
    """A function in the form that evaluators compute: dense columns in row-major order.

    `build` gives the SX function (see `expressions.flat_function`), `name` is for messages, the shapes are
    those of the arrays behind its columns, and `result_type` is the named tuple of several outputs. `loops`
    gives a program with loops that computes the same, where there is one.
    """

    name: str
    build: Callable[[], ca.Function]
    input_shapes: tuple[Shape, ...]
    output_shapes: tuple[Shape, ...]
    result_type: type[tuple[Any, ...]]
    loops: Callable[[], MatrixProgram | None] = lambda: None

    @cached_property
    def function(self) -> ca.Function:
        """The SX function, built when first needed."""
        return self.build()

    @cached_property
    def matrix_program(self) -> MatrixProgram | None:
        """The program with loops, or None."""
        return self.loops()


class Evaluator(Protocol):
    """Evaluation of a function on NumPy arrays.

    All arrays are float64, C-contiguous and aligned; results are written in place and share no
    memory with inputs. Any number of threads may evaluate at once.
    """

    def evaluate(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compute one sample; every array has the shape of its input or output."""

    def evaluate_batch(self, inputs: Sequence[Array], outputs: Sequence[Array], n_samples: int) -> None:
        """Compute `n_samples` samples; the sample is the first axis of every output.

        An input has the sample as its first axis too, or is without it and the same for all samples.
        """


class VirtualMachineEvaluator:
    """Evaluates a CasADi function on CasADi's virtual machine through zero-copy buffers.

    Args:
        flat: function of dense columns in row-major order (see `expressions.flat_function`).
        input_shapes: shape of the array behind each column of the inputs.
        output_shapes: shape of the array behind each column of the outputs.

    >>> x = ca.SX.sym("x", 2)
    >>> evaluator = VirtualMachineEvaluator(ca.Function("f", [x], [3 * x]), [(2,)], [(2,)])
    >>> result = np.empty(2)
    >>> evaluator.evaluate([np.array([1.0, 2.0])], [result])
    >>> result
    array([3., 6.])
    """

    def __init__(
        self, flat: ca.Function, input_shapes: Sequence[Shape], output_shapes: Sequence[Shape]
    ) -> None:
        self._flat = flat
        self._input_shapes = tuple(input_shapes)
        self._output_shapes = tuple(output_shapes)
        # Idle machines. list.pop and list.append are atomic, so a machine is with one thread at a time.
        self._idle: list[_StagedMachine] = []
        self._idle_blocks: dict[int, list[_Machine]] = {size: [] for size in _BLOCK_SIZES}

    def evaluate(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        try:
            machine = self._idle.pop()
        except IndexError:
            machine = _StagedMachine(self._flat, self._input_shapes, self._output_shapes)
        for stage, value in zip(machine.inputs, inputs, strict=True):
            stage[...] = value
        machine.run()
        for result, stage in zip(outputs, machine.outputs, strict=True):
            result[...] = stage
        self._idle.append(machine)

    def evaluate_batch(self, inputs: Sequence[Array], outputs: Sequence[Array], n_samples: int) -> None:
        start = 0
        for size in _BLOCK_SIZES:
            stop = start + (n_samples - start) // size * size
            if stop > start:
                self._evaluate_blocks(size, inputs, outputs, start, stop)
            start = stop

    def _evaluate_blocks(
        self, size: int, inputs: Sequence[Array], outputs: Sequence[Array], start: int, stop: int
    ) -> None:
        """Samples start to stop, a whole number of blocks."""
        try:
            machine = self._idle_blocks[size].pop()
        except IndexError:
            machine = _Machine(self._flat, size)
        batched: list[tuple[Callable[[int, memoryview], None], int, Array, int]] = []
        repeated: list[Array] = []  # kept alive here: the machine holds bare addresses
        for k, (value, shape) in enumerate(zip(inputs, self._input_shapes, strict=True)):
            if value.ndim == len(shape):
                repeated.append(np.ascontiguousarray(np.broadcast_to(value, (size, *shape))).reshape(-1))
                machine.buffer.set_arg(k, repeated[-1].data)
            else:
                batched.append((machine.buffer.set_arg, k, value.reshape(-1), math.prod(shape)))
        for k, (result, shape) in enumerate(zip(outputs, self._output_shapes, strict=True)):
            batched.append((machine.buffer.set_res, k, result.reshape(-1), math.prod(shape)))
        for sample in range(start, stop, size):
            for set_address, k, column, width in batched:
                set_address(k, column[sample * width : (sample + size) * width].data)
            machine.run()
        self._idle_blocks[size].append(machine)


class _Machine:
    """A buffer of a flat function mapped over `size` samples: memory addresses, and `run` to compute.

    The evaluator CasADi returns keeps only an address of the buffer; both must live equally long.
    """

    def __init__(self, flat: ca.Function, size: int) -> None:
        self.buffer: Any
        self.run: Callable[[], None]
        with building():
            self.buffer, self.run = (flat if size == 1 else flat.map(size)).buffer()


class _StagedMachine(_Machine):
    """A machine for one sample with arrays of its own: copying is quicker than setting addresses."""

    def __init__(
        self, flat: ca.Function, input_shapes: Sequence[Shape], output_shapes: Sequence[Shape]
    ) -> None:
        super().__init__(flat, 1)
        flat_inputs = [np.zeros(math.prod(shape)) for shape in input_shapes]
        flat_outputs = [np.zeros(math.prod(shape)) for shape in output_shapes]
        for k, column in enumerate(flat_inputs):
            self.buffer.set_arg(k, column.data)
        for k, column in enumerate(flat_outputs):
            self.buffer.set_res(k, column.data)
        self.inputs = [column.reshape(shape) for column, shape in zip(flat_inputs, input_shapes, strict=True)]
        self.outputs = [
            column.reshape(shape) for column, shape in zip(flat_outputs, output_shapes, strict=True)
        ]
