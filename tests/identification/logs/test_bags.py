"""Bags are written by the library that reads them; what a robot recorded must come back, joint by joint."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from written_bags import EPOCH, State, recorded, written

import helicoid as hc
from helicoid.errors import HelicoidError, InputError
from helicoid.identification.logs.log import DoubtfulLogWarning, Log

FORMS = ("ros1", "sqlite3", "mcap", "mcap_file", "db3_file")


def read(folder: Path, states: list[State], **choice: Any) -> Log:
    return Log.from_bag(written(folder, "mcap_file", {"/joint_states": states}), **choice)


@pytest.mark.parametrize("form", FORMS)
def test_what_was_recorded_comes_back(tmp_path: Path, form: str) -> None:
    # Every second message names its joints in the other order, as a publisher may.
    states = [recorded(order=(1, 0) if k % 2 else (0, 1))[k] for k in range(5)]
    log = Log.from_bag(written(tmp_path, form, {"/joint_states": states}), joints=["a", "b"])
    k = np.arange(5)[:, None]
    np.testing.assert_allclose(log.t, 0.01 * np.arange(5), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(log.q, k + np.array([0.2, 0.1]))
    assert log.v is not None and log.tau is not None
    np.testing.assert_array_equal(log.v, k + np.array([0.4, 0.3]))
    np.testing.assert_array_equal(log.tau, k + np.array([0.6, 0.5]))
    assert log.column("tau", 0) == "a.effort"


def test_order_of_the_first_message_or_of_a_robot(tmp_path: Path) -> None:
    robot = hc.load("planar_2r")
    states = recorded()
    for state in states:
        state.name = ["joint_2", "joint_1"]
    path = written(tmp_path, "sqlite3", {"/joint_states": states})
    assert Log.from_bag(path).q[0].tolist() == [0.1, 0.2]
    assert Log.from_bag(path, robot=robot).q[0].tolist() == [0.2, 0.1]
    assert Log.from_bag(path, joints=["joint_1"]).q.shape == (5, 1)
    with pytest.raises(InputError, match="give one of them"):
        Log.from_bag(path, robot=robot, joints=["joint_1"])
    with pytest.raises(InputError, match="has 7 coordinates"):
        Log.from_bag(path, robot=hc.load("ur5", base="floating"))
    with pytest.raises(InputError, match="list of names"):
        Log.from_bag(path, joints="joint_1")


@pytest.mark.parametrize("form", ["ros1", "mcap"])
def test_a_topic_is_chosen(tmp_path: Path, form: str) -> None:
    path = written(tmp_path, form, {"/arm": recorded(4), "/gripper": recorded(3)})
    assert len(Log.from_bag(path, "/gripper")) == 3
    with pytest.raises(InputError, match=r"several topics.*topic='/arm'.*/chatter \(std_msgs/msg/String\)"):
        Log.from_bag(path)
    with pytest.raises(InputError, match=r"no topic '/chatter' of type sensor_msgs.*/gripper"):
        Log.from_bag(path, "/chatter")


def test_no_such_topic(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no topic of type.*/chatter"):
        Log.from_bag(written(tmp_path, "mcap", {}))


@pytest.mark.parametrize("missing", [(), (np.nan, np.nan)])
def test_what_was_not_recorded_is_none(tmp_path: Path, missing: tuple[float, ...]) -> None:
    states = recorded()
    for state in states:
        state.velocity = state.effort = missing
    log = read(tmp_path, states)
    assert log.v is None and log.tau is None and log.q.shape == (5, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ["b"], "position": [1], "velocity": [1], "effort": [1]}, r"lacks a; it has b\."),
        ({"effort": ()}, "has no effort, others have"),
        ({"velocity": (1.0, 2.0, 3.0)}, "has 2 names and 3 of velocity"),
    ],
)
def test_faults_are_named_by_message_and_time(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    states = recorded()
    for key, value in changes.items():
        setattr(states[3], key, value)
    with pytest.raises(InputError, match=rf"message 3 of topic '/joint_states' \(0\.030 s.*{message}"):
        read(tmp_path, states)


def test_one_joint_without_effort_is_named(tmp_path: Path) -> None:
    states = recorded()
    for state in states:
        state.effort = (1.0, np.nan)
    with pytest.raises(InputError, match=r"column 'a.effort' is nan at sample 0"):
        read(tmp_path, states)
    assert Log.from_bag(tmp_path / "run", joints=["b"]).tau is not None


def test_times_of_the_bag_where_headers_have_none(tmp_path: Path) -> None:
    states = recorded(order=(0, 1))
    for k, state in enumerate(states):
        state.stamp, state.received = 0, EPOCH + 2 * k * 10**7
    np.testing.assert_allclose(read(tmp_path, states).t, 0.02 * np.arange(5), rtol=0, atol=1e-12)


def test_some_headers_without_time(tmp_path: Path) -> None:
    states = recorded()
    states[0].stamp = 0
    with pytest.warns(DoubtfulLogWarning, match="1 of 5 messages have no time"):
        log = read(tmp_path, states)
    np.testing.assert_allclose(log.t, 0.01 * np.arange(5), rtol=0, atol=1e-12)


def test_late_and_repeated_messages(tmp_path: Path) -> None:
    states = recorded()
    again = State(**{**vars(states[4]), "received": states[4].received + 10**6})
    states[1].received, states[2].received = states[2].received, states[1].received
    with pytest.warns(DoubtfulLogWarning, match="1 messages came before .* 1 are in the bag twice"):
        log = read(tmp_path, [*states, again])
    np.testing.assert_allclose(log.q[:, 0], 0.1 + np.arange(5))
    # Two that differ at one time cannot both be right.
    again.position = [7.0, 7.0]
    (tmp_path / "other").mkdir()
    with warnings.catch_warnings(), pytest.raises(InputError, match=r"repeats 0\.04 s at sample 5"):
        warnings.simplefilter("ignore")
        read(tmp_path / "other", [*states, again])


def test_too_few_messages(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds 1 messages"):
        read(tmp_path, recorded(1))


@pytest.mark.parametrize("name", ["run.bag", "run.mcap", "run.db3", "run.txt", "missing"])
def test_what_is_no_bag(tmp_path: Path, name: str) -> None:
    pytest.importorskip("rosbags", reason="reading bags needs rosbags (helicoid[bags])")
    if name != "missing":
        (tmp_path / name).write_bytes(b"no bag at all" * 100)
    with pytest.raises(InputError, match="cannot be read as a bag"):
        Log.from_bag(tmp_path / name)


def test_without_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "rosbags.rosbag1", None)
    with pytest.raises(HelicoidError, match=r"pip install 'helicoid\[bags\]'"):
        Log.from_bag(tmp_path / "run.bag")
