"""Reading a robot from URDF: yourdfpy reads the values, the checks around it see that they mean something."""

from __future__ import annotations

import copy
import io
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, NamedTuple
from xml.parsers import expat

import numpy as np
from lxml import etree

from helicoid.errors import DoubtfulModelWarning, ModelError, RobotDescriptionError
from helicoid.model.inertia import Array, Inertia, frozen_array
from helicoid.model.joints import TYPES, JointType, unit
from helicoid.model.model import Model
from helicoid.model.parts import Geometry, Joint, Limits, Link, Mimic, Placement

Element = Any  # lxml carries no types

ALIASES = {"screw": "helical", "ball": "spherical"}
UNLIMITED = 1e308  # URDF has no word for infinity and its readers want a number: this or more means no limit
MOST_BYTES = 50_000_000
_LARGEST = 1e30  # m, kg, rad ...: beyond it, products overflow and nothing physical is meant
_LONGEST_NUMBER = 100  # characters
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
NEED_LIMITS = ("revolute", "prismatic")

_TEXT, _ANY = 0, -1  # instead of how many numbers an attribute holds: words; one number or more
_EXAMPLES = {1: "0.5", 3: "0 0 1", 4: "0.8 0.8 0.8 1", _ANY: "0.5"}


class _Tag(NamedTuple):
    """What an element may hold; `once` and `many` are children, `harmless` children have no effect."""

    attributes: dict[str, int]
    required: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    many: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    lenient: bool = False  # only drawn, so that what is strange in it is a doubt and no error


