"""Assembly: configurations that satisfy constraints, and their rank and mobility. Numeric, not symbolic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.constraints.equations import Constraints
from helicoid.errors import ModelError

POSITION_TOLERANCE = 1e-12  # m, rad
_MAX_STEPS = 500
_DAMPING = 0.03
_RANK_TOLERANCE = 1e-9  # a singular value below this share of the largest counts as zero

Position = Callable[[Array], Array]
Jacobian = Callable[[Array], Array]
Integrate = Callable[[Array, Array], Array]


def assemble(
    q: Array,
    position: Position,
    jacobian: Jacobian,
    integrate: Integrate,
    constraints: Constraints,
    held: Sequence[int] = (),
) -> Array:
    """q moved to φ(q) = 0 by Levenberg-Marquardt steps, which end as Gauss-Newton steps.

    The damping is the square of the error: far from the solution it keeps steps short where A is nearly
    singular, near it it vanishes fast enough for quadratic convergence.

    The velocities `held` are zero. Raises ModelError, with the largest violation and its constraint, when no
    step decreases the error.
    """
    error, best = position(q), np.inf
    for _ in range(_MAX_STEPS):
        size = float(np.max(np.abs(error), initial=0.0))
        # Rounding keeps some mechanisms above the tolerance: done when no step decreases the error.
        if size < POSITION_TOLERANCE or (size < 1e3 * POSITION_TOLERANCE and size >= best):
            return q
        best = min(best, size)
        A = jacobian(q).copy()
        A[:, list(held)] = 0.0
        damped = np.vstack([A, _DAMPING * np.linalg.norm(error) * np.eye(A.shape[1])])
        aim = np.concatenate([-error, np.zeros(A.shape[1])])
        step = np.asarray(np.linalg.lstsq(damped, aim, rcond=1e-10)[0], dtype=np.float64)
        moved = _shortened(q, step, error, position, integrate)
        if moved is None:
            break
        q, error = moved
    if np.max(np.abs(error)) < 1e3 * POSITION_TOLERANCE:
        return q
    raise ModelError(_open(error, constraints, held))


def _shortened(
    q: Array, step: Array, error: Array, position: Position, integrate: Integrate
) -> tuple[Array, Array] | None:
    """Backtracking line search: the first of the step's halves that lessens the error; None if none does."""
    share = min(1.0, 1.0 / max(float(np.max(np.abs(step), initial=0.0)), 1e-300))
    now = float(np.linalg.norm(error))
    for _ in range(30):
        moved = integrate(q, share * step)
        after = position(moved)
        if np.linalg.norm(after) < now * (1 - 1e-4 * share):
            return moved, after
        share /= 2
    return None


def _open(error: Array, constraints: Constraints, held: Sequence[int]) -> str:
    gaps = violations(error, constraints)
    worst = max(gaps, key=lambda name: gaps[name])
    others = [f"{name!r} by {gap:.2g}" for name, gap in gaps.items() if name != worst and gap > 1e-9]
    also = f" (and {', '.join(others)})" if others else ""
    hint = "let the held joints move, or " if len(held) else ""
    return (
        f"constraint {worst!r} stays open by {gaps[worst]:.2g} m or rad{also}: from here no motion of the "
        f"joints closes it further; {hint}start from another configuration, or check the lengths"
    )


def violations(error: Array, constraints: Constraints) -> dict[str, float]:
    """The norm of each constraint's rows of φ."""
    gaps, row = {}, 0
    for constraint in constraints:
        gaps[constraint.name] = float(np.linalg.norm(error[row : row + constraint.rows]))
        row += constraint.rows
    return gaps


@dataclass(frozen=True)
class ConstraintState:
    """One constraint at a configuration: `independent` rows are those that no earlier one implies."""

    name: str
    kind: str
    rows: int
    independent: int
    violation: float


@dataclass(frozen=True)
class ConstraintReport:
    """Constraints at a configuration: rank, redundancy, mobility, residuals.

    `rank` of the `rows` × nv matrix A, `redundancy` = rows - rank, `mobility` = nv - rank: the velocities
    left. Of a floating base, `base_rank` is the rank of A's first six columns: six when the contacts hold
    the base in every direction; `internal` = rank - base_rank rows hold joints against each other.
    """

    rows: int
    rank: int
    redundancy: int
    mobility: int
    violation: float
    base_rank: int | None
    internal: int | None
    constraints: tuple[ConstraintState, ...]
    singular_values: tuple[float, ...]

    def __str__(self) -> str:
        base = "" if self.base_rank is None else f", base rank {self.base_rank}, internal {self.internal}"
        head = (
            f"{self.rows} rows, rank {self.rank}: redundancy {self.redundancy}, mobility {self.mobility}"
            f"{base}; largest violation {self.violation:.3g}"
        )
        width = max((len(one.name) for one in self.constraints), default=0)
        lines = [
            f"  {one.name:<{width}}  {one.kind:<9}  {one.independent} of {one.rows} rows independent, "
            f"violation {one.violation:.3g}"
            for one in self.constraints
        ]
        return "\n".join([head, *lines])

    __repr__ = __str__


def report(error: Array, A: Array, constraints: Constraints, floating: bool) -> ConstraintReport:
    """The report of φ and A at a configuration."""
    values = np.linalg.svd(A, compute_uv=False)
    limit = _RANK_TOLERANCE * float(np.max(values, initial=0.0))

    def rank(part: Array) -> int:
        return int(np.sum(np.linalg.svd(part, compute_uv=False) > limit)) if part.size else 0

    gaps = violations(error, constraints)
    rows, row, before = [], 0, 0
    for one in constraints:
        row += one.rows
        until = rank(A[:row])
        rows.append(ConstraintState(one.name, one.kind, one.rows, until - before, gaps[one.name]))
        before = until
    total, base = rank(A), rank(A[:, :6]) if floating else None
    return ConstraintReport(
        rows=len(A),
        rank=total,
        redundancy=len(A) - total,
        mobility=A.shape[1] - total,
        violation=max(gaps.values(), default=0.0),
        base_rank=base,
        internal=None if base is None else total - base,
        constraints=tuple(rows),
        singular_values=tuple(float(value) for value in values),
    )
