"""Optimal experiment design of an excitation trajectory, with exact derivatives.

With the scaled regressor W of the base parameters over the samples and G = Wᵀ W:

    D-optimal   max log det G            the volume of the confidence ellipsoid
    condition   min log (‖G‖ ‖G⁻¹‖)      Frobenius norms: a smooth bound of log cond(W)², tight to log r
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.dynamics.tree import joint_motions, world_poses
from helicoid.errors import HelicoidError
from helicoid.identification.excitation.bounds import ExcitationBounds
from helicoid.identification.excitation.collision import distances
from helicoid.identification.excitation.fourier import RestingSeries
from helicoid.identification.excitation.scene import scene_distances
from helicoid.identification.identifiability import prior
from helicoid.identification.identifiability.base_equations import BaseEquations
from helicoid.interrupts import solving
from helicoid.model.model import WORLD

Criterion = Literal["d-optimal", "condition"]

_SAMPLES_PER_HARMONIC = 8
_POINTS_PER_HARMONIC = 12  # where limits are checked: between them q, v, a exceed by 3.5 % at most
_MIN_INFORMATION = 1e-9  # of the trace: keeps log det finite at a poor start


class ExcitationProblem:
    """max information(y) with bounds, y (n_free, n) the free numbers of a `RestingSeries` for each joint."""

    def __init__(
        self, equations: BaseEquations, series: RestingSeries, bounds: ExcitationBounds, criterion: Criterion
    ) -> None:
        self.equations, self.series, self.bounds, self.criterion = equations, series, bounds, criterion
        robot, K = equations.robot, equations.identifiability.base
        P = K @ prior.covariance(equations, 0.3) @ K.T
        self._scale = np.sqrt(np.diag(P))
        self._sigma = prior.noise(robot)
        self._n_samples = _SAMPLES_PER_HARMONIC * series.harmonics
        self._n_points = _POINTS_PER_HARMONIC * series.harmonics
        self._y = ca.MX.sym("y", series.n_free * robot.nv)
        self._objective = self._information_loss()

    def grid(self, n: int) -> Array:
        """n equal steps of the period, from its start."""
        return np.linspace(0.0, self.series.duration, n, endpoint=False)

    def _states(self, t: Array) -> list[Expression]:
        """q, v, a at times t, (n, N) each."""
        Y = ca.reshape(self._y, self.series.n_free, self.equations.robot.nv)
        rest = self.series.coefficients(np.zeros((self.series.n_free, self.equations.robot.nv)))
        return [(ca.DM(Phi @ self.series.basis) @ Y + ca.DM(Phi @ rest)).T for Phi in self.series.matrices(t)]

    def _information_loss(self) -> Expression:
        """The objective, from the samples' Gram matrices."""
        nv, r = self.equations.robot.nv, self.equations.identifiability.rank
        q, v, a = (ca.SX.sym(name, nv) for name in "qva")
        rows = self.equations.torque_rows(q, v, a)[:-1, :]
        W = ca.diag(self._scale) @ rows @ ca.diag(1 / self._sigma)
        gram = ca.Function("gram", [q, v, a], [ca.densify(W @ W.T)])
        total = gram.map(self._n_samples)(*self._states(self.grid(self._n_samples)))
        summed = ca.reshape(ca.sum2(ca.reshape(total, r * r, self._n_samples)), r, r) / self._n_samples
        return _loss(r, self.criterion)(summed)

    def _rows(
        self, n: int, q: Expression, v: Expression, a: Expression
    ) -> list[tuple[str, Expression, Any, Any]]:
        """(what, expression, lower, upper) of bounds that are not linear in y, at n points."""
        bounds, robot = self.bounds, self.equations.robot
        symbol = ca.SX.sym("q", robot.nv)
        found: list[tuple[str, Expression, Any, Any]] = []
        limited = np.flatnonzero(np.isfinite(bounds.effort))
        if len(limited):
            xs = [ca.SX.sym(name, robot.nv) for name in "qva"]
            torque = ca.Function(
                "torque",
                xs,
                [
                    robot.inverse_dynamics(*xs, friction=True, smoothing=self.equations.smoothing)[
                        limited.tolist()
                    ]
                    / bounds.effort[limited]
                ],
            )
            found.append(("torque", torque.map(n)(q, v, a), -1.0, 1.0))
        poses = world_poses(robot.model, joint_motions(robot.model, symbol))
        for frame, (low, high) in bounds.boxes.items():
            body, placement = robot.model.frame(frame)
            R, p = (ca.SX.eye(3), ca.SX.zeros(3)) if body == WORLD else poses[body]
            place = ca.Function("place", [symbol], [p + R @ placement.translation])
            found.append((f"box of {frame}", place.map(n)(q), np.tile(low, n), np.tile(high, n)))
        if bounds.pairs:
            apart = ca.Function(
                "apart", [symbol], [distances(robot.model, bounds.spheres, bounds.pairs, symbol)]
            )
            found.append(("clearance", apart.map(n)(q), bounds.clearance, np.inf))
        if bounds.around is not None:
            gaps = scene_distances(robot.model, bounds.around, symbol)
            away = ca.Function("away", [symbol], [gaps])
            found.append(("distance to the scene", away.map(n)(q), bounds.clearance, np.inf))
        return found

    def solve(
        self,
        start: Array,
        iterations: int,
        seconds: float,
        margins: Mapping[str, float],
        callback: Callable[[int, float], None],
    ) -> Array:
        """The best y found from `start`, with nonlinear bounds tightened by `margins` (of one, or m)."""
        n, series, bounds = self._n_points, self.series, self.bounds
        q, v, a = self._states(self.grid(n))
        shown = series.between(n)
        middle, half = (bounds.lower + bounds.upper) / 2, (bounds.upper - bounds.lower) / 2 * shown
        rows = [(q, middle - half, middle + half), (v, -bounds.velocity * shown, bounds.velocity * shown)]
        if np.all(np.isfinite(bounds.acceleration)):
            rows.append((a, -bounds.acceleration * shown, bounds.acceleration * shown))
        g = [ca.vec(expression) for expression, *_ in rows]
        lower = [np.tile(low, n) for _, low, _ in rows]
        upper = [np.tile(high, n) for *_, high in rows]
        for what, expression, low, high in self._rows(n, q, v, a):
            size, margin = expression.numel(), margins.get(what, 0.0)
            g.append(ca.vec(expression))
            lower.append(np.broadcast_to(np.asarray(low) + margin, (size,)))
            upper.append(np.broadcast_to(np.asarray(high) - margin, (size,)))
        progress = _Iterations(self._y.numel(), sum(part.numel() for part in g), callback)
        options: dict[str, Any] = {
            "print_time": False,
            "iteration_callback": progress,
            "ipopt": {
                "print_level": 0,
                "sb": "yes",
                "hessian_approximation": "limited-memory",
                "max_iter": iterations,
                "max_wall_time": seconds,
                "tol": 1e-4,
                "acceptable_tol": 1e-2,
                "acceptable_iter": 8,
                "acceptable_obj_change_tol": 1e-4,
                "mu_strategy": "adaptive",
            },
        }
        problem = {"x": self._y, "f": self._objective, "g": ca.vertcat(*g)}
        solver = ca.nlpsol("excitation", "ipopt", problem, options)
        numbers = {"x0": start.ravel(order="F"), "lbg": np.concatenate(lower), "ubg": np.concatenate(upper)}
        given = {key: ca.DM(value) for key, value in numbers.items()}  # no conversion is left to the solver
        with solving():
            solution = solver(**given)
        y = np.array(solution["x"]).reshape(start.shape, order="F")
        if not np.all(np.isfinite(y)):
            raise HelicoidError("no excitation trajectory was found: the solver diverged")
        return y

    def violations(self, y: Array, n: int) -> dict[str, float]:
        """Largest violation of each kind of nonlinear bound at n points (relative, or m)."""
        q, v, a = (
            ca.DM(np.asarray(Phi @ self.series.coefficients(y)).T)
            for Phi in self.series.matrices(self.grid(n))
        )
        worst = {}
        for what, expression, low, high in self._rows(n, q, v, a):
            values = np.array(expression).ravel(order="F")
            worst[what] = float(max((low - values).max(), (values - high).max()))
        return worst

    def loss(self, y: Array) -> float:
        """Criterion of the optimisation, to be minimised."""
        return float(self._evaluate(y.ravel(order="F")))

    def gradient(self, y: Array) -> Array:
        """The exact gradient of `loss`, shape of y."""
        return np.array(self._slope(y.ravel(order="F"))).reshape(y.shape, order="F")

    @cached_property
    def _evaluate(self) -> ca.Function:
        return ca.Function("loss", [self._y], [self._objective])

    @cached_property
    def _slope(self) -> ca.Function:
        return ca.Function("slope", [self._y], [ca.gradient(self._objective, self._y)])

    def regressor(self, q: Array, v: Array, a: Array) -> Array:
        """W of a motion, (N nv, r): base parameters in units of their prior σ, torques of the noise's."""
        rows = self.equations.torque_rows(q, v, a)[:, :-1] * self._scale[:, None] / self._sigma
        return np.moveaxis(rows, 1, 2).reshape(-1, len(self._scale))


