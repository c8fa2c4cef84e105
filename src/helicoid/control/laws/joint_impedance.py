"""Joint impedance control, also of robots with flexible joints."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.control.laws.torque import Friction, Torque, TorqueLaw, static_torque
from helicoid.control.program.numbers import Number
from helicoid.errors import InputError
from helicoid.robot.robot import Robot, as_robot

_FIXED_POINT_ITERATIONS = 5
"""Iterations q ← θ - g(q)/K_J; each leaves a fraction |∂g/∂q|/K_J of the error, some percent on real arms."""


class JointImpedance(TorqueLaw):
    """τ = K (q_ref ⊖ q) + D (v_ref - v) + g(q): a spring and a damper at every joint.

    At rest under a torque τ_ext from outside, the joints deflect by K⁻¹ τ_ext. Without gravity compensation
    they sag by K⁻¹ g(q). Joint springs and elastic elements of the robot are part of g(q).

    With `joint_stiffness` K_J the joints of the robot are flexible and what is measured, and driven, is the
    motors' side: q and v of a step are θ and θ̇, while q_ref is where the links should be. Gravity is that of
    the links at rest, θ = q + K_J⁻¹ g(q), so that without a load they come to q_ref; under one they deflect
    by (K⁻¹ + K_J⁻¹) τ_ext, two springs in series (Ott 2008, section 4.3). The loop is passive, since it
    feeds back nothing but what the motors do.

    Args:
        robot: with an actuator at every joint. For flexible joints, the robot as if they were stiff.
        stiffness: K, of one joint or all (N·m/rad, N/m).
        damping: D, of one joint or all (N·m·s/rad, N·s/m).
        gravity: whether g(q) is compensated.
        friction: whether the joints' friction is, at the "reference" or the "measured" velocity.
        joint_stiffness: K_J of flexible joints, of one or all, above what gravity changes by as they turn; it
            needs joints of one coordinate each, and `gravity`.
        decay: factor of the last valid torque at every step without a valid measurement.

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> law = hc.control.JointImpedance(robot, stiffness=100.0, damping=20.0)
    >>> tau = law.step([0.1, 0.0], [0.0, 0.0], q_ref=[0.2, 0.3])
    >>> print((tau - robot.gravity([0.1, 0.0])).round(9))
    [10. 30.]
    >>> print(law.ok, law.status)
    True ok
    """

    def __init__(
        self,
        robot: Robot,
        stiffness: ArrayLike,
        damping: ArrayLike,
        gravity: bool = True,
        friction: Friction = "none",
        joint_stiffness: ArrayLike | None = None,
        decay: float = 0.95,
    ) -> None:
        n = as_robot(robot, "JointImpedance").nv
        self._gravity, self._zero = bool(gravity), np.zeros(n)
        numbers = {"stiffness": Number(stiffness, (n,), 0.0), "damping": Number(damping, (n,), 0.0)}
        if joint_stiffness is not None:
            if robot.nq != n or not gravity:
                raise InputError("joint_stiffness takes joints of one coordinate each, and gravity=True")
            numbers["joint_stiffness"] = Number(joint_stiffness, (n,), 0.0, above=True)
        references = {"q_ref": (robot.nq,), "v_ref": (n,)}
        super().__init__(
            robot,
            "joint_impedance",
            references,
            numbers,
            decay=decay,
            defaults={"v_ref": self._zero},
            friction=friction,
        )

    def step(self, q: ArrayLike, v: ArrayLike, q_ref: ArrayLike, v_ref: ArrayLike | None = None) -> Array:
        """The torque (nv) for a measured state; v_ref is 0 unless given."""
        return self._call((q, v, q_ref, self._zero if v_ref is None else v_ref))[0]

    def _torque(self, x: Mapping[str, Expression], effort: Array) -> Torque:
        robot, theta, q, q_ref = self.robot, self._known_theta(x), x["q"], x["q_ref"]
        if "joint_stiffness" in x:
            for _ in range(_FIXED_POINT_ITERATIONS):
                q = x["q"] - static_torque(robot, q, *theta) / x["joint_stiffness"]
            q_ref = q_ref + static_torque(robot, q_ref, *theta) / x["joint_stiffness"]
        tau = x["stiffness"] * robot.difference(x["q"], q_ref) + x["damping"] * (x["v_ref"] - x["v"])
        if self._gravity:
            tau += static_torque(robot, q, *theta)
        return Torque(tau + self._friction_torque(x, x["v_ref"]))
