"""Grammar of URDF: valid elements and attributes of each place, and errors."""

from __future__ import annotations

import re
from dataclasses import fields
from difflib import get_close_matches
from typing import NamedTuple

import numpy as np

from helicoid.model.connections.elastic import NUMBERS
from helicoid.model.joints import TYPES
from helicoid.model.parts import PER_VELOCITY, RateLimits
from helicoid.model.shapes import PRIMITIVES
from helicoid.model.urdf.markup import Element, Source, quoted

_MAX_NUMBER = 1e30  # m, kg, rad ...: larger numbers are not physical, and their products overflow
_MAX_DIGITS = 100  # characters
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)

_TEXT, ANY = 0, -1  # instead of how many numbers an attribute holds: words; one number or more
_EXAMPLES = {1: "0.5", 3: "0 0 1", 4: "0 0 0 1", 6: "0 0 1 0 0 1.57", 7: "0 0 1 0 0 0 1", ANY: "0.5"}


class _Tag(NamedTuple):
    """Content of an element; `once` and `many` are children, `harmless` children have no effect."""

    attributes: dict[str, int]
    required: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    many: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    lenient: bool = False  # only drawn: unknown content is a warning, not an error
    extended: bool = False  # other tools add elements of their own: those are a warning


_SHAPE = _Tag({"name": _TEXT}, (), ("origin", "geometry", "material"), ("geometry",), lenient=True)
_SIMULATED = (
    *("collision_checking", "self_collision_checking", "self_filter", "contact", "surface"),
    *("gravity", "kinematic", "sensor", "gazebo", "material"),
)
# Of other dialects, with an effect on the motion.
_UNSUPPORTED = ("loop_joint", "force_element")
_MIN_SIMILARITY = 0.7  # of two names, from which on one is taken for a misspelling of the other
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
TAGS = {
    "robot": _Tag(
        {"name": _TEXT, "version": _TEXT},
        ("name",),
        once=("helicoid",),
        many=("link", "joint", "material"),
        harmless=("gazebo", "transmission", "sensor", "ros2_control", "mujoco", "plugin"),
        extended=True,
    ),
    "link": _Tag(
        {"name": _TEXT, "type": _TEXT},
        ("name",),
        once=("inertial", "origin"),
        many=("visual", "collision"),
        harmless=_SIMULATED,
        extended=True,
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
        extended=True,
    ),
    "origin": _Tag({"xyz": 3, "rpy": 3, "quat_xyzw": 4}),
    "parent": _Tag({"link": _TEXT}, ("link",)),
    "child": _Tag({"link": _TEXT}, ("link",)),
    "axis": _Tag({"xyz": 3}, ("xyz",)),
    "limit": _Tag(dict.fromkeys(("lower", "upper", "velocity", "effort", *RateLimits._fields), ANY)),
    "dynamics": _Tag(dict.fromkeys((*PER_VELOCITY, "rest"), ANY)),
    "mimic": _Tag({"joint": _TEXT, "multiplier": 1, "offset": 1}, ("joint",)),
    "robot/helicoid": _Tag({}, many=("loop", "spring")),
    "loop": _Tag(
        {
            **dict.fromkeys(("name", "kind", "link_a", "link_b"), _TEXT),
            **dict.fromkeys(("xyz_a", "rpy_a", "xyz_b", "rpy_b"), 3),
        },
        ("name", "kind", "link_a", "link_b"),
    ),
    "spring": _Tag(
        {
            **dict.fromkeys(("name", "link_a", "link_b"), _TEXT),
            **dict.fromkeys(("xyz_a", "xyz_b"), 3),
            **dict.fromkeys(NUMBERS, 1),
        },
        ("name", "link_a", "link_b", "stiffness"),
    ),
    "visual": _SHAPE,
    "collision": _SHAPE,
    "mesh": _Tag({"filename": _TEXT, "scale": ANY}, ("filename",)),
    "material": _Tag({"name": _TEXT}, once=("color", "texture"), lenient=True),
    "color": _Tag({"rgba": 4}, ("rgba",)),
    "texture": _Tag({"filename": _TEXT}),
}


def parameters() -> dict[str, int]:
    """Parameters of joint types besides the axis, with their sizes: attributes of `<helicoid>`."""
    return {
        field.name: int(np.size(getattr(cls(), field.name)))
        for cls in TYPES.values()
        for field in fields(cls)
        if field.name != "axis"
    }


