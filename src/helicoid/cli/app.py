"""The command line: `helicoid info`, `robots`, `check`, `demo`, `view`, `identify`, `codegen`, `cache`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.tree import Tree

from helicoid.compiler.build.cache import open_cache
from helicoid.errors import DoubtfulModelWarning, HelicoidError
from helicoid.model.model import Model
from helicoid.model.parts import PER_VELOCITY
from helicoid.robot import Robot, load, robots

app = typer.Typer(
    help="Robot descriptions in, dynamics out.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
cache_app = typer.Typer(help="Look at the compiled code, or remove it.", no_args_is_help=True)
app.add_typer(cache_app, name="cache")
console = Console()
problems = Console(stderr=True)

RobotArgument = Annotated[str, typer.Argument(help="A bundled robot's name, or the path of a URDF file.")]
FloatingOption = Annotated[bool, typer.Option("--floating", help="Let the base float instead of fixing it.")]


@contextmanager
def _told() -> Iterator[list[str]]:
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


@app.command("robots")
def list_robots() -> None:
    """List the robots that come with Helicoid."""
    table = _table("", "name", "joints", "velocities", "moving mass (kg)")
    for name in robots():
        with _told():
            robot = load(name)
        table.add_row(name, str(len(robot.joint_names)), str(robot.nv), f"{robot.mass:.4g}")
    console.print(table)


@app.command()
def info(
    robot: RobotArgument,
    floating: FloatingOption = False,
    bounds: Annotated[
        bool, typer.Option("--bounds", help="Search bounds on M, c and g over the joint limits.")
    ] = False,
) -> None:
    """Show a robot: its tree, joints, limits and masses, and what in it is doubtful."""
    with _told() as doubts:
        loaded = load(robot, base="floating" if floating else "fixed")
        show(loaded)
        if bounds:
            _show_bounds(loaded)
    _show_doubts(doubts)


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A URDF file.")], floating: FloatingOption = False
) -> None:
    """Read a URDF file and say what is wrong or doubtful in it. Exit code 1 if it cannot be used."""
    with _told() as doubts:
        robot = load(file, base="floating" if floating else "fixed")
    _show_doubts(doubts)
    verdict = f"{len(doubts)} doubtful" if doubts else "nothing doubtful"
    console.print(
        f"[bold green]readable[/] {escape(str(file))}: {escape(repr(robot))}, {verdict}", soft_wrap=True
    )


@app.command()
def view(
    robot: RobotArgument,
    trajectory: Annotated[
        Path | None, typer.Option(help="A motion to play: NPZ or CSV with t and q.")
    ] = None,
    ghost: Annotated[Path | None, typer.Option(help="A second motion, drawn transparent.")] = None,
    record: Annotated[Path | None, typer.Option(help="Write a page that plays without a server.")] = None,
    port: Annotated[int, typer.Option(help="Where the browser finds it, on this machine.")] = 8080,
    floating: FloatingOption = False,
) -> None:
    """Show a robot in the browser, with sliders and the playback of a motion."""
    with _told() as doubts:
        from helicoid.cli.view import run

        loaded = load(robot, base="floating" if floating else "fixed")
        _show_doubts(doubts)
        doubts.clear()  # what is shown now; meshes that are missing come below
        run(loaded, trajectory, ghost, record, port)
    _show_doubts(doubts)
    if record is not None:
        console.print(f"[bold]{escape(str(record))}[/]", soft_wrap=True)


@app.command()
def identify(
    robot: RobotArgument,
    logs: Annotated[list[Path], typer.Argument(help="Logs to learn from: CSV, NPZ, MCAP or a bag.")],
    validate: Annotated[Path | None, typer.Option(help="A log to judge the result by.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for what is found.")] = Path(
        "identified"
    ),
    estimator: Annotated[str, typer.Option(help="How; the default is physically consistent.")] = "consistent",
    friction: Annotated[str | None, typer.Option(help="A nonlinear friction model to refine with.")] = None,
    floating: FloatingOption = False,
) -> None:
    """Find the masses, inertias and friction of a robot from logs of its motion."""
    with _told() as doubts:
        from helicoid.cli.identify import run

        loaded = load(robot, base="floating" if floating else "fixed")
        _show_doubts(doubts)
        run(loaded, logs, validate, output, console, estimator, friction)  # type: ignore[arg-type]


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the report.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Of the sensors' noise.")] = 0,
) -> None:
    """Let a Panda pick up a load that nobody told it about, and watch it find out."""
    with _told():
        from helicoid.demo import run

        written = run(output, seed, console)
    console.print(f"\nThe motion in 3-D and all plots: [bold]{escape(str(written))}[/]", soft_wrap=True)


@app.command()
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
    with _told():
        from helicoid.cli.codegen import generate

        loaded = load(robot, base="floating" if floating else "fixed")
        written = generate(loaded, functions, output, "single" if single else "double")
    for path in written:
        console.print(escape(str(path)), soft_wrap=True, highlight=False)


@cache_app.command("info")
def cache_info() -> None:
    """Say where compiled code is kept and how much there is."""
    with _told():
        found = open_cache().info()
    size = f"{found.n_bytes / 1e6:.1f} MB"
    console.print(f"{escape(str(found.folder))}: {found.n_libraries} libraries, {size}", soft_wrap=True)


@cache_app.command("clear")
def cache_clear() -> None:
    """Remove all compiled code; it is compiled again when needed."""
    with _told():
        removed = open_cache().clear()
    console.print(f"removed {removed.n_libraries} libraries, {removed.n_bytes / 1e6:.1f} MB")


def show(robot: Robot) -> None:
    """Print a robot's summary."""
    console.print(f"[bold]{escape(robot.name)}[/]  {escape(repr(robot))}\n", soft_wrap=True)
    console.print(_tree(robot.model))
    console.print()
    console.print(_joints(robot.model))
    console.print()
    console.print(_bodies(robot.model))


