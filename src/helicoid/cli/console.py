"""What all commands share: where they print, how they tell errors and doubts, and tables that fit."""

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
problems = Console(stderr=True)

_SHORTEST = 4  # characters of a name in one line

RobotArgument = Annotated[str, typer.Argument(help="A bundled robot's name, or the path of a URDF file.")]
FloatingOption = Annotated[bool, typer.Option("--floating", help="Let the base float instead of fixing it.")]


@contextmanager
def told() -> Iterator[list[str]]:
    """Errors become one line and exit code 1; doubts are collected instead of printed in between."""
    doubts: list[str] = []
    with warnings.catch_warnings():

        def collect(message: Warning | str, category: type[Warning], *_: object) -> None:
            doubts.append(str(message))

        warnings.simplefilter("always", DoubtfulModelWarning)
        warnings.showwarning = collect  # type: ignore[assignment]
        try:
            yield doubts
        except HelicoidError as error:
            problems.print(f"[bold red]error[/] {escape(str(error))}", soft_wrap=True)
            raise typer.Exit(1) from None


def show_doubts(doubts: list[str]) -> None:
    for doubt in doubts:
        problems.print(f"[bold yellow]doubtful[/] {escape(doubt)}", soft_wrap=True)


class Columns:
    """A table that breaks names before numbers: a column of numbers is as wide as its longest, at least.

    The first column has names. Numbers of a vector, in one cell, may stand below each other.
    """

    def __init__(self, title: str, *columns: str) -> None:
        self._title, self._rows = title, [columns]

    def add(self, *cells: str) -> None:
        """A row."""
        self._rows.append(cells)

    def show(self) -> None:
        """Print it."""
        table = Table(box=None, header_style="bold", title=self._title, title_justify="left", pad_edge=False)
        for name, width in zip(self._rows[0], self._widths(console.width), strict=True):
            table.add_column(escape(name), overflow="fold", width=width)
        for row in self._rows[1:]:
            table.add_row(*map(escape, row))
        console.print(table)

    def _widths(self, available: int) -> list[int]:
        """Of the columns: as wide as their texts, or less, where there is most to spare."""
        columns = list(zip(*self._rows, strict=True))
        widths = [max(map(len, column)) for column in columns]
        least = [max(len(word) for cell in column for word in ("", *cell.split())) for column in columns]
        least[0] = _SHORTEST
        for _ in range(sum(widths) + 2 * (len(widths) - 1) - available):
            spare = [width - needed for width, needed in zip(widths, least, strict=True)]
            widths[spare.index(max(spare))] -= 1
        return widths


def short(values: np.ndarray) -> str:
    """The numbers of a vector, once if they are all the same; – is infinite."""
    texts = ["–" if np.isinf(x) else f"{0.0 if abs(x) < 1e-12 else x:.4g}" for x in values]
    return texts[0] if len(set(texts)) == 1 else " ".join(texts)