def _loss(r: int, criterion: Criterion) -> ca.Function:
    """G (r, r) -> objective, by the Cholesky factor of G."""
    G = ca.SX.sym("G", r, r)
    L = ca.chol(ca.triu2symm(ca.triu(G)) + _MIN_INFORMATION * ca.trace(G) * ca.SX.eye(r)).T
    if criterion == "d-optimal":
        value = -2 * ca.sum1(ca.log(ca.diag(L)))
    else:
        inverse = ca.SX.zeros(r, r)
        for column in range(r):  # forward substitution
            for row in range(column, r):
                known = 1.0 if row == column else -(L[row, column:row] @ inverse[column:row, column])
                inverse[row, column] = known / L[row, row]
        value = (ca.log(ca.sumsqr(G)) + ca.log(ca.sumsqr(inverse.T @ inverse))) / 2
    return ca.Function("loss", [G], [value])


class _Iterations(ca.Callback):
    """Callback of each iteration of IPOPT with its criterion."""

    def __init__(self, nx: int, ng: int, report: Callable[[int, float], None]) -> None:
        ca.Callback.__init__(self)
        self._nx, self._ng, self._report, self._count = nx, ng, report, 0
        self.construct("iterations", {})

    def get_n_in(self) -> int:
        return int(ca.nlpsol_n_out())

    def get_n_out(self) -> int:
        return 1

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        sizes = {"f": 1, "x": self._nx, "lam_x": self._nx, "g": self._ng, "lam_g": self._ng}
        n = sizes.get(ca.nlpsol_out(i), 0)
        return ca.Sparsity.dense(n) if n else ca.Sparsity(0, 0)

    def eval(self, arguments: Any) -> list[int]:
        self._count += 1
        self._report(self._count, float(arguments[1]))
        return [0]
