"""Options with which commands load descriptions, and the command `convert`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.markup import escape

from helicoid.cli.console import FloatingOption, RobotArgument, console, print_warnings, reported_errors
from helicoid.errors import InputError
from helicoid.robot import Robot, load

PackageOption = Annotated[
    list[str],
    typer.Option(
        metavar="NAME=FOLDER", help="Folder of package://NAME, model://NAME or $(find NAME); repeatable."
    ),
]
ArgumentOption = Annotated[
    list[str], typer.Option(metavar="NAME=VALUE", help="Argument of a xacro; repeatable.")
]
ModelOption = Annotated[str | None, typer.Option(help="The model that is meant, of an SDF with several.")]
IgnoreOption = Annotated[
    list[str], typer.Option(help="What an MJCF or SDF states and is left out, such as fluid; repeatable.")
]

WRITERS = {".urdf": "URDF", ".xml": "MJCF", ".mjcf": "MJCF"}
"""Formats that are written, by the ending of the file."""


def folders(given: Sequence[str]) -> dict[str, str]:
    """{package: folder} of `NAME=FOLDER`, as `hc.load(packages=...)` takes them.

    >>> folders(["ur_description=/tmp"])
    {'ur_description': '/tmp'}
    """
    found = {}
    for text in given:
        name, equals, folder = text.partition("=")
        if not (name and equals and folder):
            raise InputError(f"--package is NAME=FOLDER, such as ur_description=/opt/ur; got {text!r}")
        if not Path(folder).is_dir():
            raise InputError(f"--package {text}: there is no folder {folder!r}")
        found[name] = folder
    return found


def loaded(
    robot: str,
    floating: bool,
    package: Sequence[str] = (),
    argument: Sequence[str] = (),
    model: str | None = None,
    ignore: Sequence[str] = (),
) -> Robot:
    """The robot that the options of a command mean."""
    values: dict[str, Any] = {}
    for text in argument:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise InputError(f"--argument is NAME=VALUE, such as prefix=left_; got {text!r}")
        values[name] = value
    base: Literal["fixed", "floating"] = "floating" if floating else "fixed"
    packages, arguments = folders(package) or None, values or None
    return load(robot, base, packages, ignore=list(ignore) or None, arguments=arguments, model=model)


def convert(
    robot: RobotArgument,
    output: Annotated[Path, typer.Argument(help="File to write: .urdf, or .xml for MJCF.")],
    floating: FloatingOption = False,
    package: PackageOption = [],  # noqa: B006  typer does not mutate it
    argument: ArgumentOption = [],  # noqa: B006
    model: ModelOption = None,
    ignore: IgnoreOption = [],  # noqa: B006
) -> None:
    """Convert a description to URDF or MJCF, and say what is lost."""
    with reported_errors() as caught:
        kind = WRITERS.get(output.suffix.lower())
        if kind is None:
            raise InputError(f"{output}: the ending is one of {', '.join(WRITERS)}")
        found = loaded(robot, floating, package, argument, model, ignore)
        lost = []
        if kind == "URDF":
            found.to_urdf(output)
            lost += [f"keyframe {name!r}" for name in found.keyframes]
            lost += [f"posture {name!r}" for name in found.postures]
            pairs = len(found.model.semantics.disabled)
            lost += [f"{pairs} disabled collisions"] if pairs else []
            lost += ["the floating base: load it with --floating"] if floating else []
        else:
            found.to_mjcf(output)
    print_warnings(caught)
    if lost:
        console.print(f"{kind} cannot state {escape(', '.join(lost))}", soft_wrap=True)
    console.print(f"[bold]{escape(str(output))}[/]", soft_wrap=True)
