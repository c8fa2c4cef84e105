"""A line at the terminal about a solution that takes long."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from helicoid.progress import shown_late

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

PATIENCE = 0.5  # seconds before there is anything to see


def progress(text: Callable[[], str]) -> AbstractContextManager[None]:
    """Show what `text` says, ten times a second, at a terminal; it disappears at the end.

    The text is asked for in another thread, while the solver works.
    """

    def line(console: Console) -> Live:
        from rich.live import Live
        from rich.text import Text

        return Live(
            get_renderable=lambda: Text(f"Helicoid is solving {text()}"),
            console=console,
            refresh_per_second=10,
            transient=True,
        )

    return shown_late(line, PATIENCE)
