"""Motors of propellers: speed-controlled with a lag, or direct-current on a battery."""

from __future__ import annotations

from dataclasses import dataclass

from helicoid.aerial.checks import check_not_negative, check_positive
from helicoid.errors import InputError


@dataclass(frozen=True)
class Motor:
    """Speed-controlled motor: the speed follows its command with a first-order lag.

    Args:
        max_speed: rad/s.
        min_speed: rad/s; many speed controllers never stop a rotor in flight.
        lag_up: time constant for a command above the speed (s); 0 for none.
        lag_down: time constant for a command below the speed (s); by default `lag_up`. The two blend within
            2 % of `max_speed` of the command, so that the linearisation about steady flight is defined.
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
        for name in ("max_speed", "min_speed", "lag_up", "lag_down"):
            check_not_negative(f"a motor's {name}", getattr(self, name))
        if not self.min_speed < self.max_speed:
            raise InputError(
                f"a motor turns from min_speed ≥ 0 to max_speed; got {self.min_speed}, {self.max_speed}"
            )
        if (self.lag_up == 0) != (down == 0):
            raise InputError(f"lags are times (s), both 0 for none; got {self.lag_up}, {down}")


@dataclass(frozen=True)
class ElectricMotor:
    """Direct-current motor: Q = k (i - i₀), U = R i + k ω; its control is the fraction of the voltage.

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
        for name in ("speed_constant", "resistance", "voltage"):
            check_positive(f"an electric motor's {name}", getattr(self, name))
        check_not_negative("an electric motor's no_load_current", self.no_load_current, "A")

    @property
    def torque_constant(self) -> float:
        """k (N·m/A, V·s/rad)."""
        return 1 / self.speed_constant


@dataclass(frozen=True)
class Battery:
    """Battery: its voltage falls with the current and with the used charge.

    Args:
        capacity: A·h.
        resistance: internal (Ω).
        sag: fraction of the voltage lost from full to empty.
    """

    capacity: float
    resistance: float
    sag: float = 0.15

    def __post_init__(self) -> None:
        check_positive("a battery's capacity", self.capacity, "A·h")
        check_not_negative("a battery's resistance", self.resistance, "Ω")
        check_not_negative("a battery's sag", self.sag)
        if not self.sag < 1:
            raise InputError(f"a battery's sag is from 0 to below 1; got {self.sag!r}")
