"""Elementary joints, and composite bodies in motion: the summands of the matrices of dynamics.

Notation, all about a body's origin in its own axes: S a joint's subspace; m, h, Σ = ∫ r rᵀ dm the mass
distribution of a body and all that it carries; p = ∫ ṙ dm their momentum; N = ∫ r ṙᵀ dm. The last two hold
what Echeandia and Wensing (2021) call B: for a twist (μ, ν),

    2 B (μ, ν) = (K μ, 2 μ × p),   K = 2 (tr N 1 - Nᵀ)

is the Coriolis wrench of bodies that move with ṙ while their frame turns with μ. Only μ enters.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.physics import Moments
from helicoid.dynamics.recursions.composites.mass_distribution import (
    Distribution,
    add_distributions,
    distribution,
    distribution_to_parent,
    rotational,
)
from helicoid.dynamics.tree import JointMotion, joint_coordinates
from helicoid.geometry import so3
from helicoid.model.model import WORLD, Model


class ElementaryJoint(NamedTuple):
    """A joint with constant S and the body behind it; -1 between the stages of a joint that has several."""

    motion: JointMotion
    parent: int
    body: int
    coordinates: range
    multiplier: float

    def velocity(self, v: Expression) -> Expression:
        """The joint's own part of v, or of an acceleration."""
        return self.multiplier * v[self.coordinates.start : self.coordinates.stop]


def elements(model: Model, q: Expression) -> list[ElementaryJoint]:
    """The tree with every joint taken apart into stages with constant S."""
    found: list[ElementaryJoint] = []
    last: list[int] = []  # of each body: its element
    for number, body in enumerate(model.bodies):
        R, p = ca.SX(body.placement.rotation), ca.SX(body.placement.translation)
        parent = WORLD if body.parent == WORLD else last[body.parent]
        q_i, used_q, used_v = joint_coordinates(body, q), 0, body.v.start
        stages = body.joint.type.elementary()
        for k, stage in enumerate(stages):
            own = q_i[used_q : used_q + stage.nq]
            R_J, p_J = stage.pose(own)
            motion = JointMotion(R @ R_J, p + R @ p_J, stage.subspace(own))
            carried = number if k == len(stages) - 1 else -1
            coordinates = range(used_v, used_v + stage.nv)
            found.append(ElementaryJoint(motion, parent, carried, coordinates, body.multiplier))
            parent, used_q, used_v = len(found) - 1, used_q + stage.nq, used_v + stage.nv
            R, p = ca.SX.eye(3), ca.SX.zeros(3)
        last.append(parent)
    return found


class Composite(NamedTuple):
    """Mass distribution, momentum p and N of a body, or of a body and all that it carries."""

    mass: Distribution
    p: Expression
    N: Expression

    @staticmethod
    def of_body(pi: Expression, V: Expression) -> Composite:
        """A body with inertial parameters π that moves with the twist V = (ω, u)."""
        m, h, Σ = distribution(pi)
        ω, u = V[:3], V[3:]
        return Composite((m, h, Σ), m * u + ca.cross(ω, h), h @ u.T - Σ @ so3.hat(ω))

    @staticmethod
    def nothing() -> Composite:
        """No mass at all."""
        zero = ca.SX.zeros(3)
        return Composite((ca.SX.zeros(1), zero, ca.SX.zeros(3, 3)), zero, ca.SX.zeros(3, 3))

    @property
    def inertia(self) -> Moments:
        """m, h and I."""
        m, h, Σ = self.mass
        return Moments(m, h, rotational(Σ))

    @property
    def K(self) -> Expression:
        """2 (tr N 1 - Nᵀ), 3 × 3."""
        N = self.N
        return 2 * ((N[0, 0] + N[1, 1] + N[2, 2]) * ca.SX.eye(3) - N.T)

    def two_B(self, twists: Expression) -> Expression:
        """2 B X for each column of X, 6 × n."""
        μ = twists[:3, :]
        return ca.vertcat(self.K @ μ, -2 * so3.hat(self.p) @ μ)

    def two_B_transposed(self, twists: Expression) -> Expression:
        """The angular half of 2 Bᵀ X, 3 × n; the linear half is zero."""
        return self.K.T @ twists[:3, :] + 2 * so3.hat(self.p) @ twists[3:, :]

    def to_parent(self, motion: JointMotion) -> Composite:
        """About the parent's origin: r becomes p + R r, and ṙ turns with R."""
        R, R_p = motion.R, motion.R @ self.p
        mass = distribution_to_parent(self.mass, R, motion.p)
        return Composite(mass, R_p, R @ self.N @ R.T + motion.p @ R_p.T)

    def plus(self, other: Composite) -> Composite:
        """The two bodies as one, about the same origin."""
        return Composite(add_distributions(self.mass, other.mass), self.p + other.p, self.N + other.N)


def motion_cross(V: Expression, X: Expression) -> Expression:
    """V × X for each column of X: (ω × μ, u × μ + ω × ν)."""
    ω, u = so3.hat(V[:3]), so3.hat(V[3:])
    return ca.vertcat(ω @ X[:3, :], u @ X[:3, :] + ω @ X[3:, :])


def force_cross(X: Expression, f: Expression) -> Expression:
    """X ×* f for each column (μ, ν) of X: (μ × n + ν × f, μ × f)."""
    n, linear = so3.hat(f[:3]), so3.hat(f[3:])
    return ca.vertcat(-n @ X[:3, :] - linear @ X[3:, :], -linear @ X[:3, :])


def wrench_cross(V: Expression, F: Expression) -> Expression:
    """V ×* F for each column (n, f) of F: (ω × n + u × f, ω × f)."""
    ω, u = so3.hat(V[:3]), so3.hat(V[3:])
    return ca.vertcat(ω @ F[:3, :] + u @ F[3:, :], ω @ F[3:, :])


def add_block(matrix: Expression, rows: range, columns: range, block: Expression) -> None:
    """matrix[rows, columns] += block: several joints may share a coordinate."""
    matrix[rows.start : rows.stop, columns.start : columns.stop] += block
