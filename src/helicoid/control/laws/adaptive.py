"""Adaptive control with physically consistent inertial parameters."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.control.laws.torque import Friction, JointTrackingLaw, Torque
from helicoid.control.program.numbers import Number
from helicoid.deprecation import former_order
from helicoid.dynamics.forces.passive import elastic_torque
from helicoid.dynamics.forces.springs import spring_torque
from helicoid.dynamics.forces.tendon_inertia import tendon_coriolis_matrix, tendon_mass_matrix
from helicoid.dynamics.physics import nominal
from helicoid.dynamics.recursions.regressor import slotine_li_products
from helicoid.errors import InputError
from helicoid.model.inertia import Inertia
from helicoid.robot.robot import Robot, as_robot

_PLACES = np.tril_indices(4)  # entries of a Cholesky factor in the memory


class AdaptiveControl(JointTrackingLaw):
    """τ = Y(q, v, v_r, a_r) π̂ + K s (Slotine and Li 1987), with inertial parameters π̂ that stay physical.

    With e = q_ref - q, v_r = v_ref + Λ e, a_r = a_ref + Λ ė and s = v_r - v, every body's pseudo-inertia P̂
    follows the natural gradient

        dP̂/dt = γ P̂ B P̂,        tr(B P) = sᵀ Y π for all π,

    which keeps it positive definite: masses positive, inertias of real bodies. It stops at a torque limit.
    Then V = ½ sᵀ M s + Σ (log(|P̂|/|P|) + tr(P̂⁻¹ P) - 4) / γ never grows: V̇ = -sᵀ K s (Lee, Kwon, Park 2018).

    Args:
        robot: with an actuator at every joint; its parameters are the initial estimate. All bodies have mass.
            Armature, joint springs and elastic elements are compensated as described; they are not adapted.
        frequency: Λ, of one joint or all (rad/s).
        damping: K, of one joint or all (N·m·s/rad).
        rate: γ, the adaptation gain.
        dt: time between steps (s).
        friction: whether the joints' friction is compensated, as the robot models it, at the
            "reference" or the "measured" velocity.
        decay: factor of the last valid torque at every step without a valid measurement.

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> law = hc.control.AdaptiveControl(robot, frequency=5.0, damping=10.0, dt=1e-3)
    >>> tau = law.step([0.1, 0.0], [0.0, 0.0], q_ref=[0.2, 0.0])
    >>> law.parameters.shape, law.ok
    ((20,), True)
    """

    @former_order("dt", "frequency", "damping", "rate", "friction", "decay")
    def __init__(
        self,
        robot: Robot,
        frequency: ArrayLike,
        damping: ArrayLike,
        rate: float = 1.0,
        *,
        dt: float,
        friction: Friction = "none",
        decay: float = 0.95,
    ) -> None:
        n = as_robot(robot, "AdaptiveControl").nv
        if dt is None:
            raise InputError("AdaptiveControl needs the time between steps, dt (s)")
        if robot.nq != n or robot.theta.groups:
            raise InputError("AdaptiveControl takes joints of one coordinate each, and no parametric robot")
        roots = [_root(body.joint.name, body.inertia)[_PLACES] for body in robot.model.bodies]
        numbers = {
            "frequency": Number(frequency, (n,), 0.0, above=True),
            "damping": Number(damping, (n,), 0.0),
            "rate": Number(rate, (), 0.0),
        }
        memory = {f"root_{k}": root for k, root in enumerate(roots)}
        options = {"memory": memory, "friction": friction, "decay": decay, "dt": dt}
        super().__init__(robot, "adaptive_control", numbers, **options)

    @property
    def parameters(self) -> Array:
        """π̂, 10 for each moving body in the order of `robot.parameters`."""
        roots = [np.zeros((4, 4)) for _ in range(self.robot.n_bodies)]
        for k, L in enumerate(roots):
            L[_PLACES] = self._kept(f"root_{k}")
        return np.concatenate([Inertia.from_pseudo(L @ L.T).parameters for L in roots])

    @property
    def learned(self) -> Robot:
        """The robot with the estimated parameters."""
        return self.robot.with_parameters(self.parameters)

    def _torque(self, x: Mapping[str, Expression], effort: Array) -> Torque:
        robot, Λ = self.robot, x["frequency"]
        e, e_dot = x["q_ref"] - x["q"], x["v_ref"] - x["v"]
        v_r, a_r = x["v_ref"] + Λ * e, x["a_ref"] + Λ * e_dot
        s = v_r - x["v"]
        roots = [_lower(x[f"root_{k}"]) for k in range(robot.n_bodies)]
        pi = ca.vertcat(*(_parameters(L @ L.T) for L in roots))
        physics = nominal(robot.model)
        tau, forces = slotine_li_products(robot.model, physics, x["q"], x["v"], v_r, a_r, pi, s)
        tau += physics.armature * a_r + x["damping"] * s
        tau += tendon_mass_matrix(robot.model, x["q"]) @ a_r
        tau += tendon_coriolis_matrix(robot.model, x["q"], x["v"]) @ v_r
        tau += spring_torque(robot.model, x["q"]) + elastic_torque(robot.model, physics, x["q"])
        tau += self._friction_torque(x, x["v_ref"])
        # At a torque limit the tracking error is not caused by the parameters alone.
        free = ca.sum1(ca.fabs(tau) > np.minimum(effort, 1e200)) == 0
        rate = ca.if_else(free, self.period * x["rate"], 0)
        memory = {
            f"root_{k}": _entries(_stepped(L, rate * _dual(forces[10 * k : 10 * k + 10])))
            for k, L in enumerate(roots)
        }
        return Torque(tau, memory)


def _root(name: str, inertia: Inertia) -> Array:
    """L, lower triangular, with L Lᵀ = P; of a thin body, whose P is singular, of one a little thicker."""
    if inertia.mass <= 0:
        raise InputError(f"the body of joint {name!r} has no mass: adaptation needs an initial estimate")
    values, vectors = np.linalg.eigh(inertia.pseudo)
    P = (vectors * np.maximum(values, 1e-6 * values.sum())) @ vectors.T
    return np.asarray(np.linalg.cholesky((P + P.T) / 2), dtype=np.float64)


def _lower(entries: Expression) -> Expression:
    L = ca.SX(4, 4)
    for k, (i, j) in enumerate(zip(*_PLACES, strict=True)):
        L[int(i), int(j)] = entries[k]
    return L


def _entries(L: Expression) -> Expression:
    return ca.vertcat(*(L[int(i), int(j)] for i, j in zip(*_PLACES, strict=True)))


def _parameters(P: Expression) -> Expression:
    """π of a pseudo-inertia P = [[Σ, h], [hᵀ, m]]: I = tr(Σ) 1 - Σ."""
    Σ, trace = P[:3, :3], P[0, 0] + P[1, 1] + P[2, 2]
    moments = [trace - Σ[0, 0], -Σ[0, 1], -Σ[0, 2], trace - Σ[1, 1], -Σ[1, 2], trace - Σ[2, 2]]
    return ca.vertcat(P[3, 3], P[0, 3], P[1, 3], P[2, 3], *moments)


def _dual(w: Expression) -> Expression:
    """The symmetric B with tr(B P) = wᵀ π(P) for all P."""
    m, hx, hy, hz, xx, xy, xz, yy, yz, zz = (w[k] for k in range(10))
    rows = [
        [yy + zz, -xy / 2, -xz / 2, hx / 2],
        [-xy / 2, xx + zz, -yz / 2, hy / 2],
        [-xz / 2, -yz / 2, xx + yy, hz / 2],
        [hx / 2, hy / 2, hz / 2, m],
    ]
    return ca.vertcat(*(ca.horzcat(*row) for row in rows))


def _stepped(L: Expression, B: Expression) -> Expression:
    """L⁺ = L (1 + Z), with Z lower triangular and Z + Zᵀ = X = Lᵀ B L: then P⁺ = L⁺ L⁺ᵀ is P + P B P to first
    order, and positive whatever B is.

    A step that would change P by more than a tenth is shortened to that.
    """
    X = L.T @ B @ L
    X = X * ca.fmin(1, 0.1 / ca.sqrt(ca.sumsqr(X) + 1e-30))
    return L + L @ (ca.tril(X) - ca.diag(ca.diag(X)) / 2)
