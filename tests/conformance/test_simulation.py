"""Simulated motions against MuJoCo: the same bodies, the same method, the same steps."""

from __future__ import annotations

import warnings
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest
from mujoco_peer import MuJoCo
from real_robots import FILES, Array

import helicoid as hc
from helicoid.simulation import simulate

MOTIONS = {
    "panda_description/urdf/panda.urdf": "fixed",
    "a1_description/urdf/a1.urdf": "floating",
}
DURATION, DT = 1.0, 1e-3


def without_mimics(path: Path, folder: Path) -> Path:
    """The file with every joint on its own: MuJoCo knows no mimic joints of URDF."""
    root = ElementTree.parse(path).getroot()
    for joint in root.iter("joint"):
        for mimic in joint.findall("mimic"):
            joint.remove(mimic)
    (folder / path.name).write_text(ElementTree.tostring(root, encoding="unicode"))
    return folder / path.name


def mujoco_motion(peer: MuJoCo, q: Array, v: Array, tau: Array, n_steps: int) -> tuple[Array, Array]:
    """Final q and v in Helicoid's coordinates."""
    model, data = peer.model, peer.data
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, DT
    T, _ = peer._T(q, v)
    data.qpos, data.qvel, data.qfrc_applied = peer._q(q), T @ v, np.linalg.solve(T.T, tau)
    for _ in range(n_steps):
        mujoco.mj_step(model, data)
    T, _ = peer._T(data.qpos, np.zeros(len(v)))
    return np.array(data.qpos), np.linalg.solve(T, data.qvel)


@pytest.mark.parametrize("name", MOTIONS)
def test_a_second_of_motion_is_the_same(name: str, tmp_path: Path) -> None:
    base = MOTIONS[name]
    path = without_mimics(FILES[name], tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.DoubtfulModelWarning)
        robot = hc.load(path, base=base)  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    q, v, tau = robot.random(rng), 0.3 * rng.normal(size=robot.nv), 0.1 * rng.normal(size=robot.nv)
    if base == "floating":
        q[:7], tau[:6] = [0, 0, 0, 1, 0, 0, 0], 0  # MuJoCo takes forces on the base in other axes
    n_steps = round(DURATION / DT)
    q_theirs, v_theirs = mujoco_motion(MuJoCo(path, robot, base), q, v, tau, n_steps)
    motion = simulate(robot, q, v, DURATION, tau, DT, friction=False)
    assert np.abs(motion.v).max() > 1.0
    assert np.abs(robot.difference(motion.q[-1], q_theirs)).max() < 1e-8
    assert np.abs(motion.v[-1] - v_theirs).max() < 1e-8 * max(1.0, np.abs(v_theirs).max())
