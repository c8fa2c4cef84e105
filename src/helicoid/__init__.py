"""Helicoid: a robot description in, fast dynamics, identification and control out."""

from importlib import import_module
from typing import TYPE_CHECKING

from helicoid.compiler.build.binding import set_num_threads
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
from helicoid.model.drives import Drive
from helicoid.robot import Robot, load, robots, serial_chain
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
    from helicoid import mpc
    from helicoid.identification.excitation.excitation import Excitation, excitation
    from helicoid.identification.identifiability.identifiability import Identifiability, identifiability
    from helicoid.identification.identify import identify
    from helicoid.identification.logs.log import Log
    from helicoid.identification.online.online import OnlineIdentifier
    from helicoid.identification.result import Identification
    from helicoid.view.viewer import view

__version__: str

__all__ = [
    "Actuators",
    "CompileError",
    "ContactPoint",
    "DoubtfulModelWarning",
    "Drive",
    "Excitation",
    "Function",
    "HelicoidError",
    "Identifiability",
    "Identification",
    "InputError",
    "Log",
    "Measurement",
    "ModelError",
    "OnlineIdentifier",
    "PerformanceWarning",
    "Robot",
    "RobotDescriptionError",
    "Sensors",
    "SimulationError",
    "Trajectory",
    "__version__",
    "excitation",
    "identifiability",
    "identify",
    "load",
    "mpc",
    "robots",
    "serial_chain",
    "set_compile",
    "set_num_threads",
    "simulate",
    "simulate_contacts",
    "view",
]


_LATER = {
    **dict.fromkeys(("Excitation", "excitation"), "identification.excitation.excitation"),
    **dict.fromkeys(("Identifiability", "identifiability"), "identification.identifiability.identifiability"),
    "identify": "identification.identify",
    "Log": "identification.logs.log",
    "OnlineIdentifier": "identification.online.online",
    "Identification": "identification.result",
}


def __getattr__(name: str) -> object:
    """What imports more than most programs need is brought when first used."""
    if name in ("mpc", "view"):
        return import_module(f"helicoid.{name}")
    if name in _LATER:
        return getattr(import_module(f"helicoid.{_LATER[name]}"), name)
    if name == "__version__":
        from importlib.metadata import version

        return version("helicoid")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What is brought when first used is listed as well."""
    return sorted({*globals(), *__all__})
