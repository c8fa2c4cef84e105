"""A robot that walks: plans with phases, and whole-body control that follows them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.control import ForceTask, PointContact, PoseTask, PositionTask, PostureTask, WholeBody
from helicoid.errors import InputError
from helicoid.mpc import Controller, Phase, Plan, Problem
from helicoid.robot.robot import Robot, as_robot
from helicoid.walking.following import Following, finite
from helicoid.walking.gait import Gait


class Walker:
    """Torques for a robot on feet that is told how fast to walk.

    Every `plan_dt` a controller by prediction, with the whole model, looks `horizon` intervals ahead from the
    measured state: where the trunk goes, where feet land, and what they push with. In between, whole-body
    control follows that plan every `dt`, with friction and limits kept.

    Args:
        robot: on a floating base.
        posture: how it stands, q (nq), on level ground; x, y and heading do not count.
        gait: which feet take turns; see `Gait.trot`.
        trunk: the name of its trunk, by default the root link.
        foot_radius: of balls around the frames of the feet (m).
        friction: of the ground, less than which is made use of.
        dt, plan_dt, horizon: times between steps of control and of the plan (s), and intervals of the plan.
        iterations: of the plan, each time; more meet its constraints more closely, and take longer.
        step_height: how high feet are lifted (m).
        ramp: how long forces take to come and go (s).
        plan_delay: how long after its measurement a plan takes effect (s), as where another processor makes
            it meanwhile; until then the plan before is followed.

    >>> import helicoid as hc
    >>> robot = hc.load("quadruped", base="floating")
    >>> q = robot.neutral()
    >>> q[7:] = np.tile([0.0, 0.8, -1.6], 4)
    >>> gait = hc.walking.Gait.trot("FL_foot", "FR_foot", "RL_foot", "RR_foot")
    >>> dog = hc.walking.Walker(robot, q, gait, foot_radius=0.02)  # doctest: +SKIP
    >>> dog.go(forward=0.5)  # doctest: +SKIP
    >>> tau = dog.step(q, np.zeros(18))  # doctest: +SKIP
    """

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
            raise InputError('a robot that walks is on a floating base: hc.load(..., base="floating")')
        if round(plan_dt / dt) < 1 or abs(plan_dt / dt - round(plan_dt / dt)) > 0.51:
            raise InputError(f"plan_dt is at least dt; got {plan_dt!r} and {dt!r}")
        if not 0 <= plan_delay <= plan_dt:
            raise InputError(f"plan_delay is from 0 to plan_dt = {plan_dt!r} s; got {plan_delay!r}")
        self.gait, self.dt, self.plan_dt = gait, float(dt), float(plan_dt)
        self.foot_radius, self.plan_delay = float(foot_radius), float(plan_delay)
        self.trunk = trunk or robot.model.root
        self.posture = np.array(posture, dtype=np.float64)
        self.height = float(self.posture[2])
        self._look = horizon * plan_dt
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
        self._following = Following(robot, self.trunk, gait.feet, self.whole_body)
        self.command = np.zeros(3)
        self.reset()

    def reset(self) -> None:
        """Forget what was: it stands, at the time zero."""
        self.time, self._begin, self._end, self._next = 0.0, np.inf, np.inf, 0.0
        self._follows = False
        self._waiting: tuple[float, Any] | None = None
        self._planned_at, self._heading, self._started = 0.0, np.nan, False
        self.command[:] = 0.0
        self.plans, self.plan_seconds = 0, np.nan
        self.whole_body.reset()

    def go(self, forward: float = 0.0, left: float = 0.0, turn: float = 0.0) -> None:
        """Walk with these velocities in the axes of the trunk (m/s, m/s, rad/s), from the next turn on."""
        wanted = np.array([forward, left, turn], dtype=np.float64)
        if wanted.shape != (3,) or not np.all(np.isfinite(wanted)):
            raise InputError(f"velocities are finite numbers; got {forward!r}, {left!r}, {turn!r}")
        self.command[:] = wanted
        if not self.time < self._end or np.isinf(self._begin):
            self._begin = self.time + 2 * self.plan_dt
        self._end = np.inf

    def stop(self) -> None:
        """Slow down and stand on all feet."""
        self.command[:] = 0.0
        if np.isfinite(self._begin):
            self._end = self.gait.end_of_turn(self.time + len(self.gait.stands) * self.gait.step, self._begin)

    @property
    def standing(self) -> tuple[str, ...]:
        """The feet that are on the ground now, by the gait."""
        if np.isinf(self._begin):
            return self.gait.feet
        return self.gait.phases(self.time, self._begin, self._end, self.dt)[0].contacts

    def phases(self) -> list[Phase]:
        """What comes next."""
        if np.isinf(self._begin):
            return [Phase(np.inf, self.gait.feet)]
        return self.gait.phases(self.time, self._begin, self._end, self._look + self.gait.step)

    def step(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Torques (nv) for a measured state, to be held for dt."""
        q, v = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
        if finite(q, v) and (not self._follows or self.time >= self._next - 1e-9):
            self._replan(q, v)
        if self._waiting is not None and self.time >= self._waiting[0] + self.plan_delay - 1e-9:
            self._begin_plan()
        if self._follows:
            self._following.set(self.time - self._planned_at, self.standing)
        tau = self.whole_body.step(q, v)
        self.time += self.dt
        return tau

    # What is so -------------------------------------------------------------------------------------

    @property
    def period(self) -> float:
        """Time between steps (s)."""
        return self.dt

    @property
    def ok(self) -> bool:
        """Whether the last plan and the last torque are as they should be."""
        return bool(self.controller.ok and self.whole_body.ok)

    @property
    def status(self) -> str:
        """What became of the last plan, and of the last torque."""
        return f"plan {self.controller.status}; torque {self.whole_body.status}"

    @property
    def forces(self) -> Mapping[str, Array]:
        """What the ground is to do to each foot, world axes (N)."""
        return self.whole_body.forces

    @property
    def plan(self) -> Plan | None:
        """The last plan that was made."""
        return self.controller.plan if self._started else None

    # How it is done ---------------------------------------------------------------------------------

    def _replan(self, q: Array, v: Array) -> None:
        began = time.perf_counter()
        yaw = float(np.arctan2(2 * (q[3] * q[6] + q[4] * q[5]), 1 - 2 * (q[5] ** 2 + q[6] ** 2)))
        if np.isnan(self._heading):
            self._heading = yaw
        self._heading += self.plan_dt * self.command[2] if self.time < self._end else 0.0
        away = (self._heading - yaw + np.pi) % (2 * np.pi) - np.pi
        self._heading = yaw + float(np.clip(away, -0.3, 0.3))
        ahead = self._heading + 0.5 * self._look * self.command[2]
        target = self.posture.copy()
        target[:2] = q[:2]
        target[3:7] = np.cos(ahead / 2), 0.0, 0.0, np.sin(ahead / 2)
        self.controller.set(
            posture=target,
            velocity=[self.command[0], self.command[1], 0.0],
            turn=self.command[2],
            phases=self.phases(),
        )
        if not self._started:
            self.controller.start(q, v)
            self._started = True
        self.controller.step(q, v)
        self._waiting = self.time, self.controller.motion()
        if not self._follows:  # there is none to follow meanwhile
            self._begin_plan()
        self._next = self.time + self.plan_dt
        self.plans, self.plan_seconds = self.plans + 1, time.perf_counter() - began

    def _begin_plan(self) -> None:
        assert self._waiting is not None
        (self._planned_at, motion), self._waiting = self._waiting, None
        self._following.begin(self._nodes, motion)
        self._follows = True


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
    """Half a second ahead: at a velocity that may be set, level, with little effort."""
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
