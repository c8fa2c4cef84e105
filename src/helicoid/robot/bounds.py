"""Bounds on the terms of the equations of motion over the joint limits, as stability proofs need them.

    μ1 1 ≤ M(q) ≤ μ2 1        ‖c(q, v)‖ ≤ c_b ‖v‖²        ‖g(q)‖ ≤ g_b

in the 2-norm, where μ1 and μ2 are the extreme eigenvalues of M; in the 1-norm and the ∞-norm, whose induced
norms of the symmetric M are the same largest column sum, μ1 ≤ ‖M(q)‖ ≤ μ2. For the 2-norm n² max |Γ_ijk(q)|
over the Christoffel symbols is a simpler and larger c_b.

The numbers are found by search: extreme values over random configurations, improved by local optimisation
from the best of them. They are attained at the returned configuration, so the true bound is at least as
extreme; they are not certified. Where velocities have different
units (rad/s beside m/s), the norms add entries of different units, and the bounds depend on the choice of
units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.progress import Progress, reporting
from helicoid.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class Bound:
    """An extreme value, where it occurs, and how it was found.

    `direction` is the unit velocity with that ‖c‖, or the eigenvector of that eigenvalue; gravity has none.
    """

    value: float
    configuration: Array
    direction: Array | None
    found: str


class DynamicsBounds(NamedTuple):
    """μ1, μ2, c_b and g_b, the ranges assumed for joints without limits, and n² max |Γ|."""

    mass_lower: Bound
    mass_upper: Bound
    coriolis: Bound
    gravity: Bound
    assumed: tuple[str, ...]
    christoffel: Bound


_NORMS: dict[float, Callable[[ca.SX], ca.SX]] = {1: ca.norm_1, 2: ca.norm_2, np.inf: ca.norm_inf}


def bounds(
    robot: Robot,
    samples: int = 2000,
    starts: int = 5,
    seed: int = 0,
    progress: Progress | bool | None = None,
    norm: float = 2,
) -> DynamicsBounds:
    """Search the bounds of a robot over its joint limits; of a parametric one, at its nominal parameters.

    Args:
        samples: number of random configurations (with a random unit velocity each).
        starts: number of local optimisations for each bound, from the best configurations.
        seed: of the random numbers; the same seed gives the same result.
        progress: a callback, True or False; by default a bar if it takes long (`helicoid.progress`).
        norm: 1, 2 or numpy.inf.

    >>> import helicoid as hc
    >>> found = bounds(hc.load("planar_2r"), samples=200)
    >>> round(found.gravity.value, 3)  # stretched out level
    33.311
    >>> found.gravity.found
    'largest of 200 random configurations, improved by local optimisation from the best 5'
    """
    if robot.nv == 0 or samples < 1 or not 1 <= starts <= samples:
        raise InputError(
            f"bounds need a robot that moves and 1 <= starts <= samples; "
            f"got nv = {robot.nv}, samples = {samples}, starts = {starts}"
        )
    if norm not in _NORMS:
        raise InputError(f"norm is 1, 2 or numpy.inf; got {norm!r}")
    with reporting(progress, "Searching bounds") as tell:
        search = _BoundSearch(Robot(robot.model), samples, starts, np.random.default_rng(seed), tell, norm)
        return DynamicsBounds(
            search.inertia(-1),
            search.inertia(1),
            search.coriolis(),
            search.gravity(),
            tuple(_assumed(robot)),
            search.christoffel(),
        )


class _Extremum(NamedTuple):
    value: float
    q: Array
    w: Array | None


class _BoundSearch:
    """Random configurations of one robot, and the optimisations that start from them."""

    def __init__(
        self,
        robot: Robot,
        samples: int,
        starts: int,
        rng: np.random.Generator,
        tell: Progress,
        norm: float,
    ) -> None:
        self.robot, self.starts, self.tell, self.norm = robot, starts, tell, norm
        self.Q = robot.random(rng, size=samples)
        W = rng.normal(size=(samples, robot.nv))
        self.W = W / np.linalg.norm(W, norm, axis=1, keepdims=True)
        self.done = 0
        self.q0, self.dv, self.w = (
            ca.SX.sym("q0", robot.nq),
            ca.SX.sym("dv", robot.nv),
            ca.SX.sym("w", robot.nv),
        )
        self.q = robot.integrate(self.q0, self.dv)

    def inertia(self, sign: int) -> Bound:
        """The largest of the norms of M for sign 1, the smallest for sign -1; eigenvalues for the 2-norm."""
        if self.norm == 2:
            return self.eigenvalue(sign)
        M = self.robot.mass_matrix(self.q)
        size = ca.mmax(ca.sum1(ca.fabs(M)))
        name = "μ2" if sign > 0 else "μ1"
        values = sign * np.abs(self.robot.mass_matrix(self.Q)).sum(axis=1).max(axis=1)
        return self._of_configuration(name, sign * size, values, "largest" if sign > 0 else "smallest", sign)

    def christoffel(self) -> Bound:
        """n² max |Γ_ijk|."""
        n = self.robot.nv
        symbols = np.abs(self.robot.christoffel_symbols(self.Q)).reshape(len(self.Q), -1)
        Γ = self.robot.christoffel_symbols(self.q)
        size = n**2 * ca.mmax(ca.fabs(ca.vec(Γ)))
        return self._of_configuration("n² max |Γ|", size, n**2 * symbols.max(axis=1), "largest")

    def eigenvalue(self, sign: int) -> Bound:
        """The largest eigenvalue of M for sign 1, the smallest for sign -1."""
        place, name = (-1, "μ2") if sign > 0 else (0, "μ1")
        robot = self.robot
        values = sign * np.linalg.eigvalsh(robot.mass_matrix(self.Q))[:, place]
        # dλ = uᵀ dM u for the unit eigenvector u: the slope of twice the kinetic energy at the velocity u.
        energy = 2 * sign * robot.kinetic_energy(self.q, self.w)
        slope = ca.Function("slope", [self.q0, self.dv, self.w], [ca.gradient(energy, self.dv)])

        def extreme(q0: Array, dv: Array) -> tuple[float, Array, Array]:
            λ, u = np.linalg.eigh(robot.mass_matrix(robot.integrate(q0, dv)))
            return sign * λ[place], np.asarray(slope(q0, dv, u[:, place])).ravel(), u[:, place]

        def refine(k: int) -> _Extremum:
            q0 = self.Q[k]
            dv = self._ascend(lambda x: extreme(q0, x)[:2], np.zeros(robot.nv), self._box(q0))
            value, _, u = extreme(q0, dv)
            return _Extremum(value, robot.integrate(q0, dv), u)

        best = self._best(name, values, refine)
        return Bound(sign * best.value, best.q, best.w, self._how("largest" if sign > 0 else "smallest"))

    def coriolis(self) -> Bound:
        """The largest ‖c(q, w)‖ over unit velocities w."""
        robot, norm = self.robot, _NORMS[self.norm]
        values = np.linalg.norm(robot.coriolis(self.Q, self.W), self.norm, axis=1)
        ratio = norm(robot.coriolis(self.q, self.w)) / norm(self.w) ** 2
        x = ca.vertcat(self.dv, self.w)
        climb = ca.Function("climb", [self.q0, x], [ratio, ca.gradient(ratio, x)])

        def refine(k: int) -> _Extremum:
            q0, start = self.Q[k], np.concatenate([np.zeros(robot.nv), self.W[k]])
            box = self._box(q0) + [(None, None)] * robot.nv
            x = self._ascend(lambda x: _numbers(climb(q0, x)), start, box)
            w = x[robot.nv :] / np.linalg.norm(x[robot.nv :], self.norm)
            q = robot.integrate(q0, x[: robot.nv])
            return _Extremum(float(np.linalg.norm(robot.coriolis(q, w), self.norm)), q, w)

        best = self._best("c_b", values, refine)
        return Bound(best.value, best.q, best.w, self._how("largest"))

    def gravity(self) -> Bound:
        """The largest ‖g(q)‖."""
        values = np.linalg.norm(self.robot.gravity(self.Q), self.norm, axis=1)
        return self._of_configuration("g_b", _NORMS[self.norm](self.robot.gravity(self.q)), values, "largest")

    def _of_configuration(self, name: str, size: ca.SX, values: Array, word: str, sign: int = 1) -> Bound:
        """The largest value of an expression in `q`, `sign` times it in the result."""
        climb = ca.Function("climb", [self.q0, self.dv], [size, ca.gradient(size, self.dv)])

        def refine(k: int) -> _Extremum:
            q0 = self.Q[k]
            dv = self._ascend(lambda x: _numbers(climb(q0, x)), np.zeros(self.robot.nv), self._box(q0))
            return _Extremum(float(climb(q0, dv)[0]), self.robot.integrate(q0, dv), None)

        best = self._best(name, values, refine)
        return Bound(sign * best.value, best.q, None, self._how(word))

    def _best(self, name: str, values: Array, refine: Callable[[int], _Extremum]) -> _Extremum:
        """The best of the local optimisations from the best samples."""
        results = []
        for k in np.argsort(values)[::-1][: self.starts]:
            self.tell(f"Searching {name}", self.done / (5 * self.starts))
            results.append(refine(int(k)))
            self.done += 1
        return max(results, key=lambda result: result.value)

    def _ascend(
        self,
        climb: Callable[[Array], tuple[float, Array]],
        start: Array,
        box: list[tuple[float | None, float | None]],
    ) -> Array:
        """A local maximum by L-BFGS-B; the start itself where no better point is found."""

        first = climb(start)[0]
        scale = abs(first) or 1.0  # the tolerances are absolute for values below one

        def descend(x: Array) -> tuple[float, Array]:
            value, slope = climb(x)
            return -value / scale, -np.nan_to_num(slope) / scale  # a norm has no slope where it is zero

        options = {"maxiter": 500, "ftol": 1e-14, "gtol": 1e-9}
        result = minimize(descend, start, jac=True, method="L-BFGS-B", bounds=box, options=options)
        return np.asarray(result.x) if climb(result.x)[0] >= first else start

    def _box(self, q0: Array) -> list[tuple[float | None, float | None]]:
        """Bounds of dv from q0, by the joint limits."""
        box: list[tuple[float | None, float | None]] = []
        start = 0
        for joint in self.robot.model.independent_joints:
            own = q0[start : start + joint.type.nq]
            start += joint.type.nq
            low, high = joint.type.tangent_range(own, joint.range.lower, joint.range.upper)
            box += list(zip(low, high, strict=True))
        return box

    def _how(self, word: str) -> str:
        return (
            f"{word} of {len(self.Q)} random configurations, improved by local optimisation "
            f"from the best {self.starts}"
        )


def _numbers(result: tuple[ca.DM, ca.DM]) -> tuple[float, Array]:
    value, slope = result
    return float(value), np.asarray(slope).ravel()


def _assumed(robot: Robot) -> Iterator[str]:
    """Ranges searched for joints without limits, unless they cover all configurations."""
    matters = _influential(robot)
    start = 0
    for joint in robot.model.independent_joints:
        own = slice(start, start + joint.type.nq)
        start = own.stop
        unlimited = np.isinf(joint.range.lower) | np.isinf(joint.range.upper)
        open_ended = unlimited & matters[own] & ~joint.type.reaches_all()
        if open_ended.any():
            ends = np.array(joint.type.range(joint.range.lower, joint.range.upper))[:, open_ended]
            spans = ", ".join(f"{a:g} to {b:g}" for a, b in ends.T)
            yield f"{joint.name} ({joint.type.kind}) has no limits: searched from {spans} only"


def _influential(robot: Robot) -> NDArray[np.bool_]:
    """Whether the mass matrix or gravity depends on each coordinate; not on the base's position."""
    plain = Robot(robot.model)
    patterns = [f.casadi.jac_sparsity(0, 0) for f in (plain.mass_matrix, plain.gravity)]
    depends = np.zeros(robot.nq, dtype=bool)
    for pattern in patterns:
        depends[np.unique(pattern.get_triplet()[1]).astype(int)] = True
    return depends
