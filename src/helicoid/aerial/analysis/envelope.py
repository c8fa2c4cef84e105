"""Flight envelope: steady flight over speed and climb rate, and what limits it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array
from helicoid.aerial.analysis.equilibrium import Equilibrium
from helicoid.aerial.analysis.trim import TOLERANCE, Trim, find_flights, initial_guess, is_motor
from helicoid.aerial.frames import GRAVITY
from helicoid.deprecation import former_attribute
from helicoid.errors import HelicoidError, InputError

if TYPE_CHECKING:
    from helicoid.aerial.vehicle import Vehicle

NO_SOLUTION = "no steady flight"


@dataclass(frozen=True, eq=False)
class Envelope:
    """Flight envelope of a vehicle; arrays are (climb rates, speeds).

    Attributes:
        vehicle: the vehicle.
        speed, climb_rate: of the columns and rows (m/s).
        turn_rate: of all flights (rad/s).
        success: where there is a steady flight within all limits.
        limit: why there is none: "stall", "power" (more is needed than available), "idle" (motors at their
            minimum still give too much), the name of a control beyond its limits, or "no steady flight"; ""
            with success.
        alpha, pitch: angle of attack and pitch (rad), NaN where there is no steady flight.
        controls: by name, NaN likewise.
    """

    vehicle: Vehicle = field(repr=False)
    speed: Array
    climb_rate: Array
    turn_rate: float
    success: NDArray[np.bool_]
    limit: NDArray[np.str_]
    alpha: Array
    pitch: Array
    controls: dict[str, Array]

    ok = former_attribute("ok", "success")
    climb = former_attribute("climb", "climb_rate")

    @property
    def message(self) -> str:
        """Number of flights beyond each limit; empty where all are steady."""
        reasons, counts = np.unique(self.limit[~self.success], return_counts=True)
        return ", ".join(f"{word}: {n}" for word, n in zip(reasons, counts, strict=True))

    def __repr__(self) -> str:
        return f"Envelope({self.success.sum()} of {self.success.size} flights are steady; {self.message})"

    def best(self) -> tuple[float, float]:
        """Speed and climb rate (m/s) of the fastest climb; NaN where no flight is steady."""
        rows, columns = np.nonzero(self.success)
        if not len(rows):
            return float("nan"), float("nan")
        k = int(np.argmax(self.climb_rate[rows]))
        return float(self.speed[columns[k]]), float(self.climb_rate[rows[k]])

    def plot(self, shade: str | None = None) -> Any:
        """Matplotlib figure of the envelope, shaded by a control, and of its limits.

        Args:
            shade: name of the control; by default the throttle or the first rotor.

        Raises:
            InputError: there is no such control.
        """
        try:
            from matplotlib import pyplot
            from matplotlib.colors import to_rgba
        except ImportError as error:
            raise HelicoidError("plots need matplotlib: pip install 'helicoid[plot]'") from error
        name = shade or ("throttle" if "throttle" in self.controls else next(iter(self.controls)))
        if name not in self.controls:
            raise InputError(f"there is no control {name!r}; there are: {', '.join(self.controls)}")
        figure, axis = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
        reasons = [word for word in np.unique(self.limit) if word]
        colors = {word: _COLORS.get(word, f"C{4 + k % 6}") for k, word in enumerate(reasons)}
        picture = np.ones((*self.success.shape, 4))
        for word, color in colors.items():
            picture[self.limit == word] = to_rgba(color, 0.45)
        x, y = self.speed, self.climb_rate
        dx, dy = _half_spacing(x), _half_spacing(y)
        extent = (x[0] - dx, x[-1] + dx, y[0] - dy, y[-1] + dy)
        axis.imshow(picture, origin="lower", extent=extent, aspect="auto")
        values = np.ma.masked_invalid(self.controls[name])
        drawn = axis.pcolormesh(x, y, values, cmap="viridis", shading="nearest")
        figure.colorbar(drawn, ax=axis, label=name)
        axis.axhline(0, color="0.25", linewidth=0.8)
        for word, color in colors.items():
            axis.plot([], [], "s", color=color, alpha=0.45, label=word)
        if colors:
            figure.legend(loc="outside upper left", ncols=len(colors), fontsize=9, frameon=False)
        axis.set(xlabel="airspeed (m/s)", ylabel="climb rate (m/s)")
        return figure


_COLORS = {"stall": "tab:red", "power": "tab:orange", "idle": "tab:blue", NO_SOLUTION: "0.6"}


def _half_spacing(x: Array) -> float:
    return float(np.diff(x).mean() / 2) if len(x) > 1 else 0.5


def find_envelope(vehicle: Vehicle, speed: ArrayLike, climb_rate: ArrayLike, turn_rate: float) -> Envelope:
    """See `Vehicle.envelope`."""
    x, y = _ascending("speed", speed), _ascending("climb_rate", climb_rate)
    shape = len(y), len(x)
    speeds, climb_rates = (grid.ravel() for grid in np.meshgrid(x, y))
    possible = np.flatnonzero((speeds > 0) & (np.abs(climb_rates) <= speeds))
    trims = find_flights(vehicle, speeds[possible], climb_rates[possible], turn_rate)
    equilibrium = Equilibrium.of(vehicle)
    limit = np.full(speeds.shape, NO_SOLUTION, dtype=object)
    limit[possible] = [_limit(trim, equilibrium) for trim in trims]
    success = limit == ""

    def on_grid(values: list[float]) -> Array:
        found = np.full(speeds.shape, np.nan)
        found[possible] = values
        return np.where(success, found, np.nan).reshape(shape)

    return Envelope(
        vehicle,
        x,
        y,
        float(turn_rate),
        success.reshape(shape),
        limit.astype(str).reshape(shape),
        on_grid([trim.alpha for trim in trims]),
        on_grid([trim.pitch for trim in trims]),
        {name: on_grid([trim.controls[name] for trim in trims]) for name in equilibrium.controls},
    )


def _ascending(name: str, given: ArrayLike) -> Array:
    try:
        values = np.atleast_1d(np.asarray(given, np.float64))
    except (TypeError, ValueError):
        values = np.full(1, np.nan)
    if values.ndim != 1 or not np.isfinite(values).all() or np.any(np.diff(values) <= 0):
        raise InputError(f"envelope: {name} are finite numbers that ascend; got {given!r}")
    return values


def _limit(trim: Trim, equilibrium: Equilibrium) -> str:
    """The limit that a flight violates; empty with success."""
    if trim.success:
        return ""
    solved = trim.residual < TOLERANCE  # otherwise the last angle of attack is arbitrary
    reasons = trim.vehicle._limit_reasons(trim if solved else replace(trim, alpha=0.0))
    if reasons:
        return reasons[0].partition(":")[0]
    if not solved and _excess_power_at_idle(trim, equilibrium) > 0:
        return "idle"
    for (name, u), low, high in zip(trim.controls.items(), equilibrium.lower, equilibrium.upper, strict=True):
        if not low <= u <= high:
            return ("power" if u > high else "idle") if is_motor(name) else name
    return NO_SOLUTION


def _excess_power_at_idle(trim: Trim, equilibrium: Equilibrium) -> float:
    """Power of the air and idling motors less that of the climb (W), wings level."""
    flight, vehicle = np.array([trim.speed, trim.climb_rate, 0.0]), equilibrium.vehicle
    y = initial_guess(equilibrium, flight[None])[0]
    q, v, _, _ = equilibrium.state(y, flight, trim.q[2:])
    u = np.where([is_motor(name) for name in equilibrium.controls], equilibrium.lower, 0.0)
    tau = vehicle.force(*(part for part in (q, v, equilibrium.initial_states, u) if len(part)))
    return float(tau @ v - vehicle.robot.mass * GRAVITY * trim.climb_rate)
