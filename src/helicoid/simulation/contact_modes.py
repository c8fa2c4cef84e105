"""Which contacts are closed, and what happens when one closes or opens.

Between events the robot moves with the contacts that are closed as constraints. An open contact closes when
its point reaches the plane: the velocity jumps (`robot.impact`), and the contact stays closed unless it
bounces. It opens when the plane would have to pull. Times of events are found within the step, so that steps
end on them and keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation.equations import acceleration, step_function

_MOST_EVENTS = 100  # in one step: more is chattering that a shorter step or a higher `resting` ends
_HALVINGS = 20
_PULL = -1e-9  # N: less is rounding


class Chattering(RuntimeError):
    """Contacts open and close without end within one step."""


@dataclass(frozen=True)
class ContactPoint:
    """A point of a link (m, link frame) that may touch the plane through `at` with the normal `normal`.

    While it touches it does not slide ("stick"), or slides without friction ("normal").
    """

    link: str
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    kind: Literal["stick", "normal"] = "stick"
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)


class ContactEvent(NamedTuple):
    """What the contact of number `contact` does at time `t` (s), and its normal impulse (N·s)."""

    t: float
    contact: int
    what: Literal["closes", "bounces", "opens"]
    impulse: float


class _Mode:
    """The robot with some contacts closed."""

    def __init__(
        self, robot: Robot, contacts: Sequence[ContactPoint], closed: Sequence[int], friction: bool
    ) -> None:
        held = robot
        rows = sum(one.rows for one in robot.constraints)
        self.own = rows
        self.rows: dict[int, slice] = {}  # contact -> its rows of A; the last one is along the normal
        for number in closed:
            one = contacts[number]
            held = held.with_contact(
                one.link, one.point, one.kind, at=one.at, normal=one.normal, name=f"contact {number}"
            )
            self.rows[number] = slice(rows, rows + held.constraints[-1].rows)
            rows = self.rows[number].stop
        self.robot = held
        self._theta = robot.theta.values
        self._step = step_function(held, "rk4", friction=friction)
        self._motion = acceleration(held, friction=friction)

    def step(self, q: Array, v: Array, tau: Array, dt: float) -> tuple[Array, Array]:
        q_next, v_next = self._step(q, v, tau, self._theta, dt)
        return q_next, v_next

    def motion(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array]:
        """The acceleration, and λ of all constraints of this mode."""
        result = self._motion(q, v, tau, self._theta)
        return result if self.robot.constraints else (result, np.zeros(0))

    def pushes(self, q: Array, v: Array, tau: Array) -> dict[int, float]:
        """The normal force of the plane on the robot at each closed contact (N)."""
        _, forces = self.motion(q, v, tau)
        return {number: -float(forces[rows.stop - 1]) for number, rows in self.rows.items()}

    def impact(self, q: Array, v: Array, restitution: float) -> tuple[Array, dict[int, float]]:
        """v⁺, and the normal impulse of each contact on the robot (N·s)."""
        after, impulse = self.robot.impact(q, v, self._theta, restitution=restitution)
        return after, {number: -float(impulse[rows.stop - 1]) for number, rows in self.rows.items()}


class ContactModes:
    """Which contacts are closed, and what has happened so far.

    `n_rows` counts λ of the robot's own constraints and of all contacts.
    """

    def __init__(
        self,
        robot: Robot,
        contacts: Sequence[ContactPoint],
        restitution: float,
        resting: float,
        friction: bool,
    ) -> None:
        self._robot, self._contacts, self._friction = robot, list(contacts), friction
        self._restitution, self._resting = restitution, resting
        self._modes: dict[tuple[int, ...], _Mode] = {}
        self._every = every = self._mode(range(len(contacts)))
        self._position, self._jacobian = every.robot.constraint_position, every.robot.constraint_jacobian
        self.n_contacts, self.n_rows = len(contacts), max(rows.stop for rows in every.rows.values())
        self.closed: tuple[int, ...] = ()
        self.entered: tuple[int, ...] = ()
        self.events: list[ContactEvent] = []

    def begin(self, q: Array) -> None:
        """See that nothing starts below its plane."""
        for number, contact in enumerate(self._contacts):
            if self._gap(number, q) < -1e-9:
                raise InputError(
                    f"contact {number} of {contact.link!r} starts {-self._gap(number, q):.3g} m below its "
                    "plane"
                )

    def advance(self, t: float, q: Array, v: Array, tau: Array, dt: float) -> tuple[Array, Array]:
        """The state after dt; every event in between ends a part of the step.

        `entered` are then the contacts that were closed at its beginning, events of that moment included.
        """
        left, begun = dt, False
        for _ in range(_MOST_EVENTS):
            mode = self._mode(self.closed)
            pushes = mode.pushes(q, v, tau) if self.closed else {}
            if min(pushes.values(), default=0.0) < _PULL:
                self._open(t + dt - left, min(pushes, key=lambda n: pushes[n]))
                continue
            q_next, v_next = mode.step(q, v, tau, left)
            found = self._first_event(mode, q, v, tau, left, q_next, v_next)
            if found is None:
                self.entered = self.entered if begun else self.closed
                return q_next, v_next
            when, number = found
            self.entered, begun = (self.entered if begun else self.closed), begun or when > 0
            q, v = mode.step(q, v, tau, when) if when > 0 else (q, v)
            left -= when
            if number in self.closed:
                self._open(t + dt - left, number)
            else:
                v = self._close(t + dt - left, number, q, v)
            if left <= 0:
                return q, v
        raise Chattering(
            f"contacts open and close without end at {t:g} s: take a smaller dt or a higher `resting` speed"
        )

    def reaction(self, closed: tuple[int, ...], q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """Acceleration, λ of the robot's constraints and then of all contacts, normal forces of contacts (N).

        λ and the forces of open contacts are zero.
        """
        mode, every = self._mode(closed), self._every
        a, found = mode.motion(q, v, tau)
        forces, pushes = np.zeros(self.n_rows), np.zeros(self.n_contacts)
        forces[: mode.own] = found[: mode.own]
        for number, rows in mode.rows.items():
            forces[every.rows[number]] = found[rows]
            pushes[number] = -found[rows.stop - 1]
        return a, forces, pushes

    def _first_event(
        self, mode: _Mode, q: Array, v: Array, tau: Array, dt: float, q_next: Array, v_next: Array
    ) -> tuple[float, int] | None:
        """When in the step a contact first closes or opens, and which; None if the step is free of events."""
        found = []
        pushes = mode.pushes(q_next, v_next, tau) if self.closed else {}
        for number in range(len(self._contacts)):
            if number in self.closed:
                if pushes[number] < _PULL:
                    margin = partial(self._push_after, mode, number, q, v, tau)
                    found.append((_root(margin, dt), number))
            elif self._gap(number, q_next) < 0 and self._speed(number, q_next, v_next) < 0:
                margin = partial(self._gap_after, mode, number, q, v, tau)
                found.append((_root(margin, dt), number))
        return min(found) if found else None

    def _push_after(self, mode: _Mode, number: int, q: Array, v: Array, tau: Array, h: float) -> float:
        return mode.pushes(*mode.step(q, v, tau, h), tau)[number]

    def _gap_after(self, mode: _Mode, number: int, q: Array, v: Array, tau: Array, h: float) -> float:
        return self._gap(number, mode.step(q, v, tau, h)[0])

    def _close(self, t: float, number: int, q: Array, v: Array) -> Array:
        """The velocity after the impact; contacts that it would have to pull at let go."""
        slow = abs(self._speed(number, q, v)) < self._resting
        restitution = 0.0 if slow else self._restitution
        involved = {*self.closed, number}
        while True:
            after, impulses = self._mode(sorted(involved)).impact(q, v, restitution)
            pulled = [n for n in involved - {number} if impulses[n] < -1e-12]
            if not pulled:
                break
            involved.remove(min(pulled, key=lambda n: impulses[n]))
        self.events.append(
            ContactEvent(t, number, "closes" if restitution == 0 else "bounces", impulses[number])
        )
        gone = [n for n in self.closed if n not in involved or self._speed(n, q, after) > 1e-9]
        for other in gone:
            self._open(t, other)
        if restitution == 0:
            self.closed = tuple(sorted({*self.closed, number}))
        return after

    def _open(self, t: float, number: int) -> None:
        self.events.append(ContactEvent(t, number, "opens", 0.0))
        self.closed = tuple(n for n in self.closed if n != number)

    def _mode(self, closed: Sequence[int]) -> _Mode:
        key = tuple(closed)
        if key not in self._modes:
            self._modes[key] = _Mode(self._robot, self._contacts, key, self._friction)
        return self._modes[key]

    def _gap(self, number: int, q: Array) -> float:
        return float(self._position(q)[self._every.rows[number].stop - 1])

    def _speed(self, number: int, q: Array, v: Array) -> float:
        return float(self._jacobian(q)[self._every.rows[number].stop - 1] @ v)


def _root(margin: Callable[[float], float], dt: float) -> float:
    """When within the step the margin becomes negative; at once where it is never positive."""
    before = 0.0
    for part in range(_HALVINGS if margin(0.0) <= 0 else 0):
        # Thrown up from the plane and back within the step, or just let go: the later zero is meant.
        before = dt / 2 ** (part + 1)
        if margin(before) > 0:
            break
    from scipy.optimize import brentq  # slow to import

    return float(brentq(margin, before, dt, xtol=1e-14)) if margin(before) > 0 else 0.0
