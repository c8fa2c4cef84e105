"""A robot as MJCF, with all that the robot knows beside its model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from helicoid.dynamics.physics import GRAVITY
from helicoid.errors import DoubtfulModelWarning, warn
from helicoid.model.mjcf.writing.writer import Mjcf, to_mjcf_text
from helicoid.model.urdf.xml_text import write_whole
from helicoid.robot.collision.meshes import mesh_hull

if TYPE_CHECKING:
    from helicoid.robot.robot import Robot


def write_mjcf(robot: Robot, path: str | os.PathLike[str]) -> None:
    """Write the file of `Robot.to_mjcf`, whole or not at all, with one warning that names all losses."""
    written = mjcf_of(robot)
    lost = [*written.losses.motion, *written.losses.numbers]
    if lost:
        warn(DoubtfulModelWarning(f"MJCF cannot state {', '.join(lost)}"))
    write_whole(path, written.text)


def mjcf_of(robot: Robot) -> Mjcf:
    """The robot as MJCF, with the constraints that it cannot state among its losses; computed once."""
    return robot.memo("mjcf", lambda: _written(robot))


def _written(robot: Robot) -> Mjcf:
    written = to_mjcf_text(robot.model, GRAVITY, robot.motor_joints, mesh_hull)
    written.losses.motion.extend(f"the constraint {one.name!r}" for one in robot.constraints.added)
    return written
