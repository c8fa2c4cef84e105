"""Planning demonstration: an arm sorts parcels around obstacles, one of which is moved; HTML page."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.demo.page import document
from helicoid.demo.workcell import DROP, HAND, HOME, PARCELS, POST, TOOL, grasp, release, workcell
from helicoid.errors import HelicoidError
from helicoid.pages.charts import Axis, Chart, Curve, Level
from helicoid.pages.html_page import write_page
from helicoid.planning import PlannedPath, Planner
from helicoid.robot import Robot, load
from helicoid.robot.collision.scene import Scene
from helicoid.simulation import Trajectory
from helicoid.view.player import motion_html

DT, PAUSE, BRAKING = 0.01, 0.35, 0.3  # s
ACCELERATION, MARGIN = 8.0, 0.01  # rad/s², m
MOVED_AT = 0.45  # part of the motion of the first parcel after which the post is moved


@dataclass(frozen=True)
class Leg:
    """One motion: its name, path, times (s) of planning and timing, when it begins, and its duration (s)."""

    name: str
    path: PlannedPath
    planning: float
    timing: float
    begins: float
    duration: float


@dataclass
class PlanRecord:
    """All motions, one after the other, and the scene by the time from which it holds."""

    robot: Robot
    legs: list[Leg] = field(default_factory=list)
    scenes: dict[float, Scene] = field(default_factory=dict)
    t: list[float] = field(default_factory=lambda: [0.0])
    q: list[Array] = field(default_factory=lambda: [HOME])

    @property
    def trajectory(self) -> Trajectory:
        """Time and configurations."""
        t, q = np.array(self.t), np.array(self.q)
        return Trajectory(t, q, np.gradient(q, t, axis=0), np.zeros_like(q), self.robot)

    def clearance(self) -> Array:
        """Distance (m) of the arm from the nearest object of the scene at each sample; what it carries, and
        what that touches, left out."""
        t, found = np.array(self.t), np.full(len(self.t), np.inf)
        starts = sorted(self.scenes)
        for start, end in zip(starts, [*starts[1:], np.inf], strict=True):
            near = self.scenes[start].copy()
            for name in [name for name in near if name == "tool" or name.startswith("parcel")]:
                near.remove(name)
            rows = np.flatnonzero((t >= start) & (t < end))
            found[rows] = [self.robot.distance(self.q[k], near, self_collision=False) for k in rows]
        return found


def sort_parcels(seed: int = 0) -> PlanRecord:
    """Plan all motions: two parcels from shelf to bin; under way with the first one the post is moved."""
    robot, scene = load("panda"), workcell()
    forward = np.eye(4)
    forward[2, 3] = TOOL / 2
    scene.attach("tool", robot, HAND, forward)
    record, planner = PlanRecord(robot), Planner(robot, margin=MARGIN)
    record.scenes[0.0] = scene.copy()
    for k in range(len(PARCELS)):
        _move(record, planner, scene, f"to parcel {k + 1}", grasp(k), seed)
        scene.attach(f"parcel {k}", robot, HAND, q=record.q[-1])
        _move(record, planner, scene, f"parcel {k + 1} to the bin", release(k), seed, moved=k == 0)
        scene.detach(f"parcel {k}", robot, record.q[-1])
        fallen = scene.objects[f"parcel {k}"].pose.copy()
        fallen[2, 3] -= DROP
        scene.move(f"parcel {k}", fallen)
    _move(record, planner, scene, "home", HOME, seed)
    return record


def _move(
    record: PlanRecord, planner: Planner, scene: Scene, name: str, goal: Any, seed: int, moved: bool = False
) -> None:
    """Plan and append one motion; with `moved` the post is moved under way, and the rest planned again."""
    record.scenes[record.t[-1]] = scene.copy()
    planner.update(scene)
    frame = HAND if np.ndim(goal) == 2 else None
    planner.plan(record.q[-1], goal, 20.0, seed, frame=frame)  # inverse kinematics and kernels are warm then
    goals = planner.query(record.q[-1], goal, frame).goal
    motion = _append(record, name, lambda: planner.plan(record.q[-1], goals, 20.0, seed))
    if not moved:
        _extend(record, motion.t, motion.q)
        return
    until = _braking(motion.duration)
    stopping = motion.resample(until).q
    _extend(record, np.asarray(DT * np.arange(1, len(until) + 1), np.float64), stopping, pause=0.0)
    _block(planner, scene, motion, stopping)
    record.scenes[record.t[-1] - BRAKING] = scene.copy()
    again = _append(record, f"{name}, planned again", lambda: planner.replan(record.q[-1], 20.0, seed))
    _extend(record, again.t, again.q)


def _block(planner: Planner, scene: Scene, motion: Any, stopping: Array) -> None:
    """Move the post to where the hand would pass, but not onto the arm at rest nor onto its goal."""
    stop = MOVED_AT * motion.duration + BRAKING / 2
    for share in (0.5, 0.6, 0.4, 0.7, 0.3, 0.8):
        later = stop + share * (motion.duration - stop)
        x, y = planner.robot.pose(HAND)(motion.resample([0.0, later]).q[1])[:2, 3]
        scene.move("post", [x, y, POST[2]])
        planner.update(scene)
        ends = np.vstack([stopping[-round(BRAKING / DT) :], motion.q[-1:]])
        if not planner.in_collision(ends).any():
            return
    raise HelicoidError("the post has no place in the path of this seed; choose another seed")


def _braking(duration: float) -> Array:
    """Times of a motion, every DT: as planned until MOVED_AT, then slower, to rest within BRAKING."""
    first = np.arange(DT, MOVED_AT * duration, DT)
    s = np.linspace(0, 1, round(BRAKING / DT) + 1)[1:]
    return np.concatenate([first, first[-1] + BRAKING * (s - s**2 / 2)])


def _append(record: PlanRecord, name: str, plan: Any) -> Any:
    began = time.thread_time()
    path = plan()
    planned = time.thread_time()
    if not path.success:
        raise HelicoidError(f"{name}: {path.message}")
    path.timed(acceleration=ACCELERATION, dt=DT)
    between = time.thread_time()
    motion = path.timed(acceleration=ACCELERATION, dt=DT)
    seconds = planned - began, time.thread_time() - between
    record.legs.append(Leg(name, path, *seconds, record.t[-1], motion.duration))
    return motion


def _extend(record: PlanRecord, t: Array, q: Array, pause: float = PAUSE) -> None:
    begins = record.t[-1]
    record.t += (begins + t[t > 0]).tolist()
    record.q += list(q[t > 0])
    if pause:
        record.t.append(record.t[-1] + pause)
        record.q.append(record.q[-1])


def write_plan(record: PlanRecord, folder: Path) -> Path:
    """Write `plan.html` into a folder and return its path."""
    return write_page(folder / "plan.html", page(record))


def page(record: PlanRecord) -> str:
    """HTML page of the motions."""
    motion = record.trajectory
    lead = (
        "A Panda takes parcels from a shelf to a bin. Each motion is planned by RRT-Connect over compiled "
        "collision checks, certified to be free all along, and timed within the limits of velocity, "
        "acceleration and torque. Under way with the first parcel the post is moved into the path: the arm "
        "brakes along the path that is still free, and plans again with the tree of the goal."
    )
    stage = motion_html(record.robot, motion, trace=HAND, scene=record.scenes)
    text = (
        '<div class="words"><p>Times are processor time on one core. For the planner, what '
        "the arm carries is part of the robot. This page was written by <code>helicoid demo plan</code>."
        "</p></div>"
    )
    charts = [clearances(record), speeds(record)]
    return document("An arm among obstacles", lead, figures(record), stage, charts, table(record) + text)


def figures(record: PlanRecord) -> list[tuple[str, str]]:
    """Key figures as numbers with captions."""
    planning = 1e3 * np.array([leg.planning for leg in record.legs])
    timing = 1e3 * np.array([leg.timing for leg in record.legs])
    return [
        (f"{np.median(planning):.2f} ms", f"median time of planning, {planning.max():.1f} ms at most"),
        (f"{np.median(timing):.2f} ms", "median time of rounding corners and timing under torque limits"),
        (f"{1e3 * record.clearance().min():.0f} mm", f"least distance of the arm from an object; "
         f"{1e3 * MARGIN:.0f} mm were asked for"),
        (f"{record.t[-1]:.1f} s", f"for {len(record.legs)} motions with their pauses"),
    ]  # fmt: skip


def table(record: PlanRecord) -> str:
    """Table of the motions."""
    rows = "".join(
        f'<tr><td style="--mark:var(--adaptive)">{leg.name}</td><td>{leg.begins:.1f} s</td>'
        f"<td>{leg.path.samples}</td><td>{leg.path.nodes}</td><td>{1e3 * leg.planning:.2f} ms</td>"
        f"<td>{1e3 * leg.timing:.2f} ms</td><td>{leg.path.length:.2f} rad</td></tr>"
        for leg in record.legs
    )
    heads = "".join(
        f"<th>{head}</th>"
        for head in ("motion", "begins", "samples", "nodes", "planning", "timing", "length")
    )
    return f'<section class="table"><table><tr>{heads}</tr>{rows}</table></section>'


def _axis(record: PlanRecord) -> Axis:
    return Axis(0.0, record.t[-1], "t (s)")


def _event(record: PlanRecord) -> tuple[float, str]:
    return next(leg.begins - BRAKING for leg in record.legs if "again" in leg.name), "the post is moved"


def clearances(record: PlanRecord) -> tuple[Chart, str]:
    """Distance from the nearest object."""
    near = 100 * record.clearance()
    line = Curve(record.t, near, "var(--adaptive)", "arm")
    level = Level(100 * MARGIN, "margin")
    axis = Axis(0.0, 1.1 * float(near.max()), "cm")
    note = "Between the shapes of the arm and the nearest object that it does not carry."
    return Chart("Distance from obstacles", _axis(record), axis, [line], (level,), _event(record)), note


def speeds(record: PlanRecord) -> tuple[Chart, str]:
    """Joint velocities relative to their limits."""
    motion = record.trajectory
    used = 100 * motion.v / record.robot.limits.velocity
    names = ["joint 1", *(str(k) for k in range(2, 8))]
    lines = [Curve(motion.t, used[:, k], f"var(--j{k + 1})", name, 1.2) for k, name in enumerate(names)]
    note = f"Accelerations up to {ACCELERATION:g} rad/s², torques within the robot's limits."
    axis = Axis(-125.0, 125.0, "% of limits")
    return Chart("Joint velocities", _axis(record), axis, lines, event=_event(record)), note
