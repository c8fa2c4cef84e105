"""Loading robots, by name, path, text of a description, or from a model of MuJoCo; writing them as MJCF."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from helicoid.errors import DoubtfulModelWarning, InputError, warn
from helicoid.interrupts import interruptible
from helicoid.model import bundled, formats
from helicoid.model.connections.actuators import driven_joints
from helicoid.model.mjcf.writing.writer import Mjcf, to_mjcf_text
from helicoid.model.model import Model
from helicoid.model.parts import Geometry, Link
from helicoid.model.urdf.xml_text import write_whole
from helicoid.robot.collision.meshes import mesh_hull
from helicoid.robot.robot import Robot

Packages = Mapping[str, str | os.PathLike[str]]


@interruptible()
def load(
    source: str | os.PathLike[str] | Any,
    base: Literal["fixed", "floating"] = "fixed",
    packages: Packages | None = None,
    *,
    srdf: str | os.PathLike[str] | Literal[False] | None = None,
    ignore: Iterable[str] | None = None,
    arguments: Mapping[str, Any] | None = None,
    model: str | None = None,
) -> Robot:
    """A robot from the name of a bundled one, a path to a file, the text of one, or a model of MuJoCo.

    Formats are URDF, SDF, xacro (which needs `pip install 'helicoid[xacro]'`) and MJCF (`helicoid[mujoco]`),
    recognised by their root elements; a `mujoco.MjModel` or `mujoco.MjSpec` is read as MJCF. `base`
    "floating" frees the root link; free joints of an MJCF move with either. `packages` maps ROS package names
    to folders, to find meshes named `package://...` or `model://...`, which dynamics do not need, and what a
    xacro, SDF or MJCF includes from outside of its own package. `arguments` are the values of the
    `<xacro:arg>` of a xacro, `model` is the name of the model that is meant where an SDF has several.
    `ignore` names what a file states and is to be left out, with a warning, such as "fluid": what acts on the
    motion and is not supported is an error otherwise. `srdf` is a path or text of an SRDF with groups, named
    states (`robot.postures`) and disabled collisions; by default the one beside the URDF, if any; False for
    none.

    >>> import helicoid as hc
    >>> hc.load("panda").nv
    7
    """
    if not isinstance(base, str) or base not in ("fixed", "floating"):
        raise InputError(f"base is 'fixed' or 'floating', got {base!r}")
    folders = packages.values() if isinstance(packages, Mapping) else [None]
    if not (packages is None or all(isinstance(one, (str, os.PathLike)) for one in folders)):
        raise InputError(f"packages maps names of packages to folders; got {packages!r}")
    options = {"ignore": ignore, "arguments": arguments, "packages": packages, "model": model}
    found = _read(source, base == "floating", options)
    if srdf is not False:
        found = _with_semantics(found, source, srdf)
    return Robot(found if packages is None else _with_meshes(found, packages), actuators=driven_joints(found))


def robots() -> list[str]:
    """Names of the bundled robots.

    >>> import helicoid as hc
    >>> "ur5" in hc.robots()
    True
    """
    return bundled.names()


@interruptible()
def serial_chain(n: int) -> Robot:
    """A UR5-like arm of n joints, for scaling studies.

    >>> import helicoid as hc
    >>> hc.serial_chain(12).nv
    12
    """
    from helicoid.model.urdf.reader import read_urdf_text

    return Robot(read_urdf_text(bundled.serial_chain_urdf(n), name=f"serial_chain({n})"))


def _read(source: Any, floating: bool, options: dict[str, Any]) -> Model:
    if isinstance(source, str):
        if source.lstrip("\ufeff \t\r\n").startswith("<"):
            return formats.read_text(source, floating, **options)
        if source in bundled.names():
            return formats.read_text(bundled.text(source), floating, source, **options)
        if not (os.sep in source or Path(source).suffix or os.path.exists(source)):
            bundled.text(source)  # raises, with the nearest names
    elif not isinstance(source, os.PathLike):
        model = formats.read_object(source, floating, **options)
        if model is None:
            raise InputError(
                f"load takes a name, a path, the text of a description or a MuJoCo model, not "
                f"{type(source).__name__}"
            )
        return model
    return formats.read_file(source, floating, **options)


def _with_semantics(model: Model, source: Any, given: str | os.PathLike[str] | None) -> Model:
    from helicoid.model.urdf.srdf import beside, read_srdf

    if given is not None:
        if not isinstance(given, (str, os.PathLike)):
            raise InputError(f"srdf is a path, a text or False; got {given!r}")
        stated = replace(read_srdf(given, model), keyframes=model.semantics.keyframes)
        return replace(model, semantics=stated)
    is_file = isinstance(source, (str, os.PathLike)) and os.fspath(source).lower().endswith(".urdf")
    found = beside(source) if is_file else None
    return model if found is None else replace(model, semantics=read_srdf(found, model, strict=False))


def _with_meshes(model: Model, packages: Packages) -> Model:
    def found(shape: Geometry) -> Geometry:
        scheme, _, rest = shape.filename.partition("://")
        package, _, inside = rest.partition("/")
        if scheme not in ("package", "model") or package not in packages:
            return shape
        folder = os.path.abspath(packages[package])
        return replace(shape, filename=os.path.join(folder, inside), folder=folder)

    def resolved(link: Link) -> Link:
        visuals, collisions = tuple(map(found, link.visuals)), tuple(map(found, link.collisions))
        return replace(link, visuals=visuals, collisions=collisions)

    return model.replaced(links=map(resolved, model.links))


def write_mjcf(robot: Robot, path: str | os.PathLike[str]) -> None:
    """Write the file of `Robot.to_mjcf`, whole or not at all, with one warning that names all losses."""
    written = mjcf_of(robot)
    lost = [*written.losses.motion, *written.losses.numbers]
    if lost:
        warn(DoubtfulModelWarning(f"MJCF cannot state {', '.join(lost)}"))
    write_whole(path, written.text)


def mjcf_of(robot: Robot) -> Mjcf:
    """The robot as MJCF; constraints beside the loops of its model are among its losses. Computed once."""

    def written() -> Mjcf:
        keys = {name: keyframe.q for name, keyframe in robot.keyframes.items()} | dict(robot.postures)
        result = to_mjcf_text(robot.model, robot.motor_joints, mesh_hull, keys)
        result.losses.motion.extend(f"the constraint {one.name!r}" for one in robot.constraints.added)
        return result

    return robot.memo("mjcf", written)
