"""Quantities over time as references of a controller: constant, sampled, one row per step, or a callable."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from helicoid._typing import Array
from helicoid.arrays import real_array
from helicoid.errors import InputError
from helicoid.geometry import so3
from helicoid.robot.robot import Robot


class Signal(ABC):
    """Base of quantities over time: `at(t, k)` gives the value at the time t (s), in the step k."""

    constant: ClassVar[bool] = False
    length: int | None = None
    """Number of rows where there is one per step."""

    @abstractmethod
    def at(self, t: float, k: int) -> Any:
        """Value at the time t (s), in the step k."""


@dataclass(frozen=True)
class Constant(Signal):
    """The same value at all times."""

    value: Array
    constant: ClassVar[bool] = True

    def at(self, t: float, k: int) -> Array:
        return self.value


@dataclass(frozen=True)
class PerStep(Signal):
    """One row per step of the loop; the last one is held."""

    values: Array

    @property
    def length(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return len(self.values)

    def at(self, t: float, k: int) -> Array:
        return self.values[min(k, len(self.values) - 1)]


@dataclass(frozen=True)
class OfTime(Signal):
    """A callable of the time (s)."""

    name: str
    function: Callable[[float], Any]

    def at(self, t: float, k: int) -> Array:
        return as_numbers(self.name, self.function(t))


@dataclass(frozen=True)
class Sampled(Signal):
    """Samples (N, ...) at increasing times (N,), interpolated linearly and held at both ends.

    Configurations of `robot`, where it is given, are interpolated along q₀ ⊕ s (q₁ ⊖ q₀); rotations, in
    samples of 3 × 3 and 4 × 4, along R₀ exp(s log(R₀ᵀ R₁)).
    """

    t: Array
    values: Array
    robot: Robot | None = None

    def at(self, t: float, k: int) -> Array:
        if not t < self.t[-1]:
            return self.values[-1] if t >= self.t[-1] else np.full(self.values.shape[1:], np.nan)
        if t <= self.t[0]:
            return self.values[0]
        right = int(np.searchsorted(self.t, t, side="right"))
        before, after = self.values[right - 1], self.values[right]
        s = (t - self.t[right - 1]) / (self.t[right] - self.t[right - 1])
        if self.robot is not None and self.robot.nq != self.robot.nv:
            way = np.asarray(self.robot.difference(before, after))
            return np.asarray(self.robot.integrate(before, s * way))
        between = before + s * (after - before)
        if before.shape in ((3, 3), (4, 4)):
            turn = so3.log(before[:3, :3].T @ after[:3, :3])
            between[:3, :3] = before[:3, :3] @ so3.exp(s * np.asarray(turn))
        return between


def as_signal(
    name: str, value: Any, times: Any, shape: tuple[int, ...] | None, robot: Robot | None
) -> Signal:
    """A reference as a signal, its shape checked where it is known.

    Args:
        times: of the samples (s), or None.
        robot: whose configuration it is, or None where it is no configuration.

    Raises:
        InputError: it is no number, not finite, or of the wrong shape.
    """
    if callable(value):
        return OfTime(name, value)
    values = as_numbers(name, value)
    if not np.all(np.isfinite(values)):
        raise InputError(f"reference {name!r} must be finite")
    if times is not None and (values.ndim > len(shape) if shape is not None else values.ndim > 0):
        t = _times(name, times, values)
        if shape is not None and values.shape[1:] != shape:
            raise InputError(f"reference {name!r} has shape {shape} at each time; got {values.shape[1:]}")
        return Sampled(t, values, robot)
    if shape is None or values.shape == shape:
        return Constant(values)
    if values.shape[1:] == shape and len(values):
        return PerStep(values)
    raise InputError(
        f"reference {name!r} has shape {shape}, or (N, ...) with a row per step; got {values.shape}"
    )


def _times(name: str, times: Any, values: Array) -> Array:
    t = as_numbers("t", times)
    if t.ndim != 1 or len(t) != len(values) or not len(t):
        raise InputError(f"reference {name!r} has {len(values)} samples for times t of shape {t.shape}")
    if not np.all(np.isfinite(t)) or np.any(np.diff(t) <= 0):
        raise InputError("times t of a reference must increase (s)")
    return t


def as_numbers(name: str, value: Any) -> Array:
    """A reference as an array of real numbers; see `real_array`."""
    return real_array(f"reference {name!r}", value)


def is_motion(reference: Any) -> bool:
    """Whether it has samples of joint motion: t and q, with v and a where known."""
    return hasattr(reference, "t") and hasattr(reference, "q")


def motion_samples(motion: Any, robot: Robot) -> tuple[Array, tuple[Array, Array, Array]]:
    """Times (N,) and samples q (N, nq), v and a (N, nv) of a motion; zeros where it has no v or a.

    A motion that ends while it moves or accelerates has one sample more, at rest just after its end: what
    follows it stays there, instead of counting with the last acceleration for ever.

    Raises:
        InputError: it is a batch, or of another robot.
    """
    t, q = as_numbers("t", motion.t), as_numbers("q", motion.q)
    if t.ndim != 1 or q.shape != (len(t), robot.nq):
        raise InputError(
            f"a motion of {robot.name!r} has q of shape ({len(t)}, {robot.nq}) for its {len(t)} times; got "
            f"{q.shape}"
        )
    rates = []
    for name in ("v", "a"):
        given = getattr(motion, name, None)
        x = np.zeros((len(t), robot.nv)) if given is None else as_numbers(name, given)
        if len(x) == len(t) - 1:  # of intervals: the last one is held
            x = np.concatenate([x, x[-1:]])
        if x.shape != (len(t), robot.nv):
            raise InputError(f"{name} of the motion has shape {(len(t), robot.nv)}; got {x.shape}")
        rates.append(x)
    if len(t) and any(np.any(x[-1]) for x in rates):
        t = np.append(t, t[-1] + 1e-9 * max(1.0, abs(t[-1])))
        q = np.concatenate([q, q[-1:]])
        rates = [np.concatenate([x, np.zeros((1, robot.nv))]) for x in rates]
    return t, (q, rates[0], rates[1])
