"""Commands whose work is long to import: it is brought when one of them is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape

from helicoid.cli.console import FloatingOption, RobotArgument, console, show_doubts, told
from helicoid.robot import load

Base = Literal["fixed", "floating"]
Demonstration = Literal["load", "fly", "walk"]


def view(
    robot: RobotArgument,
    trajectory: Annotated[
        Path | None, typer.Option(help="A motion to play: NPZ or CSV with t and q.")
    ] = None,
    ghost: Annotated[Path | None, typer.Option(help="A second motion, drawn transparent.")] = None,
    record: Annotated[Path | None, typer.Option(help="Write a page that plays without a server.")] = None,
    ik: Annotated[bool, typer.Option("--ik", help="A target to drag, which the robot follows.")] = False,
    frame: Annotated[str | None, typer.Option(help="The link that follows; by default the last.")] = None,
    port: Annotated[int, typer.Option(help="Where the browser finds it, on this machine.")] = 8080,
    package: Annotated[
        list[str],
        typer.Option(metavar="NAME=FOLDER", help="Where meshes of package://NAME are; may be repeated."),
    ] = [],  # noqa: B006  typer reads it and changes nothing
    floating: FloatingOption = False,
) -> None:
    """Show a robot in the browser, with sliders and the playback of a motion."""
    with told() as doubts:
        from helicoid.cli.view import folders, run

        base: Base = "floating" if floating else "fixed"
        loaded = load(robot, base, packages=folders(package) or None)
        show_doubts(doubts)
        doubts.clear()  # what is shown now; meshes that are missing come below
        run(loaded, trajectory, ghost, record, port, ik=(frame or True) if ik else False)
    show_doubts(doubts)
    if record is not None:
        console.print(f"[bold]{escape(str(record))}[/]", soft_wrap=True)


def study(
    file: Annotated[Path, typer.Argument(help="A Python file that makes an hc.Study called `study`.")],
    episodes: Annotated[
        int | None, typer.Option("--episodes", "-n", help="How many; by default each point of the grid once.")
    ] = None,
    on: Annotated[
        str, typer.Option(help="processes, here, or a dask scheduler such as tcp://10.0.0.1:8786.")
    ] = "processes",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the results; run again to go on.")
    ] = Path("study"),
    workers: Annotated[int | None, typer.Option(help="Processes; by default one for each core.")] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds after which an episode is stopped.")
    ] = None,
) -> None:
    """Run a study: many episodes, on all cores or on a dask cluster."""
    with told() as doubts:
        from helicoid.cli.study import run

        run(file, episodes, on, output, workers, time_limit, console)
    show_doubts(doubts)


def demo(
    what: Annotated[
        Demonstration, typer.Argument(help="load: a Panda picks up a load. fly: two flights. walk: a dog.")
    ] = "load",
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the report.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Of the sensors' noise.")] = 0,
) -> None:
    """Let a Panda pick up a load that nobody told it about and find out; or see robots fly and walk."""
    if what != "load":
        (_fly if what == "fly" else _walk)(output, seed)
        return
    with told():
        from helicoid.demo import run

        written = run(output, seed, console)
    console.print(f"\nThe motion in 3-D and all plots: [bold]{escape(str(written))}[/]", soft_wrap=True)


def _fly(output: Path, seed: int) -> None:
    with told():
        from helicoid.demo.flight import fly_eight, fly_mission

        for name, fly in (("Figure eight at 3 m/s", fly_eight), ("Mission at 25 m/s", fly_mission)):
            flown = fly(output, seed)
            console.print(
                f"{name}, in gusts: {flown.rms:.3f} m rms off its way, {flown.largest:.3f} m at most: "
                f"[bold]{escape(str(flown.page))}[/]",
                soft_wrap=True,
            )


def _walk(output: Path, seed: int) -> None:
    with told():
        from helicoid.demo.walk import walk, write_walk

        with console.status("walking (the plan is compiled once, then kept)"):
            walked = walk(seed)
        page = write_walk(walked, output)
    console.print(
        f"Walked {walked.distance:.2f} m with a push, a turn and a stop, tilted by {walked.tilt:.3f} rad at "
        f"most: [bold]{escape(str(page))}[/]",
        soft_wrap=True,
    )


def codegen(
    robot: RobotArgument,
    functions: Annotated[
        list[str],
        typer.Argument(help="Such as inverse_dynamics, jacobian:tool0 or jacobian:tool0:body."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the C files.")],
    floating: FloatingOption = False,
    single: Annotated[bool, typer.Option("--single", help="float instead of double.")] = False,
) -> None:
    """Write functions of a robot as a C99 library that needs neither Python nor CasADi."""
    with told():
        from helicoid.cli.codegen import generate

        loaded = load(robot, base="floating" if floating else "fixed")
        written = generate(loaded, functions, output, "single" if single else "double")
    for path in written:
        console.print(escape(str(path)), soft_wrap=True, highlight=False)
