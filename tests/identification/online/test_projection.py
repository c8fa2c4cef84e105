"""Projection on physically consistent bodies: certified by duality, in any metric and from any start."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import helicoid as hc
from helicoid.identification.linear.solving.whitening import UPPER, WEIGHT, Whitening
from helicoid.identification.online.identifier import OnlineIdentifier
from helicoid.identification.online.projection import ConsistentSet
from helicoid.model.inertia import Inertia
from random_trees import Array, assert_close, seeds


def a_set(n_bodies: int, n_joints: int, rng: np.random.Generator) -> ConsistentSet:
    """Bodies of all shapes, then joints."""
    bodies = {}
    for k in range(n_bodies):
        root = rng.normal(size=(4, 4))
        bodies[10 * k] = Whitening(Inertia.from_pseudo(root @ root.T + 0.1 * np.eye(4)))
    n = 10 * n_bodies + n_joints
    return ConsistentSet(bodies, np.arange(10 * n_bodies, n), np.exp(rng.normal(size=n)))


def a_metric(n: int, decades: float, rng: np.random.Generator) -> Array:
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    return np.asarray((Q * 10 ** rng.uniform(0, decades, n)) @ Q.T)


def gap(members: ConsistentSet, wanted: Array, H: Array, found: Array) -> float:
    """½‖found - wanted‖²_H less what no member can be below: the dual at a multiplier λ of the cones.

    min ½‖w - ŵ‖²_H over w - e in K is at least λᵀ(e - ŵ) - ½ λᵀ H⁻¹ λ for each λ in K (K is its own dual).
    """
    assert members._last is not None
    rho = members._last.rho
    multiplier, rounding = rho * (found - members._last.s), 1e-9 * rho * np.abs(members._last.s).max()
    lowest = np.zeros(len(found))
    for start in members.bodies:
        own = slice(start, start + 10)
        lowest[own] = members.least * np.eye(4)[UPPER] * WEIGHT
        matrix = np.zeros((4, 4))
        matrix[UPPER] = multiplier[own] / WEIGHT
        smallest = np.linalg.eigvalsh(matrix, UPLO="U")[0]
        assert smallest >= -rounding
    assert multiplier[members.nonnegative].min(initial=0.0) >= -rounding
    least = multiplier @ (lowest - wanted) - multiplier @ np.linalg.solve(H, multiplier) / 2
    return float((found - wanted) @ H @ (found - wanted) / 2 - least)


@given(st.integers(0, 3), st.integers(0, 3), st.floats(0, 6), st.floats(-2, 1), seeds)
def test_nothing_is_nearer(n_bodies: int, n_joints: int, decades: float, far: float, seed: int) -> None:
    """From a cold start, after small changes, and after the metric has lost or gained much at once."""
    rng = np.random.default_rng(seed)
    members = a_set(n_bodies, n_joints + (n_bodies == 0), rng)
    n = len(members.W)
    H, wanted = a_metric(n, decades, rng), 10**far * rng.normal(size=n)
    for change in (1.0, 1.01, 1e-3, 1e3):
        H = change * H
        found = members.nearest(members.inverse @ wanted, H)
        assert members.contains(found)
        distance = float((members.W @ found - wanted) @ H @ (members.W @ found - wanted))
        assert gap(members, wanted, H, members.W @ found) <= 1e-3 + 1e-9 * distance
        wanted = wanted + 0.1 * np.linalg.solve(np.linalg.cholesky(H).T, rng.normal(size=n))


@given(seeds)
def test_members_are_nearest_to_themselves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    members = a_set(2, 2, rng)
    inside = np.concatenate([Inertia.from_pseudo(w.L @ w.L.T).parameters for w in members.bodies.values()])
    theta = np.concatenate([inside, rng.uniform(0, 1, 2)])
    assert members.contains(theta)
    assert_close(members.nearest(theta, a_metric(22, 3.0, rng)), theta, 1e-9)


@pytest.mark.parametrize("groups", [("payload",), ("inertia", "friction", "armature")])
def test_metric_is_the_inverse_covariance(
    groups: tuple[str, ...], rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = hc.load("planar_2r")
    identifier = OnlineIdentifier(
        robot, groups, payload_link="tip" if "payload" in groups else None, noise=0.1
    )
    for _ in range(40):
        q, v, a = rng.normal(size=(3, 2))
        # As of a robot that weighs less than nothing, and noisier than stated: no estimate is possible.
        identifier.update(q, v, a, -robot.inverse_dynamics(q, v, a) + 0.3 * rng.normal(size=2))
    used: list[Array] = []
    members = identifier._consistent
    nearest = members.nearest

    def spied(theta: Array, metric: Array) -> Array:
        used.append(metric)
        return nearest(theta, metric)

    monkeypatch.setattr(members, "nearest", spied)
    assert members.contains(identifier.theta)
    covariance = members.W @ identifier.covariance @ members.W.T
    assert_close(used[0] @ covariance, np.eye(len(covariance)), 1e-6, scale=1.0)
