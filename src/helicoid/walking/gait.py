"""Which feet stand when: groups of feet that take turns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helicoid.errors import InputError
from helicoid.mpc.phases import Phase


@dataclass(frozen=True)
class Gait:
    """Groups of feet that are on the ground in turns, `step` seconds each; all of them stand otherwise.

    Args:
        stands: the feet of each turn. A trot has two: its diagonals.
        step: how long a turn lasts (s).
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
            raise InputError("a gait has turns, in each of which feet stand: Gait((('left',), ('right',)))")
        if not 0 < self.step < np.inf:
            raise InputError(f"step is how long a turn lasts (s), above 0; got {self.step!r}")
        feet = tuple(self.feet) or tuple(dict.fromkeys(foot for group in stands for foot in group))
        if missing := {foot for group in stands for foot in group} - set(feet):
            raise InputError(f"{', '.join(sorted(missing))} stand in a turn, but are not among the feet")
        object.__setattr__(self, "stands", stands)
        object.__setattr__(self, "feet", feet)

    @staticmethod
    def trot(front_left: str, front_right: str, rear_left: str, rear_right: str, step: float = 0.25) -> Gait:
        """The diagonals of a quadruped in turns."""
        return Gait(((front_left, rear_right), (front_right, rear_left)), step)

    @staticmethod
    def walk(front_left: str, front_right: str, rear_left: str, rear_right: str, step: float = 0.2) -> Gait:
        """A foot after the other, three on the ground."""
        feet = (front_left, front_right, rear_left, rear_right)
        order = (rear_left, front_left, rear_right, front_right)
        return Gait(tuple(tuple(one for one in feet if one != swings) for swings in order), step)

    def standing(self, turn: int) -> tuple[str, ...]:
        """The feet that are on the ground in a turn, counted from 0; before it, all."""
        return self.feet if turn < 0 else self.stands[turn % len(self.stands)]

    def phases(self, time: float, begin: float, end: float, duration: float) -> list[Phase]:
        """The phases of the next seconds, of one who walks from `begin` to `end` and stands before and after.

        `end` is moved to the end of its turn.
        """
        last = self.turn(end - 1e-9, begin) if np.isfinite(end) else np.inf
        found: list[Phase] = []
        t = time
        while t < time + duration - 1e-9:
            number = self.turn(t, begin)
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

    def turn(self, time: float, begin: float) -> float:
        """The number of the turn at a time, of one who begins to walk at `begin`."""
        return float(np.floor((time - begin) / self.step + 1e-6))

    def end_of_turn(self, time: float, begin: float) -> float:
        """When the turn at a time is over (s)."""
        return begin + (self.turn(time, begin) + 1) * self.step
