"""Bags written by the library that reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EPOCH = 1_700_000_000 * 10**9


@dataclass
class State:
    """A message to write: `stamp` and `received` in ns."""

    stamp: int
    received: int
    name: Sequence[str]
    position: Sequence[float]
    velocity: Sequence[float] = ()
    effort: Sequence[float] = ()


def recorded(n: int = 5, order: Sequence[int] = (0, 1)) -> list[State]:
    """Joints "b" and "a" (as `order` has them) that move, all different numbers."""
    names = ("b", "a")
    states = []
    for k in range(n):
        position, velocity, effort = (k + np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]))[:, list(order)]
        stamp = EPOCH + k * 10**7 + 3
        states.append(State(stamp, stamp + 10**9, [names[i] for i in order], position, velocity, effort))
    return states


def written(folder: Path, form: str, topics: dict[str, list[State]]) -> Path:
    """A bag with these topics, and one of text besides."""
    pytest.importorskip("rosbags", reason="writing and reading bags needs rosbags (helicoid[bags])")
    from rosbags import rosbag1, rosbag2
    from rosbags.typesys import Stores, get_typestore

    one = form == "ros1"
    store = get_typestore(Stores.ROS1_NOETIC if one else Stores.ROS2_HUMBLE)
    path = folder / ("run.bag" if one else "run")
    writer: Any
    if one:
        writer, serialize = rosbag1.Writer(path), store.serialize_ros1
    else:
        plugin = rosbag2.StoragePlugin.MCAP if form.startswith("mcap") else rosbag2.StoragePlugin.SQLITE3
        writer, serialize = rosbag2.Writer(path, version=9, storage_plugin=plugin), store.serialize_cdr
    types = store.types
    with writer:
        chatter = writer.add_connection("/chatter", "std_msgs/msg/String", typestore=store)
        writer.write(chatter, EPOCH, serialize(types["std_msgs/msg/String"]("hello"), "std_msgs/msg/String"))
        for topic, states in topics.items():
            connection = writer.add_connection(topic, "sensor_msgs/msg/JointState", typestore=store)
            for state in states:
                seconds, nanoseconds = divmod(state.stamp, 10**9)
                stamp = types["builtin_interfaces/msg/Time"](seconds, nanoseconds)
                sequence = (0,) if one else ()
                message = types["sensor_msgs/msg/JointState"](
                    types["std_msgs/msg/Header"](*sequence, stamp, ""),
                    list(state.name),
                    *(np.array(x, float, order="C") for x in (state.position, state.velocity, state.effort)),
                )
                writer.write(connection, state.received, serialize(message, "sensor_msgs/msg/JointState"))
    return next(path.glob(f"*.{form[:-5]}")) if form.endswith("_file") else path