def check(element: Element, source: Source) -> None:
    """Check the content of an element; remove children without effect from the tree."""
    place = "" if element.parent is None else f"{element.parent.tag}/{element.tag}"
    # <helicoid> holds other things in <robot> than in <joint>.
    if place == "joint/helicoid":
        tag = _Tag(parameters(), once=("friction",))
    elif place == "helicoid/friction":  # dynamics knows the names of its terms
        tag = _Tag(dict.fromkeys(element.attrib, ANY))
    elif element.tag == "geometry":
        tag = _Tag({"name": _TEXT}, once=(*PRIMITIVES, "mesh"))
    elif element.tag in PRIMITIVES:
        attributes = PRIMITIVES[element.tag].attributes
        tag = _Tag(attributes, tuple(attributes))
    else:
        tag = TAGS.get(place) or TAGS[element.tag]
    unknown = [key for key in element.attrib if key not in tag.attributes]
    if unknown:
        known, names = (", ".join(keys) or "none" for keys in (tag.attributes, map(quoted, unknown)))
        source.add_warning(element, f"<{element.tag}> takes the attributes {known}; {names} has no effect")
    for key in unknown:
        del element.attrib[key]
    for key, count in tag.attributes.items():
        if count != _TEXT and key in element.attrib:
            numbers(element, key, count, source)
    for key in tag.required:
        if not element.attrib.get(key):
            text = f'<{element.tag}> lacks its {key}; write <{element.tag} {key}="...">'
            raise source.error(element, text)
    seen: set[str] = set()
    kept: list[Element] = []
    for child in element.children:
        if child.tag in seen and child.tag in tag.once:
            if child.tag != "origin":
                raise source.error(child, f"<{element.tag}> has two <{child.tag}>; it takes one")
            # Robots in use have it, and every reader takes the first.
            source.add_warning(child, f"<{element.tag}> has two <origin>; the first one counts")
            continue
        seen.add(child.tag)
        if child.tag in tag.once or child.tag in tag.many:
            check(child, source)
            kept.append(child)
        else:
            _check_unknown_element(child, element.tag, tag, source)
    element.children = kept
    for name in tag.needed:
        if name not in seen:
            raise source.error(element, f"<{element.tag}> lacks <{name}>")
    if element.tag == "geometry" and len(kept) != 1:
        raise source.error(element, f"<geometry> needs one of {', '.join(tag.once)}; it has {len(kept)}")


def _check_unknown_element(element: Element, place: str, parent: _Tag, source: Source) -> None:
    """Warn of an element that is not part of URDF, or refuse it."""
    tag = element.tag
    if tag.startswith("xacro:") and tag not in ("xacro:property", "xacro:arg"):
        raise source.error(element, f"<{tag}> must be expanded first: run xacro IN.xacro > OUT.urdf")
    if parent.lenient or ":" in tag:
        source.add_warning(element, f"<{tag}> has no effect")
    elif tag not in parent.harmless:
        if not parent.extended or tag in _UNSUPPORTED or _is_misspelt(tag, parent):
            raise source.error(element, f"<{tag}> in <{place}> is not understood; correct or remove it")
        source.add_warning(element, f"<{tag}> in <{place}> is not part of URDF and has no effect")


def _is_misspelt(tag: str, parent: _Tag) -> bool:
    """Whether a name is one of URDF in a wrong place, or nearly one that belongs here."""
    here = (*parent.once, *parent.many, *parent.harmless)
    return tag in TAGS or bool(get_close_matches(tag.lower(), here, 1, _MIN_SIMILARITY))


def numbers(element: Element, key: str, count: int, source: Source) -> list[float]:
    """The numbers of an attribute: `count` of them, finite and plain."""
    return plain_numbers(element, f"{element.tag} {key}", element.attrib[key], count, source)


def plain_numbers(element: Element, what: str, text: str, count: int, source: Source) -> list[float]:
    """The numbers in a text that an element states: `count` of them, or any."""
    words = text.split()
    fits = len(words) == count if count > 0 else bool(words)
    fits = fits and all(len(word) <= _MAX_DIGITS and _NUMBER.fullmatch(word) for word in words)
    values = [float(word) for word in words] if fits else []
    largest = np.finfo(float).max if element.tag == "limit" else _MAX_NUMBER
    what = f"{what} {quoted(text)}"
    if not fits:
        need = {1: "one number", ANY: "numbers"}.get(count, f"{count} numbers")
        hint = "; for no limit write 1e308" if element.tag == "limit" else ""
        raise source.error(element, f'{what} must be {need}, such as "{_EXAMPLES.get(count, "1 2")}"{hint}')
    if any(abs(value) > largest for value in values):
        raise source.error(element, f"{what} is too large; at most {largest:g} can be meant")
    return values


def index(root: Element, tag: str, source: Source) -> dict[str, Element]:
    """The children of a tag by their names, which must be unique."""
    found: dict[str, Element] = {}
    for element in root.findall(tag):
        other = found.setdefault(element.attrib["name"], element)
        if other is not element:
            text = f"{source.line(other)} has a {tag} of the same name; names must be unique"
            raise source.error(element, text)
    return found


def check_references(links: dict[str, Element], joints: dict[str, Element], source: Source) -> None:
    """Check that joints name existing links and joints, and that no link has two parents."""
    carriers: dict[str, Element] = {}
    for name, joint in joints.items():
        for reference in joint.children:
            if reference.tag not in ("parent", "child", "mimic"):
                continue
            what, known = ("joint", joints) if reference.tag == "mimic" else ("link", links)
            named = reference.attrib[what]
            if named not in known:
                text = f"its <{reference.tag}> names {quoted(named)}, but there is no such {what}"
                raise source.error(reference, text)
            if what == "joint" and named == name:
                raise source.error(reference, "it mimics itself; name another joint")
        child = joint.stated("child", "link")
        other = carriers.setdefault(child, joint)
        if other is not joint:
            text = f"link {quoted(child)} is already the child of the joint of {source.line(other)}"
            raise source.error(joint, text)
