"""Reading a robot from URDF: yourdfpy reads the values, the checks around it see that they mean something."""

from __future__ import annotations

import copy
import io
import os
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from lxml import etree

from helicoid._typing import Array
from helicoid.errors import ModelError, RobotDescriptionError
from helicoid.model.inertia import Inertia, frozen_array
from helicoid.model.joint_type import JointType
from helicoid.model.joints import ALIASES, TYPES, unit
from helicoid.model.model import Model
from helicoid.model.parts import PER_VELOCITY, Geometry, Joint, Limits, Link, Mimic, Placement
from helicoid.model.urdf.loops import with_loops
from helicoid.model.urdf.syntax import (
    ANY,
    MOST_BYTES,
    Element,
    Source,
    check,
    check_references,
    index,
    numbers,
    parameters,
    parse,
    quoted,
)

UNLIMITED = 1e308  # URDF has no word for infinity and its readers want a number: this or more means no limit


def read_urdf(source: str | os.PathLike[str], *, floating: bool = False) -> Model:
    """The robot that the URDF file `source` describes, on a fixed or on a floating base.

    Raises RobotDescriptionError, with file and line, when the file cannot be understood; warns
    DoubtfulModelWarning where it is legal but probably not meant. See the page "URDF" of the docs.
    """
    name = os.fsdecode(source)
    try:
        if not os.path.isfile(name):
            raise RobotDescriptionError(f"{name}: there is no such file")
        with open(name, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise RobotDescriptionError(f"{name}: cannot be read: {error}") from error
    return _read(data, None, Source(name), os.path.dirname(os.path.abspath(name)), floating)


def read_urdf_text(text: str, *, floating: bool = False, name: str = "<text>", folder: str = "") -> Model:
    """The robot that a URDF text describes; `name` stands in messages, meshes are relative to `folder`.

    >>> read_urdf_text('<robot name="table"><link name="top"/></robot>').root
    'top'
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise RobotDescriptionError(f"{name}: not a text: {error}") from error
    return _read(data, "utf-8", Source(name), folder, floating)


def doubts(model: Model) -> list[str]:
    """In words: what in a model is legal but probably not meant.

    >>> doubts(read_urdf_text('<robot name="table"><link name="table"/></robot>'))
    []
    """
    return [f'{what} "{name}": {text}' for what, name, text in _doubts(model)]


def _doubts(model: Model) -> Iterator[tuple[str, str, str]]:
    """("link" or "joint", its name, the doubt)."""
    for link in model.links:
        for text in link.inertia.doubts() if link.inertia is not None else ():
            yield "link", link.name, text
    carried = [body.inertia.mass for body in model.bodies]
    for i, body in reversed(list(enumerate(model.bodies))):
        if body.parent >= 0:
            carried[body.parent] += carried[i]
    for body, mass in zip(model.bodies, carried, strict=True):
        if mass == 0.0:
            yield "link", body.name, "it moves, but neither it nor anything that it carries has mass"
        elif body.inertia.mass == 0.0 and not np.any(body.joint.armature):
            yield "link", body.name, "it moves but has no mass"
    for joint in model.joints:
        if joint.limits is not None and joint.type.nv > 0:
            for quantity in ("velocity", "effort"):
                spring = quantity == "effort" and np.any(joint.stiffness)  # it moves by itself
                if np.any(getattr(joint.limits, quantity) == 0.0) and not spring:
                    yield "joint", joint.name, f"its {quantity} limit is 0, which forbids any; kept as stated"
            if np.any(joint.limits.lower == joint.limits.upper):
                yield "joint", joint.name, "its lower and upper limits are equal; kept as stated"


def _read(data: bytes, encoding: str | None, source: Source, folder: str, floating: bool) -> Model:
    root = parse(data, encoding, source)
    check(root, source)
    links, joints = index(root, "link", source), index(root, "joint", source)
    check_references(links, joints, source)
    robot = _values(root, source)
    colors = _colors(robot)
    try:
        model = Model(
            robot.name,
            tuple(_link(source, links[link.name], link, colors, folder) for link in robot.links),
            tuple(_joint(source, joints[joint.name], joint) for joint in robot.joints),
            floating,
        )
        model = with_loops(model, root, source)
        found = list(_doubts(model))
    except ModelError as error:
        raise RobotDescriptionError(f"{source.name}: {error}") from error
    for what, name, text in found:
        source.doubt((links if what == "link" else joints)[name], text)
    source.warn()
    return model


def _values(root: Element, source: Source) -> Any:
    """What yourdfpy makes of the checked tree: a yourdfpy.urdf.Robot."""
    import yourdfpy  # costs 0.65 s

    tree = copy.deepcopy(root)
    etree.cleanup_namespaces(tree)
    # It knows neither the extensions nor several numbers in a limit: `_joint` reads these.
    etree.strip_elements(tree, "limit", "dynamics", "helicoid")
    for capsule in tree.iter("capsule"):
        capsule.tag = "cylinder"
    try:
        options = {"build_scene_graph": False, "load_meshes": False}
        return yourdfpy.URDF.load(io.BytesIO(etree.tostring(tree)), **options).robot
    except Exception as error:
        raise RobotDescriptionError(f"{source.name}: cannot be read: {error!r}") from error


def _placement(origin: Array | None) -> Placement:
    return Placement() if origin is None else Placement(origin[:3, :3], origin[:3, 3])


def _colors(robot: Any) -> dict[str, Any]:
    """Named colors: a material may be used by name wherever it is defined."""
    shapes = [visual.material for link in robot.links for visual in link.visuals]
    stated = [material for material in (*shapes[::-1], *robot.materials[::-1]) if material is not None]
    return {material.name: material.color for material in stated if material.name and material.color}


def _link(source: Source, element: Element, stated: Any, colors: Mapping[str, Any], folder: str) -> Link:
    moved = element.find("origin")
    if moved is not None and any(float(word) for text in moved.attrib.values() for word in text.split()):
        raise source.error(moved, "a link has no <origin>; move the origin of its joint instead")
    inertia = None
    if stated.inertial is not None:
        if stated.inertial.mass < 0:
            raise source.error(element.find("inertial/mass"), "its mass must not be negative")
        frame = _placement(stated.inertial.origin)
        turned = frame.rotation @ stated.inertial.inertia @ frame.rotation.T
        inertia = Inertia.from_com(stated.inertial.mass, frame.translation, turned)
    shapes = []
    for tag, values in (("visual", stated.visuals), ("collision", stated.collisions)):
        pairs = zip(element.findall(f"{tag}/geometry"), values, strict=True)
        shapes.append(tuple(_geometry(source, shape[0], value, colors, folder) for shape, value in pairs))
    return Link(stated.name, inertia, *shapes)


def _geometry(
    source: Source, shape: Element, stated: Any, colors: Mapping[str, Any], folder: str
) -> Geometry:
    material = getattr(stated, "material", None)
    color = (material.color or colors.get(material.name)) if material is not None else None
    keys = {"box": ("size",), "sphere": ("radius",), "mesh": ("scale",)}.get(shape.tag, ("radius", "length"))
    size = [x for key in keys if key in shape.attrib for x in numbers(shape, key, ANY, source)]
    if shape.tag == "mesh":
        size = (size or [1.0]) * (3 if len(size) < 2 else 1)
        if len(size) != 3:
            raise source.error(shape, 'mesh scale must be one or three numbers, such as "1 1 1"')
    r, g, b, a = color.rgba if color is not None else np.zeros(4)
    rgba = (float(r), float(g), float(b), float(a)) if color is not None else None
    filename = shape.get("filename", "")
    return Geometry(shape.tag, tuple(size), _placement(stated.origin), filename, folder, rgba)


def _joint(source: Source, element: Element, stated: Any) -> Joint:
    kind = ALIASES.get(stated.type, stated.type)
    if kind not in TYPES:
        raise source.error(element, f"unknown type {quoted(stated.type)}; there are {', '.join(TYPES)}")
    cls = TYPES[kind]
    joint_type = _joint_type(source, element, stated, cls)
    limits = _limits(source, element, cls) if cls.nv else None
    mimic = None
    if stated.mimic is not None and cls.nv == 0:
        source.doubt(element.find("mimic"), "it is fixed, so that its <mimic> has no effect")
    elif stated.mimic is not None:
        if cls.nv != 1:
            text = f"it is {kind}, with {cls.nv} velocities; only joints with one can mimic another"
            raise source.error(element.find("mimic"), text)
        mimic = Mimic(stated.mimic.joint, stated.mimic.multiplier, stated.mimic.offset)
    dynamics = element.find("dynamics")
    values: dict[str, Any] = {key: _bounds(source, dynamics, key, cls.nv, 0.0) for key in PER_VELOCITY}
    ends = stated.parent, stated.child, _placement(stated.origin)
    rest = _rest(source, dynamics, joint_type)
    try:
        return Joint(stated.name, joint_type, *ends, limits, mimic=mimic, rest=rest, **values)
    except ModelError as error:
        raise source.error(dynamics, str(error).removeprefix(f"joint {stated.name!r}: ")) from error


def _rest(source: Source, dynamics: Element, joint_type: JointType) -> Array:
    """The coordinates at which a joint's spring is at ease."""
    if dynamics is None or "rest" not in dynamics.attrib or joint_type.nv == 0:
        return np.zeros(0)
    rest = np.array(numbers(dynamics, "rest", ANY, source))
    if len(rest) != joint_type.nq:
        text = f"rest takes one number for each coordinate ({joint_type.nq}); it has {len(rest)}"
        raise source.error(dynamics, text)
    return rest


def _joint_type(source: Source, element: Element, stated: Any, cls: type[JointType]) -> JointType:
    """The type with its parameters: `axis` from <axis>, any other from <helicoid>."""
    extension = element.find("helicoid")
    known = [field.name for field in fields(cls)]
    for key in extension.attrib if extension is not None else ():
        if key not in known:
            raise source.error(extension, f"a {cls.kind} joint takes no {key}")
    arguments: dict[str, Any] = {}
    for key in known:
        place = element.find("axis") if key == "axis" else extension
        if key == "axis":
            arguments[key] = stated.axis
            if place is None and not np.array_equal(getattr(cls(), key), stated.axis):
                source.doubt(element, 'it has no <axis>; taken as URDF\'s default, "1 0 0"')
        elif place is None or key not in place.attrib:
            raise source.error(element, f"a {cls.kind} joint needs its {key}: write <helicoid {key}=...>")
        else:
            values = numbers(place, key, parameters()[key], source)
            arguments[key] = values if len(values) > 1 else values[0]
        if key.startswith("axis") and place is not None:
            _check_axis(source, place, place.get("xyz" if key == "axis" else key), arguments[key])
    try:
        return cls(**arguments)
    except ModelError as error:
        raise source.error(element, str(error)) from error


def _check_axis(source: Source, place: Element, text: str, axis: Any) -> None:
    try:
        unit(axis)
    except ModelError:
        message = f'axis {quoted(text)} must not be zero; give three numbers such as "0 0 1"'
        raise source.error(place, message) from None
    if abs(np.linalg.norm(axis) - 1) > 1e-3:
        source.doubt(place, f"axis {quoted(text)} is not of length 1; it was normalised")


def _coordinates(source: Source, element: Element, key: str, n: int, default: float) -> Array:
    """One number for each of n coordinates; a single one stands for all."""
    if element is None or key not in element.attrib:
        return frozen_array(np.full(n, default), (n,), key)
    values = np.array(numbers(element, key, ANY, source))
    if n and len(values) not in (1, n):
        text = f"{element.tag} {key} takes one number for each coordinate ({n}) or one for all"
        raise source.error(element, f"{text}; it has {len(values)}")
    values = np.where(np.abs(values) >= UNLIMITED, np.copysign(np.inf, values), values)
    return frozen_array(np.broadcast_to(values if n else 0.0, (n,)), (n,), key)


def _bounds(source: Source, element: Element, key: str, n: int, default: float) -> Array:
    """Like `_coordinates`, for what must not be negative."""
    values = _coordinates(source, element, key, n, default)
    if np.any(values < 0):
        raise source.error(element, f"{key} {quoted(element.get(key))} must not be negative")
    return values


def _limits(source: Source, element: Element, cls: type[JointType]) -> Limits | None:
    limit = element.find("limit")
    if limit is None:
        if cls.needs_limits:
            source.doubt(element, "it has no <limit>; taken as unlimited")
        return None
    stated = [key for key in ("lower", "upper") if key in limit.attrib]
    curved = cls.nq != cls.nv  # its coordinates lie on a manifold, which one number cannot bound
    if stated and (cls.endless or (curved and len(limit.get(stated[0]).split()) == 1)):
        source.doubt(limit, f"it is {cls.kind}, so that lower and upper limits have no effect")
        stated = []
        limit.attrib.pop("lower", None)
        limit.attrib.pop("upper", None)
    elif not stated and cls.needs_limits:
        source.doubt(limit, "its <limit> states neither lower nor upper; taken as unlimited")
    elif len(stated) == 1:
        source.doubt(limit, f"its <limit> states only {stated[0]}; the other is 0, URDF's default")
    missing = 0.0 if stated else np.inf
    lower = _coordinates(source, limit, "lower", cls.nq, -missing)
    upper = _coordinates(source, limit, "upper", cls.nq, missing)
    if np.any(lower > upper):
        raise source.error(limit, "its lower limit is above its upper limit")
    for key in ("velocity", "effort"):
        if key not in limit.attrib:
            source.doubt(limit, f"its <limit> states no {key}; taken as unlimited")
    velocity, effort = (_bounds(source, limit, key, cls.nv, np.inf) for key in ("velocity", "effort"))
    return Limits(lower, upper, velocity, effort)
