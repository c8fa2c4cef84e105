"""The MuJoCo model that a robot was read from: where its numbers are, keyframes, and the model itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from helicoid._typing import Array
from helicoid.model.mjcf.joints import JointAddress


class MujocoKeyframe(NamedTuple):
    """A keyframe as MuJoCo stores it."""

    qpos: Array
    qvel: Array
    ctrl: Array
    time: float


@dataclass(frozen=True, eq=False)
class MujocoOrigin:
    """The compiled `mujoco.MjModel` of a robot, the addresses of its joints, and its keyframes by name.

    `spec` is the `mujoco.MjSpec` that it was compiled from; None where that is not known, as after pickling.
    """

    compiled: Any
    addresses: tuple[JointAddress, ...]
    keyframes: Mapping[str, MujocoKeyframe]
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


def read_origin(model: Any, addresses: list[JointAddress], spec: Any = None) -> MujocoOrigin:
    """The origin of a robot, from the compiled model."""
    keyframes = {
        model.key(k).name or f"keyframe_{k}": MujocoKeyframe(
            model.key_qpos[k].copy(),
            model.key_qvel[k].copy(),
            model.key_ctrl[k].copy(),
            float(model.key_time[k]),
        )
        for k in range(model.nkey)
    }
    return MujocoOrigin(model, tuple(addresses), keyframes, spec)
