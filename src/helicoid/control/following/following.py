"""A controller together with its reference over time, for loops that call `step(q, v, t)`."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.control.following.signals import (
    Sampled,
    Signal,
    as_numbers,
    as_signal,
    is_motion,
    motion_samples,
)
from helicoid.control.protocol import ControllerProtocol
from helicoid.errors import InputError
from helicoid.status import Status

Reference = Any
"""A reference in one of the forms that the docstring of `Following` lists."""


class Following:
    """A controller that follows a reference over time; itself a controller, with `step(q, v, t)`.

    Every controller's `following(reference)` returns one. References that the controller's `step` takes are
    passed to it by name; other names, such as targets of tasks, go to `controller.set` before each step.

    Args:
        controller: its numbers, status and exported C stay its own.
        reference: one of
            a motion with t, q, v and a: `Trajectory`, plan, timed path;
            an array: the first reference of the law, or the target where there is only one;
            a dict name → array (constant), or name → (N, ...) together with "t" (N,): interpolated;
            a dict name → callable of time (s), or a callable that returns an array or a dict.
            Samples are interpolated linearly, configurations and rotations along geodesics, and held at
            both ends; after its end a motion is at rest. (N, ...) without "t" has one row per step.
        references: further entries by name, such as `q_ref=...`.

    A reference that fails within the loop, because a callable raises or returns what is no number, gives the
    status "bad reference"; it never raises there.

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> law = hc.control.JointImpedance(robot, stiffness=100.0, damping=20.0)
    >>> ramp = law.following({"t": [0.0, 1.0], "q_ref": [[0.0, 0.0], [0.4, 0.2]]})
    >>> tau = ramp.step([0.0, 0.0], [0.0, 0.0], t=0.5)
    >>> print((tau - robot.gravity([0.0, 0.0])).round(9), ramp.ok)
    [20. 10.] True
    """

    def __init__(self, controller: Any, reference: Reference = None, **references: Any) -> None:
        self.controller = controller
        self._shapes: dict[str, tuple[int, ...]] = dict(getattr(controller, "references", {}))
        self._whole: Callable[[float], Any] | None = None
        self._signals: dict[str, Signal] = {}
        self._add(reference)
        self._add(references or None)
        self._constant = self._whole is None and all(one.constant for one in self._signals.values())
        self._time, self._count, self._began, self._failure = 0.0, 0, False, ""
        self._check()

    # Reading the reference ----------------------------------------------------------------------------

    def _add(self, reference: Reference) -> None:
        if reference is None:
            return
        if is_motion(reference):
            self._add_motion(reference)
        elif isinstance(reference, Mapping):
            given = dict(reference)
            times = given.pop("t", None)
            for name, value in given.items():
                self._signals[name] = self._signal(name, value, times)
        elif callable(reference):
            self._whole = reference
        else:
            self._signals[self._first] = self._signal(self._first, reference, None)

    def _add_motion(self, motion: Any) -> None:
        convert = getattr(self.controller, "motion_reference", None)
        if convert is None:
            raise InputError(f"{self._name} follows no motion of joints: give its references by name")
        t, samples = motion_samples(motion, self.controller.robot)
        for name, values in convert(*samples).items():
            self._signals[name] = self._signal(name, values, t)

    def _signal(self, name: str, value: Any, times: Any) -> Signal:
        postures = getattr(self.controller, "postures", ())
        robot = self.controller.robot if name.startswith("q_") or name in postures else None
        return as_signal(name, value, times, self._shapes.get(name), robot)

    @property
    def _name(self) -> str:
        return type(self.controller).__name__

    @property
    def _first(self) -> str:
        """Name of a reference that is given without one."""
        if self._shapes:
            return next(iter(self._shapes))
        targets = tuple(getattr(self.controller, "targets", ()))
        if len(targets) != 1:
            known = ", ".join(targets) or "those that `set` takes"
            raise InputError(f"{self._name}: give the reference by name, as a dict; there are {known}")
        return targets[0]

    def _check(self) -> None:
        """Refuse names and values that the controller does not take, at t = 0."""
        values = self._at(0.0, 0)
        for name, shape in self._shapes.items():
            if name in values and np.shape(values[name]) != shape:
                raise InputError(f"reference {name!r} has shape {shape}; got {np.shape(values[name])}")
        missing = [name for name in getattr(self.controller, "required", ()) if name not in values]
        if missing:
            raise InputError(f"{self._name} needs a reference {missing[0]!r}")
        targets = {name: value for name, value in values.items() if name not in self._shapes}
        if targets and self._shapes and not set(targets) <= set(getattr(self.controller, "targets", ())):
            raise InputError(
                f"{self._name} has no reference {next(iter(targets))!r}; there are: {', '.join(self._shapes)}"
            )
        if targets:
            self.controller.set(**targets)

    def samples(self, times: Array) -> dict[str, Array]:
        """References and targets at the times (s) of successive steps, (N, ...) each, by name."""
        rows = [self._at(float(t), k) for k, t in enumerate(times)]
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    def _at(self, t: float, k: int) -> dict[str, Any]:
        """References and targets at a time and in the step k, by name."""
        values = {name: signal.at(t, k) for name, signal in self._signals.items()}
        if self._whole is not None:
            found = self._whole(t)
            named = found if isinstance(found, Mapping) else {self._first: found}
            values |= {name: as_numbers(name, value) for name, value in named.items()}
        return values

    # In the loop --------------------------------------------------------------------------------------

    def step(self, q: ArrayLike, v: ArrayLike, t: float | None = None, tau: ArrayLike | None = None) -> Any:
        """Command for a measured state at the time t (s), by default one period after the last step.

        Args:
            tau: measured torque, for controllers whose `step` takes it.
        """
        now, self._failure = self._now(t), ""
        try:
            values = self._at(now, self._count)
            targets = {name: values.pop(name) for name in list(values) if name not in self._shapes}
            if targets:
                self.controller.set(**targets)
        except Exception as error:  # of the user's callable or of `set`: the loop goes on
            self._failure = f"reference at t = {now:g} s: {error}"
            values = {name: np.full(shape, np.nan) for name, shape in self._shapes.items()}
        if "tau" in getattr(self.controller, "measures", "q v").split():
            values["tau"] = tau
        command = self.controller.step(q, v, **values)
        self._began, self._count = True, self._count + 1
        return command

    def _now(self, t: float | None) -> float:
        period = self.period
        if t is not None:
            self._time = float(t) if isinstance(t, (int, float, np.number)) else math.nan
        elif period is not None:
            self._time = self._time + period if self._began else self._time
        elif not self._constant and not self._began:
            raise InputError(f"{self._name} has no period: call step(q, v, t) with the time (s)")
        return self._time

    def reset(self) -> None:
        """Reset the controller, and the clock to t = 0."""
        self.controller.reset()
        self._time, self._count, self._began, self._failure = 0.0, 0, False, ""

    @property
    def ok(self) -> bool:
        """Whether the last step did what was asked, with a valid reference."""
        return bool(self.controller.ok) and not self._failure

    @property
    def status(self) -> Status:
        """Result of the last step."""
        return Status.BAD_REFERENCE if self._failure else self.controller.status

    @property
    def message(self) -> str:
        """Reason why the last step failed, in words; empty where `ok`."""
        return self._failure or str(self.controller.message)

    # The controller's own -----------------------------------------------------------------------------

    @property
    def period(self) -> float | None:
        """Time between two steps (s) of the controller."""
        return getattr(self.controller, "period", None)

    @property
    def command(self) -> str:
        """Quantity that `step` returns, as the controller says it."""
        return str(getattr(self.controller, "command", "tau"))

    @property
    def measures(self) -> str:
        """Quantities that `step` takes, as the controller says it."""
        return str(getattr(self.controller, "measures", "q v"))

    @property
    def robot(self) -> Any:
        """The controller's robot."""
        return self.controller.robot

    def set(self, **numbers: ArrayLike) -> None:
        """Change numbers of the controller."""
        self.controller.set(**numbers)

    def following(self, reference: Reference = None, **references: Any) -> ControllerProtocol:
        """The same controller with another reference."""
        other: ControllerProtocol = self.controller.following(reference, **references)
        return other

    def export_c(self, folder: str | os.PathLike[str], name: str | None = None) -> list[Path]:
        """Write the controller as C99; its reference stays an input there."""
        written: list[Path] = self.controller.export_c(folder, name)
        return written

    def __repr__(self) -> str:
        return f"{self.controller!r}.following({', '.join(self._signals) or self._whole})"


