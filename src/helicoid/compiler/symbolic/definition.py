"""The definition of a function: names, shapes, and expressions that are built when first needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import casadi as ca

from helicoid.compiler.code.matrix_program import MatrixProgram
from helicoid.compiler.locks import building
from helicoid.compiler.symbolic.expressions import build_function, check_function, count_operations
from helicoid.compiler.symbolic.signature import Input, Output, check_distinct, signature
from helicoid.errors import HelicoidError

Expressions = tuple[Sequence[ca.SX], Sequence[ca.SX]]
Given = ca.Function | Callable[[], ca.Function | Expressions]


class Definition:
    """Name, inputs, outputs and the CasADi function that computes them.

    Args:
        name: shown in messages, and the name of the CasADi function.
        inputs: in order.
        outputs: in order.
        given: the CasADi function, or a callable that returns it or the pair (input symbols, expressions).
        loops: gives a program with loops that computes the same in compiled code, or None.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Input],
        outputs: Sequence[Output],
        given: Given,
        loops: Callable[[], MatrixProgram | None] = lambda: None,
    ) -> None:
        check_distinct("input", [item.name for item in inputs])
        check_distinct("output", [item.name for item in outputs])
        if not name.isidentifier() or not outputs:
            raise HelicoidError(f"a function needs an identifier as its name and an output; got {name!r}")
        self.name, self.inputs, self.outputs = name, tuple(inputs), tuple(outputs)
        self.usage = signature(name, inputs)
        self._n_operations: int | None = None
        self._given, self._loops = given, loops
        self._casadi = self._checked(given) if isinstance(given, ca.Function) else None

    @property
    def is_built(self) -> bool:
        """Whether the expressions exist."""
        return self._casadi is not None

    @property
    def casadi(self) -> ca.Function:
        """The CasADi function, with matrices in and out (see `Output`)."""
        if self._casadi is None:
            with building():
                if self._casadi is None:
                    self._casadi = self._checked(cast("ca.Function | Expressions", self._given()))
        return self._casadi

    def matrix_program(self) -> MatrixProgram | None:
        """The program with loops that computes the same, if there is one."""
        with building():
            return self._loops()

    @property
    def n_operations(self) -> int:
        """Number of arithmetic operations of one evaluation; see `count_operations`."""
        if self._n_operations is None:
            self._n_operations = count_operations(self.casadi)
        return self._n_operations

    def _checked(self, function: ca.Function | Expressions) -> ca.Function:
        if isinstance(function, tuple):
            function = build_function(self.name, self.inputs, self.outputs, *function)
        check_function(self.name, self.inputs, self.outputs, function)
        return function
