"""Kinematic loops: two links of a tree connected by an additional joint.

A loop holds a frame a on one link and a frame b on another together:

- "point": their origins coincide, 3 rows (a ball joint);
- "line": their origins coincide and their z axes lie on one line, either way round, 5 rows (a hinge);
- "pose": they coincide, 6 rows (a weld).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import float_array
from helicoid.errors import ModelError
from helicoid.model.inertia import frozen_array
from helicoid.model.joints import unit
from helicoid.model.parts import Placement

if TYPE_CHECKING:
    from helicoid.model.model import Model

LoopKind: TypeAlias = Literal["point", "line", "pose"]

ROWS = {"point": 3, "line": 5, "pose": 6}

_MAX_GAP = 1e-6  # m or rad, of a loop whose joints are all locked; a wider one is an error


@dataclass(frozen=True, eq=False)
class KinematicLoop:
    """Frame a, `placement_a` seen from `link_a`, and frame b on `link_b`, constrained as `kind` says."""

    name: str
    kind: LoopKind
    link_a: str
    link_b: str
    placement_a: Placement = field(default_factory=Placement)
    placement_b: Placement = field(default_factory=Placement)

    def __post_init__(self) -> None:
        if self.kind not in ROWS:
            raise ModelError(f"loop {self.name!r}: kind must be one of {', '.join(ROWS)}; got {self.kind!r}")

    @property
    def rows(self) -> int:
        """Number of constraint equations."""
        return ROWS[self.kind]


def placement(origin: ArrayLike, axis: ArrayLike | None, what: str) -> Placement:
    """A frame from three numbers (its origin) or a 4 × 4 pose; `axis` turns its z axis to that direction.

    The axis is seen from the link. It leaves the other two axes open, which is why it cannot be given
    together with a pose.
    """
    given = float_array(origin, f"{what} is a point or a 4 × 4 pose, in numbers", ModelError)
    if not np.all(np.isfinite(given)):
        raise ModelError(f"{what} must be finite, got {origin!r}")
    if given.shape == (4, 4):
        if axis is not None:
            raise ModelError(f"{what} is a pose, which has its own z axis: leave out axis, or give a point")
        R = given[:3, :3]
        if not np.allclose(given[3], [0, 0, 0, 1]) or not np.allclose(R @ R.T, np.eye(3), atol=1e-6):
            raise ModelError(f"{what} is no pose: a rotation, a translation and the last row 0 0 0 1")
        return Placement(R, given[:3, 3])
    point = frozen_array(given, (3,), f"{what} (a point, or a 4 × 4 pose)")
    return Placement(np.eye(3) if axis is None else rotation_to(axis), point)


def rotation_to(axis: ArrayLike) -> Array:
    """A rotation whose z axis is along `axis`, the least that turns (0, 0, 1) there.

    >>> print(rotation_to([0, 0, 1]).diagonal())
    [1. 1. 1.]
    """
    z = unit(axis)
    if z[2] < -1 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])
    # Rodrigues' formula with w = e_z × z and cos θ = z_z.
    x, y = -z[1], z[0]
    w = np.array([[0.0, 0.0, y], [0.0, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + w + w @ w / (1.0 + z[2])


def check_loop(model: Model, loop: KinematicLoop) -> None:
    """Refuse a loop whose links do not exist or do not move relative to each other."""
    a, b = model.frame(loop.link_a), model.frame(loop.link_b)
    if a.body == b.body:
        raise ModelError(
            f"loop {loop.name!r}: links {loop.link_a!r} and {loop.link_b!r} do not move against each other"
        )


def still_open(model: Model, loops: Sequence[KinematicLoop]) -> tuple[KinematicLoop, ...]:
    """The loops that remain once joints are locked: one whose links are now one body needs no joint.

    Raises ModelError where such a loop does not close.
    """
    remaining = []
    for loop in loops:
        a, b = model.frame(loop.link_a), model.frame(loop.link_b)
        if a.body != b.body:
            remaining.append(loop)
            continue
        gap = _gap(loop, (a.placement @ loop.placement_a).inverse @ b.placement @ loop.placement_b)
        if gap > _MAX_GAP:
            raise ModelError(
                f"loop {loop.name!r} would be locked open, by {gap:.3g}: lock its joints where it is closed"
            )
    return tuple(remaining)


def _gap(loop: KinematicLoop, b: Placement) -> float:
    """Residual of the loop in the frame a (m, rad)."""
    parts = [b.translation]
    if loop.kind == "line":
        parts.append(b.rotation[:2, 2])
    if loop.kind == "pose":
        parts.append((b.rotation - np.eye(3)).ravel() / np.sqrt(2))
    return float(np.linalg.norm(np.concatenate(parts)))
