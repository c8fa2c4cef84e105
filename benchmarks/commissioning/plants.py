"""Arms of example-robot-data, and hidden true plants of them in MuJoCo."""

from __future__ import annotations

import tempfile
import warnings
import zlib
from importlib.metadata import files
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

import helicoid as hc
from helicoid.commissioning.controllers import tip

Array = NDArray[np.float64]

ARMS: dict[str, tuple[str, str]] = {
    "panda": ("panda.urdf", "panda_joint"),
    "ur3": ("ur3_robot.urdf", ""),
    "ur5": ("ur5_robot.urdf", ""),
    "ur10": ("ur10_robot.urdf", ""),
    "ur3 limited": ("ur3_joint_limited_robot.urdf", ""),
    "ur5 limited": ("ur5_joint_limited_robot.urdf", ""),
    "ur10 limited": ("ur10_joint_limited_robot.urdf", ""),
    "ur3 gripper": ("ur3_gripper.urdf", ""),
    "ur5 gripper": ("ur5_gripper.urdf", ""),
    "kinova": ("kinova.urdf", "j2s6s200_joint"),
    "xarm7": ("xarm7.urdf", ""),
    "z1": ("z1.urdf", "joint"),
    "so100": ("so100.urdf", ""),
    "so101": ("so101.urdf", ""),
    "two dofs": ("TwoDofs.urdf", ""),
    "baxter left": ("baxter.urdf", "left_"),
    "baxter right": ("baxter.urdf", "right_"),
    "tiago": ("tiago.urdf", "arm_"),
    "tiago pro": ("tiago_pro.urdf", "arm_left_"),
    "pr2": ("pr2.urdf", "r_"),
    "talos": ("talos_left_arm.urdf", "arm_left_"),
    "centauro": ("centauro.urdf", "j_arm1_"),
    "romeo": ("romeo.urdf", "LShoulder LElbow LWrist"),
    "g1": ("g1_29dof_rev_1_0.urdf", "left_shoulder left_elbow left_wrist"),
}
"""Arms by name: the file, and what the names of their joints begin with; all other joints are locked."""

GRIPPERS = ("Gripper", "gripper", "finger", "hand")


