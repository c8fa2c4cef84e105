"""Constrained dynamics against Pinocchio's own: feet on the ground, and arms joined at their hands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from comparison import relative_error
from pinocchio_peer import Pinocchio
from real_robots import FILES, Array, load

import helicoid as hc
from helicoid.model import bundled

TOLERANCE = 1e-8
FEET = ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]


def theirs(
    peer: Pinocchio, models: list[pin.RigidConstraintModel], q: Array, v: Array, tau: Array
) -> tuple[Array, list[Array]]:
    """a in our order, and the force (and moment) of each constraint, in the axes of its frame."""
    datas = [model.createData() for model in models]
    pin.initConstraintDynamics(peer.model, peer.data, models, datas)
    settings = pin.ProximalSettings(1e-14, 1e-12, 200)
    q_p = peer.q(q[None])[0]
    a = pin.constraintDynamics(peer.model, peer.data, q_p, peer.G @ v, peer.G @ tau, models, datas, settings)
    return peer.G.T @ a, [np.array(data.contact_force.vector) for data in datas]


def constraint(
    peer: Pinocchio, kind: pin.ContactType, *ends: tuple[str, pin.SE3]
) -> pin.RigidConstraintModel:
    """A frame of one link held to a frame of another, or of the world where only one is given."""
    arguments: list[object] = []
    for link, placement in ends:
        frame = peer.model.frames[peer.model.getFrameId(link, pin.FrameType.BODY)]
        arguments += [frame.parentJoint, frame.placement * placement]
    return pin.RigidConstraintModel(kind, peer.model, *arguments, pin.ReferenceFrame.LOCAL)


def test_a_quadruped_on_its_feet(rng: np.random.Generator) -> None:
    robot = hc.load("quadruped", base="floating")
    peer = Pinocchio(Path(str(bundled.__file__)).parent / "quadruped.urdf", robot, "floating")
    q = robot.random(rng)
    standing = robot
    for foot in FEET:
        standing = standing.with_contact(foot, q=q)
    models = [constraint(peer, pin.ContactType.CONTACT_3D, (foot, pin.SE3.Identity())) for foot in FEET]
    v, tau = rng.normal(size=(2, robot.nv))
    a, forces = theirs(peer, models, q, v, tau)
    ours = standing.constrained_forward_dynamics(q, v, tau)
    assert relative_error(ours.a, a) < TOLERANCE
    for k, (foot, force) in enumerate(zip(FEET, forces, strict=True)):
        R = robot.pose(foot)(q)[:3, :3]  # theirs is in the foot's axes, ours in the world's
        assert relative_error(-ours.lambda_[3 * k : 3 * k + 3], R @ force[:3]) < TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["point", "pose"])
def test_two_hands_joined(kind: str, rng: np.random.Generator) -> None:
    name = next(name for name in FILES if name.endswith("/talos_reduced.urdf"))
    free = load(name, "floating")
    peer = Pinocchio(FILES[name], free, "floating")
    origin_a, origin_b = np.array([0.0, 0.0, 0.1]), np.array([0.02, 0.0, 0.15])
    robot = free.close_loop("gripper_left_base_link", "gripper_right_base_link", kind, origin_a, origin_b)  # type: ignore[arg-type]
    q, v = robot.find_consistent(robot.random(rng), rng.normal(size=robot.nv))
    assert robot.constraint_report(q).redundancy == 0
    ends = [
        ("gripper_left_base_link", pin.SE3(np.eye(3), origin_a)),
        ("gripper_right_base_link", pin.SE3(np.eye(3), origin_b)),
    ]
    kinds = {"point": pin.ContactType.CONTACT_3D, "pose": pin.ContactType.CONTACT_6D}
    tau = rng.normal(size=robot.nv)
    a, forces = theirs(peer, [constraint(peer, kinds[kind], *ends)], q, v, tau)
    ours = robot.constrained_forward_dynamics(q, v, tau)
    assert relative_error(ours.a, a) < TOLERANCE
    size = {"point": 3, "pose": 6}[kind]
    # Theirs acts on the first link; so does our λ, which is what the second link does to the first.
    assert relative_error(ours.lambda_, forces[0][:size]) < TOLERANCE
