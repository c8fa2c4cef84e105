"""Interface of joint types. The types themselves are in `joints.py`.

A joint moves its child frame relative to its predecessor frame. Notation: q its coordinates, v its
velocity, `R, p` the child's pose seen from the predecessor, S its motion subspace (6 × nv, child
coordinates, angular first), so that the relative twist is S v; Γ the map q̇ = Γ(q) v.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array, Expression

UNLIMITED = 1.0  # half-width (m) of the range that stands for a length without limits


@dataclass(frozen=True, eq=False)
class JointType(ABC):
    """Interface of all joint types. The defaults suit coordinates that form a vector space (nq = nv).

    Where nq > nv the coordinates lie on a manifold: such a type says how they move (`rate_matrix`,
    `integrate`, `difference`), where zero is (`neutral`) and how to sample them (`random`). Other packages
    (dynamics, simulation, identification, MPC, the viewer, URDF) use this interface alone.

    Its fields are the type's parameters: `axis` stands in a URDF's `<axis>`, any other in `<helicoid>`.
    """

    kind: ClassVar[str]
    nq: ClassVar[int]
    nv: ClassVar[int]
    labels: ClassVar[tuple[str, ...]] = ()
    """A label for each coordinate where there are several, such as x, y, angle."""
    quaternion: ClassVar[slice | None] = None
    """Slice of the coordinates that is a unit quaternion, the same rotation with either sign."""
    needs_limits: ClassVar[bool] = False
    """Whether a URDF must state a range of the coordinates."""
    endless: ClassVar[bool] = False
    """Whether a range of the coordinates has no effect."""
    can_be_driven: ClassVar[bool] = True
    """Whether a motor can act between the two links."""

    @abstractmethod
    def pose(self, q: Expression) -> tuple[Expression, Expression]:
        """(R, p) of the child frame seen from the predecessor frame."""

    @abstractmethod
    def subspace(self, q: Expression) -> Expression:
        """S(q), 6 × nv, in child coordinates."""

    def subspace_rate(self, q: Expression, v: Expression) -> Expression:
        """Ṡ v, 6: zero when S is constant."""
        return ca.SX.zeros(6)

    def rate_matrix(self, q: Expression) -> Expression:
        """Γ(q), nq × nv, of q̇ = Γ v; also the derivative of `integrate` at zero."""
        return ca.SX.eye(self.nv)

    def integrate(self, q: Expression, dv: Expression) -> Expression:
        """q moved by the tangent vector dv, onto the manifold even where q missed it by rounding."""
        return q + dv

    def difference(self, q0: Expression, q1: Expression) -> Expression:
        """The dv with integrate(q0, dv) = q1."""
        return q1 - q0

    def neutral(self) -> Array:
        """The coordinates of the pose identity."""
        return np.zeros(self.nq)

    def nearest(self, q: Array) -> Array:
        """The coordinates on the manifold that are nearest to q: those after a step of no length."""
        if self.nq == self.nv:
            return q
        return np.array(ca.evalf(self.integrate(ca.SX(q), ca.SX.zeros(self.nv)))).ravel()

    @property
    def widths(self) -> Array:
        """Half-width of the range of each coordinate when nothing limits it."""
        return np.full(self.nq, UNLIMITED)

    def range(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """The limits of the coordinates, made finite: within `widths` of zero where there is none."""
        # The only limit of a coordinate may be outside of the default range, which then starts from it.
        low = np.where(np.isfinite(lower), lower, np.minimum(-self.widths, upper - self.widths))
        high = np.where(np.isfinite(upper), upper, np.maximum(self.widths, low + self.widths))
        return low, high

    def tangent_range(self, q: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Smallest and largest tangent vector at q within `range`, (nv,) each.

        On a manifold: half a turn either way, which reaches every orientation.
        """
        if self.nq == self.nv:
            low, high = self.range(lower, upper)
            return np.minimum(low - q, 0.0), np.maximum(high - q, 0.0)
        return np.full(self.nv, -np.pi), np.full(self.nv, np.pi)

    def reaches_all(self) -> NDArray[np.bool_]:
        """For each coordinate, whether its `range` without limits contains all configurations."""
        if self.nq != self.nv:
            return np.ones(self.nq, dtype=bool)
        closed = []
        for step in np.diag(self.widths):  # a circle closes: both ends are the same pose
            one, other = (np.array(ca.evalf(ca.horzcat(*self.pose(ca.SX(x))))) for x in (step, -step))
            closed.append(bool(np.allclose(one, other)))
        return np.array(closed, dtype=bool)

    def random(
        self, rng: np.random.Generator, lower: Array, upper: Array, lead: tuple[int, ...] = ()
    ) -> Array:
        """Coordinates (*lead, nq) drawn uniformly from `range(lower, upper)`."""
        low, high = self.range(lower, upper)
        u = rng.uniform(size=(*lead, self.nq))
        # A weighted mean, as high - low may overflow, or be -0.0, which NumPy's own draw refuses.
        return np.clip((1 - u) * low + u * high, low, high)

    def elementary(self) -> tuple[JointType, ...]:
        """Joints with constant S that move alike, one after the other, with the same coordinates."""
        return (self,)

    @abstractmethod
    def reversed(self) -> JointType:
        """The joint seen from its child: the same constraint with the inverse pose."""

    def reversed_coordinates(self, q: Array) -> Array:
        """The coordinates of `reversed()` that give the inverse of pose(q)."""
        return q

    def reversed_order(self, values: Array) -> Array:
        """Values per coordinate or velocity (limits, friction ...) in the order of `reversed()`."""
        return values
