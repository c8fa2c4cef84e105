"""Drives of joints: motor, gear and their limits, and the rotor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import ModelError
from helicoid.model.inertia import Inertia
from helicoid.model.joints import Revolute
from helicoid.model.model import WORLD, Model
from helicoid.model.parts import Joint, Limits, Link, Mimic


@dataclass(frozen=True)
class Drive:
    """A motor behind a gear.

    `gear_ratio` N: turns of the rotor for one of the joint (rad/m for a prismatic joint); negative if the
    gear reverses. `rotor_inertia` J (kg·m²) about the rotor's own axis, gear included as seen there.
    `torque_constant` k (N·m/A), also the back-EMF constant (V·s/rad). `efficiency` η of the gear, 0 to 1.
    `torque_limit` (N·m at the joint), `current_limit` (A). `voltage` (V) and `resistance` (Ω) give the
    speed-torque line: R i = V - k N v.

    >>> import helicoid as hc
    >>> drive = hc.Drive(gear_ratio=100, rotor_inertia=2e-5, torque_constant=0.05, current_limit=8.0)
    >>> drive.armature, drive.max_torque
    (0.2, 40.0)
    >>> print(drive.torque([2.0, -1.0]), drive.current(10.0))
    [10. -5.] 2.0
    """

    gear_ratio: float
    rotor_inertia: float = 0.0
    torque_constant: float | None = None
    efficiency: float = 1.0
    torque_limit: float = np.inf
    current_limit: float = np.inf
    voltage: float | None = None
    resistance: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            if not isinstance(value, (int, float, np.number)) or np.isnan(value):
                raise ModelError(f"{field.name} of a drive is a number, got {value!r}")
            if field.name != "gear_ratio" and value < 0:
                raise ModelError(f"{field.name} of a drive must not be negative, got {value!r}")
        if self.gear_ratio == 0 or not np.isfinite(self.gear_ratio):
            raise ModelError(f"gear_ratio of a drive is finite and not zero, got {self.gear_ratio!r}")
        if not 0 < self.efficiency <= 1:
            raise ModelError(f"efficiency of a drive is above 0 and at most 1, got {self.efficiency!r}")
        for name in ("torque_constant", "voltage", "resistance"):
            if getattr(self, name) == 0:
                raise ModelError(f"{name} of a drive must not be zero; leave it out where it is not known")
        if (self.voltage is None) != (self.resistance is None):
            raise ModelError("a drive's voltage and resistance go together: give both or neither")
        if self.torque_constant is None and (self.voltage is not None or np.isfinite(self.current_limit)):
            raise ModelError("limits of voltage and current need the drive's torque_constant")

    @property
    def armature(self) -> float:
        """N² J (kg·m²): the rotor's inertia reflected to the joint."""
        return self.gear_ratio**2 * self.rotor_inertia

    @property
    def max_torque(self) -> float:
        """The maximum torque at the joint by the limits of torque and current (N·m)."""
        if np.isinf(self.current_limit):
            return self.torque_limit
        return min(self.torque_limit, abs(self._torque_per_current) * self.current_limit)

    def torque(self, current: ArrayLike) -> Array:
        """τ = η N k i: the torque at the joint (N·m) of a current (A)."""
        return self._torque_per_current * np.asarray(current, dtype=np.float64)[()]

    def current(self, torque: ArrayLike) -> Array:
        """i = τ / (η N k): the current (A) that a torque at the joint (N·m) needs."""
        return np.asarray(torque, dtype=np.float64)[()] / self._torque_per_current

    def torque_range(self, v: ArrayLike) -> tuple[Array, Array]:
        """Minimum and maximum torque (N·m) at a joint velocity v (rad/s), each of the shape of v.

        On the speed-torque line the current is between (-V - k N v) / R and (V - k N v) / R.
        """
        v = np.asarray(v, dtype=np.float64)
        upper = np.full(v.shape, self.max_torque)
        if self.voltage is None or self.resistance is None or self.torque_constant is None:
            return -upper, upper
        gain = abs(self._torque_per_current) / self.resistance
        back = self.torque_constant * abs(self.gear_ratio) * v
        lowest, highest = gain * (-self.voltage - back), gain * (self.voltage - back)
        return np.clip(lowest, -upper, upper), np.clip(highest, -upper, upper)

    @property
    def _torque_per_current(self) -> float:
        if self.torque_constant is None:
            raise ModelError("currents need the drive's torque_constant (N·m/A)")
        return self.efficiency * self.gear_ratio * self.torque_constant


