"""Motors that turn propellers: a lag, or a direct-current motor at a battery."""

from __future__ import annotations

import math
from dataclasses import dataclass

from helicoid.errors import InputError


@dataclass(frozen=True)
class Motor:
    """A speed-controlled motor: the speed follows its command with a lag.

    Args:
        max_speed: rad/s.
        min_speed: rad/s; many controllers never stop a rotor in flight.
        lag_up: time constant where the command is faster than the rotor (s); 0 for none.
        lag_down: where it is slower (s); as `lag_up` unless given. Within 2 % of `max_speed` of the command
            one goes over into the other, so that derivatives in steady flight mean something.
    """

    max_speed: float
    min_speed: float = 0.0
    lag_up: float = 0.0
    lag_down: float | None = None

    def __post_init__(self) -> None:
        if self.lag_down is None:
            object.__setattr__(self, "lag_down", self.lag_up)
        down = self.lag_down
        assert down is not None
        if not 0 <= self.min_speed < self.max_speed < math.inf:
            raise InputError(
                f"a motor turns from min_speed ≥ 0 to max_speed; got {self.min_speed}, {self.max_speed}"
            )
        if not (0 <= self.lag_up < math.inf and 0 <= down < math.inf) or (self.lag_up == 0) != (down == 0):
            raise InputError(f"lags are times (s), both 0 for none; got {self.lag_up}, {down}")


@dataclass(frozen=True)
class ElectricMotor:
    """A direct-current motor: Q = k (i - i₀), U = R i + k ω; its control is the share of the voltage, 0 to 1.

    Args:
        speed_constant: 1/k, rad/s per volt (not turns a minute).
        resistance: R (Ω).
        no_load_current: i₀ (A).
        voltage: of the battery when full (V).
    """

    speed_constant: float
    resistance: float
    no_load_current: float
    voltage: float

    def __post_init__(self) -> None:
        if not (self.speed_constant > 0 and self.resistance > 0 and self.voltage > 0 <= self.no_load_current):
            raise InputError(f"an electric motor's numbers are positive; got {self!r}")

    @property
    def torque_constant(self) -> float:
        """k (N·m/A, V·s/rad)."""
        return 1 / self.speed_constant


@dataclass(frozen=True)
class Battery:
    """What feeds electric motors: voltage falls with current and with the charge that is used up.

    Args:
        capacity: C (A·h).
        resistance: inner, (Ω).
        sag: fraction of the voltage that is lost from full to empty.
    """

    capacity: float
    resistance: float
    sag: float = 0.15

    def __post_init__(self) -> None:
        if not (self.capacity > 0 and self.resistance >= 0 and 0 <= self.sag < 1):
            raise InputError(
                f"a battery has capacity > 0, resistance ≥ 0 and sag from 0 to below 1; got {self!r}"
            )
