"""Commands that learn from logs: identify, payload, gains. Their work is imported when one is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from helicoid.cli.console import FloatingOption, RobotArgument, console, show_doubts, told
from helicoid.robot import Robot, load

LinkOption = Annotated[str, typer.Option(help="The link that the load is fixed to.")]
GainsOption = Annotated[
    str | None,
    typer.Option(metavar="K,K,...", help="Logs hold currents: gains of all drives in N·m/A, see `gains`."),
]
CutoffOption = Annotated[
    str, typer.Option(metavar="HZ", help="Of the low-pass: a number, none, or auto for what the log asks.")
]


def identify(
    robot: RobotArgument,
    logs: Annotated[list[Path], typer.Argument(help="Logs to learn from: CSV, NPZ, MCAP or a bag.")],
    validate: Annotated[Path | None, typer.Option(help="A log to judge the result by.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for what is found.")] = Path(
        "identified"
    ),
    estimator: Annotated[
        str,
        typer.Option(
            help="How: consistent (bodies that exist), ridge, ordinary, weighted, huber, total, instrumental."
        ),
    ] = "consistent",
    friction: Annotated[
        str | None, typer.Option(help="A friction model to refine with, such as stribeck or sigmoid.")
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="The unknowns, such as inertia,viscous,coulomb,offset."),
    ] = None,
    regularisation: Annotated[
        float | None,
        typer.Option(
            "--regularisation",
            "--strength",
            help="Weight towards the description; by default by cross-validation.",
        ),
    ] = None,
    mass: Annotated[
        list[str],
        typer.Option(metavar="LINK=LEAST:MOST", help="What is known of a mass, in kg; may be repeated."),
    ] = [],  # noqa: B006  typer reads it and changes nothing
    com: Annotated[
        list[str],
        typer.Option(
            metavar="LINK=X,Y,Z:X,Y,Z", help="The box that holds a center of mass, in m; may be repeated."
        ),
    ] = [],  # noqa: B006
    gains: GainsOption = None,
    cutoff: CutoffOption = "auto",
    lag: Annotated[
        float | None, typer.Option(help="By which torques follow the motion, in s; by default estimated.")
    ] = None,
    dead_zone: Annotated[float, typer.Option(help="Leave samples out that are slower, in rad/s.")] = 0.0,
    floating: FloatingOption = False,
) -> None:
    """Find the masses, inertias and friction of a robot from logs of its motion."""
    with told() as doubts:
        from helicoid.cli.identify import run
        from helicoid.cli.words import bounds, filter_cutoff, names, numbers

        options = {
            "estimator": estimator,
            "groups": names(groups),
            "regularisation": regularisation,
            "bounds": bounds(mass, com),
            "cutoff": filter_cutoff(cutoff),
            "lag": lag,
            "dead_zone": dead_zone,
        }
        factors = None if gains is None else numbers("--gains", gains)
        loaded = _loaded(robot, floating, doubts)
        run(loaded, logs, validate, output, console, friction=friction, gains=factors, **options)


def payload(
    robot: RobotArgument,
    log: Annotated[Path, typer.Argument(help="A log of the robot with its load.")],
    link: LinkOption,
    bare: Annotated[
        list[Path],
        typer.Option(help="A log without load, to identify the robot itself first; may be repeated."),
    ] = [],  # noqa: B006
    gains: GainsOption = None,
    cutoff: CutoffOption = "auto",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A URDF to write: the robot with its load.")
    ] = None,
    floating: FloatingOption = False,
) -> None:
    """Weigh what a robot carries: mass, center of mass and inertia of a load on a link."""
    with told() as doubts:
        from helicoid.cli.loads import weigh
        from helicoid.cli.words import filter_cutoff, numbers

        factors = None if gains is None else numbers("--gains", gains)
        loaded = _loaded(robot, floating, doubts)
        weigh(loaded, log, link, bare, output, console, filter_cutoff(cutoff), factors)


def gains(
    robot: RobotArgument,
    log: Annotated[Path, typer.Argument(help="A log without load, with currents in place of torques.")],
    loaded: Annotated[Path, typer.Argument(help="A log with the load.")],
    link: LinkOption,
    mass: Annotated[float, typer.Option(help="Of the load, in kg.")],
    com: Annotated[
        str | None,
        typer.Option(
            metavar="X,Y,Z", help="Its center of mass in the link's frame, in m; found if not given."
        ),
    ] = None,
    inertia: Annotated[
        str | None,
        typer.Option(metavar="XX,YY,ZZ", help="Its inertia about its center of mass; found if not given."),
    ] = None,
    cutoff: CutoffOption = "none",
    floating: FloatingOption = False,
) -> None:
    """Find the torque that each drive gives for its current (N·m/A), by a load of known mass."""
    with told() as doubts:
        from helicoid.cli.loads import find_gains
        from helicoid.cli.words import filter_cutoff, numbers

        center = None if com is None else numbers("--com", com, 3)
        moments = None if inertia is None else numbers("--inertia", inertia, 3)
        arm = _loaded(robot, floating, doubts)
        find_gains(arm, log, loaded, link, mass, center, moments, filter_cutoff(cutoff), console)


def _loaded(robot: str, floating: bool, doubts: list[str]) -> Robot:
    loaded = load(robot, base="floating" if floating else "fixed")
    show_doubts(doubts)
    return loaded
