"""The receding-horizon loop in C (runtime/loop/loop.h): its settings and the outcome of a step."""

from __future__ import annotations

from enum import IntEnum

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.mpc.costs.effort import PREVIOUS
from helicoid.mpc.solver.engine import SqpSolver
from helicoid.mpc.solver.kernels import LAYOUT
from helicoid.mpc.solver.nodes.stage import ConstraintRow, Stages
from helicoid.mpc.solver.outcome import SolverStatus
from helicoid.mpc.solver.receding_horizon.largest_disturbance import largest_disturbance
from helicoid.mpc.structure import Structure
from helicoid.status import Status

TOLERANCE = LAYOUT.number("PLAN_TOLERANCE")
"""Largest excess of hard constraints in a plan that is ok, relative to a limit (the scale of a row), and of
its gaps in units of the state: rad, m, rad/s, m/s."""

_SETTINGS = LAYOUT.enumeration("PERIOD")
_OUTCOME_AT = {name: k for k, name in enumerate(LAYOUT.enumeration("PHASE"))}
_PHASE, _STEP_STATUS, _OK, _RAN, _SECONDS = (
    _OUTCOME_AT[name] for name in ("phase", "step_status", "ok", "ran", "step_seconds")
)
_STATUS = tuple(Status[name.removeprefix("step_").upper()] for name in LAYOUT.enumeration("STEP_OK"))
# Constraints that the applied torque meets by construction: their symbols, and their fields of layout.h.
_LIMITS = {"torque_limit": ("tau", "limit"), "velocity_limit": ("v", "speed")}
_REASONS = {
    -2: "the measured state is not finite, has the wrong size, or a quaternion that is not unit",
    -1: "the plan is not finite",
}


class Due(IntEnum):
    """State of a controller, which decides what its next step does."""

    NEW = 0
    """No plan yet: the first step is a cold start, and refuses an invalid state."""
    PLANNED = 1
    """The plan of the last step, to be shifted by one period."""
    SHIFTED = 2
    """A shifted plan, to be linearised."""
    PREPARED = 3
    """A linearised plan, before the measurement."""
    LOST = 4
    """No valid plan: the next step is a cold start with a reduced iteration limit."""


_DUE = tuple(Due)


class RecedingHorizonLoop:
    """The loop around one solver: a step reads the state in `measured` (n) and writes `torque`."""

    def __init__(
        self,
        structure: Structure,
        engine: SqpSolver,
        period: float,
        budget: float,
        disturbance_time: float | None = None,
    ) -> None:
        longest = structure.times[-1] if structure.duration_bounds is None else structure.duration_bounds[1]
        if not 0 < period <= longest:
            raise InputError(f"period must be positive and at most the horizon {longest:g} s, got {period!r}")
        self.engine, self._settings = engine, engine["loop"]
        self._outcome = engine.floats("outcome")  # read several times in every step
        self.measured, self.torque = np.zeros(structure.n_measured), engine["torque"]
        address = self.measured.ctypes.data
        self._feedback = engine.bound("mpc_loop_feedback", address)
        self._start = engine.bound("mpc_loop_start", address)
        engine["times"][:, 0] = structure.times
        engine.set(qp_tolerance=1e-7, budget=budget)
        even = bool(np.allclose(np.diff(structure.times), period, rtol=1e-9))
        robot, bounds = structure.robot, structure.duration_bounds
        self.set(
            period=period,
            loop_budget=budget,
            n_measured=structure.n_measured,
            duration_start=0.0 if bounds is None else float(np.mean(bounds)),
            whole_nodes=even and bounds is None,
            has_previous=PREVIOUS in structure.symbols,
            velocity_at=0 if robot is None else robot.nq,
            velocity_end=0 if robot is None else robot.nq + robot.nv,
            uses_restarts=robot is not None and bounds is None and structure.schedule is None,
            disturbance_share=0.0 if disturbance_time is None else -np.expm1(-period / disturbance_time),
        )
        self._set_limits(structure)

    def _set_limits(self, structure: Structure) -> None:
        """Find the rows that bound torques (besides the robot's effort), velocities and positions."""
        engine, robot = self.engine, structure.robot
        limit = np.full(len(self.torque), np.inf) if robot is None else robot.limits.effort.copy()
        if robot is not None:
            limit[list(robot.unactuated)] = 0.0
        if structure.system.disturbance.numel():
            engine["trusted"][...] = largest_disturbance(structure, engine)
        engine["limit"][...], engine["limit_scale"][...], engine["speed_scale"][...] = limit, 1.0, 1.0
        for k, row in enumerate(engine.stages.path_rows):
            symbol, name = _LIMITS.get(row.constraint.name, ("", ""))
            column = _bounded(engine.stages, row, symbol)
            if column is not None and (symbol == "tau" or row.constraint.price is None):
                engine[f"{name}_row"][column] = k + 1  # 0: none
                engine[f"{name}_scale"][column] = row.constraint.scale[row.element]
        at_end = {(row.constraint, row.element): k for k, row in enumerate(engine.stages.end_rows)}
        for k, row in enumerate(engine.stages.path_rows):
            constraint = row.constraint
            is_place = row.of_place or robot is None  # of what is no robot, anything that is state
            if is_place and not row.at_first and constraint.price is None and constraint.role is None:
                engine["relaxed_row"][k] = 1 + at_end.get((constraint, row.element), -2)  # -1: not at the end

    def set(self, **settings: float) -> None:
        """Change settings by their names in runtime/layout.h."""
        for name, value in settings.items():
            self._settings[_SETTINGS.index(name)] = value

    def setting(self, name: str) -> float:
        """One of `_SETTINGS`."""
        return float(self._settings[_SETTINGS.index(name)])

    def outcome(self, name: str) -> float:
        """One element of the outcome of the last step, by its name in runtime/layout.h."""
        return self._outcome[_OUTCOME_AT[name]]

    @property
    def due(self) -> Due:
        """The state of the controller before its next step."""
        return _DUE[int(self._outcome[_PHASE])]

    @due.setter
    def due(self, due: Due) -> None:
        self._outcome[_PHASE] = due

    def last_step(self) -> tuple[Status, bool, float, float]:
        """Status, ok, number of iterations and duration (s) of the last step."""
        one = self._outcome
        return _STATUS[int(one[_STEP_STATUS])], one[_OK] != 0, one[_RAN], one[_SECONDS]

    @property
    def failure(self) -> str:
        """Reason why there is no new plan, and the fallback that was applied; empty where there is one."""
        fallback, code = self.outcome("fallback"), int(self.outcome("reason"))
        if fallback == 0:
            return ""
        reason = _REASONS[code] if code < 0 else SolverStatus(code).text
        if fallback == 1:
            return f"{reason}; applying the plan of {self.outcome('failures'):.0f} steps ago"
        return f"{reason}; braking under gravity compensation"

    def feedback(self) -> Array:
        """A step for the state in `measured`: the torque, a copy."""
        self._feedback()
        return self.torque.copy()

    def start(self) -> None:
        """Cold start for the state in `measured`, for the plan of the step that follows."""
        self._start()


def _bounded(stages: Stages, row: ConstraintRow, name: str) -> int | None:
    """The element of torque or velocity that a row bounds; None if it bounds another expression."""
    symbol = stages.system.symbols.get(name, ca.SX(0, 1))
    expression = row.constraint.expression[row.element]
    return next((k for k in range(symbol.numel()) if ca.is_equal(expression, symbol[k])), None)