_SHAPE = _Tag({"name": _TEXT}, (), ("origin", "geometry", "material"), ("geometry",), lenient=True)
_ROUND = _Tag({"radius": 1, "length": 1}, ("radius", "length"))
_SIMULATED = (
    *("collision_checking", "self_collision_checking", "self_filter", "contact", "surface"),
    *("gravity", "kinematic", "sensor", "gazebo", "material"),
)
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_TAGS = {
    "robot": _Tag(
        {"name": _TEXT, "version": _TEXT},
        ("name",),
        many=("link", "joint", "material"),
        harmless=("gazebo", "transmission", "sensor", "ros2_control", "mujoco", "plugin"),
    ),
    "link": _Tag(
        {"name": _TEXT, "type": _TEXT},
        ("name",),
        once=("inertial", "origin"),
        many=("visual", "collision"),
        harmless=_SIMULATED,
    ),
    "inertial": _Tag({}, (), ("origin", "mass", "inertia"), ("mass", "inertia")),
    "mass": _Tag({"value": 1}, ("value",)),
    "inertia": _Tag(dict.fromkeys(_MOMENTS, 1), _MOMENTS),
    "joint": _Tag(
        {"name": _TEXT, "type": _TEXT, "dont_collapse": _TEXT},
        ("name", "type"),
        once=("origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "helicoid"),
        needed=("parent", "child"),
        harmless=("calibration", "safety_controller", "sensor", "gazebo"),
    ),
    "origin": _Tag({"xyz": 3, "rpy": 3}),
    "parent": _Tag({"link": _TEXT}, ("link",)),
    "child": _Tag({"link": _TEXT}, ("link",)),
    "axis": _Tag({"xyz": 3}, ("xyz",)),
    "limit": _Tag(dict.fromkeys(("lower", "upper", "velocity", "effort"), _ANY)),
    "dynamics": _Tag(dict.fromkeys(("damping", "friction", "armature"), _ANY)),
    "mimic": _Tag({"joint": _TEXT, "multiplier": 1, "offset": 1}, ("joint",)),
    "helicoid": _Tag({"pitch": 1, "axis2": 3}),
    "visual": _SHAPE,
    "collision": _SHAPE,
    "geometry": _Tag({"name": _TEXT}, once=("box", "cylinder", "capsule", "sphere", "mesh")),
    "box": _Tag({"size": 3}, ("size",)),
    "cylinder": _ROUND,
    "capsule": _ROUND,
    "sphere": _Tag({"radius": 1}, ("radius",)),
    "mesh": _Tag({"filename": _TEXT, "scale": _ANY}, ("filename",)),
    "material": _Tag({"name": _TEXT}, once=("color", "texture"), lenient=True),
    "color": _Tag({"rgba": 4}, ("rgba",)),
    "texture": _Tag({"filename": _TEXT}),
}


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
    return _read(data, None, _Source(name), os.path.dirname(os.path.abspath(name)), floating)


def read_urdf_text(text: str, *, floating: bool = False, name: str = "<text>", folder: str = "") -> Model:
    """The robot that a URDF text describes; `name` stands in messages, meshes are relative to `folder`.

    >>> read_urdf_text('<robot name="table"><link name="top"/></robot>').root
    'top'
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise RobotDescriptionError(f"{name}: not a text: {error}") from error
    return _read(data, "utf-8", _Source(name), folder, floating)


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
        elif body.inertia.mass == 0.0:
            yield "link", body.name, "it moves but has no mass"
    for joint in model.joints:
        if joint.limits is not None and joint.type.nv > 0:
            for quantity in ("velocity", "effort"):
                if np.any(getattr(joint.limits, quantity) == 0.0):
                    yield "joint", joint.name, f"its {quantity} limit is 0, which forbids any; kept as stated"
            if np.any(joint.limits.lower == joint.limits.upper):
                yield "joint", joint.name, "its lower and upper limits are equal; kept as stated"


class _Source:
    """Where a description comes from, and what was doubtful in it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._doubts: dict[str, tuple[str, int]] = {}

    def at(self, element: Element) -> str:
        """`panda.urdf:42: joint "elbow"`: the line, and the link or joint that the element belongs to."""
        place = f"{self.name}:{element.sourceline}: "
        for owner in (element, *element.iterancestors("link", "joint")):
            if owner.tag in ("link", "joint") and owner.get("name"):
                return f"{place}{owner.tag} {_quoted(owner.get('name'))}: "
        return place

    def error(self, element: Element, text: str) -> RobotDescriptionError:
        return RobotDescriptionError(self.at(element) + text)

    def doubt(self, element: Element, text: str) -> None:
        first, count = self._doubts.get(text, (self.at(element) + text, 0))
        self._doubts[text] = first, count + 1

    def warn(self) -> None:
        """One warning for each doubt, however often it occurred."""
        for text, count in self._doubts.values():
            more = f" (and at {count - 1} more place{'s' * (count > 2)})" if count > 1 else ""
            # Up through _read and read_urdf to whoever called that.
            warnings.warn(DoubtfulModelWarning(text + more), stacklevel=4)


def _quoted(text: str) -> str:
    return f'"{text}"' if len(text) <= 80 else f'"{text[:60]}..." ({len(text)} characters)'


def _read(data: bytes, encoding: str | None, source: _Source, folder: str, floating: bool) -> Model:
    root = _parse(data, encoding, source)
    _check(root, source)
    links, joints = _index(root, "link", source), _index(root, "joint", source)
    _check_references(links, joints, source)
    robot = _values(root, source)
    colors = _colors(robot)
    try:
        model = Model(
            robot.name,
            tuple(_link(source, links[link.name], link, colors, folder) for link in robot.links),
            tuple(_joint(source, joints[joint.name], joint) for joint in robot.joints),
            floating,
        )
        found = list(_doubts(model))
    except ModelError as error:
        raise RobotDescriptionError(f"{source.name}: {error}") from error
    for what, name, text in found:
        source.doubt((links if what == "link" else joints)[name], text)
    source.warn()
    return model


def _parse(data: bytes, encoding: str | None, source: _Source) -> Element:
    """The root element. Nothing is expanded, fetched or included on the way."""
    if len(data) > MOST_BYTES:
        raise RobotDescriptionError(f"{source.name}: larger than {MOST_BYTES // 10**6} MB, no URDF is")

    def refuse(*_: object) -> None:
        line = gate.CurrentLineNumber
        raise RobotDescriptionError(f"{source.name}:{line}: <!DOCTYPE> has no place in a URDF; remove it")

    gate = expat.ParserCreate(encoding)
    # Entities can be declared nowhere else, and refusing here comes before any of them is looked at.
    gate.StartDoctypeDeclHandler = refuse
    # Forgive what expat lets pass: prefixes that nobody declared.
    options = {"resolve_entities": False, "no_network": True, "remove_comments": True, "remove_pis": True}
    parser = etree.XMLParser(encoding=encoding, recover=True, **options)
    try:
        gate.Parse(data, True)
        root = etree.fromstring(data, parser)
    except expat.ExpatError as error:
        text = f"{source.name}:{error.lineno}: faulty XML: {expat.ErrorString(error.code)}"
        raise RobotDescriptionError(text) from error
    except (etree.LxmlError, LookupError, ValueError) as error:
        raise RobotDescriptionError(f"{source.name}: faulty XML: {error}") from error
    for fault in parser.error_log:
        if fault.domain_name != "NAMESPACE":
            raise RobotDescriptionError(f"{source.name}:{fault.line}: faulty XML: {fault.message}")
    space = etree.QName(root).namespace if root.tag.startswith("{") else None
    for element in root.iter() if space else ():
        element.tag = element.tag.removeprefix(f"{{{space}}}")
    if root.tag != "robot":
        raise source.error(root, f'it starts with <{root.tag}>; a URDF starts with <robot name="...">')
    return root


def _check(element: Element, source: _Source) -> None:
    """See that an element holds what it should; take out of the tree what has no effect."""
    tag = _TAGS[element.tag]
    unknown = [key for key in element.attrib if key not in tag.attributes]
    if unknown:
        known, names = (", ".join(keys) or "none" for keys in (tag.attributes, map(_quoted, unknown)))
        source.doubt(element, f"<{element.tag}> takes the attributes {known}; {names} has no effect")
    for key in unknown:
        del element.attrib[key]
    for key, count in tag.attributes.items():
        if count != _TEXT and key in element.attrib:
            _numbers(element, key, count, source)
    for key in tag.required:
        if not element.get(key):
            text = f'<{element.tag}> lacks its {key}; write <{element.tag} {key}="...">'
            raise source.error(element, text)
    seen: set[str] = set()
    for child in list(element):
        if child.tag in seen and child.tag in tag.once:
            raise source.error(child, f"<{element.tag}> has two <{child.tag}>; it takes one")
        seen.add(child.tag)
        if child.tag in tag.once or child.tag in tag.many:
            _check(child, source)
        else:
            _check_stranger(child, tag, source)
            element.remove(child)
    for name in tag.needed:
        if name not in seen:
            raise source.error(element, f"<{element.tag}> lacks <{name}>")
    if element.tag == "geometry" and len(element) != 1:
        raise source.error(element, f"<geometry> needs one of {', '.join(tag.once)}; it has {len(element)}")


def _check_stranger(element: Element, parent: _Tag, source: _Source) -> None:
    """What an element that is none of URDF's means where it stands."""
    name = etree.QName(element).localname if element.tag.startswith("{") else element.tag
    full = f"{element.prefix}:{name}" if element.prefix else name
    if full.startswith("xacro:") and name not in ("property", "arg"):
        raise source.error(element, f"<{full}> must be expanded first: run xacro IN.xacro > OUT.urdf")
    if parent.lenient or ":" in full:
        source.doubt(element, f"<{full}> has no effect")
    elif element.tag not in parent.harmless:
        place = element.getparent().tag
        raise source.error(element, f"<{full}> in <{place}> is not understood; correct or remove it")


def _numbers(element: Element, key: str, count: int, source: _Source) -> list[float]:
    """The numbers of an attribute: `count` of them, finite and plain."""
    words = element.get(key).split()
    wrong = next((w for w in words if len(w) > _LONGEST_NUMBER or not _NUMBER.fullmatch(w)), None)
    values = [float(word) for word in words] if wrong is None else []
    largest = np.finfo(float).max if element.tag == "limit" else _LARGEST
    what = f"{element.tag} {key} {_quoted(element.get(key))}"
    if wrong is not None or not words or (count > 0 and len(words) != count):
        need = {1: "one number", _ANY: "numbers"}.get(count, f"{count} numbers")
        hint = "; for no limit write 1e308" if element.tag == "limit" else ""
        raise source.error(element, f'{what} must be {need}, such as "{_EXAMPLES[count]}"{hint}')
    if any(abs(value) > largest for value in values):
        raise source.error(element, f"{what} is too large; at most {largest:g} can be meant")
    return values


def _index(root: Element, tag: str, source: _Source) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in root.findall(tag):
        other = found.setdefault(element.get("name"), element)
        if other is not element:
            text = f"line {other.sourceline} has a {tag} of the same name; names must be unique"
            raise source.error(element, text)
    return found


def _check_references(links: dict[str, Element], joints: dict[str, Element], source: _Source) -> None:
    carriers: dict[str, Element] = {}
    for name, joint in joints.items():
        for tag, key, known in (
            ("parent", "link", links),
            ("child", "link", links),
            ("mimic", "joint", joints),
        ):
            reference = joint.find(tag)
            if reference is not None and reference.get(key) not in known:
                text = f"its <{tag}> names {_quoted(reference.get(key))}, but there is no such {key}"
                raise source.error(reference, text)
            if tag == "mimic" and reference is not None and reference.get(key) == name:
                raise source.error(reference, "it mimics itself; name another joint")
        other: Element = carriers.setdefault(joint.find("child").get("link"), joint)
        if other is not joint:
            child, line = _quoted(joint.find("child").get("link")), other.sourceline
            raise source.error(joint, f"link {child} is already the child of the joint of line {line}")


def _values(root: Element, source: _Source) -> Any:
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


def _link(source: _Source, element: Element, stated: Any, colors: Mapping[str, Any], folder: str) -> Link:
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
    source: _Source, shape: Element, stated: Any, colors: Mapping[str, Any], folder: str
) -> Geometry:
    material = getattr(stated, "material", None)
    color = (material.color or colors.get(material.name)) if material is not None else None
    keys = {"box": ("size",), "sphere": ("radius",), "mesh": ("scale",)}.get(shape.tag, ("radius", "length"))
    size = [x for key in keys if key in shape.attrib for x in _numbers(shape, key, _ANY, source)]
    if shape.tag == "mesh":
        size = (size or [1.0]) * (3 if len(size) < 2 else 1)
        if len(size) != 3:
            raise source.error(shape, 'mesh scale must be one or three numbers, such as "1 1 1"')
    r, g, b, a = color.rgba if color is not None else np.zeros(4)
    rgba = (float(r), float(g), float(b), float(a)) if color is not None else None
    filename = shape.get("filename", "")
    return Geometry(shape.tag, tuple(size), _placement(stated.origin), filename, folder, rgba)


