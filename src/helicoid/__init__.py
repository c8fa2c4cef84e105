"""Helicoid: a robot description in, fast dynamics, identification and control out."""

from helicoid.compiler.function import Function
from helicoid.errors import (
    DoubtfulModelWarning,
    HelicoidError,
    InputError,
    ModelError,
    RobotDescriptionError,
)
from helicoid.loading import load, robots, serial_chain
from helicoid.robot import Robot

__all__ = [
    "DoubtfulModelWarning",
    "Function",
    "HelicoidError",
    "InputError",
    "ModelError",
    "Robot",
    "RobotDescriptionError",
    "load",
    "robots",
    "serial_chain",
]
