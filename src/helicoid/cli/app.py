"""The command line `helicoid`: registration of all commands."""

from __future__ import annotations

from typing import Annotated

import typer

from helicoid.cli import cache, commands, descriptions, learning, robots
from helicoid.cli.console import console

app = typer.Typer(
    help="Robot dynamics, simulation, identification and control.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


def _version(requested: bool) -> None:
    if requested:
        import helicoid

        console.print(f"helicoid {helicoid.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Robot dynamics, simulation, identification and control."""


app.command("robots")(robots.list_robots)
app.command()(robots.info)
app.command()(robots.check)
app.command()(descriptions.convert)
app.command()(commands.view)
app.command()(learning.identify)
app.command()(learning.payload)
app.command()(learning.gains)
app.command()(commands.commission)
app.command()(commands.study)
app.command()(commands.demo)
app.command()(commands.codegen)
app.add_typer(cache.app, name="cache")