def described(name: str) -> hc.Robot:
    """The arm as its file describes it."""
    file, starts = ARMS[name]
    path = next(Path(str(one.locate())) for one in files("example-robot-data") or () if one.name == file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = hc.load(path)
        kept = [
            joint
            for joint in robot.joint_names
            if any(joint.startswith(start) for start in starts.split() or [""])
            and not any(word in joint for word in GRIPPERS)
        ]
        middle = robot.neutral()
        return robot.lock({j: middle[robot.index(j)[0]] for j in robot.joint_names if j not in kept})


class Hidden(NamedTuple):
    """A true robot, and what no description has."""

    robot: hc.Robot
    delay: int
    gain: Array
    torque_noise: Array
    resolution: float
    payload: float


def hidden(name: str, robot: hc.Robot, seed: int) -> Hidden:
    """Masses off by up to 30 %, payload, friction, armature, delay, gain errors and noise."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    n, effort, speed = robot.nv, robot.limits.effort, np.minimum(robot.limits.velocity, 3.0)
    frame = tip(robot)
    q = np.array([robot.random(rng) for _ in range(50)])
    lever = np.abs(np.asarray(robot.jacobian(frame, "world_aligned")(q))[:, 5, :]).max(axis=0)
    largest = 0.15 * np.min(effort / np.maximum(9.81 * lever, 1e-9))
    payload = float(rng.uniform(0.2, 1.0) * min(largest, 0.3 * robot.mass))
    at = rng.uniform(-0.05, 0.05, 3)
    scale = np.repeat(rng.uniform(0.7, 1.3, robot.n_bodies), 10)
    coulomb = rng.uniform(0.01, 0.04, n) * effort
    true = (
        robot.with_parameters(scale * robot.parameters.values)
        .with_payload(frame, payload, at, 1e-3 * payload * np.eye(3))
        .with_joints(
            friction=coulomb,
            damping=rng.uniform(0.01, 0.04, n) * effort / speed,
            static_friction=coulomb * rng.uniform(1.1, 1.5, n),
            stribeck_velocity=rng.uniform(0.03, 0.1, n),
            armature=rng.uniform(0.03, 0.1, n) * effort / (speed / 0.3),
        )
    )
    return Hidden(
        true,
        int(rng.integers(1, 4)),
        1 + rng.uniform(-0.05, 0.05, n),
        0.002 * effort,
        2 * np.pi / 2 ** int(rng.integers(17, 21)),
        payload,
    )


class Measured(NamedTuple):
    """A sample, as the drives report it."""

    q: Array
    v: Array
    tau: Array


class MujocoArm:
    """The hidden robot in MuJoCo at 1 kHz, with torque commands: a `CommissioningPlant`.

    It counts what must not happen: true positions and velocities beyond the limits, commands beyond the
    effort, numbers that are not finite.
    """

    period = 1e-3

    def __init__(self, true: Hidden, q0: Array, seed: int) -> None:
        self.true, self._rng = true, np.random.default_rng([seed, 7])
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = Path(folder) / "arm.xml"
            true.robot.to_mjcf(path)
            self.model = mujoco.MjModel.from_xml_path(str(path))
        self.model.opt.timestep = self.period
        self.model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        flags = mujoco.mjtDisableBit
        self.model.opt.disableflags |= flags.mjDSBL_CONTACT | flags.mjDSBL_ACTUATION | flags.mjDSBL_LIMIT
        self.data = mujoco.MjData(self.model)
        self.limits, n = true.robot.limits, true.robot.nv
        joints = true.robot.model.independent_joints
        dry = [
            np.concatenate([getattr(j, name) for j in joints])
            for name in ("static_friction", "friction", "stribeck_velocity")
        ]
        self._extra, self._stribeck = dry[0] - dry[1], dry[2]
        self.broken, self.not_finite, self.largest = 0, 0, np.zeros(3)
        self.start(q0)
        assert self.model.nv == n

    def start(self, q0: Array) -> None:
        """Put it at rest at q0."""
        self.data.qpos[:], self.data.qvel[:] = q0, 0.0
        mujoco.mj_forward(self.model, self.data)
        quantised = self._quantised()
        self._encoder = [quantised] * 5
        sample = Measured(quantised, np.zeros(len(q0)), np.zeros(len(q0)))
        self._samples = [sample] * (self.true.delay + 1)

    def _quantised(self) -> Array:
        return np.round(self.data.qpos / self.true.resolution) * self.true.resolution

    def measure(self) -> Measured:
        """The sample of `delay` periods ago."""
        return self._samples[0]

    def apply(self, tau: Array) -> None:
        """One period under the command, times the unknown gains, with noise."""
        if not np.all(np.isfinite(tau)):
            self.not_finite += 1
            tau = np.zeros(len(self.data.qvel))
        v, effort = self.data.qvel, self.limits.effort
        self._count(np.abs(tau) - effort * (1 + 1e-9), 2, effort)
        stribeck = self._extra * np.exp(-((v / self._stribeck) ** 2)) * np.tanh(v / 1e-3)
        noise = self.true.torque_noise * self._rng.normal(size=len(v))
        self.data.qfrc_applied[:] = self.true.gain * tau + noise - stribeck
        mujoco.mj_step(self.model, self.data)
        q = self.data.qpos
        self._count(np.maximum(q - self.limits.upper, self.limits.lower - q), 0, np.ones(len(v)))
        self._count(np.abs(self.data.qvel) - self.limits.velocity, 1, self.limits.velocity)
        self._encoder = [*self._encoder[1:], self._quantised()]
        speed = (self._encoder[-1] - self._encoder[0]) / (4 * self.period)
        reported = tau + 0.5 * self.true.torque_noise * self._rng.normal(size=len(v))
        self._samples = [*self._samples[1:], Measured(self._encoder[-1], speed, reported)]

    def _count(self, excess: Array, kind: int, scale: Array) -> None:
        worst = float(np.max(excess / scale))
        self.broken += worst > 0
        self.largest[kind] = max(self.largest[kind], worst)
