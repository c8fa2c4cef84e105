"""Simulation with contacts that close and open: landing, bouncing, standing, taking off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.interrupts import interruptible
from helicoid.progress import Progress
from helicoid.robot import Robot
from helicoid.simulation.contact_modes import Chattering, ContactEvent, ContactModes, ContactPoint
from helicoid.simulation.controllers import Controller, control_law
from helicoid.simulation.forces import Forces, NotFinite
from helicoid.simulation.rollouts import divergence
from helicoid.simulation.running import run
from helicoid.simulation.simulate import SimulationError
from helicoid.simulation.start import sampling_times, start
from helicoid.simulation.trajectory import Trajectory


class ContactMotion(NamedTuple):
    """A motion, what happened in it, and the normal force of each contact (N), (samples, contacts)."""

    trajectory: Trajectory
    events: tuple[ContactEvent, ...]
    normal_forces: Array

    def __repr__(self) -> str:
        return f"ContactMotion({self.trajectory!r}, {len(self.events)} events)"


@interruptible()
def simulate_contacts(
    robot: Robot,
    contacts: Sequence[ContactPoint],
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    duration: float = 1.0,
    controller: Controller = None,
    dt: float = 1e-3,
    *,
    restitution: float = 0.0,
    resting: float = 0.01,
    friction: bool = True,
    progress: Progress | bool | None = None,
) -> ContactMotion:
    """Integrate the robot by Runge and Kutta (order 4), its contacts closing and opening as they must.

    Args:
        contacts: the points that may touch their planes.
        q0, v0: coordinates (nq) and velocities (nv) at the start; None is `robot.neutral()`, at rest.
        duration: a whole number of dt (s).
        controller: torque of the motors (N·m, N), nv: constant, `(t, q, v) -> tau`, or a controller as
            `simulate` takes it.
        dt: sampling time (s), and the longest step.
        friction: whether the robot's damping and friction act.
        restitution: share of the normal speed that an impact gives back.
        resting: normal speed (m/s) below which an impact gives nothing back, so that bouncing ends.
        progress: None shows a bar where a run takes long, False none; see `helicoid.progress`.

    Raises:
        SimulationError: contacts open and close without end within one step.

    >>> import helicoid as hc
    >>> ball = hc.load('''<robot name="ball"><link name="ball"><inertial><mass value="1"/>
    ...   <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></robot>''', "floating")
    >>> dropped = [0, 0, 0.5 * 9.81 * 0.2**2, 1, 0, 0, 0]
    >>> motion = hc.simulate_contacts(ball, [hc.ContactPoint("ball")], dropped, duration=0.4, dt=0.01)
    >>> [(round(event.t, 9), event.what) for event in motion.events]
    [(0.2, 'closes')]
    """
    if not contacts:
        raise InputError("simulate_contacts needs contacts; without any, call simulate")
    times = sampling_times(duration, dt, robot.nq + 5 * robot.nv)
    begin = start(robot, q0, v0, None, None)
    if begin.many:
        raise InputError("simulate_contacts moves one robot: contacts of a batch would close at other times")
    law = control_law(controller, robot, times)
    forces = Forces(law, None, {}, len(times) - 1, None, robot.model.velocity_names, None)
    modes = ContactModes(robot, contacts, restitution, resting, friction)
    record = _Record(robot, times, begin.q[0], begin.v[0], forces, modes)
    modes.begin(begin.q[0])
    try:
        n_rows = run(len(times) - 1, record.advance, record.v[:, None], True, progress)
        record.finish()
    except (Chattering, NotFinite) as error:
        raise SimulationError(str(error), record.trajectory(record.row + 1)) from error
    if n_rows < len(times):
        message = divergence(robot, float(times[n_rows]), record.v[n_rows])
        raise SimulationError(message, record.trajectory(n_rows))
    return ContactMotion(record.trajectory(n_rows), tuple(modes.events), record.normal_forces)


class _Record:
    """States, torques, accelerations and contact forces, row by row. `row` is the one that is known."""

    def __init__(
        self, robot: Robot, times: Array, q0: Array, v0: Array, forces: Forces, modes: ContactModes
    ) -> None:
        self._robot, self._times, self._forces, self._modes = robot, times, forces, modes
        self.q, self.v = (np.empty((len(times), len(first))) for first in (q0, v0))
        self.q[0], self.v[0] = q0, v0
        self._tau, self._a = np.zeros_like(self.v), np.zeros_like(self.v)
        self._lambda = np.zeros((len(times), modes.n_rows))
        self.normal_forces = np.zeros((len(times), modes.n_contacts))
        self.row = 0

    def advance(self, k: int, last: int) -> None:
        """Row k + 1 from row k."""
        t, q, v = float(self._times[k]), self.q[k], self.v[k]
        tau = self._torque(k)
        self.q[k + 1], self.v[k + 1] = self._modes.advance(t, q, v, tau, float(self._times[last]) - t)
        self._note(k, self._modes.entered)
        self.row = last

    def finish(self) -> None:
        """What acts in the last row, which no step follows: the torque before it is held."""
        k = len(self._times) - 1
        if self.row == k:
            self._tau[k] = self._tau[k - 1] if k else self._torque(0)
            self._note(k, self._modes.closed)

    def _torque(self, k: int) -> Array:
        self._forces.sample(k, float(self._times[k]), self.q[k][None], self.v[k][None])
        self._tau[k] = self._forces.tau[min(k, len(self._forces.tau) - 1), 0]
        return self._tau[k]

    def _note(self, k: int, closed: tuple[int, ...]) -> None:
        self._a[k], self._lambda[k], self.normal_forces[k] = self._modes.reaction(
            closed, self.q[k], self.v[k], self._tau[k]
        )

    def trajectory(self, n: int) -> Trajectory:
        """The first n rows."""
        robot, q, v = self._robot, self.q[:n], self.v[:n]
        theta = robot.theta.values
        known = {
            "a": self._a[:n],
            "constraint_forces": self._lambda[:n],
            "kinetic_energy": robot.kinetic_energy(q, v, theta),
            "potential_energy": robot.potential_energy(q, theta),
        }
        return Trajectory(self._times[:n], q, v, self._tau[:n], robot, known=known)
