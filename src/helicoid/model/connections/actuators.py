"""Actuators with controls: motors and servos on joints, tendons and frames."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from helicoid._typing import Array
from helicoid.errors import ModelError
from helicoid.model.inertia import frozen_array

if TYPE_CHECKING:
    from helicoid.model.model import Model

Interval: TypeAlias = tuple[float, float]
Transmission: TypeAlias = Literal["joint", "joint_in_parent", "tendon", "frame"]
Activation: TypeAlias = Literal["none", "integrator", "filter"]

_UNLIMITED: Interval = (-np.inf, np.inf)


@dataclass(frozen=True, eq=False)
class Actuator:
    """A control u that causes the force p = (g₀ + g₁ l + g₂ l̇) u + b₀ + b₁ l + b₂ l̇, and τ = rᵀ p.

    l is the length of its transmission and r = ∂l̇/∂v its moment arms. A motor has g₀ alone, a position servo
    g₀ = kp, b = (0, -kp, -kd), a velocity servo g₀ = kd, b₂ = -kd.

    Args:
        name: of the actuator and its control.
        transmission: what it acts on: a "joint" (about the axes of its child link, or with "joint_in_parent"
            of its parent link, where it has several), a "tendon", or the "frame" of a link.
        target: name of the joint, tendon or link.
        gear: of the transmission, 6: the first scales a coordinate or a tendon; all are the wrench (f, n) per
            unit of force in the axes of a frame, or along the velocities of a ball or free joint.
        reference: link seen from which a frame moves; "" is none, and the wrench acts from the world.
        gain, bias: g and b.
        control_range: in which u is kept (limits of the actuator).
        force_range: in which p is kept (N, N·m).
        activation: what u drives: the force itself, or a state z that takes its place, with ż = u
            ("integrator") or ż = (u - z) / `time_constant` ("filter").
        time_constant: of the filter (s).
        activation_range: in which z is kept.
        unsupported: what the description states beyond this, in words; its force then is unknown.
    """

    name: str
    transmission: Transmission
    target: str
    gear: Array = field(default_factory=lambda: np.eye(6)[0])
    reference: str = ""
    gain: Array = field(default_factory=lambda: np.eye(3)[0])
    bias: Array = field(default_factory=lambda: np.zeros(3))
    control_range: Interval = _UNLIMITED
    force_range: Interval = _UNLIMITED
    activation: Activation = "none"
    time_constant: float = 0.0
    activation_range: Interval = _UNLIMITED
    unsupported: str = ""

    def __post_init__(self) -> None:
        for name, size in (("gear", 6), ("gain", 3), ("bias", 3)):
            given = frozen_array(getattr(self, name), (size,), f"{name} of actuator {self.name!r}")
            object.__setattr__(self, name, given)
        for name in ("control_range", "force_range", "activation_range"):
            lower, upper = getattr(self, name)
            if not lower <= upper:
                raise ModelError(f"actuator {self.name!r}: {name} is an interval, got {(lower, upper)}")
        if self.activation == "filter" and not self.time_constant > 0:
            raise ModelError(
                f"actuator {self.name!r}: a filter has a time constant above 0, got {self.time_constant:g}"
            )

    @property
    def joints(self) -> set[str]:
        """The joint that it acts on, if it is one."""
        return {self.target} if self.transmission.startswith("joint") and not self.unsupported else set()

    @property
    def links(self) -> set[str]:
        """The links whose frames it acts on."""
        return {self.target, self.reference} - {""} if self.transmission == "frame" else set()

    @property
    def largest_force(self) -> float:
        """max |p| (N, N·m); infinite where neither the force nor a motor's control is limited."""
        limit = float(np.abs(self.force_range).max())
        driving = self.control_range if self.activation == "none" else self.activation_range
        if self.activation == "filter" and np.isinf(self.activation_range).any():
            driving = self.control_range  # a filter stays within the range of its input
        if not (self.gain[1:].any() or self.bias[1:].any()) and np.all(np.isfinite(driving)):
            limit = min(limit, float(np.abs(self.gain[0] * np.array(driving) + self.bias[0]).max()))
        return limit


def check_actuator(model: Model, actuator: Actuator) -> None:
    """Refuse an actuator of what does not exist."""
    if actuator.unsupported:
        return
    for link in actuator.links:
        model.frame(link)
    moving = {joint.name for joint in model.moving_joints}
    for name in actuator.joints - moving:
        raise ModelError(f"actuator {actuator.name!r}: no moving joint is called {name!r}")
    known = {one.name for one in model.tendons}
    if actuator.transmission == "tendon" and actuator.target not in known:
        raise ModelError(f"actuator {actuator.name!r}: no tendon is called {actuator.target!r}")


def coupled_joints(model: Model) -> set[str]:
    """The joints that share a coordinate: mimics and what they follow."""
    sharing: dict[int, list[str]] = {}
    for body in model.bodies:
        sharing.setdefault(body.v.start, []).append(body.joint.name)
    return {name for names in sharing.values() if len(names) > 1 for name in names}


def driven_joints(model: Model) -> tuple[str, ...] | None:
    """The joints that actuators with controls move, those that mimics follow in place of these.

    None where there are no actuators, or where the joints are not known: the force at a frame moves many.
    """
    if not model.actuators or any(one.unsupported or one.transmission == "frame" for one in model.actuators):
        return None
    tendons = {one.name: one for one in model.tendons}
    found: set[str] = set()
    for one in model.actuators:
        if one.transmission == "tendon" and tendons[one.target].branches:
            return None
        found |= tendons[one.target].joints if one.transmission == "tendon" else one.joints
    owners = {body.v.start: body.joint for body in model.bodies if body.joint.mimic is None}
    driven = {owners[body.v.start].name for body in model.bodies if body.joint.name in found}
    return tuple(joint.name for joint in model.independent_joints if joint.name in driven)
