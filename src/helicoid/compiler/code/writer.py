"""The C text of one kernel of a program: for one sample, or for several at once in vector registers.

Each value becomes one `const` variable, each segment of the schedule one function. The C compiler assigns
registers and fuses multiplications with additions; nothing else may be reordered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from helicoid.compiler.code.ordering import shortened
from helicoid.compiler.code.program import CONSTANT, INPUT, Program
from helicoid.compiler.code.schedule import (
    CodeSegment,
    Instruction,
    Schedule,
    computed,
    cosine,
    named,
    schedule,
    sine,
)

FEW_CONSTANTS = 32  # runs of constant elements in an output, above which they come from a table

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_SCALAR = {
    "lt": "({type})({0} < {1})",
    "le": "({type})({0} <= {1})",
    "eq": "({type})({0} == {1})",
    "ne": "({type})({0} != {1})",
    "not": "({type})({0} == 0)",
    "and": "({type})({0} != 0 && {1} != 0)",
    "or": "({type})({0} != 0 || {1} != 0)",
    "sign": "({0} < 0 ? -1 : {0} > 0 ? 1 : {0})",
    "if_else_zero": "({0} != 0 ? {1} : 0)",
    "erfinv": "hc_erfinv_scalar({0})",
}


@dataclass(frozen=True)
class Flavour:
    """Differences between the kernels: the type of a value, and the layout of inputs and outputs.

    A `portable` one is C99 with nothing but math.h: no vector types, and float is possible as its type.
    """

    name: str
    type: str
    parameters: str
    arguments: str
    vector: bool
    portable: bool = False

    def literal(self, number: float) -> str:
        """A constant as an operand."""
        with np.errstate(over="ignore"):
            text = str((np.float32 if self.type == "float" else np.float64)(number))
        if text in ("nan", "inf", "-inf"):
            return {"nan": "NAN", "inf": "INFINITY", "-inf": "(-INFINITY)"}[text]
        return f"({text}{self.suffix})" if text.startswith("-") else f"{text}{self.suffix}"

    @property
    def suffix(self) -> str:
        """The suffix of C's constants and functions of this type."""
        return "f" if self.type == "float" else ""


SCALAR = Flavour(
    "scalar", "double", "const double *const *in, double *const *out, double *w", "in, out, w", vector=False
)
VECTOR = Flavour(
    "batch", "hc_v", "const hc_v *restrict x, hc_v *restrict y, hc_v *restrict w", "x, y, w", vector=True
)

_BATCH = """\
#define ROWS(i) in[i] + s * stride[i], stride[i]
static void batch(const double *const *in, const ptrdiff_t *stride, double *const *out, ptrdiff_t n,
                  ptrdiff_t readable, void *work) {{
  hc_v *x = work, *y = x + {n_x}, *w = y + {n_y};
  ptrdiff_t s = 0;
  (void)in; (void)stride; (void)out; (void)readable; (void)w;
    {repeat}
  {constants}
  for (; s + HC_LANES <= n; s += HC_LANES) {{
    {load}
    {calls}
    {store}
  }}
  if (s < n) {{
    {load_rest}
    {calls}
    {store_rest}
  }}
}}
"""


