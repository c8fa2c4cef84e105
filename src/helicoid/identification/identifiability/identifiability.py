"""Identifiability of the unknowns of a regression: alone, only in linear combinations, or not at all.

Of y = Y x only the projection of x on the span of all rows of Y can be known. A basis of that span in reduced
echelon form names base parameters β = K x, each one unknown plus multiples of others (Gautier, Khalil 1990).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.identification.identifiability.structural import excited_rows
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.stack import triangular
from helicoid.interrupts import interruptible
from helicoid.robot import Robot
from helicoid.robot.frames import several_links

Status = Literal["alone", "combination", "none"]
Method = Literal["structural", "samples"]

_PROJECTION_TOLERANCE = 1e-7  # of the length of a projected unit vector
_MIN_COEFFICIENT = 1e-9  # smaller coefficients are rounding errors


class StandardDeviations(NamedTuple):
    """Standard deviations of base parameters, and of unknowns (infinite unless identifiable alone)."""

    base: Array
    parameters: Array


@dataclass(frozen=True, eq=False)
class Identifiability:
    """Identifiable combinations of the unknowns x.

    `names` (p) are the unknowns. `base` is K (r, p) of the base parameters β = K x: identity in the columns
    `independent` (r), so that Y x = Y[:, independent] β. `method` says how it was found: "structural" holds
    for every motion, "samples" for the motion that was given.
    """

    names: tuple[str, ...]
    base: Array
    independent: tuple[int, ...]
    method: Method

    @property
    def rank(self) -> int:
        """The number of base parameters r."""
        return len(self.independent)

    @cached_property
    def span(self) -> Array:
        """An orthonormal basis (r, p) of the identifiable subspace."""
        return np.linalg.qr(self.base.T)[0].T

    @cached_property
    def null_space(self) -> Array:
        """An orthonormal basis (p, p - r) of the changes of x that no measurement shows."""
        full, _ = np.linalg.qr(self.base.T, mode="complete")
        return full[:, self.rank :]

    @cached_property
    def status(self) -> dict[str, Status]:
        """For each unknown: identifiable "alone", only in a "combination", or "none": not at all."""
        length = np.linalg.norm(self.span, axis=0)
        kinds: list[Status] = [
            "alone"
            if size > 1 - _PROJECTION_TOLERANCE
            else "none"
            if size < _PROJECTION_TOLERANCE
            else "combination"
            for size in length
        ]
        return dict(zip(self.names, kinds, strict=True))

    @property
    def combinations(self) -> tuple[str, ...]:
        """The base parameters in words, such as `arm.Izz + 0.09*hand.m`."""
        return tuple(
            _spelled(row, self.names, first) for row, first in zip(self.base, self.independent, strict=True)
        )

    def of_links(self) -> dict[str, tuple[int, int, int]]:
        """For each link: how many of its parameters are identifiable alone, in combination, not at all."""
        found: dict[str, list[int]] = {}
        for name, kind in self.status.items():
            counts = found.setdefault(name.rsplit(".", 1)[0], [0, 0, 0])
            counts[("alone", "combination", "none").index(kind)] += 1
        return {link: (alone, mixed, none) for link, (alone, mixed, none) in found.items()}

    def standard_deviations(self, R: Array) -> StandardDeviations:
        """σ of the estimates, from R (n, p) with Rᵀ R = Yᵀ Y and rows in units of the noise's σ.

        R may be the weighted stack of regressors itself, or its triangular factor.
        """
        factor = np.linalg.qr(np.asarray(R)[:, list(self.independent)], mode="r")
        if len(factor) < self.rank or np.abs(np.diag(factor)).min(initial=np.inf) == 0:
            raise InputError(
                f"the samples do not excite all {self.rank} base parameters: see "
                "`identifiability(robot, samples)`"
            )
        root = solve_triangular(factor, np.eye(self.rank), lower=False)  # covariance = root rootᵀ
        deviations = np.full(len(self.names), np.inf)
        alone = [k for k, kind in enumerate(self.status.values()) if kind == "alone"]
        # e_k = K c for an unknown that is identifiable alone, so that x_k = c β.
        combined = np.linalg.lstsq(self.base.T, np.eye(len(self.names))[:, alone], rcond=None)[0]
        deviations[alone] = np.linalg.norm(root.T @ combined, axis=0)
        return StandardDeviations(np.linalg.norm(root, axis=1), deviations)

    def __repr__(self) -> str:
        return f"Identifiability({self.rank} base parameters of {len(self.names)} unknowns, {self.method})"

    def __str__(self) -> str:
        kinds = list(self.status.values())
        alone, mixed, none = (kinds.count(kind) for kind in ("alone", "combination", "none"))
        counts = f"{alone} alone, {mixed} in combination, {none} not at all"
        lines = [f"{self.rank} base parameters of {len(self.names)} unknowns ({counts}; {self.method}):"]
        return "\n".join([*lines, *(f"  {words}" for words in self.combinations)])


@interruptible()
def identifiability(
    robot: Robot | Regression,
    samples: Any = None,
    groups: Sequence[str] = ("inertia",),
    wrenches: Sequence[str] = (),
    tolerance: float = 1e-9,
) -> Identifiability:
    """Base parameters of a robot: the combinations of unknowns that torques or wrenches identify.

    Args:
        robot: the robot, or a `Regression` in place of robot, groups and wrenches.
        samples: a motion with q (N, nq), v and a (N, nv). Without one the answer is structural: it holds for
            all motions and needs none. Mimic joints, or wrenches at some joints only, are beyond that theory;
            then many random states are sampled, and `method` is "samples".
        groups: the unknowns, as in `Regression`.
        wrenches: links whose six-axis wrench is measured in place of the joint torques.
        tolerance: singular values of the samples' scaled regressor below this part of the largest are zero.

    >>> import helicoid as hc
    >>> base = hc.identifiability(hc.load("double_pendulum"))
    >>> base.rank, base.method
    (6, 'structural')
    >>> print(base.combinations[2])
    link_1.Iyy + link_2.m
    """
    links = several_links("wrenches", wrenches)
    regression = robot if isinstance(robot, Regression) else Regression(robot, groups, wrenches=links)
    names = regression.parameters.names
    if regression.robot.model.loops and samples is None:
        raise InputError(f"robot {regression.robot.name!r} has closed loops: give a motion that keeps them")
    if samples is None:
        return from_rows(names, *spanning_rows(regression))
    return from_rows(names, _stacked(regression, *_motion(samples)), "samples", tolerance)


def spanning_rows(regression: Regression) -> tuple[Array, Method]:
    """Rows (n, p) that span the row space of the regressor: exact, or of random states where that fails."""
    rows = excited_rows(regression)
    if rows is not None:
        return rows, "structural"
    return _stacked(regression, *_random_states(regression)), "samples"


def from_rows(
    names: tuple[str, ...], rows: Array, method: Method, tolerance: float = 1e-10
) -> Identifiability:
    """Base parameters of the unknowns, from rows (n, p) of a regressor."""
    scale = np.linalg.norm(rows, axis=0)
    zero = scale <= tolerance * scale.max(initial=0.0)
    scale[zero] = 1.0
    _, singular, basis = np.linalg.svd(np.where(zero, 0.0, rows / scale), full_matrices=False)
    basis = basis[singular > tolerance * singular.max(initial=0.0)]
    independent = _first_independent(basis, 1e3 * tolerance)
    base = np.linalg.solve(basis[:, independent] * scale[independent], basis * scale)
    base[np.abs(base) < _MIN_COEFFICIENT * np.maximum(1.0, np.abs(base).max(initial=0.0))] = 0.0
    return Identifiability(names, base, tuple(independent), method)


def _motion(samples: Any) -> tuple[Array, Array, Array]:
    q, v, a = (getattr(samples, name, None) for name in "qva")
    if q is None or v is None or a is None:
        raise InputError("samples need q, v and a; a raw log is prepared first, which derives what it lacks")
    return np.asarray(q, np.float64), np.asarray(v, np.float64), np.asarray(a, np.float64)


def _random_states(regression: Regression) -> tuple[Array, Array, Array]:
    """Enough states for the rank to be full with certainty, for all but a set of measure zero."""
    robot, rng = regression.robot, np.random.default_rng(0)
    n = 2 * len(regression.parameters) + 20
    q = np.array([robot.random(rng) for _ in range(n)])
    v, a = rng.normal(size=(2, n, robot.nv))
    return q, v, a


def _stacked(regression: Regression, q: Array, v: Array, a: Array, block: int = 1024) -> Array:
    """The triangular factor of all rows of the regressor, (p, p)."""
    p = len(regression.parameters)
    R = np.zeros((p, p), order="F")
    for start in range(0, len(q), block):
        part = slice(start, start + block)
        R = triangular(R, regression.regressor(q[part], v[part], a[part]).reshape(-1, p))
    return np.triu(R)


def _first_independent(basis: Array, tolerance: float) -> list[int]:
    """The first columns that are independent, as many as there are (orthonormal) rows."""
    left = basis.copy()
    found: list[int] = []
    for column in range(basis.shape[1]):
        length = float(np.linalg.norm(left[:, column]))
        if len(found) < len(basis) and length > tolerance:
            found.append(column)
            direction = left[:, column] / length
            left -= np.outer(direction, direction @ left)
    return found


def _spelled(row: Array, names: Sequence[str], first: int) -> str:
    words = names[first]
    for k in map(int, np.flatnonzero(row)):
        if k != first:
            size = "" if abs(abs(row[k]) - 1) < _PROJECTION_TOLERANCE else f"{abs(row[k]):.6g}*"
            words += f" {'-' if row[k] < 0 else '+'} {size}{names[k]}"
    return words
