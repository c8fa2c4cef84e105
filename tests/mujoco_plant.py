"""MuJoCo as a plant, from the URDF that a robot writes."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import mujoco
import numpy as np

import helicoid as hc
from helicoid._typing import Array
from helicoid.dynamics.physics import nominal


class MuJoCoPlant:
    """A robot on a fixed base in MuJoCo; torques in, states out.

    Args:
        folder: for the URDF.
        tip: a link that carries a ball, if `plate` is given.
        plate: height (m) of a horizontal plate that the ball may touch; nothing else touches anything.
        radius: of the ball (m).
        friction: of ball and plate.
        friction_time: time constant (s) by which MuJoCo's friction would stop what slides, if not its own of
            0.02 s. Its contacts are a convex model in which sliding pushes apart, as if by an acceleration of
            2 · friction · speed / time constant. Beyond some mm/s of friction · speed nothing touches but in
            jumps: the force is none, or more than 10 N.
    """

    def __init__(
        self,
        robot: hc.Robot,
        folder: Path,
        dt: float = 1e-3,
        tip: str = "",
        plate: float | None = None,
        radius: float = 0.02,
        friction: float = 0.1,
        friction_time: float | None = None,
    ) -> None:
        path = folder / "robot.urdf"
        robot.to_urdf(path)
        spec = mujoco.MjSpec.from_file(str(path))
        spec.compiler.balanceinertia = False
        for geom in spec.geoms:
            geom.contype = geom.conaffinity = 0
        if plate is not None:
            ball = next(body for body in spec.bodies if body.name == tip).add_geom()
            ball.type, ball.size = mujoco.mjtGeom.mjGEOM_SPHERE, [radius, 0, 0]
            ball.mass, ball.contype, ball.conaffinity, ball.friction = 0.0, 1, 1, [friction, 0, 0]
            floor = spec.worldbody.add_geom()
            floor.type, floor.size, floor.pos = mujoco.mjtGeom.mjGEOM_PLANE, [2, 2, 0.1], [0, 0, plate]
            floor.contype, floor.conaffinity, floor.friction = 1, 1, [friction, 0, 0]
            if friction_time is not None:  # only pairs have times of their own for friction
                ball.name, floor.name, floor.contype, floor.conaffinity = "ball", "floor", 0, 0
                pair = spec.add_pair(geomname1="ball", geomname2="floor", condim=3)
                pair.friction, pair.solreffriction = [friction, friction, 0, 0, 0], [friction_time, 1.0]
        self.model = spec.compile()
        self.model.dof_armature[:] = np.array(
            ca.evalf(nominal(robot.model).armature)
        ).ravel()  # no URDF has it
        self.model.opt.timestep = dt
        self.model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        self.model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        self.data = mujoco.MjData(self.model)
        self.tip = tip
        assert self.model.nv == robot.nv

    @property
    def q(self) -> Array:
        return np.array(self.data.qpos)

    @property
    def v(self) -> Array:
        return np.array(self.data.qvel)

    def start(self, q: Array) -> None:
        self.data.qpos[:], self.data.qvel[:] = q, 0.0
        mujoco.mj_forward(self.model, self.data)

    def step(self, tau: Array) -> None:
        self.data.qfrc_applied[:] = tau
        mujoco.mj_step(self.model, self.data)

    def pressed(self) -> float:
        """The force (N) with which the ball presses on the plate."""
        total, force = 0.0, np.zeros(6)
        for k in range(self.data.ncon):
            mujoco.mj_contactForce(self.model, self.data, k, force)
            total += force[0]
        return total
