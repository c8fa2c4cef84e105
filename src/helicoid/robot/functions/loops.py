"""Derivatives and inverse mass matrices of large robots as programs with loops.

Their straight-line code grows with the square of the number of joints: beyond some dozen it is slower than
loops, and slow to compile. Small robots keep it, and so do robots with mimic joints, or with springs and
friction that couple velocities: the functions return None for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca

from helicoid._typing import Expression
from helicoid.compiler import (
    SOLVE_OPERATIONS,
    AddDiagonal,
    Articulate,
    Invert,
    MapColumns,
    MatrixProgram,
    Mirror,
    Multiply,
    MultiplyRow,
    Product,
    Solve,
    Step,
    SumFromParents,
    SumToParents,
    Tree,
    Zero,
    native_lanes,
)
from helicoid.dynamics.derivatives import joint_columns
from helicoid.dynamics.derivatives.recursive import passive_derivatives
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.recursions.aba import forward_dynamics, ties_branches
from helicoid.dynamics.recursions.rnea import passive_torque
from helicoid.model.model import Model

_MIN_VELOCITIES = 12  # from which loops are as fast as straight-line code, on chains and humanoids
_MIN_VELOCITIES_OF_MASS_MATRIX = 48  # the same of M alone
_SPEED_OF_PRODUCTS = 2  # operations of products of matrices in the time of one that solves with M

Symbols = Sequence[Expression]
At = tuple[str, tuple[int, ...] | None]  # a matrix and its columns that are read; None: each its own
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
    passive = _diagonals(model, physics, q, v, -1.0)
    if loops.by_factors(products=2):
        # The wrenches without joint accelerations, which M⁻¹ gives, and then those of the accelerations.
        head = joint_columns.poses_and_motion(model, physics, q, v, ca.SX.zeros(model.nv)) | passive
        head["torque"] = (tau - passive_torque(model, physics, q, v)).T
        loops.bodies(moving=True, inertia=False, mass=True)
        loops.forces(torques=True)
        loops.invert()
        loops.accelerate()
        loops.columns(-1.0, accelerated=True)
        loops.derivatives("tau_q", "tau_v")
        loops.multiply(dq="tau_q", dv="tau_v")
    else:
        a = forward_dynamics(model, physics, q, v, tau)
        head = joint_columns.poses_and_motion(model, physics, q, v, a) | passive
        head |= {"S_rows": head["S"].T}
        loops.bodies(moving=True, inertia=True)
        loops.columns(-1.0)
        loops.derivatives()
        loops.solve(head["S_rows"], "dq", "dv")
    return loops.program(symbols, head, ("dq", "dv", "M_inverse"))


def mass_matrix(model: Model, physics: Physics, q: Expression, symbols: Symbols) -> MatrixProgram | None:
    """M of `dynamics.recursions.crba`."""
    if not _applies(model) or model.nv < _MIN_VELOCITIES_OF_MASS_MATRIX:
        return None
    loops = _Loops(model)
    head = joint_columns.poses_and_motion(model, physics, q) | {"armature": physics.armature.T}
    loops.bodies(moving=False, inertia=False)
    loops.forces()
    loops.mass_matrix()
    return loops.program(symbols, head, ("M",))


def mass_matrix_inverse(
    model: Model, physics: Physics, q: Expression, symbols: Symbols
) -> MatrixProgram | None:
    """M⁻¹ of `dynamics.recursions.mass_inverse`."""
    if not _applies(model):
        return None
    loops = _Loops(model)
    head = joint_columns.poses_and_motion(model, physics, q)
    head |= {"armature": physics.armature.T}
    if loops.by_factors():
        loops.bodies(moving=False, inertia=False)
        loops.forces()
        loops.invert()
    else:
        head |= {"S_rows": head.pop("S").T}
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
        own = tuple(self.kinship.elements)
        self._own = None if own == tuple(range(len(self._elements))) else own
        self._parents = tuple(
            max((j for j in row if j < i), default=-1) for i, row in enumerate(self.kinship.ancestors)
        )
        # Of each velocity itself and all that follow it in its element or that this carries.
        self._after = tuple(((i, end),) for i, end in enumerate(Tree.of(self._parents).ends))

    def bodies(self, moving: bool, inertia: bool, mass: bool = False) -> None:
        """The second and third stage of `joint_columns`: bodies, and composites if they are `moving`."""
        self._map(joint_columns.bodies(moving, inertia, mass), len(self._elements))
        if moving or not inertia:
            self.steps.append(SumToParents("composite", tuple(self._elements)))

    def forces(self, torques: bool = False) -> None:
        """F of each velocity, and the rest of torques."""
        stage = joint_columns.forces_and_torques() if torques else joint_columns.forces()
        self._map(stage, self.model.nv, {"composite": ("composite", self._own)})

    def accelerate(self) -> None:
        """Accelerations, and the wrenches that they add to those of composite bodies."""
        n = len(self._elements)
        self.matrices |= {"a": (1, self.model.nv), "A_a": (6, n + 1)}
        self.steps.append(MultiplyRow("a", "rest", "M_inverse"))
        self._map(joint_columns.joint_acceleration(), self.model.nv)
        own, parents = tuple(self.kinship.elements), tuple(self._elements)
        self.steps.append(SumFromParents("A_a", "S_a", own, parents))
        self._map(joint_columns.accelerated(), n)
        self.steps.append(SumToParents("wrench", parents))

    def columns(self, sign: float, accelerated: bool = False) -> None:
        """The fourth stage of `joint_columns`: columns of velocities."""
        n_elements, own = len(self._elements), self.kinship.elements
        parents = [n_elements if parent < 0 else parent for parent in self._elements]
        at_parent = tuple(parents[element] for element in own)
        reads = {name: (name, self._own) for name in ("composite", "V", "wrench")}
        reads |= {name: (name[:1] if name[1:] == "_p" else name, at_parent) for name in ("V_p", "A_p", "A_a")}
        self._map(joint_columns.columns(sign, accelerated), self.model.nv, reads)

    def derivatives(self, dq: str = "dq", dv: str = "dv") -> None:
        """∂τ/∂q and ∂τ/∂v, or their negatives, from the columns."""
        for target, T, F, diagonal in ((dq, "T_q", "F_q", "stiffness"), (dv, "T_v", "F_v", "slope")):
            self._square(target)
            self.steps.append(Product(target, "P", T, self.lower))
            self.steps += [Product(target, "S", F, self.upper), AddDiagonal(target, diagonal)]

    def mass_matrix(self) -> None:
        """M."""
        self._square("M")
        self.steps += [Product("M", "S", "F", self._after), Mirror("M", self._after)]
        self.steps.append(AddDiagonal("M", "armature"))

    def by_factors(self, products: int = 0) -> bool:
        """Whether M⁻¹, and its products with matrices, take less time by factors of M: not on deep trees."""
        invert, multiply = Invert("", "", "", "", self._parents), Multiply("", "", "", self._parents)
        n = self.model.nv
        of_products = products * multiply.n_operations / _SPEED_OF_PRODUCTS
        return invert.n_operations + of_products < SOLVE_OPERATIONS * n * (n + 1 + 2 * products * n) / 2

    def invert(self) -> None:
        """M⁻¹ by factors of M."""
        self._result("M_inverse")
        self.steps.append(Invert("M_inverse", "F", "S", "armature", self._parents))

    def multiply(self, **products: str) -> None:
        """Each target = M⁻¹ times a matrix."""
        for target, right in products.items():
            self._result(target)
            self.steps.append(Multiply(target, "M_inverse", right, self._parents))

    def solve(self, S_rows: Expression, *targets: str) -> None:
        """Each target becomes M⁻¹ target; and M⁻¹ itself. S_rows has the rows of S that the head computes."""
        own = self.kinship.elements
        is_last = [element not in own[k + 1 : k + 2] for k, element in enumerate(own)]
        at = tuple(element if last else -1 for element, last in zip(own, is_last, strict=True))
        free = own[:6] == [0] * 6 and ca.is_equal(ca.densify(S_rows[:6, :]), ca.densify(ca.SX.eye(6)), 1)
        factors = Articulate("factors", "inertia", "S_rows", "armature", at, self._parents, free)
        self.matrices |= {"factors": factors.shape, "M_inverse": (self.model.nv, self.model.nv)}
        self.steps += [factors, Solve(targets, "M_inverse", factors)]

    def program(self, symbols: Symbols, head: dict[str, Expression], results: Sequence[str]) -> MatrixProgram:
        """The program of the steps."""
        return MatrixProgram.from_expressions(symbols, head, self.matrices, self.steps, results)

    def _map(self, stage: joint_columns.Stage, n: int, reads: Mapping[str, At] | None = None) -> None:
        """A stage for each of n columns. Inputs read the matrix of their name, but where `reads` says."""
        named = [(*(reads or {}).get(name, (name, None)), symbol) for name, symbol in stage.inputs.items()]
        inputs = [(matrix, symbol, at) for matrix, at, symbol in named]
        transposed = ("inertia",) if "inertia" in stage.outputs else ()
        self.steps.append(MapColumns.from_expressions(inputs, stage.outputs, transposed))
        sizes = {name: rows.shape[0] for name, rows in stage.outputs.items()}
        self.matrices |= {name: (n, m) if name in transposed else (m, n) for name, m in sizes.items()}

    def _square(self, name: str) -> None:
        self._result(name)
        self.steps.append(Zero(name))

    def _result(self, name: str) -> None:
        self.matrices[name] = (self.model.nv, self.model.nv)


def _ranges(columns: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Ascending numbers as ranges."""
    found: list[list[int]] = []
    for column in columns:
        if found and found[-1][1] == column:
            found[-1][1] = column + 1
        else:
            found.append([column, column + 1])
    return tuple((start, end) for start, end in found)
