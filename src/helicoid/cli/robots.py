"""Commands `robots`, `info` and `check`: bundled robots and summaries of descriptions."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer
from rich.markup import escape
from rich.tree import Tree

from helicoid.cli.console import (
    Columns,
    FloatingOption,
    RobotArgument,
    console,
    print_warnings,
    reported_errors,
    short,
)
from helicoid.cli.descriptions import ArgumentOption, IgnoreOption, ModelOption, PackageOption, loaded
from helicoid.model.model import Model
from helicoid.model.parts import PER_VELOCITY
from helicoid.robot import Robot, load, robots


def list_robots() -> None:
    """List the bundled robots."""
    table = Columns("", "name", "joints", "velocities", "moving mass (kg)")
    for name in robots():
        with reported_errors():
            robot = load(name)
        table.add(name, str(len(robot.joint_names)), str(robot.nv), f"{robot.mass:.4g}")
    table.show()


def info(
    robot: RobotArgument,
    floating: FloatingOption = False,
    bounds: Annotated[
        bool, typer.Option("--bounds", help="Bounds on M, c and g within the joint limits, by optimisation.")
    ] = False,
    package: PackageOption = [],  # noqa: B006  typer does not mutate it
    argument: ArgumentOption = [],  # noqa: B006
    model: ModelOption = None,
    ignore: IgnoreOption = [],  # noqa: B006
) -> None:
    """Print a robot's tree, joints, limits, masses and warnings."""
    with reported_errors() as caught:
        found = loaded(robot, floating, package, argument, model, ignore)
        _show(found)
        if bounds:
            _show_bounds(found)
    print_warnings(caught)


def check(
    robot: RobotArgument,
    floating: FloatingOption = False,
    package: PackageOption = [],  # noqa: B006  typer does not mutate it
    argument: ArgumentOption = [],  # noqa: B006
    model: ModelOption = None,
    ignore: IgnoreOption = [],  # noqa: B006
) -> None:
    """Check a robot description for errors and warnings.

    The exit code is 1 if it cannot be loaded.
    """
    with reported_errors() as caught:
        found = loaded(robot, floating, package, argument, model, ignore)
    print_warnings(caught)
    verdict = f"{len(caught)} warning{'s' * (len(caught) > 1)}" if caught else "no warnings"
    console.print(f"[bold green]valid[/] {escape(robot)}: {escape(repr(found))}, {verdict}", soft_wrap=True)


def _show(robot: Robot) -> None:
    """Print a robot's summary."""
    console.print(f"[bold]{escape(robot.name)}[/]  {escape(repr(robot))}\n", soft_wrap=True)
    console.print(_tree(robot.model))
    console.print()
    _joints(robot.model).show()
    console.print()
    _bodies(robot).show()


def _show_bounds(robot: Robot) -> None:
    from helicoid.robot.bounds import bounds

    found = bounds(robot)
    table = Columns("Bounds over the joint limits, 2-norms", "bound", "value", "attained at q")
    names = "μ1 1 ≤ M", "M ≤ μ2 1", "‖c‖ ≤ c_b ‖v‖²", "‖g‖ ≤ g_b"
    for name, bound in zip(names, found[:4], strict=True):
        table.add(name, f"{bound.value:.6g}", " ".join(f"{x:.4g}" for x in bound.configuration))
    console.print()
    table.show()
    how = f"μ1 is the {found.mass_lower.found}; the others are the largest found. Attained, not certified."
    console.print(how, soft_wrap=True)
    for assumption in found.assumed:
        console.print(escape(assumption), soft_wrap=True)


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


def _joints(model: Model) -> Columns:
    joints = model.independent_joints
    extras = [name for name in PER_VELOCITY if any(np.any(getattr(j, name)) for j in joints)]
    table = Columns("Independent joints", "joint", "type", "range", "velocity", "effort", *extras)
    for joint in joints:
        limits = joint.range
        span = "–" if np.all(np.isinf(limits[:2])) else f"{short(limits.lower)} … {short(limits.upper)}"
        columns = (limits.velocity, limits.effort, *(getattr(joint, name) for name in extras))
        table.add(joint.name, joint.type.kind, span, *map(short, columns))
    return table


def _bodies(robot: Robot) -> Columns:
    table = Columns("Moving bodies", "body", "mass (kg)", "center of mass (m)", "principal moments (kg·m²)")
    for body in robot.model.bodies:
        inertia = body.inertia
        moments = np.linalg.eigvalsh(inertia.at_com)
        table.add(body.name, f"{inertia.mass:.4g}", short(inertia.com), short(moments))
    table.add("moving mass", f"{robot.mass:.4g}", "", "")
    return table
