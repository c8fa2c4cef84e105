"""Logs from ROS bags: ROS 1, and ROS 2 in SQLite or MCAP files.

Read are messages of type sensor_msgs/JointState: a stamp, names of joints, and for each a position (rad, m),
perhaps a velocity and perhaps an effort (N·m, N). Their definition is the same in every release of ROS, so
that other message types in a bag need no definition.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.errors import HelicoidError, InputError, warn
from helicoid.identification.logs.log import DoubtfulLogWarning, Log
from helicoid.robot import Robot
from helicoid.simulation.trajectory.archive import MAX_BYTES

_TYPE = "sensor_msgs/msg/JointState"
_FIELDS = {"q": "position", "v": "velocity", "tau": "effort"}


@dataclass(frozen=True, eq=False)
class _Message:
    """A JointState: `stamp` and `received` in ns; its place in messages."""

    stamp: int
    received: int
    names: tuple[str, ...]
    values: dict[str, Array]
    where: str


def read_bag(
    path: str | os.PathLike[str],
    topic: str | None = None,
    joints: Sequence[str] | None = None,
    robot: Robot | None = None,
    max_bytes: float = MAX_BYTES,
) -> Log:
    """`Log.from_bag`."""
    source = os.fspath(path)
    requested = _joints_of(robot, joints)
    with opened_bag(Path(source)) as (reader, deserialize):
        chosen = _topic(reader, topic, source)
        messages = list(_messages(reader, deserialize, chosen, source, max_bytes))
    if len(messages) < 2:
        raise InputError(
            f"{source}: topic {chosen!r} holds {len(messages)} messages; a log needs two or more"
        )
    names = requested or messages[0].names
    columns = [_columns(message, names) for message in messages]
    held = {kind: _stacked(messages, columns, field) for kind, field in _FIELDS.items()}
    if held["q"] is None:
        raise InputError(f"{source}: the messages of topic {chosen!r} hold no positions")
    times = _times(messages, source)
    rows = _in_order(times, [values for values in held.values() if values is not None], source)
    # From the first sample on: seconds since 1970 leave a double 0.2 µs.
    t = 1e-9 * (times[rows] - times[rows[0]])
    recorded: dict[str, Any] = {kind: values[rows] for kind, values in held.items() if values is not None}
    named = {kind: tuple(f"{name}.{_FIELDS[kind]}" for name in names) for kind in recorded}
    return Log(t, **recorded, columns=named, source=source)


def _joints_of(robot: Robot | None, joints: Sequence[str] | None) -> tuple[str, ...]:
    """The joints in the order of the requested columns; none for any."""
    if robot is not None and joints is not None:
        raise InputError("joints and robot both say which joints come in which order: give one of them")
    if robot is not None:
        for joint in robot.model.independent_joints:
            if joint.type.nq != 1:
                raise InputError(
                    f"joint {joint.name!r} of robot {robot.name!r} has {joint.type.nq} coordinates, a "
                    "JointState has one a joint: read the other joints with joints=[...], and put the log "
                    "together with Log.from_arrays"
                )
        joints = robot.joint_names
    if isinstance(joints, str):
        raise InputError(f"joints: expected a list of names, got the text {joints!r}")
    return tuple(joints or ())


@contextmanager
def opened_bag(path: Path) -> Iterator[tuple[Any, Any]]:
    """A reader of the bag, and the deserialiser of its messages; types of other packages are in the bag."""
    try:
        from rosbags.rosbag1 import Reader as Reader1
        from rosbags.rosbag2 import Reader as Reader2
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    except ImportError as error:
        raise HelicoidError("ROS bags need rosbags: pip install 'helicoid[bags]'") from error

    try:
        if path.suffix == ".bag":
            with Reader1(path) as first:
                store = get_typestore(Stores.ROS1_NOETIC)
                _register(store, first, get_types_from_msg)
                yield first, store.deserialize_ros1
        else:
            with Reader2(path) as second:
                store = get_typestore(Stores.LATEST)
                _register(store, second, get_types_from_msg)
                yield second, store.deserialize_cdr
    except HelicoidError:
        raise
    except Exception as error:  # decoders raise a dozen kinds of errors on damaged bytes
        cause = str(error).rstrip(".") or type(error).__name__
        raise InputError(
            f"{path}: cannot be read as a bag, it may be damaged: {cause}. A bag is a .bag file of ROS 1, a "
            "folder with a metadata.yaml of ROS 2, or an .mcap or .db3 file"
        ) from error


def _register(store: Any, reader: Any, types_of: Any) -> None:
    """Add the message types that the bag defines and the store does not know."""
    for one in reader.connections:
        if one.msgtype not in store.fielddefs and one.msgdef.format.name == "MSG":
            found = types_of(one.msgdef.data, one.msgtype)
            store.register({name: fields for name, fields in found.items() if name not in store.fielddefs})


def _topic(reader: Any, topic: str | None, source: str) -> str:
    held = {one.topic for one in reader.connections if one.msgtype == _TYPE}
    if topic is None and len(held) == 1:
        return str(held.pop())
    if topic is not None and topic in held:
        return topic
    there = ", ".join(sorted(f"{one.topic} ({one.msgtype})" for one in reader.connections)) or "nothing"
    if topic is not None:
        problem = f"has no topic {topic!r} of type {_TYPE}"
    elif held:
        problem = f"has several topics of type {_TYPE}; choose with topic={sorted(held)[0]!r}"
    else:
        problem = f"has no topic of type {_TYPE}"
    raise InputError(f"{source}: {problem}. It holds: {there}")


def _messages(reader: Any, deserialize: Any, topic: str, source: str, max_bytes: float) -> Iterator[_Message]:
    connections = [one for one in reader.connections if one.topic == topic and one.msgtype == _TYPE]
    first, size = None, 0
    for k, (_, received, data) in enumerate(reader.messages(connections=connections)):
        size += len(data)
        if size > max_bytes:
            raise InputError(
                f"{source}: the messages of topic {topic!r} take more than {max_bytes / 1e6:.6g} MB; if the "
                "bag is meant to be so large, read it with a larger max_bytes"
            )
        raw = deserialize(data, _TYPE)
        first = received if first is None else first
        where = (
            f"{source}: message {k} of topic {topic!r} ({1e-9 * (received - first):.3f} s after the first)"
        )
        stamp = raw.header.stamp.sec * 10**9 + raw.header.stamp.nanosec
        values = {field: np.asarray(getattr(raw, field), dtype=np.float64) for field in _FIELDS.values()}
        for field, numbers in values.items():
            if len(numbers) not in (0, len(raw.name)):
                raise InputError(f"{where} has {len(raw.name)} names and {len(numbers)} of {field}")
        yield _Message(stamp, received, tuple(raw.name), values, where)


def _columns(message: _Message, names: tuple[str, ...]) -> list[int]:
    """Index of each joint in the message."""
    try:
        return [message.names.index(name) for name in names]
    except ValueError:
        lacking = [name for name in names if name not in message.names]
        raise InputError(
            f"{message.where} lacks {', '.join(lacking)}; it has {', '.join(message.names) or 'no joints'}. "
            "Say which joints, in which order, with joints=[...]"
        ) from None


def _stacked(messages: list[_Message], columns: list[list[int]], field: str) -> Array | None:
    """Recorded values (N, n); None if empty in every message, or NaN everywhere."""
    lengths = [len(message.values[field]) for message in messages]
    if not any(lengths):
        return None
    if not all(lengths):
        k = lengths.index(0)
        raise InputError(f"{messages[k].where} has no {field}, others have: all or none must have it")
    rows = [message.values[field][own] for message, own in zip(messages, columns, strict=True)]
    values = np.array(rows)
    # ros2_control publishes NaN for what a drive does not measure.
    return None if np.isnan(values).all() else values


def _times(messages: list[_Message], source: str) -> Any:
    """ns, (N,) of whole numbers: the stamps of the headers; those of the bag where no header has one."""
    stamps = np.array([message.stamp for message in messages], dtype=np.int64)
    if stamps.all():
        return stamps
    if stamps.any():
        _warn(
            f"{source}: {np.sum(stamps == 0)} of {len(stamps)} messages have no time in their header: the "
            "times at which the bag received the messages are used for all"
        )
    return np.array([message.received for message in messages], dtype=np.int64)


def _in_order(times: Any, held: list[Array], source: str) -> Any:
    """The messages by time, without those that are in the bag twice."""
    order = np.argsort(times, kind="stable")
    table = np.column_stack([np.empty((len(times), 0)), *held])[order]
    again = (np.diff(times[order]) == 0) & np.all(table[1:] == table[:-1], axis=1)
    moved = int(np.sum(np.diff(times) < 0))
    if moved or again.any():
        _warn(
            f"{source}: {moved} messages came before an earlier one and were put in order; {again.sum()} are "
            "in the bag twice and were taken once"
        )
    return order[np.append(True, ~again)]


def _warn(text: str) -> None:
    warn(DoubtfulLogWarning(text))
