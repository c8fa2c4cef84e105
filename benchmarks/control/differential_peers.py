"""Peers of differential kinematics, in an interpreter of their own: `python differential_peers.py PEER FILE`.

The file has the URDF without meshes, joints, frames with the poses that they are to have, a center of mass or
nothing, a posture, and configurations. Printed is the processor time of a step (µs).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Step = Callable[[Any], Any]
FRAME, CENTER, POSTURE = 10.0, 10.0, 0.1  # costs; their squares are Helicoid's weights


def placo(p: dict[str, Any]) -> Step:
    """KinematicsSolver with limits of position and velocity."""
    import placo as library

    robot = library.RobotWrapper(str(p["urdf"]), library.Flags.ignore_collisions)
    solver = library.KinematicsSolver(robot)
    solver.dt = float(p["dt"])
    if not p["floating"]:
        solver.mask_fbase(True)
    solver.enable_joint_limits(True)
    solver.enable_velocity_limits(True)
    for name, T in zip(p["frames"], p["poses"], strict=True):
        solver.add_frame_task(str(name), T).configure(str(name), "soft", FRAME**2, FRAME**2)
    if p["center"].size:
        solver.add_com_task(p["center"]).configure("center", "soft", CENTER**2)
    posture = solver.add_joints_task()
    posture.set_joints(dict(zip(map(str, p["joints"]), p["posture"].tolist(), strict=True)))
    posture.configure("posture", "soft", POSTURE**2)
    places = [robot.get_joint_offset(str(name)) for name in p["joints"]]

    def step(q: tuple[Any, Any]) -> Any:
        robot.state.q[:7] = q[0]
        robot.state.q[places] = q[1]
        robot.update_kinematics()
        return solver.solve(False)

    return step


def pink(p: dict[str, Any]) -> Step:
    """solve_ik with its own limits, by daqp."""
    import pink as library
    import pinocchio as pin

    root = [pin.JointModelFreeFlyer()] if p["floating"] else []
    model = pin.buildModelFromUrdf(str(p["urdf"]), *root)
    tasks: list[Any] = []
    for name, T in zip(p["frames"], p["poses"], strict=True):
        task = library.tasks.FrameTask(str(name), FRAME, FRAME)
        task.set_target(pin.SE3(T))
        tasks.append(task)
    if p["center"].size:
        com = library.tasks.ComTask(CENTER)
        com.set_target(p["center"])
        tasks.append(com)
    places = [model.joints[model.getJointId(str(name))].idx_q for name in p["joints"]]
    own = pin.neutral(model)
    own[places] = p["posture"]
    posture = library.tasks.PostureTask(POSTURE)
    posture.set_target(own)
    configuration = library.Configuration(model, model.createData(), own)

    def step(q: tuple[Any, Any]) -> Any:
        if p["floating"]:
            own[:7] = q[0]
        own[places] = q[1]
        configuration.update(own)
        return library.solve_ik(configuration, [*tasks, posture], float(p["dt"]), solver="daqp")

    return step


def mink(p: dict[str, Any]) -> Step:
    """solve_ik with limits of position and velocity, by daqp."""
    import mink as library
    import mujoco

    spec = mujoco.MjSpec.from_file(str(p["urdf"]))
    if p["floating"]:
        spec.worldbody.first_body().add_freejoint()
    model = spec.compile()
    tasks: list[Any] = []
    for name, T in zip(p["bodies"], p["poses"], strict=True):
        task = library.FrameTask(str(name), "body", FRAME, FRAME)
        task.set_target(library.SE3.from_matrix(T))
        tasks.append(task)
    if p["center"].size:
        com = library.ComTask(CENTER)
        com.set_target(p["center"])
        tasks.append(com)
    joints = [model.joint(str(name)) for name in p["joints"]]
    places = [int(joint.qposadr[0]) for joint in joints]
    own = model.qpos0.copy()
    own[places] = p["posture"]
    posture = library.PostureTask(model, POSTURE)
    posture.set_target(own)
    configuration = library.Configuration(model, own)
    fastest = dict(zip(map(str, p["joints"]), p["velocity"].tolist(), strict=True))
    limits = [library.ConfigurationLimit(model), library.VelocityLimit(model, fastest)]

    def step(q: tuple[Any, Any]) -> Any:
        if p["floating"]:
            own[:3], own[3], own[4:7] = q[0][:3], q[0][6], q[0][3:6]  # (w, x, y, z) here
        own[places] = q[1]
        configuration.update(own)
        return library.solve_ik(configuration, [*tasks, posture], float(p["dt"]), "daqp", limits=limits)

    return step


def main(peer: str, file: str) -> None:
    """Time what the file asks for."""
    with np.load(file) as content:
        p = dict(content)
    step = {"placo": placo, "pink": pink, "mink": mink}[peer](p)
    samples = list(zip(p["bases"], p["angles"], strict=True))
    best = np.inf
    for round in range(21):
        began = time.process_time()
        for q in samples:
            step(q)
        if round:
            best = min(best, time.process_time() - began)
    print(1e6 * best / len(samples))


if __name__ == "__main__":
    main(*sys.argv[1:])
