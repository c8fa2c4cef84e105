"""Momentum observer: external joint torques from q, v and motor torques, without accelerations."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.control.laws.step import CompiledLaw, Expressions
from helicoid.control.laws.torque import Friction, compensated_friction, static_torque
from helicoid.control.program.numbers import Number
from helicoid.deprecation import former_order
from helicoid.dynamics.kinematics import frames
from helicoid.dynamics.linear import factor, solve
from helicoid.errors import InputError
from helicoid.robot.robot import Robot, as_robot


class MomentumObserver(CompiledLaw):
    """r ≈ τ_ext, the torque from outside on every joint, from q, v and the motors' torque (De Luca 2006).

    With the generalised momentum p = M(q) v, whose rate is ṗ = τ + Cᵀ v - g + τ_ext, where C is such that
    Ṁ - 2 C is skew and g includes joint springs and elastic elements,

        r = k (p - ∫ (τ + Cᵀ v - g + r) dt - p(0)),        so that        ṙ = k (τ_ext - r):

    a first-order filter of what acts from outside, with the time constant 1/k. `contact` tells where |r| is
    above what noise and errors of the model explain, `threshold`:

        z √(Σ_j (k M_ij σ_v)² + (k dt / 2) σ_τ²) + ε (|g| + |τ|) + floor

    Args:
        robot: any, also on a floating base: r is per velocity.
        frame: the link at which `wrench` is estimated, if any.
        gain: k (1/s), below 1/dt.
        dt: time between steps (s).
        velocity_noise, torque_noise: standard deviations of what is measured (rad/s, N·m), of one or all.
        model_error: ε, the share by which torques of the model may be wrong.
        z: how many standard deviations are still noise. 6 is one false alarm in 10⁹ samples.
        floor: of the threshold (N·m).
        friction: whether the joints' friction is part of the model, at the "measured" velocity.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> observer = hc.control.MomentumObserver(robot, gain=50.0, dt=1e-3)
    >>> q, v = np.array([0.3, 0.8]), np.zeros(2)
    >>> push = robot.jacobian("tip", "world_aligned")(q).T @ [0, 0, 0, 5, 0, 0]
    >>> for _ in range(300):  # held at rest against a push of 5 N
    ...     r = observer.step(q, v, robot.gravity(q) - push)
    >>> print(np.allclose(r, push, rtol=1e-5), observer.contact)
    True True
    """

    command = "residual"
    measures = "q v tau"

    @former_order(
        *("dt", "gain", "frame", "velocity_noise", "torque_noise", "model_error", "z", "floor", "friction")
    )
    def __init__(
        self,
        robot: Robot,
        frame: str | None = None,
        gain: ArrayLike = 100.0,
        *,
        dt: float,
        velocity_noise: ArrayLike = 0.0,
        torque_noise: ArrayLike = 0.0,
        model_error: float = 0.0,
        z: float = 6.0,
        floor: ArrayLike = 0.1,
        friction: Friction = "none",
    ) -> None:
        n = as_robot(robot, "MomentumObserver").nv
        if dt is None:
            raise InputError("MomentumObserver needs the time between steps, dt (s)")
        if frame is not None:
            robot.model.frame(frame)
        self.frame, self._friction = frame, friction
        numbers = {
            "gain": Number(gain, (n,), 0.0, above=True),
            "velocity_noise": Number(velocity_noise, (n,), 0.0),
            "torque_noise": Number(torque_noise, (n,), 0.0),
            "model_error": Number(model_error, (), 0.0),
            "z": Number(z, (), 0.0),
            "floor": Number(floor, (n,), 0.0),
        }
        theta = robot.theta
        if theta.groups:
            numbers["theta"] = Number(theta.values, (len(theta),))
        results = {"r": (n,), "threshold": (n,), "wrench": (6,)}
        measured = {"q": (robot.nq,), "v": (n,), "tau": (n,)}
        memory = {"estimate": np.zeros(n), "r": np.zeros(n), "known": np.zeros(n), "begun": np.zeros(())}
        super().__init__(robot, "momentum_observer", measured, {}, results, numbers, memory, dt)
        self._check({name: self.number(name) for name in numbers})

    def _check(self, numbers: Mapping[str, Array]) -> None:
        most = 1 / (self.period or np.inf)
        if np.any(numbers["gain"] >= most):
            raise InputError(f"gain must stay below 1/dt = {most:g} 1/s; got {numbers['gain'].max():g}")

    def reset(self) -> None:
        """Clear the memory of earlier steps; numbers stay as they are."""
        super().reset()
        n = self.robot.nv
        self._result = (np.zeros(n), np.full(n, np.inf), np.zeros(6))

    def step(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
        """r (nv), after a measured state and the torque that the motors give until the next step."""
        result = self._call((q, v, tau))
        self._result = result[:3]
        return result[0]

    @property
    def threshold(self) -> Array:
        """Threshold of |r| for a contact, for each velocity (N·m, N), at the last step."""
        return self._result[1]

    @property
    def contact(self) -> bool:
        """Whether an external torque exceeds the threshold."""
        return bool(np.any(np.abs(self._result[0]) > self._result[1]))

    @property
    def wrench(self) -> Array:
        """(n, f) on the origin of `frame` that explains r best, least squares (N·m, N), world axes."""
        if self.frame is None:
            raise InputError("a wrench is on a frame: make the observer with frame='the name of a link'")
        return self._result[2]

    def _law(self, x: Mapping[str, Expression]) -> Expressions:
        robot, q, v, tau, k = self.robot, x["q"], x["v"], x["tau"], x["gain"]
        dt = self.period or 0.0
        theta = (x["theta"],) if "theta" in x else ()
        M, g = robot.mass_matrix(q, *theta), static_torque(robot, q, *theta)
        p = M @ v
        C_t_v = robot.coriolis_matrix(q, v, *theta).T @ v
        # The model terms are integrated by the trapezoidal rule, the torque as held over a period.
        known = C_t_v - g - compensated_friction(robot, self._friction, q, v, v, *theta)
        estimate = ca.if_else(x["begun"] == 0, p, x["estimate"] + dt / 2 * (x["known"] + known))
        r = k * (p - estimate)
        noise = (k**2) * ((M**2) @ x["velocity_noise"] ** 2) + k * dt / 2 * x["torque_noise"] ** 2
        expected = x["model_error"] * (ca.fabs(g) + ca.fabs(tau))
        results = {
            "r": r,
            "threshold": x["z"] * ca.sqrt(noise) + expected + x["floor"],
            "wrench": ca.SX.zeros(6),
        }
        if self.frame is not None:
            J = frames.jacobian(robot.model, q, self.frame, "world_aligned")
            results["wrench"] = solve(factor(J @ J.T + 1e-9 * ca.SX.eye(6)), J @ r)
        memory = {"estimate": estimate + dt * (tau + r), "r": r, "known": known, "begun": ca.SX(1)}
        otherwise = {"r": x["r"], "threshold": ca.SX(np.full(robot.nv, 1e9)), "wrench": ca.SX.zeros(6)}
        return Expressions(results, memory, otherwise)
