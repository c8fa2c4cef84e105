"""Settings of a closed loop, and those of them that may differ from episode to episode."""

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
from helicoid.simulation.equations.actuated import ActuatedSystem, is_actuated_system
from helicoid.simulation.inputs.start import initial_states, sampling_times, start
from helicoid.study.cases import Case
from helicoid.study.fingerprint import fingerprint

Each = Callable[[Case], Mapping[str, Any]]

_NOISES = ("q", "v")
_KNOWN = ("q0", "v0", "theta", "states0", "noise", "delay", "set")


@dataclass(frozen=True)
class Episode:
    """Initial state, parameters, sensor noise, delay (periods) and the controller's numbers of an episode."""

    q0: Array
    v0: Array
    theta: Array
    states0: Array
    noise: dict[str, Array]
    delay: int
    numbers: dict[str, Any]


@dataclass(frozen=True)
class LoopSettings:
    """A plant and its sensors; see `closed_loop` for the meaning of each field."""

    plant: Robot | ActuatedSystem
    duration: float
    q0: ArrayLike | None
    v0: ArrayLike | None
    theta: ArrayLike | None
    states0: ArrayLike | None
    noise: Mapping[str, ArrayLike]
    delay: float
    period: float
    substeps: int
    method: str
    friction: bool
    each: Each | None
    world: Mapping[str, Any]

    @property
    def system(self) -> ActuatedSystem | None:
        """The plant where it is a vehicle."""
        return self.plant if is_actuated_system(self.plant) else None

    @property
    def robot(self) -> Robot:
        """The robot that moves."""
        return self.plant.robot if is_actuated_system(self.plant) else self.plant  # type: ignore[return-value]

    @property
    def n_states(self) -> int | None:
        """Number of actuator states of a vehicle; None of a robot."""
        return None if self.system is None else len(self.system.states)

    @property
    def command_names(self) -> tuple[str, ...]:
        """Names of the entries of the command."""
        return self.robot.model.velocity_names if self.system is None else self.system.controls

    @property
    def times(self) -> Array:
        """The sampling times and the end, (N + 1)."""
        return sampling_times(self.duration, self.period, self.robot.nq + 2 * self.robot.nv)

    @property
    def longest_delay(self) -> int:
        """Longest delay, in periods."""
        return self._periods(self.delay)

    def of(self, case: Case) -> Episode:
        """The episode of a case, checked.

        Raises:
            InputError: `each` returned an unknown name, or a value of the wrong shape.
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
        states = np.zeros(0)
        if self.system is not None:
            states = initial_states(self.system, given.get("states0", self.states0))
        numbers = dict(given.get("set", {}))
        return Episode(begin.q[0], begin.v[0], begin.theta[0], states, noise, delay, numbers)

    def gusts(self, case: Case, steps: int) -> Array:
        """White noise of the plant in an episode, (steps, n), as `hc.simulate` draws it."""
        n = 0 if self.system is None else self.system.n_noise
        return case.rng.normal(size=(max(steps, 1), n)) / np.sqrt(self.period)

    def _periods(self, delay: Any) -> int:
        n = round(float(delay) / self.period) if 0 <= float(delay) < np.inf else -1
        if n < 0 or abs(n * self.period - float(delay)) > 1e-6 * self.period:
            raise InputError(f"a delay is a whole number of periods of {self.period:g} s; got {delay!r}")
        return n

    @property
    def described(self) -> dict[str, Any]:
        """Settings for the record of a study."""
        robot = self.robot
        numbers = [robot.model.name, robot.parameters.values, robot.theta.values, *robot.limits]
        text = " ".join(np.array2string(np.asarray(x), threshold=10**6, precision=17) for x in numbers)
        plain = {
            n: getattr(self, n) for n in ("duration", "delay", "period", "substeps", "method", "friction")
        }
        lists = {n: _listed(getattr(self, n)) for n in ("q0", "v0", "theta", "states0")}
        return {
            **plain,
            **lists,
            "robot": hashlib.sha256(text.encode()).hexdigest(),
            "noise": {name: _listed(x) for name, x in self.noise.items()},
            "each": None if self.each is None else fingerprint(self.each),
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


def drawn_noise(case: Case, episode: Episode, steps: int) -> dict[str, Array]:
    """Sensor noise at every step, (steps, nv) each: the same however the loop is run."""
    return {
        name: case.rng.standard_normal((steps, len(deviation))) * deviation
        if np.any(deviation)
        else np.zeros((steps, len(deviation)))
        for name, deviation in episode.noise.items()
    }


def _listed(value: Any) -> Any:
    return None if value is None else np.asarray(value, dtype=np.float64).tolist()
