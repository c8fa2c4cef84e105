"""Frames of an SDF model: poses relative to one another, resolved to the frame of the model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from helicoid.geometry import euler, quaternion
from helicoid.model.parts import Placement
from helicoid.model.sdf.documents import Scope, text_of
from helicoid.model.urdf.markup import Element, Source, quoted
from helicoid.model.urdf.syntax import plain_numbers

MODEL = "__model__"
WORLD = "world"
_MIN_NORM = 1e-9  # of a quaternion


class FrameEntry(NamedTuple):
    """A frame: its pose in another one, both by full names, and where it stands in the file.

    `attached` is the full name of the frame that it is attached to; "" of a link.
    """

    pose: Placement
    relative_to: str
    attached: str
    element: Element
    source: Source


def read_pose(element: Element | None, source: Source) -> Placement:
    """The pose that a `<pose>` states."""
    if element is None or not element.text.strip():
        return Placement()
    style = element.attrib.get("rotation_format", "euler_rpy")
    degrees = element.attrib.get("degrees", "false") in ("true", "1")
    if style not in ("euler_rpy", "quat_xyzw"):
        raise source.error(element, f"rotation_format {quoted(style)} is euler_rpy or quat_xyzw")
    values = plain_numbers(element, "pose", element.text, 6 if style == "euler_rpy" else 7, source)
    if style == "euler_rpy":
        rpy = np.radians(values[3:]) if degrees else np.array(values[3:])
        return Placement(euler.from_rpy(rpy) if rpy.any() else np.eye(3), np.array(values[:3]))
    q = np.array([values[6], *values[3:6]])
    if np.linalg.norm(q) < _MIN_NORM:
        raise source.error(element, "the quaternion of a pose must not be zero")
    return Placement(np.asarray(quaternion.to_matrix(q / np.linalg.norm(q))), np.array(values[:3]))


class Frames:
    """All frames of a model and of those inside it, by their full names."""

    def __init__(self, root: Scope) -> None:
        self._entries: dict[str, FrameEntry] = {}
        self._poses: dict[str, Placement] = {WORLD: Placement()}
        self._placed: dict[str, str] = {}  # frames of models that their pose places in their stead
        self.links: dict[str, tuple[Element, Scope]] = {}
        for scope in root.all():
            self._add_model(scope)
            for element in scope.element.findall("link"):
                name = self._add(scope, element, MODEL, "")
                self.links[name] = element, scope
            for element in scope.element.findall("frame"):
                attached = element.attrib.get("attached_to", "") or MODEL
                self._add(scope, element, attached, attached)
            for element in scope.element.findall("joint"):
                child = text_of(element.find("child"))
                if not child:
                    raise scope.source.error(element, "<joint> lacks <child>")
                self._add(scope, element, child, child)
        for scope in root.all():
            self._canonical(scope)

    def _add_model(self, scope: Scope) -> None:
        element = scope.element
        placed = scope.include if scope.include is not None else element
        pose = placed.find("pose") if placed.find("pose") is not None else element.find("pose")
        stated = None if pose is None else pose.attrib.get("relative_to")
        where = WORLD
        if scope.parent is not None:
            # A pose in the file of an included model is relative to nothing else.
            own = stated if pose is not None and pose in placed.children else None
            where = f"{scope.parent.prefix}{own or MODEL}"
        source = scope.source if scope.include is None or pose not in placed.children else _source_of(scope)
        full = f"{scope.prefix}{MODEL}"
        placement = text_of(None if scope.include is None else scope.include.find("placement_frame"))
        placement = placement or element.attrib.get("placement_frame", "")
        self._entries[full] = FrameEntry(read_pose(pose, source), where, "", element, scope.source)
        if placement:
            self._placed[full] = f"{scope.prefix}{placement}"
        if scope.parent is not None:
            alias = scope.prefix.removesuffix("::")
            self._entries[alias] = FrameEntry(Placement(), full, full, element, scope.source)

    def _add(self, scope: Scope, element: Element, default: str, attached: str) -> str:
        name, source = element.attrib.get("name", ""), scope.source
        if not name:
            raise source.error(element, f'<{element.tag}> lacks its name; write <{element.tag} name="...">')
        if name in (MODEL, WORLD) and not (name == WORLD and element.tag == "link"):
            raise source.error(element, f"the name {quoted(name)} is reserved")
        full = f"{scope.prefix}{name}"
        if full in self._entries:
            line = self._entries[full].element.line
            raise source.error(element, f"line {line} has a frame of the same name; names must be unique")
        pose = element.find("pose")
        if pose is not None and pose.attrib.get("frame"):
            raise source.error(pose, "<pose frame=...> of old versions is not read; write relative_to")
        relative_to = "" if pose is None else pose.attrib.get("relative_to", "")
        where = self.full(scope, relative_to or default)
        on = self.full(scope, attached) if attached else ""
        self._entries[full] = FrameEntry(read_pose(pose, source), where, on, element, source)
        return full

    @staticmethod
    def full(scope: Scope, name: str) -> str:
        """Full name of a name in a model."""
        return WORLD if name == WORLD else f"{scope.prefix}{name}"

    def known(self, name: str) -> bool:
        """Whether a frame of that name exists."""
        return name in self._entries or name == WORLD

    def pose(self, name: str, element: Element, source: Source) -> Placement:
        """The pose of a frame in the world, named in this element."""
        chain: list[str] = []
        where = name
        while where not in self._poses:
            if where not in self._entries:
                raise source.error(element, f"there is no frame {quoted(where)}")
            if where in chain:
                one = self._entries[where]
                raise one.source.error(
                    one.element, f"its pose depends on itself: {' -> '.join([*chain, where])}"
                )
            chain.append(where)
            where = self._entries[where].relative_to
        for full in reversed(chain):
            entry = self._entries[full]
            found = self._poses[entry.relative_to] @ entry.pose
            inner = self._placed.get(full)
            if inner is not None:
                found = found @ self._within(inner, full, entry).inverse
            self._poses[full] = found
        return self._poses[name]

    def _within(self, name: str, model: str, entry: FrameEntry) -> Placement:
        """The pose of a frame in the model that contains it."""
        pose, seen = Placement(), [name]
        while name != model:
            if name not in self._entries or len(seen) > len(self._entries):
                raise entry.source.error(entry.element, f"its placement_frame {quoted(seen[0])} is not in it")
            pose = self._entries[name].pose @ pose
            name = self._entries[name].relative_to
            seen.append(name)
        return pose

    def link_of(self, name: str, element: Element, source: Source) -> str:
        """The link that a frame is attached to; "world" where it is the world."""
        seen: list[str] = []
        while name not in self.links and name != WORLD:
            if name not in self._entries:
                raise source.error(element, f"there is no link or frame {quoted(name)}")
            if name in seen:
                raise source.error(element, f"frame {quoted(name)} is attached to itself")
            seen.append(name)
            name = self._entries[name].attached or name
        return name

    def _canonical(self, scope: Scope) -> None:
        """Attach the frame of a model to its canonical link."""
        full = f"{scope.prefix}{MODEL}"
        stated = scope.element.attrib.get("canonical_link", "")
        inside = [name for name, (_, one) in self.links.items() if one is scope]
        within = [name for name in self.links if name.startswith(scope.prefix)]
        first = f"{scope.prefix}{stated}" if stated else next(iter([*inside, *within]), "")
        if stated and first not in self.links:
            raise scope.source.error(scope.element, f"its canonical_link {quoted(stated)} is no link of it")
        if not first:
            raise scope.source.error(scope.element, "<model> has no <link>")
        self._entries[full] = self._entries[full]._replace(attached=first)


def _source_of(scope: Scope) -> Source:
    return scope.source if scope.parent is None else scope.parent.source
