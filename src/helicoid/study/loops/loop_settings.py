"""What a closed loop is made of, and what of it may differ from episode to episode."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation.inputs.start import sampling_times, start
from helicoid.study.cases import Case
from helicoid.study.distributions import code_digest

Each = Callable[[Case], Mapping[str, Any]]
Reference = Callable[[float], Mapping[str, ArrayLike]]

_NOISES = ("q", "v")
_KNOWN = ("q0", "v0", "theta", "noise", "delay", "set")


@dataclass(frozen=True)
class OneLoop:
    """What one episode is made of, checked and complete."""

    q0: Array
    v0: Array
    theta: Array
    noise: dict[str, Array]
    delay: int
    numbers: dict[str, Any]


@dataclass(frozen=True)
class LoopSettings:
    """A plant and how it is seen; see `closed_loop` for the meaning of each."""

    robot: Robot
    duration: float
    q0: ArrayLike | None
    v0: ArrayLike | None
    theta: ArrayLike | None
    noise: Mapping[str, ArrayLike]
    delay: float
    period: float
    substeps: int
    method: str
    friction: bool
    each: Each | None

    @property
    def times(self) -> Array:
        """The sampling times and the end, (N + 1)."""
        return sampling_times(self.duration, self.period, self.robot.nq + 2 * self.robot.nv)

    @property
    def longest_delay(self) -> int:
        """In periods."""
        return self._periods(self.delay)

    def of(self, case: Case) -> OneLoop:
        """What an episode is made of.

        Raises:
            InputError: `each` gave what is unknown, or of the wrong shape.
        """
        given = {} if self.each is None else dict(self.each(case))
        strange = set(given) - set(_KNOWN)
        if strange:
            raise InputError(f"each may give {', '.join(_KNOWN)}; it gave {sorted(strange)[0]!r}")
        begin = start(self.robot, *(given.get(n, getattr(self, n)) for n in ("q0", "v0", "theta")))
        if begin.many:
            raise InputError("an episode is one robot: q0, v0 and theta are vectors")
        delay = self._periods(given.get("delay", self.delay))
        if delay > self.longest_delay:
            raise InputError(f"a delay of each is at most that of closed_loop, {self.delay:g} s")
        noise = checked_noise(self.robot, given.get("noise", self.noise))
        return OneLoop(begin.q[0], begin.v[0], begin.theta[0], noise, delay, dict(given.get("set", {})))

    def _periods(self, delay: Any) -> int:
        n = round(float(delay) / self.period) if 0 <= float(delay) < np.inf else -1
        if n < 0 or abs(n * self.period - float(delay)) > 1e-6 * self.period:
            raise InputError(f"a delay is a whole number of periods of {self.period:g} s; got {delay!r}")
        return n

    @property
    def described(self) -> dict[str, Any]:
        """For the record of a study."""
        robot = self.robot
        numbers = [robot.model.name, robot.parameters.values, robot.theta.values, *robot.limits]
        text = " ".join(np.array2string(np.asarray(x), threshold=10**6, precision=17) for x in numbers)
        plain = {
            n: getattr(self, n) for n in ("duration", "delay", "period", "substeps", "method", "friction")
        }
        lists = {n: _listed(getattr(self, n)) for n in ("q0", "v0", "theta")}
        return {
            **plain,
            **lists,
            "robot": hashlib.sha256(text.encode()).hexdigest(),
            "noise": {name: _listed(x) for name, x in self.noise.items()},
            "each": None if self.each is None else code_digest(self.each),
        }


def checked_noise(robot: Robot, noise: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Standard deviations (nv,) of q and v.

    Raises:
        InputError: another channel, a wrong size, or a negative number.
    """
    strange = set(noise) - set(_NOISES)
    if strange:
        raise InputError(f"noise is of q and of v, such as {{'q': 1e-4}}; got {sorted(strange)[0]!r}")
    result = {}
    for name in _NOISES:
        deviation = np.asarray(noise.get(name, 0.0), dtype=np.float64)
        if deviation.shape not in ((), (robot.nv,)) or not np.all((deviation >= 0) & np.isfinite(deviation)):
            raise InputError(
                f"noise of {name!r}: a number or {robot.nv} of them, 0 or more; got {noise[name]!r}"
            )
        result[name] = np.broadcast_to(deviation, (robot.nv,))
    return result


def drawn_noise(case: Case, loop: OneLoop, steps: int) -> dict[str, Array]:
    """The errors of the sensors at every step, (steps, nv) each: the same however the loop is run."""
    return {
        name: case.rng.standard_normal((steps, len(deviation))) * deviation
        if np.any(deviation)
        else np.zeros((steps, len(deviation)))
        for name, deviation in loop.noise.items()
    }


def reference_rows(reference: Any, times: Array) -> dict[str, Array]:
    """References at the sampling times, (N + 1, ...) each.

    Args:
        reference: a dict of arrays that stay, a callable `t -> dict`, a motion with t, q, v and a, or None.
    """
    if reference is None:
        return {}
    if isinstance(reference, Mapping):
        still = {name: np.asarray(x, dtype=np.float64) for name, x in reference.items()}
        return {name: np.broadcast_to(x, (len(times), *x.shape)) for name, x in still.items()}
    if callable(reference) and not hasattr(reference, "q"):
        rows = [reference(float(t)) for t in times]
        return {name: np.array([np.asarray(row[name], dtype=np.float64) for row in rows]) for name in rows[0]}
    if hasattr(reference, "t") and hasattr(reference, "q"):
        return _of_motion(reference, times)
    raise InputError(
        "reference is a dict such as {'q_ref': q}, a callable t -> dict, or a motion such as a Trajectory; "
        f"got {reference!r}"
    )


def _of_motion(motion: Any, times: Array) -> dict[str, Array]:
    if float(motion.t[-1]) < times[-1] - 1e-9:
        raise InputError(f"the reference ends after {motion.t[-1]:g} s, the loop after {times[-1]:g} s")
    rows = np.clip(np.searchsorted(motion.t, times + 1e-9, side="right") - 1, 0, len(motion.t) - 1)
    if np.max(np.abs(motion.t[rows] - times)) > 1e-6:
        raise InputError("the reference needs a sample at every period of the loop: resample it")
    names = {"q_ref": motion.q, "v_ref": motion.v, "a_ref": getattr(motion, "a", None)}
    return {name: np.asarray(x)[rows] for name, x in names.items() if x is not None}


def _listed(value: Any) -> Any:
    return None if value is None else np.asarray(value, dtype=np.float64).tolist()
