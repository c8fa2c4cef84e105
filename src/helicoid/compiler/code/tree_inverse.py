"""Inverses of matrices that a tree gives, and products with them: the steps, and their tables in C.

A mass matrix of a tree has factors M = Lᵀ D L without fill-in: L[i, j] is zero unless j is i or an ancestor
of it (Featherstone 2008, section 6.5). W = L⁻¹ has the same zeros, so that each element of

    M⁻¹ = W D⁻¹ Wᵀ,    M⁻¹[i, j] = Σ_k W[i, k] W[j, k] / D[k]

is a sum over the rows k that both i and j are or descend from. All are loops over blocks of the result that
skip the terms which are zero in the whole block.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import NamedTuple

Range = tuple[int, int]  # from the first to before the second
_MAX_PIVOTS = 4  # rows that are eliminated together, as `eliminate` in C has them


@dataclass(frozen=True)
class Invert:
    """target = M⁻¹, where M[i, j] = Σ_c forces[c, i] subspaces[c, j] for j that is i or an ancestor of it.

    M is symmetric, zero where neither of i and j descends from the other; `diagonal`[0, i] is added to
    M[i, i]. Of each row of M, `parents` has an earlier row, or -1; all that descend from a row follow it,
    before any other.
    """

    target: str
    forces: str
    subspaces: str
    diagonal: str
    parents: tuple[int, ...]

    @property
    def n_operations(self) -> int:
        """Arithmetic operations: of M, of L and W, and of the sums."""
        tree = Tree.of(self.parents)
        pairs = sum(depth + 1 for depth in tree.depths)
        factors = sum(depth * (depth + 3) for depth in tree.depths)
        inverse = sum(2 * depth * (tree.ends[k] - k) for k, depth in enumerate(tree.depths))
        squares = sum((end - k) * (end - k + 1) for k, end in enumerate(tree.ends))
        return 11 * pairs + factors + inverse + squares


@dataclass(frozen=True)
class Multiply:
    """target = left right, with a symmetric `left`; right[i, j] is zero unless i is j or they are related.

    Rows are related where one of them descends from the other by `parents`, as in `Invert`.
    """

    target: str
    left: str
    right: str
    parents: tuple[int, ...]

    @property
    def n_operations(self) -> int:
        """Arithmetic operations, without those of elements that are zero."""
        tree = Tree.of(self.parents)
        related = sum(
            depth + end - k for k, (depth, end) in enumerate(zip(tree.depths, tree.ends, strict=True))
        )
        return 2 * len(self.parents) * related


class Tree(NamedTuple):
    """Of each row its ancestors, their number, and the first row after it that does not descend from it."""

    ancestors: tuple[tuple[int, ...], ...]
    depths: tuple[int, ...]
    ends: tuple[int, ...]

    @staticmethod
    def of(parents: Sequence[int]) -> Tree:
        """The relations that the parents give."""
        ancestors: list[tuple[int, ...]] = []
        for parent in parents:
            ancestors.append((*ancestors[parent], parent) if parent >= 0 else ())
        ends = list(range(1, len(parents) + 1))
        for row in reversed(range(len(parents))):
            if parents[row] >= 0:
                ends[parents[row]] = max(ends[parents[row]], ends[row])
        return Tree(tuple(ancestors), tuple(map(len, ancestors)), tuple(ends))


class Blocks(NamedTuple):
    """Sizes of blocks of a result, held in registers: rows, vectors in each, elements in a vector."""

    rows: int
    vectors: int
    pack: int

    @staticmethod
    def of(lanes: int, pack: int) -> Blocks:
        """At least eight vectors, so that sums do not wait for each other, and few of the registers."""
        if pack > 1:
            return Blocks(pack, max(8 // pack, 1), pack)
        return Blocks(4, 6 if lanes >= 8 else 2, 1)

    @property
    def columns(self) -> int:
        """Columns of a block."""
        return self.vectors * self.pack


def factor_tables(step: Invert) -> str:
    """C: a `tree` of relations, with ranges of the ancestors of each row and where they stand among them."""
    tree = Tree.of(step.parents)
    lines = []
    for row, above in enumerate(tree.ancestors):
        ranges = as_ranges((*above, row))
        at = accumulate((end - start for start, end in ranges), initial=0)
        lines += [(row, *one, k) for one, k in zip(ranges, at, strict=False)]
    pivots = sorted(_pivots(step.parents, tree.ends), key=lambda pivot: -tree.depths[pivot[0]])
    tables = {"parents": step.parents, "depths": tree.depths, "ends": tree.ends}
    declared = ", ".join(f"{name}[] = {_table(numbers)}" for name, numbers in tables.items())
    return (
        f"static const int {declared}, lines[][4] = {_rows(lines)}, pivots[][2] = {_rows(pivots)};"
        f" const hc_relations tree = {{parents, depths, ends, lines, pivots, {len(lines)}, {len(pivots)}}};"
    )


def inverse_tables(parents: Sequence[int], blocks: Blocks) -> tuple[str, int]:
    """C: `blocks` of the upper triangle, each with its range of `terms`, ranges of rows; number of blocks."""
    tree, n = Tree.of(parents), len(parents)
    found = []
    for i in _places(0, n, blocks.rows):
        for j in _places(i, n, blocks.columns):
            near, far = set(range(i, i + blocks.rows)), set(range(j, j + blocks.columns))
            found.append((i, j, [k for k in range(n) if _meets(tree, k, near) and _meets(tree, k, far)]))
    return _declared(found), len(found)


def product_tables(parents: Sequence[int], blocks: Blocks) -> tuple[str, int]:
    """C: `blocks` of columns, each with its range of `terms`, the rows that are not zero; their number."""
    tree, n = Tree.of(parents), len(parents)
    found = []
    for j in _places(0, n, blocks.columns):
        far = range(j, j + blocks.columns)
        above = {row for column in far for row in (*tree.ancestors[column], column)}
        below = {row for column in far for row in range(column, tree.ends[column])}
        found.append((0, j, sorted(above | below)))
    return _declared(found), len(found)


def as_ranges(numbers: Iterable[int]) -> tuple[Range, ...]:
    """Ascending numbers as ranges.

    >>> as_ranges([0, 1, 2, 5, 7, 8])
    ((0, 3), (5, 6), (7, 9))
    """
    runs = [[k for _, k in run] for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
    return tuple((run[0], run[-1] + 1) for run in runs)


def _pivots(parents: Sequence[int], ends: Sequence[int]) -> list[tuple[int, int]]:
    """Rows from the last to the first, in groups along chains: the last row and the number of each."""
    pivots = []
    row = len(parents) - 1
    while row >= 0:
        count = 1
        while (
            count < _MAX_PIVOTS
            and 0 <= parents[row - count + 1] == row - count
            and ends[row - count] == ends[row]
        ):
            count += 1
        pivots.append((row, count))
        row -= count
    return pivots


def _meets(tree: Tree, row: int, rows: set[int]) -> bool:
    """Whether the row or one that descends from it is among the rows."""
    return not rows.isdisjoint(range(row, tree.ends[row]))


def _places(start: int, end: int, size: int) -> list[int]:
    """Where blocks begin that cover start..end; the last overlaps those before, or begins before `start`."""
    return [min(at, end - size) for at in range(start, end, size)]


def _declared(found: Sequence[tuple[int, int, Sequence[int]]]) -> str:
    blocks: list[tuple[int, ...]] = []
    terms: list[Range] = []
    for i, j, numbers in found:
        ranges = as_ranges(numbers)
        blocks.append((i, j, len(terms), len(terms) + len(ranges)))
        terms += list(ranges)
    return f"static const int blocks[][4] = {_rows(blocks)}, terms[][2] = {_rows(terms or [(0, 0)])};"


def _table(numbers: Iterable[int]) -> str:
    return f"{{{', '.join(map(str, numbers)) or '0'}}}"


def _rows(rows: Iterable[Iterable[int]]) -> str:
    return f"{{{', '.join(map(_table, rows))}}}"
