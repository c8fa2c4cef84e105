"""Functions inside the graphs of learning libraries: `Function.jax()` and `Function.torch()`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from helicoid.errors import HelicoidError

if TYPE_CHECKING:
    from helicoid.compiler.function import Function


def bridge(package: str, of: Function, flat: Function) -> Callable[..., Any]:
    """A function as one of "jax" or "torch".

    Args:
        of: what is called: its names, shapes and results.
        flat: the same numbers from inputs without tangents, in outputs of up to two axes.

    Raises:
        HelicoidError: the package is not installed, or cannot be loaded.
    """
    try:
        import_module(package)
    except ImportError as error:
        raise HelicoidError(
            f"{of.name}.{package}() needs {package}: pip install 'helicoid[{package}]' ({error})"
        ) from error
    function: Callable[..., Any] = import_module(f"{__name__}.for_{package}").bridged(of, flat)
    return function
