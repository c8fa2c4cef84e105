"""Answers of inverse kinematics as Pinocchio's kinematics see them: every real robot, on both bases."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from pinocchio_peer import Pinocchio
from real_robots import FILES, Array, load, skip_if_faulty, sweep

import helicoid as hc

pytestmark = pytest.mark.needs_compiler
FEW = {("panda.urdf", "fixed")}
N = 30


def poses(peer: Pinocchio, frame: str, Q: Array) -> Array:
    """The frame, (N, 4, 4)."""
    found = []
    for q in peer.q(Q):
        pin.framesForwardKinematics(peer.model, peer.data, q)
        found.append(peer.data.oMf[peer.model.getFrameId(frame)].homogeneous.copy())
    return np.array(found)


def tip(robot: hc.Robot) -> str | None:
    """The last link that a joint moves."""
    for name in reversed(robot.link_names):
        if ik_of(robot, name) is not None:
            return name
    return None


def ik_of(robot: hc.Robot, frame: str) -> hc.control.InverseKinematics | None:
    try:
        return hc.control.InverseKinematics(robot, frame)
    except hc.InputError:  # nothing moves it
        return None


@sweep(FILES, FEW, alternate=True)
def test_what_counts_as_reached_is_reached_and_what_is_within_reach_is_found(name: str, base: str) -> None:
    skip_if_faulty(name, base)
    robot = load(name, base)
    frame = tip(robot) if robot.nv else None
    if frame is None:
        pytest.skip("no joint moves anything")
    peer, ik = Pinocchio(FILES[name], robot, base), ik_of(robot, frame)
    assert ik is not None
    rng = np.random.default_rng(3)
    T = poses(peer, frame, robot.random(rng, size=N))
    away = T.copy()
    away[:, :3, 3] += 100.0 * rng.normal(size=(N, 3))  # out of reach of all but floating bases
    for targets, within in ((T, True), (away, base == "floating")):
        for q0 in (None, robot.random(rng)):
            found = ik(targets, q0)
            assert np.all(found.q >= robot.limits.lower) and np.all(found.q <= robot.limits.upper)
            wrong = np.abs(poses(peer, frame, found.q) - targets).max(axis=(1, 2))
            assert np.all(wrong[found.success] < 1e-5)
            assert found.success.mean() >= 0.95 if within else not found.success.any()
