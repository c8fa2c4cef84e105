"""Locomotion controller of legged robots: model predictive control tracked by whole-body control."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.compiler import export_library
from helicoid.control.following import Following
from helicoid.control.following.signals import as_numbers
from helicoid.errors import InputError
from helicoid.mpc import Controller, Phase, Plan
from helicoid.robot.robot import Robot, as_robot
from helicoid.status import Status
from helicoid.walking import anatomy
from helicoid.walking.gait import Gait
from helicoid.walking.gait_choice import GaitChoice, choose_gait
from helicoid.walking.plan_tracking import PlanTracking, tracking_control
from helicoid.walking.problem import locomotion_problem
from helicoid.walking.references import PlanReferences
from helicoid.walking.replanning import Replanning, TimedPlan
from helicoid.walking.reports import Report, joined, worst
from helicoid.walking.stance import Stance

_PLANAR_ITERATIONS = 4
_PAUSE = 1.0  # s of standing after a gait that did not hold
_MAX_SLIDE = 0.1  # of the height of the trunk, of feet in stance
_IMPLAUSIBLE = 1e6  # m, rad, m/s, rad/s: of measurements that plan and ground leave out


class Walker:
    """Locomotion controller: joint torques of a legged robot for commanded velocities of its trunk.

    Every `plan_dt`, model predictive control with the whole-body model plans `horizon` intervals ahead from
    the measured state: motion of the trunk, footholds and contact forces. Every `dt`, whole-body control
    tracks that plan within friction cones and limits. Plans are computed in a second thread, and take effect
    `plan_delay` after their measurement. Integral action removes the steady-state errors of speed and height,
    heights count from the ground under the feet in stance, and feet that creep on it are pulled back.

    `status` is the worse of those of plan and torque, and `message` says which it is. `step` never raises
    once the loop has begun; after a measurement that is not a finite state it damps the joints as
    `WholeBody` does.

    Args:
        robot: a legged robot on a floating base.
        posture: nominal standing configuration q (nq); the position of its base does not matter. By
            default the posture (SRDF) or keyframe (MJCF) called "standing", "stand", "home", "half_sitting"
            or "ready", or that begins so.
        gait: sequence of stance phases of the feet, which by default are the lower ends of the limbs: a trot,
            or a crawl or standing where the motors are too weak; `gait_reason` says why.
        trunk: name of the trunk link, by default the root.
        foot_radius: of spheres about the frames of the feet (m), by default those of the description. For a
            contact point off the frame of a link, add a frame there: `robot.with_frame`.
        friction: coefficient of friction that plan and control assume, at most that of the ground.
        dt, plan_dt, horizon: periods of control and of the plan (s), and intervals of the plan.
        iterations: of the optimiser for each plan, more after a disturbance; by default 1, and 4 for legs
            that cannot step sideways, which balance by small changes of timing and stride.
        step_height: height of the swing feet (m).
        ramp: time in which contact forces rise and fall (s).
        plan_delay: time from its measurement until a plan takes effect (s), by default `plan_dt`; the former
            plan is tracked until then, while the new one is computed. 0 plans within the step.
        real_time: a plan that is later than `plan_delay` takes effect when it is ready, and `status` is "time
            limit" until then. By default a step waits for it, so that simulations are reproducible.

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
        posture: ArrayLike | None = None,
        gait: Gait | None = None,
        *,
        trunk: str = "",
        foot_radius: float | None = None,
        friction: float = 0.5,
        dt: float = 0.002,
        plan_dt: float = 0.025,
        horizon: int = 20,
        step_height: float = 0.05,
        ramp: float = 0.0,
        iterations: int | None = None,
        plan_delay: float | None = None,
        real_time: bool = False,
    ) -> None:
        self.robot = as_robot(robot, "Walker")
        if not robot.model.floating:
            raise InputError('a legged robot has a floating base: hc.load(..., base="floating")')
        if round(plan_dt / dt) < 1 or abs(plan_dt / dt - round(plan_dt / dt)) > 0.51:
            raise InputError(f"plan_dt is at least dt; got {plan_dt!r} and {dt!r}")
        plan_delay = plan_dt if plan_delay is None else plan_delay
        if not 0 <= plan_delay <= plan_dt:
            raise InputError(f"plan_delay is from 0 to plan_dt = {plan_dt!r} s; got {plan_delay!r}")
        stands = anatomy.standing_posture(robot) if posture is None else posture
        chosen = GaitChoice(gait, "as given") if gait else choose_gait(robot, np.asarray(stands, np.float64))
        self.gait, self.gait_reason = gait, _ = chosen
        radius = anatomy.foot_radius_of(robot, gait.feet) if foot_radius is None else foot_radius
        self.posture = anatomy.on_ground(robot, stands, gait.feet, radius)
        self.dt, self.plan_dt, self.foot_radius = float(dt), float(plan_dt), float(radius)
        self.trunk = trunk or robot.model.root
        self.height = float(self.posture[2])
        stance = gait.step * max(1, round(len(gait.stands) * min(map(len, gait.stands)) / len(gait.feet)))
        self.max_speed = anatomy.longest_stride(robot, self.posture, gait.feet) / stance * chosen.walks
        """Highest speed that is accepted (m/s): the stride that the legs reach, in the time of a stance."""
        self.sideways = anatomy.steps_sideways(robot, self.posture, gait.feet)
        """Whether the legs can step sideways, without which `left` and `turn` are refused."""
        iterations = (1 if self.sideways else _PLANAR_ITERATIONS) if iterations is None else iterations
        self._horizon_time = horizon * plan_dt
        self._nodes: Array = plan_dt * np.arange(horizon + 1, dtype=np.float64)
        self.controller = Controller(
            locomotion_problem(robot, self.posture, gait, horizon, plan_dt, radius, friction, step_height),
            iterations=iterations,
        )
        self.whole_body = tracking_control(robot, self.trunk, gait.feet, radius, friction, dt, ramp)
        self._tracking = PlanTracking(robot, self.trunk, gait.feet, self.whole_body)
        self._stance = Stance(robot, gait.feet, self.foot_radius, self.posture)
        self._references = PlanReferences(
            self.posture, gait, self._horizon_time, self.plan_dt, float(step_height)
        )
        self._replanning = Replanning(self.controller, float(plan_delay), bool(real_time), self.plan_dt)
        self.velocity = np.zeros(3)
        """Commanded velocity: forward, left (m/s), turn (rad/s)."""
        self.reset()

    def reset(self) -> None:
        """Return to standing at time zero, as if no step had been taken; numbers stay as they are."""
        self._replanning.reset()  # waits for the second thread
        self.time, self._begin, self._end, self._next = 0.0, np.inf, np.inf, 0.0
        self._has_plan, self._bad_reference = False, ""
        self._planned_at, self._valid_at, self._halted = 0.0, 0.0, False
        self.velocity[:] = 0.0
        self.plans, self.plan_seconds = 0, np.nan
        self._plan_status, self._plan_message = Status.NOT_STARTED, ""
        self.whole_body.reset()
        self._tracking.reset()
        self._stance.reset()
        self._references.reset()

    def __getstate__(self) -> dict[str, Any]:
        self._replanning.wait()
        return self.__dict__

    # Commands ---------------------------------------------------------------------------------------

    def go(self, forward: float = 0.0, left: float = 0.0, turn: float = 0.0) -> None:
        """Walk with these velocities in the axes of the trunk (m/s, m/s, rad/s), from the next phase on."""
        self._go(self._velocity([forward, left, turn]))

    def _go(self, velocity: Array) -> None:
        self.velocity[:] = velocity
        if self._halted:
            return
        if not self.time < self._end or np.isinf(self._begin):
            self._begin = self.time + 2 * self.plan_dt
        self._end = np.inf

    def stop(self) -> None:
        """Slow down and stand on all feet."""
        self.velocity[:] = 0.0
        if np.isfinite(self._begin) and not self._halted:
            self._end = self.gait.phase_end(self.time + len(self.gait.stands) * self.gait.step, self._begin)

    def _halt(self) -> None:
        """Stand on all feet from the end of this phase on, for a pause: the gait does not hold."""
        self._end = self.gait.phase_end(self.time, self._begin)
        self._halted = True

    def set(self, **numbers: Any) -> None:
        """Change the commanded velocity and numbers of whole-body control: all that are given, or none.

        `forward`, `left` (m/s) and `turn` (rad/s): it walks where one of them is not zero, and stops where
        all are. Other names are those of `WholeBody.set`, such as `trunk_weight`.
        """
        given = dict(zip(self.targets, self.velocity, strict=True))
        velocity = self._velocity([numbers.pop(name, value) for name, value in given.items()])
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
        return self.gait.stance(self.time, self._begin, self._end)

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
        valid = bool(np.abs(q).max() < _IMPLAUSIBLE and np.abs(v).max() < _IMPLAUSIBLE)  # NaN is not
        if valid:
            q = self._above_ground(q, v)
            if (plan := self._replanning.take(self.time)) is not None:
                self._begin_plan(plan)
        due = valid and not self._replanning.under_way and self.time >= self._next - 1e-9
        at_once = due and (not self._has_plan or self._replanning.delay == 0)
        if at_once:
            self._replan(q, v, at_once)
        if self._has_plan:
            self._tracking.set(self.time - self._planned_at, self.standing, self._stance.forces)
            self._tracking.lower(self._stance.late, self._stance.frames)
        tau = self.whole_body.step(q, v)
        if due and not at_once:  # last: the second thread shares the interpreter
            self._replan(q, v, at_once)
        self.time += self.dt
        return tau

    def _above_ground(self, q: Array, v: Array) -> Array:
        """The configuration with z from the ground under the trunk."""
        standing = self.standing
        loads = self.whole_body.stacked_forces[2::3]
        self._stance.update(q, v, np.array([foot in standing for foot in self.gait.feet]), self.dt, loads)
        q = q.copy()
        if np.isfinite(self._stance.ground):
            q[2] -= self._stance.ground
        return q

    def _take_reference(self, velocity: ArrayLike | None) -> None:
        self._bad_reference = ""
        if velocity is None:
            return
        try:
            self._command_velocity(self._velocity(velocity))
        except InputError as error:
            self._bad_reference = f"{error}; the former velocity stays"

    def _velocity(self, given: ArrayLike) -> Array:
        """A commanded velocity that the legs can walk."""
        velocity = _measured(given, 3)
        if not np.isfinite(velocity).all():
            raise InputError(f"velocities forward, left and turn are finite numbers; got {given!r}")
        if velocity.any() and not self.max_speed:
            raise InputError(f"{self.robot.name!r} does not walk: {self.gait_reason}")
        if (speed := float(np.hypot(*velocity[:2]))) > self.max_speed:
            raise InputError(f"{speed:.3g} m/s is beyond the reach of the legs, {self.max_speed:.3g} m/s")
        if velocity[1:].any() and not self.sideways:
            raise InputError(
                f"{self.robot.name!r} cannot place its feet sideways: it walks forward and backward only"
            )
        return velocity

    # Result of a step -------------------------------------------------------------------------------

    @property
    def period(self) -> float:
        """Time between steps (s)."""
        return self.dt

    @property
    def ok(self) -> bool:
        """Whether the last plan and the last torque are valid, and so is the reference."""
        return self.status is Status.OK

    @property
    def status(self) -> Status:
        """The worse of the statuses of the last plan and of the last torque."""
        if self._bad_reference:
            return Status.BAD_REFERENCE
        return worst(self._reports())

    @property
    def message(self) -> str:
        """Reason why the last plan or the last torque failed, in words; empty where `ok`."""
        if self._bad_reference:
            return self._bad_reference
        return joined(self._reports())

    def _reports(self) -> list[Report]:
        """Statuses of the parts of the last step, with their messages."""
        late = Status.TIME_LIMIT if self._replanning.late else Status.OK
        halted = Status.NO_PROGRESS if self._halted else Status.OK
        held = Status.NO_CONTACT if self._stance.slid > _MAX_SLIDE * self.height else Status.OK
        return [
            ("gait", halted, lambda: f"stands, after {self._horizon_time:.3g} s without a valid plan"),
            ("plan", self._plan_status, lambda: self._plan_message),
            ("plan", late, lambda: "the new plan is not ready"),
            (
                "stance",
                held,
                lambda: f"feet have slid by {self._stance.slid:.3f} m: the ground does not hold them",
            ),
            ("torque", self.whole_body.status, lambda: self.whole_body.message),
        ]

    @property
    def ground(self) -> float:
        """Height of the unloaded ground under the trunk (m), by the feet on it; NaN before a step."""
        return self._stance.surface

    @property
    def forces(self) -> Mapping[str, Array]:
        """Commanded contact force on each foot, world axes (N)."""
        return self.whole_body.forces

    @property
    def plan(self) -> Plan | None:
        """The last plan."""
        return self.controller.plan if self._replanning.started else None

    def export_c(self, folder: str | os.PathLike[str], name: str | None = None) -> list[Path]:
        """Write the parts of the controller as C99 libraries, each with a program that checks it.

        Sub-folders: `plan` is the MPC (a call every `plan_dt`), `targets` interpolates its plan for the tasks
        (`PlanTracking.function`), and `whole_body` gives the torques (both every `dt`). The gait, which
        chooses the stance feet and the phases of the plan, is Python alone: see `Gait.phases`.
        """
        self._replanning.wait()
        root, prefix = Path(folder), name or "walker"
        function = self._tracking.function
        files = self.controller.export_c(root / "plan", f"{prefix}_plan")
        files += export_library(f"{prefix}_targets", {f"{prefix}_targets": function}, root / "targets")
        return [*files, *self.whole_body.export_c(root / "whole_body", f"{prefix}_whole_body")]

    def __repr__(self) -> str:
        return f"Walker({self.robot.name!r}, {len(self.gait.feet)} feet, {self.gait_reason}; {self.status})"

    # Planning ---------------------------------------------------------------------------------------

    def _replan(self, q: Array, v: Array, at_once: bool) -> None:
        """Plan from a measured state, at once or in the second thread."""
        times, stance = (self.time, self._begin, self._end), self._stance.copied()
        numbers = partial(self._references.numbers, q.copy(), v.copy(), times, self.velocity.copy(), stance)
        if at_once:
            self._begin_plan(self._replanning.now(self.time, q, v, numbers))
        else:
            self._replanning.begin(self.time, q, v, numbers)
        self._next = self.time + self.plan_dt

    def _begin_plan(self, plan: TimedPlan) -> None:
        self._planned_at, self._has_plan = plan.time, True
        self._plan_status, self._plan_message = plan.status, plan.message
        self._tracking.begin(self._nodes, plan.motion)
        if plan.status is Status.OK or not self._begin <= self.time < self._end:
            self._valid_at = plan.time
        elif not self._halted and plan.time > self._valid_at + self._horizon_time:
            self._halt()
        if self._halted and self.time >= self._end + _PAUSE:
            self._halted = False
            self._command_velocity(self.velocity.copy())
        self.plans, self.plan_seconds = self.plans + 1, plan.seconds


def _measured(given: ArrayLike, size: int) -> Array:
    """A vector of this size; NaN where it is none, so that the loop goes on."""
    try:
        values = as_numbers("", given)
    except InputError:
        values = np.zeros(0)
    return values if values.shape == (size,) else np.full(size, np.nan)