def with_drives(model: Model, drives: Mapping[str, Drive], full_rotor: bool = False) -> Model:
    """Joints moved by drives: armature N² J, and the effort limit where the drive states one.

    With `full_rotor`, a rotor on a link that moves is a body of its own, that turns N times as fast as the
    joint about the joint's axis. Beside ½ N² J v² its energy then has J N v (a·ω), ω the angular velocity of
    the link that carries it and a the axis: the gyroscopic effect. The rotor at rest is taken as part of that
    link's inertia, as descriptions state it, so that a robot at rest is unchanged.
    """
    if not isinstance(drives, Mapping):
        raise ModelError(f"with_drives takes joint names with their Drive; got {drives!r}")
    joints, links = {joint.name: joint for joint in model.joints}, {link.name: link for link in model.links}
    for name, drive in drives.items():
        if not isinstance(drive, Drive):
            raise ModelError(f"with_drives takes joint names with their Drive; {name!r} has {drive!r}")
        joint = model.joint(name)
        if joint.type.nv != 1 or joint.mimic is not None:
            raise ModelError(f"joint {name!r} cannot have a drive: it has not one coordinate of its own")
        turning = full_rotor and drive.rotor_inertia > 0 and model.frame(joint.parent).body != WORLD
        armature = np.array([0.0 if turning else drive.armature])
        joints[name] = replace(joint, armature=armature, limits=_limited(joint, drive))
        if turning:
            rotor = _rotor(joint, drive)
            if rotor.name in links or rotor.name in joints:
                raise ModelError(f"{rotor.name!r} exists already: joint {name!r} has a rotor")
            # Isotropic, so that it can be subtracted from the link wherever the rotor is. All but the inertia
            # about the rotor's own axis cancels.
            J = Inertia.from_com(0.0, np.zeros(3), drive.rotor_inertia * np.eye(3))
            joints[rotor.name], links[rotor.name] = rotor, Link(rotor.name, J)
            _check_carrier(model, rotor, drive.rotor_inertia)
            carrier = _heaviest(model, links, joint.parent)
            left = (carrier.inertia or Inertia.zero()).parameters - J.parameters
            links[carrier.name] = replace(carrier, inertia=Inertia.from_parameters(left))
    return model.replaced(links.values(), joints.values())


def _limited(joint: Joint, drive: Drive) -> Limits | None:
    if np.isinf(drive.max_torque):
        return joint.limits
    return joint.range._replace(effort=np.array([drive.max_torque]))


def _rotor(joint: Joint, drive: Drive) -> Joint:
    """The joint that turns a rotor on the link that carries it, about the axis of the drive's joint."""
    name = f"{joint.name}_rotor"
    S = np.array(ca.evalf(joint.type.subspace(ca.SX(joint.type.neutral())))).ravel()
    axis = S[:3] if np.any(S[:3]) else S[3:]
    mimic = Mimic(joint.name, drive.gear_ratio)
    return Joint(name, Revolute(axis), joint.parent, name, joint.placement, mimic=mimic)


def _heaviest(model: Model, links: Mapping[str, Link], name: str) -> Link:
    """The heaviest of the links that are rigidly connected to the named one."""
    body = model.frame(name).body
    together = [links[link] for link, frame in model.frames.items() if frame.body == body]
    return max(together, key=lambda link: link.inertia.mass if link.inertia is not None else 0.0)


def _check_carrier(model: Model, rotor: Joint, J: float) -> None:
    """A rotor is part of the body that carries it: that body has at least its inertia about its axis."""
    frame = model.frame(rotor.parent)
    S = np.array(ca.evalf(rotor.type.subspace(ca.SX(0.0)))).ravel()
    axis = frame.placement.rotation @ rotor.placement.rotation @ S[:3]
    has = float(axis @ model.bodies[frame.body].inertia.at_com @ axis)
    if has <= J:
        raise ModelError(
            f"{rotor.name!r}: a rotor of {J:.3g} kg·m² cannot be part of link {rotor.parent!r}, which has "
            f"only {has:.3g} kg·m² about that axis; use the armature alone (full_rotor=False)"
        )
