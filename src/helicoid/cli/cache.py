"""`helicoid cache`: the cache of compiled code."""

from __future__ import annotations

import typer
from rich.markup import escape

from helicoid.cli.console import console, reported_errors
from helicoid.compiler import open_cache

app = typer.Typer(help="Inspect or clear the cache of compiled code.", no_args_is_help=True)


@app.command("info")
def cache_info() -> None:
    """Print the folder, number of libraries and size of the cache."""
    with reported_errors():
        found = open_cache().info()
    size = f"{found.n_bytes / 1e6:.1f} MB"
    console.print(f"{escape(str(found.folder))}: {found.n_libraries} libraries, {size}", soft_wrap=True)


@app.command("clear")
def cache_clear() -> None:
    """Remove all compiled code; it is recompiled when needed."""
    with reported_errors():
        removed = open_cache().clear()
    console.print(f"removed {removed.n_libraries} libraries, {removed.n_bytes / 1e6:.1f} MB")
