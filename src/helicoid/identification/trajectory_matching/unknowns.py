"""Unknowns of a robot under servos: joint and inertial parameters, servo gains, delays of commands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.solving.consistent import nonnegative_unknowns
from helicoid.identification.linear.solving.log_cholesky import (
    LogCholeskyCoordinates,
    least_step,
    solid_bodies,
)
from helicoid.identification.trajectory_matching.rollouts.tangent import Columns
from helicoid.identification.trajectory_matching.servo import Servo
from helicoid.robot import Robot

SERVO_GROUPS = ("kp", "kd", "gain")
_BODY_SIGMA = 0.3  # of itself: prior σ of a body
_WIDE_SIGMA = 30.0  # in units of `scale`: prior σ of all other unknowns
_MIN_GAIN = 1e-3  # of its start: servo gains and torque constants stay positive


class ServoValues(NamedTuple):
    """kp, kd, gain of `tau_command` and delay (s) of each joint, (nv,) each."""

    kp: Array
    kd: Array
    gain: Array
    delay: Array


class Unknowns:
    """z = [x of a `Regression` | unknown kp, kd, gain | delays], and coordinates ξ with ξ = 0 at `start`.

    Args:
        robot: as described; unknowns of `groups` have their described values first.
        groups: of the unknowns: "inertia", "viscous", "coulomb", "offset", "armature", "gain".
        servo: kp and kd that it does not state are unknown.
        delays: number of unknown delays: 0, 1 for all joints, or nv.
        delay: the delay where it is known (s).
    """

    def __init__(
        self, robot: Robot, groups: Sequence[str], servo: Servo | None, delays: int, delay: float
    ) -> None:
        self.robot, nv = robot, robot.nv
        self.regression = Regression(robot, [group for group in groups if group not in SERVO_GROUPS])
        known = [np.zeros(nv), np.zeros(nv)] if servo is None else [servo.gain(n, nv) for n in ("kp", "kd")]
        self.known = dict(zip(SERVO_GROUPS, [*known, None if "gain" in groups else np.ones(nv)], strict=True))
        parameters, joints = self.regression.parameters, robot.model.velocity_names
        self.groups, names = dict(parameters.groups), list(parameters.names)
        for name, values in self.known.items():
            if values is None:
                self.groups[name] = slice(len(names), len(names) + nv)
                names += [f"{joint}.{name}" for joint in joints]
        self.groups["delay"] = slice(len(names), len(names) + delays)
        names += ["delay"] if delays == 1 else [f"{joint}.delay" for joint in joints][:delays]
        self.names, self.known_delay = tuple(names), delay
        unknown = np.full(len(names) - len(parameters), np.nan)
        self.nominal = np.concatenate([parameters.nominal, unknown])
        if "gain" in self.groups:
            self.nominal[self.groups["gain"]] = 1.0

    def __len__(self) -> int:
        return len(self.names)

    @property
    def x_size(self) -> int:
        """Number of the unknowns of the regression, which come first."""
        return len(self.regression.parameters)

    def servo_values(self, z: Array) -> ServoValues:
        """Gains and delays of every joint."""
        nv = self.robot.nv
        kp, kd, gain = (z[self.groups[n]] if known is None else known for n, known in self.known.items())
        own = z[self.groups["delay"]]
        return ServoValues(kp, kd, gain, np.broadcast_to(own if len(own) else self.known_delay, (nv,)))

    @cached_property
    def parametric(self) -> Robot:
        """The robot with θ: bodies where they are unknown, friction, armature and offsets."""
        groups = ("friction", "armature", "offset")
        return self.robot.parametric(*(("inertia", *groups) if "inertia" in self.groups else groups))

    @cached_property
    def _theta_of(self) -> list[tuple[slice, Array]]:
        """Slices of z with their places in θ."""
        slices, nv = self.parametric.theta.slices, self.robot.nv
        start = {"viscous": slices["friction"].start, "coulomb": slices["friction"].start + nv}
        start |= {name: slices[name].start for name in ("armature", "offset")}
        found = []
        for group, own in self.regression.parameters.groups.items():
            at = np.arange(own.stop - own.start)
            joints = np.array(self.regression.velocities(group), dtype=np.intp) if group != "inertia" else at
            found.append((own, (slices["inertia"].start if group == "inertia" else start[group]) + joints))
        return found

    def theta(self, z: Array) -> Array:
        """θ of the parametric robot."""
        theta = np.array(self.parametric.theta.values)
        for own, at in self._theta_of:
            theta[at] = z[own]
        return theta

    @cached_property
    def columns(self) -> Columns:
        """The directions of sensitivities, in the order of z."""
        theta = np.concatenate([np.zeros(0, dtype=np.intp), *(at for _, at in self._theta_of)])
        servo = tuple(name for name in SERVO_GROUPS if name in self.groups)
        delay = self.groups["delay"]
        return Columns(tuple(int(k) for k in theta), servo, delay.stop - delay.start)


class Coordinates:
    """ξ: log-Cholesky coordinates of the bodies, and the other unknowns in units of `scale`; ξ = 0 at z."""

    def __init__(self, unknowns: Unknowns, z: Array, scale: Array, max_delay: float) -> None:
        groups, n = unknowns.groups, len(unknowns)
        self.inertial = groups.get("inertia", slice(0, 0))
        self._bodies = LogCholeskyCoordinates(solid_bodies(z[self.inertial]))
        self.start, self.scale = np.array(z), scale
        self.lower = np.full(n, -np.inf)
        self.lower[self.inertial] = least_step(np.zeros(self.inertial.stop - self.inertial.start))
        nonnegative = nonnegative_unknowns(unknowns.regression)
        self.start[nonnegative] = np.maximum(z[nonnegative], 0.0)
        self.lower[nonnegative] = -self.start[nonnegative] / scale[nonnegative]
        for name in SERVO_GROUPS:
            own = groups.get(name, slice(0, 0))
            self.lower[own] = (_MIN_GAIN - 1.0) * self.start[own] / scale[own]
        own = groups["delay"]
        self.lower[own] = -self.start[own] / scale[own]
        self.spread = np.full(n, _WIDE_SIGMA)
        self.spread[self.inertial] = _BODY_SIGMA
        self.spread[own] = max_delay / scale[own]

    def x(self, xi: Array) -> Array:
        """z of ξ: bodies that can exist, whatever ξ."""
        z = self.start + self.scale * xi
        z[self.inertial] = self._bodies.parameters(xi[self.inertial])
        return z

    def slope(self, xi: Array) -> Array:
        """∂z/∂ξ."""
        D = np.diag(self.scale)
        D[self.inertial, self.inertial] = self._bodies.jacobian(xi[self.inertial])
        return D
