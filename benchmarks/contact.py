"""A1 on four feet with noise in its motors: time of a step beside MuJoCo, in the same run.

Run by `make bench-contact`. Both have sphere feet on level ground, μ = 0.8, elliptic cones, steps of 1 ms and
the same proportional and derivative law. All take turns, and the least processor time of each counts: of ours
whole calls of `simulate`, of MuJoCo calls of `mj_step` without the law, and whole calls of `mujoco.rollout`.
"""

from __future__ import annotations

import re
import sysconfig
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import casadi as ca
import numpy as np

import helicoid as hc

A1 = "cmeel.prefix/share/example-robot-data/robots/a1_description/urdf/a1.urdf"
RADIUS, FRICTION, NOISE, STIFFNESS, DAMPING = 0.02, 0.8, 5.0, 60.0, 2.0
STEPS, BATCH, RUNS = 2000, 64, 8


def standing(robot: hc.Robot) -> np.ndarray:
    """q on four feet."""
    q = np.concatenate([[0, 0, 0, 1, 0, 0, 0], np.tile([0, 0.8, -1.6], 4)])
    q[2] = RADIUS + 1e-4 - min(robot.pose(foot)(q)[2, 3] for foot in feet(robot))
    return q


def feet(robot: hc.Robot) -> list[str]:
    """Names of the links with contacts."""
    return [link for link in robot.link_names if link.endswith("foot")]


def holding(robot: hc.Robot, q0: np.ndarray) -> hc.Function:
    """The law that holds the joints of q0."""
    q, v = ca.SX.sym("q", robot.nq), ca.SX.sym("v", robot.nv)
    torque = ca.vertcat(ca.SX.zeros(6), STIFFNESS * (q0[7:] - q[7:]) - DAMPING * v[6:])
    return hc.Function.from_expressions("law", {"q": q, "v": v}, {"tau": torque})


def ours(robot: hc.Robot, q0: np.ndarray, noise: np.ndarray) -> Callable[[], hc.Trajectory]:
    """A run of Helicoid; noise (N, 12), or (B, N, 12)."""
    law = holding(robot, q0)
    contacts = [hc.ContactPoint(foot, radius=RADIUS) for foot in feet(robot)]
    disturbance = np.concatenate([np.zeros((*noise.shape[:-1], 6)), noise], axis=-1)
    start = q0 if noise.ndim == 2 else np.tile(q0, (len(noise), 1))
    return lambda: hc.simulate(
        robot,
        start,
        duration=noise.shape[-2] * 1e-3,
        controller=law,
        disturbance=disturbance,
        ground=hc.Ground(friction=FRICTION),
        contacts=contacts,
        progress=False,
    )


class MuJoCo:
    """The same in MuJoCo: `rollout`, in which springs and dampers of its joints are the law, and `steps`.

    The URDF's shapes are replaced by balls for feet.
    """

    def __init__(self, path: Path, robot: hc.Robot, q0: np.ndarray, noise: np.ndarray) -> None:
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
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP  # a motor's damping is explicit
        self.model = spec.compile()
        self.model.geom_friction[:, 0] = FRICTION
        self.data = mujoco.MjData(self.model)
        self.q0, self.noise = q0, noise
        places = [self.model.joint(name) for name in robot.model.velocity_names[6:]]
        self.at_q, self.at_v = ([int(getattr(x, key)[0]) for x in places] for key in ("qposadr", "dofadr"))
        self._joints = [one.id for one in places]
        self._damping = self.model.dof_damping.copy()

    def _begin(self, law_inside: bool) -> None:
        import mujoco

        model, data = self.model, self.data
        model.jnt_stiffness[self._joints] = STIFFNESS if law_inside else 0.0
        model.qpos_spring[self.at_q] = self.q0[7:]
        model.dof_damping[self.at_v] = self._damping[self.at_v] + (DAMPING if law_inside else 0.0)
        mujoco.mj_resetData(model, data)
        data.qpos[:7], data.qpos[self.at_q] = self.q0[:7], self.q0[7:]

    def steps(self) -> float:
        """Seconds of all calls of `mj_step` from Python; the law, which is in Python, is not counted."""
        import mujoco

        self._begin(law_inside=False)
        total, data = 0.0, self.data
        for row in self.noise:
            law = STIFFNESS * (self.q0[7:] - data.qpos[self.at_q]) - DAMPING * data.qvel[self.at_v]
            data.qfrc_applied[self.at_v] = law + row
            began = time.process_time()
            mujoco.mj_step(self.model, data)
            total += time.process_time() - began
        return total

    def rollout(self) -> np.ndarray:
        """All steps by `mujoco.rollout`, on this thread; the states."""
        import mujoco
        from mujoco import rollout

        self._begin(law_inside=True)
        forces = np.zeros((1, len(self.noise), self.model.nv))
        forces[0][:, self.at_v] = self.noise
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        state = np.zeros((1, mujoco.mj_stateSize(self.model, kind)))
        mujoco.mj_getState(self.model, self.data, state[0], kind)
        applied = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
        states, _ = rollout.rollout(self.model, self.data, state, forces, control_spec=applied)
        return np.asarray(states[0])


def timed(run: Callable[[], object]) -> float:
    """Processor time (s) of a call."""
    began = time.process_time()
    run()
    return time.process_time() - began


def main() -> None:
    """Print the table."""
    path = Path(sysconfig.get_path("purelib")) / A1
    robot = hc.load(path, "floating")
    hc.set_num_threads(1)
    rng = np.random.default_rng(0)
    q0, noise = standing(robot), rng.normal(0, NOISE, (STEPS, 12))
    peer = MuJoCo(path, robot, q0, noise)
    alone, many = ours(robot, q0, noise), ours(robot, q0, rng.normal(0, NOISE, (BATCH, STEPS // 4, 12)))
    motion, _ = alone(), many()  # compiled once
    subjects: dict[str, Callable[[], float]] = {
        "MuJoCo, mj_step": peer.steps,
        "MuJoCo, rollout": lambda: timed(peer.rollout),
        "Helicoid, one at a time": lambda: timed(alone),
        f"Helicoid, {BATCH} on one thread": lambda: 4 * timed(many) / BATCH,
    }
    took = np.array([[run() for run in subjects.values()] for _ in range(RUNS)])
    times = 1e6 * took.min(axis=0) / STEPS
    print(f"{'':28}{'µs a step':>10}{'mj_step ratio':>14}{'rollout ratio':>14}")
    for name, one in zip(subjects, times, strict=True):
        print(f"{name:28}{one:10.2f}{times[0] / one:14.1f}{times[1] / one:14.1f}")
    print(f"residual {motion.contact_residual.max():.1e} m/s, depth {motion.penetration.max():.1e} m")


if __name__ == "__main__":
    main()
