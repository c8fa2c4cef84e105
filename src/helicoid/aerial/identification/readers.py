"""Readers of flight logs: text with a line of column names, Betaflight's blackbox as text, and PX4's ULog."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.aerial.frames import GRAVITY
from helicoid.aerial.identification.flight_log import COLUMNS, FlightLog
from helicoid.arrays import file_name
from helicoid.errors import InputError, optional_import

_ENDINGS = {3: ("x", "y", "z"), 4: ("w", "x", "y", "z"), 1: ("",)}
_PREFIXES = {
    "command": ("command", "cmd", "motor", "throttle", "pwm", "m"),
    "voltage": ("voltage", "vbat", "battery"),
    "speed": ("speed", "omega", "rotor_speed"),
    "gyro": ("gyro", "omega", "w"),
    "accelerometer": ("accelerometer", "acc", "accel", "a"),
    "attitude": ("attitude", "quaternion", "quat", "q"),
    "position": ("position", "pos", "p"),
    "velocity": ("velocity", "vel", "v"),
    "air_data": ("air_data",),
}
_AIR_DATA = ("airspeed", "alpha", "beta")
_Z_DOWN = np.array([1.0, -1.0, -1.0])
_BETAFLIGHT_G = 2048.0  # units of the accelerometer per g, unless the header of the log says otherwise


def z_up(name: str, values: Array) -> Array:
    """A channel in axes forward, right, down (world north, east, down), in ours."""
    if name == "attitude":
        return values * np.concatenate([[1.0], _Z_DOWN])
    return values * _Z_DOWN if COLUMNS[name] == 3 and name != "air_data" else values


def read_csv(
    path: str | os.PathLike[str],
    columns: Mapping[str, Sequence[str] | str] | None = None,
    scale: Mapping[str, float] | None = None,
    z_down: bool = False,
) -> FlightLog:
    """`FlightLog.from_csv`."""
    source = file_name(path)
    header, table = _table(source)
    given, factors = dict(columns or {}), dict(scale or {})
    for name in (*given, *factors):
        if name not in ("t", *COLUMNS):
            raise InputError(f"{source}: {name!r} is no channel; there are: t, {', '.join(COLUMNS)}")
    times = _named(given.pop("t", None), header, source) or [
        one for one in header if one.lower() in ("t", "time", "timestamp")
    ]
    if len(times) != 1:
        raise InputError(
            f"{source}: which column is the time? Say columns={{'t': ...}}; it has: {_list(header)}"
        )
    t = factors.get("t", 1.0) * table[:, header.index(times[0])]
    held: dict[str, Any] = {}
    for name, width in COLUMNS.items():
        chosen = _named(given[name], header, source) if name in given else _found(name, width, header)
        if chosen:
            values = factors.get(name, 1.0) * table[:, [header.index(one) for one in chosen]]
            held[name] = (t, z_up(name, values) if z_down else values)
    if "command" not in held:
        raise InputError(
            f"{source}: no column is a command of a rotor: say columns={{'command': [...]}}; it has: "
            f"{_list(header)}"
        )
    return FlightLog(None, **held, source=source)


def read_betaflight(
    path: str | os.PathLike[str], motors: Sequence[int] = (1, 2, 3, 4), poles: int = 14
) -> FlightLog:
    """`FlightLog.from_betaflight`."""
    source = file_name(path)
    header, table = _table(source)

    def chosen(pattern: str, numbers: Sequence[int]) -> Array | None:
        names = [re.compile(pattern.format(k)) for k in numbers]
        found = [next((k for k, one in enumerate(header) if name.fullmatch(one)), None) for name in names]
        return None if None in found else table[:, found]  # type: ignore[index]

    t = chosen(r"time(?: \(us\))?", [0])
    gyro, command = chosen(r"gyroADC\[{}\].*", range(3)), chosen(r"motor\[{}\].*", [k - 1 for k in motors])
    if t is None or gyro is None or command is None:
        raise InputError(
            f"{source}: is no blackbox log decoded to text: it needs 'time (us)', gyroADC[0] to [2] and "
            f"motor[{min(motors) - 1}] to [{max(motors) - 1}]; it has: {_list(header)}"
        )
    stamps = 1e-6 * t[:, 0]
    held: dict[str, Any] = {"command": command, "gyro": np.deg2rad(gyro)}
    acc = chosen(r"accSmooth\[{}\].*", range(3))
    if acc is not None:
        metres = any("m/s/s" in one for one in header if one.startswith("accSmooth"))
        held["accelerometer"] = acc if metres else acc * (GRAVITY / _BETAFLIGHT_G)
    voltage = chosen(r"vbatLatest(?: \(V\))?", [0])
    if voltage is not None:
        held["voltage"] = voltage
    rpm = chosen(r"eRPM(?:\(/100\))?\[{}\].*", [k - 1 for k in motors])
    if rpm is not None:
        held["speed"] = rpm * (100 * 2 / poles * 2 * np.pi / 60)
    return FlightLog(stamps, **held, source=source)


def read_ulog(path: str | os.PathLike[str], motors: Sequence[int] = (1, 2, 3, 4)) -> FlightLog:
    """`FlightLog.from_ulog`."""
    source = file_name(path)
    core = optional_import("pyulog.core", "reading PX4 logs", "helicoid[flight]")
    if not os.path.isfile(source):
        raise InputError(f"{source}: there is no such file")
    try:
        log = core.ULog(source)
    except Exception as error:  # its parser raises whatever damaged bytes lead to
        raise InputError(f"{source}: cannot be read as a ULog, it may be damaged: {error}") from error
    topics: dict[str, Any] = {}
    for one in log.data_list:
        topics.setdefault(one.name, one.data)
    own = [k - 1 for k in motors]
    sources = {
        "command": (("actuator_motors", "control[{}]", own), ("actuator_outputs", "output[{}]", own)),
        "speed": (("esc_status", "esc[{}].esc_rpm", own),),
        "gyro": (("sensor_combined", "gyro_rad[{}]", range(3)),),
        "accelerometer": (("sensor_combined", "accelerometer_m_s2[{}]", range(3)),),
        "attitude": (("vehicle_attitude", "q[{}]", range(4)),),
        "position": (("vehicle_local_position", "{}", "xyz"),),
        "velocity": (("vehicle_local_position", "v{}", "xyz"),),
        "voltage": (("battery_status", "voltage_v", [0]), ("battery_status", "voltage_filtered_v", [0])),
    }
    held: dict[str, Any] = {}
    for name, places in sources.items():
        for topic, field, numbers in places:
            data = topics.get(topic, {})
            fields = [field.format(k) for k in numbers]
            if all(one in data for one in fields):
                stamp = data.get("timestamp_sample", data["timestamp"])
                stamp = np.where(np.asarray(stamp) > 0, stamp, data["timestamp"])
                values = np.stack([np.asarray(data[one], np.float64) for one in fields], axis=1)
                if name == "speed":
                    values = values * (2 * np.pi / 60)
                held[name] = (1e-6 * np.asarray(stamp, np.float64), z_up(name, values))
                break
    if "speed" in held and not np.any(held["speed"][1]):
        del held["speed"]  # speed controllers without telemetry log zeros
    if "command" not in held:
        raise InputError(
            f"{source}: has neither actuator_motors nor actuator_outputs of motors {list(motors)}; it has: "
            f"{_list(sorted(topics))}"
        )
    return FlightLog(None, **held, source=source)


def _table(source: str) -> tuple[list[str], Array]:
    """Names and numbers of a text file, NaN in empty cells; lines before the names are skipped."""
    try:
        with open(source, encoding="utf-8-sig", newline="") as file:
            text = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{source}: cannot be read as text: {error}") from None
    comma = max(",;\t", key=lambda one: sum(line.count(one) for line in text[:200]))
    rows = [[cell.strip().strip('"') for cell in row] for row in csv.reader(text, delimiter=comma) if row]
    width = max(map(len, rows), default=0)
    start = next((k for k, row in enumerate(rows) if len(row) == width and not _number(row[0])), None)
    if start is None or len(rows) < start + 3:
        raise InputError(f"{source}: needs a line of column names and at least two samples")
    header = [cell.lstrip("#").strip() for cell in rows[start]]
    body = [row for row in rows[start + 1 :] if len(row) == width]
    table = np.full((len(body), width), np.nan)
    for k, row in enumerate(body):
        for j, cell in enumerate(row):
            if _number(cell):
                table[k, j] = float(cell)
    return header, table


def _number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _named(names: Sequence[str] | str | None, header: list[str], source: str) -> list[str]:
    chosen = [names] if isinstance(names, str) else list(names or ())
    for one in chosen:
        if one not in header:
            raise InputError(f"{source}: has no column {one!r}; it has: {_list(header)}")
    return chosen


def _found(name: str, width: int, header: list[str]) -> list[str]:
    """Columns of a channel by usual names: gyro_x, accelerometer[1], motor_3."""
    lower = [one.lower() for one in header]
    if name == "air_data" and all(one in lower for one in _AIR_DATA):
        return [header[lower.index(one)] for one in _AIR_DATA]
    for prefix in _PREFIXES[name]:
        if width == 0:
            pattern = re.compile(rf"{prefix}_?(?:\[(\d+)\]|(\d+))", re.IGNORECASE)
            numbered = [(m, one) for one in header if (m := pattern.fullmatch(one))]
            if numbered:
                return [one for _, one in sorted((int(m[1] or m[2]), one) for m, one in numbered)]
            continue
        for names in ([f"{prefix}{mid}{e}" for e in _ENDINGS[width]] for mid in ("_", "", ".")):
            if width == 1:
                names = [prefix]
            if all(one in lower for one in names):
                return [header[lower.index(one)] for one in names]
    return []


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:40])
    return shown + (" ..." if len(names) > 40 else "")