def _joint(source: _Source, element: Element, stated: Any) -> Joint:
    kind = ALIASES.get(stated.type, stated.type)
    if kind not in TYPES:
        raise source.error(element, f"unknown type {_quoted(stated.type)}; there are {', '.join(TYPES)}")
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
    keys = ("damping", "friction", "armature")
    damping, friction, armature = (
        _bounds(source, element.find("dynamics"), key, cls.nv, 0.0) for key in keys
    )
    ends = stated.parent, stated.child, _placement(stated.origin)
    return Joint(stated.name, joint_type, *ends, limits, damping, friction, armature, mimic)


def _joint_type(source: _Source, element: Element, stated: Any, cls: type[JointType]) -> JointType:
    """The type with its parameters: `axis` from <axis>, any other from <helicoid>."""
    extension = element.find("helicoid")
    known = {field.name for field in fields(cls)}
    for key in extension.attrib if extension is not None else ():
        if key not in known:
            raise source.error(extension, f"a {cls.kind} joint takes no {key}")
    arguments: dict[str, Any] = {}
    for key in known:
        place = element.find("axis") if key == "axis" else extension
        if key == "axis":
            arguments[key] = stated.axis
        elif place is None or key not in place.attrib:
            raise source.error(element, f"a {cls.kind} joint needs its {key}: write <helicoid {key}=...>")
        else:
            values = _numbers(place, key, _TAGS["helicoid"].attributes[key], source)
            arguments[key] = values if len(values) > 1 else values[0]
        if key.startswith("axis") and place is not None:
            _check_axis(source, place, place.get("xyz" if key == "axis" else key), arguments[key])
    if cls.kind == "planar" and element.find("axis") is None:
        source.doubt(element, 'it has no <axis>; its plane is normal to the default, "1 0 0"')
    try:
        return cls(**arguments)
    except ModelError as error:
        raise source.error(element, str(error)) from error


