"""A controller that solves its problem again at every step, from what is measured."""

from __future__ import annotations

import time
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.interrupts import interruptible
from helicoid.mpc.costs.control_rate import PREVIOUS
from helicoid.mpc.fallback import Fallback
from helicoid.mpc.plan import Plan
from helicoid.mpc.shifting import Shift
from helicoid.mpc.solution import find_violations, first_guess, report
from helicoid.mpc.solver.memory import Memory
from helicoid.mpc.solver.outcome import Outcome, Status, StepStatus
from helicoid.mpc.system.initial import initial_state, on_manifold

if TYPE_CHECKING:
    from helicoid.mpc.problem import Problem

TOLERANCE = 0.01
"""What a plan that is ok may exceed hard constraints by, as a part of a limit (of a row's scale), and its
gaps in units of the state: rad, m, rad/s, m/s."""

_FIGURES = ("qp_iterations", "seconds", "cost", "violation", "gap", "step_length", "stationarity")
USELESS = "the measured state is not finite, has the wrong size, or a quaternion that is not unit"


class Phase(Enum):
    """What a controller has, and so what its next step does."""

    NEW = auto()
    """Nothing: the first step solves from scratch, and refuses a state that cannot be."""
    PLANNED = auto()
    """The plan of the last step, to be shifted by one period."""
    SHIFTED = auto()
    """A plan that begins now, to be linearised."""
    PREPARED = auto()
    """A linearised plan that waits for the measurement."""
    LOST = auto()
    """No plan of use: the next step solves from scratch, in haste."""

    @property
    def has_plan(self) -> bool:
        """Whether there is a plan to start from."""
        return self not in (Phase.NEW, Phase.LOST)


