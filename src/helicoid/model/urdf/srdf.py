"""SRDF beside a URDF: groups, named states and disabled collisions.

`<group>`, `<group_state>`, `<disable_collisions>` and `<virtual_joint>` are read; what else an SRDF states is
for motion planners and leaves dynamics alone.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import numpy as np

from helicoid.errors import DoubtfulModelWarning, RobotDescriptionError, warn
from helicoid.model.connections.semantics import BASE, Posture, Semantics
from helicoid.model.joint_type import JointType
from helicoid.model.joints import Floating
from helicoid.model.model import Model
from helicoid.model.urdf.markup import MAX_BYTES, Element, Source, parse, quoted
from helicoid.model.urdf.syntax import ANY, numbers

_ROOT_JOINT = "root_joint"  # of files without <virtual_joint>, by convention


def beside(path: str | os.PathLike[str]) -> str | None:
    """The SRDF that goes with a URDF: of the same name, in its folder or in `../srdf`.

    In `../srdf` the name may be a shorter one, up to a "_" or "-": `talos.srdf` for `talos_reduced.urdf`.
    """
    urdf = Path(os.fsdecode(path))
    own = urdf.with_suffix(".srdf")
    folder = urdf.absolute().parent.parent / "srdf"
    try:
        if own.is_file():
            return str(own)
        found = sorted(folder.glob("*.srdf"), key=lambda one: -len(one.stem))
    except (OSError, ValueError):
        return None
    fits = (
        one
        for one in found
        if urdf.stem == one.stem or urdf.stem.startswith((f"{one.stem}_", f"{one.stem}-"))
    )
    return next((str(one) for one in fits), None)


def read_srdf(given: str | os.PathLike[str], model: Model, strict: bool = True) -> Semantics:
    """Semantics of a model by an SRDF file or text. Unless `strict`, a fault is a warning."""
    try:
        return _read(given, model, strict)
    except RobotDescriptionError as error:
        if strict:
            raise
        warn(DoubtfulModelWarning(f"the SRDF beside the URDF has no effect: {error}"))
        return Semantics()


def _read(given: str | os.PathLike[str], model: Model, strict: bool) -> Semantics:
    text = given if isinstance(given, str) and given.lstrip().startswith("<") else None
    source = Source("<srdf text>" if text is not None else os.fsdecode(given))
    try:
        data = text.encode() if text is not None else Path(source.name).read_bytes()[: MAX_BYTES + 1]
    except (OSError, ValueError) as error:
        raise RobotDescriptionError(f"{source.name}: cannot be read: {error}") from error
    root = parse(data, None if text is None else "utf-8", source)
    reader = _Reader(root, model, source, strict)
    semantics = Semantics(
        {group.attrib["name"]: reader.joints_of(group) for group in reader.named("group")},
        reader.postures(),
        frozenset(reader.disabled()),
    )
    source.emit_warnings()
    return semantics


class _Reader:
    """The elements of an SRDF, looked up in a model; names that it lacks are a warning where strict."""

    def __init__(self, root: Element, model: Model, source: Source, strict: bool) -> None:
        self._root, self._model, self._source, self._strict = root, model, source, strict
        self._joints = {joint.name: joint for joint in model.joints}
        self._carriers = {joint.child: joint for joint in model.joints}
        self._groups = {one.attrib["name"]: one for one in self.named("group")}
        floats = (one for one in self.named("virtual_joint") if one.attrib.get("type") == "floating")
        self._base = next((one.attrib["name"] for one in floats), _ROOT_JOINT)

    def named(self, tag: str) -> list[Element]:
        """The elements of a tag below the root; each needs a name."""
        found = self._root.findall(tag)
        for element in found:
            if not element.attrib.get("name"):
                raise self._source.error(element, f'<{tag}> lacks its name; write <{tag} name="...">')
        return found

    def _unknown(self, element: Element, what: str, name: str) -> None:
        if self._strict:
            self._source.add_warning(element, f"there is no {what} {quoted(name)}; it has no effect")

    def joints_of(self, group: Element, within: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The joints of a group in the order of the robot: its own, of links, of chains and of subgroups."""
        name = group.attrib["name"]
        if name in within:
            raise self._source.error(group, f"groups contain each other: {' -> '.join((*within, name))}")
        found: set[str] = set()
        for member in group.children:
            found.update(self._member(member, (*within, name)))
        return tuple(joint for joint in self._joints if joint in found)

    def _member(self, member: Element, within: tuple[str, ...]) -> Iterator[str]:
        if member.tag == "chain":
            yield from self._chain(member)
            return
        tables: dict[str, Collection[str]] = {
            "joint": self._joints,
            "link": self._carriers,
            "group": self._groups,
        }
        known = tables.get(member.tag)
        name = member.attrib.get("name", "")
        if known is None:
            self._source.add_warning(member, f"<{member.tag}> in <group> has no effect")
        elif name not in known:
            if not (name == self._base or name == self._model.root):
                self._unknown(member, member.tag, name)
        elif member.tag == "group":
            yield from self.joints_of(self._groups[name], within)
        else:
            yield name if member.tag == "joint" else self._carriers[name].name

    def _chain(self, member: Element) -> Iterator[str]:
        start, link = (member.attrib.get(key, "") for key in ("base_link", "tip_link"))
        for name in (start, link):
            if name not in self._model.frames:
                self._unknown(member, "link", name)
                return
        while link != start and link in self._carriers:
            joint = self._carriers[link]
            yield joint.name
            link = joint.parent

    def postures(self) -> Mapping[str, Posture]:
        """Coordinates by joint; states of several groups under one name are one posture."""
        found: dict[str, dict[str, tuple[float, ...]]] = {}
        for state in self.named("group_state"):
            posture = found.setdefault(state.attrib["name"], {})
            for one in state.findall("joint"):
                name = one.attrib.get("name", "")
                if name in self._joints:
                    posture[name] = self._coordinates(one, self._joints[name].type)
                elif name == self._base:
                    posture[BASE] = self._coordinates(one, Floating())
                else:
                    self._unknown(one, "joint", name)
        return found

    def _coordinates(self, element: Element, kind: JointType) -> tuple[float, ...]:
        """Our coordinates: quaternions are (x, y, z, w) in an SRDF, angles may be (cos, sin)."""
        if "value" not in element.attrib:
            raise self._source.error(element, '<joint> lacks its value; write <joint name="..." value="0"/>')
        given = numbers(element, "value", ANY, self._source)
        if kind.quaternion is None and kind.nv and len(given) == kind.nq + 1:
            given = [*given[:-2], float(np.arctan2(given[-1], given[-2]))]
        if len(given) != kind.nq:
            if kind.nq == 0:
                return ()
            text = f"joint {quoted(element.attrib['name'])} is {kind.kind} and takes {kind.nq} numbers"
            raise self._source.error(element, f"{text}; it has {len(given)}")
        if kind.quaternion is not None:
            part = given[kind.quaternion]
            given[kind.quaternion] = [part[3], *part[:3]]
        on = kind.nearest(np.array(given))
        if not np.allclose(on, given, rtol=0, atol=1e-3):
            raise self._source.error(
                element, f"value {quoted(element.attrib['value'])}: quaternions are unit"
            )
        return tuple(map(float, on))

    def disabled(self) -> Iterator[frozenset[str]]:
        """Pairs of links whose collisions are disabled."""
        for element in self._root.findall("disable_collisions"):
            pair = [element.attrib.get(key, "") for key in ("link1", "link2")]
            unknown = [name for name in pair if name not in self._model.frames]
            for name in unknown:
                self._unknown(element, "link", name)
            if not unknown:
                yield frozenset(pair)
