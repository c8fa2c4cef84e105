"""A program: the operations of a CasADi SX function in single-assignment form.

CasADi runs its instructions on a work vector whose places are reused. Here every value has a number of its
own, equal values are computed once, and values that no output needs are dropped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import casadi as ca

from helicoid.errors import HelicoidError

INPUT, CONSTANT = "input", "constant"
_COMMUTATIVE = frozenset({"add", "mul", "eq", "ne", "and", "or", "fmin", "fmax", "hypot"})
# All operations of an SX graph that result in a number, with our names.
OPERATIONS = {
    getattr(ca, f"OP_{name.upper()}"): name
    for name in (
        *("add", "sub", "mul", "div", "neg", "exp", "log", "pow", "constpow", "sqrt", "sq", "twice"),
        *("sin", "cos", "tan", "asin", "acos", "atan", "lt", "le", "eq", "ne", "not", "and", "or"),
        *("floor", "ceil", "fmod", "fabs", "sign", "copysign", "if_else_zero", "erf", "fmin", "fmax"),
        *("inv", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "atan2", "erfinv"),
        *("log1p", "expm1", "hypot", "remainder"),
    )
}


class UnsupportedOperation(HelicoidError):
    """An instruction that only CasADi's virtual machine can run."""


class Value(NamedTuple):
    """One value: an input (`place` = input, element), a constant, or an operation on earlier values."""

    operation: str
    arguments: tuple[int, ...] = ()
    constant: float = 0.0
    place: tuple[int, int] = (0, 0)


@dataclass(frozen=True, eq=False)
class Program:
    """Values in an order in which each comes after its arguments, and the value of every output element."""

    input_sizes: tuple[int, ...]
    values: tuple[Value, ...]
    outputs: tuple[tuple[int, ...], ...]

    @staticmethod
    def from_casadi(function: ca.Function) -> Program:
        """The program of an SX function of dense columns (see `expressions.flat_function`).

        >>> x = ca.SX.sym("x", 2)
        >>> program = Program.from_casadi(ca.Function("f", [x], [ca.sin(x[0]) * x[1] + ca.sin(x[0])]))
        >>> program.n_operations
        3
        """
        numbering = _ValueNumbering()
        places: dict[int, int] = {}
        outputs = [[numbering.constant(0.0)] * function.nnz_out(k) for k in range(function.n_out())]
        code_of, source_of, target_of = (
            function.instruction_id,
            function.instruction_input,
            function.instruction_output,
        )
        for k in range(function.n_instructions()):
            code, source, target = code_of(k), source_of(k), target_of(k)
            name = OPERATIONS.get(code)
            if name is not None:
                places[target[0]] = numbering.operation(name, tuple([places[place] for place in source]))
            elif code == ca.OP_OUTPUT:
                outputs[target[0]][target[1]] = places[source[0]]
            elif code == ca.OP_INPUT:
                places[target[0]] = numbering.input((source[0], source[1]))
            elif code == ca.OP_CONST:
                places[target[0]] = numbering.constant(function.instruction_constant(k))
            elif code in (ca.OP_ASSIGN, ca.OP_LIFT):
                places[target[0]] = places[source[0]]
            else:
                raise UnsupportedOperation(_unsupported(function, code))
        sizes = tuple(function.nnz_in(k) for k in range(function.n_in()))
        return _without_dead(Program(sizes, tuple(numbering.values), tuple(map(tuple, outputs))))

    @property
    def output_sizes(self) -> tuple[int, ...]:
        """Number of elements of each output."""
        return tuple(map(len, self.outputs))

    @cached_property
    def is_computed(self) -> list[bool]:
        """Whether each value is the result of an operation: neither an input nor a constant."""
        return [value.operation not in (INPUT, CONSTANT) for value in self.values]

    @cached_property
    def n_operations(self) -> int:
        """Number of arithmetic operations."""
        return sum(self.is_computed)

    @cached_property
    def digest(self) -> str:
        """Hexadecimal digest of the whole program."""
        parts = [repr((self.input_sizes, self.outputs))]
        for value in self.values:
            parts.append(f"{value.operation} {value.arguments} {value.constant.hex()} {value.place}")
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _unsupported(function: ca.Function, code: int) -> str:
    """Message: which operation has no counterpart in C, and the remedy."""
    if code == ca.OP_CALL:
        return (
            f"{function.name()}: calls another function as a whole (an external one, as `casadi_external` "
            "gives, or one that is never inlined), which cannot become part of its C; write it "
            "with SX expressions, for instance by calling the Function itself with SX, or turn compiling off "
            "with helicoid.set_compile(False)"
        )
    names = {value: name for name, value in vars(ca).items() if name.startswith("OP_")}
    return (
        f"{function.name()}: CasADi's operation {names.get(code, code)} has no counterpart in C; write it "
        "with other operations, or turn compiling off with helicoid.set_compile(False)"
    )


class _ValueNumbering:
    """Values by number, equal ones once."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._numbers: dict[tuple[object, ...], int] = {}

    def input(self, place: tuple[int, int]) -> int:
        return self._number((INPUT, place), Value(INPUT, place=place))

    def constant(self, number: float) -> int:
        # Compared as text, because 0.0 == -0.0 and NaN is not equal to itself.
        return self._number((CONSTANT, float(number).hex()), Value(CONSTANT, constant=float(number)))

    def _number(self, key: tuple[object, ...], value: Value) -> int:
        number = self._numbers.setdefault(key, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number

    def operation(self, name: str, arguments: tuple[int, ...]) -> int:
        if name == "sq":
            name, arguments = "mul", arguments * 2
        elif name == "twice":
            name, arguments = "add", arguments * 2
        elif name == "inv":
            name, arguments = "div", (self.constant(1.0), *arguments)
        elif name == "constpow":
            name = "pow"
        if name in _COMMUTATIVE and arguments[0] > arguments[1]:
            arguments = arguments[::-1]
        key = (name, arguments)
        number = self._numbers.get(key)
        return self._number(key, Value(name, arguments)) if number is None else number


def _without_dead(program: Program) -> Program:
    """Only the values that some output needs, in the same order."""
    needed = bytearray(len(program.values))
    for output in program.outputs:
        for number in output:
            needed[number] = True
    for number in reversed(range(len(program.values))):
        if needed[number]:
            for argument in program.values[number].arguments:
                needed[argument] = True
    kept = [number for number, is_needed in enumerate(needed) if is_needed]
    return program if len(kept) == len(needed) else reordered(program, kept)


def reordered(program: Program, order: Sequence[int]) -> Program:
    """The same program with its values in another order (each after its arguments), others dropped."""
    renamed = [-1] * len(program.values)
    for position, number in enumerate(order):
        renamed[number] = position
    values = []
    for number in order:
        value = program.values[number]
        if value.arguments:
            value = Value(value.operation, tuple([renamed[argument] for argument in value.arguments]))
        values.append(value)
    outputs = tuple(tuple(renamed[number] for number in output) for output in program.outputs)
    return Program(program.input_sizes, tuple(values), outputs)
