"""A slider for each coordinate of a robot; orientations by roll, pitch and yaw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.geometry import euler, quaternion
from helicoid.model.parts import Joint
from helicoid.robot import Robot


class Handle(NamedTuple):
    """One slider: its label and its range (rad or m)."""

    label: str
    lower: float
    upper: float


def handles(joint: Joint) -> list[Handle]:
    """The sliders of one joint: its coordinates, where a quaternion is replaced by roll, pitch and yaw (rad).

    >>> import helicoid as hc
    >>> [handle.label for handle in handles(hc.load("panda").model.independent_joints[0])]
    ['panda_joint1']
    """
    kind, limits = joint.type, joint.range
    widths = kind.widths
    lower = np.where(np.isfinite(limits.lower), limits.lower, np.minimum(-widths, limits.upper - widths))
    upper = np.where(np.isfinite(limits.upper), limits.upper, np.maximum(widths, lower + widths))
    plain = kind.nq - 4 if kind.nq != kind.nv else kind.nq  # a quaternion stands last
    names = [joint.name] if plain == 1 else [f"{joint.name} {axis}" for axis in ("x", "y", "z")[:plain]]
    if kind.nq == kind.nv == 3:
        names[2] = f"{joint.name} angle"
    found = [Handle(*each) for each in zip(names, lower, upper, strict=False)]
    if kind.nq != kind.nv:
        found += [Handle(f"{joint.name} {turn}", -np.pi, np.pi) for turn in ("roll", "pitch", "yaw")]
    return found


def from_handles(joint: Joint, values: Array) -> Array:
    """The coordinates of a joint from the values of its sliders."""
    if joint.type.nq == joint.type.nv:
        return values
    turned = quaternion.from_matrix(euler.from_rpy(values[-3:]))
    return np.concatenate([values[:-3], np.asarray(turned).ravel()])


def to_handles(joint: Joint, q: Array) -> Array:
    """The values of the sliders of a joint from its coordinates."""
    if joint.type.nq == joint.type.nv:
        return q
    rpy = euler.to_rpy(np.asarray(quaternion.to_matrix(q[-4:])))
    return np.concatenate([q[:-4], np.asarray(rpy).ravel()])


def resting(robot: Robot) -> Array:
    """The neutral configuration, or what is nearest to it within the limits."""
    return np.clip(robot.neutral(), robot.limits.lower, robot.limits.upper)


class JointSliders:
    """The sliders of all joints in a viser panel; `changed(q)` is called when a user moves one."""

    def __init__(self, gui: Any, robot: Robot, changed: Callable[[Array], None]) -> None:
        self._joints = robot.model.independent_joints
        self._changed = changed
        self._sliders: list[list[Any]] = []
        for joint, q in zip(self._joints, self._split(resting(robot)), strict=True):
            values = to_handles(joint, q)
            row = [_slider(gui, handle, x) for handle, x in zip(handles(joint), values, strict=True)]
            self._sliders.append(row)
            for slider in row:
                slider.on_update(self._moved)

    def _moved(self, event: Any) -> None:
        if event.client is not None:  # else it was `set`
            self._changed(self.q)

    @property
    def q(self) -> Array:
        """The configuration that the sliders show."""
        rows = [np.array([slider.value for slider in row]) for row in self._sliders]
        pairs = zip(self._joints, rows, strict=True)
        return np.concatenate([np.zeros(0), *(from_handles(joint, row) for joint, row in pairs)])

    def set(self, q: Array) -> None:
        """Move the sliders to a configuration."""
        for joint, row, part in zip(self._joints, self._sliders, self._split(q), strict=True):
            for slider, value in zip(row, to_handles(joint, part), strict=True):
                slider.value = float(np.clip(value, slider.min, slider.max))

    def _split(self, q: Array) -> list[Array]:
        return np.split(q, np.cumsum([joint.type.nq for joint in self._joints])[:-1]) if self._joints else []


def _slider(gui: Any, handle: Handle, value: float) -> Any:
    lower, upper = float(handle.lower), float(max(handle.upper, handle.lower + 1e-6))
    step = 10.0 ** np.floor(np.log10((upper - lower) / 1000))
    return gui.add_slider(handle.label, lower, upper, float(step), float(np.clip(value, lower, upper)))
