"""Writing a robot as URDF, so that reading it back gives the same robot."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from itertools import islice
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from helicoid._typing import Array
from helicoid.errors import ModelError
from helicoid.geometry import euler
from helicoid.model.connections.elastic import NUMBERS, ElasticElement
from helicoid.model.connections.loops import KinematicLoop
from helicoid.model.inertia import Inertia
from helicoid.model.model import Model
from helicoid.model.parts import PER_VELOCITY, Geometry, Joint, Link, Placement
from helicoid.model.shapes import PRIMITIVES
from helicoid.model.urdf.joints import UNLIMITED
from helicoid.model.urdf.xml_text import to_text, words, write_whole


def write_urdf(model: Model, path: str | os.PathLike[str]) -> None:
    """Write `model` to the file `path`, whole or not at all.

    Meshes whose names are relative to the folder that the robot came from are renamed to be found from
    the folder of `path`. See `to_urdf_text` for the rest.
    """
    folder = os.path.dirname(os.path.abspath(os.fsdecode(path)))
    write_whole(path, to_urdf_text(model.replaced(links=[_moved(link, folder) for link in model.links])))


def to_urdf_text(model: Model) -> str:
    """`model` as URDF, every number to its last digit. Whether the base floats is not part of a URDF.

    Raises ModelError for what a URDF cannot state: moments without mass, negative masses or friction,
    infinities.

    >>> from helicoid.model.urdf.reader import read_urdf_text
    >>> print(to_urdf_text(read_urdf_text('<robot name="table"><link name="top"/></robot>')), end="")
    <robot name="table">
      <link name="top"/>
    </robot>
    """
    root = Element("robot", name=model.name)
    for link in model.links:
        _add_link(root, link)
    for joint in model.joints:
        _add_joint(root, joint)
    if model.loops or model.elastic:
        extension = SubElement(root, "helicoid")
        for loop in model.loops:
            _add_loop(extension, loop)
        for element in model.elastic:
            _add_spring(extension, element)
    return to_text(root, model.name)


def _moved(link: Link, folder: str) -> Link:
    def moved(shapes: tuple[Geometry, ...]) -> tuple[Geometry, ...]:
        return tuple(replace(shape, filename=_filename(shape, folder)) for shape in shapes)

    return replace(link, visuals=moved(link.visuals), collisions=moved(link.collisions))


def _filename(shape: Geometry, folder: str) -> str:
    name = shape.filename
    if not name or not shape.folder or "://" in name or os.path.isabs(name):
        return name
    try:
        return os.path.relpath(os.path.join(shape.folder, name), folder).replace(os.sep, "/")
    except ValueError:  # on another drive
        return os.path.join(shape.folder, name)


def _add_origin(parent: Element, placement: Placement, what: str) -> None:
    xyz = words(placement.translation, what)
    SubElement(parent, "origin", xyz=xyz, rpy=words(euler.to_rpy(placement.rotation), what))


def _add_link(root: Element, link: Link) -> None:
    element = SubElement(root, "link", name=link.name)
    if link.inertia is not None:
        _add_inertial(element, link.inertia, f"inertia of link {link.name!r}")
    for tag, shapes in (("visual", link.visuals), ("collision", link.collisions)):
        for shape in shapes:
            _add_shape(SubElement(element, tag), shape, f"{tag} of link {link.name!r}")


def _add_inertial(link: Element, inertia: Inertia, what: str) -> None:
    if inertia.mass < 0:
        raise ModelError(f"{what}: a URDF cannot state a negative mass ({inertia.mass:g} kg)")
    if inertia.mass == 0 and np.any(inertia.first_moment != 0):
        raise ModelError(f"{what}: a URDF cannot state a first moment {inertia.first_moment} without mass")
    element = SubElement(link, "inertial")
    _add_origin(element, Placement(translation=inertia.com), what)
    SubElement(element, "mass", value=words([inertia.mass], what))
    at_com = inertia.at_com
    moments = {f"i{'xyz'[i]}{'xyz'[j]}": at_com[i, j] for i in range(3) for j in range(i, 3)}
    SubElement(element, "inertia", {key: words([value], what) for key, value in moments.items()})


def _add_shape(element: Element, shape: Geometry, what: str) -> None:
    _add_origin(element, shape.placement, what)
    attributes: dict[str, str] = {}
    if shape.kind == "mesh":
        attributes = {"filename": shape.filename, "scale": words(shape.size, what)}
    elif shape.kind in PRIMITIVES:
        values = iter(shape.size)
        for key, count in PRIMITIVES[shape.kind].attributes.items():
            attributes[key] = words(islice(values, count), what)
    else:
        known = ", ".join([*PRIMITIVES, "mesh"])
        raise ModelError(f"{what}: unknown kind {shape.kind!r}; there are {known}")
    SubElement(SubElement(element, "geometry"), shape.kind, attributes)
    if shape.color is not None:
        rgba = words(shape.color, what)
        material = SubElement(element, "material", name=f"rgba {rgba}")
        SubElement(material, "color", rgba=rgba)


def _add_joint(root: Element, joint: Joint) -> None:
    what = f"joint {joint.name!r}"
    element = SubElement(root, "joint", name=joint.name, type=joint.type.kind)
    _add_origin(element, joint.placement, what)
    SubElement(element, "parent", link=joint.parent)
    SubElement(element, "child", link=joint.child)
    _add_extension(element, joint, what)
    if joint.limits is not None or joint.rate_limits is not None or joint.type.needs_limits:
        _add_limit(element, joint)
    dynamics = {}
    for key in (*PER_VELOCITY, "rest"):
        default, values = joint.type.neutral() if key == "rest" else 0.0, getattr(joint, key)
        if key != "rest" and np.any(values < 0):
            raise ModelError(f"{what}: a URDF cannot state a negative {key} ({words(values, what)})")
        if np.any(values != default):
            dynamics[key] = words(values, f"{key} of {what}")
    if dynamics:
        SubElement(element, "dynamics", dynamics)
    if joint.mimic is not None:
        multiplier, offset = (words([x], what) for x in (joint.mimic.multiplier, joint.mimic.offset))
        SubElement(element, "mimic", joint=joint.mimic.joint, multiplier=multiplier, offset=offset)


def _add_extension(element: Element, joint: Joint, what: str) -> None:
    """The parameters of the type: `axis` in <axis>, any other in <helicoid>, where finer friction is too."""
    extension = {}
    for field in fields(joint.type):
        values = words(np.atleast_1d(getattr(joint.type, field.name)), what)
        if field.name == "axis":
            SubElement(element, "axis", xyz=values)
        else:
            extension[field.name] = values
    terms = {name: words(own, f"{name} of {what}") for name, own in joint.friction_terms.items()}
    if extension or terms:
        place = SubElement(element, "helicoid", extension)
        if terms:
            SubElement(place, "friction", terms)


def _add_limit(element: Element, joint: Joint) -> None:
    limits = joint.range

    def bounded(values: Array) -> str:
        return words(np.clip(values, -UNLIMITED, UNLIMITED), f"limits of joint {joint.name!r}")

    attributes = {"velocity": bounded(limits.velocity), "effort": bounded(limits.effort)}
    if np.any(np.isfinite(limits.lower) | np.isfinite(limits.upper)) or joint.type.needs_limits:
        attributes |= {"lower": bounded(limits.lower), "upper": bounded(limits.upper)}
    rates = joint.rates
    for name, default in (("acceleration", np.inf), ("deceleration", rates.acceleration), ("jerk", np.inf)):
        if np.any(getattr(rates, name) != default):
            attributes[name] = bounded(getattr(rates, name))
    SubElement(element, "limit", attributes)


def _add_loop(extension: Element, loop: KinematicLoop) -> None:
    what = f"loop {loop.name!r}"
    element = SubElement(
        extension, "loop", name=loop.name, kind=loop.kind, link_a=loop.link_a, link_b=loop.link_b
    )
    for end, placed in (("a", loop.placement_a), ("b", loop.placement_b)):
        element.set(f"xyz_{end}", words(placed.translation, what))
        element.set(f"rpy_{end}", words(euler.to_rpy(placed.rotation), what))


def _add_spring(extension: Element, element: ElasticElement) -> None:
    what = f"elastic element {element.name!r}"
    written = SubElement(extension, "spring", name=element.name, link_a=element.link_a, link_b=element.link_b)
    for end, point in (("a", element.point_a), ("b", element.point_b)):
        written.set(f"xyz_{end}", words(point, what))
    for number in NUMBERS:
        written.set(number, words([getattr(element, number)], what))
