"""Export of robot functions, named on the command line, as a C library."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from helicoid.compiler import Function, Precision, export_library
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.robot.catalog import OF_FRAMES, PLAIN


def generate(
    robot: Robot,
    specifications: Sequence[str],
    folder: str | os.PathLike[str],
    precision: Precision = "double",
) -> list[Path]:
    """Write functions of a robot as one C99 library (see `export_library`) and return the written files."""
    functions = {f"{robot.name}_{spec}": find_function(robot, spec) for spec in specifications}
    return export_library(robot.name, functions, folder, precision)


def find_function(robot: Robot, specification: str) -> Function:
    """Function of a robot by `name`, `name:frame` or `name:frame:reference`.

    Raises:
        InputError: unknown function or reference, missing frame, or a frame for a function without one.
        ModelError: the robot has no such frame.

    >>> import helicoid as hc
    >>> find_function(hc.load("ur5"), "jacobian:tool0:body")
    Function jacobian(q[6]) -> J[6, 6]
    """
    name, colon, rest = specification.partition(":")
    if name in PLAIN:
        if colon:
            raise InputError(f"{specification!r}: {name} takes no frame; write {name!r}")
        return cast(Function, getattr(robot, name))
    if name not in OF_FRAMES:
        raise InputError(
            f"{specification!r}: {robot.name} has no function {name!r}. It has {', '.join(PLAIN)}, "
            f"and for a frame, as in 'pose:{robot.link_names[-1]}', {', '.join(OF_FRAMES)}"
        )
    if not rest:
        raise InputError(
            f"{specification!r}: needs a frame, as in '{name}:{robot.link_names[-1]}'; "
            f"the frames are {', '.join(robot.link_names)}"
        )
    frame, _, reference = rest.rpartition(":")
    arguments = [frame, reference] if frame and rest not in robot.link_names else [rest]
    factory = getattr(robot, name)
    if len(arguments) > len(inspect.signature(factory).parameters):
        raise InputError(f"{specification!r}: {name} takes no reference; write '{name}:{frame}'")
    return cast(Function, factory(*arguments))
