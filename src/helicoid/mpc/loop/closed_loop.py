"""A controller on a plant, step by step, with a record of motion, errors, estimates and computation times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array
from helicoid.deprecation import warn_renamed
from helicoid.errors import InputError
from helicoid.mpc.loop.adaptive import Adaptive
from helicoid.mpc.loop.controller import Controller
from helicoid.simulation.inputs.stepped import Commanded, SteppedController, Targets
from helicoid.simulation.plant import Plant
from helicoid.simulation.trajectory import MotionEquations, Trajectory

TrackingError = Callable[[float, Array], float]

_RECORD_EVERY = 10  # steps between two records of the estimate's uncertainty, which the loop does not need


class Sample(NamedTuple):
    """One step of a run, for `watch`."""

    time: float
    error: float
    true_theta: Array
    theta: Array
    estimate: Array
    deviation: Array
    seconds: float
    status: str
    q: Array


@dataclass(eq=False)
class Run:
    """Record of a run of N steps; the state after the last one is in `trajectory` only.

    Attributes:
        trajectory: the true motion, t (N + 1), q, v, and the torques that the motors gave.
        error: tracking error at each step (N), by the function given to `run_on_plant`.
        seconds: computation time of each step (N), identification included.
        learning_seconds: of these, identification and hand-over (N); zero without an identifier.
        theta: parameters of the controller at each step (N, θ); `true_theta`: those of the plant.
        watched: times (s) of the rows of `estimate` and `deviation` (M, θ): the identifier's mean and σ.
        statuses: (time, status) where it changed; `ok`: that of each step (N).
    """

    label: str
    trajectory: Trajectory
    error: Array
    seconds: Array
    learning_seconds: Array
    theta: Array
    true_theta: Array
    watched: Array
    estimate: Array
    deviation: Array
    ok: NDArray[np.bool_]
    statuses: list[tuple[float, str]] = field(default_factory=list)

    @property
    def t(self) -> Array:
        """Times of the steps (N), s."""
        return self.trajectory.t[:-1]

    def rms(self, start: float = 0.0, end: float = np.inf) -> float:
        """Root mean square of the tracking error between two times (s)."""
        chosen = self.error[(self.t >= start - 1e-9) & (self.t < end - 1e-9)]
        if not len(chosen):
            raise InputError(f"the run has no steps from {start:g} to {end:g} s")
        return float(np.sqrt(np.mean(chosen**2)))

    def settled(self, element: int, tolerance: float, since: float = 0.0) -> float:
        """Seconds after `since` until an element of the estimate stays within a part of its true value.

        `np.inf` if it does not.
        """
        rows = self.watched >= since - 1e-9
        true = self.true_theta[np.searchsorted(self.t, self.watched[rows] - 1e-9), element]
        wrong = np.abs(self.estimate[rows, element] - true) > tolerance * np.abs(true)
        times = self.watched[rows]
        if not len(times) or wrong[-1]:
            return float(np.inf)
        return float(times[np.flatnonzero(wrong)[-1] + 1] - since) if wrong.any() else float(times[0] - since)

    def __repr__(self) -> str:
        good = "all ok" if self.ok.all() else f"{int((~self.ok).sum())} not ok"
        return f"Run({self.label}: {len(self.ok)} steps, {good}, error {self.rms():.3g} rms)"


def run_on_plant(
    controller: Controller | Adaptive,
    plant: Plant,
    duration: float,
    *,
    targets: Targets | None = None,
    error: TrackingError | None = None,
    informed: bool = False,
    label: str = "",
    watch: Callable[[Sample], None] | None = None,
) -> Run:
    """Run a controller on a plant for `duration` (s), from the initial state of the plant, and record it.

    Computation times and parameter estimates are recorded beside the motion; `hc.simulate` and
    `hc.study.closed_loop` run every kind of controller without them.

    Args:
        controller: a Controller, or an Adaptive one. Its period must be the plant's.
        targets: `targets(t)`, moving targets for `controller.set` before the step at t.
        error: `error(t, q)`, the tracking error at the true configuration; by default zero.
        informed: set the true θ in the controller before every step, for comparison.
        label: name of the run.
        watch: called every tenth step, outside of the measured time.

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> problem = hc.mpc.Problem(robot, horizon=10, dt=0.01)
    >>> problem.add_posture_cost([1.0, 0.5], weight=100.0, end_weight=10.0)
    >>> problem.add_velocity_cost(0.1)
    >>> problem.add_control_cost(1e-4)
    >>> plant = hc.Plant(robot, [0.9, 0.5], period=0.01)
    >>> run = run_on_plant(hc.mpc.Controller(problem), plant, 0.1, error=lambda t, q: abs(q[0] - 1.0))
    >>> run.ok.all(), run.trajectory.q.shape, run.trajectory.kinetic_energy.shape
    (np.True_, (11, 2), (11,))
    """
    steps = _steps(controller, plant, duration, informed)
    plant.reset()

    def measure(*_: Array) -> tuple[Array, Array, Array]:
        measured = plant.measure()
        return measured.q, measured.v, measured.tau

    def numbers(t: float) -> dict[str, ArrayLike]:
        return {**(targets(t) if targets else {}), **({"theta": plant.theta} if informed else {})}

    system = Commanded(plant.robot, plant.robot.model.velocity_names)
    step = SteppedController(controller, system, plant.period, measure, numbers)
    record = _Record(steps, plant, label)
    for k in range(steps):
        t, q = plant.time, plant.q
        tau = step(t, q, plant.v)
        record.add(k, t, controller, plant, step.seconds, 0.0 if error is None else float(error(t, q)))
        if watch is not None and k % _RECORD_EVERY == 0:
            watch(record.sample(k))
        plant.apply(tau)
        record.tau[k] = plant.tau
    return record.run(plant)


def closed_loop(*arguments: Any, **options: Any) -> Run:
    """Former name of `run_on_plant`; `hc.study.closed_loop` is something else."""
    warn_renamed("hc.mpc.closed_loop", "hc.mpc.run_on_plant")
    return run_on_plant(*arguments, **options)


def _steps(controller: Controller | Adaptive, plant: Plant, duration: float, informed: bool) -> int:
    if abs(controller.period - plant.period) > 1e-9:
        raise InputError(
            f"the controller's period is {controller.period:g} s, the plant's {plant.period:g} s: make them "
            "equal, with Controller(problem, period=...)"
        )
    problem = (controller.controller if isinstance(controller, Adaptive) else controller).problem
    if informed and (problem.robot is None or problem.robot.theta.selection != plant.robot.theta.selection):
        raise InputError("an informed controller's robot must be parametric as the plant's is")
    steps = round(duration / plant.period)
    if steps < 1:
        raise InputError(f"duration must be at least one period of {plant.period:g} s, got {duration}")
    return steps


class _Record:
    """Arrays for a run, filled row by row."""

    def __init__(self, steps: int, plant: Plant, label: str) -> None:
        robot, n = plant.robot, len(plant.theta)
        self.label, self._period = label, plant.period
        self.q, self.v = np.empty((steps + 1, robot.nq)), np.empty((steps + 1, robot.nv))
        self.tau = np.empty((steps + 1, robot.nv))
        self.error, self.seconds, self.learning = np.empty(steps), np.empty(steps), np.zeros(steps)
        self.theta, self.true = np.empty((steps, n)), np.empty((steps, n))
        self.ok = np.empty(steps, dtype=bool)
        self.statuses: list[tuple[float, str]] = []
        self.seen: list[tuple[float, Array, Array]] = []

    def add(
        self, k: int, t: float, controller: Controller | Adaptive, plant: Plant, seconds: float, error: float
    ) -> None:
        self.q[k], self.v[k], self.error[k], self.seconds[k] = plant.q, plant.v, error, seconds
        self.ok[k], self.true[k] = controller.ok, plant.theta
        status = controller.status
        if not self.statuses or self.statuses[-1][1] != status:
            self.statuses.append((t, status))
        if isinstance(controller, Adaptive):
            self.theta[k], self.learning[k] = controller.theta, controller.learning_seconds
            if k % _RECORD_EVERY == 0:
                identifier = controller.identifier
                self.seen.append((t, identifier.estimate, identifier.standard_deviations))
        else:
            self.theta[k] = self._known(controller)

    def _known(self, controller: Controller) -> Array:
        """θ of a controller that knows one; else zeros, in place of what it has fixed."""
        held = controller.theta
        return held if held.shape == self.true.shape[1:] else np.zeros(self.true.shape[1])

    def sample(self, k: int) -> Sample:
        _, estimate, deviation = (
            self.seen[-1] if self.seen else (0.0, self.theta[k], np.zeros_like(self.theta[k]))
        )
        time_now = self._period * k
        return Sample(
            time_now, float(self.error[k]), self.true[k], self.theta[k], estimate, deviation,
            float(self.seconds[k]), self.statuses[-1][1], self.q[k],
        )  # fmt: skip

    def run(self, plant: Plant) -> Run:
        self.q[-1], self.v[-1], self.tau[-1] = plant.q, plant.v, self.tau[-2]
        t = plant.period * np.arange(len(self.q), dtype=np.float64)
        robot, n = plant.robot, self.true.shape[1]
        inputs = {"tau": self.tau, "theta": np.vstack([self.true, self.true[-1:]])}
        motion = MotionEquations(robot, inputs, options={"friction": plant.friction})
        trajectory = Trajectory(t, self.q, self.v, self.tau, robot, motion=motion)
        columns = list(zip(*self.seen, strict=True)) or [(), (), ()]
        estimate, deviation = (np.array(rows).reshape(len(rows), n) for rows in columns[1:])
        return Run(
            self.label, trajectory, self.error, self.seconds, self.learning, self.theta, self.true,
            np.array(columns[0]), estimate, deviation, self.ok, self.statuses,
        )  # fmt: skip
