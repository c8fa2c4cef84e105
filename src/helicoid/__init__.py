"""Helicoid: a robot description in, fast dynamics, identification and control out."""

from importlib import import_module
from typing import TYPE_CHECKING

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
from helicoid.model.drives import Drive
from helicoid.robot import Robot
from helicoid.simulation import (
    Actuators,
    ContactPoint,
    Measurement,
    Sensors,
    SimulationError,
    Trajectory,
    simulate,
    simulate_contacts,
)

if TYPE_CHECKING:
    from helicoid.view.viewer import view

__all__ = [
    "Actuators",
    "CompileError",
    "ContactPoint",
    "DoubtfulModelWarning",
    "Drive",
    "Function",
    "HelicoidError",
    "InputError",
    "Measurement",
    "ModelError",
    "PerformanceWarning",
    "Robot",
    "RobotDescriptionError",
    "Sensors",
    "SimulationError",
    "Trajectory",
    "load",
    "robots",
    "serial_chain",
    "set_compile",
    "set_num_threads",
    "simulate",
    "simulate_contacts",
    "view",
]


def __getattr__(name: str) -> object:
    """`view` is brought when first used: it imports more than most programs need."""
    if name == "view":
        return import_module("helicoid.view")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
