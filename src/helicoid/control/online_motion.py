"""Jerk-limited motion to a target that may change at every step, by the library `ruckig`."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import HelicoidError, InputError
from helicoid.robot import Robot

Status = Literal["moving", "arrived", "invalid target"]


class Reference(NamedTuple):
    """Where to be after a step: q (rad, m), v and a, (nv) each."""

    q: Array
    v: Array
    a: Array


class OnlineMotion:
    """The fastest jerk-limited motion from where it is to a target, decided anew at every step.

    Each joint moves with |q⃛| ≤ jerk, |q̈| ≤ acceleration and |q̇| ≤ velocity, all arriving at the same time
    (Berscheid and Kröger, "Jerk-limited real-time trajectory generation with arbitrary target states", 2021;
    the package `ruckig`, of the extra `helicoid[online]`). Where `time_optimal` plans along a given path,
    this has no path: the target may jump at any time.

    Args:
        robot: on joints whose coordinates are numbers.
        dt: a step (s).
        acceleration, jerk: a number, or one for each joint (nv).
        velocity: the same; by default the robot's own limits.

    Raises:
        HelicoidError: ruckig is not installed.

    >>> import helicoid as hc
    >>> motion = hc.control.OnlineMotion(hc.load("planar_2r"), 0.01, acceleration=5.0, jerk=50.0)
    >>> motion.reset([0.0, 0.0])
    >>> while motion.status != "arrived":
    ...     q, v, a = motion.step([0.5, -0.2])
    >>> q
    array([ 0.5, -0.2])
    """

    def __init__(
        self,
        robot: Robot,
        dt: float,
        acceleration: ArrayLike,
        jerk: ArrayLike,
        velocity: ArrayLike | None = None,
    ) -> None:
        try:
            import ruckig
        except ImportError as error:
            raise HelicoidError("OnlineMotion needs ruckig: pip install 'helicoid[online]'") from error
        if robot.nq != robot.nv:
            raise InputError(
                "OnlineMotion moves joints whose coordinates are numbers: no floating base, no balls"
            )
        if not (isinstance(dt, (int, float, np.number)) and 0 < dt < np.inf):
            raise InputError(f"dt must be positive (s); got {dt!r}")
        self.robot, self.dt = robot, float(dt)
        self._solver = ruckig.Ruckig(robot.nv, self.dt)
        self._input, self._output = ruckig.InputParameter(robot.nv), ruckig.OutputParameter(robot.nv)
        self._good = (ruckig.Result.Working, ruckig.Result.Finished)
        self._finished, self._refused = ruckig.Result.Finished, ruckig.RuckigError
        self._status: Status = "arrived"
        self.set(velocity=robot.limits.velocity if velocity is None else velocity)
        self.set(acceleration=acceleration, jerk=jerk)
        self.reset(np.clip(robot.neutral(), robot.limits.lower, robot.limits.upper))

    @property
    def status(self) -> Status:
        """ "moving", "arrived", or "invalid target": the last step went on to the target before."""
        return self._status

    @property
    def ok(self) -> bool:
        """Whether the last step was towards the target that was given."""
        return self._status != "invalid target"

    def set(self, **limits: ArrayLike) -> None:
        """Other limits from the next step on: velocity, acceleration, jerk."""
        for name, value in limits.items():
            if name not in ("velocity", "acceleration", "jerk"):
                raise InputError(f"{name}: there are velocity, acceleration and jerk")
            numbers = self._numbers(name, value)
            if not (numbers > 0).all():
                joint = self.robot.model.velocity_names[int(np.argmin(numbers > 0))]
                raise InputError(f"{name} must be positive; {joint} has {numbers.min():g}")
            setattr(self._input, f"max_{name}", numbers.tolist())

    def reset(self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None) -> None:
        """Start from here, with the target here."""
        zero = np.zeros(self.robot.nv)
        parts = {
            "position": q,
            "velocity": zero if v is None else v,
            "acceleration": zero if a is None else a,
        }
        numbers = {name: self._numbers(name, value) for name, value in parts.items()}
        if not all(np.isfinite(value).all() for value in numbers.values()):
            raise InputError("reset: q, v and a must be finite")
        for name, value in numbers.items():
            setattr(self._input, f"current_{name}", value.tolist())
        self._input.target_position = numbers["position"].tolist()
        self._input.target_velocity = self._input.target_acceleration = zero.tolist()
        self._status = "moving"

    def step(self, target: ArrayLike, target_velocity: ArrayLike | None = None) -> Reference:
        """The next reference on the way to a target (nv), passed with `target_velocity`, by default at rest.

        Never raises for numbers: a target that is not finite, or a velocity beyond the limits, is left out,
        the motion goes on to the one before, and `ok` is False.
        """
        wanted = self._numbers("target", target)
        speed = np.zeros(self.robot.nv) if target_velocity is None else self._numbers("v", target_velocity)
        before = self._input.target_position, self._input.target_velocity
        known = bool(np.isfinite(wanted).all() and np.isfinite(speed).all())
        if known:
            self._input.target_position, self._input.target_velocity = wanted.tolist(), speed.tolist()
        result = self._update()
        if result not in self._good and known:
            known = False
            self._input.target_position, self._input.target_velocity = before
            result = self._update()
        if result in self._good:
            self._output.pass_to_input(self._input)
        self._status = "invalid target" if not known else "arrived" if result == self._finished else "moving"
        now = self._input
        return Reference(
            *(np.array(x) for x in (now.current_position, now.current_velocity, now.current_acceleration))
        )

    def _update(self) -> Any:
        try:
            return self._solver.update(self._input, self._output)
        except self._refused:
            return None

    def _numbers(self, name: str, value: ArrayLike) -> Array:
        try:
            numbers = np.asarray(value, dtype=np.float64)
            return np.array(np.broadcast_to(numbers, (self.robot.nv,)))
        except (TypeError, ValueError):
            raise InputError(f"{name} must be numbers of shape ({self.robot.nv},); got {value!r}") from None
