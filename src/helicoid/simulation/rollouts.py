"""The states of one rollout, or of many side by side, while they are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import Iteration
from helicoid.robot import Robot
from helicoid.simulation.contacts import TimeStepping, World
from helicoid.simulation.equations import rate_function, settling_function, step_function
from helicoid.simulation.equations.adaptive import Adaptive
from helicoid.simulation.inputs.forces import Forces
from helicoid.simulation.inputs.laws import SymbolicLaw, loop_with_law
from helicoid.simulation.inputs.start import Start
from helicoid.simulation.running import Advance
from helicoid.simulation.trajectory import Motion, Trajectory


class Rollouts:
    """Arrays (N + 1, rollouts, n) of q and v: time first, so that rollouts lie side by side for SIMD.

    `one_by_one` says whether forces are asked for at every step.
    """

    def __init__(
        self,
        robot: Robot,
        times: Array,
        begin: Start,
        forces: Forces,
        method: str,
        options: dict[str, Any],
    ) -> None:
        self._method = method
        self.robot, self.times, self.forces, self._many = robot, times, forces, begin.many
        self.q, self.v = (np.empty((len(times), *part.shape)) for part in (begin.q, begin.v))
        self.q[0], self.v[0] = begin.q, begin.v
        self._theta, self._options = begin.theta, options
        self.one_by_one = False
        self._stepping: TimeStepping | None = None
        self._inputs = [forces.net, begin.theta[None], *forces.wrenches.values()]

    def fixed(self, dt: float, substeps: int) -> Advance:
        """Steps of one length, `substeps` from one row to the next, which is dt (s) later."""
        states = self.q, self.v
        law = self.forces.only_law
        if isinstance(law, SymbolicLaw):
            inputs, forces = self._inputs[1:], self.forces
            equations = self._method, self._options
            loop = loop_with_law(self.robot, law, *equations, states, inputs, forces, self.times, substeps)
            if loop is not None:
                return loop
        self.one_by_one = self.forces.sampled
        return self._sampling(
            fixed_steps(self.robot, self._method, self._options, states, self._inputs, dt, substeps)
        )

    def time_stepping(self, world: World, substeps: int) -> Advance:
        """Steps of one length in which contacts, end stops and dry friction act at once."""
        states, inputs = (self.q, self.v), self._inputs[1:]
        self._stepping = TimeStepping(
            self.robot, world, self._options, states, inputs, self.forces, self.times, substeps
        )
        if self._stepping.law is not None:
            return self._stepping.run
        self.one_by_one = self.forces.sampled
        return self._sampling(self._stepping.run)

    def adaptive(self, rtol: float, atol: float) -> Advance:
        """Steps as long as a tolerance allows."""
        rate = rate_function(self.robot, **self._options)
        states, tolerances = (self.q, self.v), (rtol, atol)
        self.one_by_one = self.forces.sampled
        solver = Adaptive(rate, states, self._inputs, self.times, self._settled, self._method, tolerances)
        return self._sampling(solver.run)

    def _settled(self, q: Array, v: Array, rollout: int) -> tuple[Array, Array]:
        theta = self._theta[rollout if len(self._theta) > 1 else 0]
        return settling_function(self.robot)(q, v, theta)

    def _sampling(self, advance: Advance) -> Advance:
        """Ask for the forces of a step before it, where they have to be asked for."""
        if not self.forces.sampled:
            return advance

        def sampled(k: int, last: int) -> None:
            self.forces.sample(k, float(self.times[k]), self.q[k], self.v[k])
            advance(k, last)

        return sampled

    def trajectory(self, n: int) -> Trajectory:
        """The first n rows as the user gets them."""
        names = ["tau", "theta", *(f"f_ext_{link}" for link in self.forces.wrenches)]
        inputs = {name: self._public(x, n) for name, x in zip(names, self._inputs, strict=True)}
        q, v, tau = (self._public(x, n) for x in (self.q, self.v, self.forces.tau))
        motion = Motion(self.robot, inputs, self._method, self._options)
        made = Trajectory(self.times[:n], q, v, np.broadcast_to(tau, v.shape), self.robot, motion=motion)
        if self._stepping is not None:
            reported = self._stepping.known(n, self.q, self.v)
            made.known = {
                name: np.moveaxis(x, 1, 0) if self._many else x[:, 0] for name, x in reported.items()
            }
            made.contact_names, made.grounds = self._stepping.world.points.names, self._stepping.world.grounds
        return made

    def _public(self, values: Array, n: int) -> Array:
        """n rows, or the only one; rollouts first. Forces have no row for the last sample: it repeats."""
        if 1 < len(values) < n:
            values = np.concatenate([values, values[-1:]])
        return values[:n].transpose(1, 0, 2) if self._many else values[:n, 0]

    def divergence(self, k: int) -> str:
        """What went wrong in row k."""
        rollout = int(np.argmax(_speeds(self.v[k]).max(axis=1)))
        where = f" of rollout {rollout}" if self._many else ""
        message = divergence(self.robot, float(self.times[k]), self.v[k, rollout], where)
        if self._stepping is not None:
            return f"{message}. {self._stepping.why(k, rollout)}"
        return f"{message}. Smaller steps or weaker gains may help, and so may method='stiff'"


def fixed_steps(
    robot: Robot,
    method: str,
    options: dict[str, Any],
    states: tuple[Array, Array],
    inputs: Sequence[Array],
    dt: float,
    substeps: int,
) -> Advance:
    """Fills rows of states, each dt (s) after the one before, by `substeps` steps of a method of `FIXED`.

    Args:
        states: q and v, each (rows, rollouts, n); the caller fills row 0.
        inputs: torque, θ (empty where the robot is not parametric), and the wrenches that the options name,
            each (rows or 1, rollouts or 1, size).
    """
    step = step_function(robot, method, **options)
    return Iteration(step, states, [*inputs, np.full((1, 1), dt / substeps)], substeps).run


def divergence(robot: Robot, t: float, v: Array, where: str = "") -> str:
    """The message of a simulation that velocities (nv,) beyond reason end at time t (s)."""
    column = int(np.argmax(_speeds(v)))
    return (
        f"{robot.name}: the simulation{where} diverged at t = {t:g} s, where the velocity of joint "
        f"{robot.model.velocity_names[column]!r} is {v[column]:.3g}; the error's `trajectory` holds "
        "the states before"
    )


def _speeds(v: Array) -> Array:
    return np.nan_to_num(np.abs(v), nan=np.inf, posinf=np.inf)
