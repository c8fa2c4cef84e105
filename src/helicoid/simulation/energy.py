"""Energy balance of rollouts that are fast for their steps: kinetic energy that no force accounts for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.robot import Robot
from helicoid.simulation.inputs.forces import SystemInputs

MAX_EXACT_STEP = 0.1  # rad or m in one step of the integrator: longer ones may gain energy
_MAX_GAIN = 1.2  # kinetic energy relative to what it was and the work of all forces


class EnergyGain(Exception):
    """Raised by `EnergyBalance.check`: `row` is the first that has gained energy, in `rollout`."""

    def __init__(self, row: int, rollout: int, energy: float, expected: float) -> None:
        super().__init__(row)
        self.row, self.rollout, self.energy, self.expected = row, rollout, energy, expected


class EnergyBalance:
    """Checks kinetic energies of rows of states, (rows, rollouts, n), against the work of the forces.

    From one row to the next, dt later, motors, gravity, springs and wrenches do the work of τ - ID(q, 0, 0),
    bounded by 2 dt (|τ| + |ID|)ᵀ|v| with the larger |ID| and |v| of both rows. Friction and contacts only
    take energy.

    Attributes:
        speed: (rad/s or m/s) below which a step is short, so that nothing is checked.
    """

    def __init__(
        self,
        robot: Robot,
        states: tuple[Array, Array],
        inputs: SystemInputs,
        others: Sequence[Array],
        options: Mapping[str, Any],
        dt: float,
        substeps: int,
    ) -> None:
        self._robot, (self._q, self._v), self._inputs, self._others = robot, states, inputs, others
        self._dt, self.speed = dt, MAX_EXACT_STEP * substeps / dt
        chosen = {key: value for key, value in options.items() if key in ("gravity", "f_ext", "expressed_in")}
        self._load = robot.inverse_dynamics.with_options(**chosen)
        self._known = np.full(self._q.shape[1], np.inf)  # energy so far at most, of rollouts that were fast

    def check(self, first: int, last: int) -> None:
        """Check rows first + 1 to last.

        Raises:
            EnergyGain: a rollout has gained energy.
        """
        speeds = np.abs(self._v[first : last + 1]).max(axis=2, initial=0.0)
        fast = np.flatnonzero(speeds.max(axis=0) > self.speed)
        if not len(fast):
            return
        energy, work = self._energy_and_work(first, last, fast)
        known = np.minimum(self._known[fast], energy[0])
        self._known[:] = np.inf
        for k in range(1, len(energy)):
            expected = known + work[k - 1]
            gains = (energy[k] > _MAX_GAIN * expected) & (speeds[k, fast] > self.speed)
            if np.any(gains):
                one = int(np.argmax(gains))
                raise EnergyGain(first + k, int(fast[one]), float(energy[k, one]), float(expected[one]))
            known = np.minimum(expected, energy[k])
        self._known[fast] = known

    def _energy_and_work(self, first: int, last: int, fast: NDArray[np.intp]) -> tuple[Array, Array]:
        """Kinetic energies (J) of rows first to last of these rollouts, bounds of the work in between (J)."""
        shape = last + 1 - first, len(fast)

        def rows(values: Array, n: int) -> Array:
            chosen = values[np.minimum(np.arange(first, first + n), len(values) - 1)]
            return np.broadcast_to(
                chosen[:, fast] if values.shape[1] > 1 else chosen, (n, *shape[1:], values.shape[-1])
            )

        def flat(values: Array) -> Array:
            return np.ascontiguousarray(rows(values, shape[0])).reshape(shape[0] * shape[1], values.shape[-1])

        q, v = flat(self._q), flat(self._v)
        theta, *wrenches = (flat(x) for x in self._others)  # held: the last row repeats
        parameters = [theta] if self._robot.theta.groups else []
        energy = np.asarray(self._robot.kinetic_energy(q, v, *parameters)).reshape(shape)
        load = np.abs(self._load(q, 0 * v, 0 * v, *parameters, *wrenches)).reshape(*shape, -1)
        speed, tau = np.abs(v).reshape(*shape, -1), np.abs(rows(self._inputs.net, shape[0] - 1))
        force = tau + np.maximum(load[:-1], load[1:])
        return energy, 2 * self._dt * np.sum(force * np.maximum(speed[:-1], speed[1:]), axis=2)