def posture_reference(
    controller: Any, q: Array, v: Array | None = None, a: Array | None = None
) -> dict[str, Array]:
    """Targets of the posture task of a controller for samples of a joint motion.

    Args:
        v, a: samples of the velocity and the acceleration, where the controller takes them.

    Raises:
        InputError: it has no posture task, or several.
    """
    if len(controller.postures) != 1:
        raise InputError(
            f"{type(controller).__name__} follows a joint motion with one PostureTask; it has "
            f"{len(controller.postures)}: give targets by name, of {', '.join(controller.targets)}"
        )
    name = controller.postures[0]
    samples = {name: q, f"{name}_velocity": v, f"{name}_acceleration": a}
    return {key: x for key, x in samples.items() if x is not None}


class LawFollowing(Following):
    """Reference for a law whose step is one compiled function: a simulation computes it inside its loop."""

    def in_loop(self, times: Array) -> Any:
        """The law as a `LoopLaw`, with a row of references for each of the sampling times (s)."""
        from helicoid.simulation.inputs.laws import LoopLaw

        law, rows = self.controller, self._rows(times)
        numbers = law._values[None].copy()
        targets = [name for name in rows if name not in self._shapes]
        if targets:
            numbers = np.repeat(numbers, len(times), axis=0)
            for name in targets:
                entry = law._numbers[name]
                numbers[:, entry.at] = [entry.check(name, row).ravel() for row in rows.pop(name)]
        for name, default in law._defaults_of_references.items():
            rows.setdefault(name, np.array(default, dtype=np.float64)[None])
        return LoopLaw(
            law.function,
            law._start.copy(),
            {"numbers": numbers, **law._measured_rows(rows)},
            at_end=lambda memory, q, v: self._step_at_end(memory, q, v, times),
        )

    def _step_at_end(self, memory: Array, q: Array, v: Array, times: Array) -> None:
        """Make `status` and `message` those of the end of a simulation; memory and clock stay as they are."""
        law, kept = self.controller, (self._time, self._count, self._began)
        before, law._memory, self._count = law._memory, memory.copy(), len(times) - 1
        self.step(q, v, float(times[-1]))
        law._memory, (self._time, self._count, self._began) = before, kept

    def _rows(self, times: Array) -> dict[str, Array]:
        """References and targets at the sampling times, (N, ...), or (1, ...) of constant references."""
        rows = {}
        for name, signal in self._signals.items():
            if signal.constant and name in self._shapes:
                rows[name] = np.array(signal.at(0.0, 0))[None]
                continue
            if isinstance(signal, Sampled) or signal.length in (None, len(times), len(times) - 1):
                n = len(times) if signal.length is None else min(signal.length, len(times))
                n = len(times) if isinstance(signal, Sampled) else n
                rows[name] = np.array([signal.at(float(t), k) for k, t in enumerate(times[:n])])
                continue
            raise InputError(
                f"reference {name!r} has {signal.length} rows; there are {len(times)} sampling times: give "
                "its own times as 't'"
            )
        if self._whole is not None:
            rows = {**self.samples(times), **rows}
        for name, values in rows.items():
            shape = self._shapes.get(name)
            if shape is not None and values.shape[1:] != shape:
                raise InputError(f"reference {name!r} has shape {shape}; got {values.shape[1:]}")
            if not np.all(np.isfinite(values)):
                raise InputError(f"reference {name!r} is not finite at some of the sampling times")
        return rows
