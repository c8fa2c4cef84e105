"""`helicoid cache`: the compiled code that is kept."""

from __future__ import annotations

import typer
from rich.markup import escape

from helicoid.cli.console import console, told
from helicoid.compiler import open_cache

app = typer.Typer(help="Look at the compiled code, or remove it.", no_args_is_help=True)


@app.command("info")
def cache_info() -> None:
    """Say where compiled code is kept and how much there is."""
    with told():
        found = open_cache().info()
    size = f"{found.n_bytes / 1e6:.1f} MB"
    console.print(f"{escape(str(found.folder))}: {found.n_libraries} libraries, {size}", soft_wrap=True)


@app.command("clear")
def cache_clear() -> None:
    """Remove all compiled code; it is compiled again when needed."""
    with told():
        removed = open_cache().clear()
    console.print(f"removed {removed.n_libraries} libraries, {removed.n_bytes / 1e6:.1f} MB")
