"""Contact forces of real robots at rest: they carry the weight, whatever the step."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from real_robots import FILES, load

import helicoid as hc

pytestmark = [pytest.mark.slow, pytest.mark.needs_compiler]
SOLES = ("left_sole_link", "right_sole_link")
LEG, ARM = (4000.0, 400.0), (100.0, 5.0)  # stiffness and damping of Talos


def robot_of(end: str) -> hc.Robot:
    found = [name for name in FILES if name.endswith(end)]
    if not found:
        pytest.skip("the robots are part of example-robot-data")
    return load(found[0], "floating")


def quadruped(end: str, angles: dict[str, float]) -> tuple[hc.Robot, np.ndarray, list[hc.ContactPoint]]:
    """On its four feet; the angles are by parts of the names of joints."""
    robot = robot_of(end)
    q = robot.neutral()
    for joint in robot.joint_names[1:]:
        q[robot.index(joint)[0]] = next(angle for part, angle in angles.items() if part in joint)
    return robot, q, [hc.ContactPoint(x, radius=0.02) for x in robot.link_names if x.endswith("foot")]


def talos(soles: tuple[str, ...]) -> tuple[hc.Robot, np.ndarray, list[hc.ContactPoint], np.ndarray]:
    """On one foot or both, the center of mass above; its damping is that of the joints, which is implicit."""
    robot = robot_of("/talos_reduced.urdf")
    names = robot.model.velocity_names[6:]
    legs = np.array(["leg" in name or "torso" in name for name in names])
    stiffness, damping = (np.where(legs, *pair) for pair in zip(LEG, ARM, strict=True))
    robot = robot.with_joints(damping=dict(zip(names, damping.tolist(), strict=True)))
    q = robot.neutral()
    for side in ("left", "right"):
        angles = {f"leg_{side}_3_joint": -0.411, f"leg_{side}_4_joint": 0.859, f"leg_{side}_5_joint": -0.448}
        for joint, angle in {**angles, f"arm_{side}_4_joint": -1.5}.items():
            q[robot.index(joint)[0]] = angle
    places = {sole: robot.pose(sole)(q) for sole in soles}
    above = robot.center_of_mass(q)
    above[:2] = np.mean([T[:2, 3] for T in places.values()], axis=0)
    tasks = [hc.control.PoseTask(sole, T) for sole, T in places.items()]
    solution = hc.control.InverseKinematics(robot, [*tasks, hc.control.CenterOfMassTask(above)])(q0=q)
    assert solution.success
    corners = [(x, y, 0.0) for x in (-0.1, 0.1) for y in (-0.06, 0.06)]
    contacts = [hc.ContactPoint(sole, corner) for sole in soles for corner in corners]
    return robot, solution.q, contacts, stiffness


def check(
    robot: hc.Robot, q0: np.ndarray, contacts: list[hc.ContactPoint], gains: tuple[float | np.ndarray, float]
) -> None:
    """Hold a posture until all is still: the sum of all forces is the weight, to 1e-6 of it."""
    lowest = [(robot.pose(one.link)(q0) @ [*one.point, 1.0])[2] - one.radius for one in contacts]
    q0[2] -= min(lowest)
    q, v = ca.SX.sym("q", robot.nq), ca.SX.sym("v", robot.nv)
    tau = ca.vertcat(ca.SX.zeros(6), gains[0] * (q0[7:] - q[7:]) - gains[1] * v[6:])
    law = hc.Function.from_expressions("law", {"q": q, "v": v}, {"tau": tau})
    weight = robot.mass * 9.81
    for dt in (1e-3, 2e-3, 5e-3):
        motion = hc.simulate(
            robot, q0, duration=10.0, controller=law, dt=dt, ground=hc.Ground(), contacts=contacts
        )
        assert np.abs(motion.v[-1]).max() < 1e-7
        total = motion.contact_forces[-1].sum(axis=0)
        assert np.abs(total - [0, 0, weight]).max() < 1e-6 * weight, (dt, total, weight)


def test_go1() -> None:
    check(*quadruped("/go1.urdf", {"hip": 0.0, "thigh": 0.9, "calf": -1.8}), (60.0, 1.0))


def test_hyq() -> None:
    angles = {"haa": -0.2, "f_hfe": 0.75, "f_kfe": -1.5, "h_hfe": -0.75, "h_kfe": 1.5}
    check(*quadruped("/hyq_no_sensors.urdf", angles), (1500.0, 50.0))


@pytest.mark.parametrize("soles", [SOLES, SOLES[:1]], ids=["two feet", "one foot"])
def test_talos(soles: tuple[str, ...]) -> None:
    robot, q, contacts, stiffness = talos(soles)
    check(robot, q, contacts, (stiffness, 0.0))
