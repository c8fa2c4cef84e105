"""Implementation of `helicoid view`: a robot in the browser, or a page of its motion."""

from __future__ import annotations

from pathlib import Path

from helicoid.errors import InputError
from helicoid.pages.html_page import write_page
from helicoid.robot import Robot
from helicoid.view.controls import neutral_within_limits
from helicoid.view.motion import read_motion
from helicoid.view.player import motion_page
from helicoid.view.viewer import view


def run(
    robot: Robot,
    trajectory: Path | None = None,
    ghost: Path | None = None,
    record: Path | None = None,
    port: int = 8080,
    ik: str | bool = False,
) -> None:
    """Show the robot until Ctrl-C; with `record`, write a page that plays without a server instead."""
    if ghost is not None and trajectory is None:
        raise InputError("--ghost accompanies --trajectory; give that too")
    if ik and record is not None:
        raise InputError("--ik needs the live viewer and --record writes a static page: use one of them")
    motion = read_motion(robot, trajectory) if trajectory is not None else None
    other = read_motion(robot, ghost) if ghost is not None else None
    if record is None:
        view(robot, motion, other, port=port, ik=ik)
        return
    ghosts = {ghost.stem: other} if ghost is not None else None
    label = trajectory.stem if trajectory is not None else robot.name
    page = motion_page(
        robot, neutral_within_limits(robot) if motion is None else motion, ghosts=ghosts, label=label
    )
    write_page(record, page)
