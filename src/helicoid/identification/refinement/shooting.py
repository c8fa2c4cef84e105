"""Many short simulations at once, with sensitivities to the start and the parameters.

    q̇ = Γ(q) v,   v̇ = M⁻¹ (τ - T x - d v - h(q, v; π)),   M with armature

by Runge-Kutta steps of order 4. T x are torques of known dependence on the motion and unknown size:
Coulomb friction, offsets, ... They are taken along the measured motion, like τ, in straight lines from sample
to sample: friction that jumps with a simulated velocity would need steps of microseconds. Sensitivities obey
Ẋ = F X + G, integrated by the same steps, with ∂v̇/∂x = -M⁻¹ Y(q, v, v̇) for all that is linear in x.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.compiler import Function
from helicoid.identification.linear.equations.regression import Regression
from helicoid.robot import Robot

_SIMULATED = ("inertia", "viscous", "armature")
_MAX_RATE = 2.0  # 1/step: Runge-Kutta of order 4 is stable up to 2.78


class Inputs(NamedTuple):
    """At the samples of B simulations: torques (K + 1, B, nv), and T (K + 1, B, nv, terms)."""

    tau: Array
    terms: Array


class ShootingFlow(NamedTuple):
    """Along B simulations of K steps: q (K + 1, B, nq), v (K + 1, B, nv), X (K + 1, B, 2 nv, 2 nv + p).

    X are the derivatives of (q, v) by (q, v) at the start and by the coordinates ξ of the parameters, both in
    the tangent space; its last axis is empty where they were not requested.
    """

    q: Array
    v: Array
    X: Array


class Simulator:
    """The robot of a `Regression` of torques, with its unknowns x as inputs."""

    def __init__(self, regression: Regression) -> None:
        self.regression, self.robot = regression, _smooth(regression.robot)
        self._parametric = self.robot.parametric("inertia", "friction", "armature")
        self._terms = tuple(group for group in regression.groups if group not in _SIMULATED)

    def inputs(self, q: Array, v: Array, a: Array, tau: Array) -> Inputs:
        """From the measured motion, (K + 1, B, n) each."""
        flat = (values.reshape(-1, values.shape[-1]) for values in (q, v, a))
        T = self.regression.with_groups(self._terms).regressor(*flat)
        return Inputs(tau, T.reshape(*tau.shape, -1))

    @cached_property
    def _term_columns(self) -> Array:
        groups = self.regression.parameters.groups
        everything = np.arange(len(self.regression.parameters))
        return np.concatenate([np.zeros(0, np.intp), *(everything[groups[g]] for g in self._terms)])

    def _theta(self, x: Array) -> Array:
        """θ of the parametric robot."""
        n, nv = 10 * self.robot.n_bodies, self.robot.nv
        theta = np.array(self._parametric.parameters.values)
        starts = {"viscous": n, "armature": n + 2 * nv}
        for group in _SIMULATED:
            own = self.regression.parameters.groups.get(group)
            if own is not None and group == "inertia":
                theta[:n] = x[own]
            elif own is not None:
                theta[starts[group] + np.array(self.regression.jointed, dtype=np.intp)] = x[own]
        return theta

    @cached_property
    def _rates(self) -> Function | None:
        """(q, v) -> Γ v, ∂(Γ v)/∂q in coordinates, Γ, Γ⁺; None where v is q̇."""
        if self.robot.tangent is None:
            return None
        q, v = ca.SX.sym("q", self.robot.nq), ca.SX.sym("v", self.robot.nv)
        G = self.robot.tangent(q)
        # Γ has orthogonal columns of length 1 or a half: ΓᵀΓ is well conditioned.
        outputs = {"rate": G @ v, "slope": ca.jacobian(G @ v, q), "G": G, "pseudo": ca.solve(G.T @ G, G.T)}
        return Function.from_expressions(
            "rates", {"q": q, "v": v}, {key: ca.densify(e) for key, e in outputs.items()}
        )

    def tangent(self, q: Array, dq: Array) -> Array:
        """Changes of coordinates (B, nq, m) as tangent vectors (B, nv, m)."""
        if self._rates is None:
            return dq
        return np.asarray(self._rates(q, np.zeros((len(q), self.robot.nv))).pseudo @ dq)

    def substeps(self, x: Array, q: Array, dt: float) -> int:
        """Number of integration steps a sample for stability with viscous friction, at q (B, nq)."""
        theta, n, nv = self._theta(x), 10 * self.robot.n_bodies, self.robot.nv
        inverse = self._parametric.mass_matrix_inverse(q, np.broadcast_to(theta, (len(q), len(theta))))
        fastest = np.abs(np.linalg.eigvals(inverse * theta[n : n + nv])).max(initial=0.0)
        return max(1, int(np.ceil(fastest * dt / _MAX_RATE)))

    def flow(
        self, x: Array, D: Array | None, start: tuple[Array, Array], inputs: Inputs, dt: float, steps: int
    ) -> ShootingFlow:
        """Simulate from start (B, nq), (B, nv), samples dt apart; with X where D = ∂x/∂ξ is given."""
        q, v = start
        nq, nv, B = self.robot.nq, self.robot.nv, len(q)
        X = np.zeros((B, nq + nv, 0 if D is None else 2 * nv + D.shape[1]))
        if D is not None:
            X[:, :nq, :nv] = np.eye(nv) if self._rates is None else self._rates(q, v).G
            X[:, nq:, nv : 2 * nv] = np.eye(nv)
        theta, D = self._theta(x), np.zeros((len(x), 0)) if D is None else D
        kept = [self._kept(q, v, X)]
        own = x[self._term_columns]
        for k in range(len(inputs.tau) - 1):
            for part in range(steps):
                acting = [_between(inputs, k, (part + where) / steps, own) for where in (0.0, 0.5, 0.5, 1.0)]
                q, v, X = self._step(q, v, X, acting, theta, D, dt / steps)
            kept.append(self._kept(q, v, X))
        return ShootingFlow(*(np.array(column) for column in zip(*kept, strict=True)))

    def _kept(self, q: Array, v: Array, X: Array) -> tuple[Array, Array, Array]:
        nq = self.robot.nq
        return q, v, np.concatenate([self.tangent(q, X[:, :nq]), X[:, nq:]], axis=1)

    def _step(
        self, q: Array, v: Array, X: Array, acting: list[Inputs], theta: Array, D: Array, h: float
    ) -> tuple[Array, Array, Array]:
        start, nq = np.concatenate([q, v], axis=1), self.robot.nq
        slope, slope_X = np.zeros_like(start), np.zeros_like(X)
        total, total_X = np.zeros_like(start), np.zeros_like(X)
        for part, weight, now in zip((0.0, 0.5, 0.5, 1.0), (1, 2, 2, 1), acting, strict=True):
            state, state_X = start + h * part * slope, X + h * part * slope_X
            slope, slope_X = self._slope(state[:, :nq], state[:, nq:], state_X, now, theta, D)
            total, total_X = total + weight * slope, total_X + weight * slope_X
        end = start + h / 6 * total
        q, v = end[:, :nq], end[:, nq:]
        if self._rates is not None:  # a step of no length puts q back on its manifold
            q = np.asarray(self.robot.integrate(q, np.zeros_like(v)))
        return q, v, X + h / 6 * total_X

    def _slope(
        self, q: Array, v: Array, X: Array, now: Inputs, theta: Array, D: Array
    ) -> tuple[Array, Array]:
        """d/dt of (q, v) and of X."""
        nq, nv = self.robot.nq, self.robot.nv
        each = np.broadcast_to(theta, (len(q), len(theta)))
        a = self._parametric.forward_dynamics(q, v, now.tau, each)
        rates = None if self._rates is None else self._rates(q, v)
        change = np.concatenate([v if rates is None else rates.rate, a], axis=1)
        if X.shape[2] == 0:
            return change, X
        slopes = self._parametric.forward_dynamics_derivatives(q, v, now.tau, each)
        X_q, X_v = X[:, :nq], X[:, nq:]
        dX = np.empty_like(X)
        dX[:, :nq] = X_v if rates is None else rates.slope @ X_q + rates.G @ X_v
        dX[:, nq:] = slopes.da_dq @ self.tangent(q, X_q) + slopes.da_dv @ X_v
        dX[:, nq:, 2 * nv :] -= slopes.M_inverse @ (self._regressor(q, v, a, now.terms) @ D)
        return change, dX

    def _regressor(self, q: Array, v: Array, a: Array, terms: Array) -> Array:
        """Y (B, nv, unknowns) at the simulated motion; the terms at the measured one."""
        groups, joints = self.regression.parameters.groups, list(self.regression.jointed)
        Y = np.zeros((len(q), self.robot.nv, len(self.regression.parameters)))
        if "inertia" in groups:
            Y[:, :, groups["inertia"]] = self.robot.regressor(q, v, a)
        for group, values in (("viscous", v), ("armature", a)):
            if group in groups:
                own = groups[group]
                Y[:, joints, range(own.start, own.stop)] = values[:, joints]
        Y[:, :, self._term_columns] = terms
        return Y


def _smooth(robot: Robot) -> Robot:
    """The robot without friction and armature of its description: the unknowns take their place."""
    return robot.with_joints(damping=0, friction=0, static_friction=0, stribeck_velocity=0, armature=0)


def _between(inputs: Inputs, k: int, part: float, x: Array) -> Inputs:
    """The torque that moves the robot and T, a part of the way from sample k to the next."""
    tau, T = ((1 - part) * values[k] + part * values[k + 1] for values in inputs)
    return Inputs(tau - T @ x, T)
