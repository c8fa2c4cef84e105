"""PyBullet: a physics server without a window."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pybullet

from benchmarks.harness.calls import Call
from benchmarks.harness.coordinates import Coordinates
from benchmarks.harness.subjects import GRAVITY, State, Subject
from benchmarks.peers import Peer, Unfit, version_of

_STATEMENTS = {
    "G": "result = inverse(body, q, zero, zero, physicsClientId=client)",
    "C": "result = inverse(weightless_body, q, v, zero, physicsClientId=weightless)",
    "ID": "result = inverse(body, q, v, a, physicsClientId=client)",
    "M": "result = mass_matrix(body, q, physicsClientId=client)",
}


class Library(Peer):
    """PyBullet with one robot that stands on the ground."""

    version = version_of("pybullet")
    remark = "PyBullet takes lists; they are made beforehand, which is not timed"

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._clients: list[int] = []
        if subject.n_base:
            raise Unfit("with a floating base its inverse dynamics is another one")
        self._clients = [pybullet.connect(pybullet.DIRECT) for _ in range(2)]
        body, joints = _loaded(subject, self._clients[0], GRAVITY)
        other, _ = _loaded(subject, self._clients[1], (0.0, 0.0, 0.0))
        self._coordinates = Coordinates(subject, joints)
        self._names = {
            "inverse": pybullet.calculateInverseDynamics,
            "mass_matrix": pybullet.calculateMassMatrix,
            "client": self._clients[0],
            "weightless": self._clients[1],
            "body": body,
            "weightless_body": other,
            "zero": [0.0] * len(joints),
        }

    def __del__(self) -> None:
        for client in self._clients:
            pybullet.disconnect(client)

    def call(self, label: str, state: State) -> Call | None:
        if label not in _STATEMENTS:
            return None
        theirs = self._coordinates.state(state)
        names: dict[str, Any] = {**self._names, **{key: x.tolist() for key, x in theirs._asdict().items()}}
        if label == "M":
            return Call(
                _STATEMENTS[label],
                names,
                lambda after: self._coordinates.matrices(state, [np.array(after["result"])]),
            )
        return Call(
            _STATEMENTS[label], names, lambda after: self._coordinates.force(state, np.array(after["result"]))
        )


def _loaded(subject: Subject, client: int, gravity: tuple[float, ...]) -> tuple[int, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        path.write_text(_with_inertias(subject.urdf), encoding="utf-8")
        flags = pybullet.URDF_USE_INERTIA_FROM_FILE
        body = pybullet.loadURDF(str(path), useFixedBase=True, flags=flags, physicsClientId=client)
    pybullet.setGravity(*gravity, physicsClientId=client)
    infos = [
        pybullet.getJointInfo(body, k, physicsClientId=client)
        for k in range(pybullet.getNumJoints(body, physicsClientId=client))
    ]
    return body, [info[1].decode() for info in infos if info[2] != pybullet.JOINT_FIXED]


def _with_inertias(urdf: str) -> str:
    """Links without inertia get one of zero, for PyBullet would give them 1 kg."""
    root = ElementTree.fromstring(urdf)
    for link in root.iter("link"):
        if link.find("inertial") is None:
            inertial = ElementTree.SubElement(link, "inertial")
            ElementTree.SubElement(inertial, "mass", value="0")
            moments = dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), "0")
            ElementTree.SubElement(inertial, "inertia", moments)
    return ElementTree.tostring(root, encoding="unicode")
