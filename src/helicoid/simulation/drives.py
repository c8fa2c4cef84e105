"""Drives in a simulation: torque limits by current, voltage and velocity."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.model.edits.drives import Drive
from helicoid.robot import Robot

Controller = Callable[[float, Array, Array], ArrayLike]


class Actuators:
    """The drives of the joints of a robot; a joint without one has no limit.

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> drive = hc.Drive(50, torque_constant=0.02, current_limit=3.0, voltage=24.0, resistance=2.0)
    >>> actuators = hc.Actuators(robot, {"joint_1": drive})
    >>> print(actuators.limit([10.0, 10.0], [0.0, 0.0]), actuators.limit([10.0, 10.0], [20.0, 0.0]))
    [ 3. 10.] [ 2. 10.]
    """

    def __init__(self, robot: Robot, drives: Mapping[str, Drive]) -> None:
        columns = {
            body.joint.name: body.v.start
            for body in robot.model.bodies
            if body.joint.mimic is None and body.joint.type.nv == 1
        }
        for name in drives:
            if name not in columns:
                raise InputError(f"{name!r} is no joint of one coordinate; there are: {', '.join(columns)}")
        self.drives = {columns[name]: drive for name, drive in drives.items()}
        self._nv = robot.nv

    def limit(self, tau: ArrayLike, v: ArrayLike) -> Array:
        """τ within the limits of the drives at the velocities v; (nv,) or (N, nv) each."""
        tau, v = self._checked("tau", tau), self._checked("v", v)
        cut = np.array(np.broadcast_to(tau, np.broadcast_shapes(tau.shape, v.shape)))
        for column, drive in self.drives.items():
            cut[..., column] = np.clip(tau[..., column], *drive.torque_range(v[..., column]))
        return cut

    def torque(self, current: ArrayLike) -> Array:
        """The joints' torques (N·m) of motor currents (A); without a drive a joint gets none."""
        current = self._checked("current", current)
        tau = np.zeros_like(current)
        for column, drive in self.drives.items():
            tau[..., column] = drive.torque(current[..., column])
        return tau

    def current(self, tau: ArrayLike) -> Array:
        """The motors' currents (A) for the joints' torques (N·m); zero for a joint without a drive."""
        tau = self._checked("tau", tau)
        current = np.zeros_like(tau)
        for column, drive in self.drives.items():
            current[..., column] = drive.current(tau[..., column])
        return current

    def limited(self, controller: Controller) -> Controller:
        """The controller with limited torques: `hc.simulate(robot, ..., actuators.limited(controller))`."""

        def controlled(t: float, q: Array, v: Array) -> Array:
            return self.limit(controller(t, q, v), v)

        return controlled

    def _checked(self, name: str, value: ArrayLike) -> Array:
        array = np.asarray(value, dtype=np.float64)
        if array.ndim not in (1, 2) or array.shape[-1] != self._nv:
            raise InputError(f"{name} has shape ({self._nv},) or (N, {self._nv}), got {array.shape}")
        return array