class Controller:
    """Model predictive control: `tau = controller.step(q, v)` once in every control period.

    A step linearises the problem around the plan of the step before, shifted by one period (`prepare`, before
    the measurement is known), then solves one quadratic program for the measured state and takes a step
    (`feedback`). The first step solves from scratch.

    Args:
        problem: what to solve. The controller has numbers of its own; `set` changes them.
        period: time between steps (s); by default the length of the first interval (needed where the
            duration is free).
        iterations: quadratic programs in each step. More than one helps after jumps of targets.
        budget: time (s) that the feedback phase may take; None for no limit. Starting from scratch may take
            20 times as long.
        cold_iterations: how many the first step may take.

    The torque is that of the model's inverse dynamics for the planned acceleration, half a period after the
    measured state, clipped to the limits. Everything is compiled when the controller is made, nothing in a
    step. A step never raises and never gives NaN: one that fails falls back on the shifted plan, and when
    that is used up brakes under gravity compensation. Where hard constraints cannot be met, as after a push,
    it applies the plan that exceeds them least.

    `ok` is True if the step made its plan no worse and the plan meets the hard constraints to `TOLERANCE`.
    `status` is one of

    - "solved": all is well;
    - "unfinished": a start from scratch ended after `cold_iterations` with a plan, which is applied;
    - "infeasible": the plan, which is applied, does not meet hard constraints; `details` says which;
    - "no progress", "out of time", "not finite", "bad measurement": no new plan, and a fallback is applied;
    - "not started": there was no step yet.

    `details` says in words what is missed and by how much, and which fallback was applied; else it is empty.

    >>> import helicoid as hc
    >>> problem = hc.mpc.Problem(hc.load("double_pendulum"), horizon=20, dt=0.05)
    >>> problem.add_posture_cost([1.0, 0.0], weight=1.0, end_weight=10.0)
    >>> problem.add_velocity_cost(0.1, end_weight=1.0)
    >>> problem.add_control_cost(1e-4)
    >>> controller = hc.mpc.Controller(problem)
    >>> tau = controller.step([0.0, 0.0], [0.0, 0.0])
    >>> controller.ok, controller.status
    (True, 'solved')
    """

    @interruptible()
    def __init__(
        self,
        problem: Problem,
        period: float | None = None,
        iterations: int = 1,
        budget: float | None = None,
        cold_iterations: int = 100,
    ) -> None:
        if not hasattr(problem, "times"):
            raise InputError(f"a Controller solves a Problem; got {problem!r}")
        lengths = np.diff(problem.times)
        if budget is not None and not budget > 0:
            raise InputError(f"budget is a positive time (s) or None, got {budget!r}")
        if iterations < 1:
            raise InputError(f"iterations must be at least 1, got {iterations}")
        if period is None and problem.duration_bounds is not None:
            raise InputError("the duration of the problem is free: say how long a step takes with period=...")
        self.problem = problem
        self.period = float(lengths[0] if period is None else period)
        self.iterations, self.cold_iterations = int(iterations), int(cold_iterations)
        self._budget = 0.0 if budget is None else float(budget)
        # What the problem is now: terms that are added to it later are for other controllers.
        self._compiled, self._structure = problem._compiled, problem._compiled.structure
        self._engine = self._compiled.new_engine()
        self._engine.set(qp_tolerance=1e-7)
        self._memory = Memory.of(self._engine)
        self._memory.copy_from(self._compiled.memory)
        self._shift = Shift(self._structure, self._engine, self.period)
        self._fallback = Fallback(self._compiled, self._memory, self.period)
        self._first_state: Array = self._engine["initial"]
        self._x, self._u = self._engine["x"], self._engine["u"]
        self._compile()
        self._phase = Phase.NEW
        self._failures = 0
        self.status: StepStatus = "not started"
        self.details = ""
        self.ok = False
        self.statistics = dict.fromkeys(("iterations", *_FIGURES), np.nan)
        """Of the last step: `iterations`, `qp_iterations` of the last quadratic program, `seconds` of the
        feedback; of the plan it led to `cost`, `violation` (largest excess of a hard row in its scaled
        units), `gap` (largest of the dynamics and to the measured state); `step_length` (1 for a full one),
        and `stationarity`, the largest element of the Lagrangian's gradient where the step began. Without
        a new plan, cost, violation and gap are those of the old one; NaN where no solver ran."""

    def _compile(self) -> None:
        """Call once what steps will call, braking included: what must be compiled is compiled now."""
        robot, theta = self._structure.robot, self._memory.theta
        x = np.zeros(self._structure.system.x.numel())
        if robot is not None:
            x[: robot.nq] = robot.neutral()
            on_manifold(robot, robot.neutral())
        first_guess(self._structure, x, theta)
        self._shift.compile(x)
        self._compiled.applied(x, self._u[0], theta, self.period)
        self._fallback.brake(x, theta)

    def __reduce__(self) -> tuple[Any, ...]:
        # As its problem, its settings and its numbers: a copy has not started yet.
        settings = self.problem, self.period, self.iterations, self._budget or None, self.cold_iterations
        return _restored, (settings, self._memory.numbers())

    # In the loop -----------------------------------------------------------------------------------------

    def step(self, q: ArrayLike, v: ArrayLike | None = None) -> Array:
        """The torque (nv) for a measured state; of an ODE, the control for a state x."""
        self.prepare()
        return self.feedback(q, v)

    def prepare(self) -> None:
        """What can be done before the measurement: shift the plan and linearise around it."""
        if self._phase is Phase.PLANNED:
            self._shift()
            self._phase = Phase.SHIFTED
        if self._phase is Phase.SHIFTED:
            self._engine.prepare()
            self._phase = Phase.PREPARED

    def feedback(self, q: ArrayLike, v: ArrayLike | None = None) -> Array:
        """What needs the measurement: the program's solution, and the torque."""
        began = time.perf_counter()
        self._ran = 0
        tau = self._from_plan(q, v) if self._phase.has_plan else self._solve_from_scratch(q, v)
        self._tell(time.perf_counter() - began)
        return tau

    def _from_plan(self, q: ArrayLike, v: ArrayLike | None) -> Array:
        """A step that starts from the plan of the one before."""
        self.prepare()
        self._phase = Phase.PLANNED
        if not self._measure(q, v):
            return self._give_up("bad measurement", USELESS)
        status = self._iterate()
        if status is not Status.SOLVED:
            return self._give_up(status.word, status.text)
        return self._apply(status)

    def _tell(self, seconds: float) -> None:
        """The statistics of a step that took so long."""
        told = {name: self._engine.result(name) if self._ran else np.nan for name in _FIGURES}
        self.statistics = {"iterations": float(self._ran), **told, "seconds": seconds}

    def _iterate(self) -> Status:
        """The iterations of a step, as many as the budget has time for, until one brings nothing more."""
        engine, began = self._engine, time.perf_counter()
        first = status = engine.feedback()
        self._ran = 1
        while status is Status.SOLVED and self._ran < self.iterations:
            if self._budget:
                left = self._budget - (time.perf_counter() - began)
                if left < 1.5 * engine.result("seconds"):  # with the linearisation, as long as the one before
                    break
                engine.set(budget=left)
            engine.prepare()
            status = engine.feedback()
            self._ran += 1
        engine.set(budget=self._budget)
        return Status.BROKEN if status is Status.BROKEN else first

    def _measure(self, q: ArrayLike, v: ArrayLike | None) -> bool:
        """Put the measured state where the solver reads it; False if it is of no use."""
        try:
            values = np.asarray(q, dtype=np.float64)
            robot = self._structure.robot
            if robot is not None:
                second = np.asarray(v, dtype=np.float64)
                if values.shape != (robot.nq,) or second.shape != (robot.nv,):
                    return False
                if not np.isfinite(values).all() or (near := on_manifold(robot, values)) is None:
                    return False
                values = np.concatenate([near, second])
            elif v is not None:
                return False
        except Exception:  # whatever a sensor's own type raises: the loop goes on
            return False
        if values.shape != (self._structure.n_measured,) or not np.isfinite(values).all():
            return False
        self._first_state[: len(values)] = values
        return True

    def _apply(self, status: Status) -> Array:
        tau = self._compiled.applied(self._first_state, self._u[0], self._memory.theta, self.period)
        if not np.isfinite(tau).all():
            return self._give_up("not finite", "the plan is not finite")
        self._judge(status)
        self._failures = 0
        self._hold_previous(True)
        self._fallback.remember(self._x, self._u)
        return self._fallback.clipped(tau)

    def _judge(self, status: Status) -> None:
        """Whether the plan that is applied meets the constraints; which not, if not."""
        missed = find_violations(self._compiled, self._memory, self._engine["rows"], TOLERANCE, soft=False)
        gap = self._engine.result("gap")
        said = [str(one) for one in missed]
        if not gap <= TOLERANCE:
            said.append(f"the dynamics are missed by {gap:.3g}")
        self.ok = not said
        self.status = status.word if self.ok else "infeasible"
        self.details = "; ".join(said)

    def _hold_previous(self, known: bool) -> None:
        """The control before the next one is that of this step, once there is one."""
        if PREVIOUS in self._structure.symbols:
            nu, at = self._structure.system.nu, self._engine.stages.state_at
            self._first_state[-nu:] = self._u[0]
            self._engine["initial_free"][at[-nu:]] = 0.0 if known else 1.0

    def _give_up(self, status: StepStatus, reason: str) -> Array:
        """The shifted plan as long as there is one, then braking under gravity compensation."""
        self._failures += 1
        self.ok, self.status = False, status
        u = self._fallback.planned(self._failures)
        if u is not None:
            state = self._fallback.state(self._first_state)
            tau = self._compiled.applied(state, u, self._memory.theta, self.period)
            if np.isfinite(tau).all():
                self.details = f"{reason}; applying the plan of {self._failures} steps ago"
                return self._fallback.clipped(tau)
        self.details = f"{reason}; braking under gravity compensation"
        self._phase = Phase.LOST
        return self._fallback.brake(self._first_state, self._memory.theta)

    # From scratch ----------------------------------------------------------------------------------------

    def start(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Solve from scratch for a state (v zero when not given), as the first step does by itself.

        Raises:
            InputError: the state has the wrong size or is not finite.
        """
        robot = self._structure.robot
        initial_state(self._structure, q, v)
        self._phase = Phase.NEW
        self.feedback(q, np.zeros(robot.nv) if v is None and robot is not None else v)
        if self._phase is Phase.PLANNED:
            self._phase = Phase.SHIFTED  # the plan begins at the step that follows

    def _solve_from_scratch(self, q: ArrayLike, v: ArrayLike | None) -> Array:
        first = self._phase is Phase.NEW
        if first:
            # The only place that raises: before the loop has begun.
            if v is None and self._structure.robot is not None:
                raise InputError("a step needs the measured velocity v too")
            initial_state(self._structure, q, v)
        self._phase = Phase.LOST
        if not self._measure(q, v):
            return self._give_up("bad measurement", USELESS)
        engine, state, known = self._engine, self._first_state, self._structure.n_measured
        state[known:] = initial_state(self._structure, q, v)[known:]
        engine["x"][...], engine["u"][:-1] = first_guess(self._structure, state.copy(), self._memory.theta)
        engine.set(tolerance=1e-5, budget=self._budget and 20 * self._budget)
        engine.reset()
        self._hold_previous(False)
        # A start in the middle of the loop must not hold it up for long.
        status = engine.solve(self.cold_iterations if first else min(10, self.cold_iterations))
        self._ran = int(engine.result("iterations"))
        engine.set(budget=self._budget)
        lost = engine.result("step_length") == 0 and engine.result("gap") > TOLERANCE
        if status.is_useless or (status is Status.OUT_OF_TIME and self._ran < 1) or lost:
            word = "no progress" if status in (Status.SOLVED, Status.INFEASIBLE) else status.word
            return self._give_up(word, status.text)
        self._phase = Phase.PLANNED
        return self._apply(status)

    # Numbers ---------------------------------------------------------------------------------------------

    def set(self, **values: ArrayLike) -> None:
        """Change targets, weights, bounds or θ by name, for the steps to come; see `Problem.set`.

        Raises:
            InputError: a name or a value is of no use; nothing has changed then, and the loop may go on.
        """
        self._memory.set(values)
        if self._phase is Phase.PREPARED:
            self._phase = Phase.SHIFTED  # what was linearised had the old numbers

    @property
    def plan(self) -> Plan:
        """The plan of the last step, from the state that it was measured in."""
        engine = self._engine
        ran, seconds = (self.statistics[name] for name in ("iterations", "seconds"))
        outcome = Outcome(engine["x"].copy(), engine["u"][:-1].copy(), self.status, self.ok, int(ran))
        stationarity = self.statistics["stationarity"]
        return report(self._compiled, self._memory, outcome, "sqp", seconds, stationarity, 1e-4)

    @property
    def theta(self) -> Array:
        """The parameters θ in use, a copy; empty where the robot is not parametric."""
        return self._memory.theta.copy()

    @property
    def gains(self) -> Array:
        """K, nv × 2 nv: tau + K (q ⊖ q_measured, v - v_measured) is the feedback between two steps.

        It is the derivative of the controller's own answer, by the Riccati recursion; of an ODE, nu × nx.
        """
        robot = self._structure.robot
        # Without what a problem adds to the state: a free duration, the control before.
        dx = self._structure.n_measured if robot is None else 2 * robot.nv
        K = self._engine.gains()[:, :dx]
        if robot is None:
            return K
        if self._structure.formulation == "forward_dynamics":
            return np.asarray(robot.selection_matrix.T @ K)
        here = self._first_state, self._u[0], self._memory.theta, self.period
        by_u, by_x = self._compiled.torque_derivatives(*here)
        return np.asarray(by_x[:, :dx] + by_u @ K)

    def __repr__(self) -> str:
        return f"Controller({self._structure.intervals} intervals, period {self.period:g} s; {self.status})"


def _restored(settings: tuple[Any, ...], numbers: dict[str, Array]) -> Controller:
    """The controller that `Controller.__reduce__` took apart."""
    controller = Controller(*settings)
    controller._memory.take(numbers)
    return controller
