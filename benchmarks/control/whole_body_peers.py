"""Peers of whole-body control, in an interpreter of their own: `python whole_body_peers.py PEER FILE`.

The file has the URDF without meshes, joints, contacts, a center of mass, a trunk, a posture, and states.
Printed are median and 99th percentile of the processor time of a step (µs), and the share of failures.
"""

from __future__ import annotations

import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Step = Callable[[Any, Any], bool]
ROUNDS = 12


def tsid(p: dict[str, Any]) -> Step:
    """InverseDynamicsFormulationAccForce with eiquadprog, its fastest solver."""
    home = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix/lib"
    sys.path.insert(0, str(next(home.glob("python*")) / "site-packages"))
    import pinocchio as pin
    import tsid.tsid_pywrap as library

    robot = library.RobotWrapper(str(p["urdf"]), [""], pin.JointModelFreeFlyer(), False)
    model = robot.model()
    problem = library.InverseDynamicsFormulationAccForce("problem", robot, False)
    places_q = [model.joints[model.getJointId(str(name))].idx_q for name in p["joints"]]
    places_v = [model.joints[model.getJointId(str(name))].idx_v for name in p["joints"]]
    q, v = pin.neutral(model), np.zeros(model.nv)
    q[:7], q[places_q] = p["bases"][0], p["posture"]
    problem.computeProblemData(0.0, q, v)
    up, ω = np.array([0.0, 0.0, 1.0]), float(p["frequency"])
    kept = []
    for name in p["contacts"]:
        if p["sole"].size:
            x, y = p["sole"] / 2
            corners = np.array([[x, x, -x, -x], [y, -y, y, -y], [0, 0, 0, 0]], dtype=float)
            contact = library.Contact6d(
                str(name), robot, str(name), corners, up, float(p["friction"]), 0.0, 1e4
            )
            pose = robot.framePosition(problem.data(), model.getFrameId(str(name)))
            contact.setKp(np.zeros(6))
            contact.setKd(20.0 * np.ones(6))
        else:
            contact = library.ContactPoint(str(name), robot, str(name), up, float(p["friction"]), 0.0, 1e4)
            pose = robot.framePosition(problem.data(), model.getFrameId(str(name)))
            contact.setKp(np.zeros(3))
            contact.setKd(20.0 * np.ones(3))
            contact.useLocalFrame(False)
        contact.setReference(pose)
        problem.addRigidContact(contact, float(p["force_weight"]))
        kept.append(contact)
    com = library.TaskComEquality("com", robot)
    com.setKp(ω**2 * np.ones(3))
    com.setKd(2 * ω * np.ones(3))
    problem.addMotionTask(com, float(p["weights"][0]), 1, 0.0)
    target = library.TrajectorySample(3)
    target.value(p["center"])
    com.setReference(target)
    trunk = library.TaskSE3Equality("trunk", robot, str(p["trunk"]))
    trunk.setKp(ω**2 * np.ones(6))
    trunk.setKd(2 * ω * np.ones(6))
    trunk.setMask(np.array([0.0, 0, 0, 1, 1, 1]))
    problem.addMotionTask(trunk, float(p["weights"][1]), 1, 0.0)
    now = library.TrajectorySample(12, 6)
    now.value(np.concatenate([np.zeros(3), np.eye(3).T.ravel()]))
    trunk.setReference(now)
    posture = library.TaskJointPosture("posture", robot)
    posture.setKp(ω**2 * np.ones(model.nv - 6))
    posture.setKd(2 * ω * np.ones(model.nv - 6))
    problem.addMotionTask(posture, float(p["weights"][2]), 1, 0.0)
    rest = library.TrajectorySample(model.nv - 6)
    rest.value(q[7:])
    posture.setReference(rest)
    torques = library.TaskActuationBounds("torques", robot)
    most = np.zeros(model.nv)
    most[places_v] = p["effort"]
    torques.setBounds(-most[6:], most[6:])
    problem.addActuationTask(torques, 1.0, 0, 0.0)
    speeds = library.TaskJointBounds("speeds", robot, float(p["dt"]))
    fastest = np.zeros(model.nv)
    fastest[places_v] = p["velocity"]
    speeds.setVelocityBounds(-fastest[6:], fastest[6:])
    problem.addMotionTask(speeds, 1.0, 0, 0.0)
    solver = library.SolverHQuadProgFast("solver")
    solver.resize(problem.nVar, problem.nEq, problem.nIn)
    alive = [robot, model, *kept, com, trunk, posture, torques, speeds]  # the problem only points to them

    def step(state: Any, speed: Any) -> bool:
        assert alive
        q[:7], q[places_q] = state[0], state[1]
        v[:6], v[places_v] = speed[0], speed[1]
        data = problem.computeProblemData(0.0, q, v)
        solution = solver.solve(data)
        problem.getActuatorForces(solution)
        return bool(solution.status == 0)

    return step


