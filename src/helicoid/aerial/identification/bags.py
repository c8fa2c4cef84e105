"""Flight logs from ROS bags: ROS 1, and ROS 2 in SQLite or MCAP files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.aerial.identification.flight_log import COLUMNS, FlightLog
from helicoid.arrays import file_name
from helicoid.errors import InputError
from helicoid.identification.logs.bags import opened_bag

FIELDS: Mapping[str, Mapping[str, str]] = {
    "sensor_msgs/msg/Imu": {"gyro": "angular_velocity", "accelerometer": "linear_acceleration"},
    "geometry_msgs/msg/PoseStamped": {"position": "pose.position", "attitude": "pose.orientation"},
    "geometry_msgs/msg/PoseWithCovarianceStamped": {
        "position": "pose.pose.position",
        "attitude": "pose.pose.orientation",
    },
    "geometry_msgs/msg/TransformStamped": {
        "position": "transform.translation",
        "attitude": "transform.rotation",
    },
    "nav_msgs/msg/Odometry": {"position": "pose.pose.position", "attitude": "pose.pose.orientation"},
    "sensor_msgs/msg/BatteryState": {"voltage": "voltage"},
    "sensor_msgs/msg/JointState": {"speed": "velocity"},
    "mav_msgs/msg/Actuators": {"command": "angular_velocities"},
    "actuator_msgs/msg/Actuators": {"command": "velocity"},
    "mavros_msgs/msg/RCOut": {"command": "channels"},
    "std_msgs/msg/Float32MultiArray": {"command": "data"},
    "std_msgs/msg/Float64MultiArray": {"command": "data"},
}
"""Fields of message types that are channels of a flight; any type is read with the field in `topics`."""


def read_bag(
    path: str | os.PathLike[str], topics: Mapping[str, str] | None = None, z_down: bool = False
) -> FlightLog:
    """`FlightLog.from_bag`."""
    from helicoid.aerial.identification.readers import z_up

    source, given = file_name(path), dict(topics or {})
    for name in given:
        if name not in COLUMNS:
            raise InputError(f"{source}: {name!r} is no channel; there are: {', '.join(COLUMNS)}")
    held: dict[str, Any] = {}
    with opened_bag(Path(source)) as (reader, deserialize):
        there = _list(reader)
        for name in COLUMNS:
            chosen = _source(reader, name, given.get(name), source)
            if chosen is not None:
                t, values = _samples(reader, deserialize, *chosen, source)
                held[name] = (t, z_up(name, values) if z_down else values)
    if "command" not in held:
        raise InputError(
            f"{source}: no topic is known to hold commands: say topics={{'command': '/topic:field'}}; it "
            f"holds {there}"
        )
    start = min(t[0] for t, _ in held.values())
    # From the first sample on: seconds since 1970 leave a double 0.2 µs.
    return FlightLog(
        None, **{name: (1e-9 * (t - start), values) for name, (t, values) in held.items()}, source=source
    )


def _source(reader: Any, name: str, given: str | None, source: str) -> tuple[str, str] | None:
    """Topic and field of a channel; None where there is none.

    Raises:
        InputError: the topic is not in the bag, its type needs a field, or there are several.
    """
    types = {one.topic: one.msgtype for one in reader.connections}
    if given is not None:
        topic, _, field = given.partition(":")
        if topic not in types:
            raise InputError(f"{source}: has no topic {topic!r}; it holds {_list(reader)}")
        field = field or FIELDS.get(types[topic], {}).get(name, "")
        if not field:
            raise InputError(
                f"{source}: which field of {types[topic]} is the {name}? Say topics={{{name!r}: "
                f"'{topic}:field'}}"
            )
        return topic, field
    found = [topic for topic, kind in types.items() if name in FIELDS.get(kind, {})]
    if len(found) > 1:
        raise InputError(
            f"{source}: {', '.join(sorted(found))} may all be the {name}; choose with topics={{{name!r}: "
            f"{sorted(found)[0]!r}}}"
        )
    return (found[0], FIELDS[types[found[0]]][name]) if found else None


def _samples(reader: Any, deserialize: Any, topic: str, field: str, source: str) -> tuple[Any, Array]:
    """Times (ns) and values: stamps of headers where there are any, else when the bag received them."""
    stamps, received, rows = [], [], []
    for one, at, data in reader.messages([x for x in reader.connections if x.topic == topic]):
        message = deserialize(data, one.msgtype)
        header = getattr(getattr(message, "header", None), "stamp", None)
        stamps.append(0 if header is None else header.sec * 10**9 + header.nanosec)
        received.append(at)
        try:
            rows.append(_numbers(attrgetter(field)(message)))
        except (AttributeError, TypeError, ValueError):
            raise InputError(f"{source}: {one.msgtype} of {topic} has no numbers in {field!r}") from None
    if len({len(row) for row in rows}) != 1:
        raise InputError(
            f"{source}: messages of {topic} have {sorted({len(row) for row in rows})} numbers in {field!r}, "
            "all need the same"
        )
    return np.array(stamps if all(stamps) else received, dtype=np.int64), np.array(rows)


def _numbers(value: Any) -> Array:
    """Numbers of a field: an array, a number, or a vector or quaternion (w first)."""
    names = [name for name in "wxyz" if hasattr(value, name)]
    if names:
        return np.array([float(getattr(value, name)) for name in names])
    return np.atleast_1d(np.asarray(value, dtype=np.float64))


def _list(reader: Any) -> str:
    return ", ".join(sorted(f"{one.topic} ({one.msgtype})" for one in reader.connections)) or "nothing"
