"""A line at the terminal about a solution that takes long."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 0.5  # seconds before there is anything to see


@contextmanager
def progress(text: Callable[[], str]) -> Iterator[None]:
    """Show what `text` says, ten times a second, at a terminal; it disappears at the end.

    The text is asked for in another thread, while the solver works.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    live = Live(
        get_renderable=lambda: Text(f"Helicoid is solving {text()}"),
        console=Console(stderr=True),
        refresh_per_second=10,
        transient=True,
    )
    timer = threading.Timer(PATIENCE, live.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        live.stop()
