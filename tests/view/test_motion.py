"""Motions come from trajectories, files and postures, or say what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from helicoid.simulation import simulate
from helicoid.view.controls import from_handles, handles, neutral_within_limits, to_handles
from helicoid.view.motion import PlayedMotion, as_motion, read_motion, thinned
from helicoid.view.playback import sample
from random_trees import assert_close, few, robots, seeds, spans, state

T, Q = np.array([0.0, 0.5, 1.0]), np.array([[0.0, 0.1], [0.2, 0.3], [0.4, 0.5]])


@pytest.fixture
def robot() -> hc.Robot:
    return hc.load("double_pendulum")


@pytest.mark.parametrize(
    ("t", "q", "message"),
    [
        (T, Q[:2], r"\(3,\) and \(2, 2\)"),
        (T, Q[:, :1], r"\(N, 2\)"),
        (T[:0], Q[:0], r"\(0,\)"),
        (T, np.stack([Q, Q]), "one of the batch"),
        (T[::-1], Q, "sample 1 is at 0.5 s"),
        (T, np.where(Q == 0.3, np.nan, Q), "configuration of sample 1 is not finite"),
        (np.array([0, np.inf, np.inf]), Q, "time of sample 1"),
    ],
)
def test_what_is_no_motion_is_refused(robot: hc.Robot, t: object, q: object, message: str) -> None:
    with pytest.raises(hc.InputError, match=message):
        as_motion(robot, SimpleNamespace(t=t, q=q))


def test_words_are_no_motion(robot: hc.Robot) -> None:
    with pytest.raises(hc.InputError, match="got 'fast'"):
        as_motion(robot, "fast")


def test_thinning_keeps_the_ends_and_the_rate() -> None:
    t = np.linspace(0, 2, 2001)
    kept = thinned(PlayedMotion(t, t[:, None]), 50.0)
    assert kept.t[0] == 0 and kept.t[-1] == 2
    assert len(kept.t) == 101
    assert np.diff(kept.t).min() > 0.019
    np.testing.assert_array_equal(kept.q[:, 0], kept.t)


def test_the_sample_shown_is_the_last_that_has_come() -> None:
    assert [sample(T, t) for t in (-1.0, 0.0, 0.49, 0.5, 0.99, 7.0)] == [0, 0, 0, 1, 1, 2]


@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_what_a_trajectory_saves_is_read_back(tmp_path: Path, suffix: str) -> None:
    robot = hc.load("quadruped", base="floating")
    motion = simulate(robot, robot.random(1), duration=0.03, dt=0.01)
    motion.save(tmp_path / f"motion.{suffix}")
    read = read_motion(robot, tmp_path / f"motion.{suffix}")
    np.testing.assert_array_equal(read.t, motion.t)
    np.testing.assert_array_equal(read.q, motion.q)


@pytest.mark.parametrize(
    "header", ["time,q1,q2,note", "t,q[0],q[1],x", "q.joint1,t,q.joint2,", "a,t,joint2,joint1"]
)
def test_columns_are_found_by_name_or_number(tmp_path: Path, robot: hc.Robot, header: str) -> None:
    names = header.replace("joint1", robot.joint_names[0]).replace("joint2", robot.joint_names[1]).split(",")
    first = next(k for k, name in enumerate(names) if name in ("q1", "q[0]") or robot.joint_names[0] in name)
    second = next(k for k, name in enumerate(names) if name in ("q2", "q[1]") or robot.joint_names[1] in name)
    table = np.full((3, 4), 7.0)
    table[:, next(k for k, name in enumerate(names) if name in ("t", "time"))] = T
    table[:, first], table[:, second] = Q.T
    rows = [",".join(names), *(",".join(map(str, row)) for row in table)]
    (tmp_path / "motion.csv").write_text("\n".join(rows) + "\n")
    motion = read_motion(robot, tmp_path / "motion.csv")
    np.testing.assert_array_equal(motion.t, T)
    np.testing.assert_array_equal(motion.q, Q)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("none.csv", None, "no such file"),
        ("a.txt", "t,q0,q1\n", r"\.npz or \.csv"),
        ("a.csv", "q0,q1\n1,2\n", "no column 't' or 'time'"),
        ("a.csv", "", "no column 't' or 'time'"),
        ("a.csv", "t,q0\n1,2\n", "2 columns q0, q1 ... .it has 1 of these"),
        ("a.csv", "t,q0,q1\n0,0,0\n\n1,2,x\n", "line 4: .*'x'"),
        ("a.csv", "t,q0,q1\n0,0,0\n1,2\n", "line 3: 2 values"),
        ("a.csv", "t,q0,q1\n0,0,\n", "sample 0 is not finite"),
    ],
)
def test_files_that_are_no_motion_say_where(
    tmp_path: Path, robot: hc.Robot, name: str, text: str | None, message: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(hc.InputError, match=message):
        read_motion(robot, tmp_path / name)


def test_an_archive_without_q_says_what_it_has(tmp_path: Path, robot: hc.Robot) -> None:
    np.savez(tmp_path / "a.npz", t=T, x=Q)
    with pytest.raises(hc.InputError, match="no array 'q'; there are: t, x"):
        read_motion(robot, tmp_path / "a.npz")


@given(robots(), seeds)
@few
def test_sliders_reach_every_configuration(robot: hc.Robot, seed: int) -> None:
    """What the sliders of a joint show gives back its configuration."""
    q = state(robot, seed).q
    for joint in robot.model.independent_joints:
        part = q[spans(robot)[joint.name][0]]
        values = to_handles(joint, part)
        ranges = handles(joint)
        assert len(ranges) == len(values) == joint.type.nv
        assert all(h.lower <= x <= h.upper for h, x in zip(ranges, values, strict=True))
        apart = joint.type.difference(ca.SX(part), ca.SX(from_handles(joint, values)))
        assert_close(np.array(ca.evalf(apart)), np.zeros((joint.type.nv, 1)), 1e-6, scale=1.0)


def test_the_initial_configuration_is_within_the_limits() -> None:
    robot = hc.load("panda")
    q = neutral_within_limits(robot)
    assert (q >= robot.limits.lower).all() and (q <= robot.limits.upper).all()
    assert q[0] == 0 and q[3] == robot.limits.upper[3] < 0
