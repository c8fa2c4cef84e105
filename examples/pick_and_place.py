"""A Panda carries a box past a post that is moved into its way: planned, followed by MPC, moved by MuJoCo.

    python examples/pick_and_place.py pick_and_place.png

Motions between the places are planned around the scene and followed by MPC that has the same scene as a
constraint. Under way with the box, which the planner then counts as part of the arm, the post slides into the
path: its pose is updated at every step, and as soon as the rest of the path is not free any more, it is
planned again from where the arm is. MuJoCo has the contacts between fingers, box, post and ground.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from grasp import BOX, GRIP, GRIPPER, INERTIAL

import helicoid as hc

POST = f"""<robot name="post"><link name="rail"/><link name="post">{INERTIAL.format(2.0, 0.1)}
  <collision><geometry><cylinder radius="0.05" length="0.6"/></geometry></collision></link>
  <joint name="slide" type="prismatic"><parent link="rail"/><child link="post"/><axis xyz="-1 0 0"/>
  <limit lower="-1" upper="1" velocity="2" effort="500"/></joint></robot>"""
OPEN, HELD = 0.04, 0.015  # coordinate of the fingers (m): half of the gap beyond 10 mm
PICK, PLACE, ABOVE, DOWN = np.array([0.5, -0.3]), np.array([0.5, 0.3]), 0.33, 0.19  # places, heights (m)
POST_X, SLIDE, SLIDE_TIME = (
    0.85,
    0.36,
    0.5,
)  # where the post stands first, how far and how long it slides (m, s)
PERIOD, MARGIN, CLEARANCE = 0.01, 0.02, 0.04  # s; of MPC and of the planner (m)
LIMITS: dict[str, Any] = {"velocity": 1.0, "acceleration": 3.0, "torque": np.inf}
HOME = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8])


def robots() -> tuple[hc.Robot, hc.Robot]:
    """The arm with its fingers fixed, for planning and control, and all that moves, for MuJoCo."""
    gripper = hc.load("panda").attach(hc.load(GRIPPER), to="panda_link8")
    world = gripper.attach(hc.load(POST), to="world", pose=[POST_X, 0.0, 0.32])
    world = world.attach(hc.load(BOX), to="world", joint="floating")
    return gripper.lock({"left_joint": OPEN, "right_joint": OPEN}), world


def tracking(arm: hc.Robot, scene: hc.Scene) -> hc.mpc.Controller:
    """Joints follow a reference; the scene is a constraint."""
    problem = hc.mpc.Problem(arm, horizon=12, dt=2 * PERIOD)
    problem.add_posture_cost(HOME, weight=50.0, end_weight=100.0)
    problem.add_velocity_cost(0.05)
    problem.add_control_cost(1e-5)
    problem.add_limits()
    problem.add_scene(scene, margin=MARGIN, within=0.2)
    return hc.mpc.Controller(problem, period=PERIOD)


class PickAndPlace:
    """The controller: phases one after the other, each with a motion that MPC follows."""

    def __init__(self, arm: hc.Robot) -> None:
        self.arm, self.near = arm, hc.Scene()
        self.near.add("post", hc.Cylinder(0.05, 0.6), [POST_X, 0.0, 0.32])
        self.scene = self.near.copy()  # for the planner: also the floor and the box
        self.scene.add("floor", hc.Plane([0, 0, 1]))
        self.scene.add("box", hc.Box([0.04, 0.04, 0.08]), [*PICK, 0.04])
        self.scene.allow("floor", "panda_link1")
        for finger in ("left", "right", "hand"):
            self.scene.allow("box", finger)
        self.planner = hc.planning.Planner(arm, self.scene, margin=CLEARANCE)
        self.mpc = tracking(arm, self.near)
        self.ik = hc.control.InverseKinematics(arm, "hand")
        self.phases, self.grip = self._phases(), 0.0
        self.motion: Any = None
        self.follower: Any = None
        self.path: Any = None
        self.began = self.until = self.next = 0.0
        self.tau, self.name, self.moved_at = np.zeros(arm.nv), "", np.inf
        self.replanned: list[float] = []
        self.fine: list[bool] = []

    def _pose(self, place: np.ndarray, height: float) -> np.ndarray:
        T = np.diag([1.0, -1.0, -1.0, 1.0])
        T[:3, 3] = *place, height
        return T

    def _phases(self) -> Iterator[tuple[str, Any]]:
        """Name, and where to: a configuration on a straight way, a path, or a time to wait (s)."""
        q = {(k, h): HOME for k in (0, 1) for h in (ABOVE, DOWN)}
        for k, h in q:
            solved = self.ik(self._pose((PICK, PLACE)[k], h), q0=q[k, ABOVE])
            assert solved.success, solved.message
            q[k, h] = solved.q
        yield "reach", self._planned(q[0, ABOVE])
        yield "down", q[0, DOWN]
        self.grip = GRIP
        yield "grasp", 0.4
        yield "up", q[0, ABOVE]
        self.scene.attach("box", self.arm, "hand", q=q[0, DOWN])
        yield "carry", self._planned(q[1, ABOVE])
        yield "down", q[1, DOWN]
        self.grip = -GRIP
        self.scene.detach("box", self.arm, q[1, DOWN])
        yield "release", 0.4
        yield "up", q[1, ABOVE]
        yield "aside", self._planned(HOME + 1.3 * np.eye(7)[0])
        while True:
            yield "rest", 1.0

    def _planned(self, goal: np.ndarray) -> Any:
        self.planner.update(self.scene)
        path = self.planner.plan(self.q, goal, 5.0)
        assert path.success, path.message
        return path

    def _follow(self, t: float, motion: hc.Trajectory) -> None:
        self.motion, self.follower, self.began = motion, self.mpc.following(motion), t
        self.until = t + motion.t[-1] + 0.2

    def _next_phase(self, t: float) -> None:
        self.name, what = next(self.phases)
        self.path = None
        if isinstance(what, float):
            self.until = t + what
        elif isinstance(what, np.ndarray):
            self._follow(t, hc.control.time_optimal([self.q, what], self.arm, **LIMITS))
        else:
            self.path = what
            self._follow(t, what.timed(**LIMITS))
            if self.name == "carry":
                self.moved_at = t + 0.3

    def _watch(self, t: float, slid: float) -> None:
        """The post is where it is now; if the rest of the path is not free any more, plan again."""
        for scene in (self.near, self.scene):
            scene.move("post", [POST_X - slid, 0.0, 0.32])
        self.planner.update(self.scene)
        if self.path is None:
            return
        rest = self.motion.q[self.motion.t >= t - self.began]
        if len(rest) and self.planner.in_collision(rest).any() and not self.planner.in_collision(self.q):
            path = self.planner.replan(self.q, 0.5)
            if path.success:
                self.path = path
                self.replanned.append(t)
                self._follow(t, path.timed(**LIMITS))

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.q = q[:7]
        if t >= self.next - 1e-9:
            self.next += PERIOD
            self._watch(t, q[9])
            if t >= self.until:
                self._next_phase(t)
            self.tau = self.follower.step(q[:7], v[:7], t=t - self.began)
            self.fine.append(bool(self.mpc.ok))
        fingers = np.full(2, -self.grip) if self.grip else 200 * (OPEN - q[7:9])
        s = np.clip((t - self.moved_at) / SLIDE_TIME, 0, 1)
        post = 4000 * (SLIDE * s**2 * (3 - 2 * s) - q[9]) - 200 * v[9]
        return np.concatenate([self.tau, fingers, [post], np.zeros(6)])


def moved(seconds: float = 12.0) -> tuple[hc.Trajectory, PickAndPlace]:
    """The motion in MuJoCo, and the controller with what it did."""
    arm, world = robots()
    control = PickAndPlace(arm)
    q0 = np.concatenate([HOME, [OPEN, OPEN, 0.0], [*PICK, 0.04, 1, 0, 0, 0]])
    control.q = HOME
    options: dict[str, Any] = {"ground": hc.Ground(friction=0.8), "engine": "mujoco"}
    return hc.simulate(world, q0, duration=seconds, controller=control, dt=0.002, **options), control


def main(picture: str) -> None:
    """Move the box and draw what happened."""
    motion, control = moved()
    near = []
    for q in motion.q[::10]:
        control.near.move("post", [POST_X - q[9], 0.0, 0.32])
        near.append(control.arm.distance(q[:7], control.near, self_collision=False))
    box = motion.q[:, 10:13]
    print(
        f"the box went from {box[0].round(2)} to {box[-1].round(2)}; planned again "
        f"{len(control.replanned)} times; never nearer than {100 * min(near):.1f} cm to the post"
    )
    figure, (top, places, distances) = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
    hand = np.asarray(control.arm.pose("hand")(motion.q[:, :7]))[:, :3, 3]
    top.plot(hand[:, 0], hand[:, 1], label="hand")
    top.plot(box[:, 0], box[:, 1], label="box")
    for x in (POST_X, POST_X - motion.q[-1, 9]):
        top.add_patch(plt.Circle((x, 0.0), 0.05, color="C3", alpha=0.4))
    top.set(xlabel="x (m)", ylabel="y (m)", aspect="equal", title="from above")
    places.plot(motion.t, box, label=["x", "y", "z"])
    places.set(xlabel="t (s)", ylabel="box (m)")
    distances.plot(motion.t[::10], 100 * np.array(near))
    distances.axhline(100 * MARGIN, color="C3", linestyle="--", label="margin of MPC")
    distances.set(xlabel="t (s)", ylabel="distance of arm and post (cm)")
    for t in control.replanned[:1]:
        for axes in (places, distances):
            axes.axvline(t, color="grey", linestyle=":", label="planned again")
    for axes in (top, places, distances):
        axes.legend()
        axes.grid(alpha=0.3)
    figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "pick_and_place.png")
