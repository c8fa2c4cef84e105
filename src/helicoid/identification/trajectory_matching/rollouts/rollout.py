"""Rollouts of a robot under servos from many initial states, with exact sensitivities.

Positions are simulated with `REFINEMENT` times as many time steps as their slopes: where dry friction changes
its sign, errors of the positions are of first order in the step, and would be taken for friction and inertia;
those of the slopes only slow down the search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import Iteration
from helicoid.identification.trajectory_matching.recording import Recording
from helicoid.identification.trajectory_matching.rollouts.dry_friction import DryFriction, DryFrictionKind
from helicoid.identification.trajectory_matching.rollouts.step import servo_step
from helicoid.identification.trajectory_matching.rollouts.tangent import tangent_servo_step
from helicoid.identification.trajectory_matching.servo import Servo
from helicoid.identification.trajectory_matching.unknowns import ServoValues, Unknowns

REFINEMENT = 8  # time steps of positions for one of their slopes
_MAX_ELEMENTS = 4_000_000  # of sensitivities computed at a time
_COMMANDS = ("q_command", "v_command", "tau_command")  # in the order of their gains, `ServoValues`


class ServoFlow(NamedTuple):
    """Positions at the samples of W windows (K + 1, W, nv), and their slopes by (q, v) at the start and ξ."""

    q: Array
    by: Array


class Rollouts:
    """Simulations of every window of a recording; `substeps` steps a sample for slopes."""

    def __init__(
        self,
        unknowns: Unknowns,
        servo: Servo | None,
        recording: Recording,
        substeps: int,
        dry_friction: DryFrictionKind = "exact",
    ) -> None:
        self.unknowns, self.recording, self.substeps = unknowns, recording, substeps
        self.dry_friction = dry_friction
        robot = unknowns.robot
        self.sampled = servo is not None and servo.period is not None
        self.limit = Servo().limits(robot) if servo is None else servo.limits(robot)

    def flow(self, z: Array, start: tuple[Array, Array], D: Array | None = None) -> ServoFlow:
        """Simulate from start (W, nv) each; with slopes by ξ where D = ∂z/∂ξ is given.

        D is diagonal but for the inertial parameters of bodies.
        """
        q = self.positions(z, start, REFINEMENT)
        return ServoFlow(q, np.zeros((*q.shape, 0)) if D is None else self._slopes(z, start, D))

    def positions(self, z: Array, start: tuple[Array, Array], refinement: int) -> Array:
        """Positions (K + 1, W, nv), simulated with `refinement` times as many time steps as slopes."""
        (W, nv), K, parts = start[0].shape, self.recording.length, self.substeps
        values = self.unknowns.servo_values(z)
        u = self._commanded(values, self.recording.delayed(values.delay, parts).values, K * parts, W)
        constants = self._constants(z, values, refinement)
        step = servo_step(self.unknowns.parametric, self.sampled and refinement == 1)
        if not self.sampled or refinement == 1:
            states = self._states(start, (nv, nv), parts)
            Iteration(step, states, [u, *constants], refinement).run(0, K * parts)
            return states[0][::parts]
        # The servo's torque is held during several steps.
        kp, kd, limit = (np.array(one) for one in constants[:3])
        constants[0][:], constants[1][:], constants[2][:] = 0.0, 0.0, np.inf
        q, v = (np.ascontiguousarray([one, one]) for one in start)
        held, found = np.zeros((1, W, nv)), np.zeros((K * parts + 1, W, nv))
        period, found[0] = Iteration(step, [q, v], [held, *constants], refinement), q[0]
        for k in range(K * parts):
            held[:] = np.clip(u[k] - kp * q[0] - kd * v[0], -limit, limit)
            period.run(0, 1)
            q[0], v[0] = q[1], v[1]
            found[k + 1] = q[0]
        return found[::parts]

    def _slopes(self, z: Array, start: tuple[Array, Array], D: Array) -> Array:
        """Slopes of positions; windows some at a time, since they need memory."""
        values, parts = self.unknowns.servo_values(z), self.substeps
        commands = self.recording.delayed(values.delay, parts)
        tangent = tangent_servo_step(self.unknowns.parametric, self.sampled, self.unknowns.columns)
        (W, nv), K, elements = start[0].shape, self.recording.length, len(tangent.rows)
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
        some = max(1, _MAX_ELEMENTS // (K * parts * elements))
        for first in range(0, W, some):
            part = slice(first, min(W, first + some))
            count = part.stop - first
            own = [x[part] for x in start] + [np.tile(x, (count, 1)) for x in at_start]
            states = self._states(own, (nv, nv, elements, elements), parts)
            sent, rates = ({name: x[part] for name, x in given.items()} for given in commands)
            inputs = [self._commanded(values, sent, K * parts, count), *self._constants(z, values, 1)]
            inputs += [_by_time(sent.get(name), nv) for name in _COMMANDS]
            inputs.append(self._commanded(values, rates, K * parts, count))
            Iteration(tangent.function, states, inputs).run(0, K * parts)
            by[:, part, tangent.rows, tangent.columns] = states[2][::parts] * scale
        if inertial.stop > inertial.start:
            by[..., bodies] = by[..., bodies] @ D[inertial, inertial]
        return by

    def _states(
        self, start: tuple[Array, ...] | list[Array], sizes: tuple[int, ...], parts: int
    ) -> list[Array]:
        rows = self.recording.length * parts + 1
        found = [np.zeros((rows, len(start[0]), size)) for size in sizes]
        for state, first in zip(found, start, strict=True):
            state[0] = first
        return found

    def _constants(self, z: Array, values: ServoValues, refinement: int) -> list[Array]:
        dt = self.recording.dt / (self.substeps * refinement)
        theta = self.unknowns.theta(z)
        friction = DryFriction.of(self.dry_friction, self.unknowns.parametric, theta)
        given = [values.kp, values.kd, self.limit, *friction, theta, dt]
        return [np.array(x, dtype=np.float64)[None, None] for x in given]

    def _commanded(self, values: ServoValues, sent: dict[str, Array], K: int, W: int) -> Array:
        """u = kp q_command + kd v_command + gain tau_command, or its derivative by delays, (K, W, nv)."""
        u = np.zeros((K, W, self.unknowns.robot.nv))
        for name, size in zip(_COMMANDS, values[:3], strict=True):
            if name in sent:
                u += size * sent[name].swapaxes(0, 1)
        return u


def _by_time(values: Array | None, nv: int) -> Array:
    """Commands (W, K, nv) with time first; zeros where there are none."""
    return np.zeros((1, 1, nv)) if values is None else np.ascontiguousarray(values.swapaxes(0, 1))
