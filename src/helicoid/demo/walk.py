"""Walking demonstration: a quadruped trots, is pushed, turns and stops; simulation and HTML page."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from helicoid._typing import Array
from helicoid.demo.page import document
from helicoid.pages.charts import Axis, Band, Chart, Curve, Level
from helicoid.pages.html_page import write_page
from helicoid.robot import Robot, load
from helicoid.simulation import ContactPoint, Ground, Trajectory, simulate
from helicoid.view.player import motion_html
from helicoid.walking import Gait, Walker

LEGS = ("front left", "front right", "rear left", "rear right")
FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
RADIUS, FRICTION, ASSUMED_FRICTION = 0.02, 0.6, 0.5
DT, SPEED, TURN = 0.002, 0.5, 0.6
START, PUSHED, TURNED, STOPPED, DURATION = 0.5, 2.5, 4.0, 6.5, 8.0  # s
PUSH, PUSH_DURATION = 4.0, 0.1  # N for each kg of the robot, s
MASS_RATIO = 1.05  # true mass over that of the controller's model


@dataclass
class WalkRecord:
    """A walk: its trajectory, and processor times (s) of control steps and of plans that began in them."""

    walker: Walker
    trajectory: Trajectory
    seconds: Array
    plan_seconds: Array  # NaN where no plan began
    push: Array

    @property
    def distance(self) -> float:
        """Length of the path (m)."""
        return float(np.linalg.norm(np.diff(self.trajectory.q[:, :2], axis=0), axis=1).sum())

    @property
    def tilt(self) -> float:
        """Largest tilt of the trunk (rad)."""
        q = self.trajectory.q
        return float(np.arccos(np.clip(1 - 2 * (q[:, 4] ** 2 + q[:, 5] ** 2), -1, 1)).max())

    @property
    def friction_usage(self) -> Array:
        """|f_t| / (μ f_n) of each foot (N, 4), 1 at the boundary of the friction cone; NaN without load."""
        f = self.trajectory.contact_forces
        normal, along = f[..., 2], np.linalg.norm(f[..., :2], axis=-1)
        return np.asarray(np.where(normal > 1.0, along / (FRICTION * np.maximum(normal, 1.0)), np.nan))


@dataclass
class _Commands:
    """Controller callback of the simulation: commands the walker and times its steps."""

    walker: Walker
    push: Array
    seconds: list[float] = field(default_factory=list)
    plan_seconds: list[float] = field(default_factory=list)

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        at = {
            START: lambda: self.walker.go(SPEED),
            TURNED: lambda: self.walker.go(SPEED, turn=TURN),
            STOPPED: self.walker.stop,
        }
        for when, command in at.items():
            if abs(t - when) < DT / 2:
                command()
        plans, began = self.walker.plans, time.thread_time()
        tau = self.walker.step(q, v)
        self.seconds.append(time.thread_time() - began)
        self.plan_seconds.append(self.walker.plan_seconds if self.walker.plans > plans else np.nan)
        return tau

    def wrench(self, t: float, *_: Array) -> Array:
        return np.concatenate(
            [np.zeros(3), self.push if PUSHED <= t < PUSHED + PUSH_DURATION else np.zeros(3)]
        )


def walk(seed: int = 0, duration: float = DURATION, robot: Robot | None = None) -> WalkRecord:
    """Simulate the walk: a push from a random direction, and a mass above that of the controller's model.

    `robot` is the bundled quadruped, or another one on four feet with a standing posture (SRDF, keyframe).
    """
    walker = Walker(robot, friction=ASSUMED_FRICTION, dt=DT) if robot is not None else _bundled()
    robot, radius = walker.robot, walker.foot_radius
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi)
    push = PUSH * robot.mass * np.array([np.cos(angle), np.sin(angle), 0.0])
    commands = _Commands(walker, push)
    motion = simulate(
        robot.with_parameters(MASS_RATIO * robot.parameters.values),
        walker.posture + np.array([0, 0, 1e-7, *np.zeros(robot.nq - 3)]),
        duration=duration,
        controller=commands,
        dt=DT,
        substeps=2,
        ground=Ground(friction=FRICTION),
        contacts=[ContactPoint(foot, radius=radius) for foot in walker.gait.feet],
        f_ext={walker.trunk: commands.wrench},
        expressed_in="world",
    )
    return WalkRecord(walker, motion, np.array(commands.seconds), np.array(commands.plan_seconds), push)


def _bundled() -> Walker:
    robot = load("quadruped", base="floating")
    q = robot.neutral()
    q[7:] = np.tile([0.0, 0.8, -1.6], 4)
    q[2] += RADIUS - min(robot.pose(foot)(q)[2, 3] for foot in FEET)
    return Walker(robot, q, Gait.trot(*FEET), foot_radius=RADIUS, friction=ASSUMED_FRICTION, dt=DT)


def write_walk(walked: WalkRecord, folder: Path) -> Path:
    """Write `walk.html` into a folder and return its path."""
    return write_page(folder / "walk.html", page(walked))


def page(walked: WalkRecord) -> str:
    """HTML page of the walk."""
    motion = walked.trajectory
    lead = (
        f"A quadruped trots at {SPEED:g} m/s, is pushed by {np.linalg.norm(walked.push):.0f} N for "
        f"{PUSH_DURATION:g} s, turns and stops. Whole-body MPC replans 40 times per second over a horizon of "
        "half a second; whole-body control tracks the plan at 500 Hz. The robot is "
        f"{100 * (MASS_RATIO - 1):.0f} % heavier than its model; μ = {FRICTION:g}."
    )
    stage = motion_html(walked.walker.robot, motion, trace=walked.walker.trunk, follow=walked.walker.trunk)
    charts = [height(walked), loads(walked), cones(walked), step_times(walked)]
    text = (
        '<div class="words"><p>Arrows are ground reaction forces; one as long as the robot equals its '
        "weight. The ground is rigid with exact Coulomb friction cones. This page was written by "
        "<code>helicoid demo walk</code>.</p></div>"
    )
    return document("A walking quadruped", lead, figures(walked), stage, charts, text)


def figures(walked: WalkRecord) -> list[tuple[str, str]]:
    """Key figures as numbers with captions."""
    plans, steps = _times(walked)
    used = float(np.nanmax(walked.friction_usage))
    return [
        (f"{walked.distance:.2f} m", "walked, without a fall" if walked.tilt < 0.5 else "until it fell"),
        (f"{np.rad2deg(walked.tilt):.1f}°", "largest tilt of the trunk, push included"),
        (f"{100 * used:.0f} %", "largest use of the friction cone; at 100 % a foot slips"),
        (f"{1e3 * np.median(plans):.1f} ms", f"per plan (period {1e3 * walked.walker.plan_dt:g} ms); "
         f"{1e6 * np.median(steps):.0f} µs per control step (period {1e3 * DT:g} ms)"),
    ]  # fmt: skip


def _times(walked: WalkRecord) -> tuple[Array, Array]:
    return walked.plan_seconds[np.isfinite(walked.plan_seconds)], walked.seconds[1:]


def _axis(walked: WalkRecord) -> Axis:
    return Axis(0.0, float(walked.trajectory.t[-1]), "t (s)")


def height(walked: WalkRecord) -> tuple[Chart, str]:
    """Height of the trunk and its reference."""
    t, z = walked.trajectory.t, 100 * walked.trajectory.q[:, 2]
    reference = 100 * walked.walker.height
    axis = Axis.around([z, np.array([reference - 2, reference + 2])], "cm", 0.1)
    lines = [
        Curve(t, z, "var(--adaptive)", "trunk"),
        Curve(t, 0 * t + reference, "var(--true-model)", "reference", 1.3, "6 4"),
    ]
    note = "The controller's model has a wrong mass, and the push is horizontal."
    return Chart("Height of the body", _axis(walked), axis, lines, event=_event()), note


def loads(walked: WalkRecord) -> tuple[Chart, str]:
    """Normal contact forces of the feet."""
    t, f = walked.trajectory.t, walked.trajectory.contact_forces[..., 2]
    lines = [Curve(t, f[:, k], f"var(--j{k + 1})", leg, 1.2) for k, leg in enumerate(LEGS)]
    weight = 9.81 * MASS_RATIO * walked.walker.robot.mass
    top = float(np.percentile(f, 99.9))
    note = f"Diagonal pairs alternate. The robot weighs {weight:.0f} N; impact peaks are clipped."
    return Chart(
        "Normal forces of the feet", _axis(walked), Axis(0.0, 1.15 * top, "N"), lines, event=_event()
    ), note


def cones(walked: WalkRecord) -> tuple[Chart, str]:
    """Use of the friction cone by each foot: maxima over windows."""
    n = max(1, round(0.02 / DT))
    rows = len(walked.friction_usage) // n * n
    used = np.nan_to_num(walked.friction_usage[:rows]).reshape(-1, n, 4).max(axis=1)
    t = walked.trajectory.t[:rows].reshape(-1, n).mean(axis=1)
    parts: list[Curve | Band] = [
        Band(t, 0 * t, 100 * used.max(axis=1), "var(--adaptive)", "max. of all feet")
    ]
    parts += [Curve(t, 100 * used[:, k], f"var(--j{k + 1})", leg, 0.9) for k, leg in enumerate(LEGS)]
    levels = Level(100.0, "friction cone"), Level(100 * ASSUMED_FRICTION / FRICTION, "assumed by the plan")
    note = "Maxima over windows of 0.02 s. The plan assumes a smaller μ; feet slip at touchdown."
    axis = Axis(0.0, 115.0, "% of μ f_n")
    return Chart("Use of the friction cones", _axis(walked), axis, parts, levels, _event()), note


def step_times(walked: WalkRecord) -> tuple[Chart, str]:
    """Computation time of plans and control steps."""
    t = walked.trajectory.t[: len(walked.seconds)]
    plans, steps = _times(walked)
    began = t[np.isfinite(walked.plan_seconds)]
    lines = [
        Curve(began[1:], 1e3 * plans[1:], "var(--fixed)", "plan, in a second thread", 1.3),
        Curve(t[1:], 1e3 * steps, "var(--adaptive)", "control step", 1.3),
    ]
    levels = Level(1e3 * walked.walker.plan_dt, "plan period"), Level(1e3 * DT, "control period")
    p99 = 1e3 * np.percentile(plans[1:], 99)
    note = f"Processor time. 99th percentile of plans: {p99:.1f} ms, without the first, which starts cold."
    return Chart("Time for a step", _axis(walked), Axis(0.02, 100.0, "ms", log=True), lines, levels), note


def _event() -> tuple[float, str]:
    return PUSHED, "push"