def _show_bounds(robot: Robot) -> None:
    from helicoid.robot.bounds import bounds

    found = bounds(robot)
    table = _table("Bounds over the joint limits, 2-norms", "bound", "value", "attained at q")
    names = "μ1 1 ≤ M", "M ≤ μ2 1", "‖c‖ ≤ c_b ‖v‖²", "‖g‖ ≤ g_b"
    for name, bound in zip(names, found[:4], strict=True):
        table.add_row(name, f"{bound.value:.6g}", " ".join(f"{x:.4g}" for x in bound.configuration))
    console.print()
    console.print(table)
    how = (
        f"μ1 is the {found.mass_lower.found}; the others are the largest, likewise. Attained, not certified."
    )
    console.print(how, soft_wrap=True)
    for assumption in found.assumed:
        console.print(escape(assumption), soft_wrap=True)


def _show_doubts(doubts: list[str]) -> None:
    for doubt in doubts:
        problems.print(f"[bold yellow]doubtful[/] {escape(doubt)}", soft_wrap=True)


def _tree(model: Model) -> Tree:
    branches = {model.root: Tree(f"[bold]{escape(model.root)}[/]")}
    for joint in model.joints:
        how = f"{joint.type.kind} {joint.name}"
        if joint.mimic is not None:
            how += f" = {joint.mimic.multiplier:g} · {joint.mimic.joint} + {joint.mimic.offset:g}"
        style = "dim" if joint.type.nv == 0 else "cyan"
        text = f"{escape(joint.child)}  [{style}]{escape(how)}[/]"
        branches[joint.child] = branches[joint.parent].add(text)
    return branches[model.root]


def _joints(model: Model) -> Table:
    joints = model.independent_joints
    extras = [name for name in PER_VELOCITY if any(np.any(getattr(j, name)) for j in joints)]
    table = _table("Joints that own coordinates", "joint", "type", "range", "velocity", "effort", *extras)
    for joint in joints:
        limits = joint.range
        span = "–" if np.all(np.isinf(limits[:2])) else f"{_short(limits.lower)} … {_short(limits.upper)}"
        columns = (limits.velocity, limits.effort, *(getattr(joint, name) for name in extras))
        table.add_row(escape(joint.name), joint.type.kind, span, *map(_short, columns))
    return table


def _bodies(model: Model) -> Table:
    table = _table("Moving bodies", "body", "mass (kg)", "center of mass (m)", "principal moments (kg·m²)")
    for body in model.bodies:
        inertia = body.inertia
        moments = np.linalg.eigvalsh(inertia.at_com)
        table.add_row(escape(body.name), f"{inertia.mass:.4g}", _short(inertia.com), _short(moments))
    table.add_row("[bold]moving mass[/]", f"[bold]{Robot(model).mass:.4g}[/]", "", "")
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(box=None, header_style="bold", title=title, title_justify="left", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _short(values: np.ndarray) -> str:
    """The numbers of a vector, once if they are all the same."""
    texts = ["–" if np.isinf(x) else f"{0.0 if abs(x) < 1e-12 else x:.4g}" for x in values]
    return texts[0] if len(set(texts)) == 1 else " ".join(texts)
