"""Quadrupeds walk on MuJoCo's ground, with a wrong mass, little friction, and a push from any side."""

from __future__ import annotations

import importlib.metadata
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import helicoid as hc
from helicoid.walking import Gait, Walker

try:
    importlib.metadata.files("example-robot-data")
except importlib.metadata.PackageNotFoundError:
    pytest.skip("the robots are part of example-robot-data", allow_module_level=True)

from benchmarks.mpc_trot import ANIMALS, standing

mujoco = pytest.importorskip("mujoco")
pytestmark = [pytest.mark.slow, pytest.mark.needs_compiler]
FRICTION, PUSH, DT = 0.6, 50.0, 0.002


class Ground:
    """A robot of the same URDF on a plane, its feet balls; steps of a millisecond."""

    def __init__(self, robot: hc.Robot, q, feet, radius: float, folder, mass: float) -> None:
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
        touching = {"contype": 1, "conaffinity": 1, "friction": [FRICTION, 0.005, 1e-4]}
        for foot in feet:
            ball = {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "size": [radius, 0, 0], "mass": 0}
            spec.body(foot).add_geom(**ball, **touching)
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[99, 99, 0.1], **touching)
        spec.option.timestep = 0.001
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        self.model = spec.compile()
        self.model.body_mass[:] *= mass
        self.model.body_inertia[:] *= mass
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

    def hold(self, tau, push) -> None:
        self.data.qfrc_applied[self._v] = tau[6:]
        self.data.xfrc_applied[1, :3] = push
        for _ in range(round(DT / 0.001)):
            mujoco.mj_step(self.model, self.data)


@pytest.fixture(scope="module", params=["a1", "quadruped"])
def walker(request):
    robot, q = standing(request.param)
    animal = ANIMALS[request.param]
    a, b, c, d = animal.feet
    made = Walker(robot, q, Gait(((a, b), (c, d))), foot_radius=animal.radius, friction=0.5)
    return made, q, animal.feet, animal.radius


@pytest.mark.parametrize("seed", range(20))
def test_ten_metres_a_turn_and_a_stop(seed, walker, tmp_path):
    dog, q, feet, radius = walker
    rng = np.random.default_rng(seed)
    mass, angle, pushed = rng.choice([0.95, 1.05]), rng.uniform(0, 2 * np.pi), rng.uniform(2.0, 18.0)
    ground, far, turned = Ground(dog.robot, q, feet, radius, tmp_path, mass), 0.0, np.inf
    dog.reset()
    for k in range(round(40.0 / DT)):
        t = k * DT
        here, v = ground.state()
        far = np.hypot(*here[:2])
        if k == 250:
            dog.go(forward=0.5)
        if far > 10.0 and np.isinf(turned):
            turned = t
            dog.go(forward=0.3, turn=0.5)
        if turned + 2.0 <= t < turned + 2.0 + DT:
            dog.stop()
        if t > turned + 4.0:
            break
        push = PUSH * np.array([np.cos(angle), np.sin(angle), 0.0]) if pushed <= t < pushed + 0.1 else 0.0
        ground.hold(dog.step(here, v), push)
        assert abs(here[2] - q[2]) < 0.1 and 2 * np.hypot(here[4], here[5]) < 0.5, f"fell at {t:.2f} s"
    assert far > 10.0 and t > turned + 3.9
    assert np.abs(v).max() < 0.2  # it stands
