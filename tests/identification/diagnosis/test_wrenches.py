"""Wrenches of another convention are named, correct ones are not."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from synthetic_logs import motion

import helicoid as hc
from helicoid.identification import plot_sparsity

Array = NDArray[np.float64]

UR5 = hc.load("ur5")
TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # a quarter turn about z
SWAP = [3, 4, 5, 0, 1, 2]


def _rotated(w: Array, R: Array) -> Array:
    """Both halves of (N, 6), each row v as R v."""
    return np.concatenate(
        [np.einsum("...ij,nj->ni" if R.ndim == 2 else "nij,nj->ni", R, w[:, k : k + 3]) for k in (0, 3)], 1
    )


MISTAKES: dict[str, Callable[[Array, Array], Array]] = {
    "": lambda w, R: w,
    "the other sign": lambda w, R: -w,
    "forces first": lambda w, R: w[:, SWAP],
    "world axes": _rotated,
    "turned by 90°": lambda w, R: _rotated(w, TURN.T),
    "forces first, the other sign": lambda w, R: -w[:, SWAP],
    "the other sign, world axes": lambda w, R: -_rotated(w, R),
}


def reading(seed: int, mistake: str, link: str = "wrist_3_link", noise: float = 1.0) -> hc.Log:
    """A UR5 with an unknown load and a wrist sensor with offsets and noise, logged with a mistake."""
    rng = np.random.default_rng(seed)
    loaded = UR5.with_payload("tool0", rng.uniform(0.5, 3.0), rng.normal(0.0, 0.05, 3), 0.01 * np.eye(3))
    t, q, v, a = motion(UR5, seed, 6.0)
    w = loaded.sensor_wrench(link)(q, v, a)
    w = w + rng.normal(0.0, [0.3] * 3 + [5.0] * 3)
    w = w + noise * rng.normal(size=w.shape) * ([0.03] * 3 + [0.4] * 3)
    R = loaded.pose(link)(q)[:, :3, :3]
    return hc.Log.from_arrays(t, q, v, a, wrenches={link: MISTAKES[mistake](w, R)})


def said(log: hc.Log) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hc.identify_payload(UR5, log, "tool0")
    return " ".join(str(one.message) for one in caught)


def outcome(seed: int, mistake: str, **options: str) -> bool:
    found = said(reading(seed, mistake, **options))
    names = ("the other sign", "forces first", "world axes", "turned by 90°")
    expected = mistake.split(", ") if mistake else []
    return [name in found for name in names] == [name in expected for name in names]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_mistake_is_named(mistake: str) -> None:
    assert outcome(1, mistake)
    assert outcome(2, mistake, link="forearm_link")  # it carries four bodies


@pytest.mark.slow
def test_how_often() -> None:
    """On seeds that were not looked at."""
    wrong = {m: sum(not outcome(seed, m) for seed in range(700, 715)) for m in MISTAKES}
    assert wrong[""] == 0 and sum(wrong.values()) <= 5, wrong


def test_identify_says_it_in_the_notes() -> None:
    result = hc.identify(UR5, reading(3, "forces first"), lag=0.0, cutoff=None)
    assert not result.success and "forces first" in result.diagnosis
    assert any("forces first" in note for note in result.notes)
    right = hc.identify(UR5, reading(3, ""), lag=0.0, cutoff=None)
    assert right.success and not right.diagnosis


def test_a_log_at_rest_says_nothing() -> None:
    log = reading(4, "the other sign")
    still = hc.Log.from_arrays(
        log.t, np.tile(log.q[:1], (len(log), 1)), 0 * log.q, 0 * log.q,
        wrenches={"wrist_3_link": np.random.default_rng(0).normal(size=(len(log), 6))},
    )  # fmt: skip
    assert "most likely" not in said(still)


def test_wrong_shapes_and_unknown_links() -> None:
    log = reading(5, "")
    arrays = log.t, log.q, log.v, log.a
    with pytest.raises(hc.InputError, match="6 columns, 'wrist_3_link' has 3"):
        hc.Log.from_arrays(*arrays, wrenches={"wrist_3_link": np.zeros((len(log), 3))})
    with pytest.raises(hc.InputError, match="wrench of wrist_3_link"):
        hc.Log.from_arrays(*arrays, wrenches={"wrist_3_link": np.zeros((5, 6))})
    other = hc.Log.from_arrays(*arrays, wrenches={"wrist_9_link": np.zeros((len(log), 6))})
    for use in (lambda: hc.identify(UR5, other), lambda: hc.identify_payload(UR5, other, "tool0")):
        with pytest.raises(hc.HelicoidError, match="wrist_9_link"):
            use()
    with pytest.raises(hc.HelicoidError, match="tool9"):
        hc.identify_payload(UR5, log, "tool9")
    base = hc.Log.from_arrays(*arrays, wrenches={"base_link": np.ones((len(log), 6))})
    with pytest.raises(hc.HelicoidError, match="base_link"):
        hc.identify_payload(UR5, base, "tool0")


def test_a_single_name_is_no_list_of_links() -> None:
    """Its letters would be taken for links."""
    log = reading(5, "")
    for use in (
        lambda: hc.identifiability(UR5, wrenches="tool0"),
        lambda: plot_sparsity(UR5, wrenches="tool0"),
        lambda: hc.OnlineIdentifier(UR5, ("inertia",), wrenches="tool0"),
        lambda: hc.OnlineIdentifier(UR5, ("inertia",), wrenches=[3]),  # type: ignore[list-item]
        lambda: hc.Sensors(wrenches="tool0"),
    ):
        with pytest.raises(hc.InputError, match="wrenches is a list of links, such as"):
            use()
    with pytest.raises(hc.InputError, match="links to arrays by name, such as 'tool0'; got 3"):
        hc.Log.from_arrays(log.t, log.q, wrenches={3: log.wrenches["wrist_3_link"]})  # type: ignore[dict-item]


def test_what_no_wrench_depends_on_is_refused_online() -> None:
    with pytest.raises(hc.InputError, match="do not depend on friction"):
        hc.OnlineIdentifier(UR5, ("inertia", "friction"), wrenches=["wrist_3_link"])
    with pytest.raises(hc.HelicoidError, match="tool9"):
        hc.OnlineIdentifier(UR5, ("inertia",), wrenches=["tool9"])
    identifier = hc.OnlineIdentifier(UR5, ("inertia",), wrenches=["wrist_3_link", "forearm_link"])
    rest = np.zeros(6)
    with pytest.raises(hc.InputError, match="12"):
        identifier.update(rest, rest, rest, rest)
    with pytest.raises(hc.InputError, match="measured accelerations"):
        identifier.update_without_acceleration(rest, rest, np.zeros(12), 0.01)


def test_carried_and_bias_are_checked() -> None:
    log = reading(6, "")
    with pytest.raises(hc.InputError, match="carried is 'body' or 'link'"):
        hc.identify_payload(UR5, log, "tool0", carried="flange")  # type: ignore[arg-type]
