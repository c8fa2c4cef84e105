"""Log-Cholesky coordinates: ten free numbers for a body, all of which are physically consistent.

    P = e^{2α} U Uᵀ,   U = [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]

P is the pseudo-inertia, e^{2α} the mass, t the centre of mass (Rucker and Wensing 2022, "Smooth
parameterization of rigid-body inertia"). η = (α, d1, d2, d3, s12, s23, s13, t1, t2, t3) ranges over all of
R¹⁰, and every positive definite P has exactly one η: physical consistency needs no conic constraint.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.compiler import Function, Input, Output
from helicoid.errors import InputError
from helicoid.geometry._array import is_symbolic
from helicoid.identification.linear.solving.whitening import Whitening, reference, vector
from helicoid.model.inertia import Inertia


def inertial_parameters(eta: Any) -> Any:
    """π (10) of log-Cholesky coordinates η (10); NumPy, also (..., 10), or CasADi.

    >>> inertial_parameters(np.zeros(10))  # 1 kg, spread by 1 m in each direction
    array([1., 0., 0., 0., 2., 0., 0., 2., 0., 2.])
    """
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = _elements(eta)
    exp = ca.exp if is_symbolic(eta) else np.exp
    m, e1, e2, e3 = exp(2 * alpha), exp(d1), exp(d2), exp(d3)
    # Σ/m = A Aᵀ + t tᵀ, A the upper left 3 × 3 of U
    xx = e1 * e1 + s12 * s12 + s13 * s13 + t1 * t1
    yy = e2 * e2 + s23 * s23 + t2 * t2
    zz = e3 * e3 + t3 * t3
    xy = s12 * e2 + s13 * s23 + t1 * t2
    xz = s13 * e3 + t1 * t3
    yz = s23 * e3 + t2 * t3
    # I = tr(Σ) 1 - Σ
    per_mass = [t1, t2, t3, yy + zz, 0 - xy, 0 - xz, xx + zz, 0 - yz, xx + yy]
    return _joined([m, *(m * x for x in per_mass)], eta)


def log_cholesky(pi: Any) -> Any:
    """η (10) of the inertial parameters π of a body that can exist; NumPy, also (..., 10), or CasADi.

    Raises:
        InputError: the pseudo-inertia of some π (as numbers) is not positive definite.

    >>> pi = inertial_parameters(np.linspace(-0.5, 0.5, 10))
    >>> np.allclose(log_cholesky(pi), np.linspace(-0.5, 0.5, 10))
    True
    """
    m, h1, h2, h3, xx, xy, xz, yy, yz, zz = _elements(pi)
    log, sqrt = (ca.log, ca.sqrt) if is_symbolic(pi) else (_log, _sqrt)
    half = (xx + yy + zz) / 2
    t1, t2, t3 = h1 / m, h2 / m, h3 / m
    e3 = sqrt((half - zz) / m - t3 * t3)
    s23, s13 = (-yz / m - t2 * t3) / e3, (-xz / m - t1 * t3) / e3
    e2 = sqrt((half - yy) / m - t2 * t2 - s23 * s23)
    s12 = (-xy / m - t1 * t2 - s13 * s23) / e2
    e1 = sqrt((half - xx) / m - t1 * t1 - s12 * s12 - s13 * s13)
    return _joined([log(m) / 2, log(e1), log(e2), log(e3), s12, s23, s13, t1, t2, t3], pi)


MIN_LOG_SIZE = 0.5 * np.log(1e-3)
"""Lower bound of α and d of a body: a thousandth of the reference body's mass or squared extent."""


