"""Windows of a log on an even clock, and delayed commands."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.identification.trajectory_matching.recording import Recording

DT = 0.01


def recording(t: Array, **commands: Array) -> Recording:
    q = np.column_stack([np.sin(3 * t), np.cos(2 * t)])
    return Recording.of(hc.load("planar_2r"), hc.Log.from_arrays(t, q, **commands), 0.2, 0.05)


def test_delays_are_means_over_a_sampling_time() -> None:
    """By m + f samples: (1 - f) u[k - m] + f u[k - m - 1], another delay for each joint."""
    rng, n = np.random.default_rng(0), 100
    u = rng.normal(size=(n, 2))
    own = recording(np.arange(n) * DT, q_command=u)
    delay = np.array([0.0, 2.3 * DT])
    found = own.delayed(delay)
    k = own.index[:, :-1]
    assert np.allclose(found.values["q_command"][..., 0], u[k, 0])
    assert np.allclose(found.values["q_command"][..., 1], 0.7 * u[k - 2, 1] + 0.3 * u[k - 3, 1])
    later = own.delayed(delay + 1e-4).values["q_command"]
    slope = (later - found.values["q_command"]) / 1e-4
    assert np.allclose(slope, found.by_delay["q_command"], atol=1e-6 * np.abs(slope).max())


def test_uneven_stamps_are_resampled_and_commands_held() -> None:
    """Positions follow the stamps; a command acts from its stamp on."""
    rng, n = np.random.default_rng(1), 400
    t = np.arange(n) * DT + rng.uniform(-0.004, 0.004, n)
    own = recording(t, q_command=np.column_stack([t, t]))
    inner = slice(5, -5)
    assert np.abs(own.q[inner, 0] - np.sin(3 * own.t[inner])).max() < 1e-3
    sent = own.commands["q_command"][inner, 0]
    assert np.all(sent <= own.t[inner] + 1e-12) and np.all(own.t[inner] - sent < 0.02)
    assert np.abs(own.smooth[1][20:-20, 0] - 3 * np.cos(3 * own.t[20:-20])).max() < 0.05


def test_windows_stay_within_stretches() -> None:
    """After a gap commands of before do not act, and no window spans it."""
    t = np.concatenate([np.arange(100), 400 + np.arange(100)]) * DT
    own = recording(t, q_command=np.ones((200, 2)))
    starts, ends = own.t[own.index[:, 0]], own.t[own.index[:, -1]]
    assert np.all(ends - starts == pytest.approx(0.2)) and np.any(starts > 4.0) and np.any(ends < 1.0)
    assert np.all(own.first[100:] == 100)


def test_short_logs_are_refused() -> None:
    with pytest.raises(InputError, match="as long as one window"):
        recording(np.arange(22) * DT, q_command=np.zeros((22, 2)))
