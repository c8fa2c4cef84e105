"""Computed torque control: inverse dynamics with a decoupled second-order error of every joint."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.control.laws.torque import Friction, JointTrackingLaw, Torque
from helicoid.control.program.numbers import Number
from helicoid.errors import InputError
from helicoid.robot.robot import Robot, as_robot


class ComputedTorque(JointTrackingLaw):
    """τ = M(q) (a_ref + 2 ζ ω ė + ω² e + k ∫e dt) + h(q, v), with e = q_ref ⊖ q and ė = v_ref - v.

    With an exact model every joint obeys ë + 2 ζ ω ė + ω² e + k ∫e dt = 0, whatever the others do.

    Args:
        robot: with an actuator at every joint.
        frequency: ω of one joint or all (rad/s).
        damping_ratio: ζ; 1 is critical.
        integral: k (1/s³), below 2 ζ ω³, where the loop would be unstable. It needs `dt`.
        dt: time between steps (s), where there is an integral. The integral is held at a torque limit.
        friction: whether the joints' friction is compensated, at the "reference" or the "measured" velocity.
        decay: factor of the last valid torque at every step without a valid measurement.

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> law = hc.control.ComputedTorque(robot, frequency=10.0)
    >>> tau = law.step([0.1, 0.0], [0.0, 0.0], q_ref=[0.2, 0.0])
    >>> print(robot.forward_dynamics([0.1, 0.0], [0.0, 0.0], tau).round(9))
    [10.  0.]
    """

    def __init__(
        self,
        robot: Robot,
        frequency: ArrayLike,
        damping_ratio: ArrayLike = 1.0,
        integral: ArrayLike = 0.0,
        dt: float | None = None,
        friction: Friction = "none",
        decay: float = 0.95,
    ) -> None:
        n = as_robot(robot, "ComputedTorque").nv
        numbers = {
            "frequency": Number(frequency, (n,), 0.0, above=True),
            "damping_ratio": Number(damping_ratio, (n,), 0.0),
            "integral": Number(integral, (n,), 0.0),
        }
        memory = {"sum": np.zeros(n)} if dt is not None else {}
        options = {"memory": memory, "friction": friction, "decay": decay, "dt": dt}
        super().__init__(robot, "computed_torque", numbers, **options)
        self._check({name: self.number(name) for name in numbers})

    def _check(self, numbers: Mapping[str, Array]) -> None:
        most = 2 * numbers["damping_ratio"] * numbers["frequency"] ** 3
        if np.any(numbers["integral"] >= np.maximum(most, 1e-300)):
            raise InputError(
                f"integral must stay below 2 ζ ω³ = {most.min():g} 1/s³, else the loop is unstable; got "
                f"{numbers['integral'].max():g}"
            )
        if self.period is None and np.any(numbers["integral"] != 0):
            raise InputError("an integral needs the time between steps: make the law with dt=...")

    def _torque(self, x: Mapping[str, Expression], effort: Array) -> Torque:
        robot, ω = self.robot, x["frequency"]
        e, e_dot = robot.difference(x["q"], x["q_ref"]), x["v_ref"] - x["v"]
        a = x["a_ref"] + 2 * x["damping_ratio"] * ω * e_dot + ω**2 * e
        if self.period is not None:
            a += x["integral"] * x["sum"]
        tau = robot.inverse_dynamics(x["q"], x["v"], a, *self._known_theta(x), friction=False)
        tau += self._friction_torque(x, x["v_ref"])
        if self.period is None:
            return Torque(tau)
        held = ca.fabs(tau) > np.minimum(effort, 1e200)
        return Torque(tau, {"sum": x["sum"] + self.period * ca.if_else(held, 0, e)})
