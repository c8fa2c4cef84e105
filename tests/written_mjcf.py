"""The MJCF that a robot writes, in MuJoCo: its answers in Helicoid's coordinates."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

import casadi as ca
import mujoco
import numpy as np

import helicoid as hc
from helicoid._typing import Array
from helicoid.model.mjcf.writing.coordinates import WrittenCoordinates
from helicoid.robot.loading import mjcf_of


class Answer(NamedTuple):
    """M, h and τ of one state; h and τ without friction."""

    mass_matrix: Array
    bias: Array
    inverse_dynamics: Array


class WrittenRobot:
    """A robot in MuJoCo, through a file. Constraints are off: neither contacts, limits nor dry friction."""

    def __init__(self, robot: hc.Robot, folder: Path, damping: bool = False) -> None:
        path = folder / "robot.xml"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", hc.DoubtfulModelWarning)
            robot.to_mjcf(path)
        self.model = mujoco.MjModel.from_xml_path(str(path))
        for name, moments in mjcf_of(robot).losses.moments.items():  # which MuJoCo's compiler refuses
            self.model.body(name).inertia[:] = moments
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        if not damping:
            self.model.dof_damping[:] = 0.0
            self.model.tendon_damping[:] = 0.0
        self.data = mujoco.MjData(self.model)
        x = WrittenCoordinates(robot.model)
        assert (x.nq, x.nv) == (self.model.nq, self.model.nv)
        q, v, a = (ca.SX.sym(name, n) for name, n in (("q", robot.nq), ("v", robot.nv), ("a", robot.nv)))
        T = ca.densify(ca.jacobian(x.qvel(q, v), v))
        zero = ca.SX.zeros(robot.nv)
        outputs = [x.qpos(q), x.qvel(q, v), x.qacc(q, v, a), x.qacc(q, v, zero), T]
        self._map = ca.Function("map", [q, v, a], [ca.densify(one) for one in outputs])

    def answer(self, q: Array, v: Array, a: Array) -> Answer:
        """MuJoCo's, by τ = Tᵀ qfrc and qacc = T a + Ṫ v."""
        model, data = self.model, self.data
        qpos, qvel, qacc, T_dot_v, T = (np.array(one) for one in self._map(q, v, a))
        data.qpos[:], data.qvel[:], data.qacc[:] = qpos.ravel(), qvel.ravel(), T_dot_v.ravel()
        mujoco.mj_inverse(model, data)
        bias = T.T @ data.qfrc_inverse
        data.qacc[:] = qacc.ravel()
        mujoco.mj_inverse(model, data)
        M = np.zeros((model.nv, model.nv))
        for row, unit in zip(M, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, row, unit)
        return Answer(T.T @ M @ T, bias, T.T @ data.qfrc_inverse)
