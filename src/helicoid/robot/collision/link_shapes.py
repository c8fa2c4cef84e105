"""Shapes of a robot that collision checking takes."""

from __future__ import annotations

from typing import Any, Literal

from helicoid.errors import InputError
from helicoid.model.model import Model
from helicoid.model.parts import Geometry
from helicoid.model.shapes import is_solid

GeometryKind = Literal["collision", "visual"]


def link_shapes(model: Model, geometry: GeometryKind | None = None) -> dict[str, tuple[Geometry, ...]]:
    """The solid shapes of each link that has some, in the order of the links.

    By default collision geometry; the visual one of a description that has no collision geometry at all.

    Raises:
        InputError: there are none.
    """
    kinds: dict[Any, tuple[str, ...]] = {
        "collision": ("collisions",),
        "visual": ("visuals",),
        None: ("collisions", "visuals"),
    }
    if geometry not in kinds:
        raise InputError(f"geometry is 'collision', 'visual' or None; got {geometry!r}")
    for kind in kinds[geometry]:
        found = {link.name: tuple(filter(is_solid, getattr(link, kind))) for link in model.links}
        found = {name: shapes for name, shapes in found.items() if shapes}
        if found:
            return found
    what = geometry or "collision or visual"
    raise InputError(f"robot {model.name!r} has no {what} geometry, so that nothing of it can be checked")
