"""Text, numbers and arrays of Python as C."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

import numpy as np

from helicoid._typing import Array


def c_text(text: str) -> str:
    """A name, safe inside of a comment or a string literal of C: nothing in it can end either.

    >>> c_text('left*/ arm"\\\\n')
    'left__ arm__n'
    """
    return re.sub(r"[^0-9A-Za-z_ .,:;()\[\]+=<>-]", "_", text)


def c_number(value: float) -> str:
    """A number as a constant, with every digit.

    >>> c_number(0.1), c_number(-np.inf)
    ('0.1', '-INFINITY')
    """
    return repr(float(value)).replace("inf", "INFINITY").replace("nan", "NAN")


def initialiser(values: Iterable[float]) -> str:
    """Numbers between braces; one zero where there are none."""
    texts = [c_number(value) for value in values] or ["0"]
    return "{" + "\n  ".join(textwrap.wrap(", ".join(texts), 110)) + "}"


def c_array(name: str, values: Array) -> str:
    """A constant array of numbers."""
    return f"static const double {name}[] = {initialiser(np.ravel(values).tolist())};"


def c_comment(lines: Sequence[str], width: int = 108) -> str:
    """A comment of whole lines, each wrapped."""
    wrapped = [part for line in lines for part in textwrap.wrap(line, width) or [""]]
    return "/* " + "\n".join(wrapped).replace("\n", "\n * ").replace(" * \n", " *\n") + " */"


def c_header(name: str, about: Sequence[str], declarations: Iterable[str], includes: str = "") -> str:
    """A header with its guard, which C++ can include too."""
    guard = f"{name.upper()}_H"
    return "\n".join(
        [
            c_comment(about),
            f"#ifndef {guard}\n#define {guard}\n{includes}",
            '#ifdef __cplusplus\nextern "C" {\n#endif\n',
            *declarations,
            "\n#ifdef __cplusplus\n}\n#endif\n#endif\n",
        ]
    )


def c_declaration(text: str) -> str:
    """A prototype on lines that fit a page."""
    return "\n".join(textwrap.wrap(text, 110, subsequent_indent="    ", break_long_words=False))
