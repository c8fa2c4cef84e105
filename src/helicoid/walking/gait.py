"""Gaits: periodic sequences of stance phases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helicoid.deprecation import former_attribute
from helicoid.errors import InputError
from helicoid.mpc.phases import Phase


@dataclass(frozen=True)
class Gait:
    """Periodic gait: stance phases of `step` seconds each; all feet are in stance when it does not walk.

    Args:
        stands: the stance feet of each phase. A trot has two phases: its diagonals.
        step: duration of a phase (s).
        feet: all feet; by default those of `stands`.

    >>> import helicoid as hc
    >>> gait = hc.walking.Gait.trot("FL_foot", "FR_foot", "RL_foot", "RR_foot", step=0.25)
    >>> gait.stands
    (('FL_foot', 'RR_foot'), ('FR_foot', 'RL_foot'))
    """

    stands: tuple[tuple[str, ...], ...]
    step: float = 0.25
    feet: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        stands = tuple(tuple(group) for group in self.stands)
        if not stands or not all(stands):
            raise InputError("a gait has phases with stance feet each: Gait((('left',), ('right',)))")
        if not 0 < self.step < np.inf:
            raise InputError(f"step is the duration of a phase (s), above 0; got {self.step!r}")
        feet = tuple(self.feet) or tuple(dict.fromkeys(foot for group in stands for foot in group))
        if missing := {foot for group in stands for foot in group} - set(feet):
            raise InputError(f"{', '.join(sorted(missing))}: stance feet that are not among the feet")
        object.__setattr__(self, "stands", stands)
        object.__setattr__(self, "feet", feet)

    @staticmethod
    def trot(front_left: str, front_right: str, rear_left: str, rear_right: str, step: float = 0.25) -> Gait:
        """Trot: the two diagonals of a quadruped alternate."""
        return Gait(((front_left, rear_right), (front_right, rear_left)), step)

    @staticmethod
    def walk(front_left: str, front_right: str, rear_left: str, rear_right: str, step: float = 0.2) -> Gait:
        """Walk: one foot swings at a time, three are in stance."""
        feet = (front_left, front_right, rear_left, rear_right)
        order = (rear_left, front_left, rear_right, front_right)
        return Gait(tuple(tuple(one for one in feet if one != swings) for swings in order), step)

    def standing(self, phase: int) -> tuple[str, ...]:
        """Stance feet of a phase, counted from 0; all feet before it."""
        return self.feet if phase < 0 else self.stands[phase % len(self.stands)]

    def stance(self, time: float, begin: float, end: float) -> tuple[str, ...]:
        """Stance feet at a time, for walking from `begin` to the end of the phase of `end`."""
        number = self.phase_index(time, begin)
        walks = 0 <= number <= self._last_phase(end, begin)
        return self.standing(int(number)) if walks else self.feet

    def phases(self, time: float, begin: float, end: float, duration: float) -> list[Phase]:
        """Contact phases of the next `duration` seconds, for walking from `begin` to `end`.

        All feet are in stance before and after; `end` is extended to the end of its phase.
        """
        last = self._last_phase(end, begin)
        found: list[Phase] = []
        t = time
        while t < time + duration - 1e-9:
            number = self.phase_index(t, begin)
            if number < 0:
                until, feet = begin, self.feet
            elif number > last:
                until, feet = np.inf, self.feet
            else:
                until, feet = begin + (number + 1) * self.step, self.standing(int(number))
            found.append(Phase(float(max(until - t, 1e-6)), feet))
            t = until
        if np.isfinite(found[-1].duration):
            found[-1] = Phase(np.inf, found[-1].contacts)
        return found

    def begun_phases(
        self, time: float, begin: float, end: float, duration: float
    ) -> tuple[list[Phase], float]:
        """Phases from the beginning of the one before that at `time`, and the time that has passed since.

        A swing that is under way then goes on in a plan, instead of beginning anew.
        """
        if not begin <= time < end:
            return self.phases(time, begin, end, duration), 0.0
        elapsed = time - self.phase_end(time, begin) + 2 * self.step
        return self.phases(time - elapsed, begin, end, duration + elapsed), elapsed

    def phase_index(self, time: float, begin: float) -> float:
        """Index of the phase at a time, for walking from `begin` on."""
        return float(np.floor((time - begin) / self.step + 1e-6))

    def phase_end(self, time: float, begin: float) -> float:
        """End of the phase at a time (s)."""
        return begin + (self.phase_index(time, begin) + 1) * self.step

    def _last_phase(self, end: float, begin: float) -> float:
        """Index of the last phase, the one that `end` is in or at the end of; infinite without an end."""
        return float(np.ceil((end - begin) / self.step - 1e-6)) - 1 if np.isfinite(end) else np.inf

    turn = former_attribute("turn", "phase_index")
    end_of_turn = former_attribute("end_of_turn", "phase_end")
