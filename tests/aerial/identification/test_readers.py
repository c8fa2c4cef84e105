"""Flight logs in files: text, Betaflight's blackbox as text, PX4's ULog; axes, units, damage."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import helicoid as hc
from helicoid.geometry import quaternion

FlightLog = hc.aerial.FlightLog
N = 50
T = np.arange(N) / 100.0
RNG = np.random.default_rng(0)
GYRO, FORCE = RNG.normal(size=(2, N, 3))
COMMAND = RNG.uniform(0.2, 0.8, (N, 4))


def test_columns_by_name_and_empty_cells(tmp_path: Path) -> None:
    path = tmp_path / "flight.csv"
    names = [
        "time",
        *(f"motor_{k}" for k in (2, 1, 3, 4)),
        *(f"gyro_{a}" for a in "xyz"),
        "acc_x",
        "acc_y",
        "acc_z",
        "vbat",
    ]
    lines = [",".join(names)]
    for k in range(N):
        motors = COMMAND[k][[1, 0, 2, 3]]
        cells = [T[k], *motors, *GYRO[k], *FORCE[k]]
        lines.append(",".join(map(repr, map(float, cells))) + ("," if k % 5 else f",{12 - k / 100}"))
    path.write_text("\n".join(lines))
    log = FlightLog.from_csv(path)
    np.testing.assert_allclose(log.channels["command"].values, COMMAND)
    np.testing.assert_allclose(log.channels["gyro"].values, GYRO)
    assert len(log.channels["voltage"].t) == 10 and "voltage 20 Hz" in repr(log)
    down = FlightLog.from_csv(path, {"command": names[1:5]}, {"gyro": np.pi / 180, "t": 1e-3}, z_down=True)
    np.testing.assert_allclose(down.channels["gyro"].values, np.deg2rad(GYRO) * [1, -1, -1])
    np.testing.assert_allclose(down.channels["command"].t, 1e-3 * T)
    with pytest.raises(hc.InputError, match="has no column 'm9'"):
        FlightLog.from_csv(path, {"command": ["m9"]})
    with pytest.raises(hc.InputError, match="'thrust' is no channel"):
        FlightLog.from_csv(path, {"thrust": ["motor_1"]})
    path.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(hc.InputError, match="which column is the time"):
        FlightLog.from_csv(path)
    path.write_text("t,b\n1,2\n3,4\n")
    with pytest.raises(hc.InputError, match="no column is a command"):
        FlightLog.from_csv(path)
    with pytest.raises(hc.InputError, match="cannot be read as text"):
        FlightLog.from_csv(tmp_path / "none.csv")


def test_betaflight(tmp_path: Path) -> None:
    path = tmp_path / "LOG00001.01.csv"
    names = ["loopIteration", "time (us)", "vbatLatest (V)", *(f"gyroADC[{k}]" for k in range(3))]
    names += [*(f"accSmooth[{k}]" for k in range(3)), *(f"motor[{k}]" for k in range(4))]
    names += [*(f"eRPM(/100)[{k}]" for k in range(4))]
    rows = [
        [k, round(1e6 * T[k]), 15.9, *GYRO[k], *(2048 * FORCE[k]), *(1000 * COMMAND[k]), 70, 140, 210, 280]
        for k in range(N)
    ]
    path.write_text("\n".join([", ".join(names), *(", ".join(map(str, row)) for row in rows)]))
    log = FlightLog.from_betaflight(path, motors=(4, 2, 3, 1))
    np.testing.assert_allclose(log.channels["command"].values, 1000 * COMMAND[:, [3, 1, 2, 0]])
    np.testing.assert_allclose(log.channels["gyro"].values, np.deg2rad(GYRO))
    np.testing.assert_allclose(log.channels["accelerometer"].values, 9.81 * FORCE, rtol=1e-3)
    np.testing.assert_allclose(
        log.channels["speed"].values[0], np.array([40, 20, 30, 10]) * 100 * 2 * np.pi / 60
    )
    np.testing.assert_allclose(log.channels["gyro"].t, T, atol=1e-6)
    path.write_text("time (us), x\n1, 2\n3, 4\n")
    with pytest.raises(hc.InputError, match="no blackbox log decoded to text"):
        FlightLog.from_betaflight(path)


def _message(kind: str, body: bytes) -> bytes:
    return struct.pack("<HB", len(body), ord(kind)) + body


def ulog(topics: dict[str, tuple[str, list[bytes]]]) -> bytes:
    """A ULog by its published definition: header, formats, subscriptions, data."""
    written = b"\x55\x4c\x6f\x67\x01\x12\x35\x01" + struct.pack("<Q", 0)
    for name, (fields, _) in topics.items():
        written += _message("F", f"{name}:{fields}".encode())
    for k, name in enumerate(topics):
        written += _message("A", struct.pack("<BH", 0, k) + name.encode())
    for k, (_, rows) in enumerate(topics.values()):
        for row in rows:
            written += _message("D", struct.pack("<H", k) + row)
    return written


def px4(rows: int = N) -> bytes:
    stamps = [round(1e6 * (5 + t)) for t in T[:rows]]
    Q = np.array([quaternion.exp(0.3 * g) for g in GYRO])
    return ulog({
        "sensor_combined": (
            "uint64_t timestamp;float[3] gyro_rad;float[3] accelerometer_m_s2;",
            [struct.pack("<Q6f", s, *GYRO[k], *FORCE[k]) for k, s in enumerate(stamps)],
        ),
        "actuator_motors": (
            "uint64_t timestamp;uint64_t timestamp_sample;float[12] control;",
            [struct.pack("<QQ12f", s + 900, s, *COMMAND[k], *([np.nan] * 8)) for k, s in enumerate(stamps)],
        ),
        "vehicle_attitude": (
            "uint64_t timestamp;float[4] q;",
            [struct.pack("<Q4f", s, *Q[k]) for k, s in enumerate(stamps)],
        ),
        "vehicle_local_position": (
            "uint64_t timestamp;float x;float y;float z;float vx;float vy;float vz;",
            [struct.pack("<Q6f", s, 1, 2, -3, 4, 5, -6) for s in stamps],
        ),
        "battery_status": (
            "uint64_t timestamp;float voltage_v;",
            [struct.pack("<Qf", s, 12.5) for s in stamps[::5]],
        ),
    })  # fmt: skip


def test_px4(tmp_path: Path) -> None:
    """Body axes forward, right, down and a world north, east, down become ours."""
    pytest.importorskip("pyulog")
    path = tmp_path / "flight.ulg"
    path.write_bytes(px4())
    log = FlightLog.from_ulog(path, motors=(3, 2, 4, 1))
    np.testing.assert_allclose(log.channels["command"].values, COMMAND[:, [2, 1, 3, 0]], atol=1e-6)
    np.testing.assert_allclose(log.channels["command"].t, 5 + T, atol=2e-6)
    np.testing.assert_allclose(log.channels["gyro"].values, GYRO * [1, -1, -1], atol=1e-6)
    np.testing.assert_allclose(log.channels["position"].values[0], [1, -2, 3])
    np.testing.assert_allclose(log.channels["velocity"].values[0], [4, -5, 6])
    flip = np.diag([1.0, -1.0, -1.0])
    R = np.asarray(quaternion.to_matrix(log.channels["attitude"].values[7]))
    theirs = np.asarray(quaternion.to_matrix(quaternion.exp(0.3 * GYRO[7])))
    np.testing.assert_allclose(R, flip @ theirs @ flip, atol=1e-6)
    assert log.channels["voltage"].rate == pytest.approx(20.0)


def test_damaged_ulogs_are_reported(tmp_path: Path) -> None:
    pytest.importorskip("pyulog")
    path = tmp_path / "flight.ulg"
    with pytest.raises(hc.InputError, match="no such file"):
        FlightLog.from_ulog(path)
    path.write_bytes(b"no ulog at all")
    with pytest.raises(hc.InputError, match="cannot be read as a ULog"):
        FlightLog.from_ulog(path)
    path.write_bytes(
        ulog({"battery_status": ("uint64_t timestamp;float voltage_v;", [struct.pack("<Qf", 1, 12)])})
    )
    with pytest.raises(hc.InputError, match="neither actuator_motors nor actuator_outputs"):
        FlightLog.from_ulog(path)
