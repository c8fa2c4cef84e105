"""KDL, from Debian's python3-pykdl. It has no reader of URDF in Python: chains are built from our model."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sysconfig
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.calls import Call
from benchmarks.harness.subjects import GRAVITY, State, Subject
from benchmarks.peers import Peer, Unfit
from helicoid._typing import Array
from helicoid.model.parts import Placement


def _import_kdl() -> Any:
    """PyKDL, also from where Debian puts it, which environments of their own do not look at."""
    try:
        return importlib.import_module("PyKDL")
    except ImportError:
        path = Path("/usr/lib/python3/dist-packages") / f"PyKDL{sysconfig.get_config_var('EXT_SUFFIX')}"
        if not path.exists():
            raise
        loader = importlib.machinery.ExtensionFileLoader("PyKDL", str(path))
        spec = importlib.util.spec_from_loader("PyKDL", loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        return module


kdl = _import_kdl()

_STATEMENTS = {
    "G": "dynamics.JntToGravity(q, tau_out)",
    "C": "dynamics.JntToCoriolis(q, v, tau_out)",
    "ID": "solver.CartToJnt(q, v, a, wrenches, tau_out)",
    "M": "dynamics.JntToMass(q, matrix)",
}


class Library(Peer):
    """KDL with one chain."""

    version = str(getattr(kdl, "__version__", "of unknown version"))
    remark = "KDL takes arrays of its own type; they are filled beforehand, which is not timed"

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        chain, gravity = _chain(subject), kdl.Vector(*GRAVITY)
        n = subject.robot.nv
        self._names = {
            "chain": chain,
            "dynamics": kdl.ChainDynParam(chain, gravity),
            "solver": kdl.ChainIdSolver_RNE(chain, gravity),
            "wrenches": [kdl.Wrench() for _ in range(chain.getNrOfSegments())],
            "tau_out": kdl.JntArray(n),
            "matrix": kdl.JntSpaceInertiaMatrix(n),
        }

    def call(self, label: str, state: State) -> Call | None:
        if label not in _STATEMENTS:
            return None
        arrays = {name: _joint_array(vector) for name, vector in state._asdict().items()}

        def answer(after: Mapping[str, Any]) -> Array:
            n = self.subject.robot.nv
            if label == "M":
                return np.array([[after["matrix"][i, j] for j in range(n)] for i in range(n)])
            return np.array([after["tau_out"][k] for k in range(n)])

        return Call(_STATEMENTS[label], {**self._names, **arrays}, answer)


def _chain(subject: Subject) -> Any:
    """The moving bodies, one segment each; a segment's frame is that of the next joint."""
    model = subject.robot.model
    joints = model.joints
    if model.floating or any(a.child != b.parent for a, b in pairwise(joints)):
        raise Unfit("it computes dynamics of chains only")
    chain = kdl.Chain()
    for joint in joints:
        axis = getattr(joint.type, "axis", None)
        tip = _frame(joint.placement)
        kinds = {
            "revolute": kdl.Joint.RotAxis,
            "continuous": kdl.Joint.RotAxis,
            "prismatic": kdl.Joint.TransAxis,
        }
        if axis is None:
            moving = kdl.Joint(joint.name, kdl.Joint.Fixed)
        elif joint.type.kind in kinds:
            moving = kdl.Joint(joint.name, tip.p, tip.M * kdl.Vector(*axis), kinds[joint.type.kind])
        else:
            raise Unfit(f"it has no {joint.type.kind} joints")
        chain.addSegment(kdl.Segment(joint.child, moving, tip, _inertia(subject, joint.child)))
    return chain


def _inertia(subject: Subject, link: str) -> Any:
    inertia = next(part.inertia for part in subject.robot.model.links if part.name == link)
    if inertia is None or inertia.mass == 0.0:
        return kdl.RigidBodyInertia()
    I = np.asarray(inertia.at_com)
    rotational = kdl.RotationalInertia(I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
    return kdl.RigidBodyInertia(inertia.mass, kdl.Vector(*inertia.com), rotational)


def _frame(placement: Placement) -> Any:
    return kdl.Frame(kdl.Rotation(*placement.rotation.ravel()), kdl.Vector(*placement.translation))


def _joint_array(values: Array) -> Any:
    array = kdl.JntArray(len(values))
    for k, value in enumerate(values):
        array[k] = float(value)
    return array
