"""The states of one rollout, or of many side by side, while a simulation computes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import Function, Iteration
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.robot.function import wrench_names
from helicoid.simulation.contacts import TimeStepping, World
from helicoid.simulation.energy import MAX_EXACT_STEP, EnergyBalance, EnergyGain
from helicoid.simulation.equations import rate_function, settling_function, step_function
from helicoid.simulation.equations.actuated import ActuatedSystem, actuated_step_function, force_function
from helicoid.simulation.equations.adaptive import VariableStepSolver
from helicoid.simulation.inputs.forces import SystemInputs
from helicoid.simulation.inputs.laws import LawFeedback, LawLoop
from helicoid.simulation.inputs.start import Start
from helicoid.simulation.inputs.stepped import Observation
from helicoid.simulation.running import Advance
from helicoid.simulation.trajectory import MotionEquations, Trajectory

_STIFF_FRICTION = (
    "The robot has joint friction, which makes the equations stiff: take method='stiction' or 'stiff', a "
    "smaller dt or substeps"
)


class Rollouts:
    """Arrays (N + 1, rollouts, n) of the states: time first, so that rollouts lie side by side for SIMD.

    Args:
        states: initial actuator states (rollouts, n) of a vehicle; None of a robot.
        observer: stepped beside the simulation of one robot.

    `one_by_one` says whether callables are evaluated before every step.
    """

    def __init__(
        self,
        robot: Robot,
        times: Array,
        begin: Start,
        inputs: SystemInputs,
        states: Array | None = None,
        observer: Any = None,
    ) -> None:
        self.robot, self.times, self.inputs, self._many = robot, times, inputs, begin.many
        parts = [begin.q, begin.v, *([] if states is None else [states])]
        self.states = [np.zeros((len(times), *part.shape)) for part in parts]
        for array, part in zip(self.states, parts, strict=True):
            array[0] = part
        self.q, self.v = self.states[:2]
        self.theta = begin.theta
        self.one_by_one = inputs.sampled
        self.energy_balance: EnergyBalance | None = None
        self._step = 0.0  # s, of the integrator
        self._observation = None if observer is None else Observation(observer, times)
        if observer is not None and begin.many:
            raise InputError("an observer observes one robot; a batch has none")

    def _advance(self, step: Function, others: Sequence[Array], substeps: int) -> Advance:
        """Steps of one length, `substeps` from one row to the next; a law is evaluated inside the loop."""
        inputs, times = self.inputs, self.times
        states = [self.q, self.v, *(x for x in self.states[2:] if x.shape[-1])]
        if inputs.law is None:
            dt = float(times[1]) / substeps if len(times) > 1 else 1.0
            rows = [inputs.net, *others, np.full((1, 1), dt)]
            return self.sampling(Iteration(step, states, rows, substeps).run)
        disturbance = inputs.disturbance if inputs.disturbed else None
        at_end = inputs.law.at_end
        loop = LawLoop(
            self.robot, step, inputs.law, states, others, times, substeps, inputs.limit, disturbance
        )
        if inputs.limit is None and disturbance is None:
            inputs.command = inputs.net = loop.command[1:]  # to copy a batch takes as long as to compute it

        def advance(first: int, last: int) -> None:
            loop.run(first, last)
            inputs.fill(first, loop.command[first + 1 : last + 1], times, self.v)
            ended = last == len(times) - 1 and not self._many and np.all(np.isfinite(self.v[last]))
            if at_end is not None and ended:
                at_end(loop.memory[0], self.q[last, 0], self.v[last, 0])

        return self.sampling(advance)

    def sampling(self, advance: Advance) -> Advance:
        """Evaluate callables before each step, and the observer after it."""
        inputs, states, times, observation = self.inputs, self.states, self.times, self._observation
        if observation is not None:
            unobserved, advance = advance, lambda first, last: self._observe(unobserved, first, last)
        if not inputs.sampled:
            return advance

        def sampled(first: int, last: int) -> None:
            inputs.sample(first, float(times[first]), states)
            advance(first, last)

        return sampled

    def _observe(self, advance: Advance, first: int, last: int) -> None:
        advance(first, last)
        if self._observation is not None:
            self._observation.update(last, self.q, self.v, self.inputs.command)

    def command_at_start(self) -> None:
        """Evaluate the controller once, for a simulation of no duration."""
        if self.inputs.law is not None:
            feedback = LawFeedback(self.inputs.law, self.times)
            state = [x[0] if self._many else x[0, 0] for x in self.states]
            self.inputs.command[0] = feedback(0.0, *state)
        self.inputs.sample(0, 0.0, self.states)

    def _public(self, values: Array, n: int) -> Array:
        """n rows, or the only one; rollouts first."""
        rows = _completed(values, n)
        return rows.transpose(1, 0, 2) if self._many else rows[:, 0]

    def _command(self, n: int) -> Array:
        """The first n rows of the command."""
        command = self.inputs.command
        if len(command) == n == len(self.times) and n > 1:
            command[n - 1] = command[n - 2]
        return self._public(command, n)

    def _observed(self, n: int) -> dict[str, Array]:
        return {} if self._observation is None else {"observed": self._observation.estimates(n)}

    def divergence(self, k: int) -> str:
        """The message of a simulation in which row k is the first that has diverged."""
        rollout = int(np.argmax(_speeds(self.v[k]).max(axis=1)))
        where, v = f" of rollout {rollout}" if self._many else "", self.v[k, rollout]
        column = int(np.argmax(_speeds(v)))
        return (
            f"{self.robot.name}: the simulation{where} diverged at t = {self.times[k]:g} s, where the "
            f"velocity of joint {self.robot.model.velocity_names[column]!r} is {v[column]:.3g}; the error's "
            f"`trajectory` holds the states before. {self._remedy(k, rollout)}"
        )

    def gain(self, error: EnergyGain) -> str:
        """The message of a simulation that gained energy by its integration."""
        where, v = f" of rollout {error.rollout}" if self._many else "", self.v[error.row, error.rollout]
        column = int(np.argmax(np.abs(v)))
        step = abs(float(v[column])) * self._step
        return (
            f"{self.robot.name}: the integration{where} gained energy until t = {self.times[error.row]:g} s: "
            f"kinetic energy is {error.energy:.3g} J, of which forces account for {error.expected:.3g} J; "
            "the error's `trajectory` holds the states before. A step moves joint "
            f"{self.robot.model.velocity_names[column]!r} by {step:.2g} (rad or m), which is too far: take "
            f"{int(np.ceil(step / MAX_EXACT_STEP))} times as many substeps{self._cause}"
        )

    @property
    def _cause(self) -> str:
        """Reason for the short steps, if it is known."""
        return ""

    def _remedy(self, k: int, rollout: int) -> str:
        return "Smaller steps or weaker gains may help"


class RobotRollouts(Rollouts):
    """Rollouts of a robot, by the method that `fixed`, `time_stepping` or `adaptive` chooses."""

    def __init__(
        self,
        robot: Robot,
        times: Array,
        begin: Start,
        inputs: SystemInputs,
        method: str,
        options: dict[str, Any],
        observer: Any = None,
    ) -> None:
        super().__init__(robot, times, begin, inputs, observer=observer)
        self._method, self._options, self._substeps = method, options, 1
        self._stepping: TimeStepping | None = None
        self._others = [begin.theta[None], *inputs.wrenches.values()]

    def fixed(self, substeps: int) -> Advance:
        """Steps of one length, `substeps` from one row to the next."""
        self._substeps = substeps
        self._balance(substeps)
        return self._advance(step_function(self.robot, self._method, **self._options), self._others, substeps)

    def time_stepping(self, world: World, substeps: int) -> Advance:
        """Steps of one length in which contacts, end stops and dry friction act at once."""
        self._balance(substeps)
        states, inputs = (self.q, self.v), self.inputs
        self._stepping = TimeStepping(
            self.robot, world, self._options, states, self._others, inputs, self.times, substeps
        )
        return self.sampling(self._stepping.run)

    def _balance(self, substeps: int) -> None:
        """Check the energy where steps of this length are long, unless friction may be any number."""
        dt = float(self.times[1]) if len(self.times) > 1 else 1.0
        self._step = dt / substeps
        if "friction" in self.robot.theta.groups:
            return
        self.energy_balance = EnergyBalance(
            self.robot, (self.q, self.v), self.inputs, self._others, self._options, dt, substeps
        )

    @property
    def _cause(self) -> str:
        return f". {_STIFF_FRICTION}" if self._stiff else ""

    @property
    def _stiff(self) -> bool:
        """Whether joint friction acts that the method has no special treatment for."""
        special = self._stepping is not None or self._method == "stiction"
        return not special and self._options.get("friction", True) and has_friction(self.robot)

    def adaptive(self, rtol: float, atol: float) -> Advance:
        """Steps as long as a tolerance allows."""
        rate = rate_function(self.robot, **self._options)
        inputs, times = self.inputs, self.times
        if inputs.law is not None:
            inputs.evaluate_by_python(LawFeedback(inputs.law, times))
            self.one_by_one = True
        rows = [inputs.net, *self._others]
        solver = VariableStepSolver(
            rate, (self.q, self.v), rows, times, self._settled, self._method, (rtol, atol)
        )
        return self.sampling(solver.run)

    def _settled(self, q: Array, v: Array, rollout: int) -> tuple[Array, Array]:
        theta = self.theta[rollout if len(self.theta) > 1 else 0]
        return settling_function(self.robot)(q, v, theta)

    def trajectory(self, n: int) -> Trajectory:
        """The first n rows as a trajectory."""
        tau, q, v = self._command(n), self._public(self.q, n), self._public(self.v, n)
        names = ["theta", *wrench_names(self.inputs.wrenches).values()]
        rows = {name: self._public(x, n) for name, x in zip(names, self._others, strict=True)}
        net = self._public(self.inputs.net, n) if self.inputs.disturbed else tau
        motion = MotionEquations(
            self.robot, {"tau": net, **rows}, self._method, self._options, self._substeps
        )
        made = Trajectory(self.times[:n], q, v, np.broadcast_to(tau, v.shape), self.robot, motion=motion)
        if self._stepping is not None:
            reported = self._stepping.known(n, self.q, self.v)
            made.known = {
                name: np.moveaxis(x, 1, 0) if self._many else x[:, 0] for name, x in reported.items()
            }
            made.contact_names, made.grounds = self._stepping.world.points.names, self._stepping.world.grounds
        made.known |= self._observed(n)
        return made

    def _remedy(self, k: int, rollout: int) -> str:
        if self._stepping is not None:
            return self._stepping.why(k, rollout)
        if self._stiff:
            return f"{_STIFF_FRICTION}; otherwise weaker gains"
        return "Smaller steps or weaker gains may help, and so may method='stiff'"


class VehicleRollouts(Rollouts):
    """Rollouts of a vehicle, or of another actuated system, by Runge-Kutta steps."""

    def __init__(
        self,
        system: ActuatedSystem,
        times: Array,
        begin: Start,
        inputs: SystemInputs,
        states: Array,
        seed: int | np.random.Generator,
    ) -> None:
        super().__init__(system.robot, times, begin, inputs, states)
        self._system = system
        n, dt = len(times) - 1, float(times[1]) if len(times) > 1 else 1.0
        shape = max(n, 1), self.q.shape[1], system.n_noise
        self._noise = np.random.default_rng(seed).normal(size=shape) / np.sqrt(dt)

    def fixed(self, substeps: int) -> Advance:
        """Steps of one length, `substeps` from one row to the next."""
        others = [x for x in (self._noise, self.theta[None]) if x.shape[-1]]
        return self._advance(actuated_step_function(self._system), others, substeps)

    def trajectory(self, n: int) -> Trajectory:
        """The first n rows as a trajectory; its torque is the generalised force of all actuators."""
        u, (q, v, z) = self._command(n), (self._public(x, n) for x in self.states)
        u = np.broadcast_to(u, (*q.shape[:-1], u.shape[-1]))
        rows = _completed(self.inputs.command, n)
        rows = np.broadcast_to(rows, (n, self.q.shape[1], rows.shape[-1]))
        flat = [x[:n].reshape(-1, x.shape[-1]) for x in (*self.states, rows) if x.shape[-1]]
        force = np.asarray(force_function(self._system)(*flat)).reshape(self.v[:n].shape)
        tau = self._public(force, n)
        theta = self.theta if self._many else self.theta[:1]
        inputs = {"tau": tau, "theta": theta[:, None, :] if self._many else theta}
        motion = MotionEquations(self.robot, inputs, "rk4", {"friction": True})
        known = {"controls": u, "states": z}
        return Trajectory(self.times[:n], q, v, tau, self.robot, motion=motion, known=known)


def has_friction(robot: Robot) -> bool:
    """Whether a joint has viscous or dry friction, or may have it by its parameters."""
    joints = robot.model.independent_joints
    parts = [(*joint.damping, *joint.friction, *joint.static_friction) for joint in joints]
    return "friction" in robot.theta.groups or any(x > 0 for part in parts for x in part)


def _speeds(v: Array) -> Array:
    return np.nan_to_num(np.abs(v), nan=np.inf, posinf=np.inf)


def _completed(values: Array, n: int) -> Array:
    """The first n rows, or the only one; commands have no row for the last sample: it repeats."""
    return np.concatenate([values, values[-1:]]) if 1 < len(values) < n else values[:n]