def placo(p: dict[str, Any]) -> Step:
    """DynamicsSolver."""
    import placo as library

    robot = library.RobotWrapper(str(p["urdf"]), library.Flags.ignore_collisions)
    solver = library.DynamicsSolver(robot)
    solver.dt = float(p["dt"])
    places_q = [robot.get_joint_offset(str(name)) for name in p["joints"]]
    places_v = [robot.get_joint_v_offset(str(name)) for name in p["joints"]]
    robot.state.q[:7], robot.state.q[places_q] = p["bases"][0], p["posture"]
    robot.update_kinematics()
    kept = []
    for name in p["contacts"]:
        if p["sole"].size:
            task = solver.add_frame_task(str(name), robot.get_T_world_frame(str(name)))
            task.configure(str(name), "hard", 1.0, 1.0)
            contact = solver.add_planar_contact(task)
            contact.length, contact.width = float(p["sole"][0]), float(p["sole"][1])
        else:
            task = solver.add_position_task(str(name), robot.get_T_world_frame(str(name))[:3, 3])
            task.configure(str(name), "hard", 1.0)
            contact = solver.add_unilateral_point_contact(task)
        contact.mu, contact.weight_forces = float(p["friction"]), float(p["force_weight"])
        task.kp = 0.0
        kept += [task, contact]
    com = solver.add_com_task(p["center"])
    com.configure("com", "soft", float(p["weights"][0]))
    trunk = solver.add_orientation_task(str(p["trunk"]), np.eye(3))
    trunk.configure("trunk", "soft", float(p["weights"][1]))
    posture = solver.add_joints_task()
    posture.set_joints(dict(zip(map(str, p["joints"]), p["posture"].tolist(), strict=True)))
    posture.configure("posture", "soft", float(p["weights"][2]))
    solver.enable_torque_limits(True)
    solver.enable_velocity_limits(True)
    for task in (com, trunk, posture):
        task.kp, task.kd = float(p["frequency"]) ** 2, 2 * float(p["frequency"])

    def step(state: Any, speed: Any) -> bool:
        robot.state.q[:7], robot.state.q[places_q] = state[0], state[1]
        robot.state.qd[:6], robot.state.qd[places_v] = speed[0], speed[1]
        robot.update_kinematics()
        return bool(solver.solve(False).success)

    return step


def main(peer: str, file: str) -> None:
    """Time what the file asks for."""
    with np.load(file) as content:
        p = dict(content)
    step = {"tsid": tsid, "placo": placo}[peer](p)
    states = list(zip(p["bases"], p["angles"], strict=True))
    speeds = list(zip(p["base_speeds"], p["speeds"], strict=True))
    times, failed = [], 0
    for round in range(ROUNDS + 1):
        for q, v in zip(states, speeds, strict=True):
            began = time.process_time_ns()
            fine = step(q, v)
            took = time.process_time_ns() - began
            if round:
                times.append(took)
                failed += not fine
    print(np.percentile(times, 50) / 1e3, np.percentile(times, 99) / 1e3, failed / len(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
