"""Rigid contacts of a link with the world, as constraints.

A contact holds a frame b of the link to a frame a of the world whose z axis is the normal:

- "point": the point stays where it is, 3 rows (tangential x and y, normal z);
- "surface": the link does not turn either, 6 rows (three forces, then three moments);
- "normal": the point stays in the plane and slides in it without friction, 1 row;
- "stick": the point stays in the plane and does not slide, 3 rows. Unlike "point", its tangential rows
  constrain the velocity alone, not the position of touchdown.

With λ as in `constraints.motion`, the contact force on the robot is -λ in the axes of a: the contact is
closed while -λ_z > 0.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.constraints.equations import Closure
from helicoid.errors import ModelError
from helicoid.model.connections.loops import rotation_to
from helicoid.model.parts import Placement

ContactKind: TypeAlias = Literal["point", "surface", "normal", "stick"]

_PARTS: dict[str, tuple[str, ...]] = {
    "point": ("position",),
    "surface": ("position", "rotation"),
    "normal": ("normal",),
    "stick": ("touch",),
}
_BOUNCING = {
    "point": (False, False, True),
    "surface": (False, False, True, False, False, False),
    "normal": (True,),
    "stick": (False, False, True),
}


def contact(name: str, link: str, kind: str, point: Array, at: Placement, normal: Array) -> Closure:
    """The contact of `point` (m, seen from `link`), where the link's axes at that point are posed `at`."""
    if kind not in _PARTS:
        raise ModelError(f"contact {name!r}: kind must be one of {', '.join(_PARTS)}; got {kind!r}")
    if not (np.all(np.isfinite(point)) and np.all(np.isfinite(at.translation))):
        raise ModelError(f"contact {name!r}: its points must be finite, got {point} at {at.translation}")
    if normal.shape != (3,) or not np.all(np.isfinite(normal)) or not np.any(normal):
        raise ModelError(f"contact {name!r}: normal is a direction, three finite numbers; got {normal}")
    R = rotation_to(normal)
    world, own = Placement(R, at.translation), Placement(at.rotation.T @ R, point)
    return Closure(name, kind, None, link, world, own, _PARTS[kind], _BOUNCING[kind])
