"""Implementation of `helicoid payload` and `helicoid gains`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from helicoid.cli.identify import log_warnings, read_log
from helicoid.identification.identify import identify
from helicoid.identification.loads.gains import drive_gains
from helicoid.identification.loads.payload import identify_payload
from helicoid.robot import Robot

_NORMAL_95 = 1.96
"""Half of the 95 % interval of a normal distribution, in standard deviations."""


def report_payload(
    robot: Robot,
    log: Path,
    link: str,
    bare: Sequence[Path],
    output: Path | None,
    console: Console,
    cutoff: float | Literal["auto"] | None = "auto",
    gains: Sequence[float] | None = None,
) -> None:
    """Print the payload of a link and write the robot with it to `output`.

    The robot itself is as described, or identified from `bare` logs.
    """
    robot.model.frame(link)  # an unknown link raises before the slow part
    with log_warnings(console):
        carrying = read_log(log, robot, gains)
        known = identify(robot, [read_log(path, robot, gains) for path in bare]) if bare else None
        began = time.perf_counter()
        load = identify_payload(known or robot, carrying, link, cutoff)
        seconds = time.perf_counter() - began
    body, sigma = load.inertia, load.sigma
    rows = [("mass", "kg", body.mass, sigma[0])]
    spread = sigma[1:4] / max(body.mass, 1e-12)
    rows += [(f"center {axis}", "m", x, s) for axis, x, s in zip("xyz", body.com, spread, strict=True)]
    words = ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
    rows += [(word, "kg·m²", x, s) for word, x, s in zip(words, body.parameters[4:], sigma[4:], strict=True)]
    table = Table(box=None, header_style="bold", title=f"Payload on {escape(link)}", title_justify="left")
    for column in ("in its frame, about its origin", "unit", "value", "sigma"):
        table.add_column(column, justify="right" if column in ("value", "sigma") else "left")
    for word, unit, x, s in rows:
        table.add_row(word, unit, f"{x:.4g}", f"{s:.2g}")
    console.print(table)
    sensors = ", ".join(carrying.wrenches)
    measured = f"the force/torque sensor at {escape(sensors)}" if sensors else "joint torques"
    interval = f"{body.mass:.4g} ± {_NORMAL_95 * sigma[0]:.2g} kg (95 % interval)"
    console.print(f"{interval} from {measured}, in {seconds:.2g} s", soft_wrap=True)
    if known is None and not carrying.wrenches:
        console.print(
            "The robot's parameters are those of its description; --bare LOG identifies them first.",
            soft_wrap=True,
        )
    elif known is not None and known.diagnosis:
        console.print(f"[bold yellow]warning[/] most likely, {escape(known.diagnosis)}", soft_wrap=True)
    if output is not None:
        load.on(known.robot if known else robot).to_urdf(output)
        console.print(escape(str(output)), soft_wrap=True, highlight=False)


def report_gains(
    robot: Robot,
    log: Path,
    loaded: Path,
    link: str,
    mass: float,
    com: Sequence[float] | None,
    inertia: Sequence[float] | None,
    cutoff: float | Literal["auto"] | None,
    console: Console,
) -> None:
    """Print the gains of all drives, and the option that passes them to `identify`."""
    robot.model.frame(link)
    with log_warnings(console):
        runs = [read_log(path, robot) for path in (log, loaded)]
        moments = None if inertia is None else np.diag(inertia)
        own = None if cutoff == "auto" else cutoff
        found, sigma = drive_gains(robot, runs[0], runs[1], link, mass, com, moments, own)
    table = Table(box=None, header_style="bold", title="Drive gains", title_justify="left")
    for column in ("joint", "N·m/A", "sigma"):
        table.add_column(column, justify="left" if column == "joint" else "right")
    for name, k, s in zip(robot.model.velocity_names, found, sigma, strict=True):
        table.add_row(escape(name), f"{k:.5g}", f"{s:.2g}")
    console.print(table)
    words = ",".join(f"{k:.6g}" for k in found)
    console.print(f"helicoid identify ... --gains={words}", soft_wrap=True, highlight=False)
