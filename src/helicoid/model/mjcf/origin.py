"""The MuJoCo model that a robot was read from: where its numbers are, keyframes, and the model itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.model.connections.semantics import BASE, NamedState, Posture
from helicoid.model.mjcf.coordinates import MujocoCoordinates
from helicoid.model.mjcf.joints import JointAddress
from helicoid.model.model import Model

_KINDS = "links", "joints", "loops", "elastic", "couplings", "tendons", "actuators", "fluid"


@dataclass(frozen=True, eq=False)
class MujocoOrigin:
    """The compiled `mujoco.MjModel` of a robot, and the addresses of its joints.

    `spec` is the `mujoco.MjSpec` that it was compiled from; None where that is not known, as after pickling.
    `parts` are the links, joints and connections as they were read.
    """

    compiled: Any
    addresses: tuple[JointAddress, ...]
    parts: Mapping[str, tuple[Any, ...]]
    spec: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "spec": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    @property
    def nq(self) -> int:
        """Number of coordinates in MuJoCo."""
        return int(self.compiled.nq)

    @property
    def nv(self) -> int:
        """Number of velocities in MuJoCo."""
        return int(self.compiled.nv)


def with_origin(model: Model, compiled: Any, addresses: list[JointAddress], spec: Any = None) -> Model:
    """The model that knows what it was read from."""
    parts = {kind: tuple(getattr(model, kind)) for kind in _KINDS}
    parts["options"] = (model.gravity, model.floating)
    return replace(model, origin=MujocoOrigin(compiled, tuple(addresses), parts, spec))


def unedited_origin(model: Model) -> MujocoOrigin | None:
    """The source of a model, if that moves as the model does: only frames may have been added."""
    origin = model.origin
    if origin is None or origin.parts["options"] != (model.gravity, model.floating):
        return None
    frames: set[str] = set()
    for kind in _KINDS:
        now, known = getattr(model, kind), {id(one) for one in origin.parts[kind]}
        added = [one for one in now if id(one) not in known]
        if len(now) - len(added) != len(known):
            return None
        if kind == "links":
            frames = {one.name for one in added if not (one.inertia or one.collisions)}
            added = [one for one in added if one.name not in frames]
        elif kind == "joints":
            added = [one for one in added if one.type.nv or one.child not in frames]
        if added:
            return None
    return origin


def with_keyframes(model: Model, compiled: Any, controls: Sequence[int]) -> Model:
    """The model with keyframes; `controls` says where MuJoCo has the control of each actuator."""
    if not compiled.nkey:
        return model
    on, found = MujocoCoordinates(model), {}
    names = [one.name for one in model.actuators]
    for k in range(compiled.nkey):
        qpos, qvel = compiled.key_qpos[k], compiled.key_qvel[k]
        u = dict(zip(names, map(float, compiled.key_ctrl[k][list(controls)]), strict=True))
        key = NamedState(
            _by_joint(model, on.q(qpos), "q"),
            _by_joint(model, on.v(qpos, qvel), "v"),
            u,
            float(compiled.key_time[k]),
        )
        found[compiled.key(k).name or f"keyframe_{k}"] = key
    return replace(model, semantics=replace(model.semantics, keyframes=found))


def _by_joint(model: Model, values: Array, which: str) -> Posture:
    return {
        body.joint.name if body.joint.parent else BASE: tuple(
            map(float, np.atleast_1d(values[getattr(body, which)]))
        )
        for body in model.bodies
        if body.joint.mimic is None
    }
