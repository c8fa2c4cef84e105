"""Simulation with contacts that close and open: landing, bouncing, standing, taking off.

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
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation.equations import step_function
from helicoid.simulation.forces import Force, numbers
from helicoid.simulation.rollouts import divergence
from helicoid.simulation.running import ABSURD
from helicoid.simulation.simulate import SimulationError
from helicoid.simulation.start import sampling_times, start
from helicoid.simulation.trajectory import Trajectory

_MOST_EVENTS = 100  # in one step: more is chattering that a shorter step or a higher `resting` ends
_HALVINGS = 20
_PULL = -1e-9  # N: less is rounding


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


class ContactMotion(NamedTuple):
    """A motion, what happened in it, and the normal force of each contact (N), (samples, contacts)."""

    trajectory: Trajectory
    events: tuple[ContactEvent, ...]
    normal_forces: Array


def simulate_contacts(
    robot: Robot,
    contacts: Sequence[ContactPoint],
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    duration: float = 1.0,
    controller: Force = None,
    dt: float = 1e-3,
    *,
    restitution: float = 0.0,
    resting: float = 0.01,
    friction: bool = True,
) -> ContactMotion:
    """Integrate the robot by Runge and Kutta (order 4), its contacts closing and opening as they must.

    Args:
        q0, v0, duration, controller, dt, friction: as in `simulate`, of one motion; a controller is None, a
            constant torque or `(t, q, v) -> tau`.
        restitution: share of the normal speed that an impact gives back.
        resting: normal speed (m/s) below which an impact gives nothing back, so that bouncing ends.

    Raises:
        SimulationError: contacts open and close without end within one step.

    >>> import helicoid as hc
    >>> ball = hc.load('''<robot name="ball"><link name="ball"><inertial><mass value="1"/>
    ...   <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></robot>''', "floating")
    >>> dropped = [0, 0, 0.5 * 9.81 * 0.2**2, 1, 0, 0, 0]
    >>> motion = simulate_contacts(ball, [ContactPoint("ball")], dropped, duration=0.4, dt=0.01)
    >>> [(round(event.t, 9), event.what) for event in motion.events]
    [(0.2, 'closes')]
    """
    if not contacts:
        raise InputError("simulate_contacts needs contacts; without any, call simulate")
    times = sampling_times(duration, dt)
    begin = start(robot, q0, v0, None, None)
    if begin.many:
        raise InputError("simulate_contacts moves one robot: contacts of a batch would close at other times")
    run = _Run(robot, list(contacts), restitution, resting, friction)
    q, v = begin.q[0], begin.v[0]
    run.begin(q)
    states, torques, forces = [(q, v)], [], []
    for k, t in enumerate(times):
        tau = _torque(controller, float(t), q, v, robot.nv)
        if k == len(times) - 1:
            break
        torques.append(tau)
        try:
            q, v = run.advance(float(t), q, v, tau, dt)
        except RuntimeError as error:
            raise SimulationError(str(error), _trajectory(robot, times, states, torques)) from error
        if not np.all(np.abs(v) < ABSURD):
            message = divergence(robot, float(times[k + 1]), v)
            raise SimulationError(message, _trajectory(robot, times, states, torques))
        if k == 0:
            forces.append(run.forces(*states[0], tau))
        forces.append(run.forces(q, v, tau))
        states.append((q, v))
    forces = forces or [run.forces(q, v, tau)]
    trajectory = _trajectory(robot, times, states, torques or [tau])
    return ContactMotion(trajectory, tuple(run.events), np.array(forces))


def _torque(controller: Force, t: float, q: Array, v: Array, nv: int) -> Array:
    given = controller(t, q.copy(), v.copy()) if callable(controller) else controller
    tau = np.zeros(nv) if given is None else numbers("the torque must be", given, t, (nv,))
    if not np.all(np.isfinite(tau)):
        raise InputError(f"the torque is {nv} finite numbers; at {t:g} s it is {tau}")
    return tau


def _trajectory(
    robot: Robot, times: Array, states: list[tuple[Array, Array]], torques: list[Array]
) -> Trajectory:
    q, v = (np.array(part) for part in zip(*states, strict=True))
    rows = [min(k, len(torques) - 1) for k in range(len(states))]
    theta = [robot.parameters.values] if robot.selection.groups else []
    known = {
        "kinetic_energy": np.array([robot.kinetic_energy(*state, *theta) for state in states]),
        "potential_energy": np.array([robot.potential_energy(state[0], *theta) for state in states]),
    }
    return Trajectory(times[: len(states)], q, v, np.array(torques)[rows], robot, known=known)


class _Mode:
    """The robot with some contacts closed."""

    def __init__(
        self, robot: Robot, contacts: Sequence[ContactPoint], closed: Sequence[int], friction: bool
    ) -> None:
        held = robot
        rows = sum(one.rows for one in robot.constraints)
        self.normals: dict[int, int] = {}  # contact -> its row of A that is along the normal
        for number in closed:
            one = contacts[number]
            held = held.with_contact(
                one.link, one.point, one.kind, at=one.at, normal=one.normal, name=f"contact {number}"
            )
            rows += held.constraints[-1].rows
            self.normals[number] = rows - 1
        self.robot = held
        self._theta = [robot.parameters.values] if robot.selection.groups else []
        self._step = step_function(held, "rk4", friction=friction)
        self._motion = held.constrained_forward_dynamics.with_options(friction=friction)

    def step(self, q: Array, v: Array, tau: Array, dt: float) -> tuple[Array, Array]:
        q_next, v_next = self._step(q, v, tau, *self._theta, dt)
        return q_next, v_next

    def push(self, number: int, q: Array, v: Array, tau: Array) -> float:
        """The normal force of the plane on the robot (N)."""
        return -float(self._motion(q, v, tau, *self._theta).lambda_[self.normals[number]])

    def impact(self, q: Array, v: Array, restitution: float) -> tuple[Array, dict[int, float]]:
        """v⁺, and the normal impulse of each contact on the robot (N·s)."""
        after, impulse = self.robot.impact(q, v, *self._theta, restitution=restitution)
        return after, {number: -float(impulse[row]) for number, row in self.normals.items()}


class _Run:
    """Which contacts are closed, and what has happened so far."""

    def __init__(
        self, robot: Robot, contacts: list[ContactPoint], restitution: float, resting: float, friction: bool
    ) -> None:
        self._robot, self._contacts, self._friction = robot, contacts, friction
        self._restitution, self._resting = restitution, resting
        self._modes: dict[tuple[int, ...], _Mode] = {}
        all_closed = self._mode(range(len(contacts))).robot
        self._position, self._jacobian = all_closed.constraint_position, all_closed.constraint_jacobian
        self._rows = self._mode(range(len(contacts))).normals
        self.closed: tuple[int, ...] = ()
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
        """The state after dt; every event in between ends a part of the step."""
        left = dt
        for _ in range(_MOST_EVENTS):
            mode = self._mode(self.closed)
            pushes = {n: mode.push(n, q, v, tau) for n in self.closed}
            if min(pushes.values(), default=0.0) < _PULL:
                self._open(t + dt - left, min(pushes, key=lambda n: pushes[n]))
                continue
            q_next, v_next = mode.step(q, v, tau, left)
            found = self._first_event(mode, q, v, tau, left, q_next, v_next)
            if found is None:
                return q_next, v_next
            when, number = found
            q, v = mode.step(q, v, tau, when) if when > 0 else (q, v)
            left -= when
            if number in self.closed:
                self._open(t + dt - left, number)
            else:
                v = self._close(t + dt - left, number, q, v)
            if left <= 0:
                return q, v
        raise RuntimeError(
            f"contacts open and close without end at {t:g} s: take a smaller dt or a higher `resting` speed"
        )

    def forces(self, q: Array, v: Array, tau: Array) -> list[float]:
        """The normal force of every contact, zero where it is open."""
        mode = self._mode(self.closed)
        return [mode.push(n, q, v, tau) if n in self.closed else 0.0 for n in range(len(self._contacts))]

    def _first_event(
        self, mode: _Mode, q: Array, v: Array, tau: Array, dt: float, q_next: Array, v_next: Array
    ) -> tuple[float, int] | None:
        """When in the step a contact first closes or opens, and which; None if the step is free of events."""
        found = []
        for number in range(len(self._contacts)):
            if number in self.closed:
                if mode.push(number, q_next, v_next, tau) < _PULL:
                    margin = partial(self._push_after, mode, number, q, v, tau)
                    found.append((_root(margin, dt), number))
            elif self._gap(number, q_next) < 0 and self._speed(number, q_next, v_next) < 0:
                margin = partial(self._gap_after, mode, number, q, v, tau)
                found.append((_root(margin, dt), number))
        return min(found) if found else None

    def _push_after(self, mode: _Mode, number: int, q: Array, v: Array, tau: Array, h: float) -> float:
        return mode.push(number, *mode.step(q, v, tau, h), tau)

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
        return float(self._position(q)[self._rows[number]])

    def _speed(self, number: int, q: Array, v: Array) -> float:
        return float(self._jacobian(q)[self._rows[number]] @ v)


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
