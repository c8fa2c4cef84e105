"""MuJoCo: the functions of its pipeline that a quantity needs, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np

from helicoid.benchmark.calls import Call
from helicoid.benchmark.coordinates import Base, Coordinates
from helicoid.benchmark.peers import Peer
from helicoid.benchmark.subjects import GRAVITY, State, Subject
from helicoid.model.inertia import Array

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
