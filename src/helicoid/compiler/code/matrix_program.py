"""Programs of large functions: straight-line code first, then loops over the columns of matrices.

Straight-line code of a function with matrices of n × n elements has at least n² operations, outgrows the
instruction cache and takes long to compile. A matrix program computes what is linear in n by straight-line
code (its *head*) and the rest by few steps, each a loop: a small function mapped over columns, sums along a
tree, products of matrices, factors of a sparse matrix and solutions with them. The same steps run on one
sample, where vectors hold neighbouring columns, and on batches, where they hold samples.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from helicoid.compiler.code.program import Program

Range = tuple[int, int]  # from the first to before the second


@dataclass(frozen=True)
class MapColumns:
    """A function of columns: `outputs` [:, j] = function(`inputs` [:, at[j]]), for each column j.

    `program` has one input, the entries of all inputs after each other, and one output. An input is the name
    of a matrix and of each column j the column to read, or None for j itself.
    """

    program: Program
    inputs: tuple[tuple[str, tuple[int, ...] | None], ...]
    outputs: tuple[str, ...]

    @staticmethod
    def from_expressions(
        inputs: Sequence[tuple[str, ca.SX, tuple[int, ...] | None]], outputs: Mapping[str, ca.SX]
    ) -> MapColumns:
        """The function from symbols, each with its matrix and the columns that it reads, to expressions."""
        symbols = ca.vertcat(*(symbol for _, symbol, _ in inputs))
        program = straight_line([symbols], [ca.vertcat(*outputs.values())])
        return MapColumns(program, tuple((name, at) for name, _, at in inputs), tuple(outputs))


@dataclass(frozen=True)
class SumToParents:
    """target[:, parents[j]] += target[:, j] from the last column to the first; a negative parent is none."""

    target: str
    parents: tuple[int, ...]


@dataclass(frozen=True)
class Zero:
    """target = 0."""

    target: str


@dataclass(frozen=True)
class Product:
    """target[i, j] = Σ_c left[c, i] right[c, j] for the columns j in `columns[i]`; others stay."""

    target: str
    left: str
    right: str
    columns: tuple[tuple[Range, ...], ...]


@dataclass(frozen=True)
class AddDiagonal:
    """target[i, i] += row[0, i]."""

    target: str
    row: str


@dataclass(frozen=True)
class Factor:
    """A symmetric matrix, by its lower triangle, becomes L and 1 / D of LᵀDL, in place.

    `ancestors[k]` are the columns i < k that are not zero in row k; L has no others (Featherstone 2008,
    section 6.5).
    """

    target: str
    ancestors: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Solve:
    """Each target = (LᵀDL)⁻¹ target, and `inverse` = (LᵀDL)⁻¹, with the result of `Factor`."""

    targets: tuple[str, ...]
    inverse: str
    factors: Factor


Step = MapColumns | SumToParents | Zero | Product | AddDiagonal | Factor | Solve


@dataclass(frozen=True, eq=False)
class MatrixProgram:
    """A head, steps, and the matrices that they read and write.

    Args:
        head: outputs are the first matrices, row by row.
        matrices: rows and columns by name; those of the head first, in the order of its outputs.
        steps: in order.
        results: names of the matrices that are the outputs.
    """

    head: Program
    matrices: Mapping[str, tuple[int, int]]
    steps: Sequence[Step]
    results: Sequence[str]

    @staticmethod
    def from_expressions(
        inputs: Sequence[ca.SX],
        head: Mapping[str, ca.SX],
        others: Mapping[str, tuple[int, int]],
        steps: Sequence[Step],
        results: Sequence[str],
    ) -> MatrixProgram:
        """The program of a head that is given by expressions, and of `others`, matrices that steps write."""
        sizes = {name: matrix.shape for name, matrix in head.items()}
        program = straight_line(inputs, list(head.values()))
        return MatrixProgram(program, {**sizes, **others}, tuple(steps), tuple(results))

    @property
    def input_sizes(self) -> tuple[int, ...]:
        """Number of elements of each input."""
        return self.head.input_sizes

    @property
    def output_sizes(self) -> tuple[int, ...]:
        """Number of elements of each output."""
        return tuple(self.matrices[name][0] * self.matrices[name][1] for name in self.results)

    @cached_property
    def n_operations(self) -> int:
        """Number of arithmetic operations, those of loops included."""
        return self.head.n_operations + sum(map(self._operations, self.steps))

    @cached_property
    def digest(self) -> str:
        """Hexadecimal digest of the whole program."""
        steps = [
            f"{step.program.digest} {step.inputs} {step.outputs}"
            if isinstance(step, MapColumns)
            else repr(step)
            for step in self.steps
        ]
        parts = [self.head.digest, repr(dict(self.matrices)), *steps, repr(tuple(self.results))]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def _operations(self, step: Step) -> int:
        match step:
            case MapColumns():
                return step.program.n_operations * self.matrices[step.outputs[0]][1]
            case SumToParents():
                return self.matrices[step.target][0] * sum(parent >= 0 for parent in step.parents)
            case Product():
                pairs = sum(end - start for row in step.columns for start, end in row)
                return pairs * (2 * self.matrices[step.right][0] - 1)
            case AddDiagonal():
                return self.matrices[step.target][1]
            case Zero():
                return 0
            case Factor():
                return sum(2 + len(above) * (len(above) + 2) for above in step.ancestors)
            case Solve():
                pairs = sum(map(len, step.factors.ancestors))
                n = len(step.factors.ancestors)
                columns = sum(self.matrices[name][1] for name in step.targets)
                return columns * (4 * pairs + n) + n * (2 * pairs + n)


def straight_line(inputs: Sequence[ca.SX], outputs: Sequence[ca.SX]) -> Program:
    """The program of matrices, each as a column of its elements row by row."""
    columns = [ca.densify(ca.vec(matrix.T)) for matrix in ca.cse(list(outputs))]
    return Program.from_casadi(ca.Function("head", list(inputs), columns))