def least_step(eta: Array) -> Array:
    """Largest decrease of η (10 n): it keeps some mass and extent of each body."""
    least = np.full((len(eta) // 10, 10), -np.inf)
    least[:, :4] = np.minimum(MIN_LOG_SIZE - eta.reshape(-1, 10)[:, :4], 0.0)
    return least.ravel()


class LogCholeskyCoordinates:
    """Log-Cholesky coordinates of bodies relative to reference bodies: P = L P'(η) Lᵀ.

    L Lᵀ is the pseudo-inertia of the reference, which has η = 0. All ten are dimensionless; 0.1 is about a
    tenth of the body in each. The coordinates of n bodies are concatenated, (10 n).

    >>> import helicoid as hc
    >>> bodies = [body.inertia for body in hc.load("double_pendulum").model.bodies]
    >>> coordinates = LogCholeskyCoordinates(bodies)
    >>> np.allclose(coordinates.parameters(np.zeros(20)), np.concatenate([b.parameters for b in bodies]))
    True
    """

    def __init__(self, references: list[Inertia]) -> None:
        whitenings = [Whitening(body) for body in references]
        # π = to_body @ π', from and to the elements of P' that `Whitening` is about.
        unit = np.column_stack([vector(Inertia.from_parameters(row).pseudo) for row in np.eye(10)])
        self._to_body = [w.inverse @ unit for w in whitenings]
        self._to_unit = [np.linalg.inv(matrix) for matrix in self._to_body]
        eta = ca.SX.sym("eta", 10)
        pi = inertial_parameters(eta)
        self._function = Function.from_expressions(
            "inertial_parameters",
            [(Input("eta", (10,)), eta)],
            [(Output("pi", (10,)), pi), (Output("dpi_deta", (10, 10)), ca.densify(ca.jacobian(pi, eta)))],
        )

    def __len__(self) -> int:
        return len(self._to_body)

    def parameters(self, eta: Array) -> Array:
        """π (10 n) of η (10 n)."""
        own = inertial_parameters(eta.reshape(-1, 10))
        return np.concatenate([np.zeros(0), *(T @ x for T, x in zip(self._to_body, own, strict=True))])

    def jacobian(self, eta: Array) -> Array:
        """∂π/∂η, (10 n, 10 n), a block for each body."""
        result = np.zeros((len(eta), len(eta)))
        for k, T in enumerate(self._to_body):
            own = slice(10 * k, 10 * k + 10)
            result[own, own] = T @ self._function(eta[own]).dpi_deta
        return result

    def coordinates(self, pi: Array) -> Array:
        """η (10 n) of π (10 n), bodies that can exist."""
        own = [T @ x for T, x in zip(self._to_unit, pi.reshape(-1, 10), strict=True)]
        return log_cholesky(np.array(own).reshape(-1, 10)).ravel()


def solid_bodies(pi: Array, part: float = 1e-3) -> list[Inertia]:
    """The bodies of π (10 n), with some mass and extent where they have none: such have coordinates.

    `part` is the least mass, of the mean of all bodies.
    """
    bodies = [Inertia.from_parameters(own) for own in pi.reshape(-1, 10)]
    masses = [body.mass for body in bodies if body.mass > 0]
    least = part * (float(np.mean(masses)) if masses else 1.0)
    return [reference(body, least) for body in bodies]


def _elements(x: Any) -> list[Any]:
    if is_symbolic(x):
        if x.shape != (10, 1):
            raise InputError(f"a body has 10 numbers in a column; got CasADi shape {x.shape}")
        return [x[k] for k in range(10)]
    x = np.asarray(x, dtype=np.float64)
    if x.shape[-1:] != (10,):
        raise InputError(f"a body has 10 numbers; got shape {x.shape}")
    return [x[..., k] for k in range(10)]


def _joined(elements: list[Any], like: Any) -> Any:
    return ca.vertcat(*elements) if is_symbolic(like) else np.stack(elements, axis=-1)


def _sqrt(x: Array) -> Array:
    return np.sqrt(_positive(x))


def _log(x: Array) -> Array:
    return np.log(_positive(x))


def _positive(x: Array) -> Array:
    if not np.all(x > 0):
        raise InputError(
            "these inertial parameters belong to no body with mass and extent in every direction: their "
            "pseudo-inertia is not positive definite, so that they have no log-Cholesky coordinates"
        )
    return x
