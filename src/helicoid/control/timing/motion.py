"""Time-optimal motion: a trajectory with its path and the profile of its path velocity."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.control.timing import engine
from helicoid.control.timing.joint_path import JointPath
from helicoid.control.timing.limits import MotionLimits
from helicoid.control.timing.rows import torques
from helicoid.errors import InputError, optional_import
from helicoid.robot import Robot
from helicoid.simulation import Trajectory
from helicoid.simulation.trajectory import MotionEquations
from helicoid.simulation.trajectory.resampling import requested_times

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHECKS_PER_INTERVAL = 8  # of the grid: times at which limits are checked


class Profile(NamedTuple):
    """Velocity profile along the path, at the points of its grid.

    Args:
        s: (N + 1), path parameter; a corner or a seam stands twice.
        values: (5, N + 1), what the properties give.
    """

    s: Array
    values: Array

    @property
    def t(self) -> Array:
        """(N + 1), time (s)."""
        return self.values[0]

    @property
    def speed(self) -> Array:
        """(N + 1), path velocity ṡ; its square is linear in s between the points."""
        return self.values[1]

    @property
    def acceleration(self) -> Array:
        """(N), path acceleration s̈ of each interval."""
        return self.values[2, :-1]

    @property
    def highest(self) -> Array:
        """(N + 1), the path velocity up to which the end can still be reached within the limits."""
        return self.values[3]

    @property
    def velocity_limit(self) -> Array:
        """(N + 1), the path velocity that velocity limits and corners allow."""
        return self.values[4]

    def plot(self) -> Figure:
        """A matplotlib figure of the speed along the path, below the limits."""
        plt = optional_import("matplotlib.pyplot", "a plot", "helicoid[plot]")
        figure, axis = plt.subplots(figsize=(7, 3.5), layout="constrained")
        top = 1.3 * self.speed.max()
        for name, speed in (("velocity limits", self.velocity_limit), ("controllable", self.highest)):
            axis.plot(self.s, np.minimum(speed, 10 * top), label=name, linewidth=1.2)
        axis.plot(self.s, self.speed, color="black", label="time-optimal")
        axis.set(xlabel="path parameter s", ylabel="path velocity ds/dt (1/s)", ylim=(0, top))
        axis.margins(x=0)
        axis.grid(alpha=0.3)
        axis.legend(frameon=False)
        return figure


class Excess(NamedTuple):
    """Violation of the limits by a motion, relative to their half-widths; zero where they are kept."""

    velocity: float
    acceleration: float
    torque: float


@dataclass(eq=False, repr=False)
class PathMotion(Trajectory):
    """A motion along a path, as `time_optimal` gives it: a `Trajectory` with its samples exactly on the path.

    Attributes:
        tau: the torque (N·m, N) at each sample, by inverse dynamics; a time-optimal one jumps in between.
        path: where it goes.
        profile: how fast, at the points of its grid.
        kept: the limits that it keeps.
        friction: whether torques include joint friction.
    """

    path: JointPath = field(kw_only=True)
    profile: Profile = field(kw_only=True, repr=False)
    kept: MotionLimits = field(kw_only=True, repr=False)
    friction: bool = field(kw_only=True, default=False)

    @property
    def success(self) -> bool:
        """True: a path that cannot be followed raises `InfeasiblePath`."""
        return True

    @property
    def message(self) -> str:
        """Empty: see `success`."""
        return ""

    @property
    def duration(self) -> float:
        """Duration (s)."""
        return float(self.profile.t[-1])

    @property
    def excess(self) -> Excess:
        """Largest violation of the limits, also between the points of the grid, where none is enforced.

        Limits are checked eight times in each interval. A finer grid makes the violation smaller.
        """
        assert self.robot is not None
        t = self.profile.t
        parts = np.arange(CHECKS_PER_INTERVAL) / CHECKS_PER_INTERVAL
        times = np.append((t[:-1, None] + parts * np.diff(t)[:, None]).ravel(), t[-1])
        q, v, a = _states(self.path, self.profile, times)
        looked = [_beyond(v, self.kept.velocity), _beyond(a, self.kept.acceleration), 0.0]
        if self.kept.has_torques:
            looked[2] = _beyond(torques(self.robot, q, v, a, self.friction), self.kept.torque)
        return Excess(*looked)

    def resample(self, times: ArrayLike | None = None, dt: float | None = None) -> PathMotion:
        """The motion at other times, exactly on the path: `times` in ascending order, or every `dt` seconds.

        With `dt` the last step may be shorter, so that it ends with the motion.

        Raises:
            InputError: both or neither are given, or a time lies outside.
        """
        assert self.robot is not None
        wanted = (
            every(self.duration, dt)
            if times is None and dt is not None
            else requested_times(self.t, times, dt)
        )
        slack = 1e-9 * self.duration
        if not np.all((wanted >= -slack) & (wanted <= self.duration + slack)):
            raise InputError(f"the motion takes from 0 to {self.duration:g} s")
        if np.any(np.diff(wanted) < 0):
            raise InputError("times must be ascending")
        return along(self.robot, self.path, self.profile, self.kept, self.friction, wanted)


def along(
    robot: Robot, path: JointPath, profile: Profile, kept: MotionLimits, friction: bool, times: Array
) -> PathMotion:
    """The motion at these times."""
    q, v, a = _states(path, profile, times)
    tau = torques(robot, q, v, a, friction)
    options = {"friction": True} if friction else {}
    moved_by = MotionEquations(robot, {"tau": tau, "theta": robot.theta.values[None]}, options=options)
    return PathMotion(
        *(times, q, v, tau, robot),
        motion=moved_by,
        known={"a": a},
        path=path,
        profile=profile,
        kept=kept,
        friction=friction,
    )


def every(duration: float, dt: float | None) -> Array:
    """Times from zero to the duration, `dt` apart; the last step may be shorter."""
    if not (isinstance(dt, (int, float, np.number)) and 0 < dt < np.inf):
        raise InputError(f"dt must be positive (s); got {dt!r}")
    if duration / dt > 1e8:
        raise InputError(f"dt = {dt:g} s cuts {duration:g} s into too many samples")
    n = int(np.ceil(duration / dt * (1 - 1e-12)))
    times: Array = np.arange(n + 1, dtype=np.float64) * float(dt)
    times[-1] = duration
    return times


def _states(path: JointPath, profile: Profile, times: Array) -> tuple[Array, Array, Array]:
    moved = engine.motion(path.breaks, path.coefficients, profile.s, profile.values, times)
    return moved[0], moved[1], moved[2]


def _beyond(values: Array, bounds: Array) -> float:
    low, high = bounds
    excess = np.maximum(values - high, low - values).max(axis=0)
    one_sided = np.isinf(low) | np.isinf(high)
    width = np.where(one_sided, np.minimum(np.abs(low), np.abs(high)), (high - low) / 2)
    bounded = (excess > 0) & (width > 0)  # a joint that may not move at all does not
    return float((excess[bounded] / width[bounded]).max(initial=0.0))
