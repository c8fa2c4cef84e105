"""Identification: a robot and a log in, a robot that predicts its own torques out.

A log is read and judged (`logs`), becomes rows of a linear least squares problem (`linear`) and, with
everything chosen by the log itself (`identify.py`), a result (`result.py`) that predicts, writes a URDF and
a page which says whether to trust it (`report`), and whether the log is what it says (`diagnosis`). What
torques can tell at all is a matter of the robot (`identifiability`), and of a motion that shows it
(`excitation`). From a result on, `friction` fits friction of other shapes and `output_error` the motion in
place of the torques; `payload.py` finds a load, `gains.py` the torque of a drive's current, and `online`
does it while the robot works.

The verbs `identify`, `excitation` and `identifiability` are `hc.identify`, `hc.excitation` and
`hc.identifiability`: in this package their names are those of the modules that hold them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from helicoid.identification.excitation.excitation import Excitation
    from helicoid.identification.friction.nonlinear import NonlinearIdentification, fit_nonlinear
    from helicoid.identification.gains import drive_gains, torques_from_currents
    from helicoid.identification.identifiability.identifiability import Identifiability
    from helicoid.identification.identifiability.sparsity import plot_sparsity
    from helicoid.identification.linear.equations.regression import Regression
    from helicoid.identification.linear.solving.consistent import Bounds
    from helicoid.identification.logs.log import DoubtfulLogWarning, Log
    from helicoid.identification.online.identifier import OnlineIdentifier
    from helicoid.identification.output_error.output_error import fit_output_error
    from helicoid.identification.payload import Payload, identify_payload
    from helicoid.identification.report.assessment import Assessment
    from helicoid.identification.report.score import Score
    from helicoid.identification.result import Identification, IdentifiedParameters

__all__ = [
    "Assessment",
    "Bounds",
    "DoubtfulLogWarning",
    "Excitation",
    "Identifiability",
    "Identification",
    "IdentifiedParameters",
    "Log",
    "NonlinearIdentification",
    "OnlineIdentifier",
    "Payload",
    "Regression",
    "Score",
    "drive_gains",
    "fit_nonlinear",
    "fit_output_error",
    "identify_payload",
    "plot_sparsity",
    "torques_from_currents",
]

_HOMES = {
    "excitation.excitation": ("Excitation",),
    "friction.nonlinear": ("NonlinearIdentification", "fit_nonlinear"),
    "gains": ("drive_gains", "torques_from_currents"),
    "identifiability.identifiability": ("Identifiability",),
    "identifiability.sparsity": ("plot_sparsity",),
    "linear.solving.consistent": ("Bounds",),
    "linear.equations.regression": ("Regression",),
    "logs.log": ("DoubtfulLogWarning", "Log"),
    "online.identifier": ("OnlineIdentifier",),
    "output_error.output_error": ("fit_output_error",),
    "payload": ("Payload", "identify_payload"),
    "report.assessment": ("Assessment",),
    "report.score": ("Score",),
    "result": ("Identification", "IdentifiedParameters"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """What is asked for is imported then: reading a log needs no solver."""
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
