"""Chapter 4 of the urdf2casadi thesis: what libraries offer, and how far their results differ."""

from __future__ import annotations

import numpy as np

from benchmarks.harness.calls import our_call
from benchmarks.harness.subjects import QUANTITIES, State, Subject, bundled_subject
from benchmarks.peers import Peer, hushed
from benchmarks.report import published
from benchmarks.report.comparison import Peers, prepared
from benchmarks.report.results import OURS
from benchmarks.report.tables import Sheet
from benchmarks.theses.extent import TITLES, Extent
from helicoid._typing import Array

LABELS = {"G": ("G",), "C": ("C",), "ID": ("ID",), "M": ("M",), "FD": ("FD (ABA)", "FD (CRBA)")}
"""Quantities of which a library has one."""
THEIRS = ("KDL", "RBDL", "PyBullet")
OFFERED = {"G": "1111", "C": "1111", "ID": "1011", "M": "1111", "FD": "1010"}
"""Table 4.1, of urdf2casadi, KDL, RBDL and PyBullet."""


def functionality(extent: Extent, peers: Peers) -> Sheet:
    """Table 4.1: dynamics that the libraries offer, found by calling them."""
    subject = bundled_subject(extent.robots[0])
    ready, _ = prepared(subject, {name: peer for name, peer in peers.items() if name != "urdf2casadi"})
    rows = []
    for label, quantities in LABELS.items():
        marks = ["✓" if mark == "1" else "–" for mark in OFFERED[label]]
        found = ["✓" if _offered(peer, quantities, subject.state()) else "–" for peer in ready.values()]
        rows.append((label, *marks, "✓", *found))
    names = ("urdf2casadi", *THEIRS)
    columns = ("", *(f"{name}, published" for name in names), OURS, *ready)
    note = "RBDL is not in the package registries: its columns are the published ones only. –: not offered."
    return Sheet("Table 4.1: dynamics that the libraries offer", columns, rows, note)


def differences(name: str, extent: Extent, peers: Peers) -> Sheet:
    """Tables 4.2 to 4.5: differences between libraries, summed over all states and entries."""
    subject = bundled_subject(name)
    ready, _ = prepared(subject, peers)
    if "urdf2casadi" in ready:
        vars(ready["urdf2casadi"])["interpreted"] = True
    states = _states(subject, extent.states)
    rows = []
    for label, quantities in LABELS.items():
        theirs = [_power(value) for value in published.DIFFERENCES[name][label]]
        ours = [our_call(subject, QUANTITIES[quantities[0]], state).run() for state in states]
        found = [_difference(peer, quantities, states, ours) for peer in ready.values()]
        rows.append((label, *theirs, *found, _power(float(np.abs(ours).sum()))))
    columns = (
        "",
        *(f"{one}/u2c, published" for one in THEIRS),
        *(f"{one}/{OURS}" for one in ready),
        "magnitude",
    )
    title = f"{TITLES[name]}: sums of absolute differences over {extent.states:,} random states"
    number = 2 + list(TITLES).index(name)
    note = (
        "Magnitude: sum of the absolute values. Torques are within the effort limits, hence large FD. –: not "
        "offered by the library."
    )
    return Sheet(f"Table 4.{number}: {title}", columns, rows, note)


def _states(subject: Subject, n: int) -> list[State]:
    """States within the limits, uniformly; accelerations and torques within ±1 where nothing limits them."""
    robot, rng = subject.robot, np.random.default_rng(1)
    limits = robot.limits
    q = np.array([robot.random(rng) for _ in range(n)])
    unit = rng.uniform(-1.0, 1.0, size=(4, n, robot.nv))
    speed, effort = (np.where(np.isfinite(bound), bound, 1.0) for bound in (limits.velocity, limits.effort))
    batch = State(q, unit[0] * speed, unit[1], unit[2] * effort, unit[3])
    return [State(*(part[k] for part in batch)) for k in range(n)]


def _offered(peer: Peer, quantities: tuple[str, ...], state: State) -> str:
    """The first of some quantities that a library has, or nothing."""
    with hushed():
        return next((one for one in quantities if peer.call(one, state) is not None), "")


def _difference(peer: Peer, quantities: tuple[str, ...], states: list[State], ours: list[Array]) -> str:
    label, total = _offered(peer, quantities, states[0]), 0.0
    if not label:
        return "–"
    with hushed():
        for state, truth in zip(states, ours, strict=True):
            call = peer.call(label, state)
            assert call is not None
            total += float(np.abs(call.run() - truth).sum())
    return _power(total)


def _power(value: float | None) -> str:
    return "–" if value is None else f"{value:.2e}" if value else "0"
