"""Geoms of a compiled MuJoCo model as shapes of links."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from helicoid.model.mjcf.placements import placement_of, rotation
from helicoid.model.parts import Geometry, Placement

_LAST_VISIBLE_GROUP = 2  # MuJoCo's viewer hides the groups 3 to 5

KINDS = {
    0: "plane",
    1: "hfield",
    2: "sphere",
    3: "capsule",
    4: "ellipsoid",
    5: "cylinder",
    6: "box",
    7: "mesh",
}
"""mjtGeom by number."""


class Shapes:
    """Visual and collision shapes of each body; `unsupported`: kinds of colliding geoms without a shape here.

    Args:
        model: compiled.
        folder: of the description, to which names of meshes are relative.
        meshes: files by name of the mesh, where they are known.
    """

    def __init__(self, model: Any, folder: str, meshes: Mapping[str, str]) -> None:
        self.unsupported: dict[str, list[str]] = {}
        self._model, self._folder, self._meshes = model, folder, meshes

    def of(self, body: int) -> tuple[tuple[Geometry, ...], tuple[Geometry, ...]]:
        """Visual and collision shapes of a body. Geoms that can touch nothing are visual only."""
        model = self._model
        first, count = model.body_geomadr[body], model.body_geomnum[body]
        visuals, collisions = [], []
        for geom in range(first, first + count):
            collides = collision_possible(model, geom)
            shape = self._shape(geom)
            if shape is None:
                # Planes and height fields are ground, which no robot has: see `hc.Ground`.
                if collides and int(model.geom_type[geom]) > 1:
                    kind = KINDS.get(int(model.geom_type[geom]), "other")
                    self.unsupported.setdefault(kind, []).append(model.geom(geom).name or f"geom {geom}")
                continue
            if collides:
                collisions.append(shape)
            if not collides or model.geom_group[geom] <= _LAST_VISIBLE_GROUP:
                visuals.append(shape)
        return tuple(visuals), tuple(collisions)

    def _shape(self, geom: int) -> Geometry | None:
        model = self._model
        kind = KINDS.get(int(model.geom_type[geom]), "")
        placed = placement_of(model, "geom", geom)
        red, green, blue, alpha = map(float, model.geom_rgba[geom])
        color = red, green, blue, alpha
        x, y, z = map(float, model.geom_size[geom])
        sizes = {"sphere": (x,), "capsule": (x, 2 * y), "cylinder": (x, 2 * y), "box": (2 * x, 2 * y, 2 * z)}
        sizes["ellipsoid"] = (x, y, z)
        if kind in sizes:
            return Geometry(kind, sizes[kind], placed, color=color)
        return self._mesh(geom, placed, color) if kind == "mesh" else None

    def _mesh(
        self, geom: int, placed: Placement, color: tuple[float, float, float, float]
    ) -> Geometry | None:
        """A mesh as its file has it: MuJoCo centres meshes and turns them to their principal axes."""
        model, mesh = self._model, int(self._model.geom_dataid[geom])
        filename = self._meshes.get(model.mesh(mesh).name, "")
        if not filename:
            return None
        centred = Placement(rotation(model.mesh_quat[mesh]), model.mesh_pos[mesh])
        scale = tuple(map(float, model.mesh_scale[mesh]))
        path = filename if os.path.isabs(filename) else os.path.join(self._folder, filename)
        return Geometry("mesh", scale, placed @ centred.inverse, path, self._folder, color)


def collision_possible(model: Any, geom: int) -> bool:
    """Whether a geom can touch another one: by its masks, or as one of an explicit pair."""
    if model.geom_contype[geom] or model.geom_conaffinity[geom]:
        return True
    return bool(np.any(model.pair_geom1 == geom) or np.any(model.pair_geom2 == geom))
