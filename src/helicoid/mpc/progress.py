"""A line at the terminal about a solution that takes long."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from helicoid.progress import UNKNOWN, Progress, reporting


def progress(text: Callable[[], str]) -> AbstractContextManager[Progress]:
    """Show what `text` says while a solver works; it is asked in another thread."""
    return reporting(None, "Solving", watch=lambda: (f"Solving {text()}", UNKNOWN))
