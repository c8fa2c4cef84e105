"""Model predictive control: a controller that solves its problem again at every step."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import real_array
from helicoid.control.following import Following
from helicoid.deprecation import former_attribute
from helicoid.errors import InputError
from helicoid.interrupts import interruptible
from helicoid.mpc.loop.last_step import FIGURES, feedback_gains, figures, violated
from helicoid.mpc.loop.settings import at_least_one, check_times
from helicoid.mpc.plan import Plan
from helicoid.mpc.solution import report
from helicoid.mpc.solver.memory import Memory
from helicoid.mpc.solver.outcome import SolverResult
from helicoid.mpc.solver.receding_horizon.loop import Due, RecedingHorizonLoop
from helicoid.mpc.solver.switching import Switching
from helicoid.mpc.system.initial import initial_state, on_manifold
from helicoid.status import Status

if TYPE_CHECKING:
    from helicoid.mpc.phases import ContactSchedule
    from helicoid.mpc.problem import Problem
    from helicoid.robot import Robot

DISTURBANCE_TIME = 0.2, 1.0  # s: of robots, and of ODEs and vehicles, which may be unstable


class Controller:
    """Model predictive control: `tau = controller.step(q, v)` once in every control period.

    A step linearises the problem around the plan of the step before, shifted by one period (`prepare`, before
    the measurement is known), then solves one quadratic program for the measured state and takes a step
    (`feedback`). The first step solves from scratch.

    Args:
        problem: the optimal control problem. The controller has numbers of its own; `set` changes them.
        period: time between steps (s); by default the length of the first interval (needed where the
            duration is free).
        iterations: quadratic programs in each step. More than one helps after jumps of targets.
        budget: time (s) that the solver may take for a step, or for `feedback` alone where `prepare` was
            called before; None for no limit. The first step may take 20 times as long.
        cold_iterations: iteration limit of the first step.
        disturbance_time: time constant (s) of the estimated `disturbance`; "auto" is 0.2 s of a robot, 1 s of
            an ODE or a vehicle; None estimates none.

    The torque is that of the model's inverse dynamics for the planned acceleration, half a period after the
    measured state, within the torque limits, and changed where it would exceed hard velocity limits before
    the next sample. A disturbance beyond the model is estimated from the motion, and plans include it: see
    `disturbance`. So is, of moving joints, the share of the model's dry friction that there is.

    Everything is compiled at construction, nothing in a step. A step never raises and never gives
    NaN: one that fails falls back on the shifted plan, and after its end brakes under gravity
    compensation. Where hard constraints are infeasible, as after a push, it applies the plan that violates
    them least.

    `ok` is True if the step made its plan no worse and the plan meets the hard constraints to `TOLERANCE`.
    `status` is a `hc.Status`:

    - "ok": a new plan that meets the hard constraints;
    - "iteration limit": a cold start ended after `cold_iterations` with a plan, which is applied;
    - "infeasible": the plan, which is applied, violates hard constraints; `message` says which;
    - "no progress", "time limit", "not finite", "bad measurement": no new plan, and a fallback is applied;
    - "not started": there was no step yet.

    `message` says which constraints are violated and by how much, and which fallback was applied; it is empty
    where `ok`.

    >>> import helicoid as hc
    >>> problem = hc.mpc.Problem(hc.load("double_pendulum"), horizon=20, dt=0.05)
    >>> problem.add_posture_cost([1.0, 0.0], weight=1.0, end_weight=10.0)
    >>> problem.add_velocity_cost(0.1, end_weight=1.0)
    >>> problem.add_control_cost(1e-4)
    >>> controller = hc.mpc.Controller(problem)
    >>> tau = controller.step([0.0, 0.0], [0.0, 0.0])
    >>> controller.ok, controller.status
    (True, <Status.OK: 'ok'>)
    """

    @interruptible()
    def __init__(
        self,
        problem: Problem,
        period: float | None = None,
        iterations: int = 1,
        budget: float | None = None,
        cold_iterations: int = 100,
        disturbance_time: float | Literal["auto"] | None = "auto",
    ) -> None:
        if not hasattr(problem, "times"):
            raise InputError(f"a Controller solves a Problem; got {problem!r}")
        lengths = np.diff(problem.times)
        if disturbance_time == "auto":
            disturbance_time = DISTURBANCE_TIME[problem.robot is None]
        check_times(budget, disturbance_time)
        if period is None and problem.duration_bounds is not None:
            raise InputError("the duration of the problem is free: state the control period with period=...")
        self.problem = problem
        self.period = float(lengths[0] if period is None else period)
        self._iterations, self.cold_iterations = at_least_one(iterations), int(cold_iterations)
        self._budget = 0.0 if budget is None else float(budget)
        self._disturbance_time = disturbance_time
        # A snapshot of the structure: terms added to the problem later do not affect this controller.
        self._compiled, self._structure = problem._compiled, problem._compiled.structure
        if self._structure.robot is not None:  # compiles the check of the first state now
            on_manifold(self._structure.robot, self._structure.robot.neutral())
        self._begin(self._new_loop(self._compiled.memory), self._compiled.memory.switching)

    def _new_loop(self, numbers: Memory, trusted: Array | None = None) -> RecedingHorizonLoop:
        """A loop that has not started, with memory and numbers of its own."""
        engine = self._compiled.new_engine(with_loop=True)
        Memory.of(engine).copy_from(numbers)
        loop = RecedingHorizonLoop(self._structure, engine, self.period, self._budget, self._disturbance_time)
        loop.set(step_iterations=self.iterations, cold_iterations=self.cold_iterations)
        if trusted is not None:
            engine["trusted"][...] = trusted
        return loop

    def _begin(self, loop: RecedingHorizonLoop, switching: Switching | None) -> None:
        """Take a loop that has not started, and the contact schedule that it starts with."""
        self._loop, self._engine = loop, loop.engine
        self._memory, self._first_switching = Memory.of(loop.engine), switching
        self._memory.follow(switching)
        self.status, self.message, self.ok = Status.NOT_STARTED, "", False
        self._statistics = dict.fromkeys(FIGURES, np.nan)
        self._last_step: tuple[float, float, bytes] | None = None  # figures not yet in `_statistics`
        n = 0 if self._structure.robot is None else self._structure.robot.nq
        self._places = loop.measured[:n], loop.measured[n:]

    def reset(self) -> None:
        """Clear the plan, the disturbance estimate and the measured times: as if no step had been taken.

        Numbers that were `set` stay; contact phases begin where they were last set to.
        """
        self._begin(self._new_loop(self._memory, self._engine["trusted"]), self._first_switching)

    @property
    def iterations(self) -> int:
        """Quadratic programs in each step; may be changed between steps."""
        return self._iterations

    @iterations.setter
    def iterations(self, iterations: int) -> None:
        self._iterations = at_least_one(iterations)
        self._loop.set(step_iterations=self._iterations)

    details = former_attribute("details", "message")

    def __reduce__(self) -> tuple[Any, ...]:
        # Problem, settings and numbers only: a copy has not started yet.
        solving = self.iterations, self._budget or None, self.cold_iterations, self._disturbance_time
        return _restored, (
            (self.problem, self.period, *solving),
            self._memory.numbers(),
            self._memory.schedule,
            self._engine["trusted"].copy(),
        )

    # In the loop -----------------------------------------------------------------------------------------

    @property
    def measures(self) -> str:
        """Quantities that `step` takes: "q v" of a robot, the whole state "x" of a vehicle or an ODE."""
        return "x" if self._structure.robot is None else "q v"

    def step(self, q: ArrayLike, v: ArrayLike | None = None) -> Array:
        """The torque (nv) for a measured state; of an ODE, the control for a state x."""
        return self.feedback(q, v)

    def prepare(self) -> None:
        """Preparation phase, before the measurement: shift the plan and linearise around it."""
        self._advance_contacts()
        self._engine.call("mpc_loop_prepare")

    def _advance_contacts(self) -> None:
        """Advance contact phases by a period, and compute obstacles at the plan; else the loop shifts it."""
        moving = self._memory.switching is not None, bool(self._memory.refreshes)
        if any(moving) and self._loop.due is Due.PLANNED:
            self._engine.call("mpc_loop_shift")
            if self._memory.switching is not None:
                self._memory.advance(self.period)
                self._memory.switching.carry(self._engine["u"][:-1])
            self._memory.refresh(self._engine["x"])

    def feedback(self, q: ArrayLike, v: ArrayLike | None = None) -> Array:
        """Feedback phase: the torque for the measured state, after `prepare` if that was not called."""
        due = self._loop.due
        if due is Due.NEW:
            # Only the first step raises, before the loop has begun.
            if v is None and self._structure.robot is not None:
                raise InputError("a step needs the measured velocity v too")
            x = initial_state(self._structure, q, v)
            self._memory.refresh(np.tile(x, (self._structure.intervals + 1, 1)))
        elif due is Due.PLANNED:
            self._advance_contacts()
        elif due is Due.LOST:
            self._memory.advance(self.period)
        self._measure(q, v)
        tau = self._loop.feedback()
        self._read_outcome()
        return tau

    def _measure(self, q: ArrayLike, v: ArrayLike | None) -> None:
        """Copy the measured state into the loop's memory; NaN if it is invalid."""
        first, second = self._places
        try:
            if self._structure.robot is None:
                x = real_array("x", q, copy=False)
                if v is None and x.shape == second.shape:
                    second[:] = x
                    return
            elif v is not None:
                q, v = real_array("q", q, copy=False), real_array("v", v, copy=False)
                if q.shape == first.shape and v.shape == second.shape:
                    first[:], second[:] = q, v
                    return
        except Exception:  # a step never raises, whatever a foreign type does
            pass
        self._loop.measured[:] = np.nan

    def _read_outcome(self) -> None:
        """Take status, message and figures of the step from the loop."""
        loop = self._loop
        self.status, self.ok, ran, seconds = loop.last_step()
        self.message = "" if self.ok else loop.failure or violated(self._compiled, self._memory, self._engine)
        self._last_step = ran, seconds, self._engine.results()

    @property
    def statistics(self) -> dict[str, float]:
        """Numbers of the last step, by name.

        `iterations`, `qp_iterations` of the interior point in all of them, `seconds` that count towards
        the budget; of the resulting plan `cost`, `violation` (largest excess of a hard row, scaled),
        `gap` (largest of the dynamics and to the measured state; states of a vehicle in units of what they
        start with, such as rotors' speeds in hover); `step_length` (1 for a full one), and `stationarity`,
        the largest element of the Lagrangian's gradient where the step began. Without a new plan, cost,
        violation and gap are those of the old one; NaN where no solver ran.
        """
        if self._last_step is not None:  # decoded on demand: most loops do not read it
            self._statistics, self._last_step = figures(*self._last_step), None
        return self._statistics

    def start(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Cold start for a state (v zero when not given), which the first step does otherwise.

        Raises:
            InputError: the state has the wrong size or is not finite.
        """
        state = initial_state(self._structure, q, v)
        self._loop.measured[:] = state[: self._structure.n_measured]
        self._memory.refresh(np.tile(state, (self._structure.intervals + 1, 1)))
        self._loop.start()
        self._read_outcome()

    # Numbers ---------------------------------------------------------------------------------------------

    def set(self, **values: Any) -> None:
        """Change targets, weights, bounds or θ by name, for the steps to come; see `Problem.set`.

        Raises:
            InputError: a name is unknown or a value invalid; nothing has changed then.
        """
        moved = not values.keys().isdisjoint(("phases", "phase_time"))
        # The next step first advances by a period.
        ahead = -self.period if moved and self._loop.due in (Due.PLANNED, Due.LOST) else 0.0
        self._memory.set(values, ahead)
        if self._first_switching is not None:
            self._first_switching = self._first_switching.changed(values) or self._first_switching
        self._engine.call("mpc_loop_changed")  # the linearisation is outdated

    def following(self, reference: Any = None, **references: Any) -> Following:
        """This controller with targets over time, which are set before each step; see `control.Following`.

        Of a motion (a `Trajectory`, a `Plan`) each posture cost takes q(t); others are given by name.

        >>> import helicoid as hc
        >>> problem = hc.mpc.Problem(hc.load("double_pendulum"), horizon=10, dt=0.05)
        >>> problem.add_posture_cost([0.0, 0.0], weight=1.0)
        >>> problem.add_control_cost(1e-3)
        >>> tracking = hc.mpc.Controller(problem).following({"t": [0.0, 1.0], "posture": [[0, 0], [0.5, 0]]})
        >>> tau = tracking.step([0.0, 0.0], [0.0, 0.0], t=0.5)
        >>> tracking.status
        <Status.OK: 'ok'>
        """
        return Following(self, reference, **references)

    @property
    def robot(self) -> Robot | None:
        """The robot that is controlled; None for a vehicle or an ODE."""
        return self._structure.robot

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of targets and of user parameters, which `set` and `following` take."""
        return self._memory.targets

    @property
    def postures(self) -> tuple[str, ...]:
        """Names of the `targets` that are configurations q (nq)."""
        return tuple(one.name for one in self._memory.stages.parameters if one.configuration)

    def motion_reference(self, q: Array, v: Array, a: Array) -> dict[str, Array]:
        """Targets that make the controller follow a motion: q (N, nq) for each posture cost."""
        if not self.postures:
            raise InputError("the problem has no posture cost to follow a motion with: add_posture_cost(...)")
        return dict.fromkeys(self.postures, q)

    @property
    def plan(self) -> Plan:
        """The plan of the last step, from the state that it was measured in."""
        engine = self._engine
        ran, seconds = (self.statistics[name] for name in ("iterations", "seconds"))
        message = "solved" if self.ok else str(self.status)
        result = SolverResult(engine["x"].copy(), engine["u"][:-1].copy(), message, self.ok, int(ran))
        stationarity = self.statistics["stationarity"]
        return report(self._compiled, self._memory, result, "sqp", seconds, stationarity, 1e-4)

    def motion(self) -> tuple[Array, Array, Array, dict[str, Array]]:
        """q and v (intervals + 1, n), a (intervals, nv) and forces by name of the last plan of a robot.

        For loops that follow the plan: four times faster than `plan`.
        """
        robot = self._structure.robot
        if robot is None:
            raise InputError("only a robot's plan is a motion")
        x, u = self._engine["x"].copy(), self._engine["u"][:-1]
        a, forces = self._compiled.planned(x, u, self._memory.constants)
        return x[:, : robot.nq], x[:, robot.nq : robot.nq + robot.nv], a, forces

    @property
    def theta(self) -> Array:
        """The parameters θ in use, a copy; empty where the robot is not parametric."""
        return self._memory.theta.copy()

    @property
    def disturbance(self) -> Array:
        """Disturbance beyond the model, as estimated in the last step; the next plan includes it.

        Of a robot d (nv) is a torque, τ = ID(q, v, a) + d: positive where the model's is too small.
        It is zero where none is estimated: with contact phases, and for underactuated robots whose
        constraints do not balance the unactuated joints. Of an ODE (n) it is a rate, ẋ = f(x, u) + d, of a
        vehicle (nv) an acceleration beyond that of its model. `start` sets it to zero.
        """
        system, robot = self._structure.system, self._structure.robot
        if system.disturbance.numel():
            return self._engine["disturbance"][: None if robot is None else robot.nv].copy()
        return np.zeros(0 if robot is None else robot.nv)

    @property
    def gains(self) -> Array:
        """K, nv × 2 nv: tau + K (q ⊖ q_measured, v - v_measured) is the feedback between two steps.

        It is the derivative of the controller's torque, by the Riccati recursion; of an ODE, nu × nx.
        """
        return feedback_gains(self._compiled, self._memory, self._engine, self.period)

    def export_c(self, folder: str | os.PathLike[str], name: str | None = None) -> list[Path]:
        """Write this controller as a C99 library, with an example and a `CMakeLists.txt`.

        `<name>.h` declares `init`, `prepare`, `feedback`, a function `set_...` for each name that
        `set` takes. It needs libm and memory of the caller's, and starts with the numbers that are set now.

        Args:
            folder: created if it does not exist. Files that an earlier export wrote are replaced.
            name: prefix of files and functions; by default the robot's name.

        Returns:
            The files written.

        Raises:
            HelicoidError: the folder holds a file of one of these names that no export wrote, or cannot be
                written to.
        """
        from helicoid.mpc.export import export_controller

        loop = self._new_loop(self._memory, self._engine["trusted"])  # the bounds of d at construction
        return export_controller(self._compiled, loop, self._memory.switching, Path(folder), name)

    def __repr__(self) -> str:
        return f"Controller({self._structure.intervals} intervals, period {self.period:g} s; {self.status})"


def _restored(
    settings: tuple[Any, ...], numbers: dict[str, Array], schedule: ContactSchedule | None, trusted: Array
) -> Controller:
    """Inverse of `Controller.__reduce__`."""
    controller = Controller(*settings)
    controller._engine["trusted"][...] = trusted
    controller._memory.take(numbers, schedule)
    controller._first_switching = controller._memory.switching
    return controller
