"""Commands `identify`, `payload` and `gains`; their slow imports happen on call."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from helicoid.cli.console import FloatingOption, RobotArgument, console, print_warnings, reported_errors
from helicoid.robot import Robot, load

LinkOption = Annotated[str, typer.Option(help="Link that the payload is attached to.")]
GainsOption = Annotated[
    str | None,
    typer.Option(metavar="K,K,...", help="Logs hold currents: drive gains in N·m/A, from `helicoid gains`."),
]
CutoffOption = Annotated[
    str,
    typer.Option(metavar="HZ", help="Low-pass cutoff frequency in Hz, none, or auto (chosen from the log)."),
]


def identify(
    robot: RobotArgument,
    logs: Annotated[list[Path], typer.Argument(help="Training logs: CSV, NPZ, MCAP or a ROS bag.")],
    validate: Annotated[Path | None, typer.Option(help="Validation log.")] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the URDF, parameters and report.")
    ] = Path("identified"),
    estimator: Annotated[
        str,
        typer.Option(
            help="consistent (physically), ridge, ordinary, weighted, huber, total or instrumental."
        ),
    ] = "consistent",
    friction: Annotated[
        str | None, typer.Option(help="Nonlinear friction model, such as stribeck or sigmoid.")
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Parameter groups, such as inertia,viscous,coulomb,offset."),
    ] = None,
    regularisation: Annotated[
        float | None,
        typer.Option(
            "--regularisation",
            "--strength",
            help="Regularisation weight towards the URDF prior; by default by cross-validation.",
        ),
    ] = None,
    mass: Annotated[
        list[str],
        typer.Option(metavar="LINK=MIN:MAX", help="Bounds on a mass, in kg; repeatable."),
    ] = [],  # noqa: B006  typer does not mutate it
    com: Annotated[
        list[str],
        typer.Option(metavar="LINK=X,Y,Z:X,Y,Z", help="Bounds on a centre of mass, in m; repeatable."),
    ] = [],  # noqa: B006
    gains: GainsOption = None,
    cutoff: CutoffOption = "auto",
    lag: Annotated[
        float | None, typer.Option(help="Delay of torques behind the motion, in s; by default estimated.")
    ] = None,
    dead_zone: Annotated[float, typer.Option(help="Discard samples below this speed, in rad/s.")] = 0.0,
    floating: FloatingOption = False,
) -> None:
    """Identify masses, inertias and friction from logs of a motion."""
    with reported_errors() as caught:
        from helicoid.cli.identify import run
        from helicoid.cli.option_values import bounds, filter_cutoff, names, numbers

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
        loaded = _load(robot, floating, caught)
        run(loaded, logs, validate, output, console, friction=friction, gains=factors, **options)


def payload(
    robot: RobotArgument,
    log: Annotated[Path, typer.Argument(help="Log with the payload.")],
    link: LinkOption,
    bare: Annotated[
        list[Path],
        typer.Option(help="Log without payload, to identify the robot first; repeatable."),
    ] = [],  # noqa: B006
    gains: GainsOption = None,
    cutoff: CutoffOption = "auto",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="URDF file to write: the robot with its payload.")
    ] = None,
    floating: FloatingOption = False,
) -> None:
    """Identify mass, centre of mass and inertia of a payload."""
    with reported_errors() as caught:
        from helicoid.cli.loads import report_payload
        from helicoid.cli.option_values import filter_cutoff, numbers

        factors = None if gains is None else numbers("--gains", gains)
        loaded = _load(robot, floating, caught)
        report_payload(loaded, log, link, bare, output, console, filter_cutoff(cutoff), factors)


def gains(
    robot: RobotArgument,
    log: Annotated[Path, typer.Argument(help="Log without payload, with currents (A) in place of torques.")],
    loaded: Annotated[Path, typer.Argument(help="Log with the payload, likewise.")],
    link: LinkOption,
    mass: Annotated[float, typer.Option(help="Mass of the payload, in kg.")],
    com: Annotated[
        str | None,
        typer.Option(
            metavar="X,Y,Z", help="Its centre of mass in the link frame, in m; by default estimated."
        ),
    ] = None,
    inertia: Annotated[
        str | None,
        typer.Option(
            metavar="XX,YY,ZZ", help="Its inertia about its centre of mass, in kg·m²; by default estimated."
        ),
    ] = None,
    cutoff: CutoffOption = "none",
    floating: FloatingOption = False,
) -> None:
    """Identify drive gains (N·m/A) with a payload of known mass."""
    with reported_errors() as caught:
        from helicoid.cli.loads import report_gains
        from helicoid.cli.option_values import filter_cutoff, numbers

        center = None if com is None else numbers("--com", com, 3)
        moments = None if inertia is None else numbers("--inertia", inertia, 3)
        arm = _load(robot, floating, caught)
        report_gains(arm, log, loaded, link, mass, center, moments, filter_cutoff(cutoff), console)


def _load(robot: str, floating: bool, caught: list[str]) -> Robot:
    loaded = load(robot, base="floating" if floating else "fixed")
    print_warnings(caught)
    return loaded
