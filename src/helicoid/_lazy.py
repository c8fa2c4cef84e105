"""Packages whose names are imported when they are first used.

Such a package lists each name once, where type checkers and editors find it:

    if TYPE_CHECKING:
        from package.module import Name as Name
    else:
        __getattr__, __dir__, __all__ = lazy_names(__name__)
"""

import ast
import sys
from collections.abc import Callable
from importlib import import_module


def lazy_names(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, from the imports `Name as Name` in its source."""
    module = sys.modules[package]
    homes: dict[str, str] = {}
    for statement in ast.walk(ast.parse(module.__spec__.loader.get_source(package))):  # type: ignore
        if isinstance(statement, ast.ImportFrom):
            homes |= {one.name: str(statement.module) for one in statement.names if one.name == one.asname}

    def __getattr__(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(homes[name])
        if home is module:
            return import_module(f"{package}.{name}")
        # A submodule of that name, which is callable then, comes before what it contains: `hc.view`.
        return vars(module).get(name, getattr(home, name))

    return __getattr__, lambda: sorted(homes), sorted(homes)
