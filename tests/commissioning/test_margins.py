"""Margins of the joint loops beside the eigenvalues of the sampled loop."""

from __future__ import annotations

import numpy as np
import pytest

from helicoid.commissioning.margins import allowed_frequency, integral_gain, loop_margins, worst_margins

PERIOD = 1e-3


def largest_eigenvalue(frequency: float, samples: int, factor: float) -> float:
    """Of the sampled loop: a double integrator held over a period, a delay of whole samples, the integral."""
    T, k = PERIOD, integral_gain(frequency)
    n = 3 + samples  # position, velocity, integral, delayed commands
    A = np.zeros((n, n))
    A[0, :2], A[1, 1] = [1.0, T], 1.0
    A[2, [0, 2]] = T, 1.0
    command = np.zeros(n)
    command[:3] = -factor * np.array([frequency**2, 2 * frequency, k])
    acting = command if samples == 0 else np.eye(n)[n - 1]
    A[0] += T**2 / 2 * acting
    A[1] += T * acting
    if samples:
        A[3] = command
        A[4:, 3:-1] = np.eye(samples - 1)
    return float(np.abs(np.linalg.eigvals(A)).max())


@pytest.mark.parametrize("frequency", [10.0, 25.0, 60.0])
@pytest.mark.parametrize(("samples", "tolerance"), [(1, 0.12), (3, 0.04), (8, 0.04)])
def test_gain_margin_is_where_the_sampled_loop_becomes_unstable(
    frequency: float, samples: int, tolerance: float
) -> None:
    gain = loop_margins(frequency, samples * PERIOD, PERIOD).gain
    assert largest_eigenvalue(frequency, samples, (1 - tolerance) * gain) < 1
    assert largest_eigenvalue(frequency, samples, (1 + tolerance) * gain) > 1


@pytest.mark.parametrize("frequency", [15.0, 40.0])
def test_delay_margin_is_the_delay_that_makes_the_sampled_loop_unstable(frequency: float) -> None:
    samples = loop_margins(frequency, 0.0, PERIOD).delay / PERIOD
    assert largest_eigenvalue(frequency, int(0.97 * samples), 1.0) < 1
    assert largest_eigenvalue(frequency, int(np.ceil(1.03 * samples)), 1.0) > 1


def test_a_lighter_joint_has_the_margins_of_higher_gains() -> None:
    whole, light = (loop_margins(20.0, 0.004, PERIOD, mu).gain for mu in (1.0, 0.5))
    assert light == pytest.approx(whole / 2, rel=1e-2)


def test_the_allowed_frequency_falls_with_the_delay_and_ends_at_none() -> None:
    found = [allowed_frequency(delay, PERIOD, 80.0) for delay in (0.0, 0.003, 0.01, 0.03)]
    assert found == sorted(found, reverse=True) and found[0] == pytest.approx(80.0)
    assert worst_margins(found[2], 0.01, PERIOD).phase >= 50.0
    assert allowed_frequency(0.5, PERIOD, 80.0) == 0.0
