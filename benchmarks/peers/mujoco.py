"""MuJoCo: the functions of its pipeline that a quantity needs, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np
from mujoco import rollout

from benchmarks.harness.calls import Call
from benchmarks.harness.coordinates import Base, Coordinates
from benchmarks.harness.subjects import GRAVITY, State, Subject
from benchmarks.peers import Peer
from helicoid._typing import Array

# Inertias as the file states them, none mended or guessed.
_COMPILER = {
    "balanceinertia": "false",
    "inertiafromgeom": "false",
    "boundmass": "0",
    "boundinertia": "0",
}
_POSITION = "data.qpos = q; mj_kinematics(model, data); mj_comPos(model, data); "
_VELOCITY = "data.qvel = v; mj_comVel(model, data); "
_STATEMENTS = {
    "G": _POSITION + "data.qvel = 0.0; mj_comVel(model, data); mj_rne(model, data, 0, result)",
    "C": _POSITION.replace("model", "weightless") + _VELOCITY + "mj_rne(weightless, data, 0, result)",
    "ID": _POSITION + _VELOCITY + "data.qacc = a; mj_rne(model, data, 1, result)",
    "M": _POSITION + "mj_makeM(model, data); mj_fullM(model, data, matrix)",
    "FD (CRBA)": (
        _POSITION
        + "mj_makeM(model, data); mj_factorM(model, data); "
        + _VELOCITY
        + "mj_rne(model, data, 0, h); "
        "mj_solveM(model, data, row, (tau - h)[None])"
    ),
}
_LOOP = """
data.qpos = q0; data.qvel = v0; data.time = 0.0
for k, torque in enumerate(tau[0]):
    data.qfrc_applied = torque
    mj_step(model, data)
    rows[k] = data.qpos
"""
_BASE = Base(q=tuple(range(7)), linear_first=True, world_linear=True, world_angular=False)


class Library(Peer):
    """MuJoCo with one robot."""

    version = mujoco.__version__

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._model, self._weightless = _model(subject, GRAVITY), _model(subject, (0.0, 0.0, 0.0))
        self._data = mujoco.MjData(self._model)
        names = [self._model.joint(i).name for i in range(subject.n_base, self._model.njnt)]
        self._coordinates = Coordinates(subject, names, _BASE)
        functions = ("kinematics", "comPos", "comVel", "rne", "makeM", "factorM", "fullM", "solveM")
        n = self._model.nv
        self._names = {f"mj_{name}": getattr(mujoco, f"mj_{name}") for name in functions} | {
            "model": self._model,
            "weightless": self._weightless,
            "data": self._data,
            "result": np.zeros(n),
            "h": np.zeros(n),
            "row": np.zeros((1, n)),
            "matrix": np.zeros((n, n)),
        }

    def call(self, label: str, state: State) -> Call | None:
        if label not in _STATEMENTS or (label == "C" and self._coordinates.drifts):
            return None

        def answer(after: Mapping[str, Any]) -> Array:
            if label == "M":
                return self._coordinates.matrices(state, [after["matrix"]])
            if label == "FD (CRBA)":
                return self._coordinates.acceleration(state, after["row"][0])
            return self._coordinates.force(state, after["result"])

        return Call(_STATEMENTS[label], {**self._names, **self._coordinates.state(state)._asdict()}, answer)

    def rollouts(self, start: State, dt: float, n_threads: int) -> dict[str, Call]:
        """Its module `rollout`, which loops in C++, and of one rollout `mj_step` in a loop in Python."""
        self._model.opt.integrator, self._model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, dt
        T = self._coordinates.T(start.q[0])  # a permutation on fixed bases
        q, v, tau = start.q @ T.T, start.v @ T.T, np.ascontiguousarray(start.tau @ T.T)
        nq, n_steps = q.shape[1], tau.shape[1]
        names = self._names | {
            "rollout": rollout.rollout,
            "pool": [mujoco.MjData(self._model) for _ in range(n_threads)],
            "start": np.concatenate([np.zeros((len(q), 1)), q, v], axis=1),
            "applied": mujoco.mjtState.mjSTATE_QFRC_APPLIED,
            **{"q0": q[0], "v0": v[0], "tau": tau, "rows": np.empty((n_steps, nq))},
            "mj_step": mujoco.mj_step,
        }
        inside = "states, _ = rollout(model, pool, start, tau, control_spec=applied, persistent_pool=True)"
        calls = {"": Call(inside, names, lambda after: after["states"][..., 1 : 1 + nq] @ T)}
        if len(q) == 1 and n_threads == 1:
            calls[", mj_step"] = Call(_LOOP, names, lambda after: after["rows"][None] @ T)
        return calls


def _model(subject: Subject, gravity: tuple[float, ...]) -> Any:
    root = ElementTree.fromstring(subject.urdf)
    extension = ElementTree.SubElement(root, "mujoco")
    ElementTree.SubElement(extension, "compiler", _COMPILER)
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding="unicode"))
    if subject.n_base:
        spec.worldbody.first_body().add_freejoint()
    spec.option.gravity = gravity
    model = spec.compile()
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return model
