"""Derivatives and inverse mass matrices of large robots as programs with loops.

Their straight-line code grows with the square of the number of joints: beyond some dozen it is slower than
loops, and slow to compile. Small robots keep it, and so do robots with mimic joints, or with springs and
friction that couple velocities: the functions return None for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import casadi as ca

from helicoid._typing import Expression
from helicoid.compiler import (
    AddDiagonal,
    Articulate,
    MapColumns,
    MatrixProgram,
    Product,
    Solve,
    Step,
    SumToParents,
    Zero,
    native_lanes,
)
from helicoid.dynamics.derivatives import joint_columns
from helicoid.dynamics.derivatives.recursive import passive_derivatives
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.recursions.aba import forward_dynamics, ties_branches
from helicoid.model.model import Model

_MIN_VELOCITIES = 12  # from which loops are as fast as straight-line code, on chains and humanoids

Symbols = Sequence[Expression]
Read = tuple[str, Expression, tuple[int, ...] | None]  # a matrix, a symbol of its column, and which is read
Columns = tuple[tuple[tuple[int, int], ...], ...]  # of each row the ranges of columns


def inverse_dynamics_derivatives(
    model: Model, physics: Physics, q: Expression, v: Expression, a: Expression, symbols: Symbols
) -> MatrixProgram | None:
    """∂τ/∂q, ∂τ/∂v and M of `dynamics.derivatives.recursive`."""
    if not _applies(model) or not joint_columns.can_be_products(model, physics):
        return None
    loops = _Loops(model)
    head = joint_columns.poses_and_motion(model, physics, q, v, a)
    head |= _diagonals(model, physics, q, v, 1.0)
    loops.bodies(moving=True, inertia=False)
    loops.columns(1.0)
    loops.derivatives()
    loops.mass_matrix()
    return loops.program(symbols, head, ("dq", "dv", "M"))


def forward_dynamics_derivatives(
    model: Model, physics: Physics, q: Expression, v: Expression, tau: Expression, symbols: Symbols
) -> MatrixProgram | None:
    """∂a/∂q = -M⁻¹ ∂τ/∂q, ∂a/∂v = -M⁻¹ ∂τ/∂v and M⁻¹ of `dynamics.derivatives.recursive`."""
    if not _applies(model) or not joint_columns.can_be_products(model, physics):
        return None
    loops = _Loops(model)
    a = forward_dynamics(model, physics, q, v, tau)
    head = joint_columns.poses_and_motion(model, physics, q, v, a)
    head |= {"S_rows": head["S"].T} | _diagonals(model, physics, q, v, -1.0)
    loops.bodies(moving=True, inertia=True)
    loops.columns(-1.0)
    loops.derivatives()
    loops.solve(head["S_rows"], "dq", "dv")
    return loops.program(symbols, head, ("dq", "dv", "M_inverse"))


def mass_matrix_inverse(
    model: Model, physics: Physics, q: Expression, symbols: Symbols
) -> MatrixProgram | None:
    """M⁻¹ of `dynamics.recursions.mass_inverse`."""
    if not _applies(model):
        return None
    loops = _Loops(model)
    head = joint_columns.poses_and_motion(model, physics, q)
    head |= {"S_rows": head.pop("S").T, "armature": physics.armature.T}
    loops.bodies(moving=False, inertia=True)
    loops.solve(head["S_rows"])
    return loops.program(symbols, head, ("M_inverse",))


def _applies(model: Model) -> bool:
    """Whether the robot is large enough, and each velocity belongs to one joint."""
    large = min(model.nv, len(model.bodies)) >= max(_MIN_VELOCITIES, native_lanes())
    return large and not ties_branches(model)


def _diagonals(
    model: Model, physics: Physics, q: Expression, v: Expression, sign: float
) -> dict[str, Expression]:
    """Contributions of springs, friction and armature to the diagonals of ∂τ/∂q, ∂τ/∂v and M."""
    springs, sliding = passive_derivatives(model, physics, q, v)
    added = {"stiffness": sign * ca.diag(springs).T, "slope": sign * ca.diag(sliding).T}
    return {**added, "armature": physics.armature.T}


@dataclass
class _Loops:
    """Steps in the making, and the matrices that they write."""

    model: Model
    steps: list[Step] = field(default_factory=list)
    matrices: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kinship = joint_columns.kinship(self.model)
        self.lower = tuple(map(_ranges, self.kinship.ancestors))
        self.upper = tuple(map(_ranges, self.kinship.descendants))
        self._elements = self.kinship.parents

    def bodies(self, moving: bool, inertia: bool) -> None:
        """The second and third stage of `joint_columns`: bodies, and composites if they are `moving`."""
        stage = joint_columns.bodies(moving, inertia)
        self._map([(name, symbol, None) for name, symbol in stage.inputs.items()], stage, len(self._elements))
        if moving:
            self.steps.append(SumToParents("composite", tuple(self._elements)))

    def columns(self, sign: float) -> None:
        """The fourth stage of `joint_columns`: columns of velocities."""
        n_elements, own = len(self._elements), tuple(self.kinship.elements)
        parents = [n_elements if parent < 0 else parent for parent in self._elements]
        at_parent = tuple(parents[element] for element in own)
        at_own = None if own == tuple(range(n_elements)) else own
        reads = {
            "S": ("S", None),
            "composite": ("composite", at_own),
            "V": ("V", at_own),
            "V_p": ("V", at_parent),
            "A_p": ("A", at_parent),
        }
        stage = joint_columns.columns(sign)
        inputs = [(reads[name][0], symbol, reads[name][1]) for name, symbol in stage.inputs.items()]
        self._map(inputs, stage, self.model.nv)

    def derivatives(self) -> None:
        """∂τ/∂q and ∂τ/∂v, or their negatives, from the columns."""
        for target, T, F, diagonal in (("dq", "T_q", "F_q", "stiffness"), ("dv", "T_v", "F_v", "slope")):
            self._square(target)
            self.steps.append(Product(target, "P", T, self.lower))
            self.steps += [Product(target, "S", F, self.upper), AddDiagonal(target, diagonal)]

    def mass_matrix(self) -> None:
        """M."""
        self._square("M")
        self.steps += [Product("M", "F", "S", self.lower), Product("M", "S", "F", self.upper)]
        self.steps.append(AddDiagonal("M", "armature"))

    def solve(self, S_rows: Expression, *targets: str) -> None:
        """Each target becomes M⁻¹ target; and M⁻¹ itself. S_rows has the rows of S that the head computes."""
        own = self.kinship.elements
        is_last = [element not in own[k + 1 : k + 2] for k, element in enumerate(own)]
        at = tuple(element if last else -1 for element, last in zip(own, is_last, strict=True))
        parents = tuple(
            max((j for j in row if j < i), default=-1) for i, row in enumerate(self.kinship.ancestors)
        )
        free = own[:6] == [0] * 6 and ca.is_equal(ca.densify(S_rows[:6, :]), ca.densify(ca.SX.eye(6)), 1)
        factors = Articulate("factors", "inertia", "S_rows", "armature", at, parents, free)
        self.matrices |= {"factors": factors.shape, "M_inverse": (self.model.nv, self.model.nv)}
        self.steps += [factors, Solve(targets, "M_inverse", factors)]

    def program(self, symbols: Symbols, head: dict[str, Expression], results: Sequence[str]) -> MatrixProgram:
        """The program of the steps."""
        return MatrixProgram.from_expressions(symbols, head, self.matrices, self.steps, results)

    def _map(self, inputs: Sequence[Read], stage: joint_columns.Stage, n: int) -> None:
        """A stage for each of n columns."""
        transposed = ("inertia",) if "inertia" in stage.outputs else ()
        self.steps.append(MapColumns.from_expressions(inputs, stage.outputs, transposed))
        sizes = {name: rows.shape[0] for name, rows in stage.outputs.items()}
        self.matrices |= {name: (n, m) if name in transposed else (m, n) for name, m in sizes.items()}

    def _square(self, name: str) -> None:
        self.matrices[name] = (self.model.nv, self.model.nv)
        self.steps.append(Zero(name))


def _ranges(columns: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Ascending numbers as ranges."""
    found: list[list[int]] = []
    for column in columns:
        if found and found[-1][1] == column:
            found[-1][1] = column + 1
        else:
            found.append([column, column + 1])
    return tuple((start, end) for start, end in found)
