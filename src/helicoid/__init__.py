"""Helicoid: a robot description in, fast dynamics, identification and control out."""

from helicoid.compiler.binding import set_num_threads
from helicoid.compiler.compiled import set_compile
from helicoid.compiler.function import Function
from helicoid.errors import (
    CompileError,
    DoubtfulModelWarning,
    HelicoidError,
    InputError,
    ModelError,
    PerformanceWarning,
    RobotDescriptionError,
)
from helicoid.loading import load, robots, serial_chain
from helicoid.robot import Robot

__all__ = [
    "CompileError",
    "DoubtfulModelWarning",
    "Function",
    "HelicoidError",
    "InputError",
    "ModelError",
    "PerformanceWarning",
    "Robot",
    "RobotDescriptionError",
    "load",
    "robots",
    "serial_chain",
    "set_compile",
    "set_num_threads",
]
