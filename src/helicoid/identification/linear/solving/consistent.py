"""Physically consistent least squares: a semidefinite program on the compressed problem.

    min ‖R x - z‖² + regularisation · distance²   with   L⁻¹ P_i(x) L⁻ᵀ ⪰ ε for every body i, and bounds

P_i is the pseudo-inertia of body i (Wensing, Kim and Slotine 2018), L Lᵀ that of the described body: no body
has less than ε of its described extent in any direction, so that the result is strictly consistent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import HelicoidError, InputError
from helicoid.identification.linear.equations.friction_columns import nonnegative_groups
from helicoid.identification.linear.equations.regression import Indices, Regression
from helicoid.identification.linear.equations.stack import Factor
from helicoid.identification.linear.solving.estimators import augmented
from helicoid.identification.linear.solving.whitened_coordinates import WhitenedCoordinates
from helicoid.robot import Robot

MIN_EIGENVALUE = 1e-3  # ε
# Whitened elements go row by row through the upper triangle, the solver's cone column by column.
_COLUMN_MAJOR = [0, 1, 4, 2, 5, 7, 3, 6, 8, 9]
_IDENTITY = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Bounds:
    """Bounds on bodies, by link name: mass (least, most) in kg; centre of mass (lower, upper) in m.

    The centre of mass is in the frame of the body, each bound three numbers.
    """

    mass: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    com: Mapping[str, tuple[ArrayLike, ArrayLike]] = field(default_factory=dict)

    def check(self, robot: Robot) -> None:
        """Raise InputError for unknown bodies and empty ranges."""
        names = [body.name for body in robot.model.bodies]
        for kind, size in (("mass", 1), ("com", 3)):
            for link, limits in getattr(self, kind).items():
                if link not in names:
                    there = ", ".join(names)
                    raise InputError(f"bounds: no moving body is called {link!r}; there are: {there}")
                low, high = (np.asarray(limit, dtype=np.float64).ravel() for limit in limits)
                if len(low) != size or len(high) != size or not np.all(low <= high):
                    raise InputError(f"bounds: {kind} of {link!r}: expected (least, most), got {limits!r}")

    def rows(self, regression: Regression) -> tuple[Array, Array]:
        """A, b with A x <= b."""
        self.check(regression.robot)
        if "inertia" not in regression.groups:
            return np.zeros((0, len(regression.parameters))), np.zeros(0)
        names = [body.name for body in regression.robot.model.bodies]
        rows: list[tuple[str, list[float], float]] = []
        for link, (least, most) in self.mass.items():
            rows += [(link, [1.0, 0, 0, 0], most), (link, [-1.0, 0, 0, 0], -least)]
        for link, (lower, upper) in self.com.items():  # lower m <= h <= upper m
            for low, high, unit in zip(np.ravel(lower), np.ravel(upper), np.eye(3), strict=True):
                rows += [(link, [-high, *unit], 0.0), (link, [low, *-unit], 0.0)]
        A = np.zeros((len(rows), len(regression.parameters)))
        for k, (link, row, _) in enumerate(rows):
            start = regression.parameters.groups["inertia"].start + 10 * names.index(link)
            A[k, start : start + 4] = row
        return A, np.array([limit for *_, limit in rows])


def consistent(
    regression: Regression,
    factor: Factor,
    coordinates: WhitenedCoordinates,
    regularisation: float,
    bounds: Bounds | None = None,
    mean: Array | None = None,
) -> Array:
    """x of the program above; friction, load dependence, springs and armature are not negative.

    `regularisation` is the weight of the squared whitened distance from the description; rows have 1/σ².
    With `mean` (u) x is the consistent vector nearest to it in the metric of the program, ‖R (u - mean)‖:
    where that is the unconstrained solution, it is the solution of the program.
    """
    own = augmented(coordinates.factor(factor), coordinates, regularisation)
    if mean is not None:
        own = own._replace(z=own.R @ mean)
    nonnegative, least = nonnegative_unknowns(regression), lower_bounds(regression, coordinates)
    own_bounds = np.flatnonzero(np.isfinite(least))
    A_bound, b_bound = (bounds or Bounds()).rows(regression)
    linear = np.vstack([-np.eye(len(own.z))[own_bounds], A_bound @ coordinates.T])
    limits = np.concatenate([-least[own_bounds], b_bound - A_bound @ coordinates.origin])
    x = coordinates.origin + coordinates.T @ program(own, coordinates, linear, limits)
    x[nonnegative] = np.maximum(x[nonnegative], 0.0)
    return x


def program(own: Factor, coordinates: WhitenedCoordinates, linear: Array, limits: Array) -> Array:
    """u of min ‖R u - z‖² with linear u <= limits and every body's matrix ⪰ ε."""
    free = np.asarray(np.linalg.lstsq(own.R, own.z, rcond=None)[0], dtype=np.float64)
    if _feasible(free, coordinates, linear, limits):
        return free  # no constraint is active: the least squares solution
    # The solver stops at a small gap: the sum of squares is to be about 1, whatever the units.
    largest = float(np.linalg.norm(own.R)) or 1.0
    likely = max(float(np.linalg.norm(own.z)) / np.sqrt(len(own.z)), 1e-8 * largest)
    for size in (likely, np.sqrt(likely * largest), largest):
        status, u = _solved(own, coordinates, linear, limits, size)
        if "Solved" in status:
            return u
    raise HelicoidError(
        f"no physically consistent parameters were found (the solver says {status}); "
        "if there are bounds, see that they do not contradict each other"
    )


