"""Log of a flight: commands, battery, inertial measurements and motion capture, each on its own clock."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.arrays import float_array
from helicoid.errors import InputError

COLUMNS = {
    "command": 0,
    "voltage": 1,
    "speed": 0,
    "gyro": 3,
    "accelerometer": 3,
    "attitude": 4,
    "position": 3,
    "velocity": 3,
    "air_data": 3,
}
"""Channels, and how many columns each has; 0: one for each rotor or control."""
_MIN_SAMPLES = 8


class Channel(NamedTuple):
    """Samples of a measurement: times (N,), ascending, and values (N, columns)."""

    t: Array
    values: Array

    @property
    def rate(self) -> float:
        """Median rate of the samples (Hz)."""
        return float(1.0 / np.median(np.diff(self.t)))


@dataclass(frozen=True, eq=False)
class FlightLog:
    """Measurements of one flight, for `hc.aerial.identify`. SI units, z up: x forward, y left.

    Each channel is an array (N, columns) on the times `t`, or a pair of times and values: channels have
    rates of their own, and samples may be uneven, lost or twice there. What is not known is left out.

    Args:
        t: times (s) of the channels given without their own; None where all have.
        command: of each rotor (N, rotors): pulse width, throttle, or speed (rad/s), in any unit. Of an
            aircraft its controls in their order: elevator, aileron, rudder (rad), and throttle (0 to 1).
        voltage: of the battery (V).
        speed: measured, of each rotor (rad/s).
        gyro: angular velocity (rad/s) in the axes of the sensor, (N, 3).
        accelerometer: specific force (m/s²) in the axes of the sensor, (N, 3): +9.81 along z at rest.
        attitude: quaternions (w, x, y, z), body to world, (N, 4).
        position, velocity: of the root's origin in the world (m, m/s), (N, 3).
        air_data: airspeed (m/s), angle of attack and sideslip (rad) at the root, (N, 3).
        source: name in messages.

    >>> import numpy as np
    >>> t = np.arange(100) / 100.0
    >>> log = FlightLog(t, command=np.ones((100, 4)), gyro=(t[::2], np.zeros((50, 3))))
    >>> log
    FlightLog('flight', 0.98 s: command 100 Hz, gyro 50 Hz)
    """

    t: Any = None
    command: Any = None
    voltage: Any = None
    speed: Any = None
    gyro: Any = None
    accelerometer: Any = None
    attitude: Any = None
    position: Any = None
    velocity: Any = None
    air_data: Any = None
    source: str = "flight"
    channels: Mapping[str, Channel] = field(init=False)

    def __post_init__(self) -> None:
        found = {}
        for name in COLUMNS:
            given = getattr(self, name)
            if given is not None:
                found[name] = self._channel(name, given)
        if "command" not in found:
            raise InputError(
                f"{self.source}: a flight has the commands of its rotors or control surfaces: command="
            )
        if "gyro" not in found and "attitude" not in found:
            raise InputError(
                f"{self.source}: a flight has gyro= and accelerometer=, or attitude= and position=, or all"
            )
        object.__setattr__(self, "channels", found)

    def _channel(self, name: str, given: Any) -> Channel:
        paired = isinstance(given, tuple) and len(given) == 2
        t, values = given if paired else (self.t, given)
        if t is None:
            raise InputError(f"{self.source}: {name} has no times: give t=, or {name}=(times, values)")
        t, values = (float_array(x, f"{self.source}: {name} is no array of numbers") for x in (t, values))
        values = values[:, None] if values.ndim == 1 else values
        if t.ndim != 1 or values.ndim != 2 or len(t) != len(values):
            raise InputError(
                f"{self.source}: {name} has one row a time, got shapes {t.shape} and {values.shape}"
            )
        width = COLUMNS[name]
        if width and values.shape[1] != width:
            raise InputError(f"{self.source}: {name} has {width} columns, got {values.shape[1]}")
        good = np.isfinite(t) & np.isfinite(values).all(axis=1)
        t, values = t[good], values[good]
        order = np.argsort(t, kind="stable")
        t, values = t[order], values[order]
        new = np.concatenate([[True], np.diff(t) > 0]) if len(t) else np.zeros(0, bool)
        if new.sum() < _MIN_SAMPLES:
            raise InputError(
                f"{self.source}: {name} has {int(new.sum())} samples at different times, at least "
                f"{_MIN_SAMPLES} are needed"
            )
        return Channel(t[new], values[new])

    @property
    def span(self) -> tuple[float, float]:
        """Times (s) between which all channels are known."""
        return (
            max(float(c.t[0]) for c in self.channels.values()),
            min(float(c.t[-1]) for c in self.channels.values()),
        )

    def between(self, start: float, end: float) -> FlightLog:
        """The part from `start` to `end` (s), such as without take-off and landing."""
        cut = {
            name: (c.t[(c.t >= start) & (c.t <= end)], c.values[(c.t >= start) & (c.t <= end)])
            for name, c in self.channels.items()
        }
        return FlightLog(None, **cut, source=self.source)

    # Readers ----------------------------------------------------------------------------------------------

    @staticmethod
    def from_csv(
        path: str | os.PathLike[str],
        columns: Mapping[str, Sequence[str] | str] | None = None,
        scale: Mapping[str, float] | None = None,
        z_down: bool = False,
    ) -> FlightLog:
        """From a text file with a line of column names; empty cells are samples that a channel lacks.

        Columns are found by usual names (t, motor_1, gyro_x, acc_x, qw, px, vbat, ...), or by `columns`,
        {"t": "time (us)", "command": ["m1", "m2", "m3", "m4"]}. `scale` converts units, {"t": 1e-6, "gyro":
        np.pi / 180}; `z_down` states axes forward, right, down, and a world north, east, down.
        """
        from helicoid.aerial.identification.readers import read_csv

        return read_csv(path, columns, scale, z_down)

    @staticmethod
    def from_betaflight(
        path: str | os.PathLike[str], motors: Sequence[int] = (1, 2, 3, 4), poles: int = 14
    ) -> FlightLog:
        """From a blackbox log of Betaflight that `blackbox_decode` has made text of.

        `motors` are its numbers in the order of the vehicle's rotors; `poles` of a motor convert the
        electrical speeds of a log that has them.
        """
        from helicoid.aerial.identification.readers import read_betaflight

        return read_betaflight(path, motors, poles)

    @staticmethod
    def from_ulog(path: str | os.PathLike[str], motors: Sequence[int] = (1, 2, 3, 4)) -> FlightLog:
        """From a ULog of PX4, in our axes; `motors` are its numbers in the order of the vehicle's rotors.

        Read are actuator_motors (or actuator_outputs), sensor_combined, vehicle_attitude,
        vehicle_local_position, battery_status and esc_status. Needs `pip install 'helicoid[flight]'`.
        """
        from helicoid.aerial.identification.readers import read_ulog

        return read_ulog(path, motors)

    @staticmethod
    def from_bag(
        path: str | os.PathLike[str], topics: Mapping[str, str] | None = None, z_down: bool = False
    ) -> FlightLog:
        """From a ROS bag: a .bag file of ROS 1, a folder of ROS 2, or an .mcap or .db3 file.

        Channels are found by message types: Imu, PoseStamped, TransformStamped, Odometry, BatteryState,
        JointState (speeds of rotors), Actuators, RCOut and Float64MultiArray (commands). Where several topics
        may be one, or others hold it, `topics` says which: {"command": "/motors", "air_data":
        "/probe:data"}, a topic, with a field if the type does not say it. `z_down` states axes forward,
        right, down, and a world north, east, down. Needs `pip install 'helicoid[bags]'`.
        """
        from helicoid.aerial.identification.bags import read_bag

        return read_bag(path, topics, z_down)

    def __repr__(self) -> str:
        rates = ", ".join(f"{name} {c.rate:.4g} Hz" for name, c in self.channels.items())
        start, end = self.span
        return f"FlightLog({self.source!r}, {max(end - start, 0.0):.4g} s: {rates})"
