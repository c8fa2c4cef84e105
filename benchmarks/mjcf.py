"""Robots read from MJCF against MuJoCo itself, over any folders of models.

    python -m benchmarks.mjcf FOLDER [FOLDER ...] [--states 20] [--seed 0] [--show]

For every file with the root element <mujoco> that MuJoCo itself compiles and that has degrees of freedom:
whether `hc.load` reads it, and the largest relative error at random states of the mass matrix, inverse
dynamics without and with passive forces, forward dynamics, poses of bodies and sites, Jacobians, lengths of
tendons, forces of actuators under random controls and their generalised force. MuJoCo's constraints and
contacts are off; where joints mimic others, MuJoCo's dynamics are projected onto
the independent ones.
"""

from __future__ import annotations

import argparse
import collections
import os
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import mujoco
import numpy as np
from numpy.typing import NDArray

import helicoid as hc
from helicoid.dynamics.forces.actuation import actuator_force, actuator_torque
from helicoid.dynamics.kinematics.frames import frame_pose, jacobian
from helicoid.dynamics.kinematics.tendons import tendon_lengths
from helicoid.dynamics.physics import nominal
from helicoid.dynamics.recursions.aba import forward_dynamics
from helicoid.dynamics.recursions.crba import mass_matrix
from helicoid.dynamics.recursions.rnea import inverse_dynamics

Array = NDArray[np.float64]
TOLERANCE = 1e-10
_MAX_JACOBIANS = 6  # bodies of a model


def without_constraints(model: Any) -> Any:
    """A copy of the model without constraints, contacts and actuators; gravity compensation is passive."""
    off = mujoco.mjtDisableBit
    copy = _copied(model)
    for flag in (off.mjDSBL_CONSTRAINT, off.mjDSBL_CONTACT, off.mjDSBL_ACTUATION):
        copy.opt.disableflags |= flag.value
    copy.jnt_actgravcomp[:] = 0
    copy.actuator_actearly[:] = 0  # it is about the time step
    return copy


def _copied(model: Any) -> Any:
    import copy

    return copy.deepcopy(model)


def random_state(model: Any, rng: np.random.Generator) -> tuple[Array, Array]:
    """qpos, qvel about the reference configuration, all orientations."""
    qpos = model.qpos0.copy()
    mujoco.mj_integratePos(model, qpos, rng.normal(size=model.nv), 1.0)
    return qpos, rng.normal(size=model.nv)


