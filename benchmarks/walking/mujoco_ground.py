"""A legged robot in MuJoCo as a plant, from the URDF that the robot writes."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import helicoid as hc
from helicoid._typing import Array

STEP = 0.001  # s
HEIGHTFIELD_CONTACT = 0.004, 1.0  # s: with the default 0.02 s feet sink through triangles
Feet = Mapping[str, Mapping[str, Any]]


def balls(feet: tuple[str, ...], radius: float) -> Feet:
    """Balls around the frames of feet."""
    return {foot: {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "size": [radius, 0, 0]} for foot in feet}


def soles(feet: tuple[str, ...], size: tuple[float, float]) -> Feet:
    """Boxes of 2 cm above the frames of soles."""
    box = {"type": mujoco.mjtGeom.mjGEOM_BOX, "size": [size[0] / 2, size[1] / 2, 0.01], "pos": [0, 0, 0.01]}
    return dict.fromkeys(feet, box)


class MuJoCoGround:
    """The same URDF on a level plane, touched by `feet` alone; elliptic cones, steps of a millisecond.

    Args:
        q: where it begins.
        feet: shapes by link; see `balls` and `soles`.
        folder: for the URDF.
        friction: of feet and plane.
        mass: what all masses and inertias are multiplied by.
        heights: of the ground (m) over x and y, on a grid of 10 cm around the origin; a level plane without.
    """

    def __init__(
        self,
        robot: hc.Robot,
        q: Array,
        feet: Feet,
        folder: Path,
        friction: float,
        mass: float = 1.0,
        heights: Array | None = None,
    ) -> None:
        robot.to_urdf(folder / "robot.urdf")
        source = ElementTree.parse(folder / "robot.urdf").getroot()
        for link in source.iter("link"):
            for part in [*link.findall("visual"), *link.findall("collision")]:
                link.remove(part)
        ElementTree.ElementTree(source).write(folder / "robot.urdf")
        spec = mujoco.MjSpec.from_file(str(folder / "robot.urdf"))
        spec.compiler.fusestatic = False
        spec.compiler.balanceinertia = True  # where a description rounds them
        spec.compiler.boundmass, spec.compiler.boundinertia = 1e-6, 1e-9
        spec.worldbody.first_body().add_freejoint()
        touching = {"contype": 1, "conaffinity": 1, "friction": [friction, 0.005, 1e-4]}
        for foot, shape in feet.items():
            spec.body(foot).add_geom(**shape, mass=0, **touching)
        if heights is None:
            spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[99, 99, 0.1], **touching)
        else:
            nx, ny = heights.shape
            size = [0.05 * (nx - 1), 0.05 * (ny - 1), max(float(np.ptp(heights)), 1e-3), 1.0]
            data = ((heights - heights.min()) / size[2]).T.ravel()
            spec.add_hfield(name="ground", nrow=ny, ncol=nx, size=size, userdata=data)
            spec.worldbody.add_geom(
                type=mujoco.mjtGeom.mjGEOM_HFIELD,
                hfieldname="ground",
                pos=[0, 0, float(heights.min())],
                priority=1,
                solref=HEIGHTFIELD_CONTACT,
                **touching,
            )
        spec.option.timestep = STEP
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

    def state(self) -> tuple[Array, Array]:
        """q and v as Helicoid has them."""
        data, R = self.data, np.zeros(9)
        mujoco.mju_quat2Mat(R, data.qpos[3:7])
        linear = R.reshape(3, 3).T @ data.qvel[:3]
        q = np.concatenate([data.qpos[:7], data.qpos[self._q]])
        return q, np.concatenate([data.qvel[3:6], linear, data.qvel[self._v]])

    def hold(self, tau: Array, dt: float, push: Any = 0.0) -> None:
        """Torques of the joints (nv) and a force (3) on the trunk for dt seconds."""
        self.data.qfrc_applied[self._v] = tau[6:]
        self.data.xfrc_applied[1, :3] = push
        for _ in range(round(dt / STEP)):
            mujoco.mj_step(self.model, self.data)
