"""A controller that solves its problem again at every step, from what is measured."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.compiler.function import Function
from helicoid.errors import InputError
from helicoid.mpc.fallback import Fallback
from helicoid.mpc.initial import initial_state, on_manifold
from helicoid.mpc.offline import find_violations, report, start
from helicoid.mpc.plan import Plan
from helicoid.mpc.shifting import Shift
from helicoid.mpc.solver.engine import STATUS, Engine
from helicoid.mpc.solver.memory import Memory
from helicoid.mpc.solver.nlp import Outcome

if TYPE_CHECKING:
    from helicoid.mpc.problem import Problem

INFEASIBLE = 0.05  # of a row's scale: what a step may exceed hard constraints by, such as after a push

USELESS = "the measured state is not finite, has the wrong size, or a quaternion that is not unit"


class Controller:
    """Model predictive control: `tau = controller.step(q, v)` once in every control period.

    A step linearises the problem around the plan of the step before, shifted by one period (`prepare`, before
    the measurement is known), then solves one quadratic program for the measured state and takes a step
    (`feedback`). The first step solves from scratch.

    Args:
        problem: what to solve. The controller has numbers of its own; `set` changes them.
        period: time between steps (s); by default the length of the first interval (needed where the
            duration is free).
        iterations: Gauss–Newton iterations in each step. More than one helps after jumps of targets.
        budget: time (s) that the feedback phase may take; None for no limit. Starting from scratch may take
            20 times as long.
        cold_iterations: how many the first step may take.

    The torque is that of the model's inverse dynamics for the planned acceleration in the measured state,
    clipped to the limits. A step never raises and never gives NaN: one that fails or cannot meet hard
    constraints falls back on the shifted plan, and when that is used up brakes under gravity compensation;
    `status` says so, and `ok` is False.

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

    def __init__(
        self,
        problem: Problem,
        period: float | None = None,
        iterations: int = 1,
        budget: float | None = None,
        cold_iterations: int = 100,
    ) -> None:
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
        self._engine = Engine(problem.stages, lengths)
        self._engine.set(qp_tolerance=1e-7)
        self._budget = 0.0 if budget is None else float(budget)
        self._memory = Memory.of(self._engine)
        self._memory.copy_from(problem.memory)
        self._shift = Shift(problem, self._engine, self.period)
        self._torque = _torque_function(problem)
        self._fallback = Fallback(problem, self._memory, self.period)
        self._first_state: Array = self._engine["initial"]
        self._x, self._u = self._engine["x"], self._engine["u"]
        if problem.robot is not None:
            on_manifold(problem.robot, problem.robot.neutral())  # compiled now, not in the first step
        self._started = self._prepared = self._must_shift = False
        self._failures = 0
        self.status = "not started"
        self.ok = False

    # In the loop -----------------------------------------------------------------------------------------

    def step(self, q: ArrayLike, v: ArrayLike | None = None) -> Array:
        """The torque (nv) for a measured state; of an ODE, the control for a state x."""
        if not self._prepared and self._started:
            self.prepare()
        return self.feedback(q, v)

    def prepare(self) -> None:
        """What can be done before the measurement: shift the plan and linearise around it."""
        if self._must_shift:
            self._must_shift = False
            self._shift()
        self._engine.prepare()
        self._prepared = True

    def feedback(self, q: ArrayLike, v: ArrayLike | None = None) -> Array:
        """What needs the measurement: the program's solution, and the torque."""
        if not self._started:
            return self._start(q, v)
        if not self._prepared:
            self.prepare()
        self._prepared, self._must_shift = False, True
        if not self._measure(q, v):
            return self._give_up(USELESS)
        engine = self._engine
        number = self._iterate()
        if number:
            return self._give_up(STATUS[number])
        if engine.result("qp_excess") > INFEASIBLE:
            return self._give_up(self._conflict())
        return self._apply("solved")

    def _iterate(self) -> int:
        """The iterations of a step, as many as the budget has time for; the number of the status."""
        engine, began = self._engine, time.perf_counter()
        number = engine.feedback()
        for _ in range(self.iterations - 1):
            if number:
                break
            if self._budget:
                left = self._budget - (time.perf_counter() - began)
                if left < 1.5 * engine.result("seconds"):  # with the linearisation, as long as the one before
                    break
                engine.set(budget=left)
            engine.prepare()
            number = engine.feedback()
        engine.set(budget=self._budget)
        return number

    def _measure(self, q: ArrayLike, v: ArrayLike | None) -> bool:
        """Put the measured state where the solver reads it; False if it is of no use."""
        try:
            values = np.asarray(q, dtype=np.float64)
            robot = self.problem.robot
            if robot is not None:
                second = np.asarray(v, dtype=np.float64)
                if values.shape != (robot.nq,) or second.shape != (robot.nv,):
                    return False
                if not np.isfinite(values).all() or (near := on_manifold(robot, values)) is None:
                    return False
                values = np.concatenate([near, second])
            elif v is not None:
                return False
        except (TypeError, ValueError):
            return False
        if values.shape != (self._fallback.size,) or not np.isfinite(values).all():
            return False
        self._first_state[: len(values)] = values
        return True

    def _apply(self, status: str) -> Array:
        tau = self._torque(self._first_state, self._u[0], self._memory.theta)
        if not np.isfinite(tau).all():
            return self._give_up("the plan is not finite")
        self.status, self.ok, self._failures = status, True, 0
        self._hold_previous(True)
        self._fallback.remember(self._x, self._u)
        return self._fallback.clipped(tau)

    def _hold_previous(self, known: bool) -> None:
        """The control before the next one is that of this step, once there is one."""
        if "previous" in self.problem.system.symbols:
            nu, at = self.problem.system.nu, self.problem.stages.state_at
            self._first_state[-nu:] = self._u[0]
            self._engine["initial_free"][at[-nu:]] = 0.0 if known else 1.0

    def _give_up(self, reason: str) -> Array:
        """The shifted plan as long as there is one, then braking under gravity compensation."""
        self._failures += 1
        self.ok = False
        u = self._fallback.planned(self._failures)
        if u is not None:
            tau = self._torque(self._fallback.state(self._first_state), u, self._memory.theta)
            if np.isfinite(tau).all():
                self.status = f"{reason}; applying the plan of {self._failures} steps ago"
                return self._fallback.clipped(tau)
        self.status = f"{reason}; braking under gravity compensation"
        self._started = False  # the next measurement starts from scratch
        return self._fallback.brake(self._first_state, self._memory.theta)

    def _conflict(self) -> str:
        engine, problem = self._engine, self.problem
        rows = engine["rows"] + engine["moved"]
        worst = find_violations(problem, rows, 0.5 * INFEASIBLE, self._memory)
        return f"infeasible: {worst[0]}" if worst else "infeasible"

    # Starting --------------------------------------------------------------------------------------------

    def start(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Solve from scratch for a state (v zero when not given), as the first step does by itself.

        Raises:
            InputError: the state has the wrong size or is not finite.
        """
        robot = self.problem.robot
        initial_state(self.problem, q, v)
        self._start(q, np.zeros(robot.nv) if v is None and robot is not None else v)
        self._must_shift = False

    def _start(self, q: ArrayLike, v: ArrayLike | None) -> Array:
        if self.status == "not started":
            # The only place that raises: before the loop has begun.
            if v is None and self.problem.robot is not None:
                raise InputError("a step needs the measured velocity v too")
            initial_state(self.problem, q, v)
        if not self._measure(q, v):
            return self._give_up(USELESS)
        engine = self._engine
        state = self._first_state
        state[self._fallback.size :] = initial_state(self.problem, q, v)[self._fallback.size :]
        engine["x"][...], engine["u"][:-1] = start(self.problem, state.copy(), None)
        engine.set(tolerance=1e-5, budget=self._budget and 20 * self._budget)
        engine.reset()
        self._hold_previous(False)
        # A start in the middle of the loop must not hold it up for long.
        first = self.status == "not started"
        number = engine.solve(self.cold_iterations if first else min(10, self.cold_iterations))
        engine.set(budget=self._budget)
        self._started, self._prepared, self._must_shift = True, False, True
        nothing_yet = number == 5 and engine.result("iterations") < 1
        conflict = number == 2 or engine.result("qp_excess") > INFEASIBLE
        if number in (3, 4) or nothing_yet or conflict:
            self._started = False
            return self._give_up(self._conflict() if conflict and number not in (3, 4) else STATUS[number])
        return self._apply("solved" if number == 0 else STATUS[number])

    # Numbers ---------------------------------------------------------------------------------------------

    def set(self, **values: ArrayLike) -> None:
        """Change targets, weights, bounds or θ by name, for the steps to come; see `Problem.set`."""
        for name, value in values.items():
            self._memory.set(name, value)
        self._prepared = False  # what was linearised had the old numbers

    @property
    def plan(self) -> Plan:
        """The plan of the last step, from the state that it was measured in."""
        engine = self._engine
        outcome = Outcome(engine["x"].copy(), engine["u"][:-1].copy(), self.status, self.ok, self.iterations)
        seconds, stationarity = engine.result("seconds"), engine.result("stationarity")
        return report(self.problem, outcome, "sqp", seconds, stationarity, 1e-4, self._memory)

    @property
    def theta(self) -> Array:
        """The parameters θ in use, a copy; empty where the robot is not parametric."""
        return self._memory.theta.copy()

    @property
    def gains(self) -> Array:
        """K, nv × 2 nv: tau + K (q ⊖ q_measured, v - v_measured) is the feedback between two steps.

        It is the derivative of the controller's own answer, by the Riccati recursion; of an ODE, nu × nx.
        """
        problem, robot = self.problem, self.problem.robot
        # Without what a problem adds to the state: a free duration, the control before.
        dx = self._fallback.size if robot is None else 2 * robot.nv
        K = self._engine.gains()[:, :dx]
        if robot is None:
            return K
        if problem.formulation == "forward_dynamics":
            return np.asarray(robot.selection_matrix.T @ K)
        by_u, by_x = self._torque_derivatives
        return np.asarray(by_x[:, :dx] + by_u @ K)

    @property
    def _torque_derivatives(self) -> tuple[Array, Array]:
        system, nu = self.problem.system, self.problem.system.nu
        if "torque_derivatives" not in self.problem._caches:
            J = system.resolve([system.differentiate(system.symbols["tau"])])[0]
            made = ca.Function("J", [system.x, system.u, system.theta], [ca.densify(J)])
            self.problem._caches["torque_derivatives"] = made
        function = self.problem._caches["torque_derivatives"]
        J = np.array(function(self._first_state, self._engine["u"][0], self._memory.theta))
        return J[:, :nu], J[:, nu:]

    @property
    def statistics(self) -> dict[str, float]:
        """Of the last step: iterations of the quadratic program, seconds of feedback, cost, violation ..."""
        names = ("qp_iterations", "seconds", "cost", "violation", "gap", "step_length", "stationarity")
        return {name: self._engine.result(name) for name in names}

    def __repr__(self) -> str:
        return f"Controller({self.problem.intervals} intervals, period {self.period:g} s; {self.status})"


def _torque_function(problem: Problem) -> Any:
    """(x, u, θ) -> what is applied: the torque of a robot, the control of an ODE."""
    system = problem.system
    output = system.u if problem.robot is None else system.resolve([system.symbols["tau"]])[0]
    inputs = {"x": system.x, "u": system.u}
    if not system.theta.numel():
        function = Function.from_expressions("applied_torque", inputs, {"tau": output})
        return lambda x, u, theta: np.atleast_1d(function(x, u if u.size > 1 else u.item()))
    function = Function.from_expressions("applied_torque", {**inputs, "theta": system.theta}, {"tau": output})
    return lambda x, u, theta: np.atleast_1d(function(x, u if u.size > 1 else u.item(), theta))
