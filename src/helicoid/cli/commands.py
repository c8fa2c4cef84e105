"""Commands `view`, `commission`, `study`, `demo` and `codegen`; their slow imports happen on call."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape

from helicoid.cli.console import FloatingOption, RobotArgument, console, print_warnings, reported_errors
from helicoid.cli.descriptions import ArgumentOption, IgnoreOption, ModelOption, PackageOption, loaded

Demonstration = Literal["load", "fly", "walk", "plan"]


def view(
    robot: RobotArgument,
    trajectory: Annotated[
        Path | None, typer.Option(help="Trajectory to play: NPZ or CSV with t and q.")
    ] = None,
    ghost: Annotated[Path | None, typer.Option(help="Second trajectory, drawn transparent.")] = None,
    record: Annotated[
        Path | None, typer.Option(help="Write a stand-alone HTML page instead of serving.")
    ] = None,
    ik: Annotated[bool, typer.Option("--ik", help="Draggable target pose for inverse kinematics.")] = False,
    frame: Annotated[
        str | None, typer.Option(help="Link that follows the target; by default the last.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port of the local server.")] = 8080,
    package: PackageOption = [],  # noqa: B006  typer does not mutate it
    argument: ArgumentOption = [],  # noqa: B006
    model: ModelOption = None,
    ignore: IgnoreOption = [],  # noqa: B006
    floating: FloatingOption = False,
) -> None:
    """Show a robot in the browser and play back a trajectory."""
    with reported_errors() as caught:
        from helicoid.cli.view import run

        shown = loaded(robot, floating, package, argument, model, ignore)
        print_warnings(caught)
        caught.clear()  # printed; warnings of missing meshes are printed below
        run(shown, trajectory, ghost, record, port, ik=(frame or True) if ik else False)
    print_warnings(caught)
    if record is not None:
        console.print(f"[bold]{escape(str(record))}[/]", soft_wrap=True)


def commission(
    robot: RobotArgument,
    plant: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.py:NAME",
            help="The plant: an object with period, measure() and apply(tau), or a callable that takes the "
            "robot and returns one. By default a rehearsal on a simulated robot with other masses.",
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for recordings and report.")] = Path(
        "commissioning"
    ),
    frame: Annotated[
        str | None, typer.Option(help="Link of the task-space law; by default the last.")
    ] = None,
    speed: Annotated[float, typer.Option(help="Share of the velocity limits that motions use.")] = 0.6,
    seed: Annotated[int, typer.Option(help="Of motions and random torques.")] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Use recordings in the folder instead of moving again.")
    ] = False,
) -> None:
    """Commission an arm: identify and validate it, make controllers."""
    with reported_errors() as caught:
        import helicoid as hc
        from helicoid.commissioning.rehearsal import named_plant, rehearsal_plant

        described = hc.load(robot)
        moved = rehearsal_plant(described, seed) if plant is None else named_plant(plant, described)
        if plant is None:
            console.print("[bold]rehearsal[/] on a simulated robot: nothing here holds for the real one")
        try:
            result = hc.commission(
                described, moved, output, frame=frame, speed=speed, seed=seed, resume=resume
            )
        except KeyboardInterrupt as interrupt:
            console.print(
                f"[bold red]interrupted[/] {escape(str(interrupt) or 'between motions')}", soft_wrap=True
            )
            console.print(f"--resume goes on from the motions that are complete in {escape(str(output))}")
            raise typer.Exit(130) from None
    print_warnings(caught)
    for step in result.steps:
        console.print(f"{escape(step.name)}: {escape(step.outcome)}", soft_wrap=True, highlight=False)
    color, word = ("green", "ready") if result.success else ("red", f"stopped, {result.status}")
    console.print(f"[bold {color}]{escape(word)}[/]: {escape(result.message)}", soft_wrap=True)
    if not result.success:
        console.print(escape(result.remedy), soft_wrap=True, highlight=False)
    console.print(escape(str(result.report)), soft_wrap=True, highlight=False)
    if not result.success:
        raise typer.Exit(1)


def study(
    file: Annotated[Path, typer.Argument(help="Python file that defines an hc.Study named `study`.")],
    episodes: Annotated[
        int | None,
        typer.Option("--episodes", "-n", help="Number of episodes; by default one per grid point."),
    ] = None,
    on: Annotated[
        str | None, typer.Option(help="processes, here, or a dask scheduler such as tcp://10.0.0.1:8786.")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Results folder; an interrupted study is resumed.")
    ] = Path("study"),
    workers: Annotated[int | None, typer.Option(help="Number of processes; by default one per core.")] = None,
    time_limit: Annotated[float | None, typer.Option(help="Time limit of an episode, in s.")] = None,
) -> None:
    """Run a Monte Carlo or grid study on all cores or a cluster."""
    with reported_errors() as caught:
        from helicoid.cli.study import run

        run(file, episodes, on, output, workers, time_limit, console)
    print_warnings(caught)


def demo(
    what: Annotated[
        Demonstration,
        typer.Argument(
            help="load: adaptive MPC with an unknown payload. fly: quadrotor and aircraft in gusts. "
            "walk: trotting quadruped. plan: an arm among obstacles."
        ),
    ] = "load",
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the HTML report.")] = Path(
        "demo"
    ),
    seed: Annotated[int, typer.Option(help="Seed of the noise, gusts, push or planner.")] = 0,
    robot: Annotated[
        Path | None, typer.Option(help="walk: URDF or MJCF of another robot with a standing posture.")
    ] = None,
    srdf: Annotated[Path | None, typer.Option(help="walk: SRDF of that robot, with its posture.")] = None,
) -> None:
    """Run a demonstration: MPC, flight, walking or motion planning."""
    if what != "walk" and (robot or srdf):
        raise typer.BadParameter("--robot and --srdf are options of 'helicoid demo walk'")
    if what == "walk":
        _walk(output, seed, robot, srdf)
        return
    if what == "fly":
        _fly(output, seed)
        return
    if what == "plan":
        _plan(output, seed)
        return
    with reported_errors():
        from helicoid.demo import run

        written = run(output, seed, console)
    console.print(f"\nReport with 3-D motion and plots: [bold]{escape(str(written))}[/]", soft_wrap=True)


def _fly(output: Path, seed: int) -> None:
    with reported_errors():
        from helicoid.demo.flight import fly_eight, fly_mission

        for name, fly in (("Figure eight at 3 m/s", fly_eight), ("Mission at 25 m/s", fly_mission)):
            flown = fly(output, seed)
            console.print(
                f"{name}, in gusts: tracking error {flown.rms:.3f} m rms, {flown.largest:.3f} m max: "
                f"[bold]{escape(str(flown.page))}[/]",
                soft_wrap=True,
            )


def _plan(output: Path, seed: int) -> None:
    with reported_errors():
        from helicoid.demo.plan import sort_parcels, write_plan

        with console.status("planning (the planner is compiled once, then cached)"):
            record = sort_parcels(seed)
            page = write_plan(record, output)
    console.print(f"{'motion':34}{'planning':>10}{'timing':>10}{'duration':>10}{'length':>12}", style="dim")
    for leg in record.legs:
        console.print(
            f"{leg.name:34}{1e3 * leg.planning:7.2f} ms{1e3 * leg.timing:7.2f} ms{leg.duration:8.2f} s"
            f"{leg.path.length:8.2f} rad",
            highlight=False,
        )
    console.print(
        f"Least distance from an obstacle {1e3 * record.clearance().min():.0f} mm: "
        f"[bold]{escape(str(page))}[/]",
        soft_wrap=True,
    )


def _walk(output: Path, seed: int, description: Path | None, srdf: Path | None) -> None:
    with reported_errors():
        from helicoid.demo.walk import walk, write_walk
        from helicoid.robot import load

        robot = load(description, base="floating", srdf=srdf) if description else None
        with console.status("walking (the planner is compiled once, then cached)"):
            walked = walk(seed, robot=robot)
        page = write_walk(walked, output)
    console.print(
        f"Walked {walked.distance:.2f} m with a push, a turn and a stop, max. trunk tilt {walked.tilt:.3f} "
        f"rad: [bold]{escape(str(page))}[/]",
        soft_wrap=True,
    )


def codegen(
    robot: RobotArgument,
    functions: Annotated[
        list[str],
        typer.Argument(help="For example inverse_dynamics, jacobian:tool0 or jacobian:tool0:body."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the C files.")],
    floating: FloatingOption = False,
    single: Annotated[
        bool, typer.Option("--single", help="Single precision (float) instead of double.")
    ] = False,
) -> None:
    """Export functions of a robot as a self-contained C99 library."""
    with reported_errors():
        from helicoid.cli.codegen import generate

        written = generate(loaded(robot, floating), functions, output, "single" if single else "double")
    for path in written:
        console.print(escape(str(path)), soft_wrap=True, highlight=False)
