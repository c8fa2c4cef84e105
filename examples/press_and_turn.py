"""The elbow of a Panda turns while its hand stays, and the hand presses with 10 N while it traces a circle.

    python examples/press_and_turn.py press_and_turn.png

Left: differential kinematics with strict priorities, the hand before a posture of the elbow. Right: hybrid
control on a plate that is a spring of 20 kN/m with a friction of 0.1: first the touch, then a circle of 20 cm
at 0.2 m/s.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np

import helicoid as hc

FRAME, DT = "panda_link8", 1e-3
Q = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8])


def turned(robot: hc.Robot) -> np.ndarray:
    """Configurations in which the elbow swings from one side to the other and the hand stays, (N, 7)."""
    hand = hc.control.PoseTask(FRAME, robot.pose(FRAME)(Q), name="hand")
    swing = hc.control.PostureTask(Q, joints=["panda_joint1"], name="swing")
    ik = hc.control.DifferentialIK(robot, [hand, swing], 0.01, "strict")
    ways: list[list[np.ndarray]] = []
    for side in (-1.2, 1.2):
        ik.set(swing=Q + side * np.eye(7)[0])
        ways.append([Q])
        for _ in range(150):
            ways[-1].append(robot.integrate(ways[-1][-1], 0.01 * ik.step(ways[-1][-1])))
    return np.array([*reversed(ways[0]), *ways[1]])


def circle(t: float, T: np.ndarray, radius: float = 0.1, speed: float = 0.2) -> tuple[np.ndarray, ...]:
    """Pose and twist on a circle that begins within half a second, at t = 1."""
    s = np.clip((t - 1) / 0.5, 0, 1)
    angle = speed / radius * (0.5 * (s**3 - s**4 / 2) + max(t - 1.5, 0))
    rate = speed / radius * (3 * s**2 - 2 * s**3)
    pose, twist = T.copy(), np.zeros(6)
    pose[:2, 3] += radius * np.array([np.cos(angle) - 1, np.sin(angle)])
    twist[3:5] = radius * rate * np.array([-np.sin(angle), np.cos(angle)])
    return pose, twist


def pressed(robot: hc.Robot) -> np.ndarray:
    """The force on the plate at every step (N)."""
    law = hc.control.OperationalSpaceControl(
        robot, FRAME, motion=(1, 1, 1, 1, 1, 0), force_gain=10.0, force_damping=100.0, dt=DT
    )
    pose, J = robot.pose(FRAME), robot.jacobian(FRAME, "world_aligned")
    T, wrench_ref, felt = pose(Q), np.array([0, 0, 0, 0, 0, -10.0]), []

    def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        depth, velocity = T[2, 3] - 0.002 - pose(q)[2, 3], (J(q) @ v)[3:]
        normal = max(0.0, 2e4 * depth - 200 * velocity[2]) if depth > 0 else 0.0
        sliding = -0.1 * normal * velocity[:2] / np.hypot(np.linalg.norm(velocity[:2]), 2e-3)
        felt.append(normal)
        pose_ref, twist = circle(t, T)
        tau = law.step(q, v, pose_ref, wrench_ref, [0, 0, 0, 0, 0, -normal], twist, q_posture=Q)
        return tau + J(q).T @ [0, 0, 0, *sliding, normal]

    hc.simulate(robot, Q, duration=5.0, dt=DT, controller=control)
    return np.array(felt)


def main(picture: str) -> None:
    """Draw both."""
    robot = hc.load("panda").with_joints(friction=0, damping=0)
    links = [name for name in robot.link_names if name.startswith("panda_link")]
    motion, force = turned(robot), pressed(robot)
    hand = robot.pose(FRAME)(motion)[:, :3, 3]
    place = robot.pose(FRAME)(Q)[:3, 3]
    print(f"the hand stays within {1e3 * np.linalg.norm(hand - place, axis=1).max():.2f} mm")
    print(f"force once the circle is traced: {force[1500:].min():.2f} to {force[1500:].max():.2f} N")

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6), constrained_layout=True)
    for k in np.linspace(0, len(motion) - 1, 9).astype(int):
        points = np.array([robot.pose(link)(motion[k])[:3, 3] for link in links])
        left.plot(*points[:, 1:].T, "o-", color=plt.get_cmap("viridis")(k / len(motion)), markersize=3)
    left.plot(*place[1:], "s", color="crimson")
    left.set(title="the elbow turns, the hand (red) stays", xlabel="y (m)", ylabel="z (m)", aspect="equal")
    t = DT * np.arange(len(force))
    right.axhspan(9.5, 10.5, color="0.9")
    right.plot(t, force)
    right.axvline(1.0, color="0.5", linewidth=0.8)
    right.text(1.05, 2.0, "the circle begins")
    right.set(title="force on the plate", xlabel="t (s)", ylabel="N", ylim=(0, None))
    figure.savefig(picture, dpi=130)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "press_and_turn.png")
