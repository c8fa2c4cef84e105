"""The XML of a URDF: elements that know their line; nothing is expanded, fetched or included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

from helicoid.errors import DoubtfulModelWarning, RobotDescriptionError, warn

MAX_BYTES = 50_000_000
_MAX_DEPTH = 256  # of nested elements


@dataclass(eq=False)
class Element:
    """An element as it stands: names with the prefix that the file gives them, and its text."""

    tag: str
    attrib: dict[str, str]
    line: int
    parent: Element | None = None
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def findall(self, path: str) -> list[Element]:
        """The elements at a path of tags below this one, such as `visual/geometry`."""
        found = [self]
        for tag in path.split("/"):
            found = [child for one in found for child in one.children if child.tag == tag]
        return found

    def find(self, path: str) -> Element | None:
        """The first of `findall`, None if there is none."""
        return next(iter(self.findall(path)), None)

    def stated(self, path: str, key: str) -> str:
        """An attribute of an element that is known to be there."""
        return self.findall(path)[0].attrib[key]

    def lineage(self) -> Iterator[Element]:
        """The element, its parent, and so on up to the root."""
        one: Element | None = self
        while one is not None:
            yield one
            one = one.parent


class Source:
    """The source of a description, and warnings about it.

    Args:
        name: of the file, in messages.
        places: of each line, where the text was made of other files: `["arm.xacro:3", ...]`.
    """

    def __init__(self, name: str, places: Sequence[str] | None = None) -> None:
        self.name, self._places = name, places
        self._warnings: dict[str, tuple[str, int]] = {}

    def place(self, line: int) -> str:
        """`panda.urdf:42`."""
        if self._places is None:
            return f"{self.name}:{line}"
        return self._places[min(max(line, 1), len(self._places)) - 1]

    def line(self, element: Element) -> str:
        """`line 42`, or with the file where there are several."""
        return f"line {element.line}" if self._places is None else self.place(element.line)

    def at(self, element: Element) -> str:
        """`panda.urdf:42: joint "elbow"`: the line, and the link or joint that the element belongs to."""
        place = f"{self.place(element.line)}: "
        for owner in element.lineage():
            if owner.tag in ("link", "joint", "loop") and owner.attrib.get("name"):
                return f"{place}{owner.tag} {quoted(owner.attrib['name'])}: "
        return place

    def error(self, element: Element, text: str) -> RobotDescriptionError:
        return RobotDescriptionError(self.at(element) + text)

    def add_warning(self, element: Element, text: str) -> None:
        first, count = self._warnings.get(text, (self.at(element) + text, 0))
        self._warnings[text] = first, count + 1

    def emit_warnings(self) -> None:
        """Emit each warning once, with the number of its occurrences."""
        for text, count in self._warnings.values():
            more = f" (and at {count - 1} more place{'s' * (count > 2)})" if count > 1 else ""
            warn(DoubtfulModelWarning(text + more))


def quoted(text: str) -> str:
    return f'"{text}"' if len(text) <= 80 else f'"{text[:60]}..." ({len(text)} characters)'


def parse(data: bytes, encoding: str | None, source: Source) -> Element:
    """The root element of a URDF."""
    root = parse_xml(data, encoding, source)
    if root.tag != "robot":
        raise source.error(root, f'it starts with <{root.tag}>; a URDF starts with <robot name="...">')
    return root


def parse_xml(data: bytes, encoding: str | None, source: Source) -> Element:
    """The root element of a document without declarations of entities."""
    if len(data) > MAX_BYTES:
        raise RobotDescriptionError(f"{source.name}: larger than {MAX_BYTES // 10**6} MB, no robot is")
    builder = _Builder(encoding, source)
    try:
        builder.parser.Parse(data, True)
    except expat.ExpatError as error:
        text = f"{source.place(error.lineno)}: faulty XML: {expat.ErrorString(error.code)}"
        raise RobotDescriptionError(text) from error
    except (LookupError, ValueError) as error:
        raise RobotDescriptionError(f"{source.name}: faulty XML: {error}") from error
    root = builder.root
    assert root is not None  # or expat had found no element
    return root


class _Builder:
    """Builder of the element tree from expat's events.

    Prefixes are part of the name and need not be declared: robots in use have such. The prefix of the root,
    or its default namespace, is that of URDF.
    """

    def __init__(self, encoding: str | None, source: Source) -> None:
        self.parser = expat.ParserCreate(encoding)
        # Entities can be declared nowhere else, and refusing here comes before any of them is looked at.
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._said
        self.parser.buffer_text = True
        self.root: Element | None = None
        self._source, self._open = source, list[Element]()
        self._prefix, self._space = "", ""

    def _fault(self, text: str) -> RobotDescriptionError:
        return RobotDescriptionError(f"{self._source.place(self.parser.CurrentLineNumber)}: {text}")

    def _doctype(self, *_: object) -> None:
        raise self._fault("<!DOCTYPE> has no place in a description; remove it")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        space = attributes.get("xmlns", self._space)
        parent = self._open[-1] if self._open else None
        if parent is None:
            prefix, colon, _ = tag.rpartition(":")
            self._prefix, self._space = prefix + colon, space
        elif space != self._space:
            tag = f"{space}:{tag}"
        stated = {key: value for key, value in attributes.items() if key.partition(":")[0] != "xmlns"}
        element = Element(tag.removeprefix(self._prefix), stated, self.parser.CurrentLineNumber, parent)
        if parent is None:
            self.root = element
        else:
            parent.children.append(element)
        self._open.append(element)
        if len(self._open) > _MAX_DEPTH:
            raise self._fault(f"faulty XML: a depth of more than {_MAX_DEPTH} elements")

    def _said(self, text: str) -> None:
        if self._open and not text.isspace():
            self._open[-1].text += text

    def _end(self, _: str) -> None:
        self._open.pop()
