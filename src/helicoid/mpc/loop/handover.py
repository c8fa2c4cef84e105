"""Projection of an estimated payload onto physically consistent parameters, in closed form."""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array

_REACH = 0.5  # m: how far a load may reach from its link's frame
_RADIUS = 1e-3  # m: how small it may be


def possible(theta: Array) -> Array:
    """A payload's ten parameters near the given ones whose pseudo-inertia is positive semidefinite.

        P = [Σ h; hᵀ m] ⪰ 0   if and only if   m >= 0 and Σ_c = Σ - h hᵀ/m ⪰ 0,   Σ = ½ tr(I) 1 - I.

    Gravity identifies mass and centre of mass far better than motion identifies the inertia. So m and h are
    kept (unless the mass is negative, or the centre farther away than a load reaches), and Σ_c, the second
    moments about the centre, has its eigenvalues clipped to those of a load of sensible size.

    >>> possible(np.array([2.0, 0.0, 0.0, 0.2, -1.0, 0.0, 0.0, 0.02, 0.0, 0.0]))[:4]
    array([2. , 0. , 0. , 0.2])
    """
    m, h = float(theta[0]), theta[1:4]
    if m <= 0:
        return np.zeros(10)
    distance = float(np.sqrt(h @ h)) / m
    if distance > _REACH:
        h = h * (_REACH / distance)
    Ixx, Ixy, Ixz, Iyy, Iyz, Izz = theta[4:].tolist()
    half = (Ixx + Iyy + Izz) / 2
    Σ = np.array([[half - Ixx, -Ixy, -Ixz], [-Ixy, half - Iyy, -Iyz], [-Ixz, -Iyz, half - Izz]])
    carried = np.multiply.outer(h, h / m)
    values, vectors = np.linalg.eigh(Σ - carried)
    Σ = (vectors * np.clip(values, m * _RADIUS**2, m * _REACH**2)) @ vectors.T + carried
    (a, d, e), (_, b, f), (_, _, c) = Σ.tolist()
    return np.array([m, *h, b + c, -d, -e, a + c, -f, a + b])
