"""The C text of a matrix program: the code of its head, and calls of the loops of `matrix_steps.h`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from helicoid.compiler.code.matrix_program import (
    AddDiagonal,
    Articulate,
    MapColumns,
    MatrixProgram,
    Mirror,
    MultiplyRow,
    Product,
    Solve,
    Step,
    SumFromParents,
    SumToParents,
    Zero,
)
from helicoid.compiler.code.tree_inverse import (
    Blocks,
    Invert,
    Multiply,
    Range,
    Tree,
    factor_tables,
    inverse_tables,
    product_tables,
)
from helicoid.compiler.code.writer import SCALAR, VECTOR, Writer, batch_driver

MATRIX_HEADERS = '#include <string.h>\n#include "vector_math.h"\n#include "kernel.h"\n'
_ALIGNMENT = 16  # elements
_BRANCH_VECTORS = 36  # of what branches pass on: 6 × 6 elements, or 6 rows of at most 4 vectors
_ON_CHAIN = -2  # in the table of a tree: the parent is the row before


class MatrixWriter:
    """The C text of one kind of kernel, "scalar" or "batch", with what `Writer` offers for a program."""

    def __init__(self, program: MatrixProgram, kind: str, lanes: int) -> None:
        self.program = program
        self.flavour = SCALAR if kind == "scalar" else VECTOR
        self._lanes = lanes
        self._pack = 1 if self.flavour.vector else lanes  # columns in a vector
        self._head = Writer(program.head, self.flavour, lanes)
        self._mapped = [step for step in program.steps if isinstance(step, MapColumns)]
        self._maps = [
            Writer(step.program, replace(VECTOR, name=f"{kind}_map_{k}"), lanes)
            for k, step in enumerate(self._mapped)
        ]
        self._strides: dict[str, int] = {}  # of matrices whose rows are longer than they have columns
        self._views: dict[str, tuple[int, int]] = {}  # the solution that a target is part of, and where
        self._place_targets()
        self._n_elements = _rounded(self._head.schedule.n_slots)
        self._solutions = {}
        self._factors: dict[int, list[int]] = {}  # scratch of each `Invert`
        self._blocks = Blocks.of(lanes, self._pack)
        self._branches_at = 0
        for k, step in enumerate(program.steps):
            if isinstance(step, Solve):
                size = program.matrices[step.inverse][0] * self._strides[step.inverse]
                self._solutions[k] = self._reserve(size)
                self._branches_at = self._reserve(len(_branches(step.factors)) * _BRANCH_VECTORS * self._pack)
            elif isinstance(step, Invert):
                n, depth = len(step.parents), max(Tree.of(step.parents).depths)
                width, stride = self._whole(n), self._whole(depth + 1)
                self._factors[k] = [
                    self._reserve(size) for size in (n * stride + self._pack, *2 * [n * width])
                ]
        n_head = len(program.head.outputs)
        names = list(program.matrices)
        sizes = [self._rows(name) * self._stride(name) for name in names]
        self._head_at = self._reserve(sum(sizes[:n_head]))
        starts = accumulate(sizes[:n_head], initial=self._head_at)
        self._places = dict(zip(names[:n_head], starts, strict=False))
        for name, size in zip(names[n_head:], sizes[n_head:], strict=True):
            if name in self._views:
                k, first = self._views[name]
                self._places[name] = self._solutions[k] + first
            elif name not in program.results:
                self._places[name] = self._reserve(size)
        self._tables = {} if self.flavour.vector else self._constants(names[:n_head])
        vectors = [
            sum(w.program.input_sizes) + sum(w.program.output_sizes) + w.schedule.n_slots for w in self._maps
        ]
        self._columns_at = self._reserve(max(vectors, default=0) * self._pack)

    @property
    def work(self) -> int:
        """Bytes of scratch."""
        if not self.flavour.vector:
            return 8 * self._n_elements
        sizes = sum(self.program.input_sizes) + sum(self.program.output_sizes)
        return 8 * self._lanes * (sizes + self._n_elements)

    @property
    def n_segments(self) -> int:
        """Number of functions of the head and of all mapped columns."""
        return self._head.n_segments + sum(writer.n_segments for writer in self._maps)

    def declaration(self, number: int) -> str:
        """The head of a function."""
        for writer in (self._head, *self._maps):
            if number < writer.n_segments:
                return writer.declaration(number)
            number -= writer.n_segments
        raise IndexError(number)

    def functions(self) -> Iterator[str]:
        """The functions of the head and of all mapped columns."""
        for writer in (self._head, *self._maps):
            yield from writer.functions()

    def driver(self) -> str:
        """The loops, and the function in the table of the kernel."""
        kind, head, vector = self.flavour.name, self._head, self.flavour.vector
        calls = " ".join(f"{kind}_{k}({self.flavour.arguments});" for k in range(head.n_segments))
        starts = list(accumulate(self.program.output_sizes, initial=0))
        results = {
            name: f"y + {starts[k]}" if vector else f"out[{k}]" for k, name in enumerate(self.program.results)
        }
        places = {**results, **{name: f"w + {at}" for name, at in self._places.items()}}
        element = "hc_v" if vector else "double"
        pointers = "\n  ".join(
            f"static const double m_{name}[] = {{{', '.join(self._tables[name])}}};"
            if name in self._tables
            else f"{element} *const m_{name} = {place};"
            for name, place in places.items()
        )
        steps = "\n  ".join(
            line for number, step in enumerate(self.program.steps) for line in self._step(number, step)
        )
        copies = "\n  ".join(
            f"{kind}_copy({place}, m_{name}, {self._rows(name)}, {self.program.matrices[name][1]},"
            f" {self._stride(name)});"
            for name, place in results.items()
            if name in self._places
        )
        if vector:
            y = f"hc_v *y = w + {self._head_at}; (void)y;"
            constants = "\n  ".join(head.constant_outputs())
            body = batch_driver(
                self.program.input_sizes,
                self.program.output_sizes,
                f"{{ {pointers}\n  {{ {y} {calls} }}\n  {steps}\n  {copies} }}",
                f"{{ {y} {constants} }}",
            )
        else:
            matrices = list(self.program.matrices)[: len(self.program.head.outputs)]
            names = ["0" if name in self._tables else f"m_{name}" for name in matrices]
            body = (
                "static void scalar(const double *const *in, double *const *out, void *work) {\n"
                f"  double *w = work;\n  {pointers}\n  double *const head[] = {{{', '.join(names)}}};\n"
                f"  {{ double *const *out = head; (void)out; {calls} }}\n  {steps}\n  {copies}\n}}\n"
            )
        return "\n".join([self._runtime(), *map(_called_as_one, self._maps), body])

    def _constants(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Matrices of the head that are constant: tables rather than scratch that each call fills."""
        head, results = self._head, self.program.results
        found = {name: k for k, name in enumerate(names) if name not in results and head.place_in_table(k)}
        return {name: head.tables[k] for name, k in found.items()}

    def _place_targets(self) -> None:
        """Rows of targets that are solved together: next to each other, each of whole vectors."""
        for number, step in enumerate(self.program.steps):
            if isinstance(step, Solve):
                names = (*step.targets, step.inverse)
                widths = [self._padded(name) for name in names]
                for name, first in zip(names, accumulate(widths, initial=0), strict=False):
                    self._strides[name] = sum(widths)
                    self._views[name] = number, first

    def _reserve(self, n: int) -> int:
        """Reserve n elements of scratch memory; the index of the first."""
        at = self._n_elements
        self._n_elements += _rounded(n)
        return at

    def _rows(self, name: str) -> int:
        return self.program.matrices[name][0]

    def _stride(self, name: str) -> int:
        return self._strides.get(name, self.program.matrices[name][1])

    def _padded(self, name: str) -> int:
        return self._whole(self.program.matrices[name][1])

    def _whole(self, n: int) -> int:
        """The elements of whole vectors that hold n."""
        return -(-n // self._pack) * self._pack

    def _runtime(self) -> str:
        """The functions of `matrix_steps.h` for this kind."""
        kind = self.flavour.name
        element, pack = ("hc_v", "1") if self.flavour.vector else ("double", "HC_LANES")
        return (
            f"#define HC_STEP(name) {kind}_##name\n#define HC_ELEMENT {element}\n#define HC_PACK {pack}\n"
            f"#define HC_ROWS {self._blocks.rows}\n#define HC_VECTORS {self._blocks.vectors}\n"
            '#include "matrix_steps.h"\n#undef HC_STEP\n#undef HC_ELEMENT\n#undef HC_PACK\n'
            "#undef HC_ROWS\n#undef HC_VECTORS"
        )

    def _step(self, number: int, step: Step) -> Iterator[str]:
        kind = self.flavour.name
        match step:
            case MapColumns():
                yield from self._map(step)
            case SumToParents(target, parents):
                rows, columns = self.program.matrices[target]
                yield (
                    f"{{ static const int parents[] = {_table(parents)};"
                    f" {kind}_sum_to_parents(m_{target}, {rows}, {columns}, parents); }}"
                )
            case SumFromParents(target, source, own, parents):
                given = f"m_{target}, {self._rows(target)}, {len(parents)}, m_{source}, {len(own)}"
                tables = f"own[] = {_table(own)}, parents[] = {_table(parents)}"
                yield f"{{ static const int {tables}; {kind}_sum_from_parents({given}, own, parents); }}"
            case MultiplyRow(target, row, matrix):
                rows, stride = self._rows(matrix), self._stride(matrix)
                yield f"{kind}_multiply_row(m_{target}, m_{row}, m_{matrix}, {rows}, {stride});"
            case Zero(target):
                rows, columns = self.program.matrices[target]
                if columns == self._stride(target):
                    yield f"memset(m_{target}, 0, {rows * columns} * sizeof *m_{target});"
                else:
                    at = f"m_{target} + i * {self._stride(target)}"
                    yield f"for (int i = 0; i < {rows}; i++) memset({at}, 0, {columns} * sizeof *m_{target});"
            case Product():
                yield from self._product(step)
            case Mirror(target, columns):
                table = _ranges(columns)
                yield f"{{ static const int at[][3] = {{{', '.join(table)}}};"
                yield f"  {kind}_mirror_ranges(m_{target}, {self._stride(target)}, at, {len(table)}); }}"
            case AddDiagonal(target, row):
                rows, stride = self._rows(target), self._stride(target)
                yield f"{kind}_add_diagonal(m_{target}, {rows}, {stride}, m_{row});"
            case Articulate():
                n = len(step.parents)
                tables = f"static const int at[] = {_table(step.at)}; {_tree(step)}"
                given = f"m_{step.inertias}, at, m_{step.subspaces}, m_{step.diagonal}"
                rest = f"w + {self._branches_at}, tree"
                yield f"{{ {tables} {kind}_articulate(m_{step.target}, {n}, {given}, {rest}); }}"
            case Solve(inverse=inverse, factors=factors):
                rows, stride = self._rows(inverse), self._stride(inverse)
                unit = self._views[inverse][1]
                where = f"w + {self._solutions[number]}, {rows}, {stride}"
                rest = f"m_{factors.target}, m_{factors.subspaces}, w + {self._branches_at}"
                yield f"{{ {_tree(factors)} {kind}_solve({where}, {rest}, tree, {unit}); }}"

            case Invert():
                yield from self._invert(step, self._factors[number])
            case Multiply(target, left, right, parents):
                tables, count = product_tables(parents, self._blocks)
                given = f"m_{target}, {len(parents)}, m_{left}, {self._stride(left)}, m_{right}"
                yield f"{{ {tables} {kind}_multiply({given}, blocks, {count}, terms); }}"

    def _invert(self, step: Invert, scratch: Sequence[int]) -> Iterator[str]:
        kind, n = self.flavour.name, len(step.parents)
        H, W, V = (f"w + {at}" for at in scratch)
        width, stride = self._whole(n), self._whole(max(Tree.of(step.parents).depths) + 1)
        given = f"m_{step.forces}, m_{step.subspaces}, m_{step.diagonal}"
        yield f"{{ {factor_tables(step)}"
        yield f"  {kind}_factor_tree({H}, {stride}, {W}, {V}, {width}, {n}, {given}, tree); }}"
        tables, count = inverse_tables(step.parents, self._blocks)
        where = f"m_{step.target}, {n}, {V}, {W}, {width}"
        yield f"{{ {tables} {kind}_symmetric_product({where}, blocks, {count}, terms); }}"

    def _map(self, step: MapColumns) -> Iterator[str]:
        writer = self._maps[self._mapped.index(step)]
        n = self.program.matrices[step.outputs[0]][step.outputs[0] not in step.transposed]
        n_x, n_y = sum(step.program.input_sizes), sum(step.program.output_sizes)
        yield f"{{ hc_v *x = (hc_v *)(w + {self._columns_at}), *y = x + {n_x}, *v = y + {n_y};"
        for k, (_, at) in enumerate(step.inputs):
            if at is not None:
                yield f"  static const int at_{k}[] = {_table(at)};"
                yield f"  static const char near_{k}[] = {_table(self._neighbours(at))};"
        yield from writer.constant_outputs()
        place = f"{self.flavour.name}_place(first, {n})"
        yield f"  for (int first = 0; first < {n}; first += {self._pack}) {{ const int j = {place};"
        start = 0
        for k, (name, at) in enumerate(step.inputs):
            yield from self._read(start, name, at, k)
            start += self._rows(name)
        yield f"    {writer.flavour.name}(x, y, v);"
        start = 0
        for name in step.outputs:
            rows, columns = self.program.matrices[name]
            if name in step.transposed:
                place = f"m_{name} + j * {columns}, {columns}"
                yield f"    {self.flavour.name}_store_transposed({place}, y + {start});"
                start += columns
            else:
                place = f"m_{name} + c * {columns} + j"
                put = f"{self.flavour.name}_put({place}, y[{start} + c])"
                yield f"    for (int c = 0; c < {rows}; c++) {put};"
                start += rows
        yield "  } }"

    def _read(self, start: int, name: str, at: Sequence[int] | None, k: int) -> Iterator[str]:
        """The columns of an input that vector j of the outputs reads."""
        rows, columns = self.program.matrices[name]
        loop = f"for (int c = 0; c < {rows}; c++) x[{start} + c] ="
        row = f"m_{name} + c * {columns}"
        place = "j" if at is None else f"at_{k}[j]"
        together = f"({row})[{place}]" if self._pack == 1 else f"hc_load({row} + {place})"
        if at is None or self._pack == 1:
            yield f"    {loop} {together};"
            return
        apart = ", ".join(f"({row})[at_{k}[j + {lane}]]" for lane in range(self._pack))
        yield f"    if (near_{k}[first / {self._pack}]) {loop} {together};"
        yield f"    else {loop} (hc_v){{{apart}}};"

    def _neighbours(self, at: Sequence[int]) -> list[int]:
        """Whether the columns that each vector of columns reads are neighbours too."""
        n, pack = len(at), self._pack
        firsts = [max(min(first, n - pack), 0) for first in range(0, n, pack)]
        return [int(list(at[j : j + pack]) == list(range(at[j], at[j] + pack))) for j in firsts]

    def _product(self, step: Product) -> Iterator[str]:
        depth, columns = self.program.matrices[step.right]
        table = _ranges(step.columns)
        call = (
            f"{self.flavour.name}_product(m_{step.target} + at[r][0] * {self._stride(step.target)},"
            f" m_{step.left}, {self.program.matrices[step.left][1]}, m_{step.right}, {columns}, {depth},"
            " at[r][0], at[r][1], at[r][2]);"
        )
        yield f"{{ static const int at[][3] = {{{', '.join(table)}}};"
        yield f"  for (int r = 0; r < {len(table)}; r++) {call} }}"


def _ranges(columns: Sequence[Sequence[Range]]) -> list[str]:
    """Rows of a table: a row of a matrix, and a range of its columns."""
    return [f"{{{i}, {start}, {end}}}" for i, row in enumerate(columns) for start, end in row]


def _called_as_one(writer: Writer) -> str:
    """One function of vectors, of the functions that a mapped program consists of."""
    name, arguments = writer.flavour.name, writer.flavour.arguments
    calls = " ".join(f"{name}_{k}({arguments});" for k in range(writer.n_segments))
    return f"static void {name}({writer.flavour.parameters}) {{ (void)x; (void)y; (void)w; {calls} }}"


def _branches(step: Articulate) -> list[int]:
    """The rows with other children than the row after them, which alone need memory for what they get."""
    return sorted({parent for k, parent in enumerate(step.parents) if 0 <= parent != k - 1})


def _tree(step: Articulate) -> str:
    """The tables of a tree: where each row passes on what it has, and where it gets the rest from."""
    places = {row: k for k, row in enumerate(_branches(step))}
    to = [
        _ON_CHAIN if 0 <= parent == k - 1 else places.get(parent, -1) for k, parent in enumerate(step.parents)
    ]
    own = [places.get(k, -1) for k in range(len(step.parents))]
    tables = {"to": to, "own": own, "parents": step.parents, "end": step.ends}
    declared = ", ".join(f"{name}[] = {_table(table)}" for name, table in tables.items())
    return (
        f"static const int {declared};"
        f" const hc_tree tree = {{{len(places)}, {6 * step.free}, {', '.join(tables)}}};"
    )


def _table(numbers: Sequence[int]) -> str:
    return f"{{{', '.join(map(str, numbers)) or '0'}}}"


def _rounded(n: int) -> int:
    return -(-n // _ALIGNMENT) * _ALIGNMENT
