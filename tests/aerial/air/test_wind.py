from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import solve_continuous_lyapunov
from scipy.signal import welch

import helicoid as hc
from helicoid.compiler import Iteration

GUSTS = hc.aerial.Dryden(10.0)


def _linear(V: float, h: float):
    """A, B, C of the filters: they are linear in state and noise."""
    z, xi = ca.SX.sym("z", 5), ca.SX.sym("xi", 3)
    rate, out = GUSTS.rate(z, xi, ca.SX(V), ca.SX(h)), GUSTS.velocity(z, ca.SX(h))
    f = ca.Function("f", [], [ca.jacobian(rate, z), ca.jacobian(rate, xi), ca.jacobian(out, z)])
    return [np.array(m) for m in f.call([])]


def _spectra(omega, V: float, h: float):
    """One-sided spectra of MIL-F-8785C, (m/s)²/(rad/s): ∫ over ω > 0 is σ²."""
    result = []
    for k, (L, s) in enumerate(zip(GUSTS.lengths(h), GUSTS.deviations(h), strict=True)):
        x = (L * omega / V) ** 2
        if k == 0:
            result.append(s**2 * 2 * L / (np.pi * V) / (1 + x))
        else:
            result.append(s**2 * L / (np.pi * V) * (1 + 3 * x) / (1 + x) ** 2)
    return result


@pytest.mark.parametrize(("V", "h"), [(25.0, 100.0), (5.0, 20.0), (1.0, 6.0), (60.0, 300.0)])
def test_filters_have_drydens_spectra_at_every_speed_and_height(V, h):
    A, B, C = _linear(V, h)
    omega = np.logspace(-3, 2, 41)
    for k, wanted in enumerate(_spectra(omega, V, h)):
        H = np.array([(C @ np.linalg.solve(1j * w * np.eye(5) - A, B))[k] for w in omega])
        # Unit intensity: two-sided density 1/(2π) per rad/s, so one-sided 1/π.
        np.testing.assert_allclose((np.abs(H) ** 2).sum(axis=1) / np.pi, wanted, rtol=1e-9)


@pytest.mark.parametrize("V", [2.0, 25.0])
def test_variance_is_sigma_squared(V):
    A, B, C = _linear(V, 50.0)
    P = solve_continuous_lyapunov(A, -B @ B.T)
    np.testing.assert_allclose(np.sqrt(np.diag(C @ P @ C.T)), GUSTS.deviations(50.0), rtol=1e-9)


def test_heights_of_the_standard_are_followed():
    lengths, sigma = GUSTS.lengths(np.array([3.048, 304.8])), GUSTS.deviations(np.array([3.048, 304.8]))
    np.testing.assert_allclose(lengths[2], [3.048, 304.8])
    np.testing.assert_allclose(lengths[0][1], 304.8, rtol=1e-9)  # isotropic at 1000 ft
    np.testing.assert_allclose(sigma[0][1], sigma[2][1], rtol=1e-9)
    assert sigma[0][0] > 1.9 * sigma[2][0]


def test_sampled_noise_gives_the_spectrum(rng):
    """What a simulation does: noise held over a step, N(0, 1)/√dt, and a periodogram of the outcome."""
    V, h, dt, n, runs = 25.0, 50.0, 0.02, 4096, 64
    A, B, C = _linear(V, h)
    z, xi = ca.SX.sym("z", 5), ca.SX.sym("xi", 3)
    step = hc.Function.from_expressions(
        "step",
        {"z": z, "xi": xi},
        {"z_next": z + dt * (ca.SX(A) @ (z + dt / 2 * (ca.SX(A) @ z)) + ca.SX(B) @ xi)},
    )
    rows = np.zeros((n + 1, runs, 5))
    P = solve_continuous_lyapunov(A, -B @ B.T)
    rows[0] = rng.multivariate_normal(np.zeros(5), P, size=runs)
    Iteration(step, [rows], [rng.normal(size=(n, runs, 3)) / np.sqrt(dt)]).run(0, n)
    gusts = rows @ C.T
    frequency, density = welch(gusts, 1 / dt, nperseg=1024, axis=0, detrend=False)
    band = (frequency > 0.1) & (frequency < 5)
    found = density.mean(axis=1)[band] / (2 * np.pi)
    for k, wanted in enumerate(_spectra(2 * np.pi * frequency[band], V, h)):
        assert np.abs(np.log(found[:, k] / wanted)).mean() < 0.1


def test_shear_and_bad_wind():
    wind = hc.aerial.Wind((3.0, 4.0, 0.0), reference_height=10.0, exponent=0.2)
    np.testing.assert_allclose(wind.mean(320.0), [6.0, 8.0, 0.0])
    with pytest.raises(hc.InputError, match="three finite numbers"):
        hc.aerial.Wind((1.0, np.nan, 0.0))
    with pytest.raises(hc.InputError, match="exponent"):
        hc.aerial.Wind(exponent=2.0)
    with pytest.raises(hc.InputError, match="wind at 6 m"):
        hc.aerial.Dryden(-1.0)
