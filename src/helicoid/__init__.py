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
]
