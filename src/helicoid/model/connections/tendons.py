"""Tendons: lengths that depend on the configuration, with springs, dampers, friction and inertia."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from helicoid._typing import Array
from helicoid.errors import ModelError
from helicoid.model.inertia import frozen_array
from helicoid.model.parts import Placement

if TYPE_CHECKING:
    from helicoid.model.model import Model

NUMBERS = ("stiffness", "damping", "friction", "armature")
"""Numbers of a tendon that are zero or positive."""


@dataclass(frozen=True, eq=False)
class Via:
    """A point of a link (m, in its frame) through which a tendon runs."""

    link: str
    point: Array = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", frozen_array(self.point, (3,), f"point of {self.link!r}"))


@dataclass(frozen=True, eq=False)
class Wrap:
    """A sphere, or a cylinder along z, of a link around which a tendon wraps between the points beside it.

    `placement` is its frame seen from the link, `radius` in m. A tendon takes the shorter way, where the
    shape is between the points; `side`, a point of that frame outside of the shape (m) which is opposite to
    both, lets it run around that side.
    """

    link: str
    shape: Literal["sphere", "cylinder"]
    radius: float
    placement: Placement = field(default_factory=Placement)
    side: Array | None = None

    def __post_init__(self) -> None:
        if self.side is None:
            return
        side = frozen_array(self.side, (3,), f"side of a wrap on {self.link!r}")
        if not np.linalg.norm(side) >= self.radius:
            raise ModelError(
                f"a wrap on {self.link!r}: its side {side} is inside of the radius {self.radius:g}"
            )
        object.__setattr__(self, "side", side)


@dataclass(frozen=True, eq=False)
class Branch:
    """A part of a tendon: straight lines between points, and around shapes; 1 / `divisor` of it counts."""

    path: tuple[Via | Wrap, ...]
    divisor: float = 1.0


Path: TypeAlias = tuple[Branch, ...]


@dataclass(frozen=True, eq=False)
class Tendon:
    """A length L(q) = offset + Σ c_i q_i + Σ (length of each branch) / divisor, and forces along it.

    Args:
        name: of the tendon.
        terms: c_i by joint (m/rad, or 1): a fixed tendon.
        branches: a spatial tendon.
        stiffness: k (N/m) of U = ½ k e², where e is the length beyond the interval `rest`.
        damping: c (N·s/m) against the rate of L.
        friction: dry friction (N) against it.
        armature: mass (kg) that moves with L.
        rest: interval of lengths (m) in which the spring is slack.
        range: lengths (m) that the description allows.
        offset: constant part (m), such as that of locked joints.
    """

    name: str
    terms: Mapping[str, float] = field(default_factory=dict)
    branches: Path = ()
    stiffness: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    rest: tuple[float, float] = (0.0, 0.0)
    range: tuple[float, float] = (-np.inf, np.inf)
    offset: float = 0.0

    def __post_init__(self) -> None:
        for number in NUMBERS:
            if not 0 <= getattr(self, number) < np.inf:
                given = getattr(self, number)
                raise ModelError(f"tendon {self.name!r}: {number} is zero or positive, got {given!r}")
        if not self.rest[0] <= self.rest[1]:
            raise ModelError(f"tendon {self.name!r}: rest is an interval, got {self.rest}")

    @property
    def joints(self) -> set[str]:
        """The joints of its terms."""
        return set(self.terms)

    @property
    def links(self) -> set[str]:
        """The links on its branches."""
        return {one.link for branch in self.branches for one in branch.path}

    @property
    def acts(self) -> bool:
        """Whether it has a force of its own, beside that of actuators and of its inertia."""
        return bool(self.stiffness or self.damping or self.friction)


def check_tendon(model: Model, tendon: Tendon) -> None:
    """Refuse a tendon of joints or links that do not exist, or of joints with several coordinates."""
    for link in tendon.links:
        model.frame(link)
    for name in tendon.terms:
        joint = model.joint(name)
        if not joint.type.nq == joint.type.nv == 1:
            raise ModelError(
                f"tendon {tendon.name!r}: joint {name!r} is {joint.type.kind} and has not one coordinate"
            )
