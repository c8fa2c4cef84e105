"""Names that a C header defines, so that Python has no copies of them that could differ."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class CHeader:
    """Enumerations, lists of fields (X-macros) and numbers of a C header.

    Names are in lower case, in the order of the header.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "layout.h"
    >>> _ = path.write_text('''
    ... #define RATE 0.5 /* 1/s */
    ... #define FIELDS(F) F(x, NX) \\\\
    ...   F(u, NU)
    ... enum { TOLERANCE, /* of optimality */ BUDGET, N_SETTINGS };
    ... ''')
    >>> header = CHeader(path)
    >>> header.enumeration("TOLERANCE"), header.fields("FIELDS"), header.number("RATE")
    (('tolerance', 'budget'), ('x', 'u'), 0.5)
    >>> header.sizes("FIELDS", {"NX": 4, "NU": 2})
    {'x': 4, 'u': 2}
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)

    def enumeration(self, first: str) -> tuple[str, ...]:
        """The enumerators of the enumeration that begins with one of them, without a last count `N_...`."""
        body = self._found(rf"enum\s*\{{\s*({first}\b.*?)\}}")
        names = re.findall(r"\w+", body)
        return tuple(name.lower() for name in names if not (name == names[-1] and name.startswith("N_")))

    def fields(self, macro: str) -> tuple[str, ...]:
        """The names in a list `#define macro(F) F(name, ...) F(name, ...)`."""
        return tuple(re.findall(r"\bF\((\w+)", self._list(macro)))

    def sizes(self, macro: str, known: Mapping[str, Any]) -> dict[str, int]:
        """Sizes in a list `F(name, size)` by name, each a number or one of the `known` constants."""
        pairs = re.findall(r"\bF\((\w+), *(\w+)\)", self._list(macro))
        return {name.lower(): int(known.get(size, size)) for name, size in pairs}

    def number(self, macro: str) -> float:
        """The number that a macro stands for."""
        return float(self._found(rf"#define {macro} (\S+)"))

    def _list(self, macro: str) -> str:
        return self._found(rf"#define {macro}\(F\)((?:[^\n]*\\\n)*[^\n]*)")

    def _found(self, pattern: str) -> str:
        match = re.search(pattern, self._text, flags=re.DOTALL)
        if match is None:
            raise KeyError(f"{self._path} has no {pattern}")
        return match[1]
