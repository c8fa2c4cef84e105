"""Output of all commands: consoles, errors and warnings, tables that fit the terminal."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from helicoid.errors import DoubtfulModelWarning, HelicoidError

console = Console()
error_console = Console(stderr=True)

_MIN_NAME_WIDTH = 4  # characters of a name per line

RobotArgument = Annotated[str, typer.Argument(help="Name of a bundled robot, or a URDF, xacro, MJCF or SDF.")]
FloatingOption = Annotated[bool, typer.Option("--floating", help="Floating base instead of a fixed one.")]


@contextmanager
def reported_errors() -> Iterator[list[str]]:
    """Report errors as one line with exit code 1; collect model warnings in the list that it yields."""
    caught: list[str] = []
    with warnings.catch_warnings():

        def collect(message: Warning | str, category: type[Warning], *_: object) -> None:
            caught.append(str(message))

        warnings.simplefilter("always", DoubtfulModelWarning)
        warnings.showwarning = collect  # type: ignore[assignment]
        try:
            yield caught
        except HelicoidError as error:
            error_console.print(f"[bold red]error[/] {escape(str(error))}", soft_wrap=True)
            raise typer.Exit(1) from None


def print_warnings(texts: list[str]) -> None:
    """Print warnings, one per line, to stderr."""
    for text in texts:
        error_console.print(f"[bold yellow]warning[/] {escape(text)}", soft_wrap=True)


class Columns:
    """Table that wraps names, never numbers, to fit the terminal.

    The first column has names. The numbers of a vector in one cell may be wrapped onto several lines.
    """

    def __init__(self, title: str, *columns: str) -> None:
        self._title, self._rows = title, [columns]

    def add(self, *cells: str) -> None:
        """Add a row."""
        self._rows.append(cells)

    def show(self) -> None:
        """Print the table."""
        table = Table(box=None, header_style="bold", title=self._title, title_justify="left", pad_edge=False)
        for name, width in zip(self._rows[0], self._widths(console.width), strict=True):
            table.add_column(escape(name), overflow="fold", width=width)
        for row in self._rows[1:]:
            table.add_row(*map(escape, row))
        console.print(table)

    def _widths(self, available: int) -> list[int]:
        """Column widths: those of the texts, the widest columns shrunk until the table fits."""
        columns = list(zip(*self._rows, strict=True))
        widths = [max(map(len, column)) for column in columns]
        least = [max(len(word) for cell in column for word in ("", *cell.split())) for column in columns]
        least[0] = _MIN_NAME_WIDTH
        for _ in range(sum(widths) + 2 * (len(widths) - 1) - available):
            spare = [width - needed for width, needed in zip(widths, least, strict=True)]
            widths[spare.index(max(spare))] -= 1
        return widths


def short(values: np.ndarray) -> str:
    """Numbers of a vector, one if all are equal; – for infinity."""
    texts = ["–" if np.isinf(x) else f"{0.0 if abs(x) < 1e-12 else x:.4g}" for x in values]
    return texts[0] if len(set(texts)) == 1 else " ".join(texts)