class Writer:
    """The C text of one flavour of a program."""

    def __init__(self, program: Program, flavour: Flavour, lanes: int) -> None:
        # Live vectors fill the first-level cache; scalar code loses more by using results at once (latency).
        self.program = program = shortened(program) if flavour.vector else program
        self.flavour, self.lanes = flavour, lanes
        self.schedule: Schedule = schedule(program, angles_at_once=1 if flavour.vector else lanes)
        self.tables: dict[int, list[str]] = {}  # outputs that are tables of constants, which nobody assigns
        self._input_starts = _starts(program.input_sizes)
        self._output_starts = _starts(program.output_sizes)
        self._names = [named(program, number) for number in range(len(program.values))]
        self._angle_names = {
            name
            for name, value in zip(self._names, program.values, strict=True)
            if value.operation in ("sin", "cos")
        }
        self._operands = [
            flavour.literal(value.constant) if value.operation == CONSTANT else _variable(name)
            for name, value in zip(self._names, program.values, strict=True)
        ]

    @property
    def n_segments(self) -> int:
        """Number of functions that the kernel consists of."""
        return len(self.schedule.segments)

    @property
    def work(self) -> int:
        """Bytes of scratch."""
        if not self.flavour.vector:
            return 8 * self.schedule.n_slots
        sizes = sum(self.program.input_sizes), sum(self.program.output_sizes)
        vectors = sum(sizes) + self.schedule.n_slots
        return 8 * self.lanes * vectors

    def declaration(self, number: int) -> str:
        """The head of a segment's function."""
        noinline = "NOINLINE" if self.flavour.portable else "__attribute__((noinline))"
        return f"{noinline} void {self.flavour.name}_{number}({self.flavour.parameters})"

    def functions(self) -> Iterator[str]:
        """A function for each segment."""
        for number, segment in enumerate(self.schedule.segments):
            lines = "\n".join(f"  {line}" for line in self._lines(segment))
            unused = "".join(f" (void){name};" for name in self.flavour.arguments.split(", "))
            yield f"{self.declaration(number)} {{\n {unused}\n{lines}\n}}\n"

    def _lines(self, segment: CodeSegment) -> Iterator[str]:
        """The statements of a segment. Values for others are stored at once, which frees their registers."""
        kind = self.flavour.type
        loaded: set[int] = set()
        for instruction in segment.instructions:
            yield from self._loads(instruction, segment, loaded)
            if instruction.angles:
                yield from self._sincos(instruction.angles)
            else:
                yield f"const {kind} v{instruction.value} = {self._expression(instruction.value)};"
            for name in computed(self.program, instruction):
                if name in segment.stores:
                    yield f"w[{segment.stores[name]}] = {_variable(name)};"
                if name in segment.outputs:
                    yield from self._write(segment, name)
        for name in segment.outputs:
            if name >= 0 and self.program.values[name].operation == INPUT:
                if name not in loaded:
                    yield self._load_input(name)
                yield from self._write(segment, name)
        if not self.flavour.vector and segment is self.schedule.segments[-1]:
            yield from self.constant_outputs()

    def _write(self, segment: CodeSegment, name: int) -> Iterator[str]:
        """Assign a value to its output elements."""
        for output, element in segment.outputs[name]:
            at = self._output_starts[output] + element
            place = f"y[{at}]" if self.flavour.vector else f"out[{output}][{element}]"
            yield f"{place} = {_variable(name)};"

    def _loads(self, instruction: Instruction, segment: CodeSegment, loaded: set[int]) -> Iterator[str]:
        """Declare the operands that are new to the segment: inputs, and values of other segments."""
        numbers: Sequence[int] = instruction.angles or self.program.values[instruction.value].arguments
        for number in numbers:
            operation = self.program.values[number].operation
            if operation == INPUT and number not in loaded:
                loaded.add(number)
                yield self._load_input(number)
            elif operation != CONSTANT:
                name = self._names[number]
                if name in segment.loads and name not in loaded:
                    loaded.add(name)
                    yield f"const {self.flavour.type} {_variable(name)} = w[{segment.loads[name]}];"

    def _load_input(self, number: int) -> str:
        i, j = self.program.values[number].place
        place = f"x[{self._input_starts[i] + j}]" if self.flavour.vector else f"in[{i}][{j}]"
        return f"const {self.flavour.type} {_variable(number)} = {place};"

    def _expression(self, number: int) -> str:
        value = self.program.values[number]
        operands = [self._operands[argument] for argument in value.arguments]
        if value.operation == "neg":
            return f"-{operands[0]}"
        if value.operation in _SIGNS and not self._all_constant(number):
            return f"{operands[0]} {_SIGNS[value.operation]} {operands[1]}"
        if self.flavour.vector:
            wide = (
                f"hc_splat({text})" if self.program.values[argument].operation == CONSTANT else text
                for argument, text in zip(value.arguments, operands, strict=True)
            )
            if value.operation in _SIGNS:
                return f" {_SIGNS[value.operation]} ".join(wide)
            return f"hc_{value.operation}({', '.join(wide)})"
        if value.operation in _SIGNS:
            return f"{operands[0]} {_SIGNS[value.operation]} {operands[1]}"
        if value.operation in _SCALAR:
            return _SCALAR[value.operation].format(*operands, type=self.flavour.type)
        return f"{value.operation}{self.flavour.suffix}({', '.join(operands)})"

    def _all_constant(self, number: int) -> bool:
        arguments = self.program.values[number].arguments
        return all([self.program.values[argument].operation == CONSTANT for argument in arguments])

    def _sincos(self, angles: Sequence[int]) -> Iterator[str]:
        names = [(_variable(sine(angle)), _variable(cosine(angle))) for angle in angles]
        operands = [self._operands[angle] for angle in angles]
        if self.flavour.vector:
            (s, c), operand = names[0], operands[0]
            wide = f"hc_splat({operand})" if self.program.values[angles[0]].operation == CONSTANT else operand
            yield f"hc_v {s}, {c}; hc_sincos({wide}, &{s}, &{c});"
            return
        if self.flavour.portable:
            yield from self._sin_and_cos(angles[0])
            return
        yield "double " + ", ".join(name for pair in names for name in pair) + ";"
        # Spare lanes repeat an angle: any other could be slower.
        filled = [operands[k % len(operands)] for k in range(self.lanes)]
        yield f"{{ const hc_v angle = {{{', '.join(filled)}}}; hc_v s, c; hc_sincos(angle, &s, &c);"
        for k, (s, c) in enumerate(names):
            yield f"  {s} = s[{k}]; {c} = c[{k}];"
        yield "}"

    def _sin_and_cos(self, angle: int) -> Iterator[str]:
        """Sine and cosine, where used, by the functions of math.h."""
        kind, suffix = self.flavour.type, self.flavour.suffix
        for name, function in ((sine(angle), "sin"), (cosine(angle), "cos")):
            if name in self._angle_names:
                yield f"const {kind} {_variable(name)} = {function}{suffix}({self._operands[angle]});"

    def place_in_table(self, output: int) -> bool:
        """Leave an output out of what is assigned if all of it is constant: its numbers are in `tables`."""
        values = [self.program.values[number] for number in self.program.outputs[output]]
        if any(value.operation != CONSTANT for value in values):
            return False
        self.tables[output] = [self.flavour.literal(value.constant) for value in values]
        return True

    def constant_outputs(self) -> Iterator[str]:
        """Assignments of the constant output elements."""
        for output, elements in enumerate(self.program.outputs):
            if output in self.tables:
                continue
            values = [self.program.values[number] for number in elements]
            literals = [self.flavour.literal(v.constant) if v.operation == CONSTANT else "" for v in values]
            place = f"(y + {self._output_starts[output]})" if self.flavour.vector else f"out[{output}]"
            yield from self._constants(place, literals)

    def _constants(self, place: str, literals: Sequence[str]) -> Iterator[str]:
        """Assign what is not empty: by runs, or from a table, since many lines take long to compile."""
        real, put = ("double", "hc_splat({})") if self.flavour.vector else (self.flavour.type, "{}")
        groups = [list(group) for _, group in groupby(range(len(literals)), key=literals.__getitem__)]
        runs = [(group[0], group[-1] + 1) for group in groups if literals[group[0]]]
        if len(runs) <= FEW_CONSTANTS:
            for k, end in runs:
                one = f"{place}[{k}]" if end == k + 1 else f"for (int k = {k}; k < {end}; k++) {place}[k]"
                yield f"{one} = {put.format(literals[k])};"
            return
        at = [k for k, text in enumerate(literals) if text]
        yield f"{{ static const int at[] = {{{', '.join(map(str, at))}}};"
        yield f"  static const {real} constants[] = {{{', '.join(literals[k] for k in at)}}};"
        yield f"  for (int k = 0; k < {len(at)}; k++) {place}[at[k]] = {put.format('constants[k]')}; }}"

    def driver(self) -> str:
        """The function in the table of the kernel."""
        calls = " ".join(
            f"{self.flavour.name}_{k}({self.flavour.arguments});" for k in range(self.n_segments)
        )
        if not self.flavour.vector:
            return (
                "static void scalar(const double *const *in, double *const *out, void *work) {\n"
                f"  double *w = work; {calls}\n}}\n"
            )
        constants = "\n  ".join(self.constant_outputs())
        return batch_driver(self.program.input_sizes, self.program.output_sizes, calls, constants)


