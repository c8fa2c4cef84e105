"""Bounded least squares against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from helicoid.identification.linear.solving.bounded import bounded_least_squares, bounded_minimum


@pytest.mark.parametrize("seed", range(20))
def test_bounded_least_squares_is_that_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    R, z = rng.normal(size=(20, 8)) @ rng.normal(size=(8, 8)), rng.normal(size=20)
    least = np.where(rng.random(8) < 0.5, -0.05, -np.inf)
    expected = lsq_linear(R, z, (least, np.full(8, np.inf)), tol=1e-14).x
    np.testing.assert_allclose(bounded_least_squares(R, z, least), expected, atol=1e-6)
    np.testing.assert_allclose(bounded_minimum(R.T @ R, R.T @ z, least), expected, atol=1e-6)


def test_conditioning_is_not_squared() -> None:
    rng = np.random.default_rng(0)
    R = np.linalg.qr(rng.normal(size=(6, 6)))[0] * np.logspace(0, -9, 6)
    u = rng.normal(size=6)
    found = bounded_least_squares(R, R @ u, np.full(6, -np.inf))
    np.testing.assert_allclose(found, u, rtol=1e-5)
