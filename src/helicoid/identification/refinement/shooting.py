"""Many short simulations at once, with sensitivities to the start and the parameters.

    q̇ = Γ(q) v,   v̇ = M⁻¹ (τ - T x - d v - h(q, v; π)),   M with armature

by Runge-Kutta steps of order 4. T x are torques of known dependence on the motion and unknown size:
Coulomb friction, offsets, ... They are taken along the measured motion, like τ, in straight lines from sample
to sample: friction that jumps with a simulated velocity would need steps of microseconds. So is described
friction that is not among the unknowns. Sensitivities are those of the step, as of any simulated trajectory
(`simulation.equations.sensitivity`), in directions of θ for π, d and armature, and of τ for T x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import Iteration
from helicoid.dynamics.friction import TERMS
from helicoid.identification.linear.equations.known import known_torque
from helicoid.identification.linear.equations.regression import Regression
from helicoid.robot import Robot
from helicoid.simulation.equations import step_function
from helicoid.simulation.equations.sensitivity import tangent_step

_THETA = {"inertia": "inertia", "viscous": "friction", "armature": "armature"}
"""Unknowns that act on the simulated motion, with their groups of θ."""
_MAX_RATE = 2.0  # 1/step: Runge-Kutta of order 4 is stable up to 2.78


class Inputs(NamedTuple):
    """At the samples of B simulations: known torques (K + 1, B, nv), and T (K + 1, B, nv, terms)."""

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
        self.regression, self.robot = regression, _without_unknowns(regression)
        groups = [_THETA[group] for group in _THETA if group in regression.groups]
        self._parametric = self.robot.parametric(*groups) if groups else self.robot
        self._terms = tuple(group for group in regression.groups if group not in _THETA)

    def inputs(self, q: Array, v: Array, a: Array, tau: Array) -> Inputs:
        """From the measured motion, (K + 1, B, n) each."""
        motion = [values.reshape(-1, values.shape[-1]) for values in (q, v, a)]
        T = self.regression.with_groups(self._terms).regressor(*motion)
        known = known_torque(_friction_only(self.regression.robot), self.regression.covered, *motion)
        return Inputs(tau if known is None else tau - known.reshape(tau.shape), T.reshape(*tau.shape, -1))

    @cached_property
    def _term_columns(self) -> Array:
        groups = self.regression.parameters.groups
        everything = np.arange(len(self.regression.parameters))
        return np.concatenate([np.zeros(0, np.intp), *(everything[groups[g]] for g in self._terms)])

    @cached_property
    def _theta_of(self) -> list[tuple[slice, Array]]:
        """Slices of x with their places in θ."""
        found, jointed = [], np.array(self.regression.jointed, dtype=np.intp)
        for group, own in self.regression.parameters.groups.items():
            if group in _THETA:
                place = self._parametric.theta.slices[_THETA[group]]
                at = np.arange(place.start, place.stop) if group == "inertia" else place.start + jointed
                found.append((own, at))
        return found

    def _theta(self, x: Array) -> Array:
        theta = np.array(self._parametric.theta.values)
        for own, at in self._theta_of:
            theta[at] = x[own]
        return theta

    def substeps(self, x: Array, q: Array, dt: float) -> int:
        """Number of integration steps a sample for stability with viscous friction, at q (B, nq)."""
        own = self.regression.parameters.groups.get("viscous")
        if own is None:
            return 1
        theta, damping = self._theta(x), np.zeros(self.robot.nv)
        damping[list(self.regression.jointed)] = x[own]
        inverse = self._parametric.mass_matrix_inverse(q, np.broadcast_to(theta, (len(q), len(theta))))
        fastest = np.abs(np.linalg.eigvals(inverse * damping)).max(initial=0.0)
        return max(1, int(np.ceil(fastest * dt / _MAX_RATE)))

    def flow(
        self, x: Array, D: Array | None, start: tuple[Array, Array], inputs: Inputs, dt: float, steps: int
    ) -> ShootingFlow:
        """Simulate from start (B, nq), (B, nv), samples dt apart; with X where D = ∂x/∂ξ is given."""
        rows = _Rows(self, x, start, dt / steps, D is not None)
        own = x[self._term_columns]
        acting, nv = inputs.tau - inputs.terms @ own, self.robot.nv
        q, v, X = ([one] for one in rows.state())
        for k in range(len(acting) - 1):
            for part in range(steps):
                rows.step(*(_ramp(values, k, part / steps, dt) for values in (acting, -inputs.terms)))
            for found, one in zip((q, v, X), rows.state(), strict=True):
                found.append(one)
        by_x = np.array(X)
        if D is not None:
            by_x = np.concatenate([by_x[..., : 2 * nv], by_x[..., 2 * nv :] @ D], axis=-1)
        return ShootingFlow(np.array(q), np.array(v), by_x)


class _Rows:
    """The current states of B simulations, each with its directions: 2 nv of the start and all unknowns x."""

    def __init__(
        self, simulator: Simulator, x: Array, start: tuple[Array, Array], h: float, with_slopes: bool
    ) -> None:
        robot, nv = simulator._parametric, simulator.robot.nv
        self.n, self.nv, p = len(start[0]), nv, len(x)
        self.columns = 2 * nv + p if with_slopes else 1
        self.terms = 2 * nv + simulator._term_columns
        self.with_slopes = with_slopes
        states = [np.repeat(values, self.columns, axis=0) for values in start]
        shared = [simulator._theta(x)[None, None], np.full((1, 1), h)]
        self.tau, self.rate = np.zeros((2, 1, self.n * self.columns, nv))
        inputs = [self.tau, *shared, self.rate]
        if with_slopes:
            unit, dtheta = np.eye(self.columns), np.zeros((self.columns, len(robot.theta)))
            for own, at in simulator._theta_of:
                dtheta[np.arange(2 * nv + own.start, 2 * nv + own.stop), at] = 1.0
            states += [np.tile(unit[:, part], (self.n, 1)) for part in (slice(nv), slice(nv, 2 * nv))]
            self.dtau, self.drate = np.zeros((2, 1, self.n * self.columns, nv))
            inputs += [self.dtau, np.tile(dtheta, (self.n, 1))[None], self.drate]
        self.states = [np.ascontiguousarray(np.stack([state, state])) for state in states]
        function = (tangent_step if with_slopes else step_function)(robot, "rk4", ramp=True)
        self.iteration = Iteration(function, self.states, inputs)

    def step(self, acting: Sequence[Array], terms: Sequence[Array]) -> None:
        """One step under a torque (B, nv) and its rate, with the same of T (B, nv, terms)."""
        for into, values in zip((self.tau, self.rate), acting, strict=True):
            into[0] = np.repeat(values, self.columns, axis=0)
        if self.with_slopes and len(self.terms):
            for into, values in zip((self.dtau, self.drate), terms, strict=True):
                into.reshape(self.n, self.columns, self.nv)[:, self.terms] = values.swapaxes(1, 2)
        self.iteration.run(0, 1)
        for state in self.states:
            state[0] = state[1]

    def state(self) -> tuple[Array, Array, Array]:
        """q (B, nq), v (B, nv), and the derivatives of both, (B, 2 nv, directions)."""
        q, v = (np.array(state[0, :: self.columns]) for state in self.states[:2])
        if not self.with_slopes:
            return q, v, np.zeros((self.n, 2 * self.nv, 0))
        both = np.concatenate([state[0] for state in self.states[2:]], axis=1)
        return q, v, both.reshape(self.n, self.columns, -1).swapaxes(1, 2)


def _ramp(values: Array, k: int, part: float, dt: float) -> tuple[Array, Array]:
    """Value and rate of a straight line from sample k to the next, a part of the way."""
    change = values[k + 1] - values[k]
    return values[k] + part * change, change / dt


def _without_unknowns(regression: Regression) -> Robot:
    """The robot without friction and without properties that are unknowns."""
    covered, robot = regression.covered, regression.robot
    joints = {(term.field or name): 0.0 for name, term in TERMS.items() if name != "spring"}
    joints |= {"static_friction": 0.0, "stribeck_velocity": 0.0}
    robot = robot.with_joints(**joints, **({"armature": 0.0} if "armature" in covered else {}))
    if "spring" in covered:
        single = [body.joint.name for body in robot.model.bodies if body.joint.type.nq == 1]
        robot = robot.with_joints(stiffness=dict.fromkeys(single, 0.0))
    if "elastic" in covered:
        return robot.with_model(replace(robot.model, elastic=()))
    if not covered & set(TERMS) - {"spring"}:  # the log is taken to have no friction: see `known_torque`
        elastic = tuple(replace(one, damping=0.0) for one in robot.model.elastic)
        return robot.with_model(replace(robot.model, elastic=elastic))
    return robot


def _friction_only(robot: Robot) -> Robot:
    """The robot without armature and springs, which are simulated."""
    bare = robot.with_joints(armature=0.0, stiffness=0.0)
    return bare.with_model(replace(bare.model, elastic=()))
