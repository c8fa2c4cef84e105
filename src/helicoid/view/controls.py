"""Sliders for the coordinates of a robot; orientations as roll, pitch and yaw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.geometry import euler, quaternion
from helicoid.model.parts import Joint
from helicoid.robot import Robot


class SliderSpec(NamedTuple):
    """Label and range (rad or m) of a slider."""

    label: str
    lower: float
    upper: float


def handles(joint: Joint) -> list[SliderSpec]:
    """Sliders of a joint: its coordinates, a quaternion replaced by roll, pitch and yaw (rad).

    Other joints with nq ≠ nv have a slider per velocity: the tangent vector from the neutral configuration.

    >>> import helicoid as hc
    >>> [handle.label for handle in handles(hc.load("panda").model.independent_joints[0])]
    ['panda_joint1']
    """
    kind, limits = joint.type, joint.range
    if kind.nq != kind.nv and kind.quaternion is None:
        low, high = kind.tangent_range(kind.neutral(), limits.lower, limits.upper)
        labels: tuple[str, ...] = ()
    else:
        low, high, labels = *kind.range(limits.lower, limits.upper), kind.labels
    if (rotation := kind.quaternion) is not None:
        low = _replaced(low, rotation, np.full(3, -np.pi))
        high = _replaced(high, rotation, np.full(3, np.pi))
        labels = (*labels[: rotation.start], "roll", "pitch", "yaw", *labels[rotation.stop :])
    words = labels or [str(k + 1) for k in range(len(low))]
    names = [joint.name] if len(low) == 1 else [f"{joint.name} {word}" for word in words]
    return [SliderSpec(*each) for each in zip(names, low, high, strict=True)]


def from_handles(joint: Joint, values: Array) -> Array:
    """Coordinates of a joint from the values of its sliders."""
    kind = joint.type
    if kind.quaternion is not None:
        start = kind.quaternion.start
        rpy = slice(start, start + 3)
        wxyz = np.asarray(quaternion.from_matrix(euler.from_rpy(values[rpy])))
        return _replaced(values, rpy, wxyz.ravel())
    if kind.nq == kind.nv:
        return values
    return np.array(ca.evalf(kind.integrate(ca.SX(kind.neutral()), ca.SX(values)))).ravel()


def to_handles(joint: Joint, q: Array) -> Array:
    """Slider values of a joint from its coordinates."""
    kind = joint.type
    if kind.quaternion is not None:
        rpy = np.asarray(euler.to_rpy(np.asarray(quaternion.to_matrix(q[kind.quaternion]))))
        return _replaced(q, kind.quaternion, rpy.ravel())
    if kind.nq == kind.nv:
        return q
    return np.array(ca.evalf(kind.difference(ca.SX(kind.neutral()), ca.SX(q)))).ravel()


def _replaced(values: Array, part: slice, others: Array) -> Array:
    return np.concatenate([values[: part.start], others, values[part.stop :]])


def neutral_within_limits(robot: Robot) -> Array:
    """Neutral configuration, clipped to the joint limits."""
    q = robot.neutral(within_limits=True)
    return q if robot.nq == robot.nv else np.asarray(robot.integrate(q, np.zeros(robot.nv)))


class JointSliders:
    """Sliders of all joints in a viser panel; `changed(q)` is called when a user moves one."""

    def __init__(self, gui: Any, robot: Robot, changed: Callable[[Array], None]) -> None:
        self._joints = robot.model.independent_joints
        self._changed = changed
        self._sliders: list[list[Any]] = []
        for joint, q in zip(self._joints, self._split(neutral_within_limits(robot)), strict=True):
            values = to_handles(joint, q)
            row = [_slider(gui, handle, x) for handle, x in zip(handles(joint), values, strict=True)]
            self._sliders.append(row)
            for slider in row:
                slider.on_update(self._on_update)

    def _on_update(self, event: Any) -> None:
        if event.client is not None:  # None: moved by `set`
            self._changed(self.q)

    @property
    def q(self) -> Array:
        """Configuration of the sliders."""
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


def _slider(gui: Any, handle: SliderSpec, value: float) -> Any:
    lower, upper = float(handle.lower), float(max(handle.upper, handle.lower + 1e-6))
    step = 10.0 ** np.floor(np.log10((upper - lower) / 1000))
    return gui.add_slider(handle.label, lower, upper, float(step), float(np.clip(value, lower, upper)))
