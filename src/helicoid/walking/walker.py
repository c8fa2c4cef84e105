"""Locomotion controller of legged robots: model predictive control tracked by whole-body control."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.compiler import export_library
from helicoid.control import ForceTask, PointContact, PoseTask, PositionTask, PostureTask, WholeBody
from helicoid.control.following import Following
from helicoid.control.following.signals import as_numbers
from helicoid.errors import InputError
from helicoid.mpc import Controller, Phase, Plan, Problem
from helicoid.robot.robot import Robot, as_robot
from helicoid.status import Status
from helicoid.walking.gait import Gait
from helicoid.walking.plan_tracking import PlanTracking

_MAX_HEADING_ERROR = 0.3  # rad, between the commanded heading and the measured one
_SEVERITY = (
    *(Status.OK, Status.NOT_STARTED, Status.SATURATED, Status.ITERATION_LIMIT, Status.TIME_LIMIT),
    *(Status.NO_PROGRESS, Status.INFEASIBLE, Status.NOT_CONVEX, Status.NO_TARGET, Status.NO_CONTACT),
    *(Status.NOT_FINITE, Status.BAD_REFERENCE, Status.BAD_MEASUREMENT),
)
"""Statuses from the best to the worst."""


class Walker:
    """Locomotion controller: joint torques of a legged robot for commanded velocities of its trunk.

    Every `plan_dt`, model predictive control with the whole-body model plans `horizon` intervals ahead from
    the measured state: motion of the trunk, footholds and contact forces. Every `dt`, whole-body control
    tracks that plan within friction cones and limits.

    `status` is the worse of those of plan and torque, and `message` says which it is. `step` never raises
    once the loop has begun; after a measurement that is not a finite state it damps the joints as
    `WholeBody` does.

    Args:
        robot: a legged robot on a floating base.
        posture: nominal standing configuration q (nq) on level ground; x, y and heading do not matter.
        gait: sequence of stance phases; see `Gait.trot`.
        trunk: name of the trunk link, by default the root.
        foot_radius: of spheres about the frames of the feet (m).
        friction: coefficient of friction that plan and control assume, at most that of the ground.
        dt, plan_dt, horizon: periods of control and of the plan (s), and intervals of the plan.
        iterations: of the optimiser for each plan.
        step_height: height of the swing feet (m).
        ramp: time in which contact forces rise and fall (s).
        plan_delay: time from its measurement until a plan takes effect (s), such as that of its computation
            on another processor; the former plan is tracked until then.

    >>> import helicoid as hc
    >>> robot = hc.load("quadruped", base="floating")
    >>> q = robot.neutral()
    >>> q[7:] = np.tile([0.0, 0.8, -1.6], 4)
    >>> gait = hc.walking.Gait.trot("FL_foot", "FR_foot", "RL_foot", "RR_foot")
    >>> dog = hc.walking.Walker(robot, q, gait, foot_radius=0.02)  # doctest: +SKIP
    >>> dog.go(forward=0.5)  # doctest: +SKIP
    >>> tau = dog.step(q, np.zeros(18))  # doctest: +SKIP
    """

    command: ClassVar[str] = "tau"
    """Quantity that `step` returns: joint torques."""
    measures: ClassVar[str] = "q v"
    """Measured quantities that `step` takes."""
    references: ClassVar[dict[str, tuple[int, ...]]] = {"velocity": (3,)}
    """Shapes of the references that `step` takes: velocities forward, left (m/s) and of turning (rad/s)."""
    targets: ClassVar[tuple[str, ...]] = ("forward", "left", "turn")
    """Commanded velocities by name, as `set` and `following` take them."""

    def __init__(
        self,
        robot: Robot,
        posture: ArrayLike,
        gait: Gait,
        *,
        trunk: str = "",
        foot_radius: float = 0.0,
        friction: float = 0.5,
        dt: float = 0.002,
        plan_dt: float = 0.025,
        horizon: int = 20,
        step_height: float = 0.05,
        ramp: float = 0.0,
        iterations: int = 1,
        plan_delay: float = 0.0,
    ) -> None:
        self.robot = as_robot(robot, "Walker")
        if not robot.model.floating:
            raise InputError('a legged robot has a floating base: hc.load(..., base="floating")')
        if round(plan_dt / dt) < 1 or abs(plan_dt / dt - round(plan_dt / dt)) > 0.51:
            raise InputError(f"plan_dt is at least dt; got {plan_dt!r} and {dt!r}")
        if not 0 <= plan_delay <= plan_dt:
            raise InputError(f"plan_delay is from 0 to plan_dt = {plan_dt!r} s; got {plan_delay!r}")
        self.gait, self.dt, self.plan_dt = gait, float(dt), float(plan_dt)
        self.foot_radius, self.plan_delay = float(foot_radius), float(plan_delay)
        self.trunk = trunk or robot.model.root
        self.posture = np.array(posture, dtype=np.float64)
        self.height = float(self.posture[2])
        self._horizon_time = horizon * plan_dt
        self._nodes: Array = plan_dt * np.arange(horizon + 1, dtype=np.float64)
        self.controller = Controller(
            _problem(robot, self.posture, gait, horizon, plan_dt, foot_radius, friction, step_height),
            iterations=iterations,
        )
        contacts = [PointContact(foot, friction, radius=foot_radius) for foot in gait.feet]
        self.whole_body = WholeBody(
            robot,
            [
                PoseTask(self.trunk, weight=[20.0, 20.0, 20.0, 10.0, 10.0, 20.0], name="trunk"),
                *(PositionTask(foot, weight=20.0, name=f"{foot}_swing") for foot in gait.feet),
                PostureTask(weight=1e-3),
                *(ForceTask(foot, weight=1e-3, name=f"{foot}_plan") for foot in gait.feet),
            ],
            contacts,
            dt,
            frequency=[12.0, *(25.0 for _ in gait.feet), 5.0, *(1.0 for _ in gait.feet)],
            ramp=ramp,
        )
        self._tracking = PlanTracking(robot, self.trunk, gait.feet, self.whole_body)
        self.velocity = np.zeros(3)
        """Commanded velocity: forward, left (m/s), turn (rad/s)."""
        self.reset()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._started = False  # a copy of the MPC has not started

    def reset(self) -> None:
        """Return to standing at time zero, as if no step had been taken; numbers stay as they are."""
        self.time, self._begin, self._end, self._next = 0.0, np.inf, np.inf, 0.0
        self._has_plan, self._bad_reference = False, False
        self._waiting: tuple[float, Any] | None = None
        self._planned_at, self._heading, self._started = 0.0, np.nan, False
        self.velocity[:] = 0.0
        self.plans, self.plan_seconds = 0, np.nan
        self.controller.reset()
        self.whole_body.reset()
        self._tracking.reset()

    # Commands ---------------------------------------------------------------------------------------

    def go(self, forward: float = 0.0, left: float = 0.0, turn: float = 0.0) -> None:
        """Walk with these velocities in the axes of the trunk (m/s, m/s, rad/s), from the next phase on."""
        self._go(_velocity([forward, left, turn]))

    def _go(self, velocity: Array) -> None:
        self.velocity[:] = velocity
        if not self.time < self._end or np.isinf(self._begin):
            self._begin = self.time + 2 * self.plan_dt
        self._end = np.inf

    def stop(self) -> None:
        """Slow down and stand on all feet."""
        self.velocity[:] = 0.0
        if np.isfinite(self._begin):
            self._end = self.gait.phase_end(self.time + len(self.gait.stands) * self.gait.step, self._begin)

    def set(self, **numbers: Any) -> None:
        """Change the commanded velocity and numbers of whole-body control: all that are given, or none.

        `forward`, `left` (m/s) and `turn` (rad/s): it walks where one of them is not zero, and stops where
        all are. Other names are those of `WholeBody.set`, such as `trunk_weight`.
        """
        given = dict(zip(self.targets, self.velocity, strict=True))
        velocity = _velocity([numbers.pop(name, value) for name, value in given.items()])
        self.whole_body.set(**numbers)
        self._command_velocity(velocity)

    def _command_velocity(self, velocity: Array) -> None:
        if velocity.any():
            self._go(velocity)
        elif self.velocity.any():
            self.stop()

    def following(self, reference: Any = None, **references: Any) -> Following:
        """The controller with velocities over time, for loops that call `step(q, v)`.

        A reference is (forward, left, turn), an array with "t", a callable of time, or these velocities by
        name; see `hc.control.Following`. The robot stands while all three are zero.
        """
        return Following(self, reference, **references)

    @property
    def standing(self) -> tuple[str, ...]:
        """Feet in stance now, by the gait."""
        if np.isinf(self._begin):
            return self.gait.feet
        return self.gait.phases(self.time, self._begin, self._end, self.dt)[0].contacts

    def phases(self) -> list[Phase]:
        """Contact phases over the horizon."""
        if np.isinf(self._begin):
            return [Phase(np.inf, self.gait.feet)]
        return self.gait.phases(self.time, self._begin, self._end, self._horizon_time + self.gait.step)

    # The loop ---------------------------------------------------------------------------------------

    def step(self, q: ArrayLike, v: ArrayLike, velocity: ArrayLike | None = None) -> Array:
        """Torques (nv) for a measured state, to be held for dt.

        Args:
            velocity: commanded velocity (forward, left, turn) from now on; by default as it was.
        """
        q, v = _measured(q, self.robot.nq), _measured(v, self.robot.nv)
        self._take_reference(velocity)
        valid = bool(np.isfinite(q).all() and np.isfinite(v).all())
        if valid and (not self._has_plan or self.time >= self._next - 1e-9):
            self._replan(q, v)
        if self._waiting is not None and self.time >= self._waiting[0] + self.plan_delay - 1e-9:
            self._begin_plan()
        if self._has_plan:
            self._tracking.set(self.time - self._planned_at, self.standing)
        tau = self.whole_body.step(q, v)
        self.time += self.dt
        return tau

    def _take_reference(self, velocity: ArrayLike | None) -> None:
        self._bad_reference = False
        if velocity is None:
            return
        command = _measured(velocity, 3)
        self._bad_reference = not np.isfinite(command).all()
        if not self._bad_reference:
            self._command_velocity(command)

    # Result of a step -------------------------------------------------------------------------------

    @property
    def period(self) -> float:
        """Time between steps (s)."""
        return self.dt

    @property
    def ok(self) -> bool:
        """Whether the last plan and the last torque are valid, and so is the reference."""
        return bool(self.controller.ok and self.whole_body.ok and not self._bad_reference)

    @property
    def status(self) -> Status:
        """The worse of the statuses of the last plan and of the last torque."""
        if self._bad_reference:
            return Status.BAD_REFERENCE
        return max(self.controller.status, self.whole_body.status, key=_SEVERITY.index)

    @property
    def message(self) -> str:
        """Reason why the last plan or the last torque failed, in words; empty where `ok`."""
        if self._bad_reference:
            return "the commanded velocity is not three finite numbers: the former one stays"
        parts: list[tuple[str, Any]] = [("plan", self.controller), ("torque", self.whole_body)]
        return "; ".join(f"{name}: {part.message or part.status}" for name, part in parts if not part.ok)

    @property
    def forces(self) -> Mapping[str, Array]:
        """Commanded contact force on each foot, world axes (N)."""
        return self.whole_body.forces

    @property
    def plan(self) -> Plan | None:
        """The last plan."""
        return self.controller.plan if self._started else None

    def export_c(self, folder: str | os.PathLike[str], name: str | None = None) -> list[Path]:
        """Write the parts of the controller as C99 libraries, each with a program that checks it.

        Sub-folders: `plan` is the MPC (a call every `plan_dt`), `targets` interpolates its plan for the tasks
        (`PlanTracking.function`), and `whole_body` gives the torques (both every `dt`). The gait, which
        chooses the stance feet and the phases of the plan, is Python alone: see `Gait.phases`.
        """
        root, prefix = Path(folder), name or "walker"
        function = self._tracking.function
        files = self.controller.export_c(root / "plan", f"{prefix}_plan")
        files += export_library(f"{prefix}_targets", {f"{prefix}_targets": function}, root / "targets")
        return [*files, *self.whole_body.export_c(root / "whole_body", f"{prefix}_whole_body")]

    def __repr__(self) -> str:
        return f"Walker({self.robot.name!r}, {len(self.gait.feet)} feet; {self.status})"

    # Planning ---------------------------------------------------------------------------------------

    def _replan(self, q: Array, v: Array) -> None:
        began = time.perf_counter()
        yaw = float(np.arctan2(2 * (q[3] * q[6] + q[4] * q[5]), 1 - 2 * (q[5] ** 2 + q[6] ** 2)))
        if np.isnan(self._heading):
            self._heading = yaw
        self._heading += self.plan_dt * self.velocity[2] if self.time < self._end else 0.0
        error = (self._heading - yaw + np.pi) % (2 * np.pi) - np.pi
        self._heading = yaw + float(np.clip(error, -_MAX_HEADING_ERROR, _MAX_HEADING_ERROR))
        ahead = self._heading + 0.5 * self._horizon_time * self.velocity[2]
        target = self.posture.copy()
        target[:2] = q[:2]
        target[3:7] = np.cos(ahead / 2), 0.0, 0.0, np.sin(ahead / 2)
        self.controller.set(
            posture=target,
            velocity=[self.velocity[0], self.velocity[1], 0.0],
            turn=self.velocity[2],
            phases=self.phases(),
        )
        if not self._started:
            self.controller.start(q, v)
            self._started = True
        self.controller.step(q, v)
        self._waiting = self.time, self.controller.motion()
        if not self._has_plan:  # there is no former plan to track during the delay
            self._begin_plan()
        self._next = self.time + self.plan_dt
        self.plans, self.plan_seconds = self.plans + 1, time.perf_counter() - began

    def _begin_plan(self) -> None:
        assert self._waiting is not None
        (self._planned_at, motion), self._waiting = self._waiting, None
        self._tracking.begin(self._nodes, motion)
        self._has_plan = True


def _velocity(given: ArrayLike) -> Array:
    velocity = _measured(given, 3)
    if not np.isfinite(velocity).all():
        raise InputError(f"velocities forward, left and turn are finite numbers; got {given!r}")
    return velocity


def _measured(given: ArrayLike, size: int) -> Array:
    """A vector of this size; NaN where it is none, so that the loop goes on."""
    try:
        values = as_numbers("", given)
    except InputError:
        values = np.zeros(0)
    return values if values.shape == (size,) else np.full(size, np.nan)


def _problem(
    robot: Robot,
    q: Array,
    gait: Gait,
    horizon: int,
    dt: float,
    radius: float,
    friction: float,
    step_height: float,
) -> Problem:
    """Optimal control problem of the plan: commanded velocity, level trunk, low effort."""
    n, feet = robot.nv - 6, len(gait.feet)
    phases = [Phase(gait.step, gait.feet), *(Phase(gait.step, stand) for stand in gait.stands)]
    problem = Problem(robot, horizon, dt, phases=phases, foot_radius=radius)
    velocity = problem.parameter("velocity", np.zeros(3))
    turn = problem.parameter("turn", 0.0)
    problem.add_cost("speed", problem.v[3:6] - velocity, 20.0, 20.0)
    problem.add_cost("turning", problem.v[2] - turn, 5.0, 5.0)
    level = [50.0, 50.0, 20.0, 0.0, 0.0, 100.0, *np.ones(n)]
    problem.add_posture_cost(q, level, level)
    calm = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, *np.full(n, 0.01)]
    problem.add_velocity_cost(calm, calm)
    problem.add_torque_cost(1e-3, reference=np.zeros(robot.nv))
    problem.add_control_cost([*np.full(robot.nv, 1e-5), *np.full(3 * feet, 1e-6)])
    problem.add_swing_cost(height=step_height, weight=1000.0)
    problem.add_friction_cone(friction=friction)
    problem.add_limits(position=None)
    return problem
