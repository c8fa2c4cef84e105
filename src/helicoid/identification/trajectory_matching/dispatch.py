"""What `hc.identify` does with logs of positions and commands alone."""

from __future__ import annotations

from typing import Any

from helicoid.errors import InputError
from helicoid.identification.linear.options import Options
from helicoid.identification.logs.columns import COMMANDS
from helicoid.identification.logs.log import Log
from helicoid.identification.trajectory_matching.identify import DEFAULT_GROUPS, identify_from_commands
from helicoid.identification.trajectory_matching.result import CommandIdentification
from helicoid.identification.trajectory_matching.servo import Servo
from helicoid.progress import Progress
from helicoid.robot import Robot


def commands_only(log: Any) -> bool:
    """Whether this is a log with commands, but without torques and wrenches."""
    if not isinstance(log, Log) or log.tau is not None or log.wrenches:
        return False
    return any(getattr(log, name) is not None for name in COMMANDS)


def identify_by_default(
    robot: Robot, log: Any, servo: Servo | None, options: Options, on: Any, progress: Progress | bool | None
) -> CommandIdentification:
    """As `identify_from_commands`; options of the linear fit, which it does not know, are refused."""
    if not commands_only(log):
        raise InputError("servo is for one log of positions and commands, without torques or wrenches")
    if options != Options("consistent", "torque", None, None, options.groups, "auto", None, 0.0) or on:
        raise InputError(
            f"{log.source}: has commands, but no torques: hc.identify takes robot, log, servo, groups and "
            "progress then; other options are those of hc.identify_from_commands"
        )
    if servo is None and log.q_command is not None:
        servo = Servo()
    groups = DEFAULT_GROUPS if options.groups is None else options.groups
    return identify_from_commands(robot, log, servo, groups, progress=progress)
