"""Derivatives of the closed form along the inertial parameters, in which it is linear.

Equation numbers are those of Garofalo, Ott and Albu-Schäffer (2013). `coriolis_matrix` has another C with the
same C v and the same Ṁ - 2 C skew-symmetric, and derivatives of its own.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.closed_form.composite import matrices
from helicoid.dynamics.physics import Physics
from helicoid.model.model import Model


def coriolis_parameter_derivatives(
    model: Model, physics: Physics, q: Expression, v: Expression
) -> Expression:
    """∂C_ij/∂π_k at [i, j, k], nv × nv × 10 n_bodies (13b).

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v = [0.3, 0.8], [1.0, -2.0]
    >>> dC = robot.closed_form_coriolis_parameter_derivatives(q, v)
    >>> np.allclose(dC @ robot.parameters.values, robot.closed_form(q, v).C)
    True
    """
    pi, symbolic = _symbolic(model, physics)
    _, C, _ = matrices(model, symbolic, q, v)
    return ca.jacobian(ca.vec(C.T), pi)


def slotine_li_regressor(
    model: Model, physics: Physics, q: Expression, v: Expression, v_r: Expression, a_r: Expression
) -> Expression:
    """Y with M a_r + C v_r + g = Y π for the C of (6b), nv × 10 n_bodies (15, 16); armature apart.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, v_r, a_r = [0.3, 0.8], [1.0, -2.0], np.array([0.4, 0.1]), np.array([0.5, 3.0])
    >>> M, C, g = robot.closed_form(q, v)
    >>> Y = robot.closed_form_slotine_li_regressor(q, v, v_r, a_r)
    >>> np.allclose(Y @ robot.parameters.values, M @ a_r + C @ v_r + g)
    True
    """
    pi, symbolic = _symbolic(model, replace(physics, armature=ca.SX.zeros(model.nv)))
    M, C, g = matrices(model, symbolic, q, v)
    return ca.jacobian(M @ a_r + C @ v_r + g, pi)


def _symbolic(model: Model, physics: Physics) -> tuple[Expression, Physics]:
    """Symbols of all inertial parameters, and the physics of them."""
    pi = ca.SX.sym("pi", 10 * len(model.bodies))
    inertias = tuple(pi[10 * k : 10 * k + 10] for k in range(len(model.bodies)))
    return pi, replace(physics, inertias=inertias)
