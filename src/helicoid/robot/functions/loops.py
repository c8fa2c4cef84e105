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
    Factor,
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
from helicoid.dynamics.recursions.aba import forward_dynamics, has_mimics
from helicoid.model.model import Model

_MIN_VELOCITIES = 12  # from which loops are as fast as straight-line code, on chains and humanoids

Symbols = Sequence[Expression]
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
    loops.columns(moving=True)
    loops.derivatives()
    loops.mass_matrix(whole=True)
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
    head |= _diagonals(model, physics, q, v, -1.0)
    loops.columns(moving=True, sign=-1.0)
    loops.derivatives()
    loops.mass_matrix(whole=False)
    loops.solve("dq", "dv")
    return loops.program(symbols, head, ("dq", "dv", "M_inverse"))


def mass_matrix_inverse(
    model: Model, physics: Physics, q: Expression, symbols: Symbols
) -> MatrixProgram | None:
    """M⁻¹ of `dynamics.recursions.mass_inverse`."""
    if not _applies(model):
        return None
    loops = _Loops(model)
    head = joint_columns.poses_and_motion(model, physics, q) | {"armature": physics.armature.T}
    loops.columns(moving=False)
    loops.mass_matrix(whole=False)
    loops.solve()
    return loops.program(symbols, head, ("M_inverse",))


def _applies(model: Model) -> bool:
    """Whether the robot is large enough, and each velocity belongs to one joint."""
    large = min(model.nv, len(model.bodies)) >= max(_MIN_VELOCITIES, native_lanes())
    return large and not has_mimics(model)


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

    def columns(self, moving: bool, sign: float = 1.0) -> None:
        """The stages of `joint_columns` after the first: bodies, composites, columns of velocities."""
        n_elements, own = len(self.kinship.parents), tuple(self.kinship.elements)
        parents = [n_elements if parent < 0 else parent for parent in self.kinship.parents]
        at_parent = tuple(parents[element] for element in own)
        at_own = None if own == tuple(range(n_elements)) else own
        reads = {
            "S": ("S", None),
            "composite": ("composite", at_own),
            "V": ("V", at_own),
            "V_p": ("V", at_parent),
            "A_p": ("A", at_parent),
        }
        bodies, columns = joint_columns.bodies(moving), joint_columns.columns(moving, sign)
        each_body = [(name, symbol, None) for name, symbol in bodies.inputs.items()]
        each_velocity = [(reads[name][0], symbol, reads[name][1]) for name, symbol in columns.inputs.items()]
        self.steps += [
            MapColumns.from_expressions(each_body, bodies.outputs),
            SumToParents("composite", tuple(self.kinship.parents)),
            MapColumns.from_expressions(each_velocity, columns.outputs),
        ]
        for outputs, n in ((bodies.outputs, n_elements), (columns.outputs, self.model.nv)):
            self.matrices |= {name: (rows.shape[0], n) for name, rows in outputs.items()}

    def derivatives(self) -> None:
        """∂τ/∂q and ∂τ/∂v, or their negatives, from the columns."""
        for target, T, F, diagonal in (("dq", "T_q", "F_q", "stiffness"), ("dv", "T_v", "F_v", "slope")):
            self._square(target)
            self.steps.append(Product(target, "P", T, self.lower))
            self.steps += [Product(target, "S", F, self.upper), AddDiagonal(target, diagonal)]

    def mass_matrix(self, whole: bool) -> None:
        """M, or only its lower triangle."""
        self._square("M")
        self.steps.append(Product("M", "F", "S", self.lower))
        if whole:
            self.steps.append(Product("M", "S", "F", self.upper))
        self.steps.append(AddDiagonal("M", "armature"))

    def solve(self, *targets: str) -> None:
        """Each target becomes M⁻¹ target; and M⁻¹ itself."""
        above = (tuple(j for j in row if j < i) for i, row in enumerate(self.kinship.ancestors))
        factors = Factor("M", tuple(above))
        self.matrices["M_inverse"] = (self.model.nv, self.model.nv)
        self.steps += [factors, Solve(targets, "M_inverse", factors)]

    def program(self, symbols: Symbols, head: dict[str, Expression], results: Sequence[str]) -> MatrixProgram:
        """The program of the steps."""
        return MatrixProgram.from_expressions(symbols, head, self.matrices, self.steps, results)

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
