"""Links of an SDF model: inertia, stated or from shapes, visual and collision geometry."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

import numpy as np

from helicoid.model.inertia import Inertia, total
from helicoid.model.parts import Geometry, Link, Placement
from helicoid.model.sdf.documents import Context, Scope, local_path, text_of, truth
from helicoid.model.sdf.frames import Frames, read_pose
from helicoid.model.shapes import PRIMITIVES
from helicoid.model.urdf.markup import Element, Source
from helicoid.model.urdf.syntax import plain_numbers

_DENSITY = 1000.0  # kg/m³, SDF's default
_CHILDREN = {
    *("pose", "inertial", "visual", "collision", "gravity", "kinematic", "velocity_decay", "enable_wind"),
    *("self_collide", "must_be_base_link", "sensor", "light", "battery", "audio_sink", "audio_source"),
    *("projector", "particle_emitter", "plugin", "frame"),
}
_LIMITS = ("lower", "upper", "effort", "velocity", "stiffness", "dissipation")
_INFINITE = ("inf", "+inf", "-inf")
_LARGE = re.compile(r"[+-]?\d{1,20}(\.\d{0,20})?[eE]\+?\d{2,3}")  # 1e16 and 1.79769e+308 mean no limit
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")

_MOMENTS_OF: dict[str, Callable[..., tuple[float, float, float]]] = {
    "box": lambda x, y, z: ((y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12),
    "cylinder": lambda r, h: ((3 * r * r + h * h) / 12, (3 * r * r + h * h) / 12, r * r / 2),
    "sphere": lambda r: (0.4 * r * r,) * 3,
    "capsule": lambda r, h: _capsule(r, h),
    "ellipsoid": lambda x, y, z: ((y * y + z * z) / 5, (x * x + z * z) / 5, (x * x + y * y) / 5),
}
"""Moments of inertia of a kilogram of a primitive about its centre (m²)."""


def number(element: Element | None, source: Source, default: float = 0.0) -> float:
    """The number that an element states as its text."""
    if element is None:
        return default
    if element.tag in _LIMITS and element.text.strip().lower() in _INFINITE:
        return float(element.text)
    if element.tag in _LIMITS and _LARGE.fullmatch(element.text.strip()):
        return float(np.copysign(np.inf, float(element.text)))
    return plain_numbers(element, element.tag, element.text, 1, source)[0]


def read_link(element: Element, scope: Scope, name: str, frames: Frames, context: Context) -> Link:
    """The link that a `<link>` states, under its full name."""
    source = scope.source
    for child in element.children:
        if child.tag == "contact":  # of Bullet
            source.add_warning(child, "<contact> in <link> is not part of SDF and has no effect")
            continue
        if child.tag not in _CHILDREN and ":" not in child.tag:
            raise source.error(child, f"<{child.tag}> in <link> is not understood; correct or remove it")
        if child.tag == "velocity_decay" and any(number(one, source) for one in child.children):
            context.refuse(source, child)
    for tag, wanted in (("gravity", True), ("kinematic", False)):
        one = element.find(tag)
        if one is not None and truth(one, source, wanted) is not wanted:
            context.refuse(source, one)
    visuals, collisions = (
        tuple(
            shape
            for one in element.findall(tag)
            if (shape := _geometry(one, scope, name, frames, context)) is not None
        )
        for tag in ("visual", "collision")
    )
    return Link(name, _inertia(element, scope, name, frames, context), visuals, collisions)


def _inertia(element: Element, scope: Scope, name: str, frames: Frames, context: Context) -> Inertia:
    source, inertial = scope.source, element.find("inertial")
    if inertial is None:
        source.add_warning(element, "it has no <inertial>; taken as SDF's default, 1 kg and 1 kg·m²")
        return Inertia.from_com(1.0, np.zeros(3), np.eye(3))
    known = ("pose", "mass", "inertia", "density", "auto_inertia_params", "fluid_added_mass", "frame")
    for child in inertial.children:
        if child.tag not in known:
            raise source.error(child, f"<{child.tag}> in <inertial> is not understood; correct or remove it")
    added = inertial.find("fluid_added_mass")
    if added is not None:
        context.refuse(source, added)
    if inertial.attrib.get("auto", "false") in ("true", "1"):
        return _of_shapes(element, inertial, scope, name, frames, context)
    mass = number(inertial.find("mass"), source, 1.0)
    if mass < 0:
        raise source.error(inertial, "its mass must not be negative")
    moments = inertial.find("inertia")
    at_com = np.eye(3)
    for i in range(3) if moments is not None else ():
        for j in range(i, 3):
            one = moments.find(f"i{'xyz'[i]}{'xyz'[j]}") if moments is not None else None
            at_com[i, j] = at_com[j, i] = number(one, source, float(i == j))
    for child in moments.children if moments is not None else ():
        if child.tag not in _MOMENTS:
            raise source.error(child, f"<{child.tag}> in <inertia> is not understood; correct or remove it")
    placed = _placed(inertial, scope, name, frames)
    return Inertia.from_com(mass, placed.translation, placed.rotation @ at_com @ placed.rotation.T)


def _of_shapes(
    element: Element, inertial: Element, scope: Scope, name: str, frames: Frames, context: Context
) -> Inertia:
    """Inertia of the collision shapes, by their densities; scaled where the mass is stated too."""
    source = scope.source
    usual = number(inertial.find("density"), source, _DENSITY)
    parts = []
    for one in element.findall("collision"):
        shape = _geometry(one, scope, name, frames, context)
        if shape is None or shape.kind not in _MOMENTS_OF:
            raise source.error(one, f'inertial auto="true" needs shapes of {", ".join(_MOMENTS_OF)}')
        mass = PRIMITIVES[shape.kind].volume(*shape.size) * number(one.find("density"), source, usual)
        at_com = mass * np.diag(_MOMENTS_OF[shape.kind](*shape.size))
        R = shape.placement.rotation
        parts.append(Inertia.from_com(mass, shape.placement.translation, R @ at_com @ R.T))
    if not parts:
        raise source.error(inertial, 'inertial auto="true" needs a <collision>')
    found = total(parts)
    stated = inertial.find("mass")
    if stated is None:
        return found
    factor = number(stated, source) / found.mass if found.mass > 0 else 0.0
    return Inertia.from_parameters(factor * found.parameters)


def _capsule(r: float, h: float) -> tuple[float, float, float]:
    """A cylinder of radius r and length h with half a ball at either end."""
    cylinder, balls = np.pi * r * r * h, 4 / 3 * np.pi * r**3
    whole = cylinder + balls
    about_z = (cylinder * r * r / 2 + balls * 0.4 * r * r) / whole
    across = (cylinder * (3 * r * r + h * h) / 12 + balls * (0.4 * r * r + h * h / 4 + 3 * h * r / 8)) / whole
    return across, across, about_z


def _placed(element: Element, scope: Scope, link: str, frames: Frames) -> Placement:
    """The pose of a part in the frame of its link."""
    pose = element.find("pose")
    stated = read_pose(pose, scope.source)
    relative_to = "" if pose is None else pose.attrib.get("relative_to", "")
    if not relative_to or pose is None:
        return stated
    there = frames.pose(frames.full(scope, relative_to), pose, scope.source)
    return frames.pose(link, pose, scope.source).inverse @ there @ stated


def _geometry(owner: Element, scope: Scope, link: str, frames: Frames, context: Context) -> Geometry | None:
    """The shape of a `<visual>` or `<collision>`; None, with a warning, of kinds that no robot has here."""
    source, geometry = scope.source, owner.find("geometry")
    if geometry is None or len(geometry.children) != 1:
        raise source.error(owner, f"<{owner.tag}> needs one <geometry> with one shape")
    shape, placed = geometry.children[0], _placed(owner, scope, link, frames)
    color = _color(owner.find("material"), source)
    if shape.tag == "mesh":
        uri = text_of(shape.find("uri"))
        if not uri:
            raise source.error(shape, "<mesh> lacks its <uri>")
        scale = shape.find("scale")
        size = [1.0] * 3 if scale is None else plain_numbers(scale, "scale", scale.text, 3, source)
        path = local_path(uri, scope.document.folder, context.roots.packages)
        if path is None or not os.path.isfile(path):
            source.add_warning(shape, f"there is no mesh {uri}")
        return Geometry(
            "mesh", tuple(size), placed, uri if path is None else path, scope.document.folder, color
        )
    if shape.tag not in PRIMITIVES:
        if owner.tag == "collision" and shape.tag != "empty":
            source.add_warning(shape, f"a collision shape of type {shape.tag} is no shape of the robot")
        return None
    numbers = []
    for key, count in PRIMITIVES[shape.tag].attributes.items():
        one = shape.find(key)
        if one is None:
            raise source.error(shape, f"<{shape.tag}> lacks its <{key}>")
        numbers += plain_numbers(one, key, one.text, count, source)
    if min(numbers) < 0:
        raise source.error(shape, f"the size of a {shape.tag} must not be negative")
    return Geometry(shape.tag, tuple(numbers), placed, color=color)


def _color(material: Element | None, source: Source) -> tuple[float, float, float, float] | None:
    if material is None:
        return None
    for tag in ("diffuse", "ambient"):
        one = material.find(tag)
        if one is not None and len(one.text.split()) in (3, 4):
            r, g, b, *a = plain_numbers(one, tag, one.text, len(one.text.split()), source)
            return r, g, b, (a[0] if a else 1.0)
    return None
