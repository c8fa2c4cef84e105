"""Show the examples of docstrings as code: without this, Markdown takes `>>>` for a quotation."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(
    r"^(?P<indent> *)>>> .*?(?=\n *\n|\Z)", re.MULTILINE | re.DOTALL
)


class DoctestBlocks(griffe.Extension):
    """Fences every example, a paragraph that starts with `>>>`, before the docstring is parsed."""

    def on_object(
        self, *, obj: griffe.Object, loader: griffe.GriffeLoader, **kwargs: Any
    ) -> None:
        if obj.docstring:
            fenced = r"\g<indent>```pycon\n\g<0>\n\g<indent>```"
            obj.docstring.value = EXAMPLE.sub(fenced, obj.docstring.value)
