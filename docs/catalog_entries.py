"""Give the entries of a robot's catalog the documentation that they have at run time."""

from __future__ import annotations

from typing import Any

import griffe

CATALOG = "helicoid.robot.catalog.Catalog"


class CatalogEntries(griffe.Extension):
    """Attributes of the catalog are made by calls, so their text is not written below them."""

    def on_class(
        self, *, cls: griffe.Class, loader: griffe.GriffeLoader, **kwargs: Any
    ) -> None:
        if cls.path != CATALOG:
            return
        from helicoid.robot.catalog import Catalog

        for name, entry in vars(Catalog).items():
            if name in cls.members and hasattr(entry, "spec"):
                text = entry.__doc__
                cls.members[name].docstring = griffe.Docstring(
                    text, parent=cls.members[name]
                )
