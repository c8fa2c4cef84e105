"""Helicoid: a robot description in, fast dynamics, identification and control out."""

from importlib import import_module
from typing import TYPE_CHECKING

from helicoid.compiler.build.binding import set_num_threads
from helicoid.compiler.evaluation.compiled import set_compile
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
from helicoid.status import Status

if TYPE_CHECKING:
    from helicoid import aerial, control, mpc, study, walking
    from helicoid.identification import (
        Excitation,
        Identifiability,
        Identification,
        Log,
        OnlineIdentifier,
        drive_gains,
        fit_nonlinear,
        fit_output_error,
        identify_payload,
    )
    from helicoid.identification.distributed.sources import logs
    from helicoid.identification.excitation.excitation import excitation
    from helicoid.identification.fleet import identify_fleet
    from helicoid.identification.identifiability.identifiability import identifiability
    from helicoid.identification.identify import identify
    from helicoid.simulation import (
        Actuators,
        ContactPoint,
        Ground,
        Measurement,
        Sensors,
        SimulationError,
        Trajectory,
        simulate,
        simulate_contacts,
    )
    from helicoid.study import Study
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
    "Ground",
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
    "Status",
    "Study",
    "Trajectory",
    "__version__",
    "aerial",
    "control",
    "drive_gains",
    "excitation",
    "fit_nonlinear",
    "fit_output_error",
    "identifiability",
    "identify",
    "identify_fleet",
    "identify_payload",
    "load",
    "logs",
    "mpc",
    "robots",
    "serial_chain",
    "set_compile",
    "set_num_threads",
    "simulate",
    "simulate_contacts",
    "study",
    "view",
    "walking",
]


_LATER = {
    "Excitation": "identification",
    "Identifiability": "identification",
    "Identification": "identification",
    "Log": "identification",
    "OnlineIdentifier": "identification",
    "drive_gains": "identification",
    "fit_nonlinear": "identification",
    "fit_output_error": "identification",
    "identify_payload": "identification",
    "excitation": "identification.excitation.excitation",
    "identifiability": "identification.identifiability.identifiability",
    "identify": "identification.identify",
    "identify_fleet": "identification.fleet",
    "logs": "identification.distributed.sources",
    "Actuators": "simulation",
    "ContactPoint": "simulation",
    "Ground": "simulation",
    "Measurement": "simulation",
    "Sensors": "simulation",
    "SimulationError": "simulation",
    "Trajectory": "simulation",
    "simulate": "simulation",
    "simulate_contacts": "simulation",
    "Study": "study",
}


def __getattr__(name: str) -> object:
    """What imports more than most programs need is brought when first used."""
    if name in ("aerial", "control", "mpc", "simulation", "study", "view", "walking"):
        return import_module(f"helicoid.{name}")
    if name in _LATER:
        return getattr(import_module(f"helicoid.{_LATER[name]}"), name)
    if name == "__version__":
        from importlib.metadata import version

        return version("helicoid")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What is brought when first used is listed as well."""
    return sorted({*globals(), *__all__} - {"TYPE_CHECKING", "import_module"})
