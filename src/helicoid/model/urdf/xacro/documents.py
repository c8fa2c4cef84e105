"""XML documents whose elements know their file and line, also after they are copied; written line by line."""

from __future__ import annotations

import xml.dom.minidom as dom
from typing import Any, NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from helicoid.errors import RobotDescriptionError

MAX_BYTES = 10_000_000
_MAX_DEPTH = 200


class Place(NamedTuple):
    """Place of an element in its file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def parse_document(data: bytes, file: str) -> Any:
    """The `xml.dom.minidom.Document` of some XML, without declarations of entities.

    Raises:
        RobotDescriptionError: it is faulty.
    """
    if len(data) > MAX_BYTES:
        raise RobotDescriptionError(f"{file}: larger than {MAX_BYTES // 10**6} MB, no xacro is")
    lines: list[int] = []
    depth = [0]
    parser = expat.ParserCreate()

    def doctype(*_: object) -> None:
        raise RobotDescriptionError(f"{file}:{parser.CurrentLineNumber}: <!DOCTYPE> has no place in a xacro")

    def started(*_: object) -> None:
        lines.append(parser.CurrentLineNumber)
        depth[0] += 1
        if depth[0] > _MAX_DEPTH:
            raise RobotDescriptionError(
                f"{file}:{parser.CurrentLineNumber}: faulty XML: a depth of more than {_MAX_DEPTH} elements"
            )

    def ended(_: str) -> None:
        depth[0] -= 1

    parser.StartDoctypeDeclHandler, parser.StartElementHandler = doctype, started
    parser.EndElementHandler = ended
    try:
        parser.Parse(data, True)
        document = dom.parseString(data)
    except expat.ExpatError as error:
        raise RobotDescriptionError(
            f"{file}:{error.lineno}: faulty XML: {expat.ErrorString(error.code)}"
        ) from error
    except (LookupError, ValueError) as error:
        raise RobotDescriptionError(f"{file}: faulty XML: {error}") from error
    elements = document.getElementsByTagName("*")
    for element, line in zip(elements, lines, strict=True):
        _mark(element, Place(file, line))
    return document


def place_of(node: Any) -> Place | None:
    """Place of the element that a node is, or belongs to."""
    while node is not None:
        place: Place | None = getattr(node, "helicoid_place", None)
        if place is not None:
            return place
        node = getattr(node, "parentNode", None)
    return None


def _mark(element: Any, place: Place) -> None:
    element.helicoid_place = place
    element.cloneNode = lambda deep: _clone(element, deep)


def _clone(element: Any, deep: bool) -> Any:
    """A copy of an element whose elements stand at the same places."""
    made = dom.Element.cloneNode(element, deep)
    pairs = [(element, made)]
    while pairs:
        one, other = pairs.pop()
        place = getattr(one, "helicoid_place", None)
        if place is not None:
            _mark(other, place)
        if deep or one is not element:
            pairs += [
                pair
                for pair in zip(one.childNodes, other.childNodes, strict=True)  # type: ignore[union-attr]
                if pair[0].nodeType == dom.Node.ELEMENT_NODE
            ]
    return made


class Written(NamedTuple):
    """A document as text, and the place of each of its lines."""

    text: str
    places: list[Place | None]


def written(document: Any) -> Written:
    """Every tag on a line of its own."""
    rows: list[tuple[str, Place | None]] = []

    def write(element: Any) -> None:
        place = place_of(element)
        attributes = "".join(f" {name}={quoteattr(value)}" for name, value in element.attributes.items())
        children = [one for one in element.childNodes if one.nodeType == dom.Node.ELEMENT_NODE]
        text = "".join(
            one.data
            for one in element.childNodes
            if one.nodeType in (dom.Node.TEXT_NODE, dom.Node.CDATA_SECTION_NODE)
        ).strip()
        if not children and not text:
            rows.append((f"<{element.tagName}{attributes}/>".replace("\n", " "), place))
            return
        rows.append((f"<{element.tagName}{attributes}>{escape(text)}".replace("\n", " "), place))
        for child in children:
            write(child)
        rows.append((f"</{element.tagName}>", place))

    write(document.documentElement)
    return Written("\n".join(text for text, _ in rows) + "\n", [place for _, place in rows])
