"""What a user at a terminal sees of work that takes long."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console


class Display(Protocol):
    """Something that can be shown and taken away again, such as rich's Status and Live."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


@contextmanager
def shown_late(make: Callable[[Console], Display], patience: float) -> Iterator[None]:
    """Show what `make` makes after `patience` seconds; nothing where nobody looks at a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    display = make(Console(stderr=True))
    timer = threading.Timer(patience, display.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        display.stop()
