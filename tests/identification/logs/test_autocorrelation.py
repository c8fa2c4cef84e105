"""Recurrence and autocorrelation time against signals whose values follow from their construction."""

from __future__ import annotations

import numpy as np
import pytest

from helicoid.identification.logs.autocorrelation import autocorrelation_time, recurrence


def test_autocorrelation_time_of_an_autoregressive_process() -> None:
    """1 + 2 Σ φ^k = (1 + φ) / (1 - φ)."""
    rng, phi = np.random.default_rng(0), 0.8
    x = rng.normal(size=(40_000, 4))
    for k in range(1, len(x)):
        x[k] += phi * x[k - 1]
    np.testing.assert_allclose(autocorrelation_time(x), (1 + phi) / (1 - phi), rtol=0.15)


@pytest.mark.parametrize("periods", [6, 12, 24])
def test_recurrence_of_a_sine_grows_with_its_periods(periods: int) -> None:
    """ρ = (1 - τ) cos(2π P τ): Σ ρ² over the log is P / 0.75 times that of the first quarter of a period."""
    t = np.linspace(0.0, 1.0, 4000, endpoint=False)
    q = np.column_stack([np.sin(2 * np.pi * periods * t + phase) for phase in (0.0, 0.4, 2.0)])
    assert recurrence(q) == pytest.approx(periods / 0.75, rel=0.15)


def test_a_motion_that_never_returns_is_not_redundant() -> None:
    t = np.linspace(0.0, 1.0, 2000)
    assert recurrence(np.column_stack([t, t**2])) < 1.7
    assert recurrence(np.zeros((100, 3))) == 1.0


def test_joints_at_rest_do_not_count() -> None:
    t = np.linspace(0.0, 1.0, 2000)
    moving = np.sin(2 * np.pi * 8 * t)
    noise = 1e-3 * np.random.default_rng(0).normal(size=len(t))
    assert recurrence(np.column_stack([moving, noise])) == pytest.approx(recurrence(moving[:, None]))
