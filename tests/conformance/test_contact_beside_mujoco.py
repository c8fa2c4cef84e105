"""Contacts beside MuJoCo: same robot, ground and torques; what differs shrinks as its contacts stiffen."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import helicoid as hc
from contact_bodies import G, box

try:
    importlib.metadata.files("example-robot-data")
except importlib.metadata.PackageNotFoundError:
    pytest.skip("the robots are part of example-robot-data", allow_module_level=True)

from benchmarks.mpc_trot import QUADRUPEDS, standing

mujoco = pytest.importorskip("mujoco")
pytestmark = [pytest.mark.slow, pytest.mark.needs_compiler]
FRICTION, STIFFNESS, DAMPING = 3.0, 60.0, 4.0


def stiffened(ground: Any, time: float) -> Any:
    """Contacts that come to rest within about this time (s)."""
    ground.model.geom_solref[:] = [time, 1.0]
    ground.model.opt.impratio = 10
    ground.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_REFSAFE)
    return ground


def pressed(ground: Any) -> np.ndarray:
    """Normal forces by contact, in the order of their places along x and y."""
    found, force = [], np.zeros(6)
    for k in range(ground.data.ncon):
        mujoco.mj_contactForce(ground.model, ground.data, k, force)
        found.append((*ground.data.contact[k].pos[:2].round(2), force[0]))
    return np.array(sorted(found))[:, 2]


@pytest.mark.parametrize("name", ["a1", "quadruped"])
def test_a_quadruped_with_noise_in_its_motors(name: str, tmp_path: Path) -> None:
    from benchmarks.walking.mujoco_ground import MuJoCoGround, balls

    robot, q0 = standing(name)
    feet, radius = QUADRUPEDS[name].feet, QUADRUPEDS[name].radius
    noise = np.repeat(np.random.default_rng(0).normal(0, 2.0, (50, 12)), 20, axis=0)
    torque = np.hstack([np.zeros((1000, 6)), noise])

    def law(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros(6), STIFFNESS * (q0[7:] - q[7:]) - DAMPING * v[6:]])

    options = {
        "ground": hc.Ground(friction=FRICTION),
        "contacts": [hc.ContactPoint(foot, radius=radius) for foot in feet],
    }
    start = q0 + np.array([0, 0, 1e-7, *np.zeros(robot.nq - 3)])
    still = hc.simulate(robot, start, None, 3.0, law, **options)  # type: ignore[arg-type]
    assert np.abs(still.v[-1]).max() < 1e-3
    ours = hc.simulate(
        robot,
        still.q[-1],
        still.v[-1],
        1.0,
        law,
        disturbance=torque,
        **options,  # type: ignore[arg-type]
    )
    moved = robot.difference(np.tile(ours.q[0], (1000, 1)), ours.q[:-1])

    def apart(stiff: float) -> float:
        """The largest difference of both motions, over the largest motion."""
        plant = stiffened(MuJoCoGround(robot, q0, balls(feet, radius), tmp_path, FRICTION), stiff)
        for _ in range(3000):
            plant.hold(law(0, *plant.state()), 1e-3)
        rest, states = plant.state()[0], []
        if stiff < 0.005:  # it stands as ours does: where, and on what
            assert abs(rest[2] - still.q[-1, 2]) < 1e-3  # its feet creep apart meanwhile
            order = np.lexsort(still.contact_points[-1, :, 1::-1].round(2).T)
            assert_allclose(pressed(plant), still.contact_forces[-1, order, 2], rtol=0.03)
        for tau in torque:
            q, v = plant.state()
            states.append(q)
            plant.hold(law(0, q, v) + tau, 1e-3)
        theirs = robot.difference(np.tile(rest, (1000, 1)), np.array(states))
        return float(np.abs(theirs - moved).max() / np.abs(moved).max())

    soft, stiff = apart(0.02), apart(0.004)
    assert stiff < 0.1 and stiff < soft


def test_a_sliding_box_stops_where_mujocos_does(tmp_path: Path) -> None:
    from benchmarks.walking.mujoco_ground import MuJoCoGround

    robot = box(0.2, 0.3, 0.1)
    ours = hc.simulate(
        robot,
        [0, 0, 0.05, 1, 0, 0, 0],
        [0, 0, 0, 1.0, 0.5, 0],
        0.5,
        ground=hc.Ground(friction=0.4),
        contacts="collision",
    )
    shape = {"box": {"type": mujoco.mjtGeom.mjGEOM_BOX, "size": [0.1, 0.15, 0.05]}}
    plant = stiffened(MuJoCoGround(robot, ours.q[0], shape, tmp_path, 0.4), 0.004)
    plant.data.qvel[:3] = 1.0, 0.5, 0.0
    for _ in range(500):
        plant.hold(np.zeros(6), 1e-3)
    way = ours.q[-1, :2]
    assert_allclose(np.linalg.norm(way), 1.25 / (2 * 0.4 * G), rtol=2e-3)
    # MuJoCo's cones are convex: sliding pushes apart, and so it brakes a little less for a while.
    assert_allclose(plant.data.qpos[:2], way, rtol=0.05)
