"""Checks of an MJCF text before MuJoCo sees it: document types, and elements that multiply without bound.

MuJoCo's compiler returns an error for broken texts, but makes as many bodies or samples as a text asks for.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from xml.parsers import expat

from helicoid.errors import RobotDescriptionError

_MAX_COPIES = 20_000
"""Bodies that nested <replicate> and <composite> may make."""
_MAX_SAMPLES = 100_000_000
"""Rows times columns of a height field, or pixels of a texture."""

_COPYING = ("replicate", "composite", "flexcomp")
_SAMPLED = {"hfield": ("nrow", "ncol"), "texture": ("width", "height")}


def refuse_bombs(text: str | bytes, name: str) -> None:
    """Refuse a document type, which could define entities, and copies or samples beyond any robot's.

    Raises:
        RobotDescriptionError: with the line. Texts that are no XML pass: MuJoCo says what is wrong with them.
    """
    parser, nested = expat.ParserCreate(), [1]

    def fail(what: str) -> None:
        raise RobotDescriptionError(f"{name}:{parser.CurrentLineNumber}: {what}")

    def doctype(*_: Any) -> None:
        fail("a document type is refused: its entities could grow without bound; write their text in place")

    def begin(tag: str, attributes: dict[str, str]) -> None:
        copies = _product(attributes.get("count", "1")) if tag in _COPYING else 1
        nested.append(nested[-1] * max(copies, 1))
        if nested[-1] > _MAX_COPIES:
            fail(f"<{tag} count={attributes['count']!r}> makes {nested[-1]} copies, more than {_MAX_COPIES}")
        if tag in _SAMPLED:
            samples = _product(" ".join(attributes.get(key, "1") for key in _SAMPLED[tag]))
            if samples > _MAX_SAMPLES:
                fail(f"<{tag}> with {samples} samples, more than {_MAX_SAMPLES}")

    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda _: nested.pop()
    with suppress(expat.ExpatError):
        parser.Parse(text, True)


def _product(words: str) -> int:
    """Product of whole numbers; 1 for what is none."""
    result = 1
    for word in words.split():
        try:
            result *= max(int(float(word)), 1)
        except (ValueError, OverflowError):
            continue
    return result
