"""Which steady flights there are, over speed and climb, and what ends them: stall, power, a surface."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.aerial.frames import GRAVITY
from helicoid.aerial.steady import Steady
from helicoid.aerial.trim import SOLVED, Trim, find_flights, first_guess
from helicoid.errors import HelicoidError, InputError

if TYPE_CHECKING:
    from helicoid.aerial.vehicle import Vehicle

NONE_FOUND = "no steady flight"


@dataclass(frozen=True, eq=False)
class Envelope:
    """Trims over speed and climb; arrays are (climbs, speeds).

    Attributes:
        vehicle: whose.
        speed, climb: of the columns and rows (m/s).
        turn_rate: of all (rad/s).
        ok: where there is a steady flight within all limits.
        limit: why there is none: "stall", "power" (more than there is), "idle" (motors at their least still
            give too much), the name of a control beyond its limits, or "no steady flight"; "" where `ok`.
        alpha, pitch: angle of attack and pitch (rad), NaN where there is no flight.
        controls: by name, NaN likewise.
    """

    vehicle: Vehicle = field(repr=False)
    speed: Array
    climb: Array
    turn_rate: float
    ok: Array
    limit: Array
    alpha: Array
    pitch: Array
    controls: dict[str, Array]

    def best(self) -> tuple[float, float]:
        """The speed and the climb (m/s) of the fastest climb; NaN where nothing flies."""
        rows, columns = np.nonzero(self.ok)
        if not len(rows):
            return float("nan"), float("nan")
        k = int(np.argmax(self.climb[rows]))
        return float(self.speed[columns[k]]), float(self.climb[rows[k]])

    def plot(self, shade: str | None = None) -> Any:
        """A matplotlib figure: where there is a flight, shaded by a control, and what limits it around.

        Args:
            shade: name of the control; the throttle or the first rotor unless given.

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
        picture = np.ones((*self.ok.shape, 4))
        for word, color in colors.items():
            picture[self.limit == word] = to_rgba(color, 0.45)
        dx, dy = (_half(x) for x in (self.speed, self.climb))
        extent = (self.speed[0] - dx, self.speed[-1] + dx, self.climb[0] - dy, self.climb[-1] + dy)
        axis.imshow(picture, origin="lower", extent=extent, aspect="auto")
        values = np.ma.masked_invalid(self.controls[name])
        drawn = axis.pcolormesh(self.speed, self.climb, values, cmap="viridis", shading="nearest")
        figure.colorbar(drawn, ax=axis, label=name)
        axis.axhline(0, color="0.25", linewidth=0.8)
        for word, color in colors.items():
            axis.plot([], [], "s", color=color, alpha=0.45, label=word)
        if colors:
            figure.legend(loc="outside upper left", ncols=len(colors), fontsize=9, frameon=False)
        axis.set(xlabel="speed through the air (m/s)", ylabel="climb (m/s)")
        return figure


_COLORS = {"stall": "tab:red", "power": "tab:orange", "idle": "tab:blue", NONE_FOUND: "0.6"}


def _half(x: Array) -> float:
    return float(np.diff(x).mean() / 2) if len(x) > 1 else 0.5


def find_envelope(vehicle: Vehicle, speed: ArrayLike, climb: ArrayLike, turn_rate: float) -> Envelope:
    """See `Vehicle.envelope`."""
    x, y = _ascending("speed", speed), _ascending("climb", climb)
    shape = len(y), len(x)
    speeds, climbs = (grid.ravel() for grid in np.meshgrid(x, y))
    possible = np.flatnonzero((speeds > 0) & (np.abs(climbs) <= speeds))
    trims = find_flights(vehicle, speeds[possible], climbs[possible], turn_rate)
    steady = Steady.of(vehicle)
    limit = np.full(speeds.shape, NONE_FOUND, dtype=object)
    limit[possible] = [_limit(trim, steady) for trim in trims]
    ok = limit == ""

    def over(values: list[float]) -> Array:
        found = np.full(speeds.shape, np.nan)
        found[possible] = values
        return np.where(ok, found, np.nan).reshape(shape)

    return Envelope(
        vehicle,
        x,
        y,
        float(turn_rate),
        ok.reshape(shape),
        limit.astype(str).reshape(shape),
        over([trim.alpha for trim in trims]),
        over([trim.pitch for trim in trims]),
        {name: over([trim.controls[name] for trim in trims]) for name in steady.controls},
    )


def _ascending(name: str, given: ArrayLike) -> Array:
    try:
        values = np.atleast_1d(np.asarray(given, np.float64))
    except (TypeError, ValueError):
        values = np.full(1, np.nan)
    if values.ndim != 1 or not np.isfinite(values).all() or np.any(np.diff(values) <= 0):
        raise InputError(f"envelope: {name} are finite numbers that ascend; got {given!r}")
    return values


def _limit(trim: Trim, steady: Steady) -> str:
    """What keeps a flight from being one, in a word."""
    if trim.ok:
        return ""
    solved = trim.residual < SOLVED  # else the angle at which the search ended says nothing
    reasons = trim.vehicle._limit_reasons(trim if solved else replace(trim, alpha=0.0))
    if reasons:
        return reasons[0].partition(":")[0]
    if not solved and _idle_power(trim, steady) > 0:
        return "idle"
    for (name, u), low, high in zip(trim.controls.items(), steady.lower, steady.upper, strict=True):
        if not low <= u <= high:
            return ("power" if u > high else "idle") if _is_motor(name) else name
    return NONE_FOUND


def _is_motor(name: str) -> bool:
    return name == "throttle" or name.startswith("rotor")


def _idle_power(trim: Trim, steady: Steady) -> float:
    """What the air and motors at their least give, less what the climb takes (W), wings level."""
    flight = np.array([trim.speed, trim.climb, 0.0])
    y = first_guess(steady, flight[None])[0]
    q, v, _, _ = steady.state(y, flight, trim.q[2:])
    u = np.where([_is_motor(name) for name in steady.controls], steady.lower, 0.0)
    tau = steady.calm.force(*(part for part in (q, v, steady.begin, u) if len(part)))
    return float(tau @ v - steady.calm.robot.mass * GRAVITY * trim.climb)
