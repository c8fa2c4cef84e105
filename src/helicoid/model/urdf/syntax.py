"""The syntax of URDF: safe XML, which elements and attributes may stand where, and what is wrong if not."""

from __future__ import annotations

import re
import warnings
from dataclasses import fields
from typing import Any, NamedTuple
from xml.parsers import expat

import numpy as np
from lxml import etree

from helicoid.errors import DoubtfulModelWarning, RobotDescriptionError
from helicoid.model.joints import TYPES
from helicoid.model.parts import PER_VELOCITY

Element = Any  # lxml carries no types

MOST_BYTES = 50_000_000
_LARGEST = 1e30  # m, kg, rad ...: beyond it, products overflow and nothing physical is meant
_LONGEST_NUMBER = 100  # characters
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)

_TEXT, ANY = 0, -1  # instead of how many numbers an attribute holds: words; one number or more
_EXAMPLES = {1: "0.5", 3: "0 0 1", 4: "0.8 0.8 0.8 1", ANY: "0.5"}


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
TAGS = {
    "robot": _Tag(
        {"name": _TEXT, "version": _TEXT},
        ("name",),
        once=("helicoid",),
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
    "limit": _Tag(dict.fromkeys(("lower", "upper", "velocity", "effort"), ANY)),
    "dynamics": _Tag(dict.fromkeys((*PER_VELOCITY, "rest"), ANY)),
    "mimic": _Tag({"joint": _TEXT, "multiplier": 1, "offset": 1}, ("joint",)),
    "robot/helicoid": _Tag({}, many=("loop",)),
    "loop": _Tag(
        {
            **dict.fromkeys(("name", "kind", "link_a", "link_b"), _TEXT),
            **dict.fromkeys(("xyz_a", "rpy_a", "xyz_b", "rpy_b"), 3),
        },
        ("name", "kind", "link_a", "link_b"),
    ),
    "visual": _SHAPE,
    "collision": _SHAPE,
    "geometry": _Tag({"name": _TEXT}, once=("box", "cylinder", "capsule", "sphere", "mesh")),
    "box": _Tag({"size": 3}, ("size",)),
    "cylinder": _ROUND,
    "capsule": _ROUND,
    "sphere": _Tag({"radius": 1}, ("radius",)),
    "mesh": _Tag({"filename": _TEXT, "scale": ANY}, ("filename",)),
    "material": _Tag({"name": _TEXT}, once=("color", "texture"), lenient=True),
    "color": _Tag({"rgba": 4}, ("rgba",)),
    "texture": _Tag({"filename": _TEXT}),
}


class Source:
    """Where a description comes from, and what was doubtful in it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._doubts: dict[str, tuple[str, int]] = {}

    def at(self, element: Element) -> str:
        """`panda.urdf:42: joint "elbow"`: the line, and the link or joint that the element belongs to."""
        place = f"{self.name}:{element.sourceline}: "
        for owner in (element, *element.iterancestors("link", "joint")):
            if owner.tag in ("link", "joint", "loop") and owner.get("name"):
                return f"{place}{owner.tag} {quoted(owner.get('name'))}: "
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


def quoted(text: str) -> str:
    return f'"{text}"' if len(text) <= 80 else f'"{text[:60]}..." ({len(text)} characters)'


def parse(data: bytes, encoding: str | None, source: Source) -> Element:
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


def parameters() -> dict[str, int]:
    """What joint types have beside an axis, and how many numbers each is: attributes of `<helicoid>`."""
    return {
        field.name: int(np.size(getattr(cls(), field.name)))
        for cls in TYPES.values()
        for field in fields(cls)
        if field.name != "axis"
    }


def check(element: Element, source: Source) -> None:
    """See that an element holds what it should; take out of the tree what has no effect."""
    parent = element.getparent()
    place = "" if parent is None else f"{parent.tag}/{element.tag}"
    # <helicoid> holds other things in <robot> than in <joint>.
    tag = _Tag(parameters()) if place == "joint/helicoid" else TAGS.get(place) or TAGS[element.tag]
    unknown = [key for key in element.attrib if key not in tag.attributes]
    if unknown:
        known, names = (", ".join(keys) or "none" for keys in (tag.attributes, map(quoted, unknown)))
        source.doubt(element, f"<{element.tag}> takes the attributes {known}; {names} has no effect")
    for key in unknown:
        del element.attrib[key]
    for key, count in tag.attributes.items():
        if count != _TEXT and key in element.attrib:
            numbers(element, key, count, source)
    for key in tag.required:
        if not element.get(key):
            text = f'<{element.tag}> lacks its {key}; write <{element.tag} {key}="...">'
            raise source.error(element, text)
    seen: set[str] = set()
    for child in list(element):
        if child.tag in seen and child.tag in tag.once:
            if child.tag != "origin":
                raise source.error(child, f"<{element.tag}> has two <{child.tag}>; it takes one")
            # Robots in use have it, and every reader takes the first.
            source.doubt(child, f"<{element.tag}> has two <origin>; the first one counts")
            element.remove(child)
            continue
        seen.add(child.tag)
        if child.tag in tag.once or child.tag in tag.many:
            check(child, source)
        else:
            _check_stranger(child, tag, source)
            element.remove(child)
    for name in tag.needed:
        if name not in seen:
            raise source.error(element, f"<{element.tag}> lacks <{name}>")
    if element.tag == "geometry" and len(element) != 1:
        raise source.error(element, f"<geometry> needs one of {', '.join(tag.once)}; it has {len(element)}")


def _check_stranger(element: Element, parent: _Tag, source: Source) -> None:
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


def numbers(element: Element, key: str, count: int, source: Source) -> list[float]:
    """The numbers of an attribute: `count` of them, finite and plain."""
    words = element.get(key).split()
    wrong = next((w for w in words if len(w) > _LONGEST_NUMBER or not _NUMBER.fullmatch(w)), None)
    values = [float(word) for word in words] if wrong is None else []
    largest = np.finfo(float).max if element.tag == "limit" else _LARGEST
    what = f"{element.tag} {key} {quoted(element.get(key))}"
    if wrong is not None or not words or (count > 0 and len(words) != count):
        need = {1: "one number", ANY: "numbers"}.get(count, f"{count} numbers")
        hint = "; for no limit write 1e308" if element.tag == "limit" else ""
        raise source.error(element, f'{what} must be {need}, such as "{_EXAMPLES[count]}"{hint}')
    if any(abs(value) > largest for value in values):
        raise source.error(element, f"{what} is too large; at most {largest:g} can be meant")
    return values


def index(root: Element, tag: str, source: Source) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in root.findall(tag):
        other = found.setdefault(element.get("name"), element)
        if other is not element:
            text = f"line {other.sourceline} has a {tag} of the same name; names must be unique"
            raise source.error(element, text)
    return found


def check_references(links: dict[str, Element], joints: dict[str, Element], source: Source) -> None:
    carriers: dict[str, Element] = {}
    for name, joint in joints.items():
        for reference in joint.iterchildren("parent", "child", "mimic"):
            what, known = ("joint", joints) if reference.tag == "mimic" else ("link", links)
            if reference.get(what) not in known:
                text = (
                    f"its <{reference.tag}> names {quoted(reference.get(what))}, but there is no such {what}"
                )
                raise source.error(reference, text)
            if what == "joint" and reference.get(what) == name:
                raise source.error(reference, "it mimics itself; name another joint")
        other: Element = carriers.setdefault(joint.find("child").get("link"), joint)
        if other is not joint:
            child, line = quoted(joint.find("child").get("link")), other.sourceline
            raise source.error(joint, f"link {child} is already the child of the joint of line {line}")