def _check_axis(source: _Source, place: Element, text: str, axis: Any) -> None:
    try:
        unit(axis)
    except ModelError:
        message = f'axis {_quoted(text)} must not be zero; give three numbers such as "0 0 1"'
        raise source.error(place, message) from None
    if abs(np.linalg.norm(axis) - 1) > 1e-3:
        source.doubt(place, f"axis {_quoted(text)} is not of length 1; it was normalised")


def _coordinates(source: _Source, element: Element | None, key: str, n: int, default: float) -> Array:
    """One number for each of n coordinates; a single one stands for all."""
    if element is None or key not in element.attrib:
        return frozen_array(np.full(n, default), (n,), key)
    values = np.array(_numbers(element, key, _ANY, source))
    if n and len(values) not in (1, n):
        text = f"{element.tag} {key} takes one number for each coordinate ({n}) or one for all"
        raise source.error(element, f"{text}; it has {len(values)}")
    values = np.where(np.abs(values) >= UNLIMITED, np.copysign(np.inf, values), values)
    return frozen_array(np.broadcast_to(values if n else 0.0, (n,)), (n,), key)


def _bounds(source: _Source, element: Element | None, key: str, n: int, default: float) -> Array:
    """Like `_coordinates`, for what must not be negative."""
    values = _coordinates(source, element, key, n, default)
    if np.any(values < 0):
        raise source.error(element, f"{key} {_quoted(element.get(key))} must not be negative")
    return values


def _limits(source: _Source, element: Element, cls: type[JointType]) -> Limits | None:
    limit = element.find("limit")
    if limit is None:
        if cls.kind in NEED_LIMITS:
            source.doubt(element, "it has no <limit>; taken as unlimited")
        return None
    stated = [key for key in ("lower", "upper") if key in limit.attrib]
    turning = cls.nq != cls.nv  # its coordinates hold a quaternion, which one number cannot bound
    if stated and (cls.kind == "continuous" or (turning and len(limit.get(stated[0]).split()) == 1)):
        source.doubt(limit, f"it is {cls.kind}, so that lower and upper limits have no effect")
        stated = []
        limit.attrib.pop("lower", None)
        limit.attrib.pop("upper", None)
    elif not stated and cls.kind in NEED_LIMITS:
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
