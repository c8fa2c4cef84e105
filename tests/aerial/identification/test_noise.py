"""Slow noise: an Ornstein-Uhlenbeck process in white noise, found and whitened."""

from __future__ import annotations

import numpy as np
import pytest

from helicoid.aerial.identification.noise import SlowNoise, slow_noise

DT, WINDOW, TAU = 0.01, 4, 2.0
MIX = np.array([1.0, -0.5, 0.0, 0.3, 2.0, 0.0])  # what one gust does to the six channels


def rows(count: int, seed: int, yaw: np.ndarray | None = None) -> np.ndarray:
    """Residuals of a gust that moves all channels, and white noise that `WINDOW` samples share."""
    rng = np.random.default_rng(seed)
    phi = np.exp(-DT / TAU)
    gust = np.zeros((count, 2))
    for k in range(1, count):
        gust[k] = phi * gust[k - 1] + np.sqrt(1 - phi**2) * rng.normal(size=2)
    white = np.repeat(rng.normal(size=(count // WINDOW + 1, 6)), WINDOW, axis=0)[:count]
    if yaw is None:
        return gust[:, :1] * MIX + 0.5 * white
    c, s = np.cos(yaw), np.sin(yaw)
    x, y = c * gust[:, 0] + s * gust[:, 1], -s * gust[:, 0] + c * gust[:, 1]  # in the turning body
    found = 0.5 * white
    found[:, 0] += x
    found[:, 1] += y
    return found


def correlation(r: np.ndarray, lag: int) -> np.ndarray:
    return np.mean(r[lag:] * r[:-lag], axis=0) / np.mean(r**2, axis=0)


def test_whitened_residuals_are_white() -> None:
    left = [rows(20000, k) for k in range(2)]
    noise = slow_noise(left, [None, None], WINDOW, DT)
    assert noise is not None
    white = noise.whitened(1, left[1])
    assert np.abs(correlation(left[1], WINDOW)[[0, 4]]).min() > 0.7
    assert np.abs(correlation(white, WINDOW)).max() < 0.06
    np.testing.assert_allclose(np.std(white, axis=0), 1.0, atol=0.1)
    assert -WINDOW * DT / np.log(noise.phi) == pytest.approx(TAU)


def test_covariance_tells_what_one_gust_does_to_all_channels() -> None:
    noise = slow_noise([rows(60000, 3)], [None], WINDOW, DT)
    assert noise is not None
    found = noise.slow * np.outer(noise.size, noise.size)
    np.testing.assert_allclose(found, np.outer(MIX, MIX), atol=0.35)
    assert np.linalg.eigvalsh(noise.slow).min() > -1e-12


def test_whitening_is_linear_and_by_columns() -> None:
    """Of residuals and of each column of their derivatives alike, for lengths that no window divides."""
    left = rows(401, 1)
    noise = slow_noise([left], [None], WINDOW, DT)
    assert noise is not None
    columns = np.stack([left, -3 * left], axis=2)
    both = noise.whitened(0, columns)
    np.testing.assert_allclose(both[..., 0], noise.whitened(0, left), atol=1e-12)
    np.testing.assert_allclose(both[..., 1], -3 * both[..., 0], atol=1e-12)


def test_wind_stays_in_the_world_while_the_vehicle_turns() -> None:
    """Known headings make a gust slow that turns with the body at 3 rad/s."""
    yaw = 3.0 * DT * np.arange(20000)
    left = rows(20000, 5, yaw)
    told, untold = (slow_noise([left], [one], WINDOW, DT) for one in (yaw, None))
    assert told is not None and untold is not None
    assert told.phi > untold.phi
    white = [noise.innovations(_series(noise, left, one))[1] for noise, one in ((told, yaw), (untold, None))]
    assert white[0] < white[1]  # smaller innovations: better predicted


def _series(noise: SlowNoise, left: np.ndarray, yaw: np.ndarray | None) -> np.ndarray:
    count = len(left) // WINDOW * WINDOW
    return left[:count].reshape(-1, WINDOW, 6, 1)


def test_channels_beyond_force_and_moment_stay_white() -> None:
    """A comparison of sensors is no wind: its mean is not taken for slow noise."""
    left = np.hstack([rows(4000, 2), np.random.default_rng(0).normal(size=(4000, 3)) + 0.5])
    noise = slow_noise([left], [None], WINDOW, DT)
    assert noise is not None and not noise.slow[6:].any() and not noise.slow[:, 6:].any()


def test_absent_channels_and_short_parts() -> None:
    left = rows(2000, 4)
    left[:, :3] = 0.0
    noise = slow_noise([left], [None], WINDOW, DT)
    assert noise is not None and not noise.whitened(0, left)[:, :3].any()
    assert np.isfinite(noise.whitened(0, left)).all()
    assert slow_noise([rows(20, 4)], [None], WINDOW, DT) is None
