"""The plant of a commissioning: the calls that a robot, real or simulated, answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.commissioning.plant.watchdog import within
from helicoid.commissioning.status import CommissioningStatus, CommissioningStopped
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation import Plant

_MAX_ANSWER_TIME, _MAX_HOLD_TIME = 5.0, 60.0  # s, of measure() and apply(), and of brakes


@runtime_checkable
class CommissioningPlant(Protocol):
    """A robot with torque commands: `hc.Plant`, MuJoCo, or a class of your own around a real robot.

    `period` is the time (s) between two samples. `measure()` returns an object with `q` (nq), `v` (nv) and
    `tau` (nv), the torque of the motors as the drives report it in that sample; without `tau` commands are
    used. Where it has `t` (s) too, the time between samples is compared with `period`. On a real robot
    `measure()` waits for the next sample, and raises where none comes. `apply(tau)` commands a torque (nv),
    which is held for one period.

    Between motions, which take seconds to compute, nothing is commanded. A plant that would fall then has
    `release()` too, called before each motion, and `hold()`, called after it whatever has happened: brakes,
    or the robot's own position controller.

    >>> import helicoid as hc
    >>> isinstance(hc.Plant(hc.load("planar_2r"), [0.0, 0.5]), CommissioningPlant)
    True
    """

    @property
    def period(self) -> float:
        """Time between two samples (s)."""
        ...

    def measure(self) -> Any:
        """The current sample: an object with q, v and, if it is measured, tau."""
        ...

    def apply(self, tau: ArrayLike) -> None:
        """Command a torque (nv) until the next sample."""
        ...


@dataclass(frozen=True)
class PlantSample:
    """One measurement: q (nq), v (nv), the torque (nv) and the time (s), NaN where they are not measured."""

    q: Array
    v: Array
    tau: Array
    t: float = np.nan


class CheckedPlant:
    """A plant whose every answer is checked; whatever is wrong raises `CommissioningStopped`."""

    def __init__(self, robot: Robot, plant: Any) -> None:
        missing = [name for name in ("measure", "apply") if not callable(getattr(plant, name, None))]
        if missing or not hasattr(plant, "period"):
            raise InputError(
                f"a plant has period, measure() and apply(tau), see CommissioningPlant; {plant!r} lacks "
                f"{', '.join([*missing, *([] if hasattr(plant, 'period') else ['period'])])}"
            )
        try:
            self.period = float(plant.period)
        except (TypeError, ValueError):
            self.period = np.nan
        if not 0 < self.period <= 0.02:
            raise InputError(
                f"period is the time between torque commands, up to 0.02 s; got {plant.period!r}"
            )
        self._robot, self._plant = robot, plant
        self.simulated = isinstance(plant, Plant)

    def measure(self) -> PlantSample:
        """The current sample.

        Raises:
            CommissioningStopped: it fails, has another size, or is not finite.
        """
        try:
            given = within(_MAX_ANSWER_TIME, self._plant.measure)
            t = float(getattr(given, "t", np.nan))
            q, v = (np.array(getattr(given, name), dtype=np.float64) for name in "qv")
            tau = getattr(given, "tau", None)
            torque = np.full(self._robot.nv, np.nan) if tau is None else np.array(tau, dtype=np.float64)
        except Exception as error:
            raise self._failed("measure()", error) from error
        for name, array, size in (
            ("q", q, self._robot.nq),
            ("v", v, self._robot.nv),
            ("tau", torque, self._robot.nv),
        ):
            if array.shape != (size,):
                message = f"measure() gave {name} of shape {array.shape}; {self._robot.name!r} has ({size},)"
                raise CommissioningStopped(CommissioningStatus.PLANT_FAILED, message)
        for name, array in (("q", q), ("v", v)):
            bad = np.flatnonzero(~np.isfinite(array))
            if len(bad):
                joint = self._robot.model.velocity_names[int(bad[0])]
                message = f"measure() gave {name} = {array[bad[0]]} at {joint!r}"
                raise CommissioningStopped(CommissioningStatus.BAD_MEASUREMENT, message)
        return PlantSample(q, v, torque, t)

    def apply(self, tau: Array) -> None:
        """Command a torque.

        Raises:
            CommissioningStopped: it fails.
        """
        try:
            within(_MAX_ANSWER_TIME, lambda: self._plant.apply(tau))
        except Exception as error:
            raise self._failed("apply(tau)", error) from error

    def release(self) -> None:
        """Call `release()` of a plant that has it, before a motion."""
        self._optional("release")

    def hold(self) -> None:
        """Call `hold()` of a plant that has it, after a motion."""
        self._optional("hold")

    def _optional(self, name: str) -> None:
        call = getattr(self._plant, name, None)
        if callable(call):
            try:
                within(_MAX_HOLD_TIME, call)
            except Exception as error:
                raise self._failed(f"{name}()", error) from error

    @staticmethod
    def _failed(call: str, error: Exception) -> CommissioningStopped:
        message = f"the plant's {call} raised {type(error).__name__}: {error}"
        return CommissioningStopped(CommissioningStatus.PLANT_FAILED, message)
