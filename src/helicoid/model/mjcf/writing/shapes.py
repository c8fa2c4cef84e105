"""Collision shapes of a written MJCF; meshes as the corners of their convex hulls, as MuJoCo uses them."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from helicoid._typing import Array
from helicoid.model.mjcf.writing.bodies import Losses, pose
from helicoid.model.parts import Geometry, Link, Placement
from helicoid.model.shapes import is_solid
from helicoid.model.urdf.xml_text import words

Hull = Callable[[Geometry], Array | None]
"""Corners (n, 3) of the convex hull of a mesh in its own frame (m); None where it cannot be read."""

GROUP = "3"  # of geoms, which MuJoCo's viewer hides at first: collision shapes by convention

_SIZES: dict[str, Callable[..., tuple[float, ...]]] = {
    "box": lambda x, y, z: (x / 2, y / 2, z / 2),
    "cylinder": lambda r, length: (r, length / 2),
    "capsule": lambda r, length: (r, length / 2),
    "sphere": lambda r: (r,),
    "ellipsoid": lambda x, y, z: (x, y, z),
}
"""Numbers of a primitive of `model.shapes.PRIMITIVES` as MJCF states them."""


def add_shapes(
    element: Element, assets: Element, link: Link, placement: Placement, hull: Hull, losses: Losses
) -> None:
    """Geoms of a link that is placed so in the body `element`."""
    for k, shape in enumerate(shape for shape in link.collisions if is_solid(shape)):
        name, what = f"{link.name}[{k}]", f"a {shape.kind} of link {link.name!r}"
        attributes = {"name": name, "group": GROUP, **pose(placement @ shape.placement, what)}
        if shape.kind in _SIZES:
            size = words(_SIZES[shape.kind](*shape.size), what)
            SubElement(element, "geom", {**attributes, "type": shape.kind, "size": size})
            continue
        corners = hull(shape) if shape.kind == "mesh" else None
        if corners is None:
            losses.motion.append(f"{what} ({shape.filename})" if shape.filename else what)
            continue
        SubElement(assets, "mesh", name=name, inertia="shell", vertex=words(np.ravel(corners), what))
        SubElement(element, "geom", {**attributes, "type": "mesh", "mesh": name})
