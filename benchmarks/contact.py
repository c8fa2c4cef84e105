"""A1 on four feet with noise in its motors: time of a step beside MuJoCo, in the same run.

Run by `make bench-contact`. Both have sphere feet on level ground, μ = 0.8, elliptic cones, steps of 1 ms and
the same proportional and derivative law; of MuJoCo the time of `mj_step` alone is counted, without the law.
"""

from __future__ import annotations

import re
import sysconfig
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import casadi as ca
import numpy as np

import helicoid as hc

A1 = "cmeel.prefix/share/example-robot-data/robots/a1_description/urdf/a1.urdf"
RADIUS, FRICTION, NOISE, STIFFNESS, DAMPING = 0.02, 0.8, 5.0, 60.0, 2.0
STEPS, BATCH, RUNS = 2000, 64, 6


def standing(robot: hc.Robot) -> np.ndarray:
    """q on four feet."""
    q = np.concatenate([[0, 0, 0, 1, 0, 0, 0], np.tile([0, 0.8, -1.6], 4)])
    q[2] = RADIUS + 1e-4 - min(robot.pose(foot)(q)[2, 3] for foot in feet(robot))
    return q


def feet(robot: hc.Robot) -> list[str]:
    """Names of the links that touch."""
    return [link for link in robot.link_names if link.endswith("foot")]


def ours(robot: hc.Robot, q0: np.ndarray, noise: np.ndarray) -> tuple[float, hc.Trajectory]:
    """Microseconds a step of the fastest run, and its motion; noise (N, 12), or (B, N, 12)."""
    q, v = ca.SX.sym("q", robot.nq), ca.SX.sym("v", robot.nv)
    torque = ca.vertcat(ca.SX.zeros(6), STIFFNESS * (q0[7:] - q[7:]) - DAMPING * v[6:])
    law = hc.Function.from_expressions("law", {"q": q, "v": v}, {"tau": torque})
    contacts = [hc.ContactPoint(foot, radius=RADIUS) for foot in feet(robot)]
    disturbance = np.concatenate([np.zeros((*noise.shape[:-1], 6)), noise], axis=-1)
    start = q0 if noise.ndim == 2 else np.tile(q0, (len(noise), 1))
    n_steps = noise.shape[-2]
    took = []
    for _ in range(RUNS + 1):
        began = time.perf_counter()
        motion = hc.simulate(
            robot,
            start,
            duration=n_steps * 1e-3,
            controller=law,
            disturbance=disturbance,
            ground=hc.Ground(friction=FRICTION),
            contacts=contacts,
        )
        took.append(time.perf_counter() - began)
    return 1e6 * min(took[1:]) / (n_steps * max(len(noise) if noise.ndim == 3 else 1, 1)), motion


def mujocos(path: Path, robot: hc.Robot, q0: np.ndarray, noise: np.ndarray) -> float:
    """Microseconds a step of MuJoCo in the fastest run."""
    import mujoco

    root = ET.fromstring(re.sub(r"<visual>.*?</visual>", "", path.read_text(), flags=re.S))
    for link in root.findall("link"):
        for shape in link.findall("collision"):
            link.remove(shape)
        if str(link.get("name")).endswith("foot"):
            ball = f'<collision><geometry><sphere radius="{RADIUS}"/></geometry></collision>'
            link.append(ET.fromstring(ball))
    spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding="unicode"))
    spec.compiler.fusestatic = False
    spec.worldbody.first_body().add_freejoint()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1])
    spec.option.timestep, spec.option.cone = 1e-3, mujoco.mjtCone.mjCONE_ELLIPTIC
    model = spec.compile()
    model.geom_friction[:, 0] = FRICTION
    data = mujoco.MjData(model)
    places = [model.joint(name) for name in robot.model.velocity_names[6:]]
    at_q, at_v = ([int(getattr(one, key)[0]) for one in places] for key in ("qposadr", "dofadr"))
    took = []
    for _ in range(RUNS):
        mujoco.mj_resetData(model, data)
        data.qpos[:7], data.qpos[at_q], total = q0[:7], q0[7:], 0.0
        for row in noise:
            law = STIFFNESS * (q0[7:] - data.qpos[at_q]) - DAMPING * data.qvel[at_v]
            data.qfrc_applied[at_v] = law + row
            began = time.perf_counter()
            mujoco.mj_step(model, data)
            total += time.perf_counter() - began
        took.append(total)
    return 1e6 * min(took) / len(noise)


def main() -> None:
    """Print the table."""
    path = Path(sysconfig.get_path("purelib")) / A1
    robot = hc.load(path, "floating")
    hc.set_num_threads(1)
    rng = np.random.default_rng(0)
    q0, noise = standing(robot), rng.normal(0, NOISE, (STEPS, 12))
    theirs = mujocos(path, robot, q0, noise)
    alone, motion = ours(robot, q0, noise)
    many, _ = ours(robot, q0, rng.normal(0, NOISE, (BATCH, 500, 12)))
    print(f"{'':28}{'µs a step':>10}{'MuJoCo / it':>14}")
    print(f"{'MuJoCo, one at a time':28}{theirs:10.2f}")
    print(f"{'Helicoid, one at a time':28}{alone:10.2f}{theirs / alone:14.1f}")
    print(f"{f'Helicoid, {BATCH} on one thread':28}{many:10.2f}{theirs / many:14.1f}")
    print(f"residual {motion.contact_residual.max():.1e} m/s, depth {motion.penetration.max():.1e} m")


if __name__ == "__main__":
    main()
