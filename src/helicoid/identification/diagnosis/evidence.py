"""Misfit of a log to a description whose bodies are uncertain by tens of percent, with unknown friction.

With y the torques, u the unknowns in units of their prior σ, and N samples that count as n = 100,

    S = min over u of  Σ_k  n |y_k - Y_k u|² / (N (ε |y_k|)²)  +  |u|²,     friction, armature, springs >= 0

is small for a log of the described robot, and large for one with wrong columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.friction import TERMS
from helicoid.identification.linear.equations.friction_columns import linear_terms
from helicoid.identification.linear.equations.regression import Regression, default_groups
from helicoid.identification.linear.equations.stack import Factor
from helicoid.identification.linear.solving.bounded import bounded_minimum
from helicoid.identification.linear.solving.consistent import nonnegative_unknowns
from helicoid.identification.linear.solving.whitened_coordinates import usual_magnitudes, whitened_coordinates
from helicoid.identification.logs.preparation import Samples
from helicoid.robot import Robot

EFFECTIVE_SAMPLES = 100.0
_RELATIVE_RESIDUAL = 0.05  # of the torque of a joint: usual error of models of real joints
_BODY_SIGMA = 0.25  # of itself: prior σ of a described body
_JOINT_SIGMA = 0.2  # of its usual size: prior σ of friction, offset and armature
_MAX_SAMPLES = 160
_MAX_SUSPECTS = 8  # rows: hypotheses are about those with the largest residuals
_ROUNDING_TOLERANCE = 1e-11  # of |y|²


class LoggedMotion(NamedTuple):
    """Motion and torques of some samples of a log: q (N, nq), v, a, tau (N, nv)."""

    q: Array
    v: Array
    a: Array
    tau: Array


def some_motion(stretches: Sequence[Samples]) -> LoggedMotion:
    """A few hundred samples spread over all stretches, where every row counts."""
    kept = [np.all(samples.weights > 0, axis=1) for samples in stretches]
    step = max(1, sum(int(mask.sum()) for mask in kept) // _MAX_SAMPLES)
    pairs = list(zip(stretches, kept, strict=True))
    names = ("q", "v", "a", "y")
    return LoggedMotion(*(np.vstack([getattr(s, name)[mask][::step] for s, mask in pairs]) for name in names))


class Prior(NamedTuple):
    """Prior of the unknowns: x = origin + T u, with lower bounds of u."""

    regression: Regression
    origin: Array
    T: Array
    least: Array
    bodies: tuple[int, ...]

    def whitened(self, Y: Array) -> Array:
        """Y T of (N, rows, p), rows first: T mixes the ten parameters of a body and scales all others."""
        found = np.ascontiguousarray(Y.transpose(1, 0, 2)) * self.T.diagonal()
        for start in self.bodies:
            own = slice(start, start + 10)
            found[:, :, own] = (Y[:, :, own] @ self.T[own, own]).transpose(1, 0, 2)
        return found


def prior(robot: Robot) -> Prior:
    """The prior of a description."""
    # Load-dependent friction is left out: the described weight itself may be wrong.
    candidates = [term for term in linear_terms("candidate") if TERMS[term].depends_on_position]
    elastic = ("elastic",) if robot.model.elastic else ()
    regression = Regression(robot, (*default_groups(), *candidates, *elastic))
    p = len(regression.parameters)
    bodies = whitened_coordinates(regression, Factor(np.eye(p), np.zeros(p), 0.0))
    T = _BODY_SIGMA * bodies.T
    others, usual = list(bodies.others), usual_magnitudes(regression)
    T[others, others] = _JOINT_SIGMA * usual[others]
    least = np.full(p, -np.inf)
    own = nonnegative_unknowns(regression)
    least[own] = -bodies.origin[own] / T.diagonal()[own]
    return Prior(regression, bodies.origin, T, least, bodies.bodies)


class Evidence:
    """The moments of a motion's equations, from which S follows for any order, sign and scale of torques."""

    def __init__(self, known: Prior, motion: LoggedMotion, Y: Array | None = None) -> None:
        regression = known.regression
        if Y is None:
            Y = regression.regressor(motion.q, motion.v, motion.a)
        stated = Y @ known.origin
        beside = regression.known(motion.q, motion.v, motion.a)
        stated = stated if beside is None else stated + beside
        n, nv = motion.tau.shape
        self.known, self.motion, self.Y, self.names = known, motion, Y, regression.row_names
        whitened = known.whitened(Y)
        self.squares = np.matmul(whitened.transpose(0, 2, 1), whitened) / n
        self.with_tau = np.matmul(whitened.transpose(0, 2, 1), motion.tau[None]) / n  # (row, p, column)
        self.with_stated = np.einsum("knp,nk->kp", whitened, stated) / n
        self.tau_stated = motion.tau.T @ stated / n  # (column, row)
        self.tau_tau = np.mean(motion.tau**2, axis=0)
        self.stated_stated = np.mean(stated**2, axis=0)
        largest = float(self.tau_tau.max(initial=0.0))
        self.rows = [k for k in range(nv) if k in regression.jointed and self.tau_tau[k] > 1e-16 * largest]

    def suspects(self, most: int = _MAX_SUSPECTS) -> list[int]:
        """Rows with the largest relative residuals, in order of their number."""
        if len(self.rows) <= most:
            return self.rows
        u = self.fitted()[1]
        left = {
            k: self.tau_tau[k]
            - 2 * (self.tau_stated[k, k] + self.with_tau[k, :, k] @ u)
            + self.stated_stated[k]
            + (2 * self.with_stated[k] + self.squares[k] @ u) @ u
            for k in self.rows
        }
        worst = sorted(self.rows, key=lambda k: -left[k] / self.tau_tau[k])
        return sorted(worst[:most])

    def misfit(self, columns: Sequence[int] | None = None, scale: Array | None = None) -> float:
        """S where row k is `scale[k]` times the torque in `columns[k]`."""
        return self.fitted(columns, scale)[0]

    def fitted(self, columns: Sequence[int] | None = None, scale: Array | None = None) -> tuple[float, Array]:
        """Minimum S over u, and its minimiser."""
        A, b, c = self.normal_equations(columns, scale)
        A += np.eye(len(b))
        u = bounded_minimum(A, b, self.known.least)
        # Of two large sums that cancel, S is never less than |u|².
        return float(max(c - 2 * b @ u + u @ A @ u, u @ u)) + _ROUNDING_TOLERANCE * c, u

    def normal_equations(
        self, columns: Sequence[int] | None = None, scale: Array | None = None
    ) -> tuple[Array, Array, float]:
        """A (p, p), b (p,) and c of the sum of squares c - 2 bᵀu + uᵀA u, without the prior."""
        nv, p = len(self.squares), len(self.known.origin)
        columns = range(nv) if columns is None else columns
        scale = np.ones(nv) if scale is None else scale
        A, b, c = np.zeros((p, p)), np.zeros(p), 0.0
        for k in self.rows:
            j, s = columns[k], scale[k]
            weight = EFFECTIVE_SAMPLES / (_RELATIVE_RESIDUAL**2 * s * s * max(self.tau_tau[j], 1e-300))
            A += weight * self.squares[k]
            b += weight * (s * self.with_tau[k, :, j] - self.with_stated[k])
            c += weight * (s * s * self.tau_tau[j] - 2 * s * self.tau_stated[j, k] + self.stated_stated[k])
        return A, b, float(c)