def batch_driver(input_sizes: Sequence[int], output_sizes: Sequence[int], calls: str, constants: str) -> str:
    """The function `batch` of a kernel: `calls` turn vectors x into y, `constants` are written to y once."""
    inputs, outputs = _each(input_sizes), _each(output_sizes)
    return _BATCH.format(
        n_x=sum(input_sizes),
        n_y=sum(output_sizes),
        calls=calls,
        constants=constants,
        repeat=inputs("if (!stride[{i}]) for (int j = 0; j < {n}; j++) x[{at} + j] = hc_splat(in[{i}][j]);"),
        load=inputs("if (stride[{i}]) hc_load_rows(ROWS({i}), {n}, x + {at}, (readable - s) * stride[{i}]);"),
        load_rest=inputs("if (stride[{i}]) hc_load_rows_partial(ROWS({i}), {n}, x + {at}, n - s);"),
        store=outputs("hc_store_rows(out[{i}] + s * {n}, {n}, y + {at});"),
        store_rest=outputs("hc_store_rows_partial(out[{i}] + s * {n}, {n}, y + {at}, n - s);"),
    )


def _each(sizes: Sequence[int]) -> Callable[[str], str]:
    """A function that writes a statement once for each input, or output, that has elements."""
    items = [(i, at, n) for i, (at, n) in enumerate(zip(_starts(sizes), sizes, strict=True)) if n]
    return lambda text: "\n    ".join(text.format(i=i, at=at, n=n) for i, at, n in items)


def _variable(name: int) -> str:
    if name >= 0:
        return f"v{name}"
    angle, is_cosine = divmod(-name - 1, 2)
    return f"{'c' if is_cosine else 's'}{angle}"


def _starts(sizes: Sequence[int]) -> list[int]:
    return [sum(sizes[:k]) for k in range(len(sizes))]
