"""Jerk-limited motion to a target that may change at every step, by the library `ruckig`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import real_array, shown
from helicoid.control.following import Following
from helicoid.deprecation import former_attribute, former_order
from helicoid.errors import HelicoidError, InputError, optional_import
from helicoid.robot import Robot
from helicoid.status import Status


class MotionState(NamedTuple):
    """Reference after a step: q (rad, m), v and a, (nv) each."""

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
        acceleration, jerk, velocity: limits, a number or one for each joint (nv); by default the robot's own,
            of acceleration the lesser of acceleration and deceleration.
        dt: time between steps (s).

    Raises:
        HelicoidError: ruckig is not installed.

    >>> import helicoid as hc
    >>> motion = hc.control.OnlineMotion(hc.load("planar_2r"), acceleration=5.0, jerk=50.0, dt=0.01)
    >>> motion.reset([0.0, 0.0])
    >>> while not motion.arrived:
    ...     q, v, a = motion.step([0.5, -0.2])
    >>> q
    array([ 0.5, -0.2])
    """

    dt = former_attribute("dt", "period")
    command: ClassVar[str] = "reference"
    """Quantity that `step` returns: q, v and a for a controller to track."""
    references: ClassVar[dict[str, tuple[int, ...]]] = {}

    @former_order("dt", "acceleration", "jerk", "velocity")
    def __init__(
        self,
        robot: Robot,
        acceleration: ArrayLike | None = None,
        jerk: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        *,
        dt: float,
    ) -> None:
        ruckig = optional_import("ruckig", "OnlineMotion", "helicoid[online]")
        if robot.nq != robot.nv:
            raise InputError(
                "OnlineMotion moves joints whose coordinates are numbers: no floating base, no balls"
            )
        if not (isinstance(dt, (int, float, np.number)) and 0 < dt < np.inf):
            raise InputError(f"dt must be positive (s); got {dt!r}")
        self.robot, self.period = robot, float(dt)
        self._solver = ruckig.Ruckig(robot.nv, self.period)
        self._input, self._output = ruckig.InputParameter(robot.nv), ruckig.OutputParameter(robot.nv)
        self._good = (ruckig.Result.Working, ruckig.Result.Finished)
        self._finished, self._refused = ruckig.Result.Finished, ruckig.RuckigError
        self._status, self._arrived = Status.NOT_STARTED, False
        self.set(velocity=robot.limits.velocity if velocity is None else velocity)
        own = robot.rate_limits
        slowest = np.minimum(own.acceleration, own.deceleration)
        self.set(acceleration=slowest if acceleration is None else acceleration)
        self.set(jerk=own.jerk if jerk is None else jerk)
        self._home = robot.neutral(within_limits=True)
        self.reset()

    @property
    def status(self) -> Status:
        """OK, or BAD_REFERENCE where the last step continued to the previous target."""
        return self._status

    @property
    def ok(self) -> bool:
        """Whether the last step was towards the target that was given."""
        return self._status is Status.OK

    @property
    def message(self) -> str:
        """Reason why the last step failed, in words; empty where `ok`."""
        if self._status is Status.NOT_STARTED:
            return "there was no step yet"
        return "" if self.ok else "the target is not finite or beyond the limits: moving to the previous one"

    @property
    def arrived(self) -> bool:
        """Whether the reference has reached the target."""
        return self._arrived

    def following(self, reference: Any = None, **references: Any) -> Following:
        """The motion with its target over time; `step(q, v, t)` of the result needs no measurements."""
        return _TargetFollowing(self, reference, **references)

    def export_c(self, folder: str | os.PathLike[str], name: str | None = None) -> list[Path]:
        """Not available: ruckig is a library in C++ of its own.

        Raises:
            HelicoidError: always.
        """
        raise HelicoidError("OnlineMotion is not written as C: in C++, call ruckig itself")

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

    def reset(
        self, q: ArrayLike | None = None, v: ArrayLike | None = None, a: ArrayLike | None = None
    ) -> None:
        """Start from this state, by default from the neutral configuration at rest, with the target there."""
        q = self._home if q is None else q
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
        self._status, self._arrived = Status.NOT_STARTED, False

    def step(self, target: ArrayLike, target_velocity: ArrayLike | None = None) -> MotionState:
        """The next reference on the way to a target (nv), passed with `target_velocity`, by default at rest.

        After the first step it never raises: for a target that is not finite, or a velocity beyond the
        limits, the motion continues to the previous target, and `ok` is False.
        """
        wanted, speed = (
            self._target(*pair) for pair in (("target", target), ("target_velocity", target_velocity))
        )
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
        self._status = Status.OK if known else Status.BAD_REFERENCE
        self._arrived = known and result == self._finished
        now = self._input
        return MotionState(
            *(np.array(x) for x in (now.current_position, now.current_velocity, now.current_acceleration))
        )

    def _target(self, name: str, value: ArrayLike | None) -> Array:
        try:
            return self._numbers(name, 0.0 if value is None and name == "target_velocity" else value)
        except InputError:
            if self._status is Status.NOT_STARTED:
                raise
        return np.full(self.robot.nv, np.nan)

    def _update(self) -> Any:
        try:
            return self._solver.update(self._input, self._output)
        except self._refused:
            return None

    def _numbers(self, name: str, value: ArrayLike | None) -> Array:
        try:
            return np.array(np.broadcast_to(real_array(name, value), (self.robot.nv,)))
        except ValueError:
            raise InputError(
                f"{name} must be numbers of shape ({self.robot.nv},); got {shown(value)}"
            ) from None


class _TargetFollowing(Following):
    """An online motion whose target is a reference over time."""

    def _check(self) -> None:
        self.controller._numbers("target", self._at(0.0, 0).get("target", 0.0))

    @property
    def _first(self) -> str:
        return "target"

    def step(self, q: ArrayLike, v: ArrayLike, t: float | None = None, tau: ArrayLike | None = None) -> Any:
        now, self._failure = self._now(t), ""
        try:
            values = self._at(now, self._count)
            target, velocity = (values.get(name) for name in ("target", "target_velocity"))
        except Exception as error:  # of the user's callable: the loop goes on
            self._failure = f"reference at t = {now:g} s: {error}"
            target, velocity = np.nan, None
        self._began, self._count = True, self._count + 1
        return self.controller.step(target, velocity)
