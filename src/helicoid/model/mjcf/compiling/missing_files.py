"""Meshes, textures and height fields whose files are missing: the dynamics of a robot need none of them."""

from __future__ import annotations

import os
from typing import Any

_TETRAHEDRON = [0.0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1], [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]


def replace_missing_files(spec: Any) -> list[str]:
    """Put stand-ins in the place of missing files of a specification; the names of what was missing.

    Empty where a mesh is missing that gives a body its mass, so that the compiler's error remains.
    """
    missing = [
        mesh for mesh in spec.meshes if mesh.file and not _found(spec, mesh.file, spec.meshdir, spec.assets)
    ]
    names = {mesh.name or os.path.splitext(os.path.basename(mesh.file))[0] for mesh in missing}
    if any(geom.meshname in names and _has_mass(spec, geom) for geom in spec.geoms):
        return []
    missing_names = [f"mesh {mesh.file!r}" for mesh in missing]
    for mesh in missing:
        mesh.name = mesh.name or os.path.splitext(os.path.basename(mesh.file))[0]
        mesh.file = ""
        mesh.uservert, mesh.userface = _TETRAHEDRON
    for texture in spec.textures:
        files = [texture.file, *texture.cubefiles]
        if any(one and not _found(spec, one, spec.texturedir, spec.assets) for one in files):
            missing_names.append(f"texture {next(one for one in files if one)!r}")
            _make_flat(texture)
    for field in spec.hfields:
        if field.file and not _found(spec, field.file, spec.meshdir, spec.assets):
            missing_names.append(f"height field {field.file!r}")
            field.file, field.nrow, field.ncol, field.userdata = "", 2, 2, [0.0] * 4
    return missing_names


def _found(spec: Any, file: str, folder: str, assets: dict[str, Any]) -> bool:
    places = [file, os.path.join(folder, file), os.path.join(spec.modelfiledir, folder, file)]
    return file in assets or any(os.path.isfile(place) for place in places)


def _has_mass(spec: Any, geom: Any) -> bool:
    """Whether the inertia of a body comes from a geom."""
    always = int(spec.compiler.inertiafromgeom) == 1
    stated = geom.parent.explicitinertial and not always
    return not stated and geom.mass != 0 and geom.density != 0


def _make_flat(texture: Any) -> None:
    import mujoco

    texture.file, texture.builtin = "", mujoco.mjtBuiltin.mjBUILTIN_FLAT
    for k in range(len(texture.cubefiles)):
        texture.cubefiles[k] = ""
    texture.width = texture.height = 8