class Comparison:
    """The errors of a robot against the compiled model that it was read from."""

    def __init__(self, robot: hc.Robot, compiled: Any) -> None:
        self.robot = robot
        self.mujoco, self.data = without_constraints(compiled), mujoco.MjData(compiled)
        model = robot.with_joints(friction=0.0).model if robot.nv else robot.model
        smooth = tuple(replace(one, friction=0.0) for one in model.tendons)  # MuJoCo's are constraints
        model = replace(model, tendons=smooth)
        passive = nominal(model)
        rigid = robot.with_joints(stiffness=0.0).model if robot.nv else robot.model
        links = tuple(replace(link, gravity_compensation=None) for link in rigid.links)
        inert = tuple(replace(one, stiffness=0.0, damping=0.0) for one in smooth)
        still = replace(rigid, links=links, elastic=(), couplings=(), tendons=inert, actuators=())
        bare = nominal(still).without_friction()
        q, v, a = (ca.SX.sym(name, n) for name, n in (("q", robot.nq), ("v", robot.nv), ("a", robot.nv)))
        self._dynamics = ca.Function(
            "dynamics",
            [q, v, a],
            [
                mass_matrix(model, passive, q),
                inverse_dynamics(still, bare, q, v, a),
                inverse_dynamics(model, passive, q, v, a),
                forward_dynamics(model, passive, q, v, a),
            ],
        )
        self._controlled = bool(robot.model.actuators) and not any(
            one.unsupported for one in robot.model.actuators
        )
        u = ca.SX.sym("u", len(robot.model.actuators))
        outputs = [tendon_lengths(robot.model, q)]
        if self._controlled:
            outputs += [actuator_force(robot.model, q, v, u), actuator_torque(robot.model, q, v, u)]
        self._actuation = ca.Function("actuation", [q, v, u], outputs)
        bodies = [compiled.body(i).name for i in range(1, compiled.nbody)]
        sites = [compiled.site(i).name for i in range(compiled.nsite)]
        frames = set(robot.link_names)
        self._bodies = [(i + 1, name) for i, name in enumerate(bodies) if name and name in frames]
        self._sites = [(i, name) for i, name in enumerate(sites) if name and name in frames - set(bodies)]
        named = [name for _, name in self._bodies + self._sites]
        poses = [ca.horzcat(*frame_pose(robot.model, q, name)) for name in named]
        self._poses = ca.Function("poses", [q], [ca.vertcat(ca.SX(0, 4), *poses)])
        chosen = self._bodies[:: max(1, len(self._bodies) // _MAX_JACOBIANS)]
        self._jacobian_bodies = [i for i, _ in chosen]
        jacobians = [jacobian(robot.model, q, name, "world_aligned") for _, name in chosen]
        self._jacobians = ca.Function("J", [q], [ca.vertcat(ca.SX(0, robot.nv), *jacobians)])

    def errors(self, rng: np.random.Generator) -> dict[str, float]:
        """Relative errors by quantity at one random state."""
        m, d, on = self.mujoco, self.data, self.robot.mujoco
        qpos, qvel = random_state(m, rng)
        q, v = on.q(qpos), on.v(qpos, qvel)
        qpos, qvel = on.qpos(q), on.qvel(q, v)  # where joints mimic others
        a, force = rng.normal(size=(2, self.robot.nv))
        d.qpos[:], d.qvel[:] = qpos, qvel
        d.qfrc_applied[:] = on.qfrc(q, force)
        mujoco.mj_forward(m, d)
        full = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, d, full) if _NEW_FULL_M else mujoco.mj_fullM(m, full, d.qM)
        M, inverse, with_passive, _ = (np.array(x) for x in self._dynamics(q, v, a))
        T = np.array([on.qvel(q, unit) for unit in np.eye(self.robot.nv)]).T
        bias = full @ on.qacc(q, v, a) + d.qfrc_bias
        _, _, _, forward = (np.array(x) for x in self._dynamics(q, v, force))
        if T.shape[0] == T.shape[1]:
            there = on.a(qpos, qvel, d.qacc)
        else:
            rest = full @ on.qacc(q, v, np.zeros(self.robot.nv)) + d.qfrc_bias - d.qfrc_passive
            there = np.linalg.solve(T.T @ full @ T, force - on.tau(q, rest))
        found = {
            "M": relative(M, T.T @ full @ T),
            "inverse": relative(inverse.ravel(), on.tau(q, bias)),
            "passive": relative(with_passive.ravel(), on.tau(q, bias - d.qfrc_passive)),
            "forward": relative(forward.ravel(), there),
        }
        return found | self._kinematics(q, T) | self._forces(rng, q, v)

    def _forces(self, rng: np.random.Generator, q: Array, v: Array) -> dict[str, float]:
        """Errors of tendons and actuators, where there are any."""
        m, d = self.mujoco, self.data
        off = mujoco.mjtDisableBit.mjDSBL_ACTUATION.value
        u = rng.normal(size=len(self.robot.model.actuators))
        for k, one in enumerate(self.robot.model.actuators):
            if one.activation == "filter":  # its state stays within the range of its input
                u[k] = np.clip(u[k], *one.control_range)
        results = [np.array(x).ravel() for x in self._actuation.call([q, v, u])]
        found = {"tendons": relative(results[0], d.ten_length)} if m.ntendon else {}
        if self._controlled and m.nu == len(u):
            m.opt.disableflags &= ~off
            d.ctrl[:] = u
            d.act[:] = u[m.actuator_actnum > 0][: m.na]
            mujoco.mj_forward(m, d)
            found["actuators"] = relative(results[1], d.actuator_force)
            found["controls"] = relative(results[2], self.robot.mujoco.tau(q, d.qfrc_actuator))
            m.opt.disableflags |= off
        return found

    def _kinematics(self, q: Array, T: Array) -> dict[str, float]:
        m, d = self.mujoco, self.data
        poses = [np.column_stack([d.xmat[i].reshape(3, 3), d.xpos[i]]) for i, _ in self._bodies]
        poses += [np.column_stack([d.site_xmat[i].reshape(3, 3), d.site_xpos[i]]) for i, _ in self._sites]
        jacobians = []
        for body in self._jacobian_bodies:
            linear, angular = np.zeros((2, 3, m.nv))
            mujoco.mj_jacBody(m, d, linear, angular, body)
            jacobians.append(np.vstack([angular, linear]) @ T)
        return {
            "poses": relative(np.array(self._poses(q)), np.vstack([np.zeros((0, 4)), *poses])),
            "jacobians": relative(
                np.array(self._jacobians(q)), np.vstack([np.zeros((0, self.robot.nv)), *jacobians])
            ),
        }


def relative(ours: Array, theirs: Array) -> float:
    """max |x - y| / max |y|."""
    if theirs.size == 0:
        return 0.0
    return float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-12))


def models(folders: list[str]) -> Iterator[Path]:
    """Files with the root element <mujoco>."""
    for folder in folders:
        for path in sorted(Path(folder).rglob("*.xml")):
            if "<mujoco" in path.read_text("utf-8", errors="replace"):
                yield path


def compare(path: Path, states: int, seed: int, ignore: list[str]) -> dict[str, float] | str | None:
    """Errors of a file, the reason why it was not read, or None where there is nothing to compare."""
    try:
        compiled = mujoco.MjSpec.from_file(os.path.abspath(path)).compile()
    except ValueError:
        return None
    if compiled.nv == 0:
        return None
    try:
        comparison = Comparison(hc.load(path, ignore=ignore or None), compiled)
    except hc.HelicoidError as error:  # also a singular mass matrix
        return str(error)
    rng = np.random.default_rng(seed)
    worst: dict[str, float] = collections.defaultdict(float)
    for _ in range(states):
        for name, error in comparison.errors(rng).items():
            worst[name] = max(worst[name], error)
    return dict(worst)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--states", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ignore", action="append", default=[])
    parser.add_argument("--show", action="store_true", help="one line a model")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    results = {path: compare(path, given.states, given.seed, given.ignore) for path in models(given.folders)}
    tried = {path: found for path, found in results.items() if found is not None}
    read = {path: found for path, found in tried.items() if isinstance(found, dict)}
    for path, found in tried.items():
        if isinstance(found, str):
            print(f"not read  {path.name}: {found[:230]}")
        elif given.show or max(found.values()) > TOLERANCE:
            print(f"{path.name:40}", " ".join(f"{name} {error:.1e}" for name, error in found.items()))
    print(f"{len(results)} files, {len(tried)} that MuJoCo compiles and that move, {len(read)} read")
    for name in dict.fromkeys(name for found in read.values() for name in found):
        errors = [found[name] for found in read.values() if name in found]
        agree = sum(error <= TOLERANCE for error in errors)
        print(f"{name:10} {agree} of {len(errors)} within {TOLERANCE:g}, largest {max(errors):.1e}")


_NEW_FULL_M = tuple(int(x) for x in mujoco.__version__.split(".")[:2]) >= (4, 0)

if __name__ == "__main__":
    main()
