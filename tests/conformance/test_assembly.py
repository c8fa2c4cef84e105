"""Robots put together, against Pinocchio's `appendModel`: pairs of real robots, on links and on the world."""

from __future__ import annotations

import zlib

import numpy as np
import pinocchio as pin
import pytest
from real_robots import FILES, Array, load, mimics, named

import helicoid as hc
from helicoid.model.parts import Placement
from random_trees import placement

ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]
PAIRS = [
    pytest.param("ur5_robot.urdf", "fixed", "tool0", "allegro_left_hand.urdf", id="hand on an arm"),
    pytest.param("a1.urdf", "floating", "trunk", "ur5_robot.urdf", id="arm on a quadruped"),
    pytest.param("panda.urdf", "fixed", "panda_hand", "panda.urdf", id="mimic joints twice"),
    pytest.param(
        "hextilt_flying_arm_5.urdf", "floating", None, "double_pendulum_continuous.urdf", id="rotorcraft"
    ),
    pytest.param("ur10_robot.urdf", "fixed", None, "solo12.urdf", id="not looked at before"),
]


class Appended:
    """Pinocchio's model of two files, and the map v_p = G v from the assembled robot's velocities."""

    def __init__(self, files: tuple[str, str], base: str, to: str, T: Placement, robot: hc.Robot) -> None:
        root = [pin.JointModelFreeFlyer()] if base == "floating" else []
        first = pin.buildModelFromUrdf(str(FILES[files[0]]), *root, mimic=False)
        second = pin.buildModelFromUrdf(str(FILES[files[1]]), mimic=False)
        coupled = mimics(FILES[files[0]])
        for name, (source, k, o) in mimics(FILES[files[1]]).items():
            coupled[f"b_{name}"] = f"b_{source}", k, o
        for k in range(1, second.njoints):
            second.names[k] = f"b_{second.names[k]}"
        for frame in second.frames:
            frame.name = f"b_{frame.name}"
        on = first.getFrameId(to, pin.FrameType.BODY)
        self.model = pin.appendModel(first, second, on, pin.SE3(T.rotation, T.translation))
        self.data = self.model.createData()
        self.G = np.zeros((self.model.nv, robot.nv))
        self._parts: list[tuple[slice, slice, float, float]] = []
        for joint, name in zip(list(self.model.joints)[1:], list(self.model.names)[1:], strict=True):
            free = joint.nq == 7
            source, k, o = (robot.joint_names[0], 1.0, 0.0) if free else coupled.get(name, (name, 1.0, 0.0))
            q, v = robot.index(source)
            own = slice(joint.idx_v, joint.idx_v + joint.nv)
            self.G[own, v] = np.eye(6)[ANGULAR_FIRST] if free else k
            self._parts.append((slice(joint.idx_q, joint.idx_q + joint.nq), q, k, o))

    def q(self, q: Array) -> Array:
        result = np.zeros(self.model.nq)
        for theirs, ours, k, o in self._parts:
            angle = k * q[ours] + o
            width = theirs.stop - theirs.start
            value = angle if width == 1 else np.concatenate([np.cos(angle), np.sin(angle)])
            result[theirs] = q[ours][[0, 1, 2, 4, 5, 6, 3]] if width == 7 else value
        return result


@pytest.mark.parametrize(("first", "base", "to", "second"), PAIRS)
def test_assembled_robots_agree_with_append_model(first: str, base: str, to: str | None, second: str) -> None:
    files = named(first), named(second)
    one, other = load(files[0], base), load(files[1], "fixed")
    on = to or one.link_names[-1]
    rng = np.random.default_rng(zlib.crc32(first.encode()))
    T = placement(rng)
    robot = one.attach(other, on, np.vstack([np.c_[T.rotation, T.translation], [0, 0, 0, 1]]), prefix="b_")
    peer = Appended(files, base, on, T, robot)
    for _ in range(3):
        q, v = robot.random(rng), rng.normal(size=robot.nv)
        theirs, G = peer.q(q), peer.G
        M = pin.crba(peer.model, peer.data, theirs, pin.Convention.LOCAL)
        M = G.T @ (np.triu(M) + np.triu(M, 1).T) @ G
        h = G.T @ pin.nonLinearEffects(peer.model, peer.data, theirs, G @ v)
        np.testing.assert_allclose(robot.mass_matrix(q), M, rtol=0, atol=1e-10 * np.abs(M).max())
        np.testing.assert_allclose(robot.bias(q, v), h, rtol=0, atol=1e-10 * np.abs(h).max())
        pin.framesForwardKinematics(peer.model, peer.data, theirs)
        for link in (one.link_names[-1], f"b_{other.link_names[0]}", f"b_{other.link_names[-1]}"):
            frame = peer.model.getFrameId(link, pin.FrameType.BODY)
            np.testing.assert_allclose(robot.pose(link)(q), peer.data.oMf[frame].homogeneous, atol=1e-10)
