"""A Talos stands on two feet in MuJoCo, shifts its weight and lifts a foot for five seconds."""

from __future__ import annotations

import importlib.metadata
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import helicoid as hc
from helicoid.control import (
    CenterOfMassTask,
    OrientationTask,
    PoseTask,
    PostureTask,
    SurfaceContact,
    WholeBody,
)

try:
    importlib.metadata.files("example-robot-data")
except importlib.metadata.PackageNotFoundError:
    pytest.skip("the robot is part of example-robot-data", allow_module_level=True)

from benchmarks.control.differential import talos

mujoco = pytest.importorskip("mujoco")
pytestmark = [pytest.mark.slow, pytest.mark.needs_compiler]
DT, SOLES, SIZE = 0.002, ("left_sole_link", "right_sole_link"), (0.2, 0.12)


class Ground:
    """The same URDF on a plane, with boxes for soles; steps of a millisecond."""

    def __init__(self, robot: hc.Robot, q, folder) -> None:
        robot.to_urdf(folder / "robot.urdf")
        source = ElementTree.parse(folder / "robot.urdf").getroot()
        for link in source.iter("link"):
            for part in [*link.findall("visual"), *link.findall("collision")]:
                link.remove(part)
        ElementTree.ElementTree(source).write(folder / "robot.urdf")
        spec = mujoco.MjSpec.from_file(str(folder / "robot.urdf"))
        spec.compiler.fusestatic = False
        spec.compiler.boundmass, spec.compiler.boundinertia = 1e-6, 1e-9
        spec.worldbody.first_body().add_freejoint()
        touching = {"contype": 1, "conaffinity": 1, "friction": [0.8, 0.005, 1e-4]}
        for sole in SOLES:
            box = {"type": mujoco.mjtGeom.mjGEOM_BOX, "size": [SIZE[0] / 2, SIZE[1] / 2, 0.01]}
            spec.body(sole).add_geom(**box, pos=[0, 0, 0.01], mass=0, **touching)
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[9, 9, 0.1], **touching)
        spec.option.timestep = 0.001
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        joints = [self.model.joint(name) for name in robot.joint_names[1:]]
        self._q = [joint.qposadr[0] for joint in joints]
        self._v = [joint.dofadr[0] for joint in joints]
        self.data.qpos[:7], self.data.qpos[self._q] = q[:7], q[7:]
        mujoco.mj_forward(self.model, self.data)

    def state(self):
        """q and v as Helicoid has them."""
        data, R = self.data, np.zeros(9)
        mujoco.mju_quat2Mat(R, data.qpos[3:7])
        linear = R.reshape(3, 3).T @ data.qvel[:3]
        q = np.concatenate([data.qpos[:7], data.qpos[self._q]])
        return q, np.concatenate([data.qvel[3:6], linear, data.qvel[self._v]])

    def hold(self, tau) -> None:
        self.data.qfrc_applied[self._v] = tau[6:]
        for _ in range(round(DT / 0.001)):
            mujoco.mj_step(self.model, self.data)


def test_it_stands_on_one_foot(tmp_path):
    subject = talos()
    assert subject is not None
    robot, q = subject.robot, subject.posture.copy()
    q[2] -= robot.pose(SOLES[0])(q)[2, 3]
    start, foot = robot.center_of_mass(q), robot.pose(SOLES[1])(q)
    left = robot.pose(SOLES[0])(q)[:3, 3]
    tasks = [
        CenterOfMassTask(start, 10.0, name="center"),
        OrientationTask("torso_2_link", robot.pose("torso_2_link")(q)[:3, :3], 2.0),
        PoseTask(SOLES[1], foot, 10.0, name="foot"),
        PostureTask(q, 1e-2),
    ]
    soles = [SurfaceContact(sole, 0.5, size_xy=(0.16, 0.09)) for sole in SOLES]
    wb = WholeBody(robot, tasks, soles, DT, frequency=[6.0, 8.0, 10.0, 5.0], ramp=0.1, force_damping=1e-6)
    ground, over = Ground(robot, q, tmp_path), np.array([left[0], left[1], start[2]])
    fine, lifted = [], []
    for k in range(round(9.0 / DT)):
        t = k * DT
        share = np.clip((t - 0.5) / 1.5, 0.0, 1.0)
        wb.set(center=start + (3 * share**2 - 2 * share**3) * (over - start))
        if k == round(2.5 / DT):
            wb.contact(SOLES[1], active=False)
        up = foot.copy()
        up[2, 3] += 0.05 * np.clip((t - 2.7) / 0.5, 0.0, 1.0)
        wb.set(foot=up)
        here, v = ground.state()
        tau = wb.step(here, v)
        fine.append(wb.ok)
        ground.hold(tau)
        assert abs(here[2] - q[2]) < 0.15 and np.hypot(here[4], here[5]) < 0.1, f"fell at {t:.2f} s"
        if t > 3.5:
            lifted.append(robot.pose(SOLES[1])(here)[2, 3])
    assert np.mean(fine) > 0.99
    assert np.abs(np.array(lifted) - 0.05).max() < 0.02  # five seconds and more
    assert np.linalg.norm((robot.center_of_mass(here) - over)[:2]) < 0.02
