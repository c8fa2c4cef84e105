"""Clocks of logs: lost samples, stamps that jitter, stamps that are right."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.identification.logs.clock import clock, stretches


def wave(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    ω = np.array([3.0, 5.0])
    return np.sin(np.outer(t, ω)), ω * np.cos(np.outer(t, ω))


@pytest.mark.parametrize("velocities", [True, False])
def test_lost_samples_do_not_move_the_clock(velocities: bool) -> None:
    """2 %, then 10 % of the samples of a log at 1 kHz are lost, and stamps jitter by 0.1 ms."""
    rng = np.random.default_rng(0)
    t = np.arange(10_000) / 1000
    kept = t[rng.random(len(t)) > np.where(t < 5, 0.02, 0.1)]
    q, v = wave(kept)
    log = hc.Log.from_arrays(kept + rng.uniform(-1e-4, 1e-4, len(kept)), q, v if velocities else None)
    assert stretches(log) == [slice(0, len(kept))]  # a few lost in a row are no gap
    found, note = clock(log)
    assert np.abs(found.stamps - kept).max() < 1e-3
    assert "jitters" in note


def test_even_samples_with_bad_stamps_are_taken_as_even() -> None:
    rng = np.random.default_rng(0)
    t = np.arange(2000) / 100
    log = hc.Log.from_arrays(t + rng.uniform(-3e-3, 3e-3, len(t)), *wave(t))
    found, note = clock(log)
    assert np.abs(found.stamps - t).max() < 1.5e-3 and note


def test_uneven_samples_with_right_stamps_keep_these() -> None:
    rng = np.random.default_rng(0)
    t = np.arange(2000) / 100 + rng.uniform(-3e-3, 3e-3, 2000)
    found, _ = clock(hc.Log.from_arrays(t, *wave(t)))
    assert np.abs(found.stamps - t).max() < 1e-9
