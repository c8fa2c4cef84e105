"""Derivatives of M, C and g along the inertial parameters, in which they are linear.

A column of M is the momentum of a unit velocity, a column of C the Coriolis torque of a unit reference
velocity: their regressors are the derivatives. Equation numbers: Garofalo, Ott and Albu-Schäffer (2013).
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.recursions.regressor import momentum_regressor, regressor, slotine_li_regressor
from helicoid.model.model import Model


def mass_matrix_parameter_derivatives(model: Model, physics: Physics, q: Expression) -> Expression:
    """∂M_ij/∂π_k at [i, j, k], nv × nv × 10 n_bodies (13a)."""
    columns = [momentum_regressor(model, physics, q, unit) for unit in _units(model)]
    # M is symmetric, and the row of a joint far out is the cheaper one of the two.
    n = range(model.nv)
    return _stacked(model, [columns[min(i, j)][max(i, j), :] for i in n for j in n])


def coriolis_matrix_parameter_derivatives(
    model: Model, physics: Physics, q: Expression, v: Expression
) -> Expression:
    """∂C_ij/∂π_k at [i, j, k], nv × nv × 10 n_bodies (13b), for the C of `coriolis_matrix`."""
    weightless = replace(physics, gravity=ca.SX.zeros(3))
    rest = ca.SX.zeros(model.nv)
    columns = [slotine_li_regressor(model, weightless, q, v, unit, rest) for unit in _units(model)]
    return _stacked(model, [column[i, :] for i in range(model.nv) for column in columns])


def gravity_parameter_derivatives(model: Model, physics: Physics, q: Expression) -> Expression:
    """∂g_i/∂π_k at [i, k], nv × 10 n_bodies (13c)."""
    rest = ca.SX.zeros(model.nv)
    return regressor(model, physics, q, rest, rest)


def _units(model: Model) -> list[Expression]:
    return ca.horzsplit(ca.SX.eye(model.nv)) if model.nv else []


def _stacked(model: Model, rows: list[Expression]) -> Expression:
    """Rows [i, j] in row-major order."""
    return ca.vertcat(*rows) if rows else ca.SX(0, 10 * len(model.bodies))
