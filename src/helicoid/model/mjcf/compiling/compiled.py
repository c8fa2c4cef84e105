"""MuJoCo's compiler: a file, a text or a given model -> `mujoco.MjModel`, or an error of ours."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from helicoid.errors import DoubtfulModelWarning, RobotDescriptionError, optional_import, warn
from helicoid.model.mjcf.compiling.missing_files import replace_missing_files
from helicoid.model.mjcf.compiling.untrusted import Screening

REQUIREMENT = "helicoid[mujoco]"
Packages: TypeAlias = Mapping[str, str | os.PathLike[str]] | None
_ERRORS = (ValueError, OSError, RuntimeError)


@dataclass(frozen=True, eq=False)
class Compiled:
    """A compiled model, its name in messages, the name of the robot, the folder and files of its meshes.

    `spec` is the `mujoco.MjSpec` that it was compiled from; None where a compiled model was given.
    """

    model: Any
    name: str
    robot: str
    folder: str = ""
    meshes: Mapping[str, str] = field(default_factory=dict)
    spec: Any = None


def compile_file(path: str, packages: Packages = None) -> Compiled:
    """Compile an MJCF file."""
    if not os.path.isfile(path):
        what = "is a folder, not a file" if os.path.isdir(path) else "there is no such file"
        raise RobotDescriptionError(f"{path}: {what}")
    mujoco = _mujoco(path)
    with open(path, "rb") as file:
        Screening(os.path.dirname(path), packages).check(file.read(), path)
    # Relative paths lose the meshes of nested includes.
    return _compiled(lambda: mujoco.MjSpec.from_file(os.path.abspath(path)), path)


def compile_text(text: str, name: str, folder: str, packages: Packages = None) -> Compiled:
    """Compile an MJCF text; files that it names are relative to `folder`."""
    mujoco = _mujoco(name)
    Screening(folder, packages).check(text, name)
    return _compiled(lambda: mujoco.MjSpec.from_string(text), name)


def given_model(source: Any) -> Compiled:
    """A `mujoco.MjModel`, or a `mujoco.MjSpec` compiled."""
    mujoco = _mujoco("MuJoCo model")
    if isinstance(source, mujoco.MjSpec):
        return _compiled(lambda: source, "<MjSpec>")
    return Compiled(source, "<MjModel>", source.names[: source.names.find(b"\0")].decode() or "mujoco")


def _compiled(read: Any, name: str) -> Compiled:
    try:
        spec = read()
    except _ERRORS as error:
        raise _refused(name, error) from error
    folder = os.path.join(spec.modelfiledir, spec.meshdir)
    meshes = {mesh.name: mesh.file for mesh in spec.meshes}
    try:
        model = spec.compile()
    except _ERRORS as error:
        missing = replace_missing_files(spec)
        if not missing:
            raise _refused(name, error) from error
        try:
            model = spec.compile()
        except _ERRORS:
            raise _refused(name, error) from error
        named = ", ".join(missing[:5]) + (" ..." if len(missing) > 5 else "")
        warn(DoubtfulModelWarning(f"{name}: files are missing, and shapes with them: {named}"))
    meshes |= {mesh.name: meshes.get(mesh.name, mesh.file) for mesh in spec.meshes}
    return Compiled(model, name, spec.modelname, folder, meshes, spec)


def _refused(name: str, error: Exception) -> RobotDescriptionError:
    text = " ".join(str(error).split())
    return RobotDescriptionError(f"{name}: MuJoCo cannot compile it: {text}")


def _mujoco(name: str) -> Any:
    return optional_import("mujoco", f"{name}: reading MJCF", REQUIREMENT)