def _feasible(u: Array, coordinates: WhitenedCoordinates, linear: Array, limits: Array) -> bool:
    """Whether u satisfies all constraints of the program."""
    if np.any(linear @ u > limits):
        return False
    upper = np.triu_indices(4)
    for start in coordinates.bodies:
        W = np.zeros((4, 4))
        W[upper] = (coordinates.stated(start) + u[start : start + 10]) / np.where(
            upper[0] == upper[1], 1.0, np.sqrt(2)
        )
        if np.linalg.eigvalsh(W, UPLO="U")[0] < MIN_EIGENVALUE:
            return False
    return True


def _solved(
    own: Factor, coordinates: WhitenedCoordinates, linear: Array, limits: Array, size: float
) -> tuple[str, Array]:
    """The solver's status and u, the sum of squares divided by size²."""
    import clarabel  # type: ignore[import-untyped]
    from scipy import sparse

    p = len(own.z)
    # Unknowns (u, e): min ½ ‖e‖² with R u - e = z keeps the conditioning of R, which RᵀR would square.
    A = np.zeros((p + len(linear) + 10 * len(coordinates.bodies), 2 * p))
    A[:p, :p], A[:p, p:], A[p : p + len(linear), :p] = own.R / size, -np.eye(p), linear
    right = [own.z / size, limits]
    cones = [clarabel.ZeroConeT(p), *([clarabel.NonnegativeConeT(len(linear))] if len(linear) else [])]
    order = np.array(_COLUMN_MAJOR)
    for k, start in enumerate(coordinates.bodies):
        A[p + len(linear) + 10 * k + np.arange(10), start + order] = -1.0
        right.append(coordinates.stated(start)[order] - MIN_EIGENVALUE * _IDENTITY)
        cones.append(clarabel.PSDTriangleConeT(4))
    P = sparse.csc_matrix(np.diag(np.repeat([0.0, 1.0], p)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    program = clarabel.DefaultSolver(
        P, np.zeros(2 * p), sparse.csc_matrix(A), np.concatenate(right), cones, settings
    )
    solution = program.solve()
    return str(solution.status), np.array(solution.x)[:p]


def lower_bounds(regression: Regression, coordinates: WhitenedCoordinates) -> Array:
    """Lower bounds of u, which holds deviations from the description: x = origin + T u >= 0; else -∞."""
    least = np.full(len(coordinates.origin), -np.inf)
    own = np.setdiff1d(nonnegative_unknowns(regression), coordinates.fixed)
    least[own] = -coordinates.origin[own] / coordinates.T.diagonal()[own]
    return least


def nonnegative_unknowns(regression: Regression) -> Indices:
    """Indices of unknowns that cannot be negative."""
    groups = regression.parameters.groups
    index = np.arange(len(regression.parameters))
    own = [index[groups[group]] for group in nonnegative_groups() if group in groups]
    return np.concatenate([np.zeros(0, dtype=np.intp), *own])
