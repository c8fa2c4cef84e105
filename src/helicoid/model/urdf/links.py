"""Links of a URDF: inertia, visual and collision geometry."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from helicoid.geometry import euler, quaternion
from helicoid.model.inertia import Inertia
from helicoid.model.parts import Geometry, Link, Placement
from helicoid.model.shapes import PRIMITIVES
from helicoid.model.urdf.markup import Element, Source
from helicoid.model.urdf.syntax import ANY, numbers

Color = tuple[float, float, float, float]

_MIN_NORM = 1e-9  # of a quaternion
_MAX_NORM_ERROR = 1e-3


def placement(owner: Element, source: Source) -> Placement:
    """Placement by the `<origin>` of an element; the identity when there is none."""
    origin = owner.find("origin")
    if origin is None or not origin.attrib:
        return Placement()
    if "quat_xyzw" in origin.attrib:
        return _turned(origin, source)
    rpy, xyz = (numbers(origin, k, 3, source) if k in origin.attrib else [0.0] * 3 for k in ("rpy", "xyz"))
    return Placement(euler.from_rpy(np.array(rpy)) if any(rpy) else np.eye(3), np.array(xyz))


def _turned(origin: Element, source: Source) -> Placement:
    """Placement by a quaternion, as URDF 1.2 has it."""
    if "rpy" in origin.attrib:
        raise source.error(origin, "<origin> has rpy and quat_xyzw; it takes one of them")
    x, y, z, w = numbers(origin, "quat_xyzw", 4, source)
    q = np.array([w, x, y, z])
    size = float(np.linalg.norm(q))
    if size < _MIN_NORM:
        raise source.error(origin, 'quat_xyzw must not be zero; no rotation is "0 0 0 1"')
    if abs(size - 1) > _MAX_NORM_ERROR:
        source.add_warning(origin, "quat_xyzw is not of length 1; it was normalised")
    xyz = numbers(origin, "xyz", 3, source) if "xyz" in origin.attrib else [0.0] * 3
    return Placement(np.asarray(quaternion.to_matrix(q / size)), np.array(xyz))


def named_colors(root: Element, source: Source) -> dict[str, Color]:
    """Colors by name: a material may be used wherever it is defined; the first of a name counts."""
    found: dict[str, Color] = {}
    for material in (*root.findall("material"), *root.findall("link/visual/material")):
        color = _color(material, source)
        if color is not None and material.attrib.get("name"):
            found.setdefault(material.attrib["name"], color)
    return found


def _color(material: Element, source: Source) -> Color | None:
    color = material.find("color")
    if color is None:
        return None
    r, g, b, a = numbers(color, "rgba", 4, source)
    return r, g, b, a


def read_link(element: Element, colors: Mapping[str, Color], folder: str, source: Source) -> Link:
    """The link that a checked `<link>` states; names of meshes are relative to `folder`."""
    moved = element.find("origin")
    if moved is not None and any(float(word) for text in moved.attrib.values() for word in text.split()):
        raise source.error(moved, "a link has no <origin>; move the origin of its joint instead")
    inertial = element.find("inertial")
    inertia = None if inertial is None else _inertia(inertial, source)
    visuals, collisions = (
        tuple(_geometry(shape, colors, folder, source) for shape in element.findall(tag))
        for tag in ("visual", "collision")
    )
    return Link(element.attrib["name"], inertia, visuals, collisions)


def _inertia(inertial: Element, source: Source) -> Inertia:
    mass, moments = inertial.findall("mass")[0], inertial.findall("inertia")[0]
    m = numbers(mass, "value", 1, source)[0]
    if m < 0:
        raise source.error(mass, "its mass must not be negative")
    at_com = np.zeros((3, 3))
    for i in range(3):
        for j in range(i, 3):
            at_com[i, j] = at_com[j, i] = numbers(moments, f"i{'xyz'[i]}{'xyz'[j]}", 1, source)[0]
    frame = placement(inertial, source)
    return Inertia.from_com(m, frame.translation, frame.rotation @ at_com @ frame.rotation.T)


def _geometry(owner: Element, colors: Mapping[str, Color], folder: str, source: Source) -> Geometry:
    """The shape of a `<visual>` or `<collision>`."""
    shape = owner.findall("geometry")[0].children[0]
    keys = ("scale",) if shape.tag == "mesh" else PRIMITIVES[shape.tag].attributes
    size = [x for key in keys if key in shape.attrib for x in numbers(shape, key, ANY, source)]
    if shape.tag == "mesh":
        size = (size or [1.0]) * (3 if len(size) < 2 else 1)
        if len(size) != 3:
            raise source.error(shape, 'mesh scale must be one or three numbers, such as "1 1 1"')
    material = owner.find("material")
    color = None
    if material is not None and owner.tag == "visual":
        color = _color(material, source) or colors.get(material.attrib.get("name", ""))
    filename = shape.attrib.get("filename", "")
    return Geometry(shape.tag, tuple(size), placement(owner, source), filename, folder, color)
