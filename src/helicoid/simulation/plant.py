"""A simulated robot to control step by step: varying parameters, torque limits, sensor noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.compiler import Iteration
from helicoid.errors import InputError
from helicoid.model.inertia import Inertia
from helicoid.robot import Robot
from helicoid.simulation.equations import step_function
from helicoid.simulation.inputs.forces import numbers
from helicoid.simulation.inputs.start import start
from helicoid.simulation.sensors import CHANNELS, Measurement, Sensors

ParameterSchedule = Callable[[float], ArrayLike]


class Plant:
    """A simulated robot with true parameters, which a controller need not know, stepped by hand.

    Args:
        robot: the robot that moves; parametric (`robot.parametric(...)`) if its parameters are to change.
        q0, v0: its state at time zero (v0 zero when not given).
        theta: the true parameters, constant or as a function of time (s), such as `jump` and `drift` make;
            by default those of the description.
        noise: standard deviations by channel, {"q": rad, "v": rad/s, "tau": N·m}, as `Sensors` takes them.
        period: time (s) between measurements, during which the torque is held.
        substeps: steps of the integrator in a period.
        friction: whether the robot's damping and dry friction act.
        seed: of the noise.

    Torques saturate at the effort limits of the robot.

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r").parametric("payload", payload_link="tip")
    >>> load = payload(2.0, [0.0, 0.0, 0.0], np.zeros((3, 3)))
    >>> plant = Plant(robot, [0.0, 0.5], theta=jump({0.0: np.zeros(10), 0.005: load}), noise={"q": 1e-4})
    >>> for _ in range(10):
    ...     plant.apply(np.zeros(2))
    >>> print(round(plant.time, 3), plant.theta[0])
    0.01 2.0
    """

    def __init__(
        self,
        robot: Robot,
        q0: ArrayLike,
        v0: ArrayLike | None = None,
        *,
        theta: ArrayLike | ParameterSchedule | None = None,
        noise: Mapping[str, ArrayLike] | None = None,
        period: float = 1e-3,
        substeps: int = 1,
        friction: bool = True,
        seed: int = 0,
    ) -> None:
        if not 0 < period < np.inf or substeps < 1:
            raise InputError(f"period is above zero and substeps at least 1, got {period} and {substeps}")
        self.robot, self.period, self.friction, self.seed = robot, float(period), friction, int(seed)
        self._schedule = _schedule(robot, theta)
        self._noise = noise or {}
        begin = start(robot, q0, v0, None)
        if begin.many:
            raise InputError(f"a plant is one robot: q0 ({robot.nq}) and v0 ({robot.nv}) are vectors")
        self._start = begin.q, begin.v
        # Two rows: the state now, and the one after the next period.
        self._q, self._v = (np.empty((2, *part.shape)) for part in self._start)
        self._tau = np.zeros((1, 1, robot.nv))
        self._theta = np.empty((1, 1, len(self._schedule(0.0))))
        step = step_function(robot, "rk4", friction=friction)
        inputs = [self._tau, self._theta, np.full((1, 1), self.period / int(substeps))]
        self._advance = Iteration(step, [self._q, self._v], inputs, int(substeps)).run
        self.reset()

    def reset(self, seed: int | None = None) -> None:
        """Return to time zero, with another `seed` for other noise."""
        self.seed = self.seed if seed is None else int(seed)
        self._sensors = Sensors(noise=self._noise, seed=self.seed).reader(self.robot)
        self.steps = 0
        self._q[0], self._v[0] = self._start
        self._tau[:] = 0.0

    @property
    def q(self) -> Array:
        """The true coordinates (nq) now."""
        return self._q[0, 0].copy()

    @property
    def v(self) -> Array:
        """The true velocities (nv) now."""
        return self._v[0, 0].copy()

    @property
    def tau(self) -> Array:
        """The torques (nv) that the motors gave in the last period; zero before the first."""
        return self._tau[0, 0].copy()

    @property
    def time(self) -> float:
        """Seconds since the start."""
        return self.steps * self.period

    @property
    def theta(self) -> Array:
        """The true parameters now; empty for a robot that is not parametric."""
        return self._schedule(self.time)

    def measure(self) -> Measurement:
        """Measured q (nq), v (nv), and tau (nv), the torque applied in the last period."""
        q, v, tau = (self._sensors(channel, getattr(self, channel)[None])[0] for channel in CHANNELS)
        return Measurement(np.float64(self.time), q, v, tau)

    def apply(self, tau: ArrayLike) -> None:
        """Advance by one period under a torque (nv), saturated at the effort limits."""
        wanted = numbers("tau must be", tau, self.time, (self.robot.nv,))
        if not np.isfinite(wanted).all():
            raise InputError(f"tau must be finite; at {self.time:g} s it is {wanted}")
        limit = self.robot.limits.effort
        self._tau[:] = np.clip(wanted, -limit, limit)
        self._theta[:] = self.theta
        self._advance(0, 1)
        self._q[0], self._v[0] = self._q[1], self._v[1]
        self.steps += 1


def payload(mass: float, com: ArrayLike, inertia: ArrayLike) -> Array:
    """θ of the group "payload" (10): mass (kg), center (m) and inertia about it (kg·m²) in the link's frame.

    >>> payload(2.0, [0, 0, 0.1], np.zeros((3, 3))).round(3).tolist()
    [2.0, 0.0, 0.0, 0.2, 0.02, 0.0, 0.0, 0.02, 0.0, 0.0]
    """
    return Inertia.from_com(mass, com, inertia).parameters


def jump(values: Mapping[float, ArrayLike]) -> ParameterSchedule:
    """Parameters that are constant and jump at given times (s): {0: before, 2.0: after}.

    >>> jump({0.0: [1.0], 2.0: [3.0]})(1.9), jump({0.0: [1.0], 2.0: [3.0]})(2.0)
    (array([1.]), array([3.]))
    """
    times = np.array(sorted(values), dtype=np.float64)
    rows = np.array([np.asarray(values[t], dtype=np.float64) for t in sorted(values)])
    if not len(times) or times[0] != 0:
        raise InputError(f"the first time must be 0, got {list(values)}")
    # A time that was counted in periods may be short of the jump by rounding.
    return lambda t: rows[np.searchsorted(times, t + 1e-9, side="right") - 1]


def drift(before: ArrayLike, after: ArrayLike, start: float, end: float) -> ParameterSchedule:
    """Parameters that move evenly from `before` to `after` between two times (s).

    >>> drift([1.0], [3.0], start=1.0, end=2.0)(1.5)
    array([2.])
    """
    first, last = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if first.shape != last.shape or not start < end:
        raise InputError(f"drift needs two vectors alike and start < end, got {start} and {end}")
    return lambda t: first + np.clip((t - start) / (end - start), 0.0, 1.0) * (last - first)


def _schedule(robot: Robot, theta: ArrayLike | ParameterSchedule | None) -> Callable[[float], Array]:
    own = robot.theta.values
    given: ParameterSchedule = theta if callable(theta) else (lambda _: own if theta is None else theta)

    def at(t: float) -> Array:
        return np.asarray(given(t), dtype=np.float64)

    first = at(0.0)
    if first.shape != own.shape or not np.isfinite(first).all():
        need = f"{len(own)} finite numbers" if len(own) else "a parametric robot: robot.parametric(...)"
        raise InputError(f"theta of robot {robot.name!r} needs {need}; got {first}")
    return at
