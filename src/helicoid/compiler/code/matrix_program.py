"""Programs of large functions: straight-line code first, then loops over the columns of matrices.

Straight-line code of a function with matrices of n × n elements has at least n² operations, outgrows the
instruction cache and takes long to compile. A matrix program computes what is linear in n by straight-line
code (its *head*) and the rest by few steps, each a loop: a small function mapped over columns, sums along a
tree, products of matrices, factors of a matrix that a tree gives and solutions with them. The same steps run
on one sample, where vectors hold neighbouring columns, and on batches, where they hold samples.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from helicoid.compiler.code.program import Program
from helicoid.compiler.code.tree_inverse import Invert, Multiply, Range, Tree

FACTOR_COLUMNS = 8  # of the result of `Articulate`: U / D, 1 / D, and U / D times S of the row before
SOLVE_OPERATIONS = 49  # of `Solve` for each row and column


@dataclass(frozen=True)
class MapColumns:
    """A function of columns: `outputs` [:, j] = function(`inputs` [:, at[j]]), for each column j.

    `program` has one input, the entries of all inputs after each other, and one output. An input is the name
    of a matrix and of each column j the column to read, or None for j itself. Outputs that are `transposed`
    are stored with a row for each column.
    """

    program: Program
    inputs: tuple[tuple[str, tuple[int, ...] | None], ...]
    outputs: tuple[str, ...]
    transposed: tuple[str, ...] = ()

    @staticmethod
    def from_expressions(
        inputs: Sequence[tuple[str, ca.SX, tuple[int, ...] | None]],
        outputs: Mapping[str, ca.SX],
        transposed: tuple[str, ...] = (),
    ) -> MapColumns:
        """The function from symbols, each with its matrix and the columns that it reads, to expressions."""
        symbols = ca.vertcat(*(symbol for _, symbol, _ in inputs))
        program = straight_line([symbols], [ca.vertcat(*outputs.values())])
        return MapColumns(program, tuple((name, at) for name, _, at in inputs), tuple(outputs), transposed)


@dataclass(frozen=True)
class SumToParents:
    """target[:, parents[j]] += target[:, j] from the last column to the first; a negative parent is none."""

    target: str
    parents: tuple[int, ...]


@dataclass(frozen=True)
class SumFromParents:
    """target[:, k] = target[:, parents[k]] + Σ source[:, i] over the columns i with own[i] = k.

    From the first column to the last; a negative parent is none. One more column of the target is zero.
    """

    target: str
    source: str
    own: tuple[int, ...]
    parents: tuple[int, ...]


@dataclass(frozen=True)
class MultiplyRow:
    """target = row matrix, with a square matrix."""

    target: str
    row: str
    matrix: str


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
class Mirror:
    """target[j, i] = target[i, j] for the columns j in `columns[i]`."""

    target: str
    columns: tuple[tuple[Range, ...], ...]


@dataclass(frozen=True)
class AddDiagonal:
    """target[i, i] += row[0, i]."""

    target: str
    row: str


@dataclass(frozen=True)
class Articulate:
    """Factors of a matrix M that is given by a tree, for `Solve`; the recursion of articulated bodies.

    M[i, j] = S_i (Σ K_k) S_jᵀ where j is i or an ancestor of it, with the sum over i and all that descend
    from it, and zero where neither descends from the other; `diagonal`[0, i] is added to M[i, i]. M itself is
    never formed (Featherstone 2008, section 7.3).

    Args:
        target: the factors, a matrix of `shape`.
        inertias: a symmetric 6 × 6 matrix K_k in each row, row by row.
        subspaces: S_i, a row of 6 elements for each row of M.
        at: of each row of M the row of `inertias`, or -1 for K = 0.
        parents: of each row of M an earlier one, or -1. All that descend from a row follow it,
            before any other.
        free: whether the first six rows are a chain with S = 1, as those of a floating base are.
    """

    target: str
    inertias: str
    subspaces: str
    diagonal: str
    at: tuple[int, ...]
    parents: tuple[int, ...]
    free: bool = False

    @property
    def ends(self) -> tuple[int, ...]:
        """Of each row the first one after it that does not descend from it."""
        return Tree.of(self.parents).ends

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the factors."""
        return len(self.parents), FACTOR_COLUMNS


@dataclass(frozen=True)
class Solve:
    """Each target = M⁻¹ target, and `inverse` = M⁻¹, with the result of `Articulate`.

    The targets are square, and [i, j] is zero unless i is j, or one of them descends from the other.

    Each column takes a pass along the tree from the last row to the first, with what the rows pass on to
    their parents, and one back: operations linear in the number of rows, whatever the depth of the tree.
    Rows that are zero have nothing to pass on.
    """

    targets: tuple[str, ...]
    inverse: str
    factors: Articulate


Step = (
    MapColumns
    | SumToParents
    | SumFromParents
    | Zero
    | Product
    | Mirror
    | AddDiagonal
    | Articulate
    | Solve
    | Invert
    | Multiply
    | MultiplyRow
)


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
            f"{step.program.digest} {step.inputs} {step.outputs} {step.transposed}"
            if isinstance(step, MapColumns)
            else repr(step)
            for step in self.steps
        ]
        parts = [self.head.digest, repr(dict(self.matrices)), *steps, repr(tuple(self.results))]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def _operations(self, step: Step) -> int:
        match step:
            case MapColumns():
                name = step.outputs[0]
                return step.program.n_operations * self.matrices[name][name not in step.transposed]
            case SumToParents():
                return self.matrices[step.target][0] * sum(parent >= 0 for parent in step.parents)
            case SumFromParents():
                return self.matrices[step.target][0] * len(step.own)
            case MultiplyRow():
                n = self.matrices[step.row][1]
                return n * (2 * n - 1)
            case Product():
                pairs = sum(end - start for row in step.columns for start, end in row)
                return pairs * (2 * self.matrices[step.right][0] - 1)
            case AddDiagonal():
                return self.matrices[step.target][1]
            case Zero() | Mirror():
                return 0
            case Invert() | Multiply():
                return step.n_operations
            case Articulate(at=at, parents=parents):
                own, passed_on = sum(k >= 0 for k in at), sum(parent >= 0 for parent in parents)
                return len(parents) * (66 + 11 + 8) + 36 * (own + 2 * passed_on)
            case Solve():
                n = len(step.factors.parents)
                columns = sum(self.matrices[name][1] for name in step.targets)
                # Of the inverse, which is symmetric, half.
                return SOLVE_OPERATIONS * n * columns + SOLVE_OPERATIONS * n * (n + 1) // 2


def straight_line(inputs: Sequence[ca.SX], outputs: Sequence[ca.SX]) -> Program:
    """The program of matrices, each as a column of its elements row by row."""
    columns = [ca.densify(ca.vec(matrix.T)) for matrix in ca.cse(list(outputs))]
    return Program.from_casadi(ca.Function("head", list(inputs), columns))
