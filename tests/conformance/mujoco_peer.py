"""Reference values by MuJoCo, in Helicoid's conventions.

MuJoCo's generalised velocity is v_m = T(q) v: the same for joints, and for a free base the linear velocity in
world axes before the angular one in body axes. Hence a_m = T a + Ṫ v and τ = Tᵀ τ_m. It ignores mimic joints
of a URDF; their coupling is part of T.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import mujoco
import numpy as np
from real_robots import Array, States, mimics

import helicoid as hc
from helicoid.geometry import quaternion

# Bodies as the file states them: none merged, no inertia mended or guessed from shapes.
COMPILER = {
    "fusestatic": "false",
    "discardvisual": "true",
    "balanceinertia": "false",
    "inertiafromgeom": "false",
    "strippath": "false",
    "boundmass": "0",
    "boundinertia": "0",
}


class Answers(NamedTuple):
    """One sample a row."""

    mass_matrix: Array
    bias: Array
    inverse_dynamics: Array
    forward_dynamics: Array


def _spec(path: Path, base: str) -> mujoco.MjSpec:
    """The file without what is only drawn, on the base asked for."""
    root = ElementTree.parse(path).getroot()
    for parent in list(root.iter()):
        for child in [c for c in parent if c.tag in ("visual", "collision", "gazebo", "transmission")]:
            parent.remove(child)
    extension = ElementTree.SubElement(root, "mujoco")
    ElementTree.SubElement(extension, "compiler", COMPILER)
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding="unicode"))
    if base == "floating":
        spec.worldbody.first_body().add_freejoint()
    return spec


class MuJoCo:
    """MuJoCo's model of one file, called with batches of states in Helicoid's order."""

    def __init__(self, path: Path, robot: hc.Robot, base: str) -> None:
        self.model = _spec(path, base).compile()
        # Only bodies and joints: neither contacts and limits nor what slows joints down.
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self.model.dof_damping[:] = self.model.dof_armature[:] = 0.0
        self.data = mujoco.MjData(self.model)
        self._n_base = n_base = int(base == "floating")
        self._coupling = np.zeros((self.model.nv - 6 * n_base, robot.nv - 6 * n_base))
        self._offset = np.zeros(self.model.nq - 7 * n_base)
        columns = {name: k for k, name in enumerate(robot.joint_names[n_base:])}
        coupled = mimics(path)
        for i in range(n_base, self.model.njnt):
            name = self.model.joint(i).name
            source, k, self._offset[i - n_base] = coupled.get(name, (name, 1.0, 0.0))
            self._coupling[i - n_base, columns[source]] = k

    def _q(self, q: Array) -> Array:
        n = 7 * self._n_base
        return np.concatenate([q[:n], self._coupling @ q[n:] + self._offset])

    def _T(self, q: Array, v: Array) -> tuple[Array, Array]:
        """T and Ṫ v."""
        n = 6 * self._n_base
        T, T_dot_v = np.zeros((self.model.nv, len(v))), np.zeros(self.model.nv)
        T[n:, n:] = self._coupling
        if n:
            R = np.asarray(quaternion.to_matrix(q[3:7]))
            T[:3, 3:6], T[3:6, :3] = R, np.eye(3)
            T_dot_v[:3] = R @ np.cross(v[:3], v[3:6])
        return T, T_dot_v

    def answers(self, states: States) -> Answers:
        """M, h, τ and a for each state."""
        samples = list(map(self._answer, *states))
        return Answers(*(np.array(column) for column in zip(*samples, strict=True)))

    def _answer(self, q: Array, v: Array, a: Array, tau: Array) -> Answers:
        model, data = self.model, self.data
        T, T_dot_v = self._T(q, v)
        data.qpos, data.qvel, data.qacc = self._q(q), T @ v, T @ a + T_dot_v
        mujoco.mj_inverse(model, data)
        inverse = T.T @ data.qfrc_inverse
        M = np.zeros((model.nv, model.nv))
        for row, unit in zip(M, np.eye(model.nv), strict=True):  # its storage of M differs between versions
            mujoco.mj_mulM(model, data, row, unit)
        bias = T.T @ (data.qfrc_bias + M @ T_dot_v)
        if T.shape[0] > T.shape[1]:  # free joints that ought to be coupled: its acceleration is another one
            return Answers(T.T @ M @ T, bias, inverse, np.linalg.solve(T.T @ M @ T, tau - bias))
        data.qfrc_applied = np.linalg.solve(T.T, tau)
        mujoco.mj_forward(model, data)
        return Answers(T.T @ M @ T, bias, inverse, np.linalg.solve(T, data.qacc - T_dot_v))
