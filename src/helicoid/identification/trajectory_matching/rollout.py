"""Rollouts of a robot under servos from many initial states, with exact sensitivities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import Iteration
from helicoid.identification.trajectory_matching.recording import Commands, Recording
from helicoid.identification.trajectory_matching.servo import Servo
from helicoid.identification.trajectory_matching.step import servo_step
from helicoid.identification.trajectory_matching.tangent import tangent_servo_step
from helicoid.identification.trajectory_matching.unknowns import ServoValues, Unknowns

_MAX_ELEMENTS = 4_000_000  # of sensitivities computed at a time
_COMMANDS = ("q_command", "v_command", "tau_command")  # in the order of their gains, `ServoValues`


class ServoFlow(NamedTuple):
    """Positions at the samples of W windows (K + 1, W, nv), and their slopes by (q, v) at the start and ξ."""

    q: Array
    by: Array


class Rollouts:
    """Simulations of every window of a recording; `substeps` steps a sample."""

    def __init__(self, unknowns: Unknowns, servo: Servo | None, recording: Recording, substeps: int) -> None:
        self.unknowns, self.recording, self.substeps = unknowns, recording, substeps
        robot = unknowns.robot
        self.sampled = servo is not None and servo.period is not None
        self.limit = Servo().limits(robot) if servo is None else servo.limits(robot)
        self._step = servo_step(unknowns.parametric, self.sampled)

    def flow(self, z: Array, start: tuple[Array, Array], D: Array | None = None) -> ServoFlow:
        """Simulate from start (W, nv) each; with slopes by ξ where D = ∂z/∂ξ is given.

        D is diagonal but for the inertial parameters of bodies.
        """
        values = self.unknowns.servo_values(z)
        commands = self.recording.delayed(values.delay)
        if D is not None:
            return self._with_slopes(z, start, values, commands, D)
        W, nv = start[0].shape
        states = self._states(start, (nv, nv))
        inputs = [self._commanded(values, commands.values, W, nv), *self._constants(z, values)]
        Iteration(self._step, states, inputs, self.substeps).run(0, self.recording.length)
        return ServoFlow(states[0], np.zeros((*states[0].shape, 0)))

    def _with_slopes(
        self, z: Array, start: tuple[Array, Array], values: ServoValues, commands: Commands, D: Array
    ) -> ServoFlow:
        """Windows some at a time: their sensitivities need memory."""
        tangent = tangent_servo_step(self.unknowns.parametric, self.sampled, self.unknowns.columns)
        (W, nv), K, elements = start[0].shape, self.recording.length, len(tangent.rows)
        positions = np.zeros((K + 1, W, nv))
        by = np.zeros((K + 1, W, nv, 2 * nv + D.shape[1]))
        dense = np.zeros((nv, 2 * nv + len(D)))
        dense[:, :nv] = np.eye(nv)
        at_start = [dense[tangent.rows, tangent.columns]]
        at_start.append(np.roll(dense, nv, axis=1)[tangent.rows, tangent.columns])
        inertial = self.unknowns.groups.get("inertia", slice(0, 0))
        bodies = slice(2 * nv + inertial.start, 2 * nv + inertial.stop)
        scale = np.concatenate([np.ones(2 * nv), np.diag(D)])
        scale[bodies] = 1.0
        scale = scale[tangent.columns]
        some = max(1, _MAX_ELEMENTS // (K * elements))
        for first in range(0, W, some):
            part = slice(first, min(W, first + some))
            count = part.stop - first
            own = [x[part] for x in start] + [np.tile(x, (count, 1)) for x in at_start]
            states = self._states(own, (nv, nv, elements, elements))
            sent, rates = ({name: x[part] for name, x in given.items()} for given in commands)
            inputs = [self._commanded(values, sent, count, nv), *self._constants(z, values)]
            inputs += [_by_time(sent.get(name), count, K, nv) for name in _COMMANDS]
            inputs.append(self._commanded(values, rates, count, nv))
            Iteration(tangent.function, states, inputs, self.substeps).run(0, K)
            positions[:, part] = states[0]
            by[:, part, tangent.rows, tangent.columns] = states[2] * scale
        if inertial.stop > inertial.start:
            by[..., bodies] = by[..., bodies] @ D[inertial, inertial]
        return ServoFlow(positions, by)

    def _states(self, start: tuple[Array, ...] | list[Array], sizes: tuple[int, ...]) -> list[Array]:
        found = [np.zeros((self.recording.length + 1, len(start[0]), size)) for size in sizes]
        for state, first in zip(found, start, strict=True):
            state[0] = first
        return found

    def _constants(self, z: Array, values: ServoValues) -> list[Array]:
        given = [values.kp, values.kd, self.limit, self.unknowns.theta(z)]
        shared = [np.ascontiguousarray(x, dtype=np.float64)[None, None] for x in given]
        return [*shared, np.full((1, 1), self.recording.dt / self.substeps)]

    def _commanded(self, values: ServoValues, sent: dict[str, Array], W: int, nv: int) -> Array:
        """u = kp q_command + kd v_command + gain tau_command, or its derivative by delays, (K, W, nv)."""
        u = np.zeros((self.recording.length, W, nv))
        for name, size in zip(_COMMANDS, values[:3], strict=True):
            if name in sent:
                u += size * sent[name].swapaxes(0, 1)
        return u


def _by_time(values: Array | None, W: int, K: int, nv: int) -> Array:
    """Commands (W, K, nv) with time first; zeros where there are none."""
    return np.zeros((1, 1, nv)) if values is None else np.ascontiguousarray(values.swapaxes(0, 1))
