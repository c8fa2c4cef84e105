"""A quadruped trots on MuJoCo's ground, whose contacts know nothing of phases."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import numpy as np
import pytest

import helicoid as hc
from helicoid.mpc import Controller, Phase

try:
    importlib.metadata.files("example-robot-data")
except importlib.metadata.PackageNotFoundError:
    pytest.skip("the benchmark's robots are part of example-robot-data", allow_module_level=True)

from benchmarks.mpc_trot import ANIMALS, DT, standing, trot, walking

mujoco = pytest.importorskip("mujoco")
pytestmark = [pytest.mark.slow, pytest.mark.needs_compiler]
FEET, RADIUS = ANIMALS["quadruped"].feet, ANIMALS["quadruped"].radius
URDF = Path(hc.__file__).parent / "model" / "bundled" / "quadruped.urdf"


class Ground:
    """The bundled quadruped on a plane, its feet balls with friction; steps of a millisecond."""

    def __init__(self, robot: hc.Robot, q: np.ndarray) -> None:
        spec = mujoco.MjSpec.from_string(URDF.read_text(encoding="utf-8"))
        spec.compiler.fusestatic = False
        spec.worldbody.first_body().add_freejoint()
        for geom in list(spec.geoms):
            geom.contype = geom.conaffinity = 0
        touching = {"contype": 1, "conaffinity": 1, "friction": [0.8, 0.005, 1e-4]}
        for foot in FEET:
            ball = {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "size": [RADIUS, 0, 0], "mass": 0}
            spec.body(foot).add_geom(**ball, **touching)
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

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """q and v as Helicoid has them: the velocity of the trunk is MuJoCo's, in the trunk's axes."""
        data, R = self.data, np.zeros(9)
        mujoco.mju_quat2Mat(R, data.qpos[3:7])
        linear = R.reshape(3, 3).T @ data.qvel[:3]
        q = np.concatenate([data.qpos[:7], data.qpos[self._q]])
        return q, np.concatenate([data.qvel[3:6], linear, data.qvel[self._v]])

    def hold(self, tau: np.ndarray, seconds: float) -> None:
        """The torques of the motors for a time."""
        self.data.qfrc_applied[self._v] = tau[6:]
        for _ in range(round(seconds / 0.001)):
            mujoco.mj_step(self.model, self.data)


@pytest.mark.parametrize(("speed", "push"), [(0.3, 0.0), (-0.3, 0.0), (0.3, 0.3)])
def test_a_trot_on_ground_that_is_not_the_plans(speed: float, push: float) -> None:
    """Torques of 25 ms without any loop inside: it stays upright and goes as fast as it should.

    A push is a jump of the trunk's velocity to the side (m/s) in the middle of a step.
    """
    robot, q = standing("quadruped")
    ground = Ground(robot, q)
    assert np.isclose(ground.model.body_mass.sum(), robot.mass)
    controller = Controller(walking("quadruped", cyclic=False))
    controller.set(phases=[Phase(0.5, FEET), *8 * trot("quadruped")], velocity=[speed, 0.0, 0.0])
    path, fine = [], []
    for k in range(round(4.0 / DT)):
        if k == 70:
            ground.data.qvel[1] += push
        here, v = ground.state()
        ground.hold(controller.step(here, v), DT)
        path.append(here)
        fine.append(controller.ok)
    places = np.array(path)
    gone = places[-1, 0] - places[40, 0]
    assert gone / ((len(path) - 41) * DT) == pytest.approx(speed, abs=0.08)
    assert np.all(np.abs(places[:, 2] - q[2]) < 0.03)
    assert np.all(np.hypot(places[:, 4], places[:, 5]) < 0.1)  # half of its tilt
    assert np.mean(fine) > 0.9
