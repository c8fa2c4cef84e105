"""A Panda with a gripper lifts a box: planned by inverse kinematics, controlled, and moved by MuJoCo.

    python examples/grasp.py grasp.png

The gripper is attached to the arm and the box to the world by a floating joint; MuJoCo has the contacts
between fingers, box and ground. The picture shows the heights of hand and box and the forces of the fingers.
"""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import helicoid as hc

INERTIAL = """<inertial><mass value="{0}"/>
  <inertia ixx="{1}" iyy="{1}" izz="{1}" ixy="0" ixz="0" iyz="0"/></inertial>"""
SHAPE = '<collision><origin xyz="0 0 {1}"/><geometry><box size="{0}"/></geometry></collision>'
FINGER = (
    '<link name="{side}">'
    + INERTIAL.format(0.05, 1e-4)
    + SHAPE.format("0.02 0.01 0.12", 0.06)
    + """</link>
  <joint name="{side}_joint" type="prismatic"><parent link="hand"/><child link="{side}"/>
    <origin xyz="0 {y} 0.05"/><axis xyz="0 {sign} 0"/><dynamics damping="5"/>
    <limit lower="0" upper="0.04" velocity="0.2" effort="40"/></joint>"""
)
GRIPPER = (
    '<robot name="gripper"><link name="hand">'
    + INERTIAL.format(0.5, 1e-3)
    + SHAPE.format("0.1 0.12 0.04", 0)
    + "</link>"
    + FINGER.format(side="left", sign=1, y=0.005)
    + FINGER.format(side="right", sign=-1, y=-0.005)
    + "</robot>"
)
BOX = (
    '<robot name="box"><link name="box">'
    + INERTIAL.format(0.3, 2e-4)
    + SHAPE.format("0.04 0.04 0.08", 0)
    + "</link></robot>"
)
GRIP = 15.0  # N, of each finger
CLOSE, LIFT, ARRIVE, END = 0.2, 0.6, 1.6, 2.2  # s


def scene() -> tuple[hc.Robot, hc.Robot]:
    """The arm with its gripper, and the same beside a box that moves freely."""
    arm = hc.load("panda").attach(hc.load(GRIPPER), to="panda_link8")
    return arm, arm.attach(hc.load(BOX), to="world", joint="floating")


def lifted(seconds: float = END) -> hc.Trajectory:
    """The motion in MuJoCo."""
    arm, world = scene()
    ik = hc.control.InverseKinematics(arm, "hand")
    at_box, above = (np.diag([1.0, -1.0, -1.0, 1.0]) for _ in range(2))
    at_box[:3, 3], above[:3, 3] = (0.5, 0, 0.19), (0.5, 0, 0.45)
    low = ik(at_box, q0=np.array([0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.8, 0.04, 0.04]))
    high = ik(above, q0=low.q)
    assert low.success and high.success
    law = hc.control.ComputedTorque(arm, frequency=15.0)

    def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        s = np.clip((t - LIFT) / (ARRIVE - LIFT), 0, 1)
        tau = law.step(q[:9], v[:9], q_ref=low.q + s**2 * (3 - 2 * s) * (high.q - low.q))
        if t > CLOSE:
            tau[7:] = -GRIP
        return np.r_[tau, np.zeros(6)]

    q0 = np.r_[low.q, 0.5, 0, 0.04, 1, 0, 0, 0]
    options: dict[str, Any] = {"ground": hc.Ground(friction=0.8), "engine": "mujoco"}
    return hc.simulate(world, q0, duration=seconds, controller=control, **options)


def main(picture: str) -> None:
    """Lift the box and draw what happened."""
    motion = lifted()
    assert motion.robot is not None
    hand = np.asarray(motion.robot.pose("hand")(motion.q))[:, 2, 3]
    print(f"the box has been lifted by {motion.q[-1, 11] - motion.q[0, 11]:.2f} m")
    figure, (heights, forces) = plt.subplots(2, 1, sharex=True, figsize=(7, 5), layout="constrained")
    heights.plot(motion.t, hand, label="hand")
    heights.plot(motion.t, motion.q[:, 11], label="box")
    heights.set_ylabel("height (m)")
    for name in ("left", "right"):
        column = motion.contact_names.index(name)
        size = np.linalg.norm(motion.contact_forces[:, column], axis=1)
        forces.plot(motion.t, size, label=f"{name} finger")
    forces.set(xlabel="t (s)", ylabel="contact force (N)", ylim=(0, 3 * GRIP))
    for axes in (heights, forces):
        axes.legend()
        axes.grid(alpha=0.3)
    figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "grasp.png")
