"""Time stepping with contacts: the loop of a simulation, with its law inside, and its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import Input, Kernel, interpreted
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.robot.collision.body_poses import body_matrices
from helicoid.simulation.contacts.kernel import Sizes, Stop, contact_kernel
from helicoid.simulation.contacts.shapes import Points, gaps, points_of
from helicoid.simulation.contacts.terms import terms
from helicoid.simulation.ground import ContactPoint, Ground, as_grounds
from helicoid.simulation.inputs.forces import SystemInputs
from helicoid.simulation.inputs.laws import LawInStep, forget_oldest, hashable

FAST = 1e3  # rad/s or m/s: a velocity due to torques or to the initial state, not to contacts
UNSOLVED = 1e-3  # relative residual of the contacts beyond which they cause a divergence
_MAX_INITIAL_DEPTH = 1e-6  # m: deeper penetration at the start is no rounding error


@dataclass(frozen=True, eq=False)
class World:
    """Grounds, points of links that may touch them, and whether joints have end stops."""

    grounds: tuple[Ground, ...]
    points: Points
    end_stops: bool

    @staticmethod
    def of(
        robot: Robot, ground: Any, contacts: Sequence[ContactPoint] | str | None, end_stops: bool | None
    ) -> World:
        """From the arguments of `simulate`.

        Raises:
            InputError: one of them is not valid.
        """
        if ground is None and contacts is not None:
            raise InputError("contacts need something to touch: simulate(..., ground=hc.Ground())")
        if ground is not None and contacts is None:
            raise InputError(
                "a ground needs contacts: contacts=[hc.ContactPoint(link, point), ...], or "
                "contacts='collision' for the collision geometry of all links"
            )
        grounds = () if ground is None else as_grounds(ground)
        return World(
            grounds, points_of(robot, contacts), ground is not None if end_stops is None else end_stops
        )

    @property
    def bouncing(self) -> bool:
        """Whether any ground has restitution."""
        return any(one.restitution > 0 for one in self.grounds)

    def check_start(self, robot: Robot, q: Array) -> None:
        """Check that no contact starts below the ground, in any of the rollouts (B, nq).

        Raises:
            InputError: a contact starts below it; the message has its name and depth.
        """
        for number, ground in enumerate(self.grounds):
            deepest, row, rollout = self._deepest(robot, q, ground)
            if deepest > _MAX_INITIAL_DEPTH:
                name = self.points.names[int(self.points.rows[row, 2])]
                where = f" in rollout {rollout}" if len(q) > 1 else ""
                which = f" {number}" if len(self.grounds) > 1 else ""
                raise InputError(
                    f"contact {name!r} starts {deepest:.3g} m below ground{which}{where}: raise the robot by "
                    "as much, or lower the ground"
                )

    def _deepest(self, robot: Robot, q: Array, ground: Ground) -> tuple[float, int, int]:
        depths = np.full((len(self.points.rows), len(q)), -np.inf)
        bodies = np.asarray(interpreted(body_matrices(robot), q)).reshape(len(q), robot.n_bodies, 3, 4)
        for number, link in enumerate(self.points.links):
            body, placement = robot.model.frame(link)
            R, p = bodies[:, body, :, :3], bodies[:, body, :, 3:]
            T = np.concatenate([R @ placement.rotation, R @ placement.translation[:, None] + p], axis=2)
            for k in np.flatnonzero(self.points.rows[:, 0] == number):
                depths[k] = -gaps(self.points.rows[k], T, ground)
        if not depths.size:
            return -np.inf, 0, 0
        row, rollout = np.unravel_index(int(np.argmax(depths)), depths.shape)
        return float(depths[row, rollout]), int(row), int(rollout)

    @property
    def field(self) -> Array:
        """The height field as C has it; empty where there is none."""
        return next((one.table for one in self.grounds if one.heights is not None), np.zeros(0))


class TimeStepping:
    """Computes rows of states, each dt (s) after the one before, with contact forces, residuals and depths.

    Args:
        states: q and v, each (rows, rollouts, n); the caller fills row 0.
        inputs: θ, and the wrenches that the options name, each (rows or 1, rollouts or 1, size).
        forces: the torques; a law among them is evaluated inside the loop.
    """

    def __init__(
        self,
        robot: Robot,
        world: World,
        options: Mapping[str, Any],
        states: tuple[Array, Array],
        inputs: Sequence[Array],
        forces: SystemInputs,
        times: Array,
        substeps: int,
    ) -> None:
        self.world, self._forces, self._times, self._substeps = world, forces, times, substeps
        rows, rollouts = states[0].shape[:2]
        law = None
        if forces.law is not None:
            law = LawInStep(forces.law, Input("tau", (robot.nv,)), substeps * forces.law.every > 1)
        loop = _loop(robot, world, options, law, forces.limit, rollouts > 1)
        self._kernel, self._equations = loop.kernel, loop.sizes.others[2]
        # One row more: row k + 1 reports the step from k on, and the last one is reported twice.
        memory = self._memory = np.zeros((rows + 1, rollouts, loop.sizes.memory))
        record = self._record = np.zeros((rows + 1, rollouts, 6 * loop.sizes.contacts))
        own: list[Array] = [forces.net]
        further = [] if law is None else law.state_arrays(rows, rollouts)
        if law is not None:
            own = [forces.disturbance, *law.input_arrays(times, substeps)]
        step = float(times[1]) / substeps if len(times) > 1 else 1.0
        self._torque = further[0] if further else None
        self._states = (*states, *further, memory[:rows], record[:rows])
        tables = [world.points.rows.ravel(), np.ravel([one.row for one in world.grounds]), world.field]
        self._inputs = (
            *own,
            *inputs,
            np.full((1, 1), step),
            *(np.ascontiguousarray(table, dtype=np.float64)[None, None] for table in tables),
            np.full((1, 1), float(substeps)),
        )

    def run(self, first: int, last: int) -> None:
        """Compute rows first + 1 to last."""
        self._kernel.iterate(self._states, self._inputs, first, last, self._substeps)  # type: ignore[attr-defined]
        if self._torque is not None:
            # The row after a step holds the torque that acted in it.
            self._forces.fill(first, self._torque[first + 1 : last + 1], self._times, self._states[1])

    def why(self, k: int, rollout: int) -> str:
        """The likely cause and remedy where row k of a rollout is the first that has diverged."""
        error, before = float(self._memory[k, rollout, 1]), self._states[1][max(k - 1, 0), rollout]
        speed = float(np.abs(before).max())
        if not speed < FAST:
            return f"A sample before it was {speed:.2g} already: weaker gains, a shorter dt or a slower start"
        if not error < UNSOLVED * max(speed, 1.0):
            return f"The contacts of that step were not solved (they err by {error:.1g} m/s): take substeps"
        return "The contacts of that step were solved: weaker gains, or a shorter dt"

    def known(self, n: int, q: Array, v: Array) -> dict[str, Array]:
        """Results of the first n rows, (rows, rollouts, ...): row k is of the step that begins there."""
        dt = float(self._times[1]) if len(self._times) > 1 else 1.0
        for rows in (self._memory, self._record):
            rows[n] = rows[n - 1]
        record = self._record[1 : n + 1].reshape(n, q.shape[1], -1, 6)
        rate = np.zeros_like(v[:n])
        if n > 1:
            np.subtract(v[1:n], v[: n - 1], out=rate[:-1])
            rate /= dt
            rate[-1] = rate[-2]
        equations = self._memory[1 : n + 1, :, self._memory.shape[2] - self._equations :]
        return {
            "a": rate,
            "contact_forces": record[..., :3],
            "contact_points": record[..., 3:],
            "contact_residual": self._memory[1 : n + 1, :, 1],
            "penetration": self._memory[:n, :, 3],
            # As everywhere, λ is the force of the robot on its constraints.
            "constraint_forces": -equations * self._substeps / dt,
        }


@dataclass(frozen=True, eq=False)
class _Loop:
    kernel: Kernel
    sizes: Sizes


def _loop(
    robot: Robot,
    world: World,
    options: Mapping[str, Any],
    law: LawInStep | None,
    limit: Array | None,
    batch: bool,
) -> _Loop:
    """The compiled step, cached."""
    shape = world.points.links, len(world.points.rows), len(world.points.names), len(world.grounds)
    key = (
        *shape,
        world.field.size,
        world.end_stops,
        world.bouncing,
        hashable(dict(options)),
        law and (law.key, limit is not None),
        batch,
    )
    loops: dict[Any, _Loop] = robot.memo("loops with contacts", dict)
    if key not in loops:
        forget_oldest(loops)
        frictional = _frictional(robot) if options.get("friction", True) else []
        stops = Stop(robot) if world.end_stops else Stop(None)
        parts = terms(robot, world.points.links, frictional, world.bouncing, law, limit, **options)
        states = 2 + (0 if law is None else len(law.states))
        counts = len(world.points.rows), len(world.grounds), world.field.size, len(world.points.names)
        sizes = Sizes(robot, parts, counts, states, stops, frictional)
        loops[key] = _Loop(contact_kernel(robot, parts, sizes, stops, frictional, batch), sizes)
    return loops[key]


def _frictional(robot: Robot) -> list[int]:
    """Velocities with dry friction; all of them where friction is a parameter."""
    if "friction" in robot.theta.groups:
        return list(range(robot.nv))
    found = []
    for joint in robot.model.independent_joints:
        _, at = robot.index(joint.name)
        found += [
            at.start + k
            for k in range(joint.type.nv)
            if joint.friction[k] > 0 or joint.static_friction[k] > 0
        ]
    return found
