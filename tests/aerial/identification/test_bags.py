"""Flight logs in bags, written by the library that reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helicoid as hc

FlightLog = hc.aerial.FlightLog
EPOCH, N = 1_700_000_000 * 10**9, 40
RNG = np.random.default_rng(5)
GYRO, FORCE, PLACE = RNG.normal(size=(3, N, 3))
TURN = RNG.normal(size=(N, 4))
COMMAND = RNG.uniform(0.2, 0.8, (N, 4))
MOTORS = "custom_msgs/msg/Motors"


def written(folder: Path, form: str, second_imu: bool = False) -> Path:
    """A bag of an inertial sensor, motion capture, battery, and motors of a type of its own."""
    pytest.importorskip("rosbags", reason="writing and reading bags needs rosbags (helicoid[bags])")
    from rosbags import rosbag1, rosbag2
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    one = form == "ros1"
    store = get_typestore(Stores.ROS1_NOETIC if one else Stores.ROS2_HUMBLE)
    store.register(get_types_from_msg("std_msgs/Header header\nfloat64[] values\n", MOTORS))
    path = folder / ("flight.bag" if one else "flight")
    writer: Any
    if one:
        writer, serialize = rosbag1.Writer(path), store.serialize_ros1
    else:
        writer = rosbag2.Writer(path, version=9, storage_plugin=rosbag2.StoragePlugin.MCAP)
        serialize = store.serialize_cdr
    types = store.types
    vector, quaternion = types["geometry_msgs/msg/Vector3"], types["geometry_msgs/msg/Quaternion"]
    flat = np.zeros(9)

    def header(k: int) -> Any:
        sequence = (0,) if one else ()
        stamp = types["builtin_interfaces/msg/Time"](*divmod(EPOCH + k * 10**7, 10**9))
        return types["std_msgs/msg/Header"](*sequence, stamp, "body")

    def turned(k: int) -> Any:
        w, x, y, z = map(float, TURN[k])
        return quaternion(x, y, z, w)

    def pose(k: int) -> Any:
        return types["geometry_msgs/msg/Pose"](
            types["geometry_msgs/msg/Point"](*map(float, PLACE[k])), turned(k)
        )

    made = {
        "/imu": ("sensor_msgs/msg/Imu", lambda k: (
            header(k), turned(k), flat, vector(*map(float, GYRO[k])), flat,
            vector(*map(float, FORCE[k])), flat)),
        "/pose": ("geometry_msgs/msg/PoseStamped", lambda k: (header(k), pose(k))),
        "/motors": (MOTORS, lambda k: (header(k), COMMAND[k])),
    }  # fmt: skip
    if second_imu:
        made["/spare"] = made["/imu"]
    with writer:
        for topic, (kind, fields) in made.items():
            connection = writer.add_connection(topic, kind, typestore=store)
            for k in range(N):
                writer.write(connection, EPOCH + k * 10**7 + 10**9, serialize(types[kind](*fields(k)), kind))
    return path


@pytest.mark.parametrize("form", ["ros1", "ros2"])
def test_channels_by_type_and_by_field(tmp_path: Path, form: str) -> None:
    log = FlightLog.from_bag(written(tmp_path, form), {"command": "/motors:values"})
    assert set(log.channels) == {"command", "gyro", "accelerometer", "position", "attitude"}
    expected = dict(command=COMMAND, gyro=GYRO, accelerometer=FORCE, position=PLACE, attitude=TURN)
    for name, values in expected.items():
        np.testing.assert_allclose(log.channels[name].values, values)
        np.testing.assert_allclose(log.channels[name].t, np.arange(N) / 100.0, atol=1e-9)


def test_axes_downwards(tmp_path: Path) -> None:
    path = written(tmp_path, "ros2")
    log = FlightLog.from_bag(path, {"command": "/motors:values"}, z_down=True)
    np.testing.assert_allclose(log.channels["gyro"].values, GYRO * [1, -1, -1])
    np.testing.assert_allclose(log.channels["attitude"].values, TURN * [1, 1, -1, -1])


def test_what_is_not_clear_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, "ros2", second_imu=True)
    with pytest.raises(hc.InputError, match=r"/imu, /spare may all be the gyro; choose with topics="):
        FlightLog.from_bag(path, {"command": "/motors:values"})
    own = {"gyro": "/imu", "accelerometer": "/imu"}
    with pytest.raises(hc.InputError, match="no topic is known to hold commands"):
        FlightLog.from_bag(path, own)
    with pytest.raises(hc.InputError, match="which field of custom_msgs/msg/Motors is the command"):
        FlightLog.from_bag(path, {"command": "/motors"})
    with pytest.raises(hc.InputError, match="has no topic '/rotors'; it holds /imu"):
        FlightLog.from_bag(path, {"command": "/rotors:values"})
    with pytest.raises(hc.InputError, match="has no numbers in 'speeds'"):
        FlightLog.from_bag(path, {"command": "/motors:speeds", **own})
    with pytest.raises(hc.InputError, match="'motors' is no channel"):
        FlightLog.from_bag(path, {"motors": "/motors:values"})
    with pytest.raises(hc.InputError, match="cannot be read as a bag"):
        FlightLog.from_bag(tmp_path / "none.bag")
