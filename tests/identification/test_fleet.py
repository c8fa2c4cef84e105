"""Fleets: a unit with more friction or a load stands out, equal ones do not, and intervals hold the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helicoid as hc

KIND = hc.load("double_pendulum")
GROUPS = ("inertia", "viscous", "coulomb", "offset")


def log(robot: hc.Robot, seed: int, viscous: Any = 0.3) -> hc.Log:
    """Some sines, and the torques of this unit with friction and noise."""
    rng = np.random.default_rng(seed)
    t = np.arange(800) / 100.0
    ω, phase = 2 * np.pi * rng.uniform(0.2, 1.0, (3, 2)), rng.uniform(0, 6, (3, 2))
    size, angle = rng.uniform(0.2, 0.5, (3, 2)), ω * t[:, None, None] + phase
    q = np.sum(size * np.sin(angle), axis=1)
    v, a = np.sum(size * ω * np.cos(angle), axis=1), -np.sum(size * ω**2 * np.sin(angle), axis=1)
    tau = robot.inverse_dynamics(q, v, a) + viscous * v + 0.2 * np.tanh(v / 0.01)
    noisy = tau + 0.05 * rng.normal(size=tau.shape)
    return hc.Log.from_arrays(t, q, v, a, noisy, source=f"log {seed}")


def fleet(units: dict[str, list[hc.Log]], **settings: Any) -> Any:
    return hc.identify_fleet(KIND, units, groups=GROUPS, cutoff=None, lag=0.0, regularisation=1.0, **settings)


@pytest.fixture(scope="module")
def mixed() -> Any:
    loaded = KIND.with_payload(KIND.link_names[-1], 0.2, [0.0, 0.0, -0.1], np.zeros((3, 3)))
    units = {f"unit-{k}": [log(KIND, 10 * k), log(KIND, 10 * k + 1)] for k in range(4)}
    units["worn"] = [log(KIND, 70, np.array([0.3, 0.5])), log(KIND, 71, np.array([0.3, 0.5]))]
    units["loaded"] = [log(loaded, 80), log(loaded, 81)]
    return fleet(units)


def test_units_that_differ_are_found_with_their_parameters(mixed: Any) -> None:
    assert set(mixed.standing_out) == {"worn", "loaded"}
    assert set(mixed.usual) == {"unit-0", "unit-1", "unit-2", "unit-3"}
    worn = mixed.standing_out["worn"][0]
    assert worn.name == "joint_2.damping"
    low, high = mixed.interval(worn)
    assert low < 0.2 < high
    mass = next(d for d in mixed.differences if d.unit == "loaded" and d.name.endswith(".m"))
    assert mixed.interval(mass)[0] < 0.2 < mixed.interval(mass)[1]
    assert "worn" in repr(mixed)


def test_equal_units_do_not_stand_out() -> None:
    found = fleet({f"unit-{k}": [log(KIND, 100 + 10 * k), log(KIND, 101 + 10 * k)] for k in range(5)})
    assert not found.standing_out
    z = np.array([one.z for one in found.differences if np.isfinite(one.sigma)])
    assert 0.6 < np.std(z) < 1.5  # deviations are what they say


def test_a_page_shows_them(mixed: Any, tmp_path: Path) -> None:
    mixed.report(tmp_path / "fleet.html")
    page = (tmp_path / "fleet.html").read_text(encoding="utf-8")
    assert "<b>" in page
    assert "worn" in page
    assert "joint_2.damping" in page
    assert "http" not in page.replace("http-equiv", "")


def test_units_and_all_have_results(mixed: Any) -> None:
    alone = hc.identify(
        KIND, [log(KIND, 10), log(KIND, 11)], groups=GROUPS, cutoff=None, lag=0.0, regularisation=1.0
    )
    np.testing.assert_allclose(mixed.units["unit-1"].x, alone.x, rtol=1e-6, atol=1e-8)
    assert len(mixed.units) == 6


def test_what_makes_no_fleet_is_refused() -> None:
    with pytest.raises(hc.InputError, match="at least two units"):
        hc.identify_fleet(KIND, {"one": [log(KIND, 1)]})
    with pytest.raises(hc.InputError, match="take another"):
        hc.identify_fleet(KIND, {"one": [], "two": []}, estimator="huber")
    still = hc.Log.from_arrays(np.arange(50) / 10, np.zeros((50, 2)), tau=np.zeros((50, 2)))
    with pytest.warns(UserWarning), pytest.raises(hc.InputError, match="no log can be used of 'two'"):
        fleet({"one": [log(KIND, 1)], "two": [still]})
    with pytest.warns(UserWarning, match="no log can be used of 'two': left out"):
        found = fleet({"one": [log(KIND, 1)], "two": [still], "three": [log(KIND, 2)]})
    assert set(found.units) == {"one", "three"}
    assert any("'two'" in note for note in found.common.notes)
