"""Joints that give way like springs with dampers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.control.laws.step import Number
from helicoid.control.laws.torque import Friction, Torque, TorqueLaw, compensated_friction
from helicoid.robot.robot import Robot, as_robot


class JointImpedance(TorqueLaw):
    """τ = K (q_ref ⊖ q) + D (v_ref - v) + g(q): a spring and a damper at every joint.

    At rest under a torque τ_ext from outside, the joints give way by K⁻¹ τ_ext. Without gravity compensation
    they sag by K⁻¹ g(q).

    Args:
        robot: with an actuator at every joint.
        stiffness: K, of one joint or all (N·m/rad, N/m).
        damping: D, of one joint or all (N·m·s/rad, N·s/m).
        gravity: whether g(q) is compensated.
        friction: whether the joints' friction is, at the velocity wanted ("reference") or "measured".
        decay: factor by which the last good torque shrinks at every step without a good measurement.

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> law = hc.control.JointImpedance(robot, stiffness=100.0, damping=20.0)
    >>> tau = law.step([0.1, 0.0], [0.0, 0.0], q_ref=[0.2, 0.3])
    >>> print((tau - robot.gravity([0.1, 0.0])).round(9))
    [10. 30.]
    >>> law.ok, law.status
    (True, 'ok')
    """

    def __init__(
        self,
        robot: Robot,
        stiffness: ArrayLike,
        damping: ArrayLike,
        gravity: bool = True,
        friction: Friction = "none",
        decay: float = 0.95,
    ) -> None:
        n = as_robot(robot, "JointImpedance").nv
        self._gravity, self._friction = bool(gravity), friction
        self._zero = np.zeros(n)
        super().__init__(
            robot,
            "joint_impedance",
            {"q_ref": (robot.nq,), "v_ref": (n,)},
            {"stiffness": Number(stiffness, (n,), 0.0), "damping": Number(damping, (n,), 0.0)},
            decay=decay,
        )

    def step(self, q: ArrayLike, v: ArrayLike, q_ref: ArrayLike, v_ref: ArrayLike | None = None) -> Array:
        """The torque (nv) for a measured state; v_ref is 0 unless given."""
        return self._call((q, v, q_ref, self._zero if v_ref is None else v_ref))[0]

    def _torque(self, x: Mapping[str, Expression], effort: Array) -> Torque:
        robot = self.robot
        tau = x["stiffness"] * robot.difference(x["q"], x["q_ref"]) + x["damping"] * (x["v_ref"] - x["v"])
        if self._gravity:
            tau += robot.gravity(x["q"], *self._known_theta(x))
        return Torque(tau + compensated_friction(robot, self._friction, x["q"], x["v"], x["v_ref"]))
