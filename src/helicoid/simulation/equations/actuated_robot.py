"""Robots that are moved by the controls of their actuators instead of by torques."""

from __future__ import annotations

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.dynamics.forces.actuation import activation_rate, actuator_torque
from helicoid.errors import ModelError
from helicoid.robot import Robot


class ActuatedRobot:
    """A robot with the controls u of the actuators that its description states, as an MJCF does.

    It stands in place of a robot where controls and not torques are given: M(q) v̇ + h(q, v) = τ(q, v, u),
    with the servos' laws inside the integrator. Controls are kept within their ranges.

    Raises:
        ModelError: the robot has no such actuators, or the force of one is not known.

    >>> import helicoid as hc
    >>> body = '<body><joint name="hinge"/><geom size="0.1"/></body>'
    >>> servo = '<actuator><position name="servo" joint="hinge" kp="5" kv="0.5"/></actuator>'
    >>> robot = hc.load(f"<mujoco><worldbody>{body}</worldbody>{servo}</mujoco>")
    >>> motion = hc.simulate(hc.ActuatedRobot(robot), [0.0], controller=[0.3], duration=0.01, dt=0.001)
    >>> motion.controls.shape
    (11, 1)
    """

    n_noise = 0

    def __init__(self, robot: Robot) -> None:
        if not robot.model.actuators:
            raise ModelError(f"{robot.name!r} has no actuators with controls: an MJCF states them")
        for one in robot.model.actuators:
            if one.unsupported:
                raise ModelError(f"actuator {one.name!r} is not supported: {one.unsupported}")
        self.robot = robot
        actuators = robot.model.actuators
        self.controls = tuple(one.name for one in actuators)
        self._active = [k for k, one in enumerate(actuators) if one.activation != "none"]
        self.states = tuple(self.controls[k] for k in self._active)
        lower, upper = np.array([one.control_range for one in actuators]).T
        self.control_limits = lower, upper

    def start(self) -> Array:
        """Zero, for the state of each actuator that has one."""
        return np.zeros(len(self.states))

    def equations(
        self, q: Expression, v: Expression, z: Expression, u: Expression, w: Expression
    ) -> tuple[Expression, Expression]:
        """τ (nv) and ż."""
        model = self.robot.model
        driving, states = ca.SX(u), ca.SX.zeros(len(self.controls))
        for k, which in enumerate(self._active):
            driving[which] = states[which] = z[k]
        rates = activation_rate(model, states, u)
        return actuator_torque(model, q, v, driving), ca.vertcat(
            ca.SX(0, 1), *(rates[k] for k in self._active)
        )
